"""Bring the text of an answer into a plain form in which numbers can be found.

One form for digits of every script, signs, fractions, thousands marks and LaTeX; no emphasis, no
signs of currencies. `numbers` reads the result.
"""

from __future__ import annotations

import re
import unicodedata

from tenbin.metrics.extraction.clean import fold
from tenbin.metrics.extraction.numerals import GROUP, ascii_digits

BOX = "\ue000"
"""Stands at both ends of a LaTeX box."""
MARK = "\ue002"
"""Stands for ####."""
MONEY = "\u205f"
"""A blank, which stands for the sign of a currency."""

_CHARACTERS = {
    **{ord(mark): "-" for mark in "−﹣‐‑⁻"},
    **{ord(mark): "/" for mark in "⁄∕"},
    ord("٬"): GROUP,
    ord("٫"): ".",
    ord("٪"): "%",
    **{ord(mark): "×" for mark in "✕✖╳∙⋅"},
}
_FORMS = re.compile(
    "[\u00b2\u00b3\u00b9\u2070-\u2089\u00bc-\u00be\u2150-\u215e\u2460-\u24ff\u2776-\u2793]"
)
_LATEX = (
    # 3\frac{1}{2} is three and a half.
    (re.compile(r"(?<=\d)\s*(?=\\[dt]?frac\b)"), " "),
    (re.compile(r"\\[dt]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}"), r"\1/\2"),
    (
        re.compile(r"\\(?:text|textbf|textit|mathrm|mathbf|mathit|texttt|mbox)\s*\{([^{}]*)\}"),
        r"\1",
    ),
    (re.compile(r"\^\s*\{?\s*\\circ\s*\}?"), "°"),
    (re.compile(r"\{([.,])\}"), r"\1"),
    (re.compile(r"(?<=\d)\\[,; ](?=\d{3})"), GROUP),
    (re.compile(r"\\(?:times|cdot)\b"), "×"),
    (re.compile(r"\\(?:approx|equiv|rightarrow|implies|Rightarrow)\b"), "="),
    (re.compile(r"\\f?box(?:ed)?\s*\{((?:[^{}]|\{[^{}]*\})*)\}"), rf" {BOX}\1{BOX} "),
    (re.compile(r"\\(?:left|right|quad|qquad)\b|\\[,;:!()\[\]]"), " "),
    (re.compile(r"\\([%$#&{}])"), r"\1"),
    (re.compile(r"\^\{([^{}]*)\}"), r"^\1"),
)
_TIMES = re.compile(r"(?<=\d)(?: \* |\*)(?=[\d$(])")
_SIGNED_MONEY = re.compile(r"(?<=[-+])[$€£¥₹৳฿₽₩₫¢₺₴₦](?=[\d.])")
_MONEY = re.compile(r"[$€£¥₹৳฿₽₩₫¢₺₴₦]")
_THIN = re.compile(r"(?<=\d)[\u00a0\u2007\u2008\u2009\u202f'](?=\d{3}(?!\d))")
_ARABIC_COMMA = re.compile(r"(?<=\d)،(?=\d{3}(?!\d))")
_HASHES = re.compile(r"^[ \t]*#{4,}[ \t]*(?=\S)", re.MULTILINE)
_HEADING = re.compile(r"^[ \t]*(?:#{1,6}|>+|[•‣])[ \t]+", re.MULTILINE)
_END_OF_TURN = re.compile(r"<\|(?:im_end|endoftext|eot_id|end)\|>|</s>|\[INST\]|<end_of_turn>")


def plain_form(text: str) -> str:
    """One form for digits, signs, marks and boxes, without emphasis and signs of currencies."""
    plain = fold(_FORMS.sub(_spelled_out, text))
    if not plain.isascii():
        plain = ascii_digits(plain.translate(_CHARACTERS))
        plain = _ARABIC_COMMA.sub(",", plain)
    plain = _THIN.sub(GROUP, plain)
    if "\\" in plain or "{" in plain:
        for pattern, replacement in _LATEX:
            plain = pattern.sub(replacement, plain)
    plain = _TIMES.sub("×", plain)
    plain = re.sub(r"\*+|~~|(?<!\w)__?(?=\w)|(?<=\w)__?(?!\w)", "", plain)
    plain = _HEADING.sub("", _HASHES.sub(MARK, plain))
    plain = _MONEY.sub(MONEY, _SIGNED_MONEY.sub("", plain))
    ended = _END_OF_TURN.search(plain)
    return (plain[: ended.start()] if ended and plain[: ended.start()].strip() else plain).strip()


def _spelled_out(match: re.Match[str]) -> str:
    """Fractions as 1/2, powers as ^2, no indices, and circled numbers as labels, which are none."""
    kind = unicodedata.decomposition(match[0]).split(" ")[0]
    plain = unicodedata.normalize("NFKC", match[0])
    if kind == "<fraction>":
        follows_digit = match.start() > 0 and match.string[match.start() - 1].isdigit()
        return f" {plain}" if follows_digit else plain
    return f"^{plain}" if kind == "<super>" else "" if kind == "<sub>" else " "
