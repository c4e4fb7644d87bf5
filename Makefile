# Everything a developer types. `make help` lists it.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# The package alone is enough for an audit; the rest is for those who develop it.
READY := $(VENV)/.ready
STAMP := $(VENV)/.installed
# Arguments for the tool that a target runs: make test ARGS='tests/model -x'
ARGS ?=
# Test workers: no more than four, since each one compiles.
JOBS ?= $(shell n=$$(nproc 2>/dev/null || echo 2); echo $$((n < 4 ? n : 4)))

# One thread per process: workers would otherwise fight over the cores.
export OMP_NUM_THREADS ?= 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup audit test lint types format golden fidelity bench bench-quick \
    bench-gate bench-compare bench-counts scaling survival fuzz operators \
    compile-cost models test-torch-spyre check clean

help:  ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-18s %s\n", $$1, $$2}' Makefile

setup: $(STAMP)  ## Make the virtual environment (every other target does it when needed)

# setuptools first: with it there, building the package needs no environment of its own,
# which constraints would not reach.
$(READY): setup.py pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and \
	    "Python 3.11 or later is needed: make PYTHON=/path/to/python3.11")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -c constraints.txt setuptools
	$(BIN)/python -m pip install --quiet -c constraints.txt --no-build-isolation \
	    --editable .
	@touch $@

# The last one asks for JupyterLab and needs none.
$(STAMP): $(READY)
	$(BIN)/python -m pip install --quiet -c constraints.txt --no-build-isolation \
	    --editable '.[test,models,lint,zstd,export,bench]'
	$(BIN)/python -m pip install --quiet --no-deps HolisticTraceAnalysis==0.5.0
	@touch $@

audit: $(READY)  ## Compile the example model and audit it: the main job
	$(BIN)/spyre-provenance audit $(ARGS)

test: $(STAMP)  ## Run the tests
	$(BIN)/python -m pytest --numprocesses=$(JOBS) --dist=worksteal $(ARGS)

lint: $(STAMP) types  ## Check style, types and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-logo

types: $(STAMP)  ## Check types
	$(BIN)/mypy

format: $(STAMP)  ## Format the sources and fix what can be fixed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

golden: $(STAMP)  ## Accept reports and schema as they are now (then read the diff)
	$(BIN)/python -m pytest tests/report tests/store tests/recording/test_same_bytes.py \
	    --update-goldens $(ARGS)

fidelity: $(STAMP)  ## Attribution against programs whose lines are known (long)
	$(BIN)/python -m benchmarks.fidelity --programs 500 $(ARGS)

bench: $(STAMP)  ## What recording costs, and what the alternatives cost (long)
	$(BIN)/python -m benchmarks.overhead --plot docs/images/overhead.svg \
	    --figures docs/figures/overhead.json $(ARGS)

bench-quick: $(STAMP)  ## The same on two models, in about two minutes
	$(BIN)/python -m benchmarks.overhead --quick $(ARGS)

bench-gate: $(STAMP)  ## Fail where a compile surely costs more than it may (CI)
	$(BIN)/python -m benchmarks.overhead --compiles-only --rounds 8 \
	    --max-cost 8 --max-own 8 --only SimpleMLP --only '12-block MLP' \
	    --condition off --condition 'off again' --condition on $(ARGS)

bench-compare: $(STAMP)  ## The hot pieces against the last run of this target
	$(BIN)/python -m pytest benchmarks/micro.py --benchmark-autosave \
	    --benchmark-timer=time.process_time \
	    $$(test -d .benchmarks && echo --benchmark-compare) $(ARGS)

bench-counts: $(STAMP)  ## Instructions under valgrind: no noise (long)
	$(BIN)/python -m benchmarks.overhead_instructions $(ARGS)

scaling: $(STAMP)  ## How the cost of recording grows with the number of ops (long)
	$(BIN)/python -m benchmarks.scaling --json docs/figures/scaling.json $(ARGS)

survival: $(STAMP)  ## 8 processes x 25 compiles, 2,000 bundles exported (long)
	SURVIVAL_PROCESSES=8 SURVIVAL_COMPILES=25 EXPORT_BUNDLES=2000 \
	    $(BIN)/python -m pytest tests/survival tests/export $(ARGS)

fuzz: $(STAMP)  ## 100,000 damaged bundles through all that reads one (long)
	FUZZ_CASES=100000 $(BIN)/python -m pytest tests/survival/test_fuzz.py $(ARGS)

operators: $(STAMP)  ## Every operator in every type and form; writes docs/operators.md (long)
	$(BIN)/python -m pytest tests/frontends/reference/test_sweep.py \
	    tests/frontends/reference/test_programs.py --update-goldens $(ARGS)

compile-cost: $(STAMP)  ## A deep model's compile against Inductor's C++ backend (long)
	$(BIN)/python -m benchmarks.compile_cost $(ARGS)

models: $(STAMP)  ## All architectures; writes docs/models.md (long)
	$(BIN)/python -m pytest tests/models --update-goldens $(ARGS)

test-torch-spyre: $(STAMP)  ## The tests that need TORCH_SPYRE_CHECKOUT=PATH
	@test -n "$(TORCH_SPYRE_CHECKOUT)" || \
	    { echo 'name a checkout: TORCH_SPYRE_CHECKOUT=PATH make test-torch-spyre'; exit 2; }
	$(BIN)/python -m pytest -m torch_spyre --numprocesses=$(JOBS) --dist=loadfile $(ARGS)

check: lint bench-gate test  ## What CI runs

clean:  ## Remove everything that was made here, the virtual environment too
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache \
	    .hypothesis .import_linter_cache .benchmarks
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
