"""NaN and infinities end as failures in every engine, and spoil no other document."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from tenbin.backends.base import BackendSettings
from tenbin.backends.finite import NotFiniteError, finite_only, summed
from tenbin.backends.hf.backend import HfBackend, open_hf
from tenbin.backends.hf.generation.sampler import NO_TOKEN, Sampler
from tenbin.backends.hf.model.forward import Forward
from tenbin.backends.hf.scoring.probe import Probe, _largest, _noise
from tenbin.backends.hf.scoring.tree import TreeEngine
from tenbin.backends.text.encoding import Row
from tenbin.backends.text.score_collector import GroupScore, RowScore
from tenbin.records import (
    Failure,
    Generate,
    Picked,
    Response,
    Rolled,
    Rolling,
    Sampling,
    Score,
    Scores,
    Text,
)
from tests.backends.tiny import make_model

ENGINES = ["tree", "rows", "cache", "plain"]
SAMPLINGS = [None, Sampling(0.8), Sampling(0.8, top_k=5), Sampling(1.0, top_p=0.7)]
SICK = "🙂"
"""The text that overflows; neither the probe nor any other text has its first token."""
TEXTS = [
    "The answer is",
    f"a {SICK} b c",
    "日本の首都は",
    f"The quick brown {SICK}",
    "a b",
    "a b c",
]
NAN, INF = math.nan, math.inf


def scores(texts: Sequence[str]) -> list[Score]:
    return [Score(text, text, (" a", " blue. a b", "東京")) for text in texts]


def is_not_finite(answer: Response) -> bool:
    return isinstance(answer, Failure) and answer.kind == "not_finite"


def make_reading_model(tokenizer: Any) -> tuple[Any, int]:
    """A model that may read the token which overflows and never writes it by itself."""
    model = make_model("llama", len(tokenizer))
    token: int = tokenizer(SICK, add_special_tokens=False)["input_ids"][0]

    def leave_out(module: Any, inputs: Any, output: torch.Tensor) -> torch.Tensor:
        return output.index_fill(-1, torch.tensor([token]), -100.0)

    model.lm_head.register_forward_hook(leave_out)
    return model, token


@pytest.fixture(scope="module")
def healthy(bos_tokenizer: Any) -> tuple[Any, Any]:
    return make_reading_model(bos_tokenizer)[0], bos_tokenizer


@pytest.fixture(scope="module")
def sick(bos_tokenizer: Any) -> tuple[Any, Any]:
    """The same model, but for one token that makes its layers overflow."""
    model, token = make_reading_model(bos_tokenizer)
    probed = {id for group in Probe(Forward(model))._groups for row in group for id in row.ids}
    assert token not in probed
    with torch.no_grad():
        model.model.embed_tokens.weight[token] = NAN
    return model, bos_tokenizer


@pytest.fixture(scope="module")
def broken(bos_tokenizer: Any) -> tuple[Any, Any]:
    model = make_model("llama", len(bos_tokenizer))
    with torch.no_grad():
        model.model.layers[1].mlp.down_proj.weight[3, 3] = NAN
    return model, bos_tokenizer


@pytest.mark.parametrize("engine", ["auto", *ENGINES])
def test_a_broken_model_is_asked_no_document(broken: tuple[Any, Any], engine: str) -> None:
    backend = HfBackend.from_model(*broken, engine=engine)
    with pytest.raises(NotFiniteError) as raised:
        list(backend.run(scores(TEXTS)))
    assert "nan" in str(raised.value).lower()
    assert "bfloat16" in raised.value.hint and "damaged" in raised.value.hint
    assert "position_ids" not in str(raised.value)


def test_a_broken_model_writes_nothing(broken: tuple[Any, Any]) -> None:
    with pytest.raises(NotFiniteError, match="3 of 3 random prompts"):
        list(HfBackend.from_model(*broken).run([Generate("k", "a", (), 4)]))


def test_a_head_without_slices_is_seen_by_the_probe(broken: tuple[Any, Any]) -> None:
    """Where the model takes no logits_to_keep, the head is not looked at beforehand."""
    model, tokenizer = broken
    forward = model.forward

    def plain(input_ids: Any, attention_mask: Any = None, use_cache: Any = None) -> Any:
        return forward(input_ids=input_ids, attention_mask=attention_mask, use_cache=use_cache)

    model.forward = plain
    try:
        with pytest.raises(NotFiniteError, match="random sequences"):
            list(HfBackend.from_model(model, tokenizer, engine="plain").run(scores(TEXTS)))
    finally:
        del model.forward


@pytest.mark.parametrize("kind", ["scoring", "generation"])
def test_a_broken_probe_is_not_remembered(
    broken: tuple[Any, Any], tmp_path: Path, kind: str
) -> None:
    for part in broken:
        part.save_pretrained(tmp_path / "model")
    arguments = {"pretrained": str(tmp_path / "model")}
    settings = BackendSettings("hf", arguments, device="cpu", cache_dir=str(tmp_path / "cache"))
    asked = scores(TEXTS) if kind == "scoring" else [Generate("k", "a", (), 4)]
    with pytest.raises(NotFiniteError):
        list(open_hf(settings).run(asked))
    assert not list(tmp_path.glob("cache/probes/*"))


@pytest.mark.parametrize("engine", ENGINES)
def test_documents_that_overflow_fail_and_others_do_not(
    sick: tuple[Any, Any], healthy: tuple[Any, Any], engine: str
) -> None:
    asked = [*scores(TEXTS), *(Rolling(f"roll {text}", text) for text in TEXTS)]
    found = dict(HfBackend.from_model(*sick, engine=engine).run(asked))
    wanted = dict(HfBackend.from_model(*healthy, engine=engine).run(asked))
    assert sorted(found) == sorted(wanted)
    for key, answer in found.items():
        if SICK in key:
            assert is_not_finite(answer), (key, answer)
        elif isinstance(answer, Scores):
            assert answer.logprobs == pytest.approx(wanted[key].logprobs, abs=1e-4)
        else:
            assert isinstance(answer, Rolled), (key, answer)
            assert answer.logprob == pytest.approx(wanted[key].logprob, abs=1e-4)


def test_a_continuation_that_overflows_fails_its_document(sick: tuple[Any, Any]) -> None:
    asked = [Score("k", "a", (" b", f" {SICK} c")), Score("l", "a", (" b", " c"))]
    found = dict(HfBackend.from_model(*sick).run(asked))
    assert is_not_finite(found["k"]) and isinstance(found["l"], Scores)


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("way", ["own", "library"])
def test_texts_that_overflow_fail_and_others_do_not(
    sick: tuple[Any, Any], healthy: tuple[Any, Any], way: str, sampling: Sampling | None
) -> None:
    """Two rows a step: those that follow take the places of rows that overflowed."""
    asked = [Generate(text, text, (), 7, sampling, seed=11) for text in TEXTS]

    def written(parts: tuple[Any, Any]) -> dict[str, Response]:
        backend = HfBackend.from_model(*parts, batch_size=2)
        if way == "library":
            backend._text_generator()._scheduler = None
        return dict(backend.run(asked))

    found, wanted = written(sick), written(healthy)
    for key, answer in found.items():
        if SICK in key:
            assert is_not_finite(answer), (key, answer)
        else:
            assert isinstance(answer, Text) and answer == wanted[key]


@pytest.mark.parametrize("way", ["own", "library"])
def test_answers_that_overflow_in_a_batch_are_written_again_alone(
    healthy: tuple[Any, Any], way: str
) -> None:
    """The first row of a batch overflows; alone it does not, and is answered as ever."""
    model, tokenizer = healthy
    backend = HfBackend.from_model(model, tokenizer)
    asked = [Generate(text, text, (), 7) for text in ("a b", "The quick brown fox")]
    if way == "library":
        backend._text_generator()._scheduler = None
    wanted = dict(backend.run(asked))
    steps: list[int] = []

    def overflow(module: Any, inputs: Any, output: torch.Tensor) -> torch.Tensor:
        steps.append(len(output))
        row = 0 if len(output) > 1 else None
        return output.index_fill(0, torch.tensor([row]), INF) if row is not None else output

    handle = model.lm_head.register_forward_hook(overflow)
    try:
        found = dict(backend.run(asked))
    finally:
        handle.remove()
    assert steps.count(1) >= 7 and 2 in steps
    assert found == wanted


def test_neighbours_that_overflow_are_scored_again_alone(healthy: tuple[Any, Any]) -> None:
    model, tokenizer = healthy
    wanted = dict(HfBackend.from_model(model, tokenizer, engine="plain").run(scores(TEXTS)))
    backend = HfBackend.from_model(model, tokenizer, engine="plain")
    list(backend.run(scores(["warm"])))

    def overflow(module: Any, inputs: Any, output: torch.Tensor) -> torch.Tensor:
        return output if len(output) == 1 else output + torch.tensor(INF)

    handle = model.lm_head.register_forward_hook(overflow)
    try:
        found = dict(backend.run(scores(TEXTS)))
    finally:
        handle.remove()
    for key, answer in wanted.items():
        assert found[key].logprobs == pytest.approx(answer.logprobs, abs=1e-5)


@pytest.mark.parametrize("engine", ["auto", *ENGINES])
def test_vocabulary_that_is_shut_out_is_no_error(bos_tokenizer: Any, engine: str) -> None:
    """Minus infinity for tokens that are never meant: only a continuation that has one fails."""
    model = make_model("llama", len(bos_tokenizer))
    token = bos_tokenizer("駅", add_special_tokens=False)["input_ids"][-1]
    shut = torch.zeros(len(bos_tokenizer))
    shut[token] = -INF
    shut[bos_tokenizer.unk_token_id] = -INF
    # The probe asks for one of them, and must not take that for an overflow.
    last = {row.ids[-1] for group in Probe(Forward(model))._groups for row in group}
    shut[sorted(last - set(bos_tokenizer(" a b c")["input_ids"]))[0]] = -INF
    model.lm_head.register_forward_hook(lambda module, inputs, output: output + shut)
    backend = HfBackend.from_model(model, bos_tokenizer, engine=engine)
    asked: list[Any] = [Score("open", "a", (" b", " c")), Score("shut", "a", (" b", "駅"))]
    found = dict(backend.run([*asked, Generate("text", "a b", (), 5)]))
    assert isinstance(found["open"], Scores) and isinstance(found["text"], Text)
    assert is_not_finite(found["shut"])
    assert "gives -inf" in found["shut"].message  # type: ignore[union-attr]


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_no_token_is_chosen_where_there_is_none(sampling: Sampling | None) -> None:
    torch.manual_seed(0)
    logits = torch.randn(7, 50)
    logits[1, 7] = NAN
    logits[2, 49] = INF
    logits[3] = -INF
    logits[4, 1:] = -INF
    logits[5] = NAN
    seeds = torch.arange(7)
    found = Sampler(sampling).sample(logits, seeds, seeds).tolist()
    assert [at for at, token in enumerate(found) if token == NO_TOKEN] == [1, 2, 3, 5]
    assert found[4] == 0
    assert Sampler(sampling).sample(logits[[0, 6]], seeds[[0, 6]], seeds[[0, 6]]).tolist() == [
        found[0],
        found[6],
    ]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_an_engine_that_overflows_alone_is_passed_over(
    healthy: tuple[Any, Any], dtype: torch.dtype
) -> None:
    model = make_model("llama", len(healthy[1])).to(dtype)

    class Overflowing(TreeEngine):
        """One number of many, behind finite ones, where `max` would not see it."""

        def score(self, groups: Sequence[Sequence[Row]]) -> Iterator[tuple[int, GroupScore]]:
            for number, found in super().score(groups):
                assert isinstance(found, tuple)
                last = number == len(groups) - 1
                yield number, (*found[:-1], RowScore(NAN if last else found[-1].logprob, False))

    forward = Forward(model)
    refusal = Probe(forward).refusal(lambda: Overflowing(forward, 128))
    assert refusal == "log-likelihoods are not finite, though those of plain rows are"


def test_differences_to_what_is_not_finite() -> None:
    assert _largest([[0.0, 1.0]], [[0.0, NAN]]) == INF
    assert _largest([[0.0, 1.0]], [[0.5, 1.0]]) == 0.5
    assert _largest([[-INF, 1.0]], [[-INF, 1.5]]) == 0.5
    assert _largest([[-INF, 1.0]], [[-1.0, 1.5]]) == INF
    assert _noise([[0.0, 1.0]], [[0.5, NAN]]) == 0.5


@pytest.mark.parametrize("value", [NAN, INF, -INF, None, "x", 10**400])
def test_answers_of_any_backend_are_looked_at(value: Any) -> None:
    for answer in (
        Scores((-1.0, value), (1, 1), (False, False)),
        Rolled(value, 3),
        Picked(0, "letter_logprobs", "A", (-1.0, None, value)),
    ):
        if value is None and isinstance(answer, Picked):
            continue
        assert is_not_finite(finite_only(answer))


def test_answers_that_are_finite_stay_as_they_are() -> None:
    for answer in (
        Scores((-1.0, 0.0), (1, 1), (False, False)),
        Rolled(-3.5, 3),
        Picked(0, "letter_logprobs", "A", (-1.0, None)),
        Text("nan", "stop", 1),
        Failure("other", "why"),
    ):
        assert finite_only(answer) is answer
    assert math.isnan(summed([INF, -INF])) and math.isnan(summed([-1.0, NAN]))
    assert summed([-1.0, -INF]) == -INF
