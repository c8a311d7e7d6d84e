"""Remarks on scores that stand in one column: what a reader should know before comparing them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from tenbin.results.schema import RunResult
from tenbin.sandbox.printable import counted

SAMPLE_DATA = "sample rows that come with tenbin, not the published data"


def score_remarks(
    results: Sequence[RunResult], kind: Literal["group", "task"], id: str
) -> list[tuple[str, ...]]:
    """The remarks on one task or group in each of the runs that share a column.

    Settings that change prompts, and the profile, are remarked where the runs differ in them.
    """
    settings = [_settings(result) for result in results]
    names = dict.fromkeys(name for one in settings for name in one)
    differing = [name for name in names if len({one.get(name) for one in settings}) > 1]
    found = []
    for result, own in zip(results, settings, strict=True):
        members = [id] if kind == "task" else result.group_subtasks[id]
        remarks = [
            *_of_cells(result, [one for one in members if one in result.configs]),
            *(own[name] for name in differing if name in own),
        ]
        found.append(tuple(remarks))
    return found


def _of_cells(result: RunResult, ids: Sequence[str]) -> Iterator[str]:
    counts = [result.n_samples[id] for id in ids]
    effective = sum(one.effective for one in counts)
    if result.partial:
        asked = sum(one.asked for one in counts)
        yield (
            f"the run was stopped after {effective:,} of {asked:,} documents, "
            "which are not a random sample"
        )
    elif any(result.stopping and result.stopping.documents(id) is not None for id in ids):
        yield f"stopped early (--until) after {counted(effective, 'document')}"
    elif effective < (original := sum(one.original for one in counts)):
        yield f"{effective:,} of {original:,} documents were asked"
    if any(
        file.source == "sample_data"
        for id in ids
        for file in result.data[id].get(result.configs[id].split, ())
    ):
        yield SAMPLE_DATA
    prompts = [result.prompts[id] for id in ids]
    if truncated := sum(one.truncated_documents for one in prompts):
        yield f"{counted(truncated, 'document')} truncated to fit the window"
    if dropped := sum(one.documents_with_dropped_examples for one in prompts):
        yield f"{counted(dropped, 'document')} with fewer examples, to fit the window"


def _settings(result: RunResult) -> dict[str, str]:
    """What a run was asked with besides its tasks, in words."""
    config = result.config
    chat = bool(config.get("apply_chat_template"))
    found = {
        "chat": "with the chat template" if chat else "without a chat template",
        "profile": f"profile {result.profile or 'tenbin'}",
        "system": "without a system instruction",
    }
    system = config.get("system_instruction") or config.get("system_prompt")
    if system:
        found["system"] = f"system instruction {str(system)!r}"
    if chat:
        turns = bool(config.get("fewshot_as_multiturn"))
        found["turns"] = "examples as turns" if turns else "examples in one message"
    if result.model.get("encoding"):
        found["encoding"] = f"encoding {result.model['encoding']}"
    return found
