# Every target sets up what it needs. Go fetches the modules.
GO          ?= go
SEEDS       ?= 5
# Seeds and sizes of the networks' figures. LeNet runs at the paper's size. So do AlexNet's utility
# graph, its budgets and six of its sample sizes, which takes about seventeen hours. All seven sample
# sizes also run at a twentieth of K, which takes minutes. Each seed of cifar10-scatter holds another
# tenth of the training images out.
NETWORK_SEEDS ?= 3
FOLDS         ?= 4
CIFAR_SIZES   ?= 10,50,100,300,500,689
FUZZTIME    ?= 10s
INVARIANTS  ?= .
FUZZED      ?= .
# Coverage guides a fuzzer that runs long. It needs builds of its own, which take minutes. A run of some
# hundreds of inputs does not need it: FUZZBUILD= uses the builds of the target test.
FUZZBUILD   ?= -fuzz .
AUDITS      ?= 50
# The largest exploration has 977,079 states. Fewer here leave larger explorations out.
STATES      ?= 1000000
LOADTIME    ?= 10m
PYTHON      ?= python3
# Packages whose tests an emulator passes in some seconds: seeds, rounding, closed forms, files, the
# kernels, and whole gradients computed with them. Left out are statistics of noise whose bits are
# tested, and the portable versions of matrix tiles.
ARM64        = ./rng ./dp ./dp/closedform ./internal/f32 ./internal/cpu ./internal/decimal ./internal/files \
	./models/lenet ./models/logreg ./models/mlp ./models/softmax
# These take as long again to compile for arm64: a parser, and whole trainings.
ARM64_MORE   = ./data/libsvm ./train
# Tests that take an emulator long, or that start their own program, which an emulator cannot do.
ARM64_SLOW   = LogGamma|Kolmogorov|NormalTail|Uniform|Permutation|MinEpsilon|GammaSolves|Moment|Accountant|AboveExact|Growing
ARM64_SLOWER = PoissonSampling|RHS|FixedSize|SmallerSamples|LimitMeets|DeltaIsTheInverse|ImpliesSimpleF|TestSplit|RareRadiiAre|Conform|Extremes|RidgeThat|LockEndsWithItsProcess|^TestShuffled(Batches|Rounds)|NoExactReleaseIsLonger|ExactNormalsAreNormal
# Tests of the commands in which the program itself does several things at a time: it listens to
# signals, and shows how far workers and hogwild are. The other concurrent code that their scripts run
# is in packages whose own tests run under the race detector.
RACED        = TestScripts/^(checkpoint|delay|interrupt)$$
# Tests that take long under the race detector and have nothing that others lack: those that run in one
# goroutine (explorations, damaged and unfit states, drawn pictures, what a training costs, σ for the
# figures of own data), tests of an audit whose code TestWorkersChangeNothing also runs, and whole
# trainings by runners that the tests of sim run, or by pools that the tests of delays and sample sizes
# run. Of the tables of the papers, only TestMakeTablesIsReproducible has several workers.
SEQUENTIAL   = ^Test(EveryInterleaving|Exploration|NamesOfClientsDecideNothing|DamagedCheckpointIsRefused|CheckpointLengthsAreNotTrusted|UnfitPartsAreErrors|VectorsOfARoughRun|ReplaySeesTheFinestFault|WholeMechanismIsCloseToItsClaim|ExactMechanismIsWhole|ChecksFindWhatBoundsMiss|LowerBoundHolds|Redraw|DamagedStatesAreRefused|CalibratedRunsKeepTheTarget|RunIsWithinThePlan|VectorsOfALargeModel|HogwildMemoryDoesNotGrow|NoSeedCostsMoreThanTheCostliest|SettingCostsNoMoreThanItsFileSays|SettingKeepsItsAdjacency|CheckpointAtAnyEvent|HogwildIsAsAccurateAsVirtual|AllocationPaysForItsEpochs|PrivateBoundsCompose|ASavedModelHasItsFeatures|OneRunAuditOfScattering|OneLargeViewAtATime|TheLeastNoiseThatIsCovered|AnAuditElsewhereIsTheSame|SurveyGoesOn|EndsAreNotInside|FiguresOfBudgets|ProbesAreAsynchronous|SizesAreAsAsked|FigureOfACourse|ACutOffReleaseWasNotMade|AFlippedBitIsNoReasonToReleaseAgain|AnySectorsOfAFlushMayBeMissing|MakeWritesPictureDataAndManifest|AgainstGrid|OwnSizesAreEachOnce|OwnFiguresAreAsAsked|OwnFiguresAreNotThePapers|OneClientHasNoDelays|PredictionsAreNear|ProposalsAreChecked|CurveEndsWhereTrainingsEnd|ParseTraceIsBounded|WholeIsRound)$$
# On a slow or busy machine, a package may take longer than Go's default of 10 minutes.
# The target lint vets all packages. Without -vet=off, go test would vet them again for each kind of
# build, with everything that they import.
TEST         = $(GO) test -vet=off -timeout 60m
# Packages with assembly are vetted for arm64. A test of internal/lint checks the types of all packages for the other
# systems, and vets files for Windows.
ASSEMBLY     = ./internal/cpu ./internal/f32 ./rng
RACE         = CGO_ENABLED=1 $(TEST) -race -short -tags invariants
# The packages of the product. The others are the project's tools, and the rules about its source.
PRODUCT      = $$($(GO) list ./... | grep -v -e '/internal/lint$$' -e '/internal/tools/')
# go tool ignores -trimpath in GOFLAGS: for it, .ci/run would compile the standard library once more than for go run.
STATICCHECK  = $(GO) run -modfile=tools/go.mod honnef.co/go/tools/cmd/staticcheck
# staticcheck reads all that is imported. With CHECKED='-tags nobroker' it leaves out the embedded broker, which
# takes a third of the time, with the files of cluster that start it.
CHECKED     ?=
BIN          = bin/proactivedp
GENERATOR    = internal/_gen

