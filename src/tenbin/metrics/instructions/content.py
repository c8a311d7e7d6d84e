"""Instructions about what an answer holds: placeholders, a postscript, the form of address."""

from __future__ import annotations

import re

from tenbin.metrics.instructions.base import COUNT, IGNORED, TEXT, Kwargs, Rules, instruction, limit
from tenbin.metrics.instructions.keywords import as_pattern
from tenbin.metrics.patterns import find_all

_INFORMAL = {
    True: re.compile(r"\b(?:tu|te|toi|ton|ta|tes|t['\u2019](?=\w))\b", re.IGNORECASE),
    False: re.compile(r"\b(?:tu|te|toi|ton|ta|tes|t'(?=\w))\b", re.IGNORECASE),
}
_POSTSCRIPTS = {
    "P.S.": r"p\.\s?s\.",
    "P.P.S": r"p\.\s?p\.\s?s",
    "P.P.S.": r"p\.\s?p\.\s?s\.",
    "P.D.": r"p\.\s?d\.",
}
_IN = {"ja": ("P.S.", "P.P.S", "P.P.S."), "es": ("P.S.", "P.P.S", "P.D.")}
_EVERYWHERE = ("P.S.", "P.P.S")


@instruction(
    "detectable_content:number_placeholders",
    "ja en es fr",
    num_placeholders=COUNT,
    relation=IGNORED,
)
def number_placeholders(text: str, kwargs: Kwargs, rules: Rules) -> bool:
    """At least so many runs from [ to the next ] within a line."""
    return sum(map(_placeholders, text.split("\n"))) >= limit(kwargs, "num_placeholders")


def _placeholders(line: str) -> int:
    count, at = 0, line.find("[")
    while at >= 0:
        end = line.find("]", at)
        if end < 0:
            break
        count, at = count + 1, line.find("[", end)
    return count


@instruction("detectable_content:postscript", "ja en es fr", postscript_marker=TEXT)
def postscript(text: str, kwargs: Kwargs, rules: Rules) -> bool:
    """A postscript: its marker occurs anywhere, in either case."""
    marker = kwargs["postscript_marker"].strip()
    known = _IN.get(rules.language, _EVERYWHERE)
    if rules.edition == "original" and rules.language == "ja":
        known = _EVERYWHERE
    if marker in known:
        return re.search(_POSTSCRIPTS[marker], text.lower()) is not None
    if rules.language == "ja":
        return marker.lower() in text.lower()
    return bool(find_all(as_pattern(marker.lower(), rules), text.lower()))


@instruction("detectable_content:informal_address", "fr")
def informal_address(text: str, kwargs: Kwargs, rules: Rules) -> bool:
    """The reader is addressed as tu."""
    return _INFORMAL[rules.corrected].search(text) is not None
