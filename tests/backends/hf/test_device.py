"""The device check runs on a CPU too, and the backend needs no library of the other stages."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
IMPORTS = """
import importlib.util, pkgutil, sys
import torch, transformers, tokenizers
from transformers import GenerationConfig, PreTrainedTokenizerFast, StoppingCriteria
before = set(sys.modules)
import tenbin.backends.hf, tenbin.records
for module in pkgutil.walk_packages(tenbin.backends.hf.__path__, "tenbin.backends.hf."):
    if module.name.endswith("_triton") and importlib.util.find_spec("triton") is None:
        continue
    importlib.import_module(module.name)
new = {name.partition(".")[0] for name in set(sys.modules) - before}
unwanted = {"datasets", "pyarrow", "rich", "yaml", "pydantic", "jinja2", "httpx", "scipy"} & new
stages = {name for name in sys.modules if name.startswith("tenbin.")}
known = ("tenbin.backends", "tenbin.records", "tenbin.errors", "tenbin.version")
known += ("tenbin.files", "tenbin.sandbox", "tenbin.timing")
print(unwanted, {name for name in stages if not name.startswith(known)})
sys.exit(bool(unwanted or any(not name.startswith(known) for name in stages)))
"""


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT / "src")}
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=False, env=environment
    )


def test_the_check_passes_here() -> None:
    script = str(ROOT / "benchmarks" / "check_device.py")
    done = run(script, "--device", "cpu", "--tiny", "--families", "llama,bloom")
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert {line[:4] for line in lines} <= {"PASS", "SKIP"}
    # Four engines and texts for each family, the last line says of each what was not possible.
    assert sum(line.startswith("PASS  scores") for line in lines) >= 8
    assert sum(line.startswith("PASS  texts") for line in lines) >= 4


def test_the_backend_stands_alone() -> None:
    done = run("-c", IMPORTS)
    assert done.returncode == 0, done.stdout + done.stderr
