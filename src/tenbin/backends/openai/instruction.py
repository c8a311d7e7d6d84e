"""The words that ask for a letter, in the script of the prompt.

A backend does not know a task's language, so the script decides: kana means Japanese, hangul
Korean, Han letters without kana Chinese. Languages in Latin letters are asked in English. Knows no
server.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Wording:
    """How a letter is asked for."""

    script: str
    asks: str
    """The instruction below the list of choices."""
    cue: str
    """What a model that continues texts reads last."""


_WORDINGS: tuple[tuple[re.Pattern[str], Wording], ...] = (
    (re.compile("[\u3040-\u30ff]"), Wording(
        "kana", "上の選択肢から最も適切なものを一つ選び、その記号だけを答えてください。", "回答:")),
    (re.compile("[\uac00-\ud7af]"), Wording(
        "hangul", "위 선택지 중에서 가장 알맞은 것을 하나 골라 그 기호만 답하세요.", "답:")),
    (re.compile("[\u4e00-\u9fff]"), Wording(
        "han", "请从以上选项中选出最合适的一项，只回答其字母。", "答案：")),
    (re.compile("[\u0e00-\u0e7f]"), Wording(
        "thai", "เลือกคำตอบที่เหมาะสมที่สุดหนึ่งข้อจากตัวเลือกข้างต้น และตอบเฉพาะตัวอักษรเท่านั้น", "คำตอบ:")),
    (re.compile("[\u0600-\u06ff]"), Wording(
        "arabic", "اختر الإجابة الأنسب من الخيارات أعلاه، وأجب بالحرف فقط.", "الإجابة:")),
)  # fmt: skip
_LATIN = Wording(
    "latin", "Choose the most suitable of the options above and answer with its letter only.",
    "Answer:",
)  # fmt: skip
_SHARE = 0.05
"""Of a text's letters that a script must have: names and quotations are no language."""


def wording_for(text: str) -> Wording:
    """The words for a prompt: those of the first script that it holds more than a trace of."""
    letters = sum(mark.isalpha() for mark in text) or 1
    for pattern, wording in _WORDINGS:
        if len(pattern.findall(text)) / letters > _SHARE:
            return wording
    return _LATIN


def all_wordings() -> dict[str, str]:
    """Every instruction by script, for the record."""
    return {wording.script: wording.asks for _, wording in _WORDINGS} | {_LATIN.script: _LATIN.asks}
