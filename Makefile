# Needs python3 >= 3.11, git and make; everything else is made here, in .venv.
PYTHON ?=
JOBS ?= 2
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: help setup demo test test-all test-other lint format bench adversarial crash-fuzz soak opening bundle node tools lock clean

help:
	@echo "make demo    a red example repository, turned green offline"
	@echo "make test    lint, then the tests; make test-all: all rows of the tables that they take samples of"
	@echo "make lint | format | bench | adversarial | crash-fuzz | soak | opening | bundle | node |"
	@echo "     tools | setup | lock | clean"

setup: $(STAMP)

$(STAMP): pyproject.toml requirements.lock scripts/find_python.sh scripts/make_venv.sh
	@python=$$(PYTHON="$(PYTHON)" sh scripts/find_python.sh) || \
	  { echo "no Python 3.11 or newer with venv was found; name one: make PYTHON=/path/to/python3" >&2; exit 1; }; \
	  echo "making $(VENV) with $$python"; sh scripts/make_venv.sh $(VENV) "$$python"
	@touch $(STAMP)

demo: $(STAMP)
	@$(BIN)/python scripts/demo.py

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/pyright

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

test: lint tools node test-other
	$(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal

# All rows, levels and runners of what `make test` takes a sample of.
test-all:
	REGREEN_ALL_CASES=1 $(MAKE) test

test-other: $(STAMP)
	@sh scripts/test_other_python.sh $(VENV) $(JOBS)

node: $(STAMP)
	@sh scripts/node_tools.sh $(VENV)

# Programs that tests of runners and of the sandbox use: installed on a CI machine, named elsewhere.
tools:
	@sh scripts/test_tools.sh

bench: $(STAMP)
	$(BIN)/python benchmarks/edits.py
	$(BIN)/python benchmarks/races.py
	$(BIN)/python benchmarks/search.py
	$(BIN)/python benchmarks/sandbox.py
	$(BIN)/python benchmarks/testing.py
	$(BIN)/python benchmarks/loop.py
	$(BIN)/python benchmarks/agent.py
	$(BIN)/python benchmarks/model_fix.py
	$(BIN)/python benchmarks/mcp.py
	$(BIN)/python benchmarks/repo.py --synthetic 100000 $(TREES)

# Fix runs over every bug case, and a thousand with hostile proposals.
adversarial: $(STAMP)
	$(BIN)/python scripts/corpus_runs.py
	$(BIN)/python scripts/adversarial_runs.py

# Kills hundreds of fix runs at random moments; `--only SEED` runs one of them again.
crash-fuzz: $(STAMP)
	$(BIN)/python scripts/crash_fuzz.py --jobs $(JOBS)

# Two thousand calls of many clients at once; afterwards nothing may be left.
soak: $(STAMP)
	$(BIN)/python scripts/soak.py

# What the MCP server answers before its SDK is loaded; made again after changing tools, prompts or capabilities.
opening: $(STAMP)
	$(BIN)/python scripts/opening_data.py

# The MCP bundle, dist/regreen-VERSION.mcpb.
bundle: $(STAMP)
	@$(BIN)/python scripts/bundle.py

# Needs uv. The lock holds names and versions only, so that any index can serve it.
lock:
	uv pip compile --quiet --universal --python-version 3.11 --no-annotate --no-header --group dev \
	  pyproject.toml --output-file requirements.lock

clean:
	rm -rf $(VENV) .ci-tools dist build .ruff_cache .pytest_cache .hypothesis .import_linter_cache
