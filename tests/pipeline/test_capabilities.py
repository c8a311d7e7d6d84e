"""A model that names choices, through a whole run: metrics, results, report and comparison."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import tenbin
from tenbin.backends.base import NONE_KNOWN, BaseBackend, Capabilities
from tenbin.errors import ConfigError, ResultError
from tenbin.records import Failure, Picked, Request, Response, Score, Usage
from tenbin.report.html.sample import prompt_parts
from tenbin.results.schema import Sample


class Namer(BaseBackend):
    """Names the second choice, says nothing readable every third time, and fails once."""

    fingerprint = "namer-1"
    capabilities = Capabilities(likelihoods=False)

    def describe(self) -> Mapping[str, Any]:
        return {"engine": {"name": "namer", "mode": "toy", "version": "1"}, "model": "namer"}

    def run(
        self, requests: Iterable[Request], known: Container[str] = NONE_KNOWN
    ) -> Iterator[tuple[str, Response]]:
        for at, request in enumerate(requests):
            assert isinstance(request, Score)
            assert request.prompt
            yield request.key, self._named(at, request)

    def _named(self, at: int, request: Score) -> Response:
        letters = tuple("ABCDEFGH"[: len(request.continuations)])
        if at == 3:
            return Failure("server", "HTTP 500")
        if at % 3 == 2:
            return Picked(None, "generated", "who knows", usage=Usage(5, 2), labels=letters)
        return Picked(1, "letter_logprobs", "B", (None, -1.0), Usage(5, 1), letters)


def evaluate(model: Any, **given: Any) -> tenbin.Run:
    return tenbin.evaluate(
        **{"model": model, "tasks": ["jnli"], "sample_data": True, "no_cache": True, **given}
    )


@pytest.fixture(scope="module")
def named() -> tenbin.Run:
    return evaluate(Namer(), limit=9, extra_metrics=["acc_pmi"])


def test_metrics_of_likelihoods_are_left_out_with_a_word(named: tenbin.Run) -> None:
    details = named.document["details"]["jnli-1.3-0.2"]
    assert list(details) == ["acc", "balanced_acc", "mcc", "macro_f1", "no_choice"]
    assert {detail["n"] for detail in details.values()} == {8}
    assert {detail["failed"] for detail in details.values()} == {1}
    warnings = " ".join(named.document["warnings"])
    assert "acc_norm is left out of jnli-1.3-0.2: it needs likelihoods of texts" in warnings
    assert "acc_pmi is left out" in warnings
    assert "hold 37% of the first token" in warnings


def test_unreadable_answers_are_wrong_and_counted(named: tenbin.Run) -> None:
    assert named.document["results"]["jnli-1.3-0.2"]["no_choice"] == pytest.approx(3 / 8)
    golds = [s["gold"] for s in named.samples if s["picked_by"] == "letter_logprobs"]
    right = sum(gold == 1 for gold in golds)
    assert named.document["results"]["jnli-1.3-0.2"]["acc"] == pytest.approx(right / 8)


def test_results_say_how_choices_were_made(named: tenbin.Run) -> None:
    assert named.document["configs"]["jnli-1.3-0.2"]["choices_by"] == (
        "letter (read out of generated text) and letter (first-token log-probabilities)"
    )
    assert named.document["prompts"]["jnli-1.3-0.2"]["letter_share"] == pytest.approx(0.3679, 1e-3)
    assert named.document["usage"]["completion_tokens"] == 5 * 1 + 3 * 2
    first = next(iter(named.samples))
    assert (first["picked_by"], first["labels"][1], first["generated"]) == (
        "letter_logprobs", "B", "B",
    )  # fmt: skip
    assert json.dumps(named.document, allow_nan=False)


def test_named_and_weighed_choices_are_not_compared_unasked(tmp_path: Path) -> None:
    for name, model in (("named", Namer()), ("weighed", "scripted")):
        evaluate(model, limit=3, output_path=str(tmp_path / f"{name}.json"))
    runs = [str(tmp_path / "named.json"), str(tmp_path / "weighed.json")]
    with pytest.raises(ResultError, match="decoding: choices by letter"):
        tenbin.compare(*runs)
    assert tenbin.compare(*runs, allow=["decoding"]).table()


def test_a_task_without_other_metrics_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"plain_text_en: .* need likelihoods of texts"):
        evaluate(Namer(), tasks=["plain_text_en"])


def test_a_conversation_is_shown_turn_by_turn() -> None:
    turns = [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "1+1?"},
        {"role": "assistant", "content": "2"},
        {"role": "user", "content": "2+2?"},
    ]
    sample = Sample.from_json({"prompt": json.dumps(turns, separators=(",", ":"))})
    assert prompt_parts(sample, None) == (
        [("d", "[system]\ns"), ("e", "[user]\n1+1?\n\n[assistant]\n2"), ("q", "[user]\n2+2?")],
        True,
    )
    broken = Sample.from_json({"prompt": '[{"role": 1'})
    assert prompt_parts(broken, None) == ([("q", '[{"role": 1')], True)
