# The commands of this project. `make` alone lists them.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.ONESHELL:
.DEFAULT_GOAL := help
.PHONY: help setup demo up down test test-fast check format lint types imports collection bench bench-http bench-latency bench-poison bench-recovery bench-stream bench-take-over simulate fuzz plants pictures drill soak agreement laws jars lock release clean

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
RIDES ?=
INPUTS ?=
DOOR ?=
DRILL ?= list
SEEDS ?=
RUNS ?= 3
SYSTEMS ?= all
export UV_PYTHON_DOWNLOADS = never
# A worker's start reads 1,900 modules: 2 s of bytecode, 5 s of source where Python may not write it itself.
export UV_COMPILE_BYTECODE = 1
# Services of `make up` keep their data, and their workers' logs, here.
UP_DIR ?= build/up

help:  ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(READY)  ## make the virtual environment, once for each state of the lock files

$(READY): requirements.bootstrap.lock requirements.lock
	@$(PYTHON) scripts/preflight.py
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.bootstrap.lock
	$(BIN)/uv pip sync --python $(BIN)/python --no-build-isolation --require-hashes requirements.bootstrap.lock requirements.lock
	$(BIN)/uv pip install --python $(BIN)/python --quiet --no-deps --no-build-isolation --editable .
	$(BIN)/python -m compileall -q app agents tables spark_batch
	$(BIN)/python -c "import app.edge.worker"  # compiles the engine's loops, else the first worker would
	touch $@

demo: setup  ## the whole flow on generated rides, then the verdict (RIDES=file or directory: real TLC files)
	@mkdir -p build
	exec $(BIN)/flagfall demo $(if $(RIDES),--replay $(RIDES)) --report build/demo.json

up: setup  ## services and two workers, left running; prints the page's address
	@exec env FLAGFALL_DATA_DIR="$${FLAGFALL_DATA_DIR:-$(UP_DIR)}" $(BIN)/flagfall up

down: setup  ## stop what `make up` started
	@exec env FLAGFALL_DATA_DIR="$${FLAGFALL_DATA_DIR:-$(UP_DIR)}" $(BIN)/flagfall down

test-fast: setup  ## three minutes on two cores, no Java: units, laws, agreement without Spark, tasks over a log
	$(BIN)/pytest -n auto --dist loadfile -m "(unit or laws or agreement or streaming) and not spark"

test: setup jars  ## every test, on real services, in lanes side by side; what it found is in build/ci (ARGS= for pytest)
	$(PYTHON) -m scripts.gate tests -- $(ARGS)

laws: setup  ## laws, agreement and simulation with seeds that are drawn (SEEDS= how many, SEED= again with one)
	@for seed in $(or $(SEED),$$(shuf -i 1-4294967295 -n $(or $(SEEDS),5))); do
	  echo "seed $$seed; again: make laws SEED=$$seed"
	  $(BIN)/pytest -q -m "(laws or agreement or streaming) and not spark" --hypothesis-seed=$$seed
	done

jars: setup  ## Kafka, the registry and Spark's connectors into the cache, each compared with its sha256; archives of their classes
	$(BIN)/flagfall services fetch
	exec $(BIN)/flagfall services archive

format: setup  ## what ruff can mend, and the layout
	$(BIN)/ruff check --fix --quiet .
	$(BIN)/ruff format .

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup
	$(BIN)/mypy

imports: setup
	$(BIN)/lint-imports

collection: setup
	$(BIN)/pytest --collect-only -qq

check:  ## what CI runs: set-up, lint, types, import rules, jars, every test; build/ci says why it is red
	$(PYTHON) -m scripts.gate

bench: setup  ## rides per second through producer, one worker and Spark, into build/bench.json
	@mkdir -p build
	exec $(BIN)/python benchmarks/flow.py --rides 1000000 --report build/bench.json

bench-http: setup  ## questions, followers and hostile callers beside a worker's stream, into build/bench-http.json (6 min)
	exec $(BIN)/python -m benchmarks.http

bench-latency: setup  ## from produce to committed and readable, and what it costs, into build/latency.json (CASES= rates)
	exec $(BIN)/python -m benchmarks.latency $(if $(CASES),--cases $(CASES))

