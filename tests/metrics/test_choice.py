"""Choosing among scored continuations."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenbin.errors import TaskError
from tenbin.metrics import choice

from .samples import make_choice_prompt, make_prompt, make_scores


def test_the_first_wins_a_tie() -> None:
    prompt = make_choice_prompt("a", "b", "c")
    assert choice.acc(prompt, make_scores(-2, -1, -1)) == 1


def test_length_rules_differ() -> None:
    # Per character: -6/6 = -1, -4/2 = -2, -5/3 = -1.67. Per byte: -1, -4/6 = -.67, -5/9 = -.56.
    # Per token: -6/2 = -3, -4/1 = -4, -5/5 = -1.
    prompt = make_choice_prompt("apples", "林檎", "りんご")
    scores = make_scores(-6, -4, -5, tokens=(2, 1, 5))
    assert choice.acc(prompt, scores) == 1
    assert choice.acc_norm(prompt, scores) == 0
    assert choice.acc_norm_bytes(prompt, scores) == 2
    assert choice.acc_norm_tokens(prompt, scores) == 2


def test_an_empty_choice_counts_as_one_unit() -> None:
    prompt = make_choice_prompt("", "ab")
    scores = make_scores(-1, -3, tokens=(0, 2))
    # -1/1 against -3/2.
    assert choice.acc_norm(prompt, scores) == 0
    assert choice.acc_norm_bytes(prompt, scores) == 0
    assert choice.acc_norm_tokens(prompt, scores) == 0


def test_pmi_rewards_what_the_prompt_raises() -> None:
    prompt = make_choice_prompt("common", "rare")
    assert choice.acc_pmi(prompt, make_scores(-1, -2), make_scores(-1, -9)) == 1


def test_mismatches_are_refused() -> None:
    with pytest.raises(TaskError, match="2 choices but 3 scores"):
        choice.acc(make_choice_prompt("a", "b"), make_scores(-1, -2, -3))
    with pytest.raises(TaskError, match="no choices"):
        choice.acc(make_prompt(), make_scores(-1))


@given(st.lists(st.tuples(st.text(max_size=5), st.integers(-50, -1)), min_size=1, max_size=5))
def test_the_chosen_one_is_never_beaten(pairs: list[tuple[str, int]]) -> None:
    prompt = make_choice_prompt(*(text for text, _ in pairs))
    scores = make_scores(*(float(logprob) for _, logprob in pairs))
    assert pairs[choice.acc(prompt, scores)][1] == max(logprob for _, logprob in pairs)
    uniform = make_choice_prompt(*("xx" for _ in pairs))
    assert choice.acc_norm(uniform, scores) == choice.acc(uniform, scores)
