# Every target works on a fresh machine and is quick where everything is there already.
#   make demo    install, then build the gallery of the examples in site/
#   make test    install, then run every check there is (what .ci/run calls)
#   make quick   lint, types and the fast tests, under 90 seconds
#   make bench   the speed targets, as a table
#   make fuzz    the parsers under a short coverage-guided run, a thousand random kernels as PTX and SASS
#   make pages   the finished pages in examples/, after a change that shows on them

.DELETE_ON_ERROR:
.PHONY: demo test quick bench fuzz setup lint types js pages clean

PY := .venv/bin/python
PYTEST := $(PY) -m pytest
FUZZ_SECONDS ?= 20
FUZZ_KERNELS ?= 1000

demo:
	@scripts/setup.sh demo
	.venv/bin/warpglass gallery examples -o site

setup:
	@scripts/setup.sh test

lint:
	$(PY) -m ruff check --no-cache .
	$(PY) -m ruff format --no-cache --check .

types:
	$(PY) -m mypy

js:
	node_modules/.bin/tsc -p tsconfig.json
	node --test $(wildcard tests/js/*.test.js)

test: setup
	@$(MAKE) --no-print-directory -j2 lint types js
	$(PYTEST) -n 2 --dist worksteal

quick: setup
	@$(MAKE) --no-print-directory -j2 lint types
	$(PYTEST) -n 2 --dist worksteal -m "not slow and not browser"

bench: setup
	$(PY) tests/bench/run.py

fuzz: setup
	$(PY) tests/fuzz/run.py --seconds $(FUZZ_SECONDS)
	$(PY) tests/fuzz/fuzz_kernels.py --count $(FUZZ_KERNELS)

pages: setup
	$(PY) scripts/example_pages.py examples

clean:
	rm -rf site dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
