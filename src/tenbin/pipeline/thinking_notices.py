"""What a run says of a reasoning model's thoughts: what is scored without any, what looks wrong.

Knows tasks and the marks that a model's files show; knows no backend.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tenbin.records import Task, Thinking


def thinking_notices(
    thinking: Thinking | None, tasks: Sequence[Task], marks: tuple[str, str] | None
) -> list[str]:
    """What a user should know before the scores.

    Args:
        thinking: How generation tasks let the model think; None: not at all.
        tasks: Those that are asked.
        marks: What the model's files show around thoughts; None where they show nothing.
    """
    writing = _names(task for task in tasks if task.kind == "generate")
    if thinking is None:
        if not (marks and writing):
            return []
        return [
            f"the model's files show {marks[0]} and {marks[1]} around thoughts: without "
            "--thinking on, thoughts count as answers, and limits and stop strings may end in "
            f"them ({writing})"
        ]
    notices = []
    if weighed := _names(task for task in tasks if task.kind != "generate"):
        notices.append(
            f"scored without a thought, since likelihoods of given texts are asked: {weighed}"
        )
    if marks and marks != (thinking.opening, thinking.closing):
        notices.append(
            f"thoughts are looked for between {thinking.opening} and {thinking.closing}, but the "
            f"model's files show {marks[0]} and {marks[1]}"
        )
    return notices


def _names(tasks: Iterable[Task]) -> str:
    return ", ".join(dict.fromkeys(task.name for task in tasks))
