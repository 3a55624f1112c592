# Every target sets up what it needs: Go fetches the modules by itself.
GO          ?= go
SEEDS       ?= 5
# Of networks: LeNet has the paper's size, and so have AlexNet's utility graph, budgets and six of
# its sample sizes, some seventeen hours of training; all seven have a twentieth, which takes minutes.
NETWORK_SEEDS ?= 3
CIFAR_SIZES   ?= 10,50,100,300,500,689
FUZZTIME    ?= 10s
FUZZED      ?= .
AUDITS      ?= 50
LOADTIME    ?= 10m
TORTURE     ?= 20m
# What an emulator runs in some seconds: what seeds mean, rounding, closed forms, files; the kernels,
# but for statistics of noise whose bits are tested and for twins of matrix tiles, and what whole
# gradients come to with them …
ARM64        = ./rng ./dp ./dp/closedform ./internal/f32 ./internal/cpu ./internal/decimal ./internal/files \
	./models/lenet ./models/logreg ./models/mlp ./models/softmax
# … what takes as long to compile for arm64 again: a parser, and whole trainings …
ARM64_MORE   = ./data/libsvm ./train
# … and what takes it long, or starts its own program, which no emulator does.
ARM64_SLOW   = LogGamma|Kolmogorov|NormalTail|Uniform|Permutation|MinEpsilon|GammaSolves|Moment|Accountant|AboveExact|Growing
ARM64_SLOWER = PoissonSampling|RHS|FixedSize|SmallerSamples|LimitMeets|DeltaIsTheInverse|ImpliesSimpleF|TestSplit|RareRadiiAre|Conform|Extremes|RidgeThat|LockEndsWithItsProcess
# Of the commands' tests those of which the program itself does several things at a time: it
# listens to signals, trains in a crew or by hogwild, runs grids. What else their scripts run
# concurrently is in packages whose own tests are raced.
RACED        = TestScripts/^(audit|checkpoint|delay|figures|interrupt|network)|Signal
# What runs in one goroutine has no races, and runs long under the detector: explorations,
# damaged and unfit states, pictures drawn anew; of an audit, what TestWorkersChangeNothing
# runs as well.
SEQUENTIAL   = ^Test(EveryInterleaving|NamesOfClientsDecideNothing|DamagedCheckpointIsRefused|CheckpointLengthsAreNotTrusted|UnfitPartsAreErrors|VectorsOfARoughRun|ReplaySeesTheFinestFault|WholeMechanismIsCloseToItsClaim|ExactMechanismIsWhole|ChecksFindWhatBoundsMiss|LowerBoundHolds|Redraw)$$
# A loaded or slow machine takes longer than Go's default of 10 minutes for a package.
TEST         = $(GO) test -timeout 60m
# The packages of the product; others are the project's own tools, and the rules about its source.
PRODUCT      = $$($(GO) list ./... | grep -v -e '/internal/lint$$' -e '/internal/tools/')
STATICCHECK  = $(GO) tool -modfile=tools/go.mod staticcheck
BIN          = bin/proactivedp
GENERATOR    = internal/_gen

.DEFAULT_GOAL := help
.PHONY: help build run quick test test-tools docs test-page test-noasm test-invariants explore race load lint mutants generate generate-check fuzz-short test-arm64 torture kills audit bench scale results search clean

help: ## Show the targets.
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## Build bin/proactivedp, stamped with the revision it is built from.
	$(GO) build -buildvcs=auto -o $(BIN) ./cmd/proactivedp

run: build ## Make figures into out/: logistic regression at the paper's size, MNIST at a twentieth.
	$(BIN) figures --out out --seeds $(SEEDS) --allow-stand-in
	$(BIN) figures mnist-lenet-utility mnist-lenet-sample-size mnist-lenet-epsilon --out out/mnist --seeds 1 --quick --allow-stand-in

quick: build ## The same at a twentieth of the size, for a look.
	$(BIN) figures --out out/quick --seeds 2 --quick --allow-stand-in

test: ## Pass the tests of the product.
	$(TEST) $(PRODUCT)

test-tools: ## Pass the tests of the project's own tools.
	$(TEST) ./internal/tools/...

docs: ## Check the documents: links and names, and that programs, snippets and transcripts in them are real.
	$(TEST) -count 1 ./internal/lint -run '^TestDocs'

test-noasm: ## Pass the tests of the kernels and of what rests on them without assembly.
	$(TEST) -tags noasm ./internal/f32 ./rng ./nn ./models/...

test-page: build site ## Pass the tests of the planner page, the report and the site in a browser, where there are node and chromium.
	web/npm/test.sh $(abspath $(BIN)) $(abspath out/site)

