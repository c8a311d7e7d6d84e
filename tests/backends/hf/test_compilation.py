"""Compiled layers beside plain ones, and where they are kept."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tenbin.backends.hf.model.compilation import keep_compiled

ROOT = Path(__file__).parents[3]
COMPILED = """
import sys
from pathlib import Path
import tenbin.backends.checkpoint  # transformers is imported as in a run
from transformers import AutoModelForCausalLM
assert "torch._dynamo" not in sys.modules
from tenbin.backends.hf.model.compilation import compiled_layers, keep_compiled
from tests.backends.tiny import make_model
import torch
keep_compiled(Path(sys.argv[1]))
model = make_model("llama", 400)
rows = torch.arange(12).view(2, 6)
with torch.inference_mode():
    plain = model(rows).logits
    with compiled_layers(model):
        compiled = model(rows).logits
torch.testing.assert_close(compiled, plain, rtol=1e-4, atol=1e-4)
import torch.distributed.tensor
from transformers import masking_utils
from transformers.distributed import sharding_utils
assert sharding_utils.DTensor is torch.distributed.tensor.DTensor
from torch._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex as real
assert masking_utils.TransformGetItemToIndex is real
from torch._dynamo.utils import counters
print("kept", counters["inductor"]["fxgraph_cache_hit"], counters["inductor"]["fxgraph_cache_miss"])
"""


def compiled(folder: Path) -> tuple[int, int]:
    """Layers compiled in a process of its own; graphs that were kept, and others."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")
    }
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-c", COMPILED, str(folder)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=600,
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("kept")]
    assert len(lines) == 1, done.stderr[-3000:]
    _, hits, misses = lines[0].split()
    return int(hits), int(misses)


def test_compiled_layers_are_kept_between_processes(tmp_path: Path) -> None:
    hits, misses = compiled(tmp_path)
    assert hits == 0 and misses > 0
    assert any((tmp_path / "inductor").rglob("*"))
    assert compiled(tmp_path) == (misses, 0), "what the first process compiled serves the second"


def test_a_place_that_the_user_names_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "mine")
    monkeypatch.delenv("TRITON_CACHE_DIR", raising=False)
    keep_compiled(tmp_path)
    assert os.environ["TORCHINDUCTOR_CACHE_DIR"] == "mine"
    assert os.environ["TRITON_CACHE_DIR"] == str(tmp_path / "triton")
    monkeypatch.delenv("TRITON_CACHE_DIR")


def test_torch_keeps_its_own_place_where_ours_cannot_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "file").write_text("")
    keep_compiled(tmp_path / "file" / "compiled")
    assert "TORCHINDUCTOR_CACHE_DIR" not in os.environ and "TRITON_CACHE_DIR" not in os.environ
