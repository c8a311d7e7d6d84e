"""Stored samples back into outcomes, so that statistics run again without a model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tenbin.records import Cell, Outcome


def outcomes_of(samples: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], list[Outcome]]:
    """The outcomes of every task id and metric, in the order of the samples."""
    found: dict[tuple[str, str], list[Outcome]] = {}
    for sample in samples:
        cell = _cell(sample)
        for outcome in sample["outcomes"]:
            found.setdefault((sample["id"], outcome["metric"]), []).append(
                Outcome(
                    cell,
                    sample["document"],
                    outcome["metric"],
                    outcome["value"],
                    outcome["answer"],
                    outcome["predicted"],
                    sample["gold"],
                    sample["group"],
                    outcome.get("weight"),
                    tuple(outcome.get("values") or ()),
                    tuple(outcome.get("answers") or ()),
                )
            )
    return found


def _cell(sample: Mapping[str, Any]) -> Cell:
    cell = Cell(*(sample[name] for name in ("task", "version", "template", "shots", "seed")))
    mark = sample["id"].removeprefix(cell.id)
    return Cell(cell.task, cell.version, cell.template, cell.shots, cell.seed, mark)
