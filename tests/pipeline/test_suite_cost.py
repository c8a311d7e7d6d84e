"""Estimated tokens, and a machine's rate."""

from __future__ import annotations

from tenbin.pipeline.suite_cost import estimate_tokens, measure_rate, suite_costs


def test_scripts_without_spaces_have_shorter_tokens() -> None:
    assert estimate_tokens("four words of text!!") == 5
    assert estimate_tokens("日本語の文") == 3
    assert estimate_tokens("สวัสดี") == 4
    assert estimate_tokens("") == 0


def test_costs_follow_examples_and_documents() -> None:
    few = {one.id: one for one in suite_costs("jp_stable", None)}
    none = {one.id: one for one in suite_costs("jp_stable", "zero-shot-chat")}
    assert few["jnli-1.1-0.2"].documents == 2434
    assert few["jnli-1.1-0.2"].prompt_tokens > none["jnli-1.1-0.2"].prompt_tokens
    assert few["jsquad-1.1-0.2"].answer_tokens == 128 * few["jsquad-1.1-0.2"].documents
    assert few["jnli-1.1-0.2"].answer_tokens == 0
    assert few["jnli-1.1-0.2"].groups == ("jp_stable_4",)


def test_equal_prompts_are_counted_once() -> None:
    costs = {one.id: one for one in suite_costs("pmmeval", None)}
    read, published = (costs[f"pmmeval_xnli_ja-{v}-p-mmeval"] for v in ("1.1", "1.0"))
    assert read.documents == published.documents == 120
    assert read.prompt_tokens > 0 == published.prompt_tokens == published.answer_tokens


def test_the_rate_is_measured() -> None:
    rate = measure_rate()
    assert rate.flops > 1e6 and "measured now" in rate.how
