# The commands of everyday work; `make help` lists them.
BIN := .venv/bin

.PHONY: help setup test format lint types layers check fuzz ci
.DEFAULT_GOAL := help

help:  ## List these commands
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /\1\t/' | expand -t 10

setup:  ## Make .venv with visim and the tools of the tests
	python3 -m venv .venv && $(BIN)/pip install -e '.[test]'

test:  ## Run the tests
	$(BIN)/pytest -n auto

format:  ## Format the sources and repair what ruff can repair
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lint:  ## Check style and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types:  ## Check types (pyright, strict)
	$(BIN)/pyright --pythonpath $(BIN)/python

layers:  ## Check that no module imports from a layer above its own
	$(BIN)/lint-imports --no-cache

check: lint types layers test  ## Everything that a change has to pass

fuzz:  ## Fuzz one part for a minute: make fuzz TARGET=text (see docs/robustness.md)
	$(BIN)/pip install -q -e '.[fuzz,test]' && $(BIN)/python -m tools.fuzz $(or $(TARGET),text)

ci:  ## The gate as it runs on a fresh machine (makes .venv anew)
	.ci/run
