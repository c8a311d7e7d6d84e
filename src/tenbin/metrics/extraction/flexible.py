r"""Read a choice as a human reader would, by the phrases of the prompt's language.

The order is: the strict form; the last letter that a phrase announces ("the answer is B",
"Bが正解"); the last letter that is called right; a letter that opens the answer as a label
("B. Because …"); the last letter that stands alone. What is denied, supposed, asked about or
described is passed over.

What a base model invents after its answer (a next question) is not read, and what is said after a
retraction ("no, wait", "いや、") is read before the rest: see `sections`.

None, for no choice given, when the model never stopped thinking, when it refuses, when it lists
several letters and settles on none, and when it only repeats the options.

Besides A-D the letters of Arabic (أ ب ج د), Thai (ก ข ค ง), Greek and Hebrew exams are read for
prompts of these languages, where they are announced or written as labels. Numbers and circled
numbers (①) are not: the prompt names letters, and a number may count anything.
"""

from __future__ import annotations

import re
from functools import cache

from tenbin.metrics.extraction.clean import simplify, strip_thinking
from tenbin.metrics.extraction.mention import Mention, find_mentions
from tenbin.metrics.extraction.phrases import Pool, load_phrases, pool_of, without_affixes
from tenbin.metrics.extraction.sections import parts_to_read
from tenbin.metrics.extraction.stance import Stance, is_announced, join_lists, stance_of
from tenbin.metrics.extraction.strict import read_strict
from tenbin.metrics.repetition import shorten

_KEPT = 512
_KEPT_PERIODS = 12


def read_flexible(text: str, language: str, count: int) -> str | None:
    """Read the choice an answer gives.

    Args:
        text: What the model wrote.
        language: The prompt's language, as the task calls it.
        count: How many choices there are, at most `MOST_CHOICES`.

    Returns:
        The letter, or None when no choice is given.
    """
    strict = read_strict(text, count)
    if strict is not None:
        return strict
    spoken = strip_thinking(text)
    if spoken is None:
        return None
    plain = shorten_repetition(simplify(spoken))
    pool = pool_of(language, plain)
    for part in parts_to_read(without_affixes(plain, pool), pool):
        letter = read_part(part, language, count, pool)
        if letter is not None:
            return letter
    return None


def shorten_repetition(plain: str) -> str:
    """A simplified answer, less most of what it only repeats; it reads as the whole does.

    The words that a letter is read by stand within 200 characters of it, and of labels no more than
    the first eight count: enough of a repetition stays at both of its ends.
    """
    return shorten(plain, _KEPT, _KEPT_PERIODS)


def read_part(plain: str, language: str, count: int, pool: Pool) -> str | None:
    """The choice that one part of a simplified answer gives."""
    mentions = mentions_with_stance(plain, language, count, pool)
    for stance in (Stance.ANNOUNCED, Stance.APPROVED):
        chosen = [place for place, (_, found) in enumerate(mentions) if found is stance]
        if chosen:
            return _settle(mentions[chosen[-1] :])
    opening = _opening_label(plain, mentions)
    if opening is not None:
        return opening
    if _refusal(pool).search(plain):
        return None
    bare = _without_enumeration(_without_review(plain, mentions, count, pool), count)
    return bare[-1].letter if bare else None


def mentions_with_stance(
    plain: str, language: str, count: int, pool: Pool
) -> list[tuple[Mention, Stance]]:
    """Every letter that is named in a simplified answer, with its stance."""
    found = find_mentions(plain, language, count, pool)
    firm = [mention for mention in found if not mention.weak or is_announced(plain, mention, pool)]
    named: list[tuple[Mention, Stance]] = []
    previous_end = 0
    for mention in join_lists(plain, firm, pool):
        named.append((mention, stance_of(plain, mention, previous_end, pool)))
        previous_end = mention.end
    return named


def _settle(rest: list[tuple[Mention, Stance]]) -> str | None:
    """The announced letter; for an announced list, the one a later bare letter settles on."""
    announced = rest[0][0]
    if announced.letter is not None:
        return announced.letter
    later = [mention for mention, stance in rest[1:] if stance is not Stance.DENIED]
    return later[-1].letter if later else None


def _opening_label(plain: str, mentions: list[tuple[Mention, Stance]]) -> str | None:
    """The letter that opens the answer as a label, unless other lines open with other letters."""
    if not mentions:
        return None
    first, stance = mentions[0]
    # "B. contradictory" alone: the option's own text denies nothing.
    alone = len(mentions) == 1 and plain[first.end : first.end + 1] in (".", ")", ":")
    if first.start > 2 or not (first.label and first.line_start):
        return None
    if stance is not Stance.BARE and not alone:
        return None
    labels = {mention.letter for mention, _ in mentions if mention.line_start and mention.label}
    inline = [mention.letter for mention, _ in mentions if mention.label]
    return first.letter if labels == {first.letter} and inline[:2] != ["A", "B"] else None


def _without_review(
    plain: str, mentions: list[tuple[Mention, Stance]], count: int, pool: Pool
) -> list[Mention]:
    """The bare letters, less the labels of options that are gone through line by line.

    Answers are often cut off on the way ("Let's look at each option. A. … B. …"): the last label
    reached is then no choice. A review of all options that calls all but one wrong leaves that one.
    """
    bare = [mention for mention, stance in mentions if stance is Stance.BARE]
    # By place, since a text may hold thousands of letters.
    heads = {mention.start: mention for mention in bare if mention.line_start and mention.label}
    reviewed = {mention.letter for mention, _ in mentions if mention.line_start and mention.label}
    if len(reviewed) == count and len(heads) == 1:
        return bare
    review = _review(pool).search(plain)
    if review is None and [head.letter for head in list(heads.values())[:2]] != ["A", "B"]:
        return bare
    begun = review.end() if review else 0
    # What an option's own text names is no choice either: "B. Neither A nor C".
    lines = [(at, _line_end(plain, at)) for at in heads if at >= begun]
    kept: list[Mention] = []
    for mention in bare:
        while lines and lines[0][1] < mention.start:
            lines.pop(0)
        if not (lines and lines[0][0] <= mention.start):
            kept.append(mention)
    return kept


def _line_end(plain: str, start: int) -> int:
    end = plain.find("\n", start)
    return len(plain) if end < 0 else end


def _without_enumeration(bare: list[Mention], count: int) -> list[Mention]:
    """Drop what only repeats the options: a list of all letters, or labels A, B, C … in a row."""
    kept = [mention for mention in bare if len(set(mention.letters)) < max(count, 3)]
    labels = [mention for mention in kept if mention.label]
    if [label.letter for label in labels[:3]] == ["A", "B", "C"]:
        run = {chr(65 + place): label for place, label in enumerate(labels[:count])}
        listed = {label.start for letter, label in run.items() if label.letter == letter}
        kept = [mention for mention in kept if mention.start not in listed]
    return kept


@cache
def _review(pool: Pool) -> re.Pattern[str]:
    return re.compile(load_phrases(pool).reviews, re.IGNORECASE)


@cache
def _refusal(pool: Pool) -> re.Pattern[str]:
    return re.compile(load_phrases(pool).refusals, re.IGNORECASE)
