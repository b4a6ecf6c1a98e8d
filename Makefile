# `make audit` and `make test` work from nothing and may be repeated. PYTHON chooses the interpreter.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
KIM_VENV = .venv-kim
FAMILIES = ani aimnet2 mace mattersim chgnet sevennet orb so3lr fennol
export OMP_NUM_THREADS ?= 1

.PHONY: audit test test-kim test-models $(FAMILIES:%=test-%) test-slow test-faults lint docs sabotage perf clean

audit: $(VENV)/audit-ready
	$(BIN)/assay run gfn2-xtb nep89 --suite smoke --output results

test: $(VENV)/test-ready
	$(BIN)/python -m pytest --family nep --numprocesses auto --dist worksteal

test-slow: $(VENV)/test-ready
	$(BIN)/python -m pytest -m slow

# The long form of the test bench for faults: ten minutes for each fuzzer (FUZZ_SECONDS changes that).
test-faults: $(VENV)/test-ready
	$(BIN)/python -m pytest tests/faults -m 'faults or not faults'

test-kim: $(KIM_VENV)/ready
	$(KIM_VENV)/bin/python -m pytest -m kim

# Every family of pretrained models, each in an environment of its own, because some conflict with others.
test-models: $(FAMILIES:%=test-%)

$(FAMILIES:%=test-%): test-%: .venv-%/ready
	.venv-$*/bin/python -m pytest tests/models --family $*

lint: $(VENV)/lint-ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/docs-ready
	$(BIN)/python docs/scripts/benchmark_pages.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

sabotage: $(VENV)/test-ready
	$(BIN)/python docs/scripts/sabotage_matrix.py

perf: $(VENV)/test-ready
	$(BIN)/python perf/single_points.py
	$(BIN)/python perf/store.py

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/audit-ready: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[xtb,nep]'
	touch $@

$(VENV)/test-ready: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[xtb,nep,test]'
	touch $@

$(VENV)/lint-ready: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[lint]'
	touch $@

$(VENV)/docs-ready: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	touch $@

$(FAMILIES:%=.venv-%/ready): .venv-%/ready: pyproject.toml
	$(PYTHON) -m venv .venv-$*
	.venv-$*/bin/python -m pip install --quiet --upgrade pip
	.venv-$*/bin/python -m pip install --quiet --editable '.[$*,test]'
	if [ $* = mattersim ]; then .venv-$*/bin/python -m pip install --quiet --no-deps mattersim==1.2.3; fi
	touch $@

# The KIM API and its models come from the system's packages; kimpy is compiled against them.
$(KIM_VENV)/ready: pyproject.toml
	sh .ci/install-kim-api
	$(PYTHON) -m venv $(KIM_VENV)
	$(KIM_VENV)/bin/python -m pip install --quiet --upgrade pip
	$(KIM_VENV)/bin/python -m pip install --quiet --editable '.[kim,test]'
	touch $@

clean:
	rm -rf $(VENV) $(KIM_VENV) $(FAMILIES:%=.venv-%) site