.DEFAULT_GOAL := help
.PHONY: help build install FORCE run quick test test-tools docs test-page test-noasm test-invariants explore race load lint mutants generate generate-check fuzz-short test-arm64 network kills audit bench scale auto-against-plain results search clean

help: ## Show the targets.
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: web/made/planner.html ## Build bin/proactivedp with the planner page inside, stamped with the revision it is built from.
	$(GO) build -buildvcs=auto -tags page -o $(BIN) ./cmd/proactivedp

install: web/made/planner.html ## Install the same program where go install puts it.
	$(GO) install -buildvcs=auto -tags page ./cmd/proactivedp

# The page is made anew each time: Go's cache knows what has changed.
web/made/planner.html: FORCE
	@mkdir -p $(@D)
	@$(GO) run -buildvcs=auto ./cmd/proactivedp page --out $@
FORCE:

run: build ## Make figures into out/: Figure 1 by goroutines, logistic regression at the paper's size, MNIST at a twentieth.
	$(BIN) figures phishing-logreg-sample-size phishing-logreg-epsilon --runner hogwild --out out/hogwild --seeds $(SEEDS) --allow-stand-in
	$(BIN) figures --out out --seeds $(SEEDS) --allow-stand-in
	$(BIN) figures mnist-lenet-utility mnist-lenet-sample-size mnist-lenet-epsilon --out out/mnist --seeds 1 --quick --allow-stand-in

quick: build ## Make the same figures at a twentieth of the size, for a quick look.
	$(BIN) figures --out out/quick --seeds 2 --quick --allow-stand-in

test: ## Run the tests of the product.
	$(TEST) $(PRODUCT)

test-tools: ## Run the tests of the project's tools.
	$(TEST) ./internal/tools/...

docs: ## Check links and names in the documents, and that their programs, snippets and transcripts are real.
	$(TEST) -count 1 ./internal/lint -run '^TestDocs'

test-noasm: ## Run the tests of the kernels, and of the packages that use them, without assembly.
	$(TEST) -tags noasm ./internal/f32 ./rng ./nn ./models/...

test-page: build site ## Run the tests of the planner page, the report and the site in a browser, if node and chromium are installed.
	web/npm/test.sh $(abspath $(BIN)) $(abspath out/site)

