"""MGSM as a whole: answers in native digits are read, and the languages are compared by item."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tenbin
from tenbin.backends.scripted import ScriptedBackend

pytestmark = pytest.mark.usefixtures("cache")

ROWS = Path(tenbin.__file__).parent / "catalog" / "sample_data" / "mgsm"
ZEROS = {"bn": "০", "te": "౦", "th": "๐", "ja": "０"}
CLOSINGS = {
    "bn": "উত্তর হল {}।",
    "de": "{}",
    "ja": "答えは{}です。",
    "te": "సమాధానం {}.",
    "th": "คำตอบคือ {}",
}


def native(number: int, language: str) -> str:
    zero = ord(ZEROS.get(language, "0"))
    return "".join(chr(zero + int(digit)) for digit in str(number))


def right_answers(language: str) -> dict[str, str]:
    lines = (ROWS / language / "test.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return {
        row["question"]: "1 + 1 = 2. "
        + CLOSINGS[language].format(native(row["answer_number"], language))
        for row in rows
    }


def test_answers_in_native_digits_are_right_and_languages_are_compared() -> None:
    known = {question: text for one in CLOSINGS for question, text in right_answers(one).items()}
    known[next(iter(right_answers("th")))] = "ไม่ทราบ"

    def answer(prompt: str) -> str:
        return next(text for question, text in known.items() if question in prompt)

    run = tenbin.evaluate(
        ScriptedBackend(texts=answer),
        tasks=[f"mgsm_native_cot_{language}" for language in CLOSINGS],
        sample_data=True,
        num_fewshot=4,
        no_cache=True,
        progress=False,
    )
    for language in CLOSINGS:
        expected = 7 / 8 if language == "th" else 1.0
        scores = run.scores[f"mgsm_native_cot_{language}-1.1-lm-eval"]
        assert scores == {"number_match,number": expected, "format_failure,number": 1 - expected}
    (languages,) = tenbin.consistency(run)["sets"].values()
    unreadable = {name: one["unreadable"] for name, one in languages["answers"].items()}
    assert unreadable == {"bn": 0, "de": 0, "ja": 0, "te": 0, "th": 1}
