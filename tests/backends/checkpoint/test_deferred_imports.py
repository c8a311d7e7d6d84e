"""Names that stand for parts of torch: what they are until then, and what becomes of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
START = """
import sys
import tenbin.backends.checkpoint
import torch
from transformers.distributed import fsdp, sharding_utils, utils
from transformers import masking_utils, modeling_utils
"""
STANDS_IN = """
assert "torch._dynamo" not in sys.modules and "torch.distributed.fsdp" not in sys.modules
weight = torch.nn.Parameter(torch.ones(2))
assert not isinstance(weight, sharding_utils.DTensor) and not utils.is_dtensor(weight)
assert not fsdp.is_fsdp_managed_module(torch.nn.Linear(2, 2))
assert "torch.distributed.fsdp" not in sys.modules, "asking imports nothing"
"""
BECOMES = """
from torch.distributed.tensor import DTensor
from torch.distributed.fsdp import CPUOffloadPolicy, FullyShardedDataParallel
assert sharding_utils.DTensor is DTensor and fsdp.CPUOffloadPolicy is CPUOffloadPolicy
assert not utils.is_dtensor(torch.ones(2))
from transformers.distributed import tensor_parallel
assert "colwise_gather_output" in tensor_parallel.ALL_PARALLEL_STYLES
assert "grouped_gemm" in tensor_parallel.ALL_PARALLEL_STYLES, "expert_parallel adds it"
"""
TABLE = """
from transformers.distributed import parallel_utils
assert {"colwise", "grouped_gemm"} <= set(parallel_utils.ALL_PARALLEL_STYLES)
"""
CALLED = """
with masking_utils.TransformGetItemToIndex():
    pass
assert "torch._dynamo" in sys.modules
from torch._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex
assert masking_utils.TransformGetItemToIndex is TransformGetItemToIndex
"""
MARKED = """
from transformers.integrations import finegrained_fp8
function = finegrained_fp8._load_finegrained_fp8_kernel
assert "torch._dynamo" not in sys.modules
import torch._dynamo
from torch._dynamo.trace_rules import is_callable_allowed
assert is_callable_allowed(function), "as if the compiler had been there"
"""
UNTOUCHED = """
import builtins
assert torch.compiler.disable.__module__ == "torch.compiler"
assert torch.compiler.allow_in_graph.__module__ == "torch.compiler"
assert "_dynamo" not in vars(torch)
assert builtins.__import__.__module__ == "builtins"
"""


@pytest.mark.parametrize(
    "code", [UNTOUCHED + STANDS_IN + BECOMES, BECOMES, TABLE, CALLED, MARKED],
    ids=["becomes", "at once", "table", "called", "marked"],
)  # fmt: skip
def test_names_of_torch(code: str, tmp_path: Path) -> None:
    environment = {"TENBIN_CACHE": str(tmp_path), "PATH": "", "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, "-c", START + code], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr


def test_what_was_imported_before_is_used_as_it_is(tmp_path: Path) -> None:
    code = f"import torch._dynamo, torch.distributed.tensor\n{START}"
    code += "assert sharding_utils.DTensor is torch.distributed.tensor.DTensor\n"
    environment = {"TENBIN_CACHE": str(tmp_path), "PATH": "", "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
