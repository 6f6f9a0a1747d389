# Every target makes and uses the project's own virtual environment; `make help` lists them.
VENV := .venv
REAL := .venv-real
BIN := $(VENV)/bin
COPY := build/installed
KERNELS := anbexact/_kernels
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# pytest rewrites the tests and Hypothesis each time anew where the environment forbids it to keep the result.
export PYTHONDONTWRITEBYTECODE :=

sources := $(shell find anbexact adapters -name __pycache__ -prune -o -print)
pages := $(wildcard README.md docs/*.md docs/*/*.md)
# Each process takes whole files in turn, so that few kernels are compiled, or loaded, by two of them.
SPREAD := --dist worksteal
# Tests that reach most lines of the kernels on tables small enough for plain Python.
kernel_tests := $(addprefix tests/,scores/test_scores.py scores/test_acll.py tables/cuts models/network/test_posterior.py explanations \
    models/test_aode.py rivals/selection/test_parents_children.py models/logit/test_logit.py \
    $(addprefix rivals/test_,logit_fan.py mc_dag.py) \
    $(addprefix search/,trees/test_kdb.py greedy/test_hill_climbing.py) \
    $(addprefix search/exact/test_,candidates.py ties.py forged_certificates.py))

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help anchors demo install test test-full test-real install-real fuzz break soak coverage lint style types docs-examples docs docs-check wheel sbom bench bench-record bench-smoke keep-files papers papers-quick clean distclean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo 'PYTHON=... chooses the interpreter of a new environment; ARGS=... goes to pytest and the benchmarks.'

demo: $(VENV)/installed  ## fit the classifiers on an embedded table and compare them
	@$(BIN)/anbexact compare

install: $(VENV)/installed-dev  ## make the environment, with the tools for developers

test: $(VENV)/installed-dev  ## run the tests, fewer examples and cases of each (two minutes)
	$(BIN)/pytest -n auto $(SPREAD) --tier=quick $(ARGS)

test-full: $(VENV)/installed-dev  ## run all tests, with all examples and cases
	$(BIN)/pytest -n auto $(SPREAD) --tier=full $(ARGS)

test-real: $(VENV)/installed-dev  ## install and start Spark, PostgreSQL, Chromium and the like, and run the tests that need them
	tools/test-real.sh $(ARGS)

install-real: $(VENV)/installed-dev  ## install these parts, and run nothing
	tools/test-real.sh --install $(ARGS)

fuzz: $(VENV)/installed-dev  ## draw 100,000 files, tables and command lines, and say how each ended (five minutes)
	@rm -rf build/fuzz
	@$(BIN)/pytest -n auto $(SPREAD) --tier=fuzz tests/fuzz $(ARGS); status=$$?; $(BIN)/python tests/fuzzing.py; exit $$status

# Integers wrap in compiled code; numpy warns of it.
coverage: $(VENV)/installed-dev  ## run the kernels as plain Python, and show which lines no test runs (minutes)
	NUMBA_DISABLE_JIT=1 $(BIN)/pytest -n auto $(SPREAD) --tier=quick -W ignore::RuntimeWarning \
	    --cov --cov-report=term-missing $(kernel_tests) $(ARGS)

lint: style types  ## check style and types

style: $(VENV)/installed-dev  ## check style: ruff, linter and formatter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(COPY)/complete  ## check types of the installed package: mypy
	cd $(COPY) && ../../$(BIN)/mypy --config-file ../../pyproject.toml --cache-dir ../../.mypy_cache -p anbexact
	cd $(COPY) && ../../$(BIN)/mypy --config-file ../../pyproject.toml --cache-dir ../../.mypy_cache ../../tests/typed_use.py

# Fences become blank lines, as doctest would take them for output; pytest's 5 means that there is no example.
docs-examples: $(COPY)/complete  ## run the examples of docstrings, README.md and docs/
	@rm -rf build/pages
	@for page in $(pages); do \
	    mkdir -p "build/pages/$$(dirname $$page)" && sed 's/^ *```.*//' $$page > build/pages/$$page || exit 1; \
	done
	PYTHONPATH=$(COPY) $(BIN)/pytest --doctest-modules --doctest-glob='*.md' \
	    $(COPY)/anbexact $(addprefix build/pages/,$(pages)) || [ $$? -eq 5 ]

