"""Which tokens of a text stand behind a border, worked out by hand."""

from __future__ import annotations

from tenbin.backends.openai.prompt_tokens import PromptToken, scored_tokens


def token(text: str, logprob: float) -> PromptToken:
    return PromptToken(text, logprob, False)


def test_tokens_that_only_begin_a_character_belong_to_it() -> None:
    """vLLM writes a character of several tokens behind the last of them, and nothing before."""
    tokens = [
        PromptToken("", None, False),
        token("は", -1.0),
        token("", -2.0),
        token("", -3.0),
        token("東", -4.0),
        token("京", -5.0),
    ]
    found = scored_tokens(tokens, "は東京", 1)
    assert [one.logprob for one in found] == [-2.0, -3.0, -4.0, -5.0]
    assert [one.logprob for one in scored_tokens(tokens, "は東京", 2)] == [-5.0]


def test_a_token_across_the_border_is_scored() -> None:
    tokens = [
        PromptToken("a", None, False),
        token(" b", -1.0),
        token(" cd", -2.0),
        token("e", -3.0),
    ]
    assert [one.logprob for one in scored_tokens(tokens, "a b cde", 4)] == [-2.0, -3.0]
