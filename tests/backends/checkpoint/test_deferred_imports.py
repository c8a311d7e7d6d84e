"""Names that stand for parts of torch: what they are until then, and what becomes of them."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
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


TRANSFORMS = """
import enum
class InterpolationMode(enum.Enum):
    NEAREST, BOX = "nearest", "box"
"""
LIKE_IMAGE_UTILS = """
from torchvision import io as torchvision_io
from torchvision.transforms import InterpolationMode
from torchvision.transforms.functional import pil_to_tensor
from sklearn.metrics import roc_curve

modes = {0: InterpolationMode.NEAREST, 4: InterpolationMode.BOX}
numbers = {mode: number for number, mode in modes.items()}
"""
RUN_DEFERRED = """
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from tenbin.backends.checkpoint.deferred_imports import deferring
from tenbin.backends.checkpoint.transformers_import import quicken_import
quicken_import()
module = ModuleType("transformers.image_utils")
module.__package__ = "transformers"
with deferring(module):
    exec(compile(open(sys.argv[1]).read(), "image_utils", "exec"), vars(module))
assert not {"torchvision", "sklearn"} & set(sys.modules), "neither is imported"
"""
PICTURES = """
from torchvision.transforms import InterpolationMode
assert module.InterpolationMode is InterpolationMode
assert module.modes == {0: InterpolationMode.NEAREST, 4: InterpolationMode.BOX}
assert list(module.numbers.items()) == [(InterpolationMode.NEAREST, 0), (InterpolationMode.BOX, 4)]
assert module.torchvision_io is sys.modules["torchvision.io"]
assert "sklearn" not in sys.modules
"""
MEMBER = """
assert module.InterpolationMode.BOX.value == "box", "the real member, once the module has run"
assert module.numbers[module.InterpolationMode.BOX] == 4
"""
FUNCTION = """
assert module.roc_curve([1, 2]) == 2 and "torchvision" not in sys.modules
from sklearn.metrics import roc_curve
assert module.roc_curve is roc_curve
"""


@pytest.mark.parametrize(
    "code", [PICTURES, MEMBER, FUNCTION], ids=["pictures", "member", "function"]
)
def test_other_libraries(code: str, tmp_path: Path) -> None:
    files = {
        "torchvision/__init__.py": "from torchvision import io, transforms",
        "torchvision/io.py": "",
        "torchvision/transforms/__init__.py": TRANSFORMS,
        "torchvision/transforms/functional.py": "def pil_to_tensor(picture): return picture",
        "sklearn/__init__.py": "",
        "sklearn/metrics.py": "roc_curve = len",
        "like_image_utils.py": LIKE_IMAGE_UTILS,
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    path = f"{ROOT / 'src'}{os.pathsep}{tmp_path}"
    done = subprocess.run(
        [sys.executable, "-c", RUN_DEFERRED + code, str(tmp_path / "like_image_utils.py")],
        capture_output=True, text=True, env={"PATH": "", "PYTHONPATH": path},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(find_spec("torchvision") is not None, reason="torchvision is installed")
def test_a_library_that_is_not_there_is_missed_at_once(tmp_path: Path) -> None:
    source = tmp_path / "like_image_utils.py"
    source.write_text("from torchvision.transforms import InterpolationMode\n")
    done = subprocess.run(
        [sys.executable, "-c", RUN_DEFERRED, str(source)],
        capture_output=True, text=True, env={"PATH": "", "PYTHONPATH": str(ROOT / "src")},
    )  # fmt: skip
    assert "No module named 'torchvision'" in done.stderr
