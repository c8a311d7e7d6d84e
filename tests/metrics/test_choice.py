"""Choosing among scored continuations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenbin.errors import TaskError
from tenbin.metrics import Choices, choice
from tenbin.metrics.judge import judge
from tenbin.metrics.registry import find_metric

from .samples import make_choice_prompt, make_scores, make_task


def choices(*texts: str, logprobs: Sequence[float], tokens: Sequence[int] = ()) -> Choices:
    counts = tuple(tokens) or tuple(1 for _ in texts)
    return Choices(texts, tuple(logprobs), counts, tuple(False for _ in texts))


def test_the_first_wins_a_tie() -> None:
    assert choice.acc(choices("a", "b", "c", logprobs=(-2, -1, -1))) == 1


def test_length_rules_differ() -> None:
    # Per character: -6/6 = -1, -4/2 = -2, -5/3 = -1.67. Per byte: -1, -4/6 = -.67, -5/9 = -.56.
    # Per token: -6/2 = -3, -4/1 = -4, -5/5 = -1.
    scored = choices("apples", "林檎", "りんご", logprobs=(-6, -4, -5), tokens=(2, 1, 5))
    assert choice.acc(scored) == 1
    assert choice.acc_norm(scored) == 0
    assert choice.acc_norm_bytes(scored) == 2
    assert choice.acc_norm_tokens(scored) == 2


def test_an_empty_choice_counts_as_one_unit() -> None:
    scored = choices("", "ab", logprobs=(-1, -3), tokens=(0, 2))
    # -1/1 against -3/2.
    assert choice.acc_norm(scored) == 0
    assert choice.acc_norm_bytes(scored) == 0
    assert choice.acc_norm_tokens(scored) == 0


def test_pmi_rewards_what_the_prompt_raises() -> None:
    scored = choices("common", "rare", logprobs=(-1, -2))
    assert choice.acc_pmi(replace(scored, unconditional=(-1, -9))) == 1


def test_gold_bits_per_byte() -> None:
    # 6 bits over the 6 bytes of 林檎; 4 bits over the 4 bytes of `pear`.
    scored = choices(
        "林檎", "pear", "", logprobs=(-6 * math.log(2), -4 * math.log(2), -math.log(2))
    )
    assert choice.gold_bits_per_byte(scored, (0,)) == pytest.approx(1.0)
    assert choice.gold_bits_per_byte(scored, (2,)) == pytest.approx(1.0), "no bytes count as one"
    better = replace(scored, logprobs=(-12 * math.log(2), -math.log(2), -1.0))
    assert choice.gold_bits_per_byte(better, (0, 1)) == pytest.approx(0.25), "the cheaper of two"


def test_gold_bits_per_byte_have_no_highest_value() -> None:
    found = find_metric("gold_bits_per_byte", "choice")
    assert found.top is None and not found.higher_is_better
    (outcome,) = judge(
        make_task("choice", ["gold_bits_per_byte"]),
        make_choice_prompt("a", "b", gold=1),
        make_scores(-1.0, -3 * math.log(2)),
    )
    assert outcome.value == pytest.approx(3.0) and outcome.answer == "a"


def test_mismatches_are_refused() -> None:
    with pytest.raises(TaskError, match="2 choices but 3 scores"):
        judge(make_task("choice", ["acc"]), make_choice_prompt("a", "b"), make_scores(-1, -2, -3))
    with pytest.raises(TaskError, match="2 choices but 1 scores"):
        judge(
            make_task("choice", ["acc_pmi"]),
            make_choice_prompt("a", "b"),
            make_scores(-1, -2),
            make_scores(-1),
        )
    with pytest.raises(TaskError, match="no choices"):
        judge(make_task("choice", ["acc"]), make_choice_prompt(), make_scores(-1))


@given(st.lists(st.tuples(st.text(max_size=5), st.integers(-50, -1)), min_size=1, max_size=5))
def test_the_chosen_one_is_never_beaten(pairs: list[tuple[str, int]]) -> None:
    logprobs = [float(logprob) for _, logprob in pairs]
    scored = choices(*(text for text, _ in pairs), logprobs=logprobs)
    assert pairs[choice.acc(scored)][1] == max(logprob for _, logprob in pairs)
    uniform = choices(*("xx" for _ in pairs), logprobs=logprobs)
    assert choice.acc_norm(uniform) == choice.acc(uniform)