test-invariants: ## Run the tests of sim with the protocol's invariants asserted. The target race asserts them too.
	$(TEST) -tags invariants ./sim -run '$(INVARIANTS)'

explore: ## Check small runs in every order of their events, and count the states.
	$(TEST) -count 1 -v ./sim -run '^TestExploration$$' -explore $(STATES)

race: ## Run the tests of all concurrent code under the race detector, with the protocol's invariants asserted.
	$(RACE) -skip '$(SEQUENTIAL)' ./sim/... ./audit/... ./train/... ./trainer ./experiments/... ./cluster/... ./web ./data/fetch ./internal/realclock ./internal/report ./internal/sweep
	$(RACE) ./internal/papertables ./propose ./data/table -run '^Test(MakeTablesIsReproducible|Infeasible|Chunks|FaultsOfChunks)$$'
	$(RACE) ./cmd/proactivedp -run '$(RACED)'

load: ## Stress the hogwild runner for LOADTIME under the race detector.
	PROACTIVEDP_LOAD=$(LOADTIME) $(GO) test -race ./sim -run 'Hogwild|Load|Workspaces' -timeout 0 -count 1 -v

lint: ## Check the format, vet, staticcheck, the rules about the source, and vet for other systems and builds.
	@test -z "$$(gofmt -l .)" || { echo "gofmt would change:"; gofmt -l .; exit 1; }
	$(GO) vet ./...
	$(STATICCHECK) $(CHECKED) ./...
	$(GO) vet -tags amd64.v3,noasm $(ASSEMBLY)
	$(GO) vet -tags invariants ./sim
	GOARCH=arm64 $(GO) vet $(ASSEMBLY)
	$(TEST) ./internal/lint -skip '^TestDocs'
	cd $(GENERATOR) && $(GO) vet ./...

mutants: ## Plant the listed faults in the source, one at a time; the tests must fail (some minutes).
	$(GO) run ./internal/tools/mutants

generate: ## Generate the assembly of all packages.
	cd $(GENERATOR) && $(GO) run .

generate-check: ## Check that the committed assembly is what the generators write.
	@made=$$(mktemp -d) && trap 'rm -rf "$$made"' EXIT && (cd $(GENERATOR) && $(GO) run . -out "$$made") && \
	for file in $$(cd "$$made" && find * -type f) $$(git ls-files '*.s'); do \
		cmp "$$made/$$file" "$$file" || exit 1; \
	done

# The program of a package's tests is built once, and fuzzes one target after the other. Because of
# golang/go#75804, about one in some hundreds of runs that last a given time ends with "context
# deadline exceeded" although nothing was found. Such a target runs again, up to four times in all.
# If FUZZTIME is a count, such as 300x, that does not happen.
fuzz-short: ## Fuzz every target for FUZZTIME, from the committed corpora.
	@made=$$(mktemp -d); trap 'rm -rf "$$made"' EXIT; found=$$($(GO) env GOCACHE)/fuzz/made; root=$$PWD; \
	packages=$$(grep -rl '^func Fuzz' --include='*_test.go' $(FUZZED) | xargs -r -n 1 dirname | sort -u); \
	[ -n "$$packages" ] || { echo "fuzz-short: no target in $(FUZZED)"; exit 1; }; \
	for package in $$packages; do \
		cd "$$root/$$package" && $(GO) test -vet=off -tags nobroker -ldflags='-s -w' -c $(FUZZBUILD) -o "$$made/fuzz" . || exit 1; \
		for target in $$("$$made/fuzz" -test.list '^Fuzz'); do \
			for try in 1 2 3 4; do \
				"$$made/fuzz" -test.run '^$$' -test.fuzz "^$$target\$$" -test.fuzztime $(FUZZTIME) \
					-test.fuzzcachedir "$$found/$$package" >"$$made/log" 2>&1 && status=0 || status=$$?; \
				echo "$$package $$target"; cat "$$made/log"; \
				[ $$status = 0 ] && break; \
				grep -q 'context deadline exceeded' "$$made/log" && ! grep -q 'Failing input written' "$$made/log" || exit 1; \
				[ $$try != 4 ] || exit 1; \
			done; \
		done; \
	done

