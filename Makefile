# Needs python3 >= 3.11, git and make; everything else is made here.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
export UV_PYTHON_DOWNLOADS := never

.PHONY: test lint demo bench clean setup node

setup: $(STAMP)

$(STAMP): pyproject.toml uv.lock scripts/make_venv.sh
	PYTHON="$(PYTHON)" sh scripts/make_venv.sh $(VENV)
	touch $(STAMP)
