"""Cells that do not ask all of their documents: `--select_on`, `--budget`, `--rotated_share`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tenbin.config import RunConfig
from tenbin.errors import ConfigError
from tenbin.pipeline.cells.setup import CellSetup, Share

PART = "@part"
"""The mark of cells that ask a part of the documents, in a sweep on a budget."""


def selecting_cells(config: RunConfig, setups: Sequence[CellSetup]) -> list[CellSetup]:
    """The same cells on documents of the split that `--select_on` names; none without one.

    Raises:
        ConfigError: That split is the one that is scored.
    """
    if config.held_out is None:
        return []
    split, count = config.held_out
    chosen = []
    for setup in setups:
        if config.rotations and setup.template.rotation:
            continue  # no wording that one would choose
        if setup.task.split == split:
            raise ConfigError(
                f"--select_on {config.select_on}: {setup.task.name} is scored on {split!r} itself",
                "choose on another split, or with --select_on crossfit",
            )
        cell = replace(setup.cell, mark=f"{setup.cell.mark}@{split}")
        chosen.append(CellSetup(cell, replace(setup.task, split=split), count, selects=True))
    return chosen


def part_cells(config: RunConfig, setups: Sequence[CellSetup]) -> list[CellSetup]:
    """The cells of a sweep on a budget: each asks a part of its documents.

    Cells of tasks that have no more prompts than the budget pays for stay as they are, as do all
    without `--budget`.

    Raises:
        ConfigError: That is so of all tasks, or of any with `--then`, or examples depend on
            documents that are not asked.
    """
    if config.budget is None:
        return list(setups)
    _check_draws(config, "--budget")
    cells: dict[tuple[str, str], list[str]] = {}
    for setup in setups:
        cells.setdefault((setup.task.name, setup.task.version), []).append(setup.cell.id)
    most = max(map(len, cells.values()))
    if most <= config.budget:
        raise ConfigError(
            f"--budget {config.budget}x: no task has more than {most} prompts to sweep over, and "
            f"{most} full runs cost no more",
            "leave --budget out, or sweep over more prompts",
        )
    for (task, version), ids in cells.items():
        if config.then and len(ids) <= config.budget:
            raise ConfigError(
                f"--then: {task} {version} has {len(ids)} prompts, which --budget "
                f"{config.budget}x runs in full",
                "sweep it by itself, without --budget",
            )
    parts = []
    for setup in setups:
        ids = cells[setup.task.name, setup.task.version]
        if len(ids) > config.budget:
            share = Share(ids.index(setup.cell.id), len(ids), config.budget, config.seed)
            cell = replace(setup.cell, mark=f"{setup.cell.mark}{PART}")
            setup = replace(setup, cell=cell, share=share)
        parts.append(setup)
    return parts


def rotated_part(config: RunConfig, setup: CellSetup) -> CellSetup:
    """A cell with rotated options asks a share of the documents where the user wants that."""
    if config.rotated_share is None or not setup.template.rotation:
        return setup
    _check_draws(config, "--rotated_share")
    cell = replace(setup.cell, mark=f"{setup.cell.mark}{PART}")
    share = Share(0, max(2, round(1 / config.rotated_share)), 1, config.seed, rotated=True)
    return replace(setup, cell=cell, share=share, until=None)


def _check_draws(config: RunConfig, flag: str) -> None:
    """Refuse to leave out documents on which the examples of others depend."""
    if config.profile_settings.sampler != "document":
        raise ConfigError(
            f"profile {config.profile} samples the examples of a document after those of all "
            f"documents before it, and {flag} leaves documents out",
            f"leave the profile or {flag} out",
        )
