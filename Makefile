# Two commands: `make run` and `make test`. Everything else is for those who build netwright.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ARGS ?= run palindrome abba

.PHONY: run test test-thorough format bench clean

run: $(VENV)/installed
	@$(BIN)/netwright $(ARGS)

test: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest -q -n auto

test-thorough: $(VENV)/installed-dev
	$(BIN)/pytest -q -n auto -m "thorough or not thorough"

format: $(VENV)/installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/installed-dev
	$(BIN)/netwright bench
	$(BIN)/python benchmarks/depth_and_cells.py

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis

$(VENV)/pip:
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/installed: pyproject.toml | $(VENV)/pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[explore]"
	@touch $@

$(VENV)/installed-dev: pyproject.toml | $(VENV)/pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	@touch $@ $(VENV)/installed
