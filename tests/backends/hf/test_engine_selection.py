"""Engine selection: what is refused and why, what is asked for, and what it costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from tenbin.backends.hf.backend import HfBackend
from tenbin.backends.hf.model import memory
from tenbin.backends.hf.model.forward import Forward, Head
from tenbin.backends.hf.scoring.base import run_batches
from tenbin.backends.hf.scoring.cache import CacheEngine
from tenbin.backends.hf.scoring.engine_selection import select_engine
from tenbin.backends.hf.scoring.masked_rows import MaskedRowsEngine
from tenbin.backends.hf.scoring.probe import Probe
from tenbin.backends.hf.scoring.tree import TreeEngine
from tenbin.backends.text.encoding import Row
from tenbin.backends.text.score_collector import GroupScore, RowScore, ScoreCollector, Target
from tenbin.errors import BackendError
from tenbin.records import Rolled, Rolling, Score, Scores
from tests.backends.hf.test_families import CACHE, MASK, TREE, alone, make
from tests.backends.tiny import make_model

ENGINES: dict[str, Any] = {"tree": TreeEngine, "rows": MaskedRowsEngine, "cache": CacheEngine}
MODES = {"tree": TREE, "rows": MASK, "cache": CACHE, "plain": "plain rows"}


@pytest.fixture(scope="module")
def forward() -> Forward:
    return Forward(make("llama"))


def select(model: Any, engine: str = "auto") -> Any:
    return select_engine(Forward(model), engine, "auto", 256, 128)


@pytest.mark.parametrize("engine", MODES)
def test_an_engine_can_be_asked_for(llama: tuple[Any, Any], engine: str) -> None:
    backend = HfBackend.from_model(*llama, max_length=64, engine=engine)
    plain = HfBackend.from_model(*llama, max_length=64, engine="plain")
    requests = [Score("k", "The answer is", (" a", " a b", " blue")), Score("e", "", ("a",))]
    found, expected = dict(backend.run(requests)), dict(plain.run(requests))
    for key, answer in found.items():
        wanted = expected[key]
        assert isinstance(answer, Scores) and isinstance(wanted, Scores)
        assert answer.logprobs == pytest.approx(wanted.logprobs, abs=1e-4)
    described = backend.describe()["engine"]
    assert (described["mode"], described["asked"]) == (MODES[engine], engine)
    assert described["passed_over"] == []


@pytest.mark.parametrize(
    ("family", "engine"), [("gptj", "tree"), ("mistral", "rows"), ("bloom", "tree")]
)
def test_an_engine_that_does_not_fit_is_an_error(family: str, engine: str) -> None:
    with pytest.raises(BackendError, match=f"engine={engine} does not fit"):
        select(make(family), engine)


def test_the_user_is_told_what_was_passed_over(tokenizer: Any) -> None:
    told: list[str] = []
    model = make_model("bloom", len(tokenizer))
    backend = HfBackend.from_model(model, tokenizer, max_length=64)
    backend._notify = told.append
    list(backend.run([Score("k", "a", (" b",))]))
    assert backend.describe()["engine"]["mode"] == CACHE
    assert [line.split(";")[0] for line in told] == [f"scoring by {CACHE}"] * 2
    assert [line.split("; ")[1].split(":")[0] for line in told] == [TREE, MASK]


@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_with_a_wrong_mask_or_cache_is_refused(forward: Forward, name: str) -> None:
    def wrong() -> Any:
        engine = ENGINES[name](forward, 128)
        engine.broken = True
        return engine

    refusal = Probe(forward).refusal(wrong)
    assert refusal is not None and "differ by" in refusal


@pytest.mark.parametrize("name", ENGINES)
def test_a_branch_that_reaches_its_siblings_is_refused(forward: Forward, name: str) -> None:
    """Right numbers for the first sequences, others as soon as a sibling changes."""
    seen: list[tuple[int, ...]] = []

    class Leaky(ENGINES[name]):  # type: ignore[misc]
        def score(self, groups: Sequence[Sequence[Row]]) -> Iterator[tuple[int, GroupScore]]:
            for number, scores in super().score(groups):
                last = groups[number][-1].ids
                shift = 0.0 if last in seen or len(seen) < len(groups) else 0.01
                seen.append(last)
                yield number, tuple(RowScore(item.logprob + shift, False) for item in scores)

    refusal = Probe(forward).refusal(lambda: Leaky(forward, 128))
    assert refusal is not None and "reaches its siblings" in refusal


def test_a_model_that_looks_ahead_is_refused() -> None:
    model = make("llama")

    def leak(module: Any, inputs: Any, output: torch.Tensor) -> torch.Tensor:
        return output + 0.1 * output.mean(1, keepdim=True)

    model.model.embed_tokens.register_forward_hook(leak)
    with pytest.raises(BackendError, match="no causal language model"):
        select(model)


@pytest.mark.parametrize("leaks", [False, True])
def test_plain_numbers_come_from_batches_only_where_a_single_row_agrees(leaks: bool) -> None:
    model = make("llama")
    rows: list[int] = []
    if leaks:
        model.model.embed_tokens.register_forward_hook(
            lambda module, inputs, output: output + 0.1 * output.mean((0, 1), keepdim=True)
        )
    forward = Forward(model)
    model.model.register_forward_pre_hook(
        lambda module, inputs, options: rows.append(len(options["input_ids"])), with_kwargs=True
    )
    probe = Probe(forward)
    found = probe._plain()
    assert probe._plain() is found
    single = sum(count == 1 for count in rows)
    assert max(rows) > 1
    assert single == (1 + len([row for group in probe._groups for row in group]) if leaks else 1)
    for group, values in zip(probe._groups, found, strict=True):
        for row, value in zip(group, values, strict=True):
            assert value == pytest.approx(alone(model, row)[0], abs=1e-5)


def test_a_model_that_reads_no_context_proves_nothing() -> None:
    model = make("llama")
    with torch.no_grad():
        for layer in model.model.layers:
            layer.self_attn.o_proj.weight.zero_()
    selected = select(model)
    assert selected.engine.mode == "plain rows"
    assert all("proves nothing" in reason for reason in selected.selection.passed_over)


@pytest.mark.parametrize("engine", MODES)
@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_rolling_equals_its_windows(tokenizer: Any, engine: str, family: str) -> None:
    model, window = make_model(family, len(tokenizer)), 24
    backend = HfBackend.from_model(model, tokenizer, max_length=window, engine=engine)
    texts = ["東京", "The quick brown fox jumps over the lazy dog. 日本の首都は東京です。" * 3]
    answers = dict(backend.run([Rolling(text, text) for text in texts]))
    for text in texts:
        ids = [1, *tokenizer(text)["input_ids"]]
        expected, done = 0.0, 1
        while done < len(ids):
            new = min(window, len(ids) - done)
            done += new
            row = ids[max(0, done - window - 1) : done]
            expected += alone(model, Row(tuple(row), new))[0]
        answer = answers[text]
        assert isinstance(answer, Rolled)
        assert answer.logprob == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("slices", [True, False])
@pytest.mark.parametrize("name", ["tree", "cache"])
def test_the_head_is_asked_in_slices(name: str, slices: bool) -> None:
    """A long text scored everywhere: few logits at a time, and the layers run once."""
    model = make("llama")
    forward = Forward(model)
    forward.positions = 8
    assert forward.head == Head(keeps=True, slices=True)
    forward.head = Head(keeps=True, slices=slices)
    widths: list[int] = []
    runs: list[int] = []
    model.lm_head.register_forward_hook(lambda *call: widths.append(call[2].shape[1]))
    model.model.layers[0].register_forward_hook(lambda *call: runs.append(1))
    ids = tuple(3 + at * 7 % 90 for at in range(60))
    ((_, scores),) = ENGINES[name](forward, 128).score([[Row(ids, 59)]])
    assert max(widths) == 8 and sum(widths) == 59
    assert len(runs) == (1 if slices else len(widths))
    assert scores is not None
    assert scores[0].logprob == pytest.approx(alone(model, Row(ids, 59))[0], abs=1e-4)


class Fake:
    """A device that notes what is asked of it."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.log: list[str] = []

    def plan(self, inputs: Sequence[tuple[int, ...]]) -> Iterator[Any]:
        for at in range(0, len(inputs), self.most):
            yield SimpleNamespace(sequences=list(inputs[at : at + self.most]))

    def launch(self, batch: Any, targets: Sequence[Target]) -> Any:
        name = batch.sequences[0][0]
        if len(batch.sequences) > 2:
            self.log.append(f"full {name}")
            return None
        self.log.append(f"start {name}")

        def scores() -> list[tuple[float, bool]]:
            self.log.append(f"wait {name}")
            return [(-1.0, True)] * len(targets)

        return SimpleNamespace(scores=scores)

    def shrink(self, batch: Any) -> None:
        self.most = len(batch.sequences) // 2


