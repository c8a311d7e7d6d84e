"""Weigh what the words around a mention say of it.

Knows announcements, denials, suppositions and lists. Does not choose among mentions: `flexible`
does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache

from tenbin.metrics.extraction.clean import BOXED
from tenbin.metrics.extraction.mention import CLOSERS, OPENERS, SPACE, Mention
from tenbin.metrics.extraction.phrases import SENTENCE_END, load_phrases

_CLAUSE_END = SENTENCE_END + r",;،؛、"
_WINDOW = 200


class Standing(IntEnum):
    """How a mention stands; the higher, the more it is an answer."""

    DENIED = 0
    """Called wrong, supposed or asked about: never an answer."""
    DISCUSSED = 1
    """Described, not chosen."""
    BARE = 2
    """Named without a word on it."""
    APPROVED = 3
    """Called right."""
    ANNOUNCED = 4
    """Called the answer, before or after the letter."""


@dataclass(frozen=True, slots=True)
class _Patterns:
    announced: re.Pattern[str]
    reviewed: re.Pattern[str]
    doubted: re.Pattern[str]
    supposed: re.Pattern[str]
    denied_before: re.Pattern[str]
    denied_after: re.Pattern[str]
    confirmed: re.Pattern[str]
    approved: re.Pattern[str]
    discussed: re.Pattern[str]
    joined: re.Pattern[str]
    asked: re.Pattern[str]


@lru_cache
def _compile() -> _Patterns:
    phrases = load_phrases()
    gap = rf"(?:{phrases.fillers}|[{OPENERS}\n:,、=→–—-]|\.\.\.|…)*"
    near = rf"(?:{phrases.fillers}|[{OPENERS}])*"
    heading = rf"{phrases.headings}\s*(?:[:=→–—\-\n)\]」』】\"'])"
    quoted = r"(?:\([^()\n]{0,80}\)|「[^」\n]{0,80}」|\"[^\"\n]{0,80}\")?"
    after = rf"[{CLOSERS}]*{quoted}[{SPACE}]*(?:{phrases.fillers}[{SPACE}]*)?"
    option_text = rf"(?:[.:)]\s*[^{SENTENCE_END}A-H]{{0,80}}?)?"
    mark = rf"[{CLOSERS}]*(?:[.:–—-]|=>|→)[{SPACE}]*"
    mark_end = r"\s*(?:$|[.,。、;!:\n–—(-])"
    lists = rf"[\s,、]*(?:{phrases.connectors}|[/・&+])[\s,]*|\s*(?P<comma>[,،])\s*|\s*、\s*"

    def pattern(source: str) -> re.Pattern[str]:
        return re.compile(source, re.IGNORECASE)

    return _Patterns(
        announced=pattern(rf"(?:{phrases.announcements}|{heading}|{BOXED}){gap}$"),
        reviewed=pattern(rf"{phrases.reviews}[{OPENERS}\n:.]*$"),
        doubted=pattern(rf"{phrases.doubts}\s*(?:that|que|rằng|ว่า|أن)?\s*$"),
        supposed=pattern(phrases.conditions),
        denied_before=pattern(rf"{phrases.denials_before}{near}$"),
        denied_after=pattern(
            rf"{after}{phrases.denials_after}|{mark}{phrases.wrong_marks}{mark_end}"
        ),
        confirmed=pattern(rf"{after}{option_text}{phrases.confirmations}"),
        approved=pattern(rf"{after}{phrases.approvals}|{mark}{phrases.right_marks}{mark_end}"),
        discussed=pattern(rf"{after}{phrases.discussions}"),
        joined=pattern(rf"[{CLOSERS}]*{quoted}(?:{lists}){near}"),
        asked=pattern(rf"[{CLOSERS}]*[^{_CLAUSE_END}]{{0,4}}[?？؟]"),
    )


def weigh(text: str, mention: Mention, previous_end: int) -> Standing:
    """Say how a mention stands.

    Args:
        text: A simplified answer.
        mention: A letter or a list in it.
        previous_end: Where the mention before it ends; a supposition reaches no further.
    """
    patterns = _compile()
    window_start = max(0, mention.start - _WINDOW)
    before = text[window_start : mention.start]
    after = text[mention.end : mention.end + _WINDOW]
    if after.startswith(")") and not before.endswith("("):
        # "B) Not all …": the bracket ends a label, and what follows is the option's own text.
        after = ":" + after[1:]
    announced = _find_announcement(before)
    lead = before[: announced.start()] if announced else before
    own = lead[max(0, previous_end - window_start) :]
    clause = re.split(f"[{_CLAUSE_END}]", own)[-1]
    if patterns.denied_after.match(after) or patterns.asked.match(after):
        return Standing.DENIED
    if patterns.denied_before.search(before) or patterns.supposed.search(clause):
        return Standing.DENIED
    if announced:
        return Standing.DENIED if patterns.doubted.search(lead) else Standing.ANNOUNCED
    if patterns.confirmed.match(after):
        return Standing.ANNOUNCED
    if patterns.approved.match(after):
        return Standing.APPROVED
    return Standing.DISCUSSED if patterns.discussed.match(after) else Standing.BARE


def is_announced(text: str, mention: Mention) -> bool:
    """Whether a phrase right before the mention announces an answer."""
    before = text[max(0, mention.start - _WINDOW) : mention.start]
    return _find_announcement(before) is not None


def _find_announcement(before: str) -> re.Match[str] | None:
    # "Let's look at each option:" ends like a heading and announces a review, not an answer.
    patterns = _compile()
    return None if patterns.reviewed.search(before) else patterns.announced.search(before)


def join_lists(text: str, mentions: list[Mention]) -> list[Mention]:
    """Join letters that are listed together (A, B and C) into one mention."""
    joined: list[Mention] = []
    for place, mention in enumerate(mentions):
        previous = joined[-1] if joined else None
        if previous and _are_listed(text, previous, mentions[place:]):
            letters = previous.letters + mention.letters
            joined[-1] = Mention(letters, previous.start, mention.end)
        else:
            joined.append(mention)
    return joined


def _are_listed(text: str, first: Mention, rest: list[Mention]) -> bool:
    patterns = _compile()
    joint = patterns.joined.fullmatch(text, first.end, rest[0].start)
    if joint is None or patterns.announced.search(joint[0]):
        return False
    if joint["comma"] is None or len(first.letters) > 1:
        return True
    # "The answer is A, B and C are wrong": a comma alone does not tie an answer to what is said
    # of the others, so look at the words after the last of them.
    end = rest[0].end
    for mention in rest[1:]:
        if not patterns.joined.fullmatch(text, end, mention.start):
            break
        end = mention.end
    before = text[max(0, first.start - _WINDOW) : first.start]
    after = text[end : end + _WINDOW]
    predicates = (patterns.denied_after, patterns.confirmed, patterns.approved, patterns.discussed)
    settled = is_announced(text, first) or patterns.denied_before.search(before)
    return not (settled and any(predicate.match(after) for predicate in predicates))
