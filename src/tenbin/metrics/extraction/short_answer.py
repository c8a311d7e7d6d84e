"""Read a short free answer out of a text: a name, a number, a word.

The order is: the last LaTeX box; the value of an answer in JSON; what follows the last heading
(「回答：」, "Answer:"); the words between 「答えは」 and 「です」; the first line. Quotation marks
around the answer and the full stop behind it are taken off.
"""

from __future__ import annotations

import re

from tenbin.metrics.extraction.clean import simplify, strip_thinking
from tenbin.metrics.extraction.sections import parts_to_read

_HEADING = r"(?:最終(?:的な)?)?(?:答え?|回答|解答|正解|答案|final answer|answer)"
_BOX = re.compile(r"\\f?box(?:ed)?\s*\{((?:[^{}\n]|\{[^{}\n]{0,200}\}){0,200})\}")
_JSON = re.compile(rf"""["'](?:{_HEADING})["']\s*:\s*(?:"([^"\n]*)"|'([^'\n]*)')""", re.IGNORECASE)
_HEADED = re.compile(rf"^\W*(?:{_HEADING})(?:[\]】]\s*:?|\s*:|\s*\n)\s*([^\n]+)", re.I | re.M)
_SAID = re.compile(
    r"(?:答え|回答|解答|正解)は、?([^。\n]{1,200}?)(?:です|である|となります|になります|だ)?(?:。|$)",
    re.MULTILINE,
)
_ENGLISH = re.compile(r"\banswer is:?\s+([^\n]{1,200}?)(?:\.\s|\.?$)", re.IGNORECASE | re.MULTILINE)
_PAIRS = {
    "「": "」",
    "『": "』",
    '"': '"',
    "'": "'",
    "(": ")",
    "[": "]",
    "【": "】",
    "〈": "〉",
    "《": "》",
}
_ENDS = " \t。.、,!?！？;:"


def read_short_answer(text: str) -> str | None:
    """The answer that a text gives; None when the model never stopped thinking, or said nothing."""
    spoken = strip_thinking(text)
    if spoken is None:
        return None
    boxes = [box for found in _BOX.findall(spoken) if (box := _bare(simplify(found)))]
    if boxes:
        return boxes[-1]
    part = parts_to_read(simplify(spoken))[0]
    for pattern in (_JSON, _HEADED, _SAID, _ENGLISH):
        found = [next(filter(None, match.groups()), "") for match in pattern.finditer(part)]
        given = [_bare(answer) for answer in found if _bare(answer)]
        if given:
            return given[-1]
    lines = [bare for line in part.splitlines() if (bare := _bare(line))]
    return lines[0] if lines else None


def _bare(answer: str) -> str:
    """An answer without the quotation marks around it and the full stop behind it."""
    answer = answer.strip()
    while True:
        shorter = answer.rstrip(_ENDS)
        if len(shorter) > 1 and _PAIRS.get(shorter[0]) == shorter[-1]:
            inner = shorter[1:-1]
            # 「A」と「B」 is no single quotation.
            if shorter[0] not in inner and shorter[-1] not in inner:
                shorter = inner.strip()
        if shorter == answer:
            return answer
        answer = shorter
