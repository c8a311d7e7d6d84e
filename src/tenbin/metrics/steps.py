"""The steps of filters, each with its options.

Knows lm-eval's names for the steps it shares with it; does not know tasks, metrics or gold answers.
A step of `STEPS` takes a text and gives a text, or None once nothing can be read. One of
`SELECTORS` chooses among the answers drawn to one document, None among them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tenbin.errors import TaskError
from tenbin.metrics.extraction import MOST_CHOICES, read_flexible, read_strict
from tenbin.metrics.matching import find_all, substitute
from tenbin.metrics.options import COUNT, PATTERN, TEXT, TEXT_OR_NULL, WHOLE_NUMBER, Option

Answers = Sequence[str | None]

LETTERS_KNOWN = {"choice_letter_strict": 26, "choice_letter_flexible": MOST_CHOICES}
"""The steps that read letters of options, and how many letters each knows."""
ENDS = r"^\s+|\s+$"
"""White space at both ends."""
SAY_COUNT = (
    "say it in the task file: `num_choices: 5`, or `doc_to_choice`, which says it by document"
)
"""The remedy where nothing says how many options there are."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What a step may need to know of the question."""

    language: str
    choices: int | None
    """How many options it offers, where that is known."""

    @property
    def known_choices(self) -> int:
        """How many options it offers; an error where that is not known."""
        if self.choices is None:
            raise TaskError("nothing says how many options the question offers", SAY_COUNT)
        return self.choices


def _read_strict(text: str, setting: Setting) -> str | None:
    return read_strict(text, setting.known_choices)


def _read_flexible(text: str, setting: Setting) -> str | None:
    return read_flexible(text, setting.language, setting.known_choices)


def _match_regex(
    text: str,
    setting: Setting,
    *,
    regex_pattern: str = r"#### (\-?[0-9\.\,]+)",
    group_select: int = 0,
    fallback: str | None = "[invalid]",
) -> str | None:
    # lm-eval marks a miss by a text; here a miss is None, so that it counts as unread.
    found = find_all(regex_pattern, text)
    if not -len(found) <= group_select < len(found):
        return None if fallback == "[invalid]" else fallback
    match = found[group_select]
    if isinstance(match, tuple):
        match = next((group for group in match if group), "")
    return str(match).strip()


def _lowercase(text: str, setting: Setting) -> str:
    return text.lower()


def _uppercase(text: str, setting: Setting) -> str:
    return text.upper()


def _remove_whitespace(text: str, setting: Setting) -> str:
    # lm-eval's filter of this name strips the left end only.
    return text.lstrip()


def _strip(text: str, setting: Setting, *, characters: str | None = None) -> str:
    return text.strip(characters)


def _substitute(
    text: str, setting: Setting, *, regex_pattern: str = ENDS, replacement: str = ""
) -> str:
    if regex_pattern == ENDS and not replacement:
        # The same, and linear on long rows of white space.
        return text.strip()
    return substitute(regex_pattern, replacement, text)


STEPS: dict[str, tuple[Callable[..., str | None], Mapping[str, Option]]] = {
    "choice_letter_strict": (_read_strict, {}),
    "choice_letter_flexible": (_read_flexible, {}),
    "regex": (
        _match_regex,
        {"regex_pattern": PATTERN, "group_select": WHOLE_NUMBER, "fallback": TEXT_OR_NULL},
    ),
    "lowercase": (_lowercase, {}),
    "uppercase": (_uppercase, {}),
    "remove_whitespace": (_remove_whitespace, {}),
    "strip": (_strip, {"characters": TEXT_OR_NULL}),
    "regex_strip": (_substitute, {"regex_pattern": PATTERN, "replacement": TEXT}),
}


def _take_first(answers: Answers) -> Answers:
    return answers[:1]


def _take_first_k(answers: Answers, *, k: int) -> Answers:
    return answers[:k]


def _majority_vote(answers: Answers) -> Answers:
    # As in lm-eval an unread answer has a vote, and of equally frequent answers the first wins.
    return [Counter(answers).most_common(1)[0][0]]


SELECTORS: dict[str, tuple[Callable[..., Answers], Mapping[str, Option]]] = {
    "take_first": (_take_first, {}),
    "take_first_k": (_take_first_k, {"k": COUNT}),
    "majority_vote": (_majority_vote, {}),
}

FILTERS = (*STEPS, *SELECTORS)
"""The names of all steps."""
