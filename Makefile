# The names that people and CI use. Each builds what it needs in .venv; nothing is installed elsewhere.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready

.PHONY: test lint bench soak clean

test: $(STAMP)
	$(BIN)/python -m pytest $(ARGS)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(STAMP)
	$(BIN)/python -m bench $(ARGS)

soak: $(STAMP)
	$(BIN)/python tests/crash/soak.py $(or $(MINUTES),10)

clean:
	rm -rf $(VENV) dist build

$(STAMP): pyproject.toml .ci/build_env.sh
	PYTHON=$(PYTHON) sh .ci/build_env.sh $(VENV)
	touch $(STAMP)
