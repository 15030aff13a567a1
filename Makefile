# `make demo` and `make test` do everything on a fresh machine; `make help` lists the rest.
.DEFAULT_GOAL := help
SHELL := /bin/bash
VENV := .venv
BIN := $(VENV)/bin
CORE := $(VENV)/.core
STAMP := $(VENV)/.installed
SITE := $(VENV)/.docs
WARM := $(VENV)/.compiled
# what else is compiled first in each process that imports it, again and again where the environment forbids to keep it
unexport PYTHONDONTWRITEBYTECODE
# what makes a release has an environment of its own, of versions that locks/release.txt has
RELEASE := .venv-release
TOOLS := $(RELEASE)/.installed
VERSION = $(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
# systems for which `make wheelhouse` gets wheels, all by default: make wheelhouse TARGETS="linux-3.13 windows-3.13"
TARGETS ?=
# podman, buildah or docker; BASE is an image with Python 3.12 to 3.14 as python3
BUILDER ?= podman
BASE ?= python:3.13-slim
IMAGE ?= masktron:$(VERSION)
SCALE ?= 1
# one more than cores, since tests wait for processes, and 4 at most
WORKERS ?= $(shell n=$$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1); echo $$(( n < 4 ? n + 1 : 4 )))

# The first interpreter that runs and is 3.12 or newer; override with `make PYTHON=/path/to/python ...`.
CANDIDATES := python3.14 python3.13 python3.12 python3 python \
	$(wildcard $(HOME)/.pyenv/versions/3.1[2-9]*/bin/python) \
	$(wildcard $(HOME)/.local/share/uv/python/cpython-3.1[2-9]*/bin/python3) \
	$(wildcard /opt/homebrew/bin/python3.1[2-9] /usr/local/bin/python3.1[2-9])
SUITABLE := -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 12))' >/dev/null 2>&1
PYTHON ?= $(shell for p in $(CANDIDATES); do "$$p" $(SUITABLE) && { echo "$$p"; break; }; done)

.PHONY: help install demo collected test test-full lint types format docs bench reproduce locks dist wheelhouse sbom image clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

install: $(WARM) $(STAMP)  ## create the environment and install masktron with its development tools