test-invariants: ## Pass the tests of sim and of what runs it with the protocol's promises asserted.
	$(TEST) -tags invariants ./sim ./train/... ./experiments

explore: ## Take small runs through every order of events, and count the states.
	$(GO) run ./cmd/explore

race: ## Pass the tests of everything concurrent under the race detector.
	$(TEST) -race -short -skip '$(SEQUENTIAL)' ./sim/... ./audit/... ./train/... ./experiments/... ./cluster/... ./web ./data/fetch ./internal/papertables ./internal/realclock ./internal/report ./internal/results ./internal/sweep
	$(TEST) -race -short ./propose -run '^TestInfeasible$$'
	$(TEST) -race -short ./cmd/proactivedp -run '$(RACED)'

load: ## Load the hogwild runner for LOADTIME under the race detector.
	PROACTIVEDP_LOAD=$(LOADTIME) $(GO) test -race ./sim -run 'Hogwild|Load|Workspaces' -timeout 0 -count 1 -v

lint: ## Format, vet, staticcheck, the rules about the source, and that the builds without assembly do.
	@test -z "$$(gofmt -l .)" || { echo "gofmt would change:"; gofmt -l .; exit 1; }
	$(GO) vet ./...
	$(STATICCHECK) ./...
	GOAMD64=v3 $(GO) vet ./internal/cpu
	GOOS=darwin GOARCH=arm64 $(GO) vet -tags nobroker ./... # which has every file for arm64
	GOOS=windows $(GO) vet -tags nobroker ./...
	GOOS=js GOARCH=wasm $(GO) vet ./web/internal/planner
	$(GO) vet -tags noasm ./internal/f32 ./rng
	$(GO) vet -tags invariants ./sim
	$(TEST) ./internal/lint -skip '^TestDocs'
	cd $(GENERATOR) && $(GO) vet ./...

mutants: ## Plant the listed faults in the source, one at a time; the tests must go red (half an hour).
	$(GO) run ./internal/tools/mutants

generate: ## Write the assembly of all packages anew.
	cd $(GENERATOR) && $(GO) run .

generate-check: ## Prove that all assembly is what its generator writes.
	@made=$$(mktemp -d) && trap 'rm -rf "$$made"' EXIT && (cd $(GENERATOR) && $(GO) run . -out "$$made") && \
	for file in $$(cd "$$made" && find * -type f) $$(git ls-files '*.s'); do \
		cmp "$$made/$$file" "$$file" || exit 1; \
	done

# golang/go#75804: once in some hundreds of runs a target's time ends with "context deadline
# exceeded" although nothing was found. Then it is run once more, up to four times.
fuzz-short: ## Fuzz every target for FUZZTIME, from the committed corpora.
	@log=$$(mktemp); trap 'rm -f "$$log"' EXIT; \
	targets=$$(grep -rHo '^func Fuzz[A-Za-z0-9_]*' --include='*_test.go' $(FUZZED) | sed 's|/[^/]*:func |:|' | sort -u); \
	[ -n "$$targets" ] || { echo "fuzz-short: no target in $(FUZZED)"; exit 1; }; \
	for target in $$targets; do \
		for try in 1 2 3 4; do \
			$(GO) test "$${target%:*}" -run '^$$' -fuzz "^$${target#*:}\$$" -fuzztime $(FUZZTIME) >"$$log" 2>&1 && status=0 || status=$$?; \
			cat "$$log"; \
			[ $$status = 0 ] && break; \
			grep -q 'context deadline exceeded' "$$log" && ! grep -q 'Failing input written' "$$log" || exit 1; \
			[ $$try != 4 ] || exit 1; \
		done; \
	done

test-arm64: ## Pass the tests of the core for arm64 under an emulator, where there is one.
	@emulator=$$(command -v qemu-aarch64-static || command -v qemu-aarch64) || { echo "test-arm64: skipped, needs qemu-aarch64 (Debian: qemu-user-static)"; exit 0; }; \
	GOARCH=arm64 $(TEST) -vet=off -short -exec "$$emulator" -skip '$(ARM64_SLOW)|$(ARM64_SLOWER)' $(ARM64) && \
	{ [ -z "$(ARM64_MORE)" ] || GOARCH=arm64 $(TEST) -vet=off -short -exec "$$emulator" -run 'Mean.*Bits$$|^TestParse|RoundedOnce|WriteKeeps' $(ARM64_MORE); }

