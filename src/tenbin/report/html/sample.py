"""One row of samples.parquet as the page shows it: prompt in parts, answer, how it was read.

Tolerant of columns that older runs lack and newer ones add. Knows rows, not pages.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

Explain = Callable[[Mapping[str, Any], str, str, int], Any]
"""(filters of the task, generated text, language, choices) → steps of each filter."""

_SNIPPET = 140
RIGHT, WRONG, PARTLY, FAILED, MEASURED = "r", "w", "p", "f", "n"
"""A document under one metric: right, wrong, partly right, failed, or only measured."""


def state_of(value: float | None, detail: Mapping[str, Any]) -> str:
    """One letter for what a metric says of a document."""
    if value is None:
        return FAILED
    if "weight" in detail:
        return MEASURED
    top = 100.0 if detail.get("unit") == "%" else 1.0
    if value not in (0.0, top):
        return PARTLY if 0 < value < top else MEASURED
    return RIGHT if (value == top) == bool(detail.get("higher_is_better", True)) else WRONG


def page_sample(
    row: Mapping[str, Any], config: Mapping[str, Any], explain: Explain | None
) -> dict[str, Any]:
    """Everything the page shows of a document; what is empty is left out."""
    parts, exact = prompt_parts(row, config)
    choices = row.get("choices")
    shown: dict[str, Any] = {
        "document": row["document"],
        "group": row.get("group"),
        "item": row.get("item"),
        "parts": parts,
        "exact": exact,
        "examples": row.get("examples"),
        "choices": choices,
        "continuations": _continuations(row),
        "logprobs": _numbers(row.get("logprobs")),
        "tokens": row.get("token_counts"),
        "greedy": row.get("greedy"),
        "unconditional": _numbers(row.get("unconditional_logprobs")),
        "picked_by": row.get("picked_by"),
        "labels": row.get("labels"),
        "label_logprobs": _numbers(row.get("label_logprobs")),
        "added": row.get("added"),
        "generated": row.get("generated"),
        "finish": row.get("finish"),
        "generated_tokens": row.get("generated_tokens"),
        "thinking": row.get("thinking"),
        "thinking_tokens": row.get("thinking_tokens"),
        "thinking_end": row.get("thinking_end"),
        "truncated": row.get("truncated_tokens"),
        "stop": row.get("stop"),
        "limit": row.get("max_gen_toks"),
        "gold": row.get("gold"),
        "target": row.get("target"),
        "references": row.get("references"),
        "dropped": row.get("dropped_examples"),
        "drawn": row.get("samples") if len(row.get("samples") or ()) > 1 else None,
        "outcomes": _outcomes(row),
        "readings": _readings(row, config, explain),
        "failure": _failure(row),
    }
    # Empty texts are kept: a model may well have written nothing.
    return {name: value for name, value in shown.items() if value not in (None, [], 0, False)} | {
        name: shown[name] for name in ("gold", "exact") if shown[name] is not None
    }


def prompt_parts(
    row: Mapping[str, Any], config: Mapping[str, Any]
) -> tuple[list[tuple[str, str]], bool]:
    """The prompt cut into description, examples and question; and whether the cuts are known.

    Runs that did not keep the places are cut at the last delimiter between examples, which is right
    unless a question holds that delimiter itself.
    """
    text = row.get("prompt") or ""
    if turns := _messages(text):
        return turns, True
    starts = row.get("parts")
    if starts:
        bounds = [0, *starts, len(text)]
        kinds = ["d", *("e" for _ in starts[:-1]), "q"]
        pieces = [text[a:b] for a, b in pairwise(bounds)]
        return [(k, piece) for k, piece in zip(kinds, pieces, strict=True) if piece], True
    delimiter = config.get("fewshot_delimiter")
    if not row.get("examples") or not delimiter or delimiter not in text:
        return [("q", text)], not row.get("examples")
    cut = text.rindex(delimiter) + len(delimiter)
    return [("e", text[:cut]), ("q", text[cut:])], False


def _messages(text: str) -> list[tuple[str, str]]:
    """The parts of a prompt that a chat server got as messages; empty for any other prompt.

    Question and answer of an example are two messages and one part.
    """
    if not text.startswith(('[{"role":', '{"messages":[{"role":')):
        return []
    try:
        found = json.loads(text)
        # Beside the messages stand variables of the chat template, where there are any.
        messages = found["messages"] if isinstance(found, dict) else found
        beside = found["chat_template_kwargs"] if isinstance(found, dict) else {}
        written = [(turn["role"], f"[{turn['role']}]\n{turn['content']}") for turn in messages]
    except (ValueError, TypeError, KeyError):
        return []
    parts = [("d", f"[chat_template_kwargs]\n{json.dumps(beside)}")] if beside else []
    parts += [("d", shown) for role, shown in written if role == "system"]
    turns = [shown for role, shown in written if role != "system"]
    if not turns:
        return []
    examples = [turns[at : at + 2] for at in range(0, len(turns) - 1, 2)]
    return [*parts, *(("e", "\n\n".join(pair)) for pair in examples), ("q", turns[-1])]


def snippet(text: str | None, length: int = _SNIPPET) -> str:
    """The beginning of a text on one line."""
    line = " ".join((text or "")[: 4 * length].split())
    return line if len(line) <= length else line[: length - 1] + "…"


def _outcomes(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What metrics say, without what is empty in most rows."""
    always = ("metric", "value", "answer", "predicted")
    return [
        {name: value for name, value in outcome.items() if name in always or value is not None}
        for outcome in row.get("outcomes") or ()
    ]


def _numbers(values: Sequence[float | None] | None) -> list[float | str | None] | None:
    """Numbers for JSON, which knows no infinity: an impossible choice is the text `-inf`."""
    if values is None:
        return None
    return [value if value is None or math.isfinite(value) else str(value) for value in values]


def _continuations(row: Mapping[str, Any]) -> list[str] | None:
    """What was scored, where that is more than the choices themselves."""
    scored = row.get("continuations")
    return None if scored == row.get("choices") else scored


def _readings(row: Mapping[str, Any], config: Mapping[str, Any], explain: Explain | None) -> Any:
    filters = config.get("filters")
    generated = row.get("generated")
    if explain is None or not filters or generated is None:
        return None
    # Runs of earlier versions do not say how many options there were: they read four letters.
    choices = row.get("num_choices") or len(row.get("choices") or ()) or 4
    return explain(filters, generated, str(row.get("language")), choices)


def _failure(row: Mapping[str, Any]) -> list[str] | None:
    if row.get("failure_kind") is None:
        return None
    return [row["failure_kind"], row.get("failure_message") or ""]
