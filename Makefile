# The two commands: `make lab` and `make test`. The environment is made by tools/setup_env.py, which works
# without make too (Windows).

VENV := .venv/bin/python
LAB ?= labs/00_start_here.ipynb
LAB_FLAGS ?=
# Two workers, each with one thread (tests/conftest.py): two torch processes that both use every core slow each
# other tenfold. A file's tests stay in one worker.
TEST_FLAGS ?= -n 2 --dist loadfile

.DEFAULT_GOAL := help
.PHONY: help setup lab my test lint notebooks html colab instructor models bench clean

help: ## Show the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' Makefile

setup: ## Create or refresh .venv (PYTHON=... picks the Python, 3.10 to 3.13)
	@for python in $(if $(PYTHON),"$(PYTHON)") python3 python; do \
	    "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 6))' 2>/dev/null || continue; \
	    exec "$$python" tools/setup_env.py $(if $(PYTHON),--python "$(PYTHON)"); \
	done; \
	echo "setup: no python3 found: install Python 3.10 to 3.13" >&2; exit 1

lab: setup ## Open the labs in JupyterLab (LAB=... another notebook, LAB_FLAGS=--no-browser)
	$(VENV) -m jupyterlab --ip=127.0.0.1 --LabApp.default_url="/lab/tree/$(LAB)" $(LAB_FLAGS)

my: setup ## Copy the labs to my/, the folder to work in; files already there stay as they are
	@$(VENV) tools/copy_labs.py

test: setup lint ## Run every test, notebooks included
	$(VENV) -m pytest $(TEST_FLAGS)

lint: setup ## Check style and format
	$(VENV) -m ruff check .
	$(VENV) -m ruff format --check .

notebooks: setup ## Write the notebooks in solutions/ and labs/ from their sources, solutions/*.py
	$(VENV) -m minillm.lab.build

html: setup ## Run the solved notebooks and write them as pages to build/html
	$(VENV) -m minillm.lab.build --html

colab: setup ## Run lab 01 under the versions that Colab ships, in an environment of its own
	$(VENV) tests/colab/run.py 01

instructor: setup ## Try nbgrader's way from release to grade, in an environment of its own
	$(VENV) tests/instructor/run.py

models: setup ## Train the shipped models anew (hours on two cores)
	$(VENV) data/story_world/train.py tokenizer
	$(VENV) data/story_world/train.py tiny
	$(VENV) data/story_world/train.py tiny-draft

bench: setup ## Run every benchmark, one after the other
	@set -e; for file in benchmarks/*.py; do echo "$$file"; $(VENV) "$$file"; done

clean: ## Remove .venv and what builds and tests left
	rm -rf .venv build dist .pytest_cache .ruff_cache .hypothesis
