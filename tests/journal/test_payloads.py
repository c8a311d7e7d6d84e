"""Stored answers: exact round trips, and nothing but what was written is ever an answer."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenbin.errors import BackendError
from tenbin.journal.payloads import PayloadError, decode, encode
from tenbin.records import Response, Rolled, Scores, Text
from tests.journal.test_store import ANSWERS

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=8,
)
NAMES = ("logprobs", "token_counts", "greedy", "truncated", "usage", "text", "finish", "logprob")


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=list(ANSWERS))
def test_round_trip(answer: Response) -> None:
    assert decode(*encode(answer)) == answer


def test_half_a_surrogate_pair_survives() -> None:
    answer = Text("half of \ud83d", "end", 1)
    kind, payload = encode(answer)
    payload.encode()
    assert decode(kind, payload) == answer


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_not_finite_is_not_kept(number: float) -> None:
    with pytest.raises(BackendError, match="not finite"):
        encode(Rolled(number, 1))
    with pytest.raises(PayloadError):
        decode("rolled", json.dumps({"logprob": number, "token_count": 1}))


def changed(answer: Response, **values: Any) -> str:
    return json.dumps({**json.loads(encode(answer)[1]), **values})


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("a", {"logprobs": [-1.0]}),
        ("a", {"logprobs": [-1.0, "x"]}),
        ("a", {"logprobs": [-1.0, None]}),
        ("a", {"logprobs": [-1.0, True]}),
        ("a", {"token_counts": [1, -2]}),
        ("a", {"token_counts": [1, 2.0]}),
        ("a", {"greedy": [1, 0]}),
        ("a", {"truncated": None}),
        ("a", {"truncated": 10**30}),
        ("a", {"another": 1}),
        ("a", {"usage": {"prompt_tokens": 1}}),
        ("a", {"usage": {"prompt_tokens": 1, "completion_tokens": "x"}}),
        ("a", {"usage": []}),
        ("b", {"text": None}),
        ("b", {"finish": "maybe"}),
        ("b", {"finish": []}),
        ("b", {"thinking_end": "never"}),
        ("c", {"logprob": "-1"}),
        ("c", {"logprob": [-1.0]}),
        ("d", {"way": "guessed"}),
        ("d", {"choice": -1}),
        ("d", {"labels": "AB"}),
    ],
)
def test_a_field_of_another_type_is_no_answer(name: str, values: dict[str, Any]) -> None:
    kind, _ = encode(ANSWERS[name])
    decode(kind, changed(ANSWERS[name]))
    with pytest.raises(PayloadError):
        decode(kind, changed(ANSWERS[name], **values))


@pytest.mark.parametrize("payload", ["", "{", "[]", "null", "1", "{}", "[" * 100_000, "1" * 5_000])
@pytest.mark.parametrize("kind", ["scores", "text", "", "failure", "__class__"])
def test_what_is_no_answer(kind: str, payload: str) -> None:
    with pytest.raises(PayloadError):
        decode(kind, payload)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["scores", "text", "rolled", "picked", "other"]),
    st.dictionaries(st.sampled_from(NAMES), JSON),
)
def test_any_json_is_an_answer_of_its_kind_or_an_error(kind: str, values: dict[str, Any]) -> None:
    try:
        answer = decode(kind, json.dumps(values))
    except PayloadError:
        return
    assert decode(*encode(answer)) == answer
    if isinstance(answer, Scores):
        assert all(math.isfinite(value) for value in answer.logprobs)
