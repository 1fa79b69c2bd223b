# The commands of this project. `make` alone lists them.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.ONESHELL:
.DEFAULT_GOAL := help
.PHONY: help setup demo up down test test-fast check lint types imports bench lock clean

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
RIDES ?=
export UV_PYTHON_DOWNLOADS = never
# Services of `make up` keep their data, and their workers' logs, here.
UP_DIR ?= build/up

help:  ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(READY)  ## make the virtual environment, once for each state of the lock files

$(READY): requirements.bootstrap.lock requirements.lock
	@$(PYTHON) scripts/preflight.py
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.bootstrap.lock
	$(BIN)/uv pip install --python $(BIN)/python --no-build-isolation --require-hashes -r requirements.lock
	$(BIN)/uv pip install --python $(BIN)/python --quiet --no-deps --no-build-isolation --editable .
	touch $@

demo: setup  ## the whole flow on generated rides, then the verdict (RIDES=file or directory: real TLC files)
	@mkdir -p build
	exec $(BIN)/flagfall demo $(if $(RIDES),--replay $(RIDES)) --report build/demo.json

up: setup  ## services and two workers, left running; prints the page's address
	@exec env FLAGFALL_DATA_DIR="$${FLAGFALL_DATA_DIR:-$(UP_DIR)}" $(BIN)/flagfall up

down: setup  ## stop what `make up` started
	@exec env FLAGFALL_DATA_DIR="$${FLAGFALL_DATA_DIR:-$(UP_DIR)}" $(BIN)/flagfall down

test-fast: setup  ## one minute, no Java: units, laws, agreement without Spark, tasks over a log
	$(BIN)/pytest -q -m "(unit or laws or agreement or streaming) and not spark"

test: setup  ## every test, on real services
	$(BIN)/pytest

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup
	$(BIN)/mypy

imports: setup
	$(BIN)/lint-imports

check: lint types imports test  ## what CI runs: lint, types, import rules, every test

bench: setup  ## rides per second through producer, one worker and Spark, into build/bench.json
	@mkdir -p build
	exec $(BIN)/python benchmarks/flow.py --rides 1000000 --report build/bench.json

lock: setup  ## resolve the dependencies anew
	$(BIN)/uv pip compile --universal --generate-hashes --no-annotate --no-header --no-emit-index-url \
	  --no-emit-find-links --python-version 3.11 --extra dev pyproject.toml -o requirements.lock
	$(BIN)/uv pip compile --universal --generate-hashes --no-annotate --no-header --no-emit-index-url \
	  --no-emit-find-links --python-version 3.11 requirements.bootstrap.in -o requirements.bootstrap.lock

clean:  ## stop what runs and remove what was built; the jars' cache stays
	@if [ -x $(BIN)/flagfall ]; then FLAGFALL_DATA_DIR="$(UP_DIR)" $(BIN)/flagfall down || true; fi
	rm -rf build .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache *.egg-info
