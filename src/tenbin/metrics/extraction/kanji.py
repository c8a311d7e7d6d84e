"""The values of numbers in Chinese characters, and of East Asian scales."""

from __future__ import annotations

MOST_DIGITS = 30
"""Longer rows of digits count nothing."""

DIGITS = {mark: at for at, mark in enumerate("〇一二三四五六七八九")} | {
    "零": 0,
    "两": 2,
    "兩": 2,
}
KANJI_SCALES = {
    "十": 10,
    "百": 100,
    "千": 1000,
    "万": 10**4,
    "萬": 10**4,
    "億": 10**8,
    "亿": 10**8,
}
KOREAN_SCALES = {"십": 10, "백": 100, "천": 1000, "만": 10**4, "억": 10**8, "조": 10**12}
SCALES = {**KANJI_SCALES, "兆": 10**12, **KOREAN_SCALES}
KANJI = "".join([*DIGITS, *KANJI_SCALES])


def kanji_value(written: str) -> int | None:
    """The value of 三百二十, 二〇二四 or 12; None where the characters make no number."""
    if len(written) > MOST_DIGITS:
        return None
    if written.isdigit():
        return int(written)
    if all(mark in DIGITS for mark in written):
        return int("".join(str(DIGITS[mark]) for mark in written))
    total = section = digit = 0
    for mark in written:
        if mark in DIGITS:
            digit = DIGITS[mark]
        elif (scale := KANJI_SCALES[mark]) < 10**4:
            section += max(digit, 1) * scale
            digit = 0
        else:
            total += max(section + digit, 1) * scale
            section = digit = 0
    return total + section + digit
