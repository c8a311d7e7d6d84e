r"""Find the numbers that are written in a text, and what each is worth.

Digits of every script are read, with the thousands and decimal marks of the text's language, a
sign, a fraction, and a scale after it ("1.5千", "2 million", "3万5千"). Chinese and Japanese
numerals (二十三) are found too, and marked as words: "一" is more often a word than a number.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from tenbin.metrics.extraction.kanji import (
    KANJI,
    KANJI_SCALES,
    KOREAN_SCALES,
    MOST_DIGITS,
    SCALES,
    kanji_value,
)
from tenbin.metrics.extraction.number_words import number_words, words_expression

GROUP = "\ue001"
"""A thousands mark that can be nothing else, such as a thin space."""

_COMMA_DECIMALS = frozenset({"de", "es", "fr", "it", "pt", "ru", "vi", "id", "tr", "nl", "pl"})
"""Languages that write 1.500,25 or 1 500,25."""
_BLANK_GROUPS = frozenset({"de", "es", "fr", "it", "pt", "ru", "pl"})
"""Languages in which a plain blank may part thousands."""
_LISTS_BY_COMMA = frozenset({"ja", "zh", "ko"})
"""Languages in which 3,5 is two numbers and not three and a half."""
_ENGLISH = re.compile(r"\b(?:the|is|are|so|has|have|each|and|answer|total|of)\b", re.IGNORECASE)

_COUNTERS = (
    "個人円本枚冊匹頭台回つ歳才分日年点羽杯足着軒箱袋杯件组組名"
    "个元只岁天块页次张米条辆棵支件位斤瓶颗时間时小キメグドペユポケヶか"
)


@dataclass(frozen=True, slots=True)
class Numeral:
    """A number in a text."""

    value: Fraction
    start: int
    end: int
    word: bool = False
    """Whether it is written with words or characters instead of digits."""


def canonical(value: Fraction) -> str:
    """A number in one form: "12", "-0.5", and "1/3" where decimals would not end."""
    if value.denominator == 1:
        return str(value.numerator)
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if rest > 1:
        return f"{value.numerator}/{value.denominator}"
    places = 0
    while (value * 10**places).denominator > 1:
        places += 1
    digits = str(abs(int(value * 10**places))).rjust(places + 1, "0")
    return f"{'-' if value < 0 else ''}{digits[:-places]}.{digits[-places:]}"


_PLAIN = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+|\d+/0*[1-9]\d*)")


def plain_number(written: str) -> Fraction | None:
    """The value of a number in one of the forms of `canonical`, thousands commas left out.

    None for any other text, and for one of more digits than are ever read.
    """
    text = written.strip().replace(",", "").replace("−", "-").rstrip(".")
    if len(text) > 2 * MOST_DIGITS or not _PLAIN.fullmatch(text):
        return None
    return Fraction(text)


def reads_commas_as_decimals(text: str, language: str) -> bool:
    """Whether 1,5 is one and a half: by the language, unless the text is English."""
    if language not in _COMMA_DECIMALS:
        return False
    return len({word.lower() for word in _ENGLISH.findall(text)}) < 2


def find_numerals(text: str, language: str) -> list[Numeral]:
    """All numbers of a text in plain form (see `numbers.plain_form`), in order."""
    comma = reads_commas_as_decimals(text, language)
    pattern = _pattern(language if comma or language not in _COMMA_DECIMALS else "en")
    found: list[Numeral] = []
    at = 0
    while match := pattern.search(text, at):
        numerals = _numerals(match, comma, language)
        found += numerals
        at = match.end()
    return _joined_scales(text, _with_words(text, found, language))


@lru_cache
def _pattern(language: str) -> re.Pattern[str]:
    words = number_words(language)
    digits = rf"\d+(?:[.,{GROUP}]\d+)*"
    digits = rf"\d{{1,3}}(?: \d{{3}})* 000(?!\d)|{digits}"
    if language in _BLANK_GROUPS:
        digits = rf"\d{{1,3}}(?: \d{{3}})+(?!\d)(?:,\d+)?|{digits}"
    scale = words_expression(words.scales) if words.scales else "(?!)"
    # 2천만, 3百万: a scale of scales.
    again = "[万萬億亿兆만억조]" if words.scales.keys() & SCALES.keys() else "(?!)"
    scale_before = words_expression(words.scales_before) if words.scales_before else "(?!)"
    return re.compile(
        rf"(?P<before>{scale_before}\s*)?"
        rf"(?P<minus>{words['minus']}\s*)?"
        r"(?P<sign>(?<![A-Za-zÀ-ӿ\d.)\]%])[-+](?=[\d.])|(?<==)\s*-\s*(?=\d)|(?<== )-\s*(?=\d))?"
        rf"(?:(?P<whole>\d+) (?P<part>\d+/\d+)(?![\d/])|(?P<fraction>\d+\s?/\s?\d+)(?![\d/])"
        rf"|(?P<core>{digits}|(?<![\w.,])\.\d+))"
        r"(?:(?:\s?[×x]\s?10\s?\^\s?|e\+?(?=\d))(?P<power>\d{1,2})(?!\w)|(?P<thousand>(?-i:[kK]))(?!\w)"
        r"|(?P<mega>(?-i:M))(?!\w)"
        rf"|(?P<scale>\s?{scale}(?P<again>{again})?))?",
        re.IGNORECASE,
    )


def _numerals(match: re.Match[str], comma: bool, language: str) -> list[Numeral]:
    if sum(map(str.isdigit, match[0])) > MOST_DIGITS:
        return []
    written = match["core"] or match["fraction"] or match["part"]
    start = match.start("core" if match["core"] else "fraction" if match["fraction"] else "whole")
    if match["core"]:
        values = _core(written, comma, language)
    else:
        top, bottom = (int(part) for part in written.split("/"))
        if bottom == 0:
            return []
        values = [Fraction(top, bottom) + int(match["whole"] or 0)]
    if not values:
        return []
    before = match.string[max(0, match.start("minus") - 3) : match.start("minus")].rstrip()
    is_operator = before[-1:].isdigit()
    negative = (match["sign"] or "").strip() == "-" or (bool(match["minus"]) and not is_operator)
    factor = _factor(match, language)
    begin = match.start() if len(values) == 1 else start
    numerals = [Numeral(value, begin, match.end()) for value in values]
    last = numerals[-1].value * factor
    numerals[-1] = Numeral(last, numerals[-1].start, match.end())
    if negative:
        numerals[0] = Numeral(-numerals[0].value, numerals[0].start, numerals[0].end)
    return numerals


def _factor(match: re.Match[str], language: str) -> int:
    words = number_words(language)
    if match["power"]:
        return int(10 ** int(match["power"]))
    if match["thousand"]:
        return 1000
    if match["mega"]:
        return 10**6
    factor = 1
    if match["scale"]:
        again = match["again"] or ""
        factor = _value_of(match["scale"].removesuffix(again), words.scales)
        factor *= SCALES.get(again, 1)
    if match["before"]:
        factor = _value_of(match["before"], words.scales_before)
    return factor


def _value_of(written: str, table: Mapping[str, int]) -> int:
    plain = " ".join(written.lower().split())
    if plain in table:
        return table[plain]
    # Arabic is written with and without hamza.
    bare = _without_hamza(plain)
    return next((v for word, v in table.items() if _without_hamza(word.lower()) == bare), 1)


def _without_hamza(word: str) -> str:
    return re.sub("[أإآ]", "ا", word).replace("ة", "ه").replace("ى", "ي")


def _core(written: str, comma: bool, language: str) -> list[Fraction]:
    """The value of digits with marks; several where the marks part numbers, none for a date."""
    text = written.replace(" ", "").replace(GROUP, "")
    if text.startswith("."):
        return [Fraction("0" + text)]
    marks = re.findall("[.,]", text)
    groups = re.split("[.,]", text)
    if not marks:
        return [Fraction(text)]
    if len(set(marks)) == 2:
        head, tail = text.rsplit(marks[-1], 1)
        if marks.count(marks[-1]) == 1 and _are_groups(re.split("[.,]", head)):
            return [Fraction(re.sub("[.,]", "", head) + "." + tail)]
        return [Fraction(group) for group in groups]
    if len(marks) > 1:
        if _are_groups(groups):
            return [Fraction("".join(groups))]
        return [] if marks[0] == "." else [Fraction(group) for group in groups]
    left, right = groups
    decimal = "," if comma else "."
    grouped = _are_groups(groups)
    if marks[0] == decimal:
        # Nobody writes a decimal 1,500: where commas are decimals, this is a thousand in English.
        foreign = comma and grouped and right.endswith("0")
        return [Fraction(left + right)] if foreign else [Fraction(f"{left}.{right}")]
    if grouped:
        return [Fraction(left + right)]
    if marks[0] == "," and (language in _LISTS_BY_COMMA or len(right) > 2):
        return [Fraction(left), Fraction(right)]
    return [Fraction(f"{left}.{right}")]


def _are_groups(groups: list[str]) -> bool:
    """Whether digits are parted as thousands are: by threes, or by twos before the last three."""
    first, *rest = groups
    if not rest or len(rest[-1]) != 3 or not 1 <= len(first) <= 3 or first.startswith("0"):
        return False
    return all(len(group) == 3 for group in rest) or (
        len(first) <= 2 and all(len(group) == 2 for group in rest[:-1])
    )


def _joined_scales(text: str, found: list[Numeral]) -> list[Numeral]:
    """Join 3万 and 5千 to 35,000, where each scale is below the one before."""
    joined: list[Numeral] = []
    for numeral in found:
        last = joined[-1] if joined else None
        if last and _goes_on(text, last, numeral):
            joined[-1] = Numeral(last.value + numeral.value, last.start, numeral.end, last.word)
        else:
            joined.append(numeral)
    return joined


def _goes_on(text: str, last: Numeral, numeral: Numeral) -> bool:
    mark, between = text[last.end - 1], text[last.end : numeral.start]
    if mark not in SCALES or numeral.value >= SCALES[mark]:
        return False
    # Korean puts a blank after each scale.
    return between == "" or (between == " " and mark in KOREAN_SCALES)


_KANJI_NUMBER = re.compile(rf"[{KANJI}]+")
_PARTS = re.compile(rf"(?P<below>\d+|[{KANJI}]+)\s*(?:分之|分の|분의)\s*(?P<above>\d+|[{KANJI}]+)")


def _with_words(text: str, found: list[Numeral], language: str) -> list[Numeral]:
    """The numerals with those in Chinese characters, and fractions such as 二分之一."""
    if language not in ("ja", "zh", "ko"):
        return found
    parts: list[Numeral] = []
    for match in _PARTS.finditer(text):
        below, above = (kanji_value(match[part]) for part in ("below", "above"))
        if above is None or not below:
            continue
        percent = match["below"] == "百"
        value = Fraction(above) if percent else Fraction(above, below)
        parts.append(Numeral(value, match.start(), match.end()))
    inside = {at for numeral in parts for at in range(numeral.start, numeral.end)}
    taken = parts + [numeral for numeral in found if numeral.start not in inside]
    covered = {at for numeral in taken for at in range(numeral.start, numeral.end)}
    ends = {numeral.end for numeral in taken}
    for match in _KANJI_NUMBER.finditer(text) if language != "ko" else ():
        if match.start() in covered or match.end() - 1 in covered:
            continue
        if match.start() in ends and match[0][0] in KANJI_SCALES:
            continue
        value_read = kanji_value(match[0])
        if value_read is not None:
            sign = _minus_before(language).search(text[max(0, match.start() - 6) : match.start()])
            value = Fraction(-value_read if sign else value_read)
            taken.append(Numeral(value, match.start(), match.end(), word=True))
    return sorted(taken, key=lambda numeral: numeral.start)


@lru_cache
def _minus_before(language: str) -> re.Pattern[str]:
    return re.compile(rf"{number_words(language)['minus']}\s*$", re.IGNORECASE)


def is_clear(text: str, numeral: Numeral, *, announced: bool) -> bool:
    """Whether characters that may be a number are one here.

    Several with a scale among them (四十五) are; a single one (三) where a counter or the end of
    the sentence follows, and not inside a word (一緒).
    """
    if not numeral.word:
        return True
    written = text[numeral.start : numeral.end]
    if len(written) > 1 and any(mark in "十百千万萬億亿" for mark in written[:-1] + written[1:]):
        return written[0] not in "千万萬" or len(written) > 2
    rest = text[numeral.end : numeral.end + 12]
    ending = r"\s*(?:$|[。．.!！,，、)）]|です|でした|である|だ[。]?$|となり|になり|ある)"
    counter = rf"(?:[{_COUNTERS}]{{1,3}})"
    if announced:
        return re.match(rf"{counter}?{ending}|{counter}", rest) is not None
    before = text[max(0, numeral.start - 4) : numeral.start]
    if re.search("(?:剩|剩下|还有|還有|共|等于|得到|残りは|残り|合計|全部で)$", before):
        return re.match(rf"{counter}[^\s。,，、]{{0,6}}{ending}", rest) is not None
    return re.match(counter + ending, rest) is not None


def ascii_digits(text: str) -> str:
    """The text with the digits of every script as 0 to 9."""
    if text.isascii():
        return text
    return re.sub(r"\d", lambda match: str(unicodedata.decimal(match[0])), text)
