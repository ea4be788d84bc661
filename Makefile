# The two commands: `make lab` and `make test`. The environment is made by tools/setup_env.py, which works
# without make too (Windows).

BOOT := $(or $(PYTHON),$(shell command -v python3 || command -v python))
VENV := .venv/bin/python
LAB_FLAGS ?=
# Two workers with one thread each: two torch processes that both use every core slow each other tenfold.
TEST_FLAGS ?= -n 2 --dist loadfile

.DEFAULT_GOAL := help
.PHONY: help setup lab my test lint notebooks html models bench clean

help: ## Show the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' Makefile

setup: ## Create or refresh .venv (PYTHON=... picks the Python, 3.10 to 3.13)
	@if [ -z "$(BOOT)" ]; then echo "setup: no python3 found: install Python 3.10 to 3.13" >&2; exit 1; fi
	@"$(BOOT)" tools/setup_env.py $(if $(PYTHON),--python "$(PYTHON)")

lab: setup ## Open the labs in JupyterLab (LAB_FLAGS=--no-browser for a machine without one)
	$(VENV) -m jupyterlab --ip=127.0.0.1 $(LAB_FLAGS) labs/00_start_here.ipynb

my: setup ## Copy the labs to my/, your own folder; files already there stay as they are
	@$(VENV) tools/copy_labs.py

test: setup lint ## Run every test, notebooks included
	OMP_NUM_THREADS=1 $(VENV) -m pytest $(TEST_FLAGS)

lint: setup ## Check style and format
	$(VENV) -m ruff check .
	$(VENV) -m ruff format --check .

clean: ## Remove .venv and what builds and tests left
	rm -rf .venv build dist html .pytest_cache .ruff_cache .hypothesis
