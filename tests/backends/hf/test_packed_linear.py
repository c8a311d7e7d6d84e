"""Packed weights: the same numbers, whatever the batch, and plain layers wherever in doubt."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn.functional import linear

from tenbin.backends.hf.backend import HfBackend
from tenbin.backends.hf.model import packed_linear
from tenbin.backends.hf.model.packed_linear import PackedLinears, _unavailable, rounded_up
from tenbin.records import Generate, Score, Scores, Text
from tenbin.timing import timed
from tests.backends.tiny import make_model

pytestmark = pytest.mark.skipif(_unavailable() is not None, reason=str(_unavailable()))

FAMILIES = ("llama", "gpt_neox", "opt", "bloom", "qwen3", "gemma2")
REQUESTS = [
    Score("s", "The answer is", (" a", " a b", " blue")),
    Score("t", "The quick brown", (" fox", " dog jumps")),
]


def linears(model: Any) -> list[torch.nn.Linear]:
    return [module for module in model.modules() if isinstance(module, torch.nn.Linear)]


def logits(model: Any, rows: torch.Tensor) -> torch.Tensor:
    with torch.inference_mode():
        found: torch.Tensor = model(input_ids=rows).logits
    return found


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_logits_are_those_of_plain_layers(family: str, dtype: torch.dtype) -> None:
    model = make_model(family, 50).to(dtype)
    rows = torch.arange(60).view(3, 20) % 50
    plain = logits(model, rows)
    packing = PackedLinears(model)
    with packing.installed():
        assert packing.count == len(linears(model)) > 0
        assert all("forward" in vars(layer) for layer in linears(model))
        found = logits(model, rows)
    scale = float(plain.abs().max())
    assert float((found - plain).abs().max()) <= scale * (1e-5 if dtype is torch.float32 else 0.05)
    # Outside, the model is untouched.
    assert not any("forward" in vars(layer) for layer in linears(model))
    assert torch.equal(logits(model, rows), plain)


@pytest.mark.parametrize("shape", [(5, 576), (1, 576), (3, 4, 576), (0, 576), (576,)])
@pytest.mark.parametrize("bias", [True, False])
def test_a_row_does_not_depend_on_its_batch(shape: tuple[int, ...], bias: bool) -> None:
    torch.manual_seed(1)
    layer = torch.nn.Linear(576, 192, bias=bias).requires_grad_(False)
    many = torch.randn(100, 576)
    with PackedLinears(layer).installed(), torch.inference_mode():
        whole = layer(many)
        count = torch.Size(shape).numel() // 576
        found = layer(many[:count].reshape(shape))
        assert found.shape == (*shape[:-1], 192)
        assert torch.equal(found.reshape(-1, 192), whole[:count])
        # A slice of a wider tensor, as heads split a product.
        assert torch.equal(layer(torch.cat([many, many], 1)[:, :576]), whole)
        plain = linear(many, layer.weight, layer.bias)
        assert torch.allclose(whole, plain, rtol=0, atol=1e-5)


def test_changed_and_replaced_weights_are_packed_again() -> None:
    layer = torch.nn.Linear(16, 8).requires_grad_(False)
    packing, rows = PackedLinears(layer), torch.ones(2, 16)

    def packed() -> torch.Tensor:
        with packing.installed(), torch.inference_mode():
            found: torch.Tensor = layer(rows)
        return found

    packed()
    layer.weight.mul_(3)
    assert torch.allclose(packed(), linear(rows, layer.weight, layer.bias))
    layer.bias = torch.nn.Parameter(torch.full((8,), 7.0), requires_grad=False)
    assert torch.allclose(packed(), linear(rows, layer.weight, layer.bias))


def test_gradients_and_other_dtypes_get_the_plain_product() -> None:
    layer = torch.nn.Linear(16, 8)
    rows = torch.ones(2, 16, requires_grad=True)
    with PackedLinears(layer).installed():
        layer(rows).sum().backward()
        with torch.inference_mode(), pytest.raises(RuntimeError):
            layer(torch.ones(2, 16, dtype=torch.float64))
    assert rows.grad is not None


def test_layers_that_compute_something_else_are_left_alone() -> None:
    class Own(torch.nn.Linear):
        def forward(self, rows: torch.Tensor) -> torch.Tensor:
            return super().forward(rows) + 1

    hooked = torch.nn.Linear(4, 4)
    hooked.register_forward_pre_hook(lambda module, rows: None)
    wrapped: Any = torch.nn.Linear(4, 4)
    wrapped.forward = lambda rows: rows
    double = torch.nn.Linear(4, 4).double()
    normed: Any = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(4, 4))
    others = [Own(4, 4), hooked, wrapped, double, normed]
    packing = PackedLinears(torch.nn.ModuleList([*others, torch.nn.Linear(4, 4)]))
    before = [vars(layer).get("forward") for layer in others]
    with packing.installed():
        assert packing.count == 1
        assert [vars(layer).get("forward") for layer in others] == before
    assert [vars(layer).get("forward") for layer in others] == before


def test_adapters_keep_their_part() -> None:
    peft = pytest.importorskip("peft")
    model = make_model("llama", 50)
    settings = peft.LoraConfig(r=2, target_modules=["q_proj", "down_proj"], init_lora_weights=False)
    adapted = peft.get_peft_model(model, settings).eval()
    rows = torch.arange(20)[None]
    plain = logits(adapted, rows)
    with PackedLinears(adapted).installed():
        found = logits(adapted, rows)
    assert torch.allclose(found, plain, rtol=0, atol=1e-5 * float(plain.abs().max()))


def test_nested_use_ends_with_the_last() -> None:
    layer = torch.nn.Linear(4, 4)
    packing = PackedLinears(layer)
    with packing.installed():
        with packing.installed():
            pass
        assert "forward" in vars(layer)
    assert "forward" not in vars(layer)


def no_operator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed_linear, "_unavailable", lambda: "torch 1 has no mkldnn.x")


def no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed_linear, "free_ram", lambda: 1 << 10)


def wrong_product(monkeypatch: pytest.MonkeyPatch) -> None:
    pack = packed_linear._packed

    def wrong(layer: torch.nn.Linear, exact: bool) -> Any:
        forward = pack(layer, exact)
        return lambda rows: forward(rows) * 1.001

    monkeypatch.setattr(packed_linear, "_packed", wrong)


def refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(layer: torch.nn.Linear, exact: bool) -> Any:
        raise RuntimeError("this processor cannot\nat all")

    monkeypatch.setattr(packed_linear, "_packed", refuse)


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (no_operator, "torch 1 has no mkldnn.x"),
        (no_memory, "more than half of 0.0 GiB RAM"),
        (wrong_product, "differs from the plain one by"),
        (refused, "this processor cannot"),
    ],
)
def test_in_doubt_layers_stay_plain_and_the_result_says_why(
    llama: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch, spoil: Any, reason: str
) -> None:
    plain = HfBackend.from_model(*llama, max_length=64, packed_weights=False)
    wanted = dict(plain.run(REQUESTS))
    spoil(monkeypatch)
    backend = HfBackend.from_model(*llama, max_length=64)
    assert dict(backend.run(REQUESTS)) == wanted
    described = backend.describe()["engine"]
    assert described["weights"] == "plain"
    assert [line for line in described["passed_over"] if "packed weights: " in line]
    assert reason in described["passed_over"][-1]


def test_answers_are_those_of_plain_weights(llama: tuple[Any, Any]) -> None:
    requests = [*REQUESTS, Generate("g", "The answer is", (), 12), Generate("h", "日本", (), 12)]
    plain = HfBackend.from_model(*llama, max_length=64, packed_weights=False)
    backend = HfBackend.from_model(*llama, max_length=64)
    assert backend.describe()["engine"]["weights"] == "not run"
    wanted, found = dict(plain.run(requests)), dict(backend.run(requests))
    for key, answer in found.items():
        other = wanted[key]
        if isinstance(answer, Scores):
            assert isinstance(other, Scores)
            assert answer.logprobs == pytest.approx(other.logprobs, abs=1e-5)
        else:
            assert isinstance(answer, Text) and answer == other
    assert backend.describe()["engine"]["weights"] == "packed"
    assert plain.describe()["engine"]["weights"] == "plain"
    assert plain.describe()["engine"]["passed_over"] == []
    assert not any("forward" in vars(layer) for layer in linears(llama[0]))


def test_products_are_computed_for_few_numbers_of_rows() -> None:
    """A kernel is compiled for each number: any number of tokens must not mean as many kernels."""
    sizes = {rounded_up(rows) for rows in range(1, 4097)}
    assert len(sizes) <= 16 + 8 * 8
    assert all(rows <= rounded_up(rows) <= rows * 9 / 8 for rows in range(1, 4097))
    assert [rounded_up(rows) for rows in (1, 16, 17, 33, 1000, 1025)] == [1, 16, 18, 36, 1024, 1152]


@pytest.mark.parametrize("shape", [(1, 100), (7, 9), (65,)])
def test_rounded_products_are_those_of_the_layer(shape: tuple[int, ...]) -> None:
    layer = torch.nn.Linear(24, 40)
    rows = torch.randn(*shape, 24, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode(), PackedLinears(layer).installed():
        packed = layer(rows)
    with torch.inference_mode():
        assert packed.shape == (*shape, 40)
        assert torch.allclose(packed, layer(rows), atol=1e-5)


@torch.inference_mode()
@pytest.mark.parametrize("size", [64, 192, 576, 1536, 5000])
def test_exact_products_round_as_well_as_plain_ones(size: int) -> None:
    """Beside float64: undivided products are up to twice as far off as torch's own."""
    generator = torch.Generator().manual_seed(size)
    layer = torch.nn.Linear(size, 96, bias=True)
    layer.weight.copy_(torch.randn(96, size, generator=generator))
    rows = torch.randn(2, 20, size, generator=generator)
    wanted = torch.nn.functional.linear(rows.double(), layer.weight.double(), layer.bias.double())

    def error(product: torch.Tensor) -> float:
        return float((product.double() - wanted).square().mean().sqrt())

    packed = PackedLinears(torch.nn.Sequential(layer), exact=True)
    plain = error(layer(rows))
    with packed.installed():
        exact = error(layer(rows))
    assert packed.count == 1
    assert exact <= 1.3 * plain


def test_packing_counts_as_loading(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = PackedLinears._pack
    stages = []
    with timed() as timing:

        def watched(self: PackedLinears, layers: list[torch.nn.Linear]) -> None:
            stages.append(timing._current)
            honest(self, layers)

        monkeypatch.setattr(PackedLinears, "_pack", watched)
        with PackedLinears(make_model("llama", 64)).installed():
            stages.append(timing._current)
    assert stages == ["model load", "other"]
