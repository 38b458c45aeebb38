# Two commands: `make run` and `make test`. Everything else is for those who build netwright.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ARGS ?= run palindrome abba

.PHONY: run test test-thorough test-browser format bench clean

run: $(VENV)/installed
	@$(BIN)/netwright $(ARGS)

test: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest -q -n auto

test-thorough: $(VENV)/installed-dev
	$(BIN)/pytest -q -n auto -m "not browser"

# The page in a real browser: the system's Chromium, installed where that can be done.
test-browser: $(VENV)/installed-browser
	@which chromium chromium-browser google-chrome >/dev/null 2>&1 \
	  || (apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium) >/dev/null 2>&1; \
	which chromium chromium-browser google-chrome 2>/dev/null | grep -q . \
	  || { echo "make test-browser needs Chromium: install the package chromium"; exit 1; }
	$(BIN)/pytest -q -m browser tests/browser

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

$(VENV)/installed-browser: pyproject.toml | $(VENV)/installed-dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[browser]"
	@touch $@
