# make nightly   the main job on the embedded stack
# make test      all tests that are run by default
#
# Everything else keeps these two honest: see `make help`.

PYTHON  ?= python3
UV_PIN  := uv==0.13.9
VENV    := .venv
PY      := $(VENV)/bin/python
UV      := $(VENV)/bin/uv
STAMPS  := $(VENV)/.stamps

# Airflow costs three times the CPU without byte code.
unexport PYTHONDONTWRITEBYTECODE
export UV_LINK_MODE ?= hardlink
export PIP_DISABLE_PIP_VERSION_CHECK = 1

.DEFAULT_GOAL := help
.PHONY: help nightly test test-deep lint bench up down lock clean

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 14

nightly: $(STAMPS)/orchestrator ## the nightly run, end to end, on the embedded stack (left running)
	@$(PY) -m daskperf_infra.local.nightly --install-log $(STAMPS)/install-seconds

test: $(STAMPS)/dev ## all default tests
	$(PY) -m pytest -q -m "not deep" -n 2 --dist loadfile --durations=15

test-deep: $(STAMPS)/dev ## the default tests and the long sweeps
	$(PY) -m pytest -q -n 2 --dist loadfile --durations=25

lint: $(STAMPS)/dev ## style, types and import layers
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports

bench: $(STAMPS)/orchestrator ## what measuring costs the measured, and the kernels against C and Numba, as ratios
	@failed=0; for script in harness_overhead kernels; do \
	  echo "$(PY) bench/$$script.py"; $(PY) bench/$$script.py || failed=1; \
	done; exit $$failed

up: $(STAMPS)/orchestrator ## start the embedded stack, or find it running
	@$(VENV)/bin/daskperf lane up

down: ## stop everything the embedded stack started
	@if [ -x $(VENV)/bin/daskperf ]; then $(VENV)/bin/daskperf lane down; else echo "nothing to stop: no $(VENV) yet"; fi

lock: $(STAMPS)/uv ## renew requirements.txt and requirements-dev.txt
	$(UV) pip compile -q --upgrade pyproject.toml --extra orchestrator --extra browse --extra workloads --universal \
	  --python-version 3.11 --generate-hashes --no-emit-package daskperf \
	  --custom-compile-command "make lock" -o requirements.txt
	$(UV) pip compile -q --upgrade pyproject.toml --extra dev --universal \
	  --python-version 3.11 --generate-hashes --no-emit-package daskperf -c requirements.txt \
	  --custom-compile-command "make lock" -o requirements-dev.txt

clean: down ## stop the stack, remove the environment and the state folder
	rm -rf $(VENV) .daskperf build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis

# --- the environment, made once and kept ---------------------------------

$(STAMPS)/checked: infra/local/requirements_check.sh
	@PYTHON=$(PYTHON) sh infra/local/requirements_check.sh
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/uv: $(STAMPS)/checked
	@echo "making the environment in $(VENV)"
	@date +%s > $(STAMPS)/install-start
	@[ -x $(PY) ] || $(PYTHON) -m venv $(VENV)
	@[ -x $(UV) ] || $(PY) -m pip install -q $(UV_PIN)
	@touch $@

$(STAMPS)/orchestrator: $(STAMPS)/uv requirements.txt pyproject.toml
	@date +%s > $(STAMPS)/install-start
	@$(UV) pip install -q --python $(PY) --compile-bytecode --require-hashes -r requirements.txt
	@$(UV) pip install -q --python $(PY) --no-build-isolation --no-deps -e .
	@echo $$(( $$(date +%s) - $$(cat $(STAMPS)/install-start) )) > $(STAMPS)/install-seconds
	@touch $@

$(STAMPS)/dev: $(STAMPS)/orchestrator requirements-dev.txt
	@$(UV) pip install -q --python $(PY) --compile-bytecode --require-hashes -r requirements-dev.txt
	@touch $@
