PYTHON ?= python3
BIN := .venv/bin
JOBS ?= $(shell nproc 2>/dev/null || echo 2)

# what Python compiles is kept, whatever the environment says: each of the tests' many processes would do it anew
unexport PYTHONDONTWRITEBYTECODE

# ptxas 13.5 beside 13.0: two versions of one package have no place in one environment
NEWEST_PTXAS = $(BIN)/python -m pip install --quiet --no-deps --upgrade --target .venv/ptxas-13.5 'nvidia-cuda-nvcc>=13.5,<13.6' \
	|| echo "NO PTXAS 13.5 for this machine: tests of PTX 9.1 to 9.5 will say that they did not run" >&2

# what a machine may do without: its tests say that they did not run
INTEROP = $(BIN)/python -m pip install --quiet --editable '.[interop]' \
	|| echo "NO NUMBA and NO TINYGRAD for this machine: tests of their kernels will say that they did not run" >&2

# a second solver, which not every machine has a wheel of
SOLVERS = $(BIN)/python -m pip install --quiet --editable '.[solvers]' \
	|| echo "NO BITWUZLA for this machine: tests of a second solver will say that they did not run" >&2

.PHONY: help install tour page test test-slow test-long lint ledger mutation proofs evidence site bench wheel clean

help:
	@echo "make tour      install, then two to six minutes: an instruction, questions, five kernels, evidence, the site"
	@echo "make page      checks one page, PAGE=bfe, in seconds: its lint, examples, evidence, claims and identities"
	@echo "make test      the tests (ten to twenty-five minutes on two cores); make test-slow, make test-long add others"
	@echo "make site      every proof, every form's evidence, and the site, in build/site (a quarter of an hour)"
	@echo "make evidence  computes the ledger and the proofs, and stores them beside the recorded answers (a quarter of an hour)"
	@echo "make mutation  plants mistakes in copies of the definitions and says which are noticed (half an hour)"
	@echo "make bench     all benchmarks; BENCH='--only nw lud --repeats 9' measures these workloads, --workers 2 in two threads"
	@echo "make lint, make wheel, make clean"

install: $(BIN)/.installed

$(BIN)/.installed: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[site,test,lint]'
	$(INTEROP)
	$(SOLVERS)
	$(NEWEST_PTXAS)
	@touch $@

tour: install
	$(BIN)/python docs/tour.py

page: install
	$(BIN)/python -m ptxspec_workshop.commands.page $(PAGE)

# neighbours stay in one process, which has worked out already what they share, until another has nothing left to do
test: install
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m "not long and not slow"

# what takes seconds each, and the cases that samples leave out
test-slow: install
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m "slow and not long"

test-long: install
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal

lint: install
	$(BIN)/ruff check model tests docs conf.py
	$(BIN)/ruff format --check model tests docs conf.py
	$(BIN)/python -m ptxspec.literate.lint
	$(BIN)/python -m ptxspec_workshop.site.changes

ledger: install
	$(BIN)/python -m ptxspec_workshop.ledger

mutation: install
	$(BIN)/python -m ptxspec_workshop.mutation

proofs: install
	$(BIN)/python -m ptxspec.query.identities

# what a site shows without running it again, stored beside the recorded answers
evidence: ledger proofs
	$(BIN)/python -m ptxspec_workshop.ledger.writing

site: ledger proofs
	$(BIN)/python -m sphinx -W --keep-going -q -b html . build/site
	@echo "the site is in build/site/index.html"

bench: install
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	$(BIN)/python tests/benchmarks/run.py $(BENCH)

wheel: install
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir build/wheel . ./tests/vectors

clean:
	rm -rf .venv build
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
