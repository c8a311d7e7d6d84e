"""Which number of `--num_fewshot`, `--limit` and `--until` goes to which task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from tenbin.config import RunConfig, pair_numbers
from tenbin.config.values import DECIDED
from tenbin.pipeline.cells.setup import CellSetup
from tenbin.records import INSTRUCTIONS, Task
from tenbin.tasks.selection import Selected


def number_per_task(
    config: RunConfig, name: str, numbers: tuple[float, ...], selected: list[list[Selected]]
) -> list[float | None]:
    """A number for each selected task: by entry as written, or by sorted id."""
    if config.profile_settings.pairing == "sorted" and len(numbers) > 1:
        ids = sorted({chosen.full_id for entry in selected for chosen in entry})
        by_id = dict(zip(ids, pair_numbers(name, numbers, ids), strict=True))
        return [by_id[chosen.full_id] for entry in selected for chosen in entry]
    entries = [*config.tasks, *(f"suite {name}" for name in config.suite)]
    paired = pair_numbers(name, numbers, entries)
    return [number for entry, number in zip(selected, paired, strict=True) for _ in entry]


def stop_per_task(
    config: RunConfig, selected: list[list[Selected]]
) -> Sequence[float | Literal["decided"] | None]:
    """When each selected task stops."""
    if config.until == DECIDED:
        return ["decided" for entry in selected for _ in entry]
    assert not isinstance(config.until, str)
    return number_per_task(config, "until", config.until, selected)


def shots_of(
    config: RunConfig, chosen: Selected, task: Task, number: float | None
) -> tuple[int, tuple[tuple[str, str], ...]]:
    """How many examples a task has, and who chose what of it where the user did not."""
    profile, by = config.profile_settings, dict(chosen.chosen_by)
    if number is not None and not _stays_zero(config, task):
        by.pop("num_fewshot", None)
        return int(number), tuple(by.items())
    if task.kind == "perplexity":
        return task.default_shots, tuple(by.items())
    named = profile.shots
    has_examples = task.fewshot.split is not None or task.fewshot.samples is not None
    if named is None and chosen.shots is None and has_examples:
        named = profile.default_shots
    if named is not None:
        by["num_fewshot"] = f"profile {profile.name}"
        return named, tuple(by.items())
    return (task.default_shots if chosen.shots is None else chosen.shots), tuple(by.items())


def _stays_zero(config: RunConfig, task: Task) -> bool:
    return task.zero_shot and config.profile_settings.keeps_zero_shots


def left_plain(config: RunConfig, selected: Sequence[Sequence[Selected]]) -> frozenset[str]:
    """Ids of tasks that take no examples and came with one entry of `--tasks` beside some that do.

    The user who names a group cannot give numbers to its members one by one. Under the profile of
    lm-eval, which asks nobody, it is every task that takes none.
    """
    if config.num_fewshot_sweep:
        return frozenset()
    always = config.profile_settings.keeps_zero_shots
    return frozenset(
        chosen.full_id
        for entry in selected
        if always or any(takes_examples(chosen.task) for chosen in entry)
        for chosen in entry
        if not takes_examples(chosen.task)
    )


def takes_examples(task: Task) -> bool:
    """Whether its prompts can show any: whole texts and instructions are asked alone."""
    return task.kind != "perplexity" and task.references != INSTRUCTIONS


def number_notices(config: RunConfig, setups: Sequence[CellSetup]) -> list[str]:
    """Says which number went to which task, where the task or the profile decides that."""
    return [*_plain_notices(config, setups), *_profile_notices(config, setups)]


def _plain_notices(config: RunConfig, setups: Sequence[CellSetup]) -> list[str]:
    passed_over = [
        f"--{name}"
        for name in ("num_fewshot", "apply_chat_template", "system_instruction")
        if (any(config.num_fewshot) if name == "num_fewshot" else getattr(config, name))
    ]
    plain = list(dict.fromkeys(s.cell.id for s in setups if s.left_plain))
    if not plain or not passed_over:
        return []
    whole = all(s.task.kind == "perplexity" for s in setups if s.left_plain)
    what = "whole texts" if whole else "texts that are asked alone"
    return [f"{_few(plain)}: {what}, without {' and '.join(passed_over)}"]


def _few(ids: Sequence[str]) -> str:
    return ", ".join(ids[:5]) + (f" and {len(ids) - 5} more" if len(ids) > 5 else "")


def _profile_notices(config: RunConfig, setups: Sequence[CellSetup]) -> list[str]:
    zero = list(dict.fromkeys(s.cell.id for s in setups if _stays_zero(config, s.task)))
    if zero and any(config.num_fewshot):
        return [
            f"profile {config.profile} leaves tasks without examples whose files say "
            f"num_fewshot: 0, whatever --num_fewshot says: {_few(zero)}"
        ]
    if (
        config.profile_settings.pairing != "sorted"
        or max(len(config.num_fewshot), len(config.limit)) < 2
    ):
        return []
    pairs = [f"{s.cell.id}: shots {s.cell.shots}, limit {s.limit or 'none'}" for s in setups]
    return [f"profile {config.profile} pairs numbers with sorted names: {'; '.join(pairs)}"]