bench-poison: setup  ## rides per second through the task core with 0, 1 and 20 percent unusable records, into build/poison.json
	exec $(BIN)/python -m benchmarks.poison --report build/poison.json

bench-recovery: setup  ## one and ten million rows back from their changelogs, into build/bench-recovery.json (20 min; CASES=)
	exec $(BIN)/python -m benchmarks.recovery $(if $(CASES),--cases $(CASES))

bench-stream: setup  ## the worker beside Kafka Streams, Flink, Faust, Quix, Spark, into build/bench-stream.json (SYSTEMS= RUNS=)
	exec $(BIN)/python -m benchmarks.stream --systems $(SYSTEMS) --runs $(RUNS)

bench-take-over: setup  ## a worker's start, and a killed one's tasks at the other, into build/take-over.json (5 min)
	exec $(BIN)/python -m benchmarks.take_over

agreement: setup  ## worker, Spark and naive fold on random histories, into build/agreement.json (SEEDS= how many, SEED= the first)
	@mkdir -p build
	exec $(BIN)/python -m tests.agreement --seeds $(or $(SEEDS),100) $(if $(SEED),--seed $(SEED))

fuzz: setup  ## mutated inputs through every door to the outside, into build/fuzz.json (INPUTS= how many, SEED=, DOOR=)
	@mkdir -p build
	exec $(BIN)/python -m tests.fuzz --inputs $(or $(INPUTS),1000000) $(if $(SEED),--seed $(SEED)) $(if $(DOOR),--door $(DOOR))

pictures: setup jars  ## the first page in each of its states, into docs/city
	FLAGFALL_TEST_PICTURES=$(CURDIR)/docs/city $(BIN)/pytest -q tests/browser/test_city_of_two_workers.py

plants: setup  ## faults planted into tables, and clean runs, named or not by the pure part of reconcile, into build/plants.json (N= SEED=)
	@mkdir -p build
	exec $(BIN)/python -m tests.plants --count $(or $(N),1000) $(if $(SEED),--seed $(SEED))

simulate: setup  ## histories of a simulated cluster against the naive fold, into build/simulate.json (SEEDS= how many, SEED= the first)
	@mkdir -p build
	exec $(BIN)/python -m app.testkit.simulate --seed $(or $(SEED),$$(date +%s)) --seeds $(or $(SEEDS),1000) \
	  --report build/simulate.json

drill: setup  ## faults on real brokers and workers: DRILL=name SEEDS=n, SEED= again with one; DRILL=list
	@mkdir -p build
	exec $(BIN)/python -m tests.drills $(DRILL) --seeds $(or $(SEEDS),1) $(if $(SEED),--seed $(SEED))

soak: setup  ## every drill, one after the other, in its long form: hours (SEEDS= runs of each); build/drills.jsonl
	@mkdir -p build
	exec $(BIN)/python -m tests.drills all --seeds $(or $(SEEDS),1)

lock: setup  ## resolve the dependencies anew
	$(BIN)/uv pip compile --universal --generate-hashes --no-annotate --no-header --no-emit-index-url \
	  --no-emit-find-links --python-version 3.11 --extra dev pyproject.toml -o requirements.lock
	$(BIN)/uv pip compile --universal --generate-hashes --no-annotate --no-header --no-emit-index-url \
	  --no-emit-find-links --python-version 3.11 --constraint requirements.lock pyproject.toml -o requirements.run.lock
	$(BIN)/uv pip compile --universal --generate-hashes --no-annotate --no-header --no-emit-index-url \
	  --no-emit-find-links --python-version 3.11 requirements.bootstrap.in -o requirements.bootstrap.lock

release: setup jars  ## archives, list of parts, licences, and the image where an engine is, into build/release (ARGS=--no-image)
	$(PYTHON) -m scripts.release $(ARGS)

clean:  ## stop what runs and remove what was built; the jars' cache stays
	@if [ -x $(BIN)/flagfall ]; then FLAGFALL_DATA_DIR="$(UP_DIR)" $(BIN)/flagfall down || true; fi
	rm -rf build .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache *.egg-info
