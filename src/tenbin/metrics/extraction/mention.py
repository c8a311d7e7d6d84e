"""Find the choice letters that stand on their own in a text.

Letters that are words, names or parts of words are left out. Whether a mention is the answer is
decided by `stance`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache

from tenbin.metrics.extraction.alternation import LATIN
from tenbin.metrics.extraction.phrases import LANGUAGES, Pool, load_phrases, native_letters

SPACE = " \\t\u00a0\u202f\u3000"
CLOSERS = SPACE + r")\]」』】》〉»\"'}>"
OPENERS = SPACE + r"(\[「『【《〈«\"'{<"
_PAIRS = ("()", "[]", "「」", "『』", "【】", "《》", "〈〉", "«»", '""', "''")

# Matched where they stand in the whole text: a copy of the rest for each letter is quadratic.
_OPENING = re.compile(f"[{OPENERS}]*")
_ALONE = re.compile(rf"[{CLOSERS}.。]*(?:\n|$)")
_CLOSED = re.compile(r"[.):](?=\s|[^\x00-\x7f]|$)|\)")
_REMARKED = re.compile(rf"[{CLOSERS}]*\(")

# With a full stop these Arabic letters are titles (doctor, professor) and label no option.
_TITLES = "أد"


@dataclass(frozen=True, slots=True)
class Mention:
    """A letter, or a list of letters, at a place in the text."""

    letters: tuple[str, ...]
    start: int
    end: int
    weak: bool = False
    """A lower-case or native letter: a choice only where the text announces it."""
    line_start: bool = False
    """Nothing but brackets and quotes stands before it on its line."""
    label: bool = False
    """Written as a label: in brackets, alone on a line, or before `.`, `)`, `:` or a remark."""

    @property
    def letter(self) -> str | None:
        """The one letter that is named; None for a list of different letters."""
        return self.letters[0] if len(set(self.letters)) == 1 else None


@dataclass(frozen=True, slots=True)
class _Patterns:
    letter: re.Pattern[str]
    name_before: re.Pattern[str]
    name_after: re.Pattern[str]
    article: re.Pattern[str]
    quoted: re.Pattern[str]
    """After an article too: A "happy" person."""
    option_noun: re.Pattern[str]
    noun_before: re.Pattern[str]
    announced: re.Pattern[str] | None
    """None for the ten languages, whose words before letters make no names of each other's."""


@cache
def _compile(count: int, native: tuple[str, ...], pool: Pool) -> _Patterns:
    phrases = load_phrases(pool)
    upper, lower = f"A-{chr(64 + count)}", f"a-{chr(96 + count)}"
    # No choice: inside a word, an elision (D'après), an abbreviation (D.C.), a grade (A+), Q&A.
    letter = (
        rf"(?<![{LATIN}0-9&°@#\\_])(?<![{LATIN}][.'])(?<![{LATIN}0-9]-)[{upper}{lower}]"
        rf"(?![{LATIN}0-9+#%&_@])(?!'[{LATIN}])(?!-[{LATIN}0-9])(?!\.[{LATIN}](?![{LATIN}]))"
    )
    if native:
        around = rf"[{LATIN}0-9\u0370-\u03ff\u0590-\u06ff\u0e00-\u0e7f]"
        # The Arabic comma and question mark lie in the same block but end words.
        letter += rf"|(?<!{around})[{''.join(native)}](?!(?![،؛؟]){around})"
    noun = f"{phrases.fillers}|{phrases.headings}"
    return _Patterns(
        letter=re.compile(letter),
        # A name stands on one line: after "A. a country", "B" opens the next option.
        name_before=re.compile(rf"{phrases.names_before}[{SPACE}]*\Z", re.IGNORECASE),
        name_after=re.compile(rf"\s?{phrases.names_after}", re.IGNORECASE),
        article=re.compile(rf"[ \t]+(?!{phrases.followers})[{LATIN}]", re.IGNORECASE),
        quoted=re.compile(
            rf'[ \t]+"[^"\n]{{1,30}}"[ \t]+(?!{phrases.followers})[{LATIN}]', re.IGNORECASE
        ),
        option_noun=re.compile(noun, re.IGNORECASE),
        noun_before=re.compile(rf"(?:{noun}) $", re.IGNORECASE),
        announced=None
        if pool == LANGUAGES
        else re.compile(rf"{phrases.announcements}[{OPENERS}]*$", re.IGNORECASE),
    )


