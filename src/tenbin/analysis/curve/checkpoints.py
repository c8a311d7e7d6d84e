"""Which stored runs are of which step of the training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from tenbin.analysis.leaderboard.models import Model, Source
from tenbin.records.training_step import step_in_name
from tenbin.results.folder import RESULT
from tenbin.results.schema import RunResult

NO_STEP = "neither its name nor its model's tells a step (such as checkpoint-500 or step_500)"
_STOPPED = "it was stopped before its end"


@dataclass(frozen=True, slots=True)
class StepRuns:
    """The runs of one step, the newest first."""

    step: int
    model: Model


def step_of(source: Source) -> int | None:
    """The step that a run is of: by its model's name, by its own name, by the trainer's state."""
    result = source.result
    place = PurePath(source.name)
    named = place.parent.name if place.name == RESULT else place.name
    for name in (checkpoint_name(result), named):
        if (step := step_in_name(name)) is not None:
            return step
    recorded = result.model.get("training_step")
    return recorded if isinstance(recorded, int) and not isinstance(recorded, bool) else None


def checkpoint_name(result: RunResult) -> str:
    """The folder or the revision that the weights came from."""
    given = result.config.get("model_args")
    arguments = given if isinstance(given, dict) else {}
    revision = arguments.get("revision")
    if revision is not None and not arguments.get("peft"):
        return str(revision)
    named = arguments.get("peft") or arguments.get("pretrained") or result.model_name
    return PurePath(str(named)).name or str(named)


def runs_by_step(sources: Sequence[Source]) -> tuple[list[StepRuns], dict[str, str], list[str]]:
    """Runs by step, those without a place on a curve with the reason, and notes.

    Of two checkpoints of one step the one with the newest run counts.
    """
    unplaced: dict[str, str] = {}
    steps: dict[int, list[Source]] = {}
    for source in sorted(sources, key=lambda one: one.result.date, reverse=True):
        step = step_of(source)
        if source.result.partial:
            unplaced[source.name] = _STOPPED
        elif step is None:
            unplaced[source.name] = NO_STEP
        else:
            steps.setdefault(step, []).append(source)
    notes, found = [], []
    for step in sorted(steps):
        newest, *others = steps[step]
        same = [one for one in others if one.result.fingerprint == newest.result.fingerprint]
        if len(same) < len(others):
            notes.append(
                f"step {step}: runs of {len({one.result.fingerprint for one in steps[step]})} "
                f"different models; the one with the newest run is shown ({newest.name})"
            )
        own = (newest, *same)
        found.append(StepRuns(step, Model(checkpoint_name(newest.result), own)))
    return found, unplaced, notes
