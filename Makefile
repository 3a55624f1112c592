# Every target sets up what it needs: Go fetches the modules by itself.
GO          ?= go
SEEDS       ?= 5
FUZZTIME    ?= 10s
STATICCHECK  = $(GO) tool -modfile=tools/go.mod staticcheck
PROACTIVEDP  = $(GO) run ./cmd/proactivedp

.DEFAULT_GOAL := help
.PHONY: help run quick test race lint fuzz-short bench results clean

help: ## Show the targets.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: ## Make the logistic-regression figures at the paper's size, into out/.
	$(PROACTIVEDP) figures --out out --seeds $(SEEDS) --allow-stand-in

quick: ## The same at a twentieth of the size, for a look.
	$(PROACTIVEDP) figures --out out/quick --seeds 2 --quick --allow-stand-in

test: ## Pass the tests.
	$(GO) test ./...

race: ## Pass the tests of everything concurrent under the race detector.
	$(GO) test -race ./sim/... ./experiments/... ./internal/fetch/... ./models/... ./cmd/...

lint: ## Format, vet, staticcheck, and that other architectures build.
	@test -z "$$(gofmt -l .)" || { echo "gofmt would change:"; gofmt -l .; exit 1; }
	$(GO) vet ./...
	$(STATICCHECK) ./...
	GOARCH=arm64 $(GO) vet ./...

fuzz-short: ## Fuzz each target for FUZZTIME.
	$(GO) test ./data/libsvm -run '^$$' -fuzz '^FuzzParse$$' -fuzztime $(FUZZTIME)
	$(GO) test ./dp/closedform -run '^$$' -fuzz '^FuzzGamma$$' -fuzztime $(FUZZTIME)

bench: ## Measure, and write results/bench.md.
	$(GO) run ./cmd/bench > results/bench.md.tmp && mv results/bench.md.tmp results/bench.md

results: ## Make the committed figures anew, from the real data only.
	$(PROACTIVEDP) figures --out results --seeds $(SEEDS)

clean: ## Remove local figures and finished cells.
	rm -rf out results/.cells
