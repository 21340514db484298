# `make demo` and `make test` set themselves up: they need python3.11 with venv, make and git, nothing more.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV ?= .venv
BIN := $(VENV)/bin
# The name holds the content of what is installed, so that a second run, or a `git checkout`, costs nothing.
READY := $(VENV)/.ready-$(firstword $(shell cat requirements.lock pyproject.toml | cksum))

.DEFAULT_GOAL := help
.PHONY: help setup demo test quick browser lint format lock

help:
	@echo 'make demo    the whole pipeline on synthetic dogs, in minutes'
	@echo 'make test    every test that needs no Docker and no browser (ARGS="..." goes to pytest)'
	@echo 'make quick   the tests without the slow ones'
	@echo 'make browser the tests that need Chromium (Debian: apt-get install chromium)'
	@echo 'make lint    ruff and mypy'
	@echo 'make format  let ruff rewrite what it can'
	@echo 'make lock    resolve the dependencies anew (ARGS=--upgrade for newer ones)'
	@echo 'make setup   only make $(VENV) ready'

setup: $(READY)

$(READY):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' || { \
	  echo 'Python 3.11 is needed: make PYTHON=/path/to/python3.11 ...' >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check --no-deps --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --disable-pip-version-check --no-deps --no-build-isolation -e .
	@rm -f $(VENV)/.ready-*
	@touch $@

demo: $(READY)
	$(BIN)/dogflow demo $(ARGS)

test: $(READY)
	$(BIN)/python -m pytest -m 'not docker and not browser' $(ARGS)

quick: $(READY)
	$(BIN)/python -m pytest -m 'not slow and not docker and not browser' $(ARGS)

browser: $(READY)
	$(BIN)/python -m pytest -m browser $(ARGS)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# uv reads the overrides in pyproject.toml, which pip-tools would not.
lock: $(READY)
	$(BIN)/python -m pip install --disable-pip-version-check --quiet uv
	$(BIN)/uv pip compile pyproject.toml --extra dev --python-version 3.11 --generate-hashes \
	  --no-annotate --no-header --quiet --output-file requirements.lock $(ARGS)
