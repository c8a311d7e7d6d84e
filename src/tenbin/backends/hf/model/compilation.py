"""Compiles a model's decoder layers when there is enough work to pay for it.

Between matrix products a layer reads and writes its activations many times; compiled, only a few
times. Attention stays outside the graph. One graph serves all layers and all sizes, of packs that
are scored and of packs in prefill.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import torch

_SECONDS = 60.0
"""Compilation takes some 20 seconds; shorter runs are faster without."""
_RATE = 4e14
"""FLOP/s that a current GPU makes of such layers, for the estimate alone."""

_COMPILED = "_tenbin_compiled"
"""Attribute in which a layer keeps what nn.Module.compile made: that takes milliseconds."""

_attentions: dict[str, Callable[..., Any]] = {}
"""The engine's own, by the names under which transformers knows them."""
_kept_out: set[str] = set()
"""Those that are marked for the compiler."""

_KEPT = {"TORCHINDUCTOR_CACHE_DIR": "inductor", "TRITON_CACHE_DIR": "triton"}
"""Variables that tell torch and Triton where to keep what they compile."""

CompileMode = Literal["auto", "always", "never"]


class Compilation:
    """When layers are compiled, and whether the probe found that right."""

    def __init__(self, when: CompileMode, refusal: Callable[[], str | None] = lambda: None) -> None:
        """Remember the choice; nothing is compiled yet.

        Args:
            when: `auto` compiles when the work is long; nothing is compiled off a GPU.
            refusal: Probes compiled layers and says why they must not be used; called once, before
                their first use.
        """
        self.when = when
        self.reason: str | None = None
        """Why compiled layers are not used though they were wanted."""
        self._refusal = refusal
        self._probed = False

    @contextmanager
    def layers_of(self, model: Any, tokens: int) -> Iterator[bool]:
        """Run a model's layers compiled for the forward passes inside, where that is wanted.

        Args:
            model: The model, on its device.
            tokens: Tokens that will be computed.
        """
        if not self._wanted(model, tokens):
            yield False
            return
        with compiled_layers(model):
            yield True

    def is_possible(self, model: Any) -> bool:
        """Whether layers may ever be compiled."""
        return self.when != "never" and bool(next(model.parameters()).is_cuda)

    def _wanted(self, model: Any, tokens: int) -> bool:
        if not self.is_possible(model):
            return False
        if self.when == "auto" and not pays_off(model, tokens):
            return False
        if not self._probed:
            self._probed = True
            self.reason = self._refusal()
            if self.reason is not None:
                self.when = "never"
        return self.when != "never"


def keep_compiled(folder: Path) -> None:
    """Have compiled layers and kernels kept in a folder, for later processes.

    torch keeps them in the machine's folder for temporary files, which is often memory or goes
    with a container. Its own keys say what fits: code, shapes, versions and device. A place that
    the user has named stays, and so does torch's where this one cannot be written.
    """
    for variable, name in _KEPT.items():
        if variable in os.environ:
            continue
        try:
            (folder / name).mkdir(parents=True, exist_ok=True)
        except OSError:
            return
        if os.access(folder / name, os.W_OK):
            os.environ[variable] = str(folder / name)


def pays_off(model: Any, tokens: int) -> bool:
    """Whether compiling saves more time on a GPU than it takes."""
    weights: int = sum(parameter.numel() for parameter in model.parameters())
    return 2.0 * weights * tokens / _RATE > _SECONDS


def register_attention(name: str, attention: Callable[..., Any]) -> None:
    """Register an attention with transformers that compiled layers leave outside their graph.

    Harmless when repeated. No mask is registered under its name, so that transformers makes none.
    """
    from transformers import AttentionInterface

    if name not in _attentions:
        AttentionInterface.register(name, attention)
        _attentions[name] = attention


def _keep_attentions_out() -> None:
    """Mark them for the compiler; not earlier, because it takes seconds to import."""
    from transformers import AttentionInterface

    disable: Any = torch.compiler.disable
    for name in _attentions.keys() - _kept_out:
        AttentionInterface.register(name, disable(_attentions[name]))
        _kept_out.add(name)


def decoder_layers(model: Any) -> list[Any]:
    """The repeated layers of a model: the longest list of modules of one class."""
    lists = [module for module in model.modules() if isinstance(module, torch.nn.ModuleList)]
    alike = [list(one) for one in lists if len({type(layer) for layer in one}) == 1]
    return max(alike, key=len, default=[])


@contextmanager
def compiled_layers(model: Any) -> Iterator[None]:
    """Run a model's layers compiled for the forward passes inside."""
    layers = decoder_layers(model)
    _keep_attentions_out()
    try:
        for layer in layers:
            made = vars(layer).get(_COMPILED)
            if made is None:
                layer.compile(dynamic=True)
                setattr(layer, _COMPILED, layer._compiled_call_impl)
            else:
                layer._compiled_call_impl = made
        yield
    finally:
        for layer in layers:
            # What nn.Module.compile set: calls go to the plain forward again.
            layer._compiled_call_impl = None