$(CORE): pyproject.toml
	@if ! "$(PYTHON)" $(SUITABLE); then \
	 echo "masktron needs Python 3.12 or newer, with venv; $(if $(PYTHON),$(PYTHON) is older or lacks it,none was found)." >&2; \
	 echo "Install one (for example: pyenv install 3.12, apt install python3.12-venv, brew install python@3.12)," >&2; \
	 echo "or name it: make PYTHON=/path/to/python3.12 demo" >&2; exit 1; fi
	@echo "Installing into $(VENV) with $(PYTHON) ..."
	@"$(PYTHON)" -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --editable .
	@# on all cores what commands import, and the rest when somebody does; a file of another Python is no error, nor to pip
	@$(BIN)/python -m compileall -qq -j 0 -x '/(tests?|cuda)/' pipeline \
	 $(VENV)/lib/*/site-packages/{llvmlite,numba,numpy,pandas,scipy} || true
	@touch $@

# tools of developers come while the kernels are compiled, which takes one core a minute
$(STAMP): $(CORE)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --group dev
	@touch $@

$(WARM): $(CORE)
	@$(BIN)/masktron doctor --warm
	@touch $@

demo: $(WARM) $(STAMP)  ## validate, mask and check three samples, one of them nested, and say where the results lie
	@$(BIN)/masktron demo --out demo-output

collected: $(STAMP)  # compiled by one process, before several import them: the tests, and packages that they alone need
	@$(BIN)/python -m pytest -q --collect-only -m "not full" >/dev/null || true  # `test` says what is wrong

test: $(CORE)  ## the test suite (seeded parts of the long ones), lint and types
	@$(MAKE) --no-print-directory --jobs 4 $(WARM) collected lint types
	@$(BIN)/python -m pytest -q -m "not full" -n $(WORKERS) --dist loadfile

test-full: $(STAMP) $(SITE) collected lint types  ## everything, the long suites too
	@HYPOTHESIS_PROFILE=full $(BIN)/python -m pytest -q -n $(WORKERS) --dist loadfile
	@cd tests/support && PYTHONPATH=. ../../$(BIN)/python -m differential.sizes 100000

lint: $(STAMP)  ## ruff
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: $(STAMP)  ## mypy --strict
	@$(BIN)/mypy

format: $(STAMP)  ## reformat the code
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

$(SITE): $(CORE)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --group docs
	@touch $@

docs: $(WARM) $(SITE)  ## the site of the documentation, in docs-output/html/index.html; a warning is an error
	@$(BIN)/python -m sphinx -q -W --keep-going -n -b html -d docs-output/.doctrees docs docs-output/html
	@echo "docs-output/html/index.html"

bench: $(WARM) $(STAMP)  ## speed, as ratios in the same run; SCALE=10 for a million records
	@$(BIN)/python benchmarks/validation.py --scale $(SCALE) --json bench-output/validation.json
	@$(BIN)/python benchmarks/tables.py --scale $(SCALE) --json bench-output/tables.json
	@$(BIN)/python benchmarks/nested.py
	@$(BIN)/python benchmarks/partitions.py --scale $(SCALE)
	@$(BIN)/python benchmarks/projection.py
	@$(BIN)/python benchmarks/tuning.py --json bench-output/tuning.json
	@$(BIN)/python benchmarks/masking.py --scale $(SCALE) --json bench-output/masking.json
	@$(BIN)/python benchmarks/treated.py --scale $(SCALE) --json bench-output/treated.json
	@$(BIN)/python benchmarks/large.py --json bench-output/large.json
	@$(BIN)/python benchmarks/executors.py --json bench-output/executors.json
	@$(BIN)/python benchmarks/web.py --json bench-output/web.json

reproduce: $(WARM) $(STAMP)  ## estimates of risk in docs/keys.md, docs/conditions.md, and figures of papers beside ours (these need ../shared/data)
	@$(BIN)/python -m reproduction.key_estimates
	@$(BIN)/python -m reproduction.conditions
	@$(BIN)/python -m reproduction

$(TOOLS): locks/release.txt
	@"$(PYTHON)" -m venv $(RELEASE)
	@$(RELEASE)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: -r $<
	@touch $@

# after a change of pyproject.toml what is locked stays, unless it no longer fits; UPGRADE=--upgrade takes the newest
COMPILE = $(RELEASE)/bin/uv pip compile --quiet --universal --python-version 3.12 --generate-hashes --no-config \
	--no-emit-index-url --custom-compile-command "make locks" $(UPGRADE)
locks: $(TOOLS)  ## resolve what pyproject.toml asks for anew, into locks/; UPGRADE=--upgrade for the newest versions
	@$(COMPILE) pyproject.toml --all-extras -o locks/masktron.txt
	@$(COMPILE) pyproject.toml -c locks/masktron.txt -o locks/core.txt
	@$(COMPILE) --group pyproject.toml:release -o locks/release.txt

dist: $(TOOLS)  ## wheel and sdist in dist/, looked at by twine
	@rm -rf dist
	@$(RELEASE)/bin/python -m build --no-isolation --outdir dist . >/dev/null
	@$(RELEASE)/bin/twine check --strict dist/*

wheelhouse: dist  ## wheels of masktron and all it needs, for installing where the network is closed, with an SBOM
	@$(RELEASE)/bin/python tools/wheelhouse.py --out wheelhouse $(addprefix --target ,$(TARGETS))
	@$(MAKE) --no-print-directory sbom TARGETS="$(TARGETS)"

sbom: $(TOOLS)  # of what is installed from the wheelhouse, which shows that it can be
	@$(RELEASE)/bin/python tools/sbom.py --wheelhouse wheelhouse $(addprefix --target ,$(TARGETS))

image:  ## the container image, from the wheelhouse alone; BUILDER, BASE and IMAGE can be named
	@$(BUILDER) build --network none --build-arg BASE=$(BASE) --tag $(IMAGE) --file Containerfile .

clean:  ## remove the environment and all that was generated
	rm -rf $(VENV) $(RELEASE) wheelhouse demo-output bench-output docs-output docs/*/generated dist build
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis
