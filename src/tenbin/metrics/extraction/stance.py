"""The stance of a mention: what the words around a letter say of it.

Announcements, denials, suppositions and lists are recognised here; `flexible` chooses among the
mentions.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum
from functools import cache, lru_cache
from itertools import pairwise

from tenbin.metrics.extraction.alternation import SENTENCE_END
from tenbin.metrics.extraction.clean import BOXED
from tenbin.metrics.extraction.mention import CLOSERS, OPENERS, SPACE, Mention
from tenbin.metrics.extraction.phrases import Pool, load_phrases, repeatable_fillers

_CLAUSE_END = SENTENCE_END + r",;،؛、"
_WINDOW = 200
_MOST_SPACES = 128
_SPACES = re.compile(rf"[{SPACE}]{{{_MOST_SPACES},}}")


class Stance(IntEnum):
    """What a text says of a mention; the higher, the more it is an answer."""

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
    marked_wrong: re.Pattern[str]
    """"B. Wrong": of an announced letter, this is the option's own text."""
    confirmed: re.Pattern[str]
    approved: re.Pattern[str]
    discussed: re.Pattern[str]
    joined: re.Pattern[str]
    asked: re.Pattern[str]


@cache
def _compile(pool: Pool) -> _Patterns:
    phrases = load_phrases(pool)
    between = rf"{OPENERS}\n:,、=→–—-"
    gap = rf"(?:{repeatable_fillers(between, pool)}|[{between}]|\.\.\.|…)*"
    near = rf"(?:{repeatable_fillers(OPENERS, pool)}|[{OPENERS}])*"
    # Without a mark behind it, a heading has its line for itself: "最后的结论" may end an option.
    heading = (
        rf"(?:{phrases.headings}\s*[:=→–—\-)\]」』】\"']"
        rf"|(?:^|\n)[^\n.:、。,]{{0,12}}?{phrases.headings}[{SPACE}]*\n)"
    )
    quoted = r"(?:\([^()\n]{0,80}\)|「[^」\n]{0,80}」|\"[^\"\n]{0,80}\")"
    after = rf"[{CLOSERS}]*(?:{quoted}[{SPACE}]*)?(?:{phrases.fillers}[{SPACE}]*)?"
    option_text = rf"(?:[.:)]\s*[^{SENTENCE_END}A-H]{{0,80}}?)?"
    mark = rf"[{CLOSERS}]*(?:[.:–—-]|=>|→)[{SPACE}]*"
    mark_end = r"\s*(?:$|[.,。、;!:\n–—(।۔።։။-])"
    # Greek asks with a semicolon.
    question_marks = "?？؟፧;" if pool[0] == "el" else "?？؟፧"
    lists = rf"[\s,、]*(?:{phrases.connectors}|[/・&+])[\s,]*|\s*(?P<comma>[,،])\s*|\s*、\s*"

    def pattern(source: str) -> re.Pattern[str]:
        return re.compile(source, re.IGNORECASE)

    return _Patterns(
        announced=pattern(rf"(?:{phrases.announcements}|{heading}|{BOXED}){gap}$"),
        reviewed=pattern(rf"{phrases.reviews}[{OPENERS}\n:.]*$"),
        doubted=pattern(rf"{phrases.doubts}\s*(?:that|que|rằng|ว่า|أن)?\s*$"),
        supposed=pattern(phrases.conditions),
        denied_before=pattern(rf"{phrases.denials_before}{near}$"),
        denied_after=pattern(rf"{after}{phrases.denials_after}"),
        marked_wrong=pattern(rf"{mark}{phrases.wrong_marks}{mark_end}"),
        confirmed=pattern(rf"{after}{option_text}{phrases.confirmations}"),
        approved=pattern(rf"{after}{phrases.approvals}|{mark}{phrases.right_marks}{mark_end}"),
        discussed=pattern(rf"{after}{phrases.discussions}"),
        joined=pattern(rf"[{CLOSERS}]*{quoted}?(?:{lists}){near}"),
        asked=pattern(rf"[{CLOSERS}]*[^{_CLAUSE_END}]{{0,4}}[{question_marks}]"),
    )


def stance_of(text: str, mention: Mention, previous_end: int, pool: Pool) -> Stance:
    """The stance that a text takes towards a mention.

    Args:
        text: A simplified answer.
        mention: A letter or a list in it.
        previous_end: Where the mention before it ends; a supposition reaches no further.
        pool: The languages whose phrases are looked for.
    """
    window_start = max(0, mention.start - _WINDOW)
    before = text[window_start : mention.start]
    after = text[mention.end : mention.end + _WINDOW]
    return _stance_in_window(before, after, max(0, previous_end - window_start), pool)


_OWN_TEXT = re.compile(r"\)[ \u3000]+(?:はい|(?![はがもをのにでとや])[ぁ-ゖァ-ヺ㐀-鿿가-힣「『])")
"""「(D) 誤った意識」: of a letter in brackets, what is said of it follows without a blank."""


# Models that repeat themselves write the same words around hundreds of letters.
@lru_cache(maxsize=4096)
def _stance_in_window(before: str, after: str, previous_end: int, pool: Pool) -> Stance:
    patterns = _compile(pool)
    if after.startswith(")") and (not before.endswith("(") or _OWN_TEXT.match(after)):
        # "B) Not all …": the bracket ends a label, and what follows is the option's own text.
        after = ":" + after[1:]
    announced = _find_announcement(before, pool)
    lead = before[: announced.start()] if announced else before
    clause = re.split(f"[{_CLAUSE_END}]", lead[previous_end:])[-1]
    if patterns.denied_after.match(after) or patterns.asked.match(after):
        return Stance.DENIED
    if not announced and patterns.marked_wrong.match(after):
        return Stance.DENIED
    if patterns.denied_before.search(before) or patterns.supposed.search(clause):
        return Stance.DENIED
    if announced:
        return Stance.DENIED if patterns.doubted.search(lead) else Stance.ANNOUNCED
    if patterns.confirmed.match(after):
        return Stance.ANNOUNCED
    if patterns.approved.match(after):
        return Stance.APPROVED
    return Stance.DISCUSSED if patterns.discussed.match(after) else Stance.BARE


def is_announced(text: str, mention: Mention, pool: Pool) -> bool:
    """Whether a phrase right before the mention announces an answer.

    A letter of another script (ب, ค) is announced by what follows it too; of Latin small letters,
    several are words ("lleva a la correcta solución").
    """
    before = text[max(0, mention.start - _WINDOW) : mention.start]
    if _find_announcement(before, pool) is not None:
        return True
    after = text[mention.end : mention.end + _WINDOW]
    return not text[mention.start : mention.end].isascii() and _is_called_right(after, pool)


@lru_cache(maxsize=4096)
def _is_called_right(after: str, pool: Pool) -> bool:
    patterns = _compile(pool)
    return any(found.match(after) for found in (patterns.confirmed, patterns.approved))


@lru_cache(maxsize=4096)
def _find_announcement(before: str, pool: Pool) -> re.Match[str] | None:
    # "Let's look at each option:" ends like a heading and announces a review, not an answer.
    patterns = _compile(pool)
    return None if patterns.reviewed.search(before) else patterns.announced.search(before)


def join_lists(text: str, mentions: list[Mention], pool: Pool) -> list[Mention]:
    """Join letters that are listed together (A, B and C) into one mention."""
    joints = [_joint(text[one.end : other.start], pool) for one, other in pairwise(mentions)]
    ends = _list_ends(mentions, joints)
    joined: list[Mention] = []
    run: list[Mention] = []
    for place, mention in enumerate(mentions):
        if run and _are_listed(text, run, joints[place - 1], ends[place], pool):
            run.append(mention)
        else:
            joined += _as_one(run)
            run = [mention]
    return joined + _as_one(run)


def _as_one(run: list[Mention]) -> list[Mention]:
    if len(run) < 2:
        return run
    letters = tuple(letter for mention in run for letter in mention.letters)
    return [Mention(letters, run[0].start, run[-1].end)]


class _Joint(IntEnum):
    """What stands between two letters."""

    NONE = 0
    """Something else than the words of a list."""
    COMMA = 1
    """A comma alone."""
    FIRM = 2
    """A word or a sign that only lists have."""
    ANNOUNCING = 3
    """The words of a list, which announce an answer too."""


@lru_cache(maxsize=4096)
def _joint(between: str, pool: Pool) -> _Joint:
    patterns = _compile(pool)
    # Hundreds of spaces mean what a hundred mean, but are tried in every division.
    joint = patterns.joined.fullmatch(_SPACES.sub(lambda found: found[0][:_MOST_SPACES], between))
    if joint is None:
        return _Joint.NONE
    if patterns.announced.search(between):
        return _Joint.ANNOUNCING
    return _Joint.FIRM if joint["comma"] is None else _Joint.COMMA


def _list_ends(mentions: list[Mention], joints: list[_Joint]) -> list[int]:
    """Where the list ends that each mention would be a part of."""
    ends = [mention.end for mention in mentions]
    for place in range(len(joints) - 1, -1, -1):
        if joints[place] is not _Joint.NONE:
            ends[place] = ends[place + 1]
    return ends


def _are_listed(text: str, run: list[Mention], joint: _Joint, end: int, pool: Pool) -> bool:
    """Whether the next letter goes on with a list.

    Args:
        text: A simplified answer.
        run: The letters before it, one or a list of several.
        joint: What stands between them and it.
        end: Where the list ends that it would be a part of.
        pool: The languages whose phrases are looked for.
    """
    if joint in (_Joint.NONE, _Joint.ANNOUNCING):
        return False
    if joint is _Joint.FIRM or len(run) > 1:
        return True
    # "The answer is A, B and C are wrong": a comma alone does not tie an answer to what is said
    # of the others, so look at the words after the last of them.
    start = run[0].start
    return _are_tied(text[max(0, start - _WINDOW) : start], text[end : end + _WINDOW], pool)


@lru_cache(maxsize=4096)
def _are_tied(before: str, after: str, pool: Pool) -> bool:
    patterns = _compile(pool)
    predicates = (
        *(patterns.denied_after, patterns.marked_wrong),
        *(patterns.confirmed, patterns.approved, patterns.discussed),
    )
    settled = _find_announcement(before, pool) is not None or patterns.denied_before.search(before)
    return not (settled and any(predicate.match(after) for predicate in predicates))