@pytest.mark.parametrize("lookahead", [True, False])
def test_the_next_batch_starts_before_the_last_is_waited_for(lookahead: bool) -> None:
    collector = ScoreCollector([[Row((number, 1), 1)] for number in range(6)])
    fake = Fake(4)
    found = list(
        run_batches(collector, collector.inputs, fake.plan, fake.launch, fake.shrink, lookahead)
    )
    assert sorted(number for number, _ in found) == list(range(6))
    in_turn = ["full 0", "start 0", "wait 0", "start 2", "wait 2", "start 4", "wait 4"]
    overlapped = ["full 0", "start 0", "start 2", "wait 0", "start 4", "wait 2", "wait 4"]
    assert fake.log == (overlapped if lookahead else in_turn)


def test_budgets_fit_what_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    config = make("llama").config
    each = memory.token_bytes(config, 1024)
    cpu, gpu = torch.device("cpu"), torch.device("cuda")
    for free, expected in [(None, 1024), (1 << 60, 1024), (0, 64), (each * 4 * 500, 500)]:
        monkeypatch.setattr(memory, "free_ram", lambda free=free: free)
        assert memory.fitted_budget(cpu, config, 1024, lambda size: None) == expected
    # A GPU on which a batch takes 1,000 bytes and 10 for each token.
    monkeypatch.setattr(memory, "_peak", lambda device, measure, size: 1000.0 + 10 * size)
    for free, expected in [(1 << 40, 32768), (0, 64), (100_000, 8400)]:
        monkeypatch.setattr(memory, "_free_on_gpu", lambda device, free=free: free)
        assert memory.fitted_budget(gpu, config, 32768, lambda size: None) == expected


def test_free_memory_is_known_here() -> None:
    free = memory.free_ram()
    assert free is None or free > 1 << 20


def test_freed_memory_is_kept_where_the_c_library_can(monkeypatch: pytest.MonkeyPatch) -> None:
    memory.keep_freed_memory()
    asked: list[tuple[int, int]] = []

    def found(name: str) -> Any:
        return SimpleNamespace(mallopt=lambda *setting: asked.append(setting))

    def missing(name: str) -> Any:
        raise OSError(f"no {name}")

    monkeypatch.setattr(memory.ctypes, "CDLL", found)
    memory.keep_freed_memory()
    # As malloc.h numbers them: M_MMAP_THRESHOLD and M_TRIM_THRESHOLD.
    assert asked == [(-3, 32 * 2**20), (-1, 2**30)]
    for none in (missing, lambda name: SimpleNamespace()):
        monkeypatch.setattr(memory.ctypes, "CDLL", none)
        memory.keep_freed_memory()
    assert len(asked) == 2
