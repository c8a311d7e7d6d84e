"""Sentences as rules count them: tenbin's own splitters, or the published tools'.

The Japanese splitter gives what ja_sentence_segmenter 0.0.2 gives and needs no package. The English
and French ones decide as punkt does, with a written list of abbreviations in place of punkt's
learned statistics. The Spanish one stands in for spaCy's parser.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tenbin.metrics.instructions.abbreviations import ABBREVIATIONS, STARTERS
from tenbin.metrics.instructions.base import Rules
from tenbin.metrics.instructions.tools import detect_language, punkt_sentences, spacy_sentences
from tenbin.metrics.instructions.words import without_list_marks

SPLITTERS = {
    "ja": "ja_sentence_segmenter 0.0.2 (tenbin's implementation)",
    "en": "tenbin en sentences 1",
    "fr": "tenbin fr sentences 1",
    "es": "tenbin es sentences 1",
}
"""The splitters' names in results: raise the number when a text is cut in another way."""


def count_sentences(text: str, rules: Rules) -> int:
    """How many sentences a text has, in the language of its prompt."""
    if rules.language == "ja":
        return len(japanese_sentences(text))
    if rules.language == "es":
        plain = without_list_marks(text)
        if rules.published_tools:
            return spacy_sentences(plain, detect_language(text.lower()) in ("es", None))
        return len(spanish_sentences(plain))
    if rules.published_tools:
        return punkt_sentences(text, rules.language)
    return len(punkt_like_sentences(text, rules.language))


# Japanese.

_SIGNS = "!\"#$%&'()*+,-./:;<=>?@[¥]^_`{|}~"
# While blanks are removed these signs count as Japanese: the package makes them full-width first.
_JAPANESE = (
    "\u4e00-\u9fff\u3040-\u30ff\u3000-\u303f\uff00-\uffef"
    + re.escape(_SIGNS)
    + ("˗֊‐‑‒–⁃⁻₋−﹣—―─━∼∾〰")
)
_BLANKS = re.compile("[ \u3000]+")
_BESIDE_JAPANESE = re.compile(
    f"(?<=[{_JAPANESE}]) (?=[{_JAPANESE}\\x00-\\x7f])|(?<=[\\x00-\\x7f]) (?=[{_JAPANESE}])"
)
_FULL_WIDTH_LATIN = {
    code: code - 0xFEE0
    for first, last in ("０９", "ＡＺ", "ａｚ")
    for code in range(ord(first), ord(last) + 1)
}
_FOLDED = str.maketrans("！？（）｡｢｣", "!?()。「」")
_PROTECTED = (re.compile("「[^「」]*」"), re.compile(r"\([^()]*\)"))
_JAPANESE_ENDS = "。!?"


def japanese_sentences(text: str) -> list[str]:
    """The sentences of a Japanese text, as ja_sentence_segmenter cuts it."""
    folded = text.strip().translate(_FULL_WIDTH_LATIN)
    folded = _BESIDE_JAPANESE.sub("", _BLANKS.sub(" ", folded)).translate(_FOLDED)
    return [piece for line in _joined_lines(folded.splitlines()) for piece in _cut_japanese(line)]


def _joined_lines(lines: list[str]) -> Iterator[str]:
    """Lines, each that ends in の after another character joined with the next."""
    pending: list[str] = []
    length, ends_in_no = 0, False
    for line in lines:
        if pending and not (ends_in_no and length > 1):
            yield "".join(pending)
            pending, length = [], 0
        pending.append(line)
        length += len(line)
        # An empty line changes nothing: the next one is joined too.
        ends_in_no = line.endswith("の") if line else ends_in_no and length > 0
    if pending:
        yield "".join(pending)


def _cut_japanese(line: str) -> list[str]:
    protected = bytearray(len(line))
    for quotation in _PROTECTED:
        for match in quotation.finditer(line):
            protected[match.start() : match.end()] = b"\1" * (match.end() - match.start())
    pieces, start = [], 0
    for at, character in enumerate(line):
        if character in _JAPANESE_ENDS and not protected[at]:
            pieces.append(line[start : at + 1])
            start = at + 1
    return [*pieces, line[start:]] if start < len(line) else pieces


# English and French.

# An end of a sentence: marks, closing quotes and brackets, then a blank or the end of the text.
_END = re.compile(r"(?P<marks>[.!?]+)(?P<closing>[\"'”’»)\]}]*)(?=\s|$)")
_FIRST_WORD = re.compile(r"[\s\"'“‘«(\[{¿¡*_#-]*(?P<word>\w+)")
_LAST_TOKEN = re.compile(r"[^\s\"'“”‘’«»()\[\]{}*_]*$")
_LONGEST_TOKEN = 100


def punkt_like_sentences(text: str, language: str) -> list[str]:
    """The sentences of an English or French text.

    A run of . ! ? before a blank ends a sentence, except a dot after an abbreviation, an initial or
    a number, or dots of an ellipsis, where the next word decides.
    """
    pieces, start = [], 0
    for match in _END.finditer(text):
        if not _ends_sentence(text, match, language):
            continue
        pieces.append(text[start : match.end()])
        start = match.end()
    pieces.append(text[start:])
    return [piece for piece in pieces if piece.strip()]


def _ends_sentence(text: str, match: re.Match[str], language: str) -> bool:
    marks = match["marks"]
    following = _FIRST_WORD.match(text, match.end(), match.end() + _LONGEST_TOKEN)
    word = following["word"] if following else ""
    if "!" in marks or "?" in marks:
        return True
    if len(marks) > 1:
        return not word or word[0].isupper()
    before = _LAST_TOKEN.search(text[max(0, match.start() - _LONGEST_TOKEN) : match.start()])
    token = before.group().lower() if before else ""
    if len(token) == 1 and token.isalpha() and token not in ABBREVIATIONS[language]:
        return bool(word) and word.lower() in STARTERS[language] and word[0].isupper()
    if token in ABBREVIATIONS[language] or token.rpartition("-")[2] in ABBREVIATIONS[language]:
        return word[:1].isupper() and word.lower() in STARTERS[language]
    if token.isdecimal():
        return not word or not word[0].islower()
    return True


# Spanish.

_SPANISH_END = re.compile(r"[.!?…]+[\"'”’»)\]}*_]*(?=\s|$)")


def spanish_sentences(text: str) -> list[str]:
    """The sentences of a Spanish text: lines, cut after . ! ? … unless a word goes on in small.

    An abbreviation, an initial or a number with a dot does not end a sentence within a line.
    """
    pieces = []
    for line in text.split("\n"):
        start = 0
        for match in _SPANISH_END.finditer(line):
            if _ends_spanish(line, match):
                pieces.append(line[start : match.end()])
                start = match.end()
        pieces.append(line[start:])
    return [piece for piece in pieces if any(one.isalnum() for one in piece)]


def _ends_spanish(line: str, match: re.Match[str]) -> bool:
    following = _FIRST_WORD.match(line, match.end(), match.end() + _LONGEST_TOKEN)
    word = following["word"] if following else ""
    if word and word[0].islower():
        return False
    if not match.group().startswith(".") or match.group().startswith(".."):
        return True
    before = _LAST_TOKEN.search(line[max(0, match.start() - _LONGEST_TOKEN) : match.start()])
    token = before.group().lower() if before else ""
    if not word:
        return True
    short = len(token) == 1 and token.isalpha()
    return not (short or token in ABBREVIATIONS["es"])
