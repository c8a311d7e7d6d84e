"""Read a short free answer out of a text: a name, a number, a word.

The order is: the last LaTeX box; the value of an answer in JSON; what follows the last heading
(「回答：」, "Answer:"); what follows 「答えは」; the first line. Of each, the first sentence
counts, and of 「はい、…」 the first word. A sentence that ends in 「です」 gives what stands
between its topic (「…は」) or reason (「…ので、」) and its end, of 「Aの方が早いです」 A. Quotation
marks around the answer and the full stop behind it are taken off.
"""

from __future__ import annotations

import re

from tenbin.metrics.extraction.clean import simplify, strip_thinking
from tenbin.metrics.extraction.sections import parts_to_read

_HEADING = r"(?:最終(?:的な)?)?(?:答え?|回答|解答|正解|答案|final answer|answer)"
_BOX = re.compile(r"\\f?box(?:ed)?\s*\{((?:[^{}\n]|\{[^{}\n]{0,200}\}){0,200})\}")
_JSON = re.compile(rf"""["'](?:{_HEADING})["']\s*:\s*(?:"([^"\n]*)"|'([^'\n]*)')""", re.IGNORECASE)
_HEADED = re.compile(
    rf"^\W*(?:(?:{_HEADING})(?:[\]】]\s*:?|\s*:|\s*\n)|A\s*:)\s*([^\n]+)", re.I | re.M
)
_SAID = re.compile(
    r"(?:答え|回答|解答|正解)は、?([^。\n]{1,200}?)(?:である|だ)?(?:。|$)",
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
_FENCE = re.compile(r"^\s*'{3}\w*\s*$", re.MULTILINE)
"""A line that opens or closes a block of code; `simplify` writes ' for `."""
_POINTER = re.compile(r"(?:次|以下)の(?:通り|とおり)")
"""「答えは次の通りです。」 gives no answer yet."""
_YES_NO = re.compile(r"(?:はい|いいえ|yes|no)(?=[、,。])", re.IGNORECASE)
_INSIDE = re.compile(r"「[^」]*」|『[^』]*』|《[^》]*》|\([^)]*\)|\"[^\"]*\"")
_SENTENCE_END = re.compile(r"。(?=.)")
_POLITE_END = re.compile(r"(?:です|でした|でございます|となります|になります)[\s。.!！]*$")
_LEAD = re.compile(r"(?<!で)は、?|(?:ので|ため|から)、")
"""What stands before the answer in such a sentence: its topic, or a reason."""
_RATHER = re.compile(r"(.+?)の(?:方|ほう)が[^、。]{1,10}")
"""「『A』の方が早い」 answers which of two."""
_ENDS = " \t。.、,!?！？;:"


def read_short_answer(text: str) -> str | None:
    """The answer that a text gives; None when the model never stopped thinking, or said nothing."""
    spoken = strip_thinking(text)
    if spoken is None:
        return None
    boxes = [box for found in _BOX.findall(spoken) if (box := _bare(simplify(found)))]
    if boxes:
        return boxes[-1]
    part = _FENCE.sub("", parts_to_read(simplify(spoken))[0])
    for pattern in (_JSON, _HEADED, _SAID, _ENGLISH):
        found = [next(filter(None, match.groups()), "") for match in pattern.finditer(part)]
        given = [answer for one in found if (answer := _of_line(one))]
        if given:
            return given[-1]
    lines = [answer for line in part.splitlines() if (answer := _of_line(line))]
    return lines[0] if lines else None


def _of_line(line: str) -> str:
    """The answer that a line gives: of several sentences the first one's, without its topic."""
    line = line.strip()
    if yes_no := _YES_NO.match(line):
        return yes_no[0]
    # What is quoted or in brackets ends no sentence and has no topic.
    hidden = _INSIDE.sub(lambda match: "\0" * len(match[0]), line)
    if end := _SENTENCE_END.search(hidden):
        line, hidden = line[: end.start()], hidden[: end.start()]
    if polite := _POLITE_END.search(hidden):
        leads = list(_LEAD.finditer(hidden, 0, polite.start()))
        said = line[leads[-1].end() if leads else 0 : polite.start()].strip()
        line = _chosen(said) or line
    answer = _bare(line)
    return "" if _POINTER.fullmatch(answer) else answer


def _chosen(said: str) -> str:
    """What a polite sentence says; of 「Aの方が早い」 the A."""
    rather = _RATHER.fullmatch(_INSIDE.sub(lambda match: "\0" * len(match[0]), said))
    return said[: rather.end(1)] if rather else said


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