test-arm64: ## Run the core tests for arm64 under an emulator, if one is installed.
	@emulator=$$(command -v qemu-aarch64-static || command -v qemu-aarch64) || { echo "test-arm64: skipped, needs qemu-aarch64 (Debian: qemu-user-static)"; exit 0; }; \
	GOARCH=arm64 $(TEST) -short -exec "$$emulator" -skip '$(ARM64_SLOW)|$(ARM64_SLOWER)' $(ARM64) && \
	{ [ -z "$(ARM64_MORE)" ] || GOARCH=arm64 $(TEST) -short -exec "$$emulator" -run 'Mean.*Bits$$|^TestParse|RoundedOnce|WriteKeeps' $(ARM64_MORE); }

network: build ## Measure a training over networks that lose and delay packets, and cut each part off (Linux, as root; some minutes).
	$(GO) build -o out/nats-server github.com/nats-io/nats-server/v2
	$(GO) build -o out/network ./internal/tools/network
	internal/tools/network/network.sh $(BIN) out/nats-server out/network

kills: ## Kill 200 trainings, 200 loops and 40 distributed processes, with 10 rollbacks, and compare the results after they resume (some minutes).
	PROACTIVEDP_KILLS=200 $(GO) test ./cmd/proactivedp -v -count 1 -timeout 30m -run '^TestKilled(Runs|Loops)GoOnToTheSameBits$$'
	PROACTIVEDP_DIST_ROLLBACKS=10 $(GO) test ./cluster -v -count 1 -timeout 30m -run '^TestARollbackReleasesWithFreshNoise$$'

audit: build ## Measure which faults an audit finds and how often it gives a false alarm, and write results/audit (an hour).
	$(BIN) audit --runs 2000 --audits $(AUDITS) --out results/audit

bench: ## Run the benchmarks and write results/bench.md.
	$(GO) run ./cmd/bench -runs 3 -out results/bench.md

scale: ## Measure the cost for different numbers of clients and model sizes, and write results/scale (some minutes).
	$(GO) run -buildvcs=auto ./cmd/bench -runs 3 -scale results/scale

auto-against-plain: ## Compare auto with plain stages on twenty tables, and write results/auto-against-plain (an hour).
	$(GO) run -buildvcs=auto ./cmd/bench -own results/auto-against-plain

results: build ## Make all committed figures and tables again, from the real data only (about eighteen hours).
	$(BIN) figures 'phishing-logreg-*delay' 'phishing-logreg-stragglers*' phishing-logreg-staleness phishing-logreg-idle phishing-logreg-adaptive phishing-logreg-timeline --out results --seeds $(SEEDS)
	$(BIN) figures 'phishing-logreg-sample-size*' phishing-logreg-epsilon mushrooms-logreg-plain-sample-size mushrooms-logreg-plain-epsilon --out results --seeds 40
	$(BIN) figures 'phishing-logreg-plain-sample-size*' 'mushrooms-logreg-sample-size*' mushrooms-logreg-plain-sample-size-equal phishing-logreg-plain-epsilon mushrooms-logreg-epsilon --out results --seeds 20
	$(BIN) figures '*-logreg-utility' --out results --seeds 40
	$(BIN) figures mushrooms-logreg-plain-utility --out results --seeds 20
	$(BIN) figures phishing-logreg-plain-utility --out results --seeds 10
	$(BIN) figures phishing-logreg-runners phishing-logreg-throughput '*-logreg-wstar' 'phishing-course*' --out results --seeds $(SEEDS)
	$(BIN) figures phishing-budget phishing-equal-epsilon mushrooms-budget mushrooms-equal-epsilon --out results --seeds $(SEEDS)
	$(BIN) figures mnist-lenet-utility 'mnist-lenet-sample-size*' mnist-lenet-delay 'mnist-lenet-stragglers*' mnist-lenet-runners --out results --seeds $(NETWORK_SEEDS)
	$(BIN) figures 'mnist-*epsilon' mnist-lenet-step-size mnist-budget --out results --seeds $(NETWORK_SEEDS)
	$(BIN) figures mnist-lenet-wstar --out results --seeds 1
	$(BIN) figures cifar10-alexnet-sample-size --out results --seeds 1 --sizes $(CIFAR_SIZES)
	$(BIN) figures cifar10-alexnet-sample-size cifar10-alexnet-sample-size-equal --out results/cifar10-twentieth --seeds 1 --scale 0.05
	$(BIN) figures cifar10-alexnet-utility cifar10-alexnet-epsilon --out results --seeds 1
	$(BIN) figures cifar10-budget cifar10-equal-epsilon --out results --seeds $(NETWORK_SEEDS)
	$(BIN) figures mnist-scatter phishing-sampling --out results --seeds $(SEEDS)
	$(BIN) figures mnist-sampling --out results --seeds $(NETWORK_SEEDS)
	$(BIN) figures cifar10-scatter --out results --seeds $(FOLDS)
	$(BIN) propose --check --count 1 --seeds 3 --out results/predictions-proposed
	$(BIN) train --clients 1 --epsilon 0.05 --sample-size 885 --grad-computations 177000 --schedule zero --eta0 0.05 --clip 0.1 --seeds 40 --out results/phishing-small-budget
	$(BIN) train --model lenet --data mnist --clients 1 --delta 1.66667e-05 --epsilon 0.105387 --sample-size 246 --grad-computations 119802 --schedule zero --eta0 0.15 --input-scale 3 --seeds 5 --out results/mnist-lenet-fifteenth
	$(BIN) tables --out results/tables
	$(BIN) report results --out out/report.html

