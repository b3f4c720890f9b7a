# The two commands of the README are `make demo` and `make test`.
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
AUDIT ?= pypi
PYTHON ?= python3.11
PYTHON := $(shell command -v $(PYTHON) >/dev/null 2>&1 && echo $(PYTHON) || echo python3)

.DEFAULT_GOAL := help

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## */\t/' | awk -F'\t' '{printf "  make %-12s %s\n", $$1, $$2}'

PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet

# Everything is installed by its hash but torch, whose wheel differs by index; the project is built by tools that are.
$(READY): pyproject.toml constraints.txt requirements-dev.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) --require-hashes --requirement requirements-dev.txt
	$(PIP) --constraint constraints.txt torch
	$(PIP) --no-build-isolation --no-deps --editable .
	$(BIN)/python -m pip --disable-pip-version-check check
	@touch $(READY)

$(READY)-all: $(READY)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev-all]'
	@touch $(READY)-all

install: $(READY)  ## make .venv with the project, its tools and its pins

demo: $(READY)  ## show the five models on small data and write demo/
	$(BIN)/netfold demo demo

test: $(READY)  ## run the tests, on all cores
	$(BIN)/python -m pytest -n auto

test-slow: $(READY)-all  ## run the slow tests too, with every extra (set NETFOLD_DATA for those on real data)
	$(BIN)/python -m pytest -m 'slow or not slow'

fuzz: $(READY)  ## spoil files at random for an hour (FUZZ_SECONDS, FUZZ_SEED); finds are kept in tests/robustness/crashes
	$(BIN)/python tests/robustness/fuzz.py

check: $(READY)  ## lint, format, types, imports, doctests and tests
	$(BIN)/ruff check src tests benchmarks examples docs/conf.py docs/notebooks/execute.py
	$(BIN)/ruff format --check src tests benchmarks examples docs/conf.py docs/notebooks/execute.py
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -n auto --doctest-modules --doctest-ignore-import-errors src/netfold tests

docs: $(READY)  ## build the pages into build/docs, warnings being errors
	$(BIN)/sphinx-build -W -n --keep-going -q -b html docs build/docs

notebooks: $(READY)-all  ## run the notebooks of docs/notebooks and store what comes out
	$(BIN)/python docs/notebooks/execute.py

format: $(READY)  ## format the code
	$(BIN)/ruff check --fix src tests benchmarks examples docs/conf.py docs/notebooks/execute.py
	$(BIN)/ruff format src tests benchmarks examples docs/conf.py docs/notebooks/execute.py

pins:  ## write requirements-dev.txt: the pins of constraints.txt with their hashes, by the index
	$(PYTHON) .ci/pins.py

audit:  ## ask an index of known vulnerabilities about the pins (AUDIT=pypi or osv); needs the network
	$(PYTHON) -m venv build/audit
	build/audit/bin/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt pip-audit
	build/audit/bin/pip-audit --vulnerability-service $(AUDIT) --strict --require-hashes --disable-pip -r requirements-dev.txt

clean:  ## remove what the targets made
	rm -rf $(VENV) demo build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

.PHONY: help install demo test test-slow fuzz check docs notebooks format pins audit clean
