"""Checks whether a thinking model would be run without thinking, or with wrong marks.

This is judged from the model's files; whether it really thinks is only seen in its texts.
"""

from __future__ import annotations

from tenbin.analysis.doctor.finding import Finding
from tenbin.records import Kind, Thinking


def judge_thoughts(
    kind: Kind, thinking: Thinking | None, marks: tuple[str, str] | None, documents: int
) -> list[Finding]:
    """What the settings of thinking mean for one cell.

    Args:
        kind: How its task asks.
        thinking: How the model is let think; None: not at all.
        marks: Thinking marks in its files; None where there are none.
        documents: How many were looked at.
    """
    if kind != "generate" or marks is None:
        return []
    shown = f"the model's files show {marks[0]} and {marks[1]}"
    if thinking is None:
        return [
            Finding(
                "thinking",
                "thoughts_in_answers",
                "warning",
                "a model that thinks would be run as if it did not",
                f"{shown}; thinking would be scored as the answer and cut at its stop strings",
                documents,
                documents,
                "add --thinking on, or switch thinking off where the chat template can: "
                "--chat_template_args enable_thinking=false",
            )
        ]
    if marks != (thinking.opening, thinking.closing):
        return [
            Finding(
                "thinking",
                "other_marks",
                "warning",
                "thinking is looked for between other marks than the model's files show",
                f"{shown}, not {thinking.opening} and {thinking.closing}",
                documents,
                documents,
                f"give --thinking '{marks[0]},{marks[1]}'",
            )
        ]
    return []
