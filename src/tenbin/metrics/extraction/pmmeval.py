"""Read answers as P-MMEval's own program reads them, faults included, for comparable scores.

A letter is looked for in JSON, then behind the answer phrase of the language, and at last anywhere:
`A` is then read out of almost any text with a capital A, also where the question offers three
options and D is read. Every step takes a time that is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_LETTERS = "ABCD"
_PHRASES: Mapping[str, tuple[str, ...]] = {
    "ar": ("الجواب هو",),
    "en": ("the answer is", "The answer is"),
    "es": ("La respuesta es",),
    "fr": ("La réponse est", "la réponse est"),
    "ja": ("答えは",),
    "ko": ("답변은",),
    "pt": ("A resposta é",),
    "th": ("คำตอบคือ",),
    "vi": ("Câu trả lời là", "câu trả lời là"),
    "zh": ("答案是",),
}
"""Language → its answer phrases; of several the first that occurs is used."""

_OBJECT = re.compile(r'\{\s*"answer"\s*:\s*"?([ABCD])'), re.compile(r"\}")
"""How an object in double quotes begins, and where it ends: nothing is asked of what is between."""
_QUOTED_OBJECT = (
    re.compile(r"""\{\s*['"]answer['"]\s*:\s*['"]([ABCD])"""),
    re.compile(r"""['"]\s*\}"""),
)
_PAIRS = (
    re.compile(r'"answer"\s*:\s*"?([ABCD])"?'),
    re.compile(r"""['"]answer['"]\s*:\s*['"]([ABCD])['"]"""),
)
"""The same without braces."""

_NUMBER = re.compile(r"[+-]?(?=\.?[0-9])(?:[1-9]\d{0,2}(?:,\d{3})*(?!\d)|\d*)(?:\.\d*)?")


def read_pmmeval_letter(text: str, language: str, guess: bool = True) -> str | None:
    """Read a letter from A to D.

    Args:
        text: What the model wrote.
        language: Its answer phrases are looked for.
        guess: Whether to take the first of A, B, C and D, in this order, that stands anywhere in a
            text that states no answer.

    Returns:
        The letter in upper case, or None.
    """
    for begin, end in (_OBJECT, _QUOTED_OBJECT):
        letter = _last_object(text, begin, end)
        if letter is not None:
            return letter
    for pair in _PAIRS:
        found = pair.findall(text)
        if found:
            return str(found[-1])
    letter = _after_phrase(text, language)
    if letter is None and guess:
        return next((one for one in _LETTERS if one in text), None)
    return letter


def _last_object(text: str, begin: re.Pattern[str], end: re.Pattern[str]) -> str | None:
    """The letter of the last object; what another one begins with before its end is part of it."""
    letter = None
    at = 0
    while (begun := begin.search(text, at)) and (ended := end.search(text, begun.end())):
        letter = begun[1]
        at = ended.end()
    return letter


def _after_phrase(text: str, language: str) -> str | None:
    """The first character after the last answer phrase, if it is a letter of an option."""
    for phrase in _PHRASES.get(language, ()):
        if phrase in text and phrase != text:
            letter = text.rpartition(phrase)[2].strip()[:1].upper()
            return letter if letter and letter in _LETTERS else None
    return None


def read_pmmeval_number(text: str) -> str | None:
    """Read the last number of a text, without marks of thousands and a plus sign.

    Only numbers that begin with an ASCII digit are seen; `5.0` is not `5`, and a comma that does
    not part groups of three digits ends a number.
    """
    found = _NUMBER.findall(text)
    return str(found[-1]).replace(",", "").replace("+", "").strip(".") if found else None
