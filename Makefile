# Every target sets up what it needs: Go fetches the modules by itself.
GO          ?= go
SEEDS       ?= 5
FUZZTIME    ?= 10s
STATICCHECK  = $(GO) tool -modfile=tools/go.mod staticcheck
BIN          = bin/proactivedp
GENERATOR    = internal/f32/_gen

.DEFAULT_GOAL := help
.PHONY: help build run quick test test-noasm race lint generate generate-check fuzz-short bench results clean

help: ## Show the targets.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## Build bin/proactivedp, stamped with the revision it is built from.
	$(GO) build -buildvcs=auto -o $(BIN) ./cmd/proactivedp

run: build ## Make the logistic-regression figures at the paper's size, into out/.
	$(BIN) figures --out out --seeds $(SEEDS) --allow-stand-in

quick: build ## The same at a twentieth of the size, for a look.
	$(BIN) figures --out out/quick --seeds 2 --quick --allow-stand-in

test: ## Pass the tests.
	$(GO) test ./...

test-noasm: ## Pass the tests of the kernels and of what rests on them without assembly.
	$(GO) test -tags noasm ./internal/f32 ./internal/rng ./internal/nn ./models/...

race: ## Pass the tests of everything concurrent under the race detector.
	$(GO) test -race ./sim/... ./experiments/... ./internal/fetch/... ./models/... ./cmd/...

lint: ## Format, vet, staticcheck, and that the builds without assembly do.
	@test -z "$$(gofmt -l .)" || { echo "gofmt would change:"; gofmt -l .; exit 1; }
	$(GO) vet ./...
	$(STATICCHECK) ./...
	GOARCH=arm64 $(GO) vet ./...
	$(GO) vet -tags noasm ./...
	cd $(GENERATOR) && $(GO) vet ./...

generate: ## Write the assembly of internal/f32 anew.
	cd $(GENERATOR) && $(GO) run .

generate-check: ## Prove that the assembly is what its generator writes.
	@made=$$(mktemp -d) && trap 'rm -rf "$$made"' EXIT && (cd $(GENERATOR) && $(GO) run . -out "$$made") && \
	for file in "$$made"/* internal/f32/*.s; do \
		cmp "$$made/$${file##*/}" "internal/f32/$${file##*/}" || exit 1; \
	done

fuzz-short: ## Fuzz each target for FUZZTIME.
	$(GO) test ./data/libsvm -run '^$$' -fuzz '^FuzzParse$$' -fuzztime $(FUZZTIME)
	$(GO) test ./data/mnist -run '^$$' -fuzz '^FuzzParse$$' -fuzztime $(FUZZTIME)
	$(GO) test ./data/cifar10 -run '^$$' -fuzz '^FuzzParse$$' -fuzztime $(FUZZTIME)
	$(GO) test ./plan -run '^$$' -fuzz '^FuzzReadEvents$$' -fuzztime $(FUZZTIME)
	$(GO) test ./dp/closedform -run '^$$' -fuzz '^FuzzGamma$$' -fuzztime $(FUZZTIME)

bench: ## Measure, and write results/bench.md.
	$(GO) run ./cmd/bench -runs 3 -out results/bench.md

results: build ## Make the committed figures and tables anew, from the real data only.
	$(BIN) figures --out results --seeds $(SEEDS)
	$(BIN) tables --out results/tables

clean: ## Remove local figures and finished cells.
	rm -rf bin out results/.cells
