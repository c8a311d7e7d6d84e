"""Instructions about how an answer begins and ends, and about its division into two answers."""

from __future__ import annotations

import re

from tenbin.metrics.instructions.base import TEXT, Kwargs, Rules, instruction, without_quotes

_JAPANESE_END = re.compile("[。！？]")
_CLOSING_QUOTES = "」』"
_EMPHASIS = "*_`"
_QUOTATION_MARKS = {
    "ja": ("「」",),
    "en": ('""',),
    "es": ('""',),
    "fr": ('""', "''", "«»"),
}
_DIVIDER = "******"


@instruction("combination:two_responses", "ja en es fr")
def two_responses(text: str, kwargs: Kwargs, rules: Rules) -> bool:
    """Two different answers divided by six asterisks."""
    pieces = text.split(_DIVIDER)
    if not all(piece.strip() for piece in pieces[1:-1]):
        return False
    answers = [piece.strip() for piece in pieces if piece.strip()]
    return len(answers) == 2 and answers[0] != answers[1]


@instruction("combination:repeat_prompt", "ja en es fr", prompt_to_repeat=TEXT)
def repeat_prompt(text: str, kwargs: Kwargs, rules: Rules) -> bool:
    """The answer begins with a given request; case is ignored except in Japanese."""
    answer, request = text.strip(), kwargs["prompt_to_repeat"].strip()
    if rules.language == "ja":
        return answer.startswith(request)
    return answer.lower().startswith(request.lower())


@instruction("startend:end_checker", "ja en es fr", end_phrase=TEXT)
def end_checker(text: str, kwargs: Kwargs, rules: Rules) -> bool:
    """The answer ends with a phrase; case is ignored except in Japanese."""
    phrase = kwargs["end_phrase"].strip()
    if rules.language == "ja":
        answer = text.strip()
        if rules.edition != "original":
            answer = _without_emphasis(answer)
        return answer.strip(_CLOSING_QUOTES).endswith(phrase.strip(_CLOSING_QUOTES))
    answer = text.strip()
    if rules.language == "es":
        answer = answer.removesuffix(".")
    answer, phrase = answer.strip('"').lower(), phrase.lower()
    if rules.language == "fr" and rules.corrected:
        answer, phrase = (one.replace("\u2019", "'") for one in (answer, phrase))
    return answer.endswith(phrase)


def _without_emphasis(text: str) -> str:
    end = len(text)
    while end and (text[end - 1] in _EMPHASIS or text[end - 1].isspace()):
        end -= 1
    return text[:end]


@instruction("startend:quotation", "ja en es fr")
def quotation(text: str, kwargs: Kwargs, rules: Rules) -> bool:
    """The whole answer stands between quotation marks."""
    answer = text.strip()
    if len(answer) < 2:
        return False
    return answer[0] + answer[-1] in _QUOTATION_MARKS[rules.language]


@instruction("startend:sentence_unified_end", "ja", ending=TEXT)
def sentence_unified_end(text: str, kwargs: Kwargs, rules: Rules) -> bool:
    """Every sentence outside quotations ends with the same word."""
    pieces = _JAPANESE_END.split(without_quotes(text))
    if rules.corrected:
        pieces = [piece.strip() for piece in pieces]
    return all(piece.endswith(kwargs["ending"]) for piece in pieces if piece)
