# Two commands: `make run` and `make test`. Everything else is for those who build netwright.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ARGS ?= run palindrome abba

.PHONY: run test lint docs release test-thorough test-browser test-export test-llama proofs size format bench clean

run: $(VENV)/installed
	@$(BIN)/netwright $(ARGS)

test: lint
	$(BIN)/pytest -q -n auto --dist worksteal --durations 10

# What .pre-commit-config.yaml runs before a commit.
lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/codespell

# More of the same: all machines, mutants and examples of which `make test` and `make proofs` take a part.
test-thorough: $(VENV)/installed-dev
	$(BIN)/pytest -q -n auto --dist worksteal --durations 10 -m "not browser"
	@if which coqc >/dev/null 2>&1; \
	then $(MAKE) --no-print-directory -C proofs all-mutants PYTHON=$(abspath $(BIN)/python); \
	else echo "coqc is not here: the mutants of proofs/ are not tried"; fi

# The page in a real browser, and its engine in node: the system's Chromium and node, installed where
# that can be done. A tenth of the networks; `pytest -m browser tests/browser` compares all of them.
test-browser: $(VENV)/installed-browser $(VENV)/transformers-js
	@which chromium chromium-browser google-chrome >/dev/null 2>&1 \
	  || (apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium) >/dev/null 2>&1; \
	which chromium chromium-browser google-chrome 2>/dev/null | grep -q . \
	  || { echo "make test-browser needs Chromium: install the package chromium"; exit 1; }
	@which node nodejs >/dev/null 2>&1 \
	  || (apt-get update -qq && apt-get install -y -qq --no-install-recommends nodejs) >/dev/null 2>&1; \
	which node nodejs 2>/dev/null | grep -q . \
	  || { echo "make test-browser needs node: install the package nodejs"; exit 1; }
	$(BIN)/pytest -q -m "browser and not thorough" tests/browser

# Exports in torch, transformers, TransformerLens, nnsight and CTranslate2, of versions known to work
# together; in transformers.js, and in llama.cpp, as packages of npm have them for node.
test-export: $(VENV)/installed-dev $(VENV)/transformers-js
	@if $(BIN)/python -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))'; then \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check \
	    torch==2.13.0 "transformers>=5,<6" "transformer-lens>=4,<5" "nnsight>=0.8,<0.9" \
	    "ctranslate2>=4,<5" "sentencepiece>=0.2,<0.3" \
	  && if which npm >/dev/null 2>&1; then npm install --prefix $(VENV)/node --ignore-scripts \
	    --omit=optional --no-audit --no-fund --silent \
	    node-llama-cpp@3.22.1 @node-llama-cpp/linux-x64@3.22.1 \
	    || echo "npm could not install node-llama-cpp: its test is skipped"; fi \
	  && OMP_NUM_THREADS=1 $(BIN)/pytest -q -n auto tests/export; \
	else echo "make test-export needs Python 3.11, for which its versions are pinned: skipped"; fi

# GGUF files of all types in llama.cpp, which is compiled here if it is not installed: some minutes.
test-llama: $(VENV)/installed-dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[llama-cpp]"
	OMP_NUM_THREADS=1 $(BIN)/pytest -q -k llama_cpp_runs tests/export/test_llama.py

# The theorems of proofs/ on netwright's own weights: Debian's Coq, installed where that can be done.
proofs: $(VENV)/installed-dev
	@which coqc >/dev/null 2>&1 \
	  || (apt-get update -qq && apt-get install -y -qq --no-install-recommends coq) >/dev/null 2>&1; \
	which coqc >/dev/null 2>&1 || { echo "make proofs needs Coq: install the package coq"; exit 1; }
	$(MAKE) --no-print-directory -C proofs PYTHON=$(abspath $(BIN)/python)

# The site, from docs/ and what docs/pages.py generates, into site/. It fetches nothing, and a warning is an
# error; then its links, and what a browser asks for.
docs: $(VENV)/installed-docs
	rm -rf site
	$(BIN)/python -m sphinx -b html -W --keep-going -n -q docs site
	$(BIN)/pytest -q -m browser tests/site

# A release, built and tried from a clean tree: wheel and source distribution, in dist/. Nothing is uploaded.
release: $(VENV)/installed-dev
	$(BIN)/python .ci/release.py

# Lines of code by package, beside what each may have.
size:
	@.ci/size

format: $(VENV)/installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/installed-dev
	$(BIN)/netwright bench
	$(BIN)/python benchmarks/depth_and_cells.py

clean:
	rm -rf $(VENV) site docs/generated dist .mypy_cache .pytest_cache .ruff_cache .hypothesis

$(VENV)/pip:
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/installed: pyproject.toml | $(VENV)/pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[explore]"
	@touch $@

$(VENV)/installed-dev: pyproject.toml | $(VENV)/pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	@touch $@ $(VENV)/installed

# transformers.js, whose package brings onnxruntime. What needs it is skipped where npm is not.
$(VENV)/transformers-js: | $(VENV)/pip
	@! which npm >/dev/null 2>&1 \
	  || npm install --silent --ignore-scripts --no-audit --no-fund --prefix $@ \
	    @huggingface/transformers@4.3.1 \
	  || { rm -rf $@; echo "transformers.js cannot be installed: its tests are skipped"; }

$(VENV)/installed-browser: pyproject.toml | $(VENV)/installed-dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[browser]"
	@touch $@

$(VENV)/installed-docs: pyproject.toml | $(VENV)/installed-browser
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[docs]"
	@touch $@