search: build ## Search the networks' step sizes again (an hour or less).
	$(BIN) search --data mnist --models lenet,lenet-relu --sigma 12.10881 --out results/search-mnist
	$(BIN) search --data mnist --sigma 12.10881 --models lenet --schedule sqrt --eta0 0.02,0.05 --beta 0.01,0.03 --out results/search-mnist-sqrt
	$(BIN) search --data mnist --models lenet,lenet-relu --sigma 0 --seeds 1 --eta0 0.1,0.2 --beta 3e-6,1e-5 --out results/search-mnist-plain
	$(BIN) search --data cifar10 --models alexnet --sigma 6.572 --seeds 1 --eta0 0.0025,0.005,0.01,0.02 --beta 0.01 --out results/search-cifar10
	$(BIN) search --data cifar10 --models alexnet --scale 0.05 --sigma 0 --seeds 1 --eta0 0.01,0.02,0.05,0.1 --beta 0.01 --out results/search-cifar10-plain

.PHONY: examples release site wheels test-python
examples: ## Vet and test the programs in examples/, a separate module that uses the library.
	cd examples && $(GO) vet ./... && $(TEST) ./...

site: ## Make the home page in out/site.
	$(GO) run -buildvcs=auto ./internal/tools/site -out out/site

release: ## Build VERSION=v1.2.3 for linux, darwin and windows into out/release, each program twice (some minutes).
	$(GO) run ./internal/tools/release -version "$(VERSION)"

wheels: ## Build the Python package as wheels for linux, darwin and windows into out/wheels, as VERSION if it is given (some minutes).
	$(GO) run ./internal/tools/release -wheels -version "$(VERSION)" -out out/wheels

# pip installs the wheel without a network into an environment that sees the packages of PYTHON, so that the
# tests of estimators run where scikit-learn is installed.
test-python: ## Install the wheel for this machine without a network and test it, if PYTHON is 3.9 or newer with venv and pip.
	@$(PYTHON) -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 9))' || \
		{ echo "test-python: skipped, needs Python 3.9 with venv and pip (Debian: python3-venv)"; exit 0; }; \
	made=$$(mktemp -d) && trap 'rm -rf "$$made"' EXIT && \
	$(GO) run ./internal/tools/release -wheels -host -version "$(VERSION)" -out "$$made" && \
	$(PYTHON) -m venv --system-site-packages "$$made/env" && \
	"$$made/env/bin/pip" install --quiet --disable-pip-version-check --no-index --find-links "$$made" proactivedp && \
	"$$made/env/bin/python" -m unittest discover -s python/tests

clean: ## Remove local figures and finished cells.
	rm -rf bin out results/.cells
