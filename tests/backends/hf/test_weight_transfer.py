"""Weights that are copied piece by piece."""

from __future__ import annotations

import pytest
import torch

from tenbin.backends.hf.model import weight_transfer
from tenbin.backends.hf.model.weight_transfer import send_weights


class Model(torch.nn.Module):
    """Weights of several kinds."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.wide = torch.nn.Linear(37, 11, dtype=torch.bfloat16)
        self.tied = torch.nn.Linear(37, 11, bias=False)
        self.tied.weight = self.wide.weight
        self.turned = torch.nn.Parameter(torch.randn(9, 31).T)
        self.single = torch.nn.Parameter(torch.tensor(2.0))
        self.counts = torch.nn.Parameter(torch.arange(50), requires_grad=False)
        self.register_buffer("table", torch.randn(40))


@pytest.mark.parametrize("chunk", [1, 7, 64, 814, 1 << 20])
def test_the_bytes_are_the_same(chunk: int) -> None:
    model, wanted = Model(), {name: one.clone() for name, one in Model().state_dict().items()}
    before = {name: one.data.data_ptr() for name, one in model.named_parameters()}
    send_weights(model, "cpu", chunk, large=100)
    found = model.state_dict()
    assert found.keys() == wanted.keys()
    for name, one in wanted.items():
        assert torch.equal(found[name], one) and found[name].stride() == one.stride()
    assert model.tied.weight is model.wide.weight and model.wide.weight.requires_grad
    moved = {name for name, one in model.named_parameters() if one.data.data_ptr() != before[name]}
    assert moved == {"wide.weight", "counts"}, "not what is small or in another order"


def test_an_error_of_a_thread_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(place: torch.Tensor, tensor: torch.Tensor) -> None:
        raise torch.OutOfMemoryError("out of memory")

    monkeypatch.setattr(weight_transfer, "_plainly", fail)
    with pytest.raises(torch.OutOfMemoryError):
        send_weights(Model(), "cpu", 64, large=100)