torture: build ## Attack the program for TORTURE: kills, flipped bits, hostile lines and files, full disks, two at once.
	$(GO) run ./internal/tools/torture -program $(abspath $(BIN)) -time $(TORTURE)

kills: ## Kill 200 trainings, 200 loops and 40 distributed processes, with 10 rollbacks, and compare what they resume to (some minutes).
	PROACTIVEDP_KILLS=200 $(GO) test ./cmd/proactivedp -v -count 1 -timeout 30m -run '^TestKilled(Runs|Loops)GoOnToTheSameBits$$'
	PROACTIVEDP_DIST_ROLLBACKS=10 $(GO) test ./cluster -v -count 1 -timeout 30m -run '^TestARollbackReleasesWithFreshNoise$$'

audit: build ## Measure which faults an audit finds, and how often it gives a false alarm, and write results/audit (an hour).
	$(BIN) audit --runs 2000 --audits $(AUDITS) --out results/audit

bench: ## Measure, and write results/bench.md.
	$(GO) run ./cmd/bench -runs 3 -out results/bench.md

scale: ## Measure cost against clients and model size, and write results/scale (some minutes).
	$(GO) run -buildvcs=auto ./cmd/bench -runs 3 -scale results/scale

results: build ## Make the committed figures and tables anew, from the real data only (some eighteen hours).
	$(BIN) figures --out results --seeds $(SEEDS)
	$(BIN) figures phishing-logreg-runners phishing-logreg-throughput '*-logreg-wstar' 'phishing-course*' --out results --seeds $(SEEDS)
	$(BIN) figures phishing-budget phishing-equal-epsilon mushrooms-budget mushrooms-equal-epsilon --out results --seeds $(SEEDS)
	$(BIN) figures mnist-lenet-utility mnist-lenet-sample-size mnist-lenet-delay 'mnist-lenet-stragglers*' mnist-lenet-runners --out results --seeds $(NETWORK_SEEDS)
	$(BIN) figures 'mnist-*epsilon' mnist-budget --out results --seeds $(NETWORK_SEEDS)
	$(BIN) figures mnist-lenet-wstar --out results --seeds 1
	$(BIN) figures cifar10-alexnet-sample-size --out results --seeds 1 --sizes $(CIFAR_SIZES)
	$(BIN) figures cifar10-alexnet-sample-size --out results/cifar10-twentieth --seeds 1 --scale 0.05
	$(BIN) figures cifar10-alexnet-utility cifar10-alexnet-epsilon --out results --seeds 1
	$(BIN) figures cifar10-budget cifar10-equal-epsilon --out results --seeds $(NETWORK_SEEDS)
	$(BIN) train --clients 1 --epsilon 0.05 --sample-size 885 --grad-computations 177000 --schedule zero --eta0 0.05 --clip 0.1 --seeds 40 --out results/phishing-small-budget
	$(BIN) train --model lenet --data mnist --clients 1 --delta 1.66667e-05 --epsilon 0.105387 --sample-size 246 --grad-computations 119802 --schedule zero --eta0 0.15 --input-scale 3 --seeds 5 --out results/mnist-lenet-fifteenth
	$(BIN) tables --out results/tables
	$(BIN) report results --out out/report.html

search: build ## Search the networks' step sizes anew (an hour or less).
	$(BIN) search --data mnist --sigma 12.10881 --out results/search-mnist
	$(BIN) search --data mnist --sigma 12.10881 --models lenet --schedule sqrt --eta0 0.02,0.05 --beta 0.01,0.03 --out results/search-mnist-sqrt
	$(BIN) search --data mnist --sigma 0 --seeds 1 --eta0 0.1,0.2 --beta 3e-6,1e-5 --out results/search-mnist-plain
	$(BIN) search --data cifar10 --sigma 6.572 --seeds 1 --eta0 0.0025,0.005,0.01,0.02 --beta 0.01 --out results/search-cifar10
	$(BIN) search --data cifar10 --scale 0.05 --sigma 0 --seeds 1 --eta0 0.01,0.02,0.05,0.1 --beta 0.01 --out results/search-cifar10-plain

.PHONY: examples release site
examples: ## Build, vet and run the programs of examples/, a module that uses the library from outside.
	cd examples && $(GO) vet ./... && $(GO) test ./...

site: ## Make the home page for the reader into out/site, and follow every link in it.
	$(GO) run -buildvcs=auto ./internal/tools/site -out out/site

release: ## Build VERSION=v1.2.3 for linux, darwin and windows into out/release, each program twice (some minutes).
	$(GO) run ./internal/tools/release -version "$(VERSION)"

clean: ## Remove local figures and finished cells.
	rm -rf bin out results/.cells
