# `make run` and `make test` need Python 3.11 or newer and a package registry, nothing else.
# Both make the virtual environments that they need.

PYTHON ?= python3
BIN := .venv/bin
STAGE ?= example
SCENARIO ?= calm
SEEDS ?= 100
SECONDS ?= 60
PIP_OPTIONS := --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help run test check synth schemas snapshots bench simulate fuzz audit clean

help: ## What there is to make.
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

run: .venv/made .venv-ministack/made ## A real campaign through the whole system on this machine.
	@$(BIN)/python -m local run --scenario $(SCENARIO)

test: .venv/made .venv-ministack/made ## Every test.
	@$(BIN)/python -m pytest

check: .venv/made ## Every check that needs no running service.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell
	$(MAKE) --no-print-directory synth
	$(BIN)/cfn-lint --ignore-checks W3005 -- cdk.out/*.template.json

synth: .venv/made ## The CloudFormation templates of STAGE, in cdk.out; needs no AWS account.
	@SLUICE_STAGE=$(STAGE) CDK_OUTDIR=cdk.out $(BIN)/python app.py

schemas: .venv/made ## The JSON schemas of what may be published, in docs/schemas.
	@$(BIN)/python -m local.schemas

snapshots: .venv/made ## What is deployed and who may do what, in tests/infra/snapshots, for a review.
	@$(BIN)/python -m tests.infra.snapshots

bench: .venv/made .venv-ministack/made ## One measurement: NAME=load, claim, status, partitions, ingest, rate, startup or cost.
	@$(BIN)/python -m bench.$(NAME)

simulate: .venv/made ## SEEDS runs of the simulation, in virtual time, with everything going wrong.
	@$(BIN)/python -m tests.simulation --seeds $(SEEDS)

fuzz: .venv/fuzz-made ## SECONDS of fuzzing everything that reads from outside.
	@$(BIN)/python -m tests.fuzz --seconds $(SECONDS)

audit: .venv/made ## What is known against the packages that are pinned; asks the internet.
	@$(PYTHON) -m venv .sluice/audit
	@.sluice/audit/bin/python -m pip install $(PIP_OPTIONS) pip-audit==2.10.1
	.sluice/audit/bin/pip-audit --requirement requirements.txt
	.sluice/audit/bin/pip-audit --requirement local/ministack.txt

clean: ## Remove everything that was made here.
	rm -rf .venv .venv-ministack .sluice build cdk.out .mypy_cache .ruff_cache .pytest_cache
	rm -rf .hypothesis .import_linter_cache

.venv/made: requirements.txt layers/dependencies/requirements.txt layers/parquet/requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed: make PYTHON=…" if sys.version_info < (3, 11) else 0)'
	@echo "making .venv (once, about a minute)"
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install $(PIP_OPTIONS) -r requirements.txt
	@$(BIN)/python -m pip install $(PIP_OPTIONS) --no-build-isolation --no-deps -e .
	@touch $@

.venv/fuzz-made: tests/fuzz/requirements.txt .venv/made
	@$(BIN)/python -m pip install $(PIP_OPTIONS) -r tests/fuzz/requirements.txt || echo "no atheris here: by chance"
	@touch $@

.venv-ministack/made: local/ministack.txt .venv/made
	@echo "making .venv-ministack (once, some seconds)"
	@$(BIN)/python -m venv .venv-ministack
	@.venv-ministack/bin/python -m pip install $(PIP_OPTIONS) -r local/ministack.txt
	@touch $@
