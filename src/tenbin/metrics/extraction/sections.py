"""Say which part of an answer counts: up to an invented next question, after a retraction."""

from __future__ import annotations

import re
from functools import cache

from tenbin.metrics.extraction.alternation import SENTENCE_END
from tenbin.metrics.extraction.phrases import LANGUAGES, Pool, load_phrases


@cache
def _next_question(pool: Pool) -> re.Pattern[str]:
    # Two rows of spaces with nothing between would be tried in every division.
    opening = rf"^[ \t]*{load_phrases(pool).questions}[ \t]*(?:\d+[ \t]*)?:"
    return re.compile(opening, re.IGNORECASE | re.MULTILINE)


@cache
def _retraction(pool: Pool) -> re.Pattern[str]:
    # A retraction opens a clause: "B. 不对, …" takes B back, "B不对, …" only calls it wrong.
    # In a row of line ends the last one is the boundary: from each of them to the next word would
    # be quadratic.
    marks = SENTENCE_END.replace(r"\n", "") + ",;:、،؛…–—-"
    boundary = rf"(?:^\s*|[{marks}]\s*|\n[^\S\n]*)"
    return re.compile(boundary + load_phrases(pool).retractions, re.IGNORECASE)


def parts_to_read(plain: str, pool: Pool = LANGUAGES) -> list[str]:
    """The parts of a simplified answer in the order in which a choice is looked for.

    A base model that has answered goes on with a question of its own making, and the answer to that
    one does not count. When the answer itself opens with a question, the model repeats its prompt,
    and nothing is cut. Within what is left, the words after the last retraction come first. Where
    these parts give no choice, the whole is read.

    Args:
        plain: A simplified answer.
        pool: The languages whose phrases are looked for.
    """
    own = plain
    following = _next_question(pool).search(plain)
    if following and plain[: following.start()].strip():
        own = plain[: following.start()]
    parts = [own[end:] for end in _retraction_ends(own, pool)] + [own, plain]
    return list(dict.fromkeys(parts))


def _retraction_ends(own: str, pool: Pool) -> list[int]:
    # What opens the answer takes nothing back: 「いいえ、違います」 is an answer.
    ends = [
        match.end()
        for match in _retraction(pool).finditer(own)
        if own[: match.start()].strip(" \t\n\"'")
    ]
    return ends[-1:]
