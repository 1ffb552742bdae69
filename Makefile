# Two commands are enough: `make demo` and `make test`. Both set everything up first.
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup demo test check pytest bench bench-recall bench-contract bench-crash bench-faults wheel-smoke format sync docs lock clean schema

BIN := .venv/bin
READY := .venv/.ready
export PYTHON
# Bytecode is kept, whatever the caller's environment says: the tests start hundreds of processes.
export PYTHONDONTWRITEBYTECODE :=

help:  ## Show this help
	@echo "Olvido: memory that remembers correctly and forgets correctly"
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo "Needs make, git and Python 3.11 or newer; choose one with PYTHON=/path/to/python."

setup: $(READY)  ## Create .venv from requirements.lock (instant when it is up to date)
	@echo "Ready: $(BIN)/olvido"

$(READY): requirements.lock pyproject.toml tools/setup.sh
	@sh tools/setup.sh

demo: $(READY)  ## Load 360 support cases and tell the story of remembering and forgetting
	@$(BIN)/olvido demo

# The linters and the wheel take a minute each and keep one core busy: side by side. The tests want all cores.
test: $(READY)  ## Run every check: linters, types, arrows, wheel, tests
	@$(MAKE) --no-print-directory wheel-smoke & wheel=$$!; \
	    $(MAKE) --no-print-directory check; checked=$$?; wait $$wheel && exit $$checked
	@$(MAKE) --no-print-directory pytest

check: $(READY)  ## Run the static checks only
	@echo "ruff check"
	@$(BIN)/ruff check --quiet
	@echo "ruff format"
	@$(BIN)/ruff format --quiet --check || { echo "Some files are not formatted: run make format" >&2; exit 1; }
	@echo "mypy"
	@$(BIN)/mypy --no-error-summary
	@echo "import-linter"
	@report=$$($(BIN)/lint-imports --no-logo 2>&1) || { echo "$$report"; exit 1; }
	@echo "file lengths and portable text"
	@$(BIN)/python tools/check_tree.py

wheel-smoke: $(READY)  ## Build the wheel, install it in a clean environment, run its demo
	@$(BIN)/python tools/smoke_wheel.py

pytest: $(READY)  ## Run the tests; pass options with ARGS="-k forget -n 0"
	@$(BIN)/pytest $(ARGS)

format: $(READY)  ## Format the code and apply the safe fixes
	@$(BIN)/ruff check --quiet --fix-only
	@$(BIN)/ruff format --quiet

sync: $(READY)  ## Derive the sync face again after a change to the async one
	@$(BIN)/python tools/generate_sync.py

docs: $(READY)  ## Draw docs/data-model.md and docs/recall.svg anew from what they show
	@$(BIN)/python tools/draw_data_model.py
	@$(BIN)/python tools/draw_recall.py

schema: $(READY)  ## Write src/olvido/storage/schema.sql anew from the migrations
	@$(BIN)/python tools/dump_schema.py

bench: $(READY)  ## Measure beside a floor in the same run, 300,000 records; ARGS="--quick" or "--only recall"
	@$(BIN)/python -m bench.run $(ARGS)

bench-recall: $(READY)  ## Measure what recall finds, FILE=conversations.jsonl; ARGS="--conversations 0,1" or --support
	@$(BIN)/python -m bench.recall $(if $(FILE),"$(FILE)") $(ARGS)

bench-contract: $(READY)  ## Check the contract over 120 customers, about two minutes; ARGS="--customers 12 --seed 3"
	@$(BIN)/python -m bench.contract $(ARGS)

ROUNDS ?= 200

bench-crash: $(READY)  ## Kill the server and its clients at random moments, ROUNDS=200; ARGS="--seed 3"
	@$(BIN)/python -m bench.crash --rounds $(ROUNDS) $(ARGS)

bench-faults: $(READY)  ## Let each statement of following up a forget fail, about half an hour; ARGS="--every 20"
	@$(BIN)/python -m bench.faults $(ARGS)

# One version of each package for every platform and Python, so that all of us test the same code.
lock: $(READY)  ## Bring requirements.lock in line with pyproject.toml; ARGS=--upgrade takes new versions
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --fork-strategy fewest --generate-hashes \
	    --all-extras --no-annotate --custom-compile-command "make lock" $(ARGS) \
	    --output-file requirements.lock pyproject.toml >/dev/null

clean:  ## Remove .venv, caches and build results (never a data directory)
	@rm -rf .venv dist build .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
