"""The rows of MGSM: word problems, of which examples carry their steps."""

from __future__ import annotations

import re
from typing import Any

from tenbin.data.rows import Row
from tenbin.data.schemas.checks import refuse, take, take_text
from tenbin.records import Document

_QUESTION_WORDS = (
    *("প্রশ্ন: ", "Frage: ", "Question: ", "Pregunta: ", "Question : ", "問題：", "Задача: "),
    *("Swali: ", "ప్రశ్న: ", "โจทย์: ", "问题："),
)
_STEPS_WORDS = (
    *("ধাপে ধাপে উত্তর: ", "Schritt-für-Schritt-Antwort: ", "Step-by-Step Answer: "),
    *("Respuesta paso a paso: ", "Réponse étape par étape : ", "ステップごとの答え："),
    *("Пошаговое решение: ", "Jibu la Hatua kwa Hatua: ", "దశలవారీగా సమాధానం: "),
    *("คำตอบทีละขั้นตอน: ", "逐步解答："),
)
_WHOLE_NUMBER = re.compile(r"-?\d{1,18}")
_WORDS_AFTER_END = re.compile("((?:సమాధానం \\d+\\.|\\?))[\u0c00-\u0c7f\u200c.]+$")
"""Telugu examples go on after their question or answer with a word, once or several times."""


def mgsm_document(row: Row, number: int) -> Document:
    """Read a problem; its place in the split names the item.

    The files of the benchmark have a question and a number, or an example's `q` and `a`; the hub's
    rows have `question`, `answer` (an example's steps), `answer_number` and `equation_solution`.
    `problem` and `steps` are the question and the steps without the words before them.
    """
    question = take_text(row, "q" if "q" in row.values else "question")
    answer = row.values.get("a", row.values.get("answer"))
    if answer is not None and (not isinstance(answer, str) or not answer.strip()):
        refuse(row, "answer", answer, "text, or null")
    steps = _without(answer or "", _STEPS_WORDS)
    fields: dict[str, Any] = {
        "id": str(number),
        "question": question,
        "problem": _WORDS_AFTER_END.sub(r"\1", _without(question, _QUESTION_WORDS)),
        "answer": answer,
        "steps": _WORDS_AFTER_END.sub(r"\1", steps),
        "answer_number": _number(row),
    }
    return Document(str(number), fields, None, row.origin, number)


def _number(row: Row) -> int:
    accepted = "a whole number, also as text"
    exemplar = "exemplar_number_answers"
    value = take(row, exemplar if exemplar in row.values else "answer_number", accepted)
    written = str(value).replace(",", "").strip()
    if isinstance(value, bool) or not _WHOLE_NUMBER.fullmatch(written):
        refuse(row, "answer_number", value, accepted)
    return int(written)


def _without(text: str, words: tuple[str, ...]) -> str:
    return next((text.removeprefix(word) for word in words if text.startswith(word)), text)
