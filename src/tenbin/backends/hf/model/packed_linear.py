"""Linear layers whose weights are stored in the layout that the CPU's matrix kernel reads.

Given plain weights, the kernel rearranges them in every call or reads them as they lie; a decode
step of a few rows is then mostly spent on that. oneDNN can rearrange a weight once. Its result for
a row also does not depend on how many rows stand beside it, which that of a plain product of few
rows does.

The operators are not part of torch's public interface. So they are used only where they exist and
where they give, for every single layer, what the layer itself gives.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.nn.functional import linear

from tenbin.backends.hf.model.memory import promised_ram
from tenbin.backends.hf.model.ram import free_ram
from tenbin.timing import stage

_SHARE = 0.5
"""Part of the free RAM that packed copies may take; the rest is for activations and KV cache."""
_ROWS = 3
"""Rows of the product by which a packed layer is compared with the plain one."""
_TOLERANCE = {torch.float32: 2e-5, torch.bfloat16: 1e-2}
"""Largest difference from the plain product, relative to its largest number, by dtype packed."""
_HINT = 64
"""Rows for which the layout is chosen; it is valid for any number of them."""
_PART = 192
_MOST_PARTS = 16
"""An exact product is a sum over parts of the input, as in torch's own kernel. oneDNN by itself
adds all of it in one go, which rounds less well the longer the input: log-likelihoods of a small
model in float32 are then off by 9e-6 per token (root mean square), with these parts by 5e-6 as with
plain layers. It takes a fifth longer, and with single rows twice as long."""
_EXACT = 16
"""Products of up to so many rows are not rounded up: decode steps of few rows are most frequent."""

Packed = Callable[[torch.Tensor], torch.Tensor]


class PackedLinears:
    """The packed copies of one model's linear layers, and when they are used."""

    def __init__(
        self,
        model: Any,
        wanted: bool = True,
        memory_share: float | None = None,
        exact: bool = False,
    ) -> None:
        """Prepare; nothing is packed until `installed`.

        Args:
            model: A transformers causal language model in eval mode.
            wanted: False to leave every layer as it is.
            memory_share: Part of all RAM to count on; None: what is free.
            exact: Whether products in float32 are rounded as well as torch's own.
        """
        self._exact = exact
        self.reason: str | None = None
        """Why layers are left plain though the model is on a CPU and packing was wanted."""
        self._model = model
        self._share = memory_share
        self._wanted = wanted and _is_on_cpu(model)
        self._packed: dict[torch.nn.Linear, tuple[tuple[int, ...], Packed]] = {}
        self._lock = threading.Lock()
        self._users = 0

    @property
    def count(self) -> int:
        """How many layers are packed."""
        return len(self._packed)

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Use the packed layers for the forward passes inside; outside, the model is its own."""
        with self._lock:
            self._users += 1
            if self._users == 1:
                self._install()
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                if self._users == 0:
                    for layer in self._packed:
                        vars(layer).pop("forward", None)

    @stage("model load")
    def _install(self) -> None:
        if not self._wanted:
            return
        layers = [layer for layer in self._model.modules() if _is_plain(layer)]
        if any(self._is_stale(layer) for layer in layers):
            self._pack(layers)
        for layer, (_, forward) in self._packed.items():
            vars(layer)["forward"] = forward

    def _is_stale(self, layer: torch.nn.Linear) -> bool:
        """Whether a layer was never packed, or its weight was replaced or changed since."""
        return layer not in self._packed or self._packed[layer][0] != _state(layer)

    @torch.inference_mode()
    def _pack(self, layers: list[torch.nn.Linear]) -> None:
        """Pack all layers or none: half of them would give neither speed nor invariance."""
        self._packed.clear()
        self.reason = _unavailable() or self._too_large(layers)
        for layer in layers if self.reason is None else ():
            try:
                forward = _packed(layer, self._exact)
                self.reason = _difference(layer, forward)
            except RuntimeError as error:
                self.reason = str(error).strip().partition("\n")[0][:120]
            if self.reason is not None:
                self._packed.clear()
                break
            self._packed[layer] = (_state(layer), forward)
        # What was refused once is not tried again in every run.
        self._wanted = self.reason is None

    def _too_large(self, layers: list[torch.nn.Linear]) -> str | None:
        needed = sum(layer.weight.nbytes for layer in layers)
        ram = free_ram() if self._share is None else promised_ram(self._share)
        if ram is None or needed <= _SHARE * ram:
            return None
        return f"copies take {needed / 2**30:.1f} GiB, more than half of {ram / 2**30:.1f} GiB RAM"


def _is_on_cpu(model: Any) -> bool:
    """Whether all weights are in RAM: nothing on a GPU, nothing offloaded."""
    return all(parameter.device.type == "cpu" for parameter in model.parameters())


def _is_plain(module: Any) -> bool:
    """Whether a module is a linear layer that does what torch's own does, in a dtype packed.

    A subclass (quantised, adapted) computes something else; a forward of its own or a hook may
    change the weight.
    """
    return (
        type(module) is torch.nn.Linear
        and "forward" not in vars(module)
        and not module._forward_pre_hooks
        and isinstance(module.weight, torch.nn.Parameter)
        and type(module.weight.data) is torch.Tensor
        and module.weight.dtype in _TOLERANCE
        and (module.bias is None or module.bias.dtype == module.weight.dtype)
    )


def _state(layer: torch.nn.Linear) -> tuple[int, ...]:
    """Changes when a parameter is replaced or written to."""
    return tuple(
        number
        for part in (layer.weight, layer.bias)
        if part is not None
        for number in (part.data_ptr(), 0 if part.is_inference() else part._version)
    )


def _unavailable() -> str | None:
    """Say why this torch cannot pack; None if it can."""
    onednn: Any = torch.backends.mkldnn
    if not onednn.is_available():
        return "this torch has no oneDNN"
    names = ("_reorder_linear_weight", "_linear_pointwise")
    missing = [name for name in names if not hasattr(torch.ops.mkldnn, name)]
    return f"torch {torch.__version__} has no mkldnn.{missing[0]}" if missing else None


def _packed(layer: torch.nn.Linear, exact: bool) -> Packed:
    dtype = layer.weight.dtype
    multiply = _divided(layer) if exact and dtype == torch.float32 else _whole(layer)

    def forward(rows: torch.Tensor) -> torch.Tensor:
        if rows.dtype is not dtype or torch.is_grad_enabled():
            # Torch's own product raises for other dtypes, and has a gradient.
            return linear(rows, layer.weight, layer.bias)
        shape = rows.shape
        count = rows.numel() // shape[-1]
        padded = rounded_up(count)
        if padded == count:
            return multiply(rows)
        longer = rows.new_zeros((padded, shape[-1]))
        longer[:count] = rows.reshape(count, shape[-1])
        return multiply(longer)[:count].view(*shape[:-1], -1)

    return forward


def _whole(layer: torch.nn.Linear) -> Packed:
    multiply: Any = torch.ops.mkldnn._linear_pointwise
    copy = torch.ops.mkldnn._reorder_linear_weight(layer.weight.detach(), _HINT)

    def forward(rows: torch.Tensor) -> torch.Tensor:
        product: torch.Tensor = multiply(rows, copy, layer.bias, "none", [], "")
        return product

    return forward


def _divided(layer: torch.nn.Linear) -> Packed:
    """The product as a sum over parts of the input."""
    multiply: Any = torch.ops.mkldnn._linear_pointwise
    size = layer.in_features
    width = max(_PART, -(-size // (_MOST_PARTS * 16)) * 16)
    parts = [
        (
            slice(start, start + width),
            torch.ops.mkldnn._reorder_linear_weight(
                layer.weight.detach()[:, start : start + width].contiguous(), _HINT
            ),
        )
        for start in range(0, size, width)
    ]

    def forward(rows: torch.Tensor) -> torch.Tensor:
        (first, copy), *others = parts
        total: torch.Tensor = multiply(
            rows[..., first].contiguous(), copy, layer.bias, "none", [], ""
        )
        for columns, copy in others:
            total += multiply(rows[..., columns].contiguous(), copy, None, "none", [], "")
        return total

    return forward


def rounded_up(rows: int) -> int:
    """Return how many rows a product is computed for, at most an eighth more than wanted.

    The kernel is compiled for each number of rows: that takes a millisecond and most of a megabyte
    per layer of another shape, which is never given back. Packs have any number of tokens, so
    without rounding a long run would gather a gigabyte.
    """
    if rows <= _EXACT:
        return rows
    step = 1 << ((rows - 1).bit_length() - 4)
    return -(-rows // step) * step


def _difference(layer: torch.nn.Linear, forward: Packed) -> str | None:
    """Compare a packed layer with the plain one on made-up rows; say how they differ."""
    dtype = layer.weight.dtype
    # Numbers of both signs and different sizes, without touching anybody's random state.
    rows = torch.arange(_ROWS * layer.in_features, dtype=torch.float32).sin_()
    rows = rows.view(_ROWS, layer.in_features).to(dtype)
    plain = linear(rows, layer.weight, layer.bias).float()
    gap = float((forward(rows).float() - plain).abs().max())
    if gap <= _TOLERANCE[dtype] * float(plain.abs().max()):
        return None
    return f"a product of {tuple(layer.weight.shape)} differs from the plain one by {gap:.1e}"