def find_mentions(text: str, language: str, count: int, pool: Pool) -> list[Mention]:
    """Find every letter that could be a choice, in order.

    Args:
        text: A simplified answer.
        language: The prompt's language; the letters of its own script count too, if it has any.
        count: How many choices there are.
        pool: The languages whose phrases are looked for.
    """
    native = native_letters(language)[:count]
    mentions = []
    # Where the first word of the line at hand may begin: nothing but brackets and quotes before it.
    line_end, opened = -1, 0
    for match in _compile(count, native, pool).letter.finditer(text):
        start, end = match.span()
        if start > line_end:
            line = text.rfind("\n", max(line_end, 0), start) + 1
            found = text.find("\n", start)
            line_end = len(text) if found < 0 else found
            opened = _OPENING.match(text, line, line_end).end()  # type: ignore[union-attr]
        before, after = text[max(0, start - 20) : start], text[end : end + 40]
        if not _is_word(before, match[0], after, count, native, pool):
            is_native = match[0] in native
            place = native.index(match[0]) if is_native else ord(match[0].upper()) - ord("A")
            letter = chr(65 + place)
            mentions.append(_describe(text, start, letter, is_native, start <= opened))
    return mentions


def _describe(text: str, start: int, letter: str, is_native: bool, line_start: bool) -> Mention:
    end = start + 1
    bracketed = start > 0 and text[start - 1 : start] + text[end : end + 1] in _PAIRS
    alone = line_start and _ALONE.match(text, end) is not None
    closed = _CLOSED.match(text, end) is not None
    # "D (the others …)" on its line: a choice with a remark on it.
    remarked = line_start and _REMARKED.match(text, end) is not None
    # A lower-case or native letter is a choice by its form alone only as an option's label.
    firm = text[start] == letter or alone or (bracketed and (line_start or is_native))
    firm = firm or (line_start and text[end : end + 1] == ")")
    firm = firm or (line_start and is_native and closed and text[start] not in _TITLES)
    return Mention(
        letters=(letter,),
        start=start,
        end=end,
        weak=not firm,
        line_start=line_start,
        label=bracketed or alone or closed or remarked,
    )


@lru_cache(maxsize=4096)
def _is_word(
    before: str, letter: str, after: str, count: int, native: tuple[str, ...], pool: Pool
) -> bool:
    """Whether the letter is a name or an article between these words."""
    patterns = _compile(count, native, pool)
    # "Volím B. Možnosti …" is no initial, and "amo an B" no English article.
    announced = patterns.announced is not None and patterns.announced.search(before) is not None
    if (not announced and patterns.name_before.search(before)) or patterns.name_after.match(after):
        return True
    if letter == "A" and patterns.noun_before.search(before):
        return False
    if letter in "aA":
        opens = not before.strip() or before.endswith("\n")
        return patterns.article.match(after) is not None or (
            opens and patterns.quoted.match(after) is not None
        )
    if letter.islower():
        return re.match(rf"\s*[{LATIN}]", after) is not None
    # The initial of a name: a capitalised word before it and another after it.
    if announced:
        return False
    surname = re.match(r"\.\s[A-ZÀ-Ý][a-zß-ÿ]", after)
    forename = re.search(rf"(?:^|\s)([A-ZÀ-Ý][a-zß-ÿ]+)[{SPACE}]\Z", before)
    return bool(surname and forename and not patterns.option_noun.fullmatch(forename[1]))