# The guides are copied, so that what Sphinx writes beside them is not in docs/.
docs: $(VENV)/installed-dev  ## build the site of the documentation into build/site (warnings are errors)
	@rm -rf build/docs build/site && mkdir -p build/docs && cp -R docs/. build/docs && cp CHANGELOG.md build/
	@cp -R examples/gallery build/docs/gallery_scripts && cp -R examples/notebooks build/docs/notebook_scripts
	$(BIN)/sphinx-build -q -W --keep-going -d build/doctrees -c build/docs/site build/docs build/site

docs-check:  ## check the built site: sizes, links, alternative texts; in a browser: console, contrast
	$(BIN)/python tools/check_site.py $(ARGS)

bench: $(VENV)/installed-dev  ## run the benchmarks of speed
	$(BIN)/python -m benchmarks.speed $(ARGS)

bench-record: $(VENV)/installed-dev  ## say what got slower since the stored run (a minute; ARGS=--store stores this one)
	$(BIN)/python -m benchmarks.speed.record $(ARGS)

anchors: $(VENV)/installed-dev  ## measure the pool on OpenML's folds, next to published results (half an hour; resumable)
	$(BIN)/python -m benchmarks.quality anchors $(ARGS)

break: $(VENV)/installed-dev  ## kill, interrupt and starve what the package does: is what is left whole? (half an hour)
	$(BIN)/python -m benchmarks.robustness breaking $(ARGS)

soak: $(VENV)/installed-dev  ## put load on it for long: is the memory flat, and every answer right? (half an hour)
	$(BIN)/pip install --quiet uvicorn
	$(BIN)/python -m benchmarks.robustness soak $(ARGS)

# It looks for programs, which must not be half installed.
bench-smoke: | $(filter install-real,$(MAKECMDGOALS))
bench-smoke: $(VENV)/installed-dev  ## run all benchmarks on tiny tables, to see whether they work (a minute)
	$(BIN)/python -m benchmarks --smoke

keep-files: $(VENV)/installed-dev  ## keep a file of every kind of model of this version, for the tests of later ones
	$(BIN)/python tests/kept_files.py

papers: $(VENV)/installed-dev  ## measure the papers' tables again, into docs/measurements (hours; resumable)
	$(BIN)/python -m benchmarks.papers $(ARGS)

papers-quick: $(VENV)/installed-dev  ## the same for the small tables only, into build/papers (minutes)
	$(BIN)/python -m benchmarks.papers --quick $(ARGS)

wheel:  ## build the wheel of the last commit twice, into build/wheel, and see that both are the same file
	tools/wheel.sh

sbom:  ## write the bill of materials of an installation (CycloneDX) into build/sbom
	tools/sbom.sh

clean:  ## remove what was built, and all caches (compiled kernels too)
	rm -rf build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -path ./$(VENV) -prune -o -path ./$(REAL) -prune -o -name __pycache__ -print | xargs rm -rf

distclean: clean  ## clean, and remove the environments
	rm -rf $(VENV) $(REAL)

$(VENV)/installed: pyproject.toml tools/make-venv.sh
	@tools/make-venv.sh $(VENV)
	@echo 'installing anbexact and what it needs into $(VENV) (once; about 150 MB to download)'
	@$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/installed-dev: pyproject.toml tools/make-venv.sh
	@tools/make-venv.sh $(VENV)
	@echo 'installing anbexact, what it needs and the tools for developers into $(VENV) (once)'
	@$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $(VENV)/installed $@

# The package as users get it. mypy and doctest cannot see through the editable install that anbexact.adapters
# is the folder adapters/, and a package missing from pyproject.toml shows only here. Its kernels are compiled into the
# folder of their sources, and found there: they are the same files, of the same time, as older versions of numba ask.
$(COPY)/complete: $(VENV)/installed-dev $(sources)
	@rm -rf $(COPY) build/lib build/bdist.*
	@$(BIN)/python -m pip install --quiet --no-deps --target $(COPY) .
	@mkdir -p $(KERNELS)/__pycache__ && rm -rf $(COPY)/$(KERNELS)/__pycache__
	@ln -s ../../../../$(KERNELS)/__pycache__ $(COPY)/$(KERNELS)/__pycache__
	@for source in $(KERNELS)/*.py; do touch -c -r $$source $(COPY)/$$source; done
	@touch $@
