"""Instructions about Japanese scripts."""

from __future__ import annotations

import re
import unicodedata

from tenbin.metrics.instructions.base import COUNT, RELATION, Kwargs, Rules, compare, instruction

_KANJI = re.compile("[\u4e00-\u9faf]+")
_KANJI_AND_MARK = re.compile("[\u4e00-\u9faf々]+")
_READING = re.compile("（[\u3041-\u3093]+）")
_DIGIT = re.compile(r"\d")

# Every hiragana and katakana letter with its iteration marks, as corrected.
_HIRAGANA = "\u3041-\u3096\u309d-\u309f"
_KATAKANA = "\u30a1-\u30fa\u30fd-\u30ff"
_HALF_WIDTH = "\uff66-\uff9f"

_ANY_HIRAGANA = {True: re.compile(f"[{_HIRAGANA}]"), False: re.compile("[\u3041-\u3096]")}
_ANY_KATAKANA = {
    True: re.compile(f"[{_KATAKANA}{_HALF_WIDTH}]"),
    False: re.compile(f"[\u30a1-\u30fa{_HALF_WIDTH}]"),
}
_HIRAGANA_TEXT = {
    True: re.compile(f"[{_HIRAGANA}ー]"),
    False: re.compile("[\u3041-\u3093ー]"),
}
_KATAKANA_TEXT = {
    True: re.compile(f"[{_KATAKANA}{_HALF_WIDTH}ー・]"),
    False: re.compile(f"[\u30a1-\u30f3{_HALF_WIDTH}ー・]"),
}
"""Each by whether the rules are the corrected ones."""


@instruction("letters:furigana", "ja")
def furigana(text: str, kwargs: Kwargs, rules: Rules) -> bool:
    """Every run of kanji is followed by hiragana in （）; which, is not looked at."""
    runs = (_KANJI_AND_MARK if rules.corrected else _KANJI).finditer(text)
    return all(_READING.match(text, run.end()) for run in runs)


@instruction("letters:kanji", "ja", kanji_limit=COUNT, relation=RELATION)
def kanji(text: str, kwargs: Kwargs, rules: Rules) -> bool:
    """Enough or few enough kanji."""
    count = sum(len(run) for run in _KANJI.findall(text))
    return compare(count, kwargs["relation"], kwargs["kanji_limit"], rules.language)


@instruction("letters:kansuuji", "ja")
@instruction("detectable_content:no_digits", "fr")
def no_digits(text: str, kwargs: Kwargs, rules: Rules) -> bool:
    """No decimal digit of any script; ① and ½ are none."""
    return _DIGIT.search(text) is None


@instruction("letters:no_hiragana", "ja")
def no_hiragana(text: str, kwargs: Kwargs, rules: Rules) -> bool:
    """No hiragana."""
    return _ANY_HIRAGANA[rules.corrected].search(text) is None


@instruction("letters:no_katakana", "ja")
def no_katakana(text: str, kwargs: Kwargs, rules: Rules) -> bool:
    """No katakana, half-width ones included; ー and ・ are none."""
    return _ANY_KATAKANA[rules.corrected].search(text) is None


@instruction("letters:hiragana_only", "ja")
def hiragana_only(text: str, kwargs: Kwargs, rules: Rules) -> bool:
    """No letter but hiragana; digits and signs are no letters."""
    return not _letters_outside(text, _HIRAGANA_TEXT[rules.corrected])


@instruction("letters:katakana_only", "ja")
def katakana_only(text: str, kwargs: Kwargs, rules: Rules) -> bool:
    """No letter but katakana; digits and signs are no letters."""
    return not _letters_outside(text, _KATAKANA_TEXT[rules.corrected])


def _letters_outside(text: str, allowed: re.Pattern[str]) -> bool:
    return any(unicodedata.category(one)[0] == "L" for one in set(allowed.sub("", text)))
