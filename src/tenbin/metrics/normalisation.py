"""How Japanese texts are brought into one form before they are compared, by metric.

    form          metrics                              steps
    normalise     japanese_exact_match, japanese_f1    emoji out, neologdn, white space collapsed
    nfkc          nfkc_exact_match                     NFKC, white space stripped
    sorted_words  fuzzy_char_f1, after nfkc            signs to blanks, lower case, words sorted
    answer_form   answer_exact_match, character_f1     NFKC, normalise, signs and blanks out,
                                                       lower case

neologdn unifies widths (ＡＢＣ, ｶﾞ), hyphens and long vowel marks, shortens a row of long vowel
marks to one, drops wave dashes and takes blanks between Japanese characters out. No form changes
々, kanji variants, numerals in kanji, or a long vowel mark at the end of a word: コンピュータ and
コンピューター are two answers. docs/japanese-text.md has the cases.
"""

from __future__ import annotations

import re
import string

from tenbin.metrics.extraction.clean import normalise_unicode

PUNCTUATION = frozenset(
    "！？｡。＂＃＄％＆＇（）＊＋，－／：；＜＝＞＠［＼］＾＿｀｛｜｝～｟｠｢｣､、〃》「」『』【】〔〕〖〗"
    "〘〙〚〛〜〝〞〟〰〾〿–—‘’‛“”„‟…‧﹏" + string.punctuation
)

_SYMBOLS = re.compile(
    "[\U0001f600-\U0001f64f\U0001f300-\U0001f5ff\U0001f680-\U0001f6ff\U0001f1e0-\U0001f1ff"
    "\u2702-\u27b0]+"
)
# The libraries end a text at a null character and cannot be given half a surrogate pair.
_BROKEN = re.compile("[\0\ud800-\udfff]")

_LATIN_1 = dict.fromkeys(range(0x80, 0x100))
_NO_WORD = re.compile(r"\W")

_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
# A point between digits and a sign before one belong to the number.
_SIGNS = re.compile(
    r"(?<!\d)\.|\.(?!\d)|-(?!\d)|(?<=\w)-|["
    + re.escape("".join(sorted((PUNCTUATION | set("・･·〈〉《")) - set(".-"))))
    + r"\s]+"
)


def normalise(text: str) -> str:
    """Drop emoji, unify character widths and collapse white space."""
    import emoji
    import neologdn  # type: ignore[import-not-found]

    whole = _BROKEN.sub("\ufffd", text)
    dropped = {ord(character): None for character in set(whole) if emoji.is_emoji(character)}
    kept = whole.translate(dropped) if dropped else whole
    unified: str = neologdn.normalize(_SYMBOLS.sub("", kept))
    return " ".join(unified.split())


def nfkc(text: str) -> str:
    """Compatibility characters in their plain form, white space at the ends taken off."""
    return normalise_unicode("NFKC", text).strip()


def sorted_words(text: str) -> str:
    """The words of a text in lower case and in order, as fuzzywuzzy's token_sort_ratio has them.

    Everything but letters, digits and the low line separates words, and letters such as é, which
    are in Latin-1 and not in ASCII, are lost.
    """
    words = _NO_WORD.sub(" ", text.translate(_LATIN_1)).lower().split()
    return " ".join(sorted(words))


def answer_form(text: str) -> str:
    """A short answer without widths, case, quotation marks, signs and blanks.

    In numbers the decimal point and the sign stay, and thousands marks go.
    """
    plain = _THOUSANDS.sub("", normalise(normalise_unicode("NFKC", text)))
    return _SIGNS.sub("", plain).lower()
