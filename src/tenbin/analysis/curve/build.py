"""Builds learning curves from the stored runs of checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from tenbin.analysis.curve.chance import Chance, chances, has_chance
from tenbin.analysis.curve.checkpoints import StepRuns, runs_by_step
from tenbin.analysis.curve.draft import Draft
from tenbin.analysis.curve.report import CurveCheckpoint, CurveReport
from tenbin.analysis.curve.signal import with_agreement
from tenbin.analysis.leaderboard.arrangement import arrange
from tenbin.analysis.leaderboard.columns import Key, Place, headline, places_of
from tenbin.analysis.leaderboard.marks import reference_of
from tenbin.analysis.leaderboard.models import Model, Source
from tenbin.analysis.leaderboard.ranking import Documents
from tenbin.errors import ResultError
from tenbin.version import __version__

SCHEMA_VERSION = 1
BITS = "gold_bits_per_byte"
"""The metric that is shown beside the first one."""
ALL = "all"
Progress = Callable[[str, int, int], None]


def build_curve(
    sources: Sequence[Source],
    metrics: Sequence[str] = (),
    unread: Mapping[str, str] | None = None,
    progress: Progress = lambda what, done, total: None,
) -> CurveReport:
    """Curves of all tasks and groups over the steps of a training.

    Args:
        sources: Stored runs of its checkpoints.
        metrics: Names, or `all`; by default the first of each task and the bits of the gold answer.
        unread: Runs of a folder that could not be read → why.
        progress: Called with how far it is: what, how many are done, of how many.

    Raises:
        ResultError: No run has a step, there is no score to show, or a run is damaged.
    """
    steps, unplaced, notes = runs_by_step(sources)
    left_out = {**(unread or {}), **unplaced}
    if not steps:
        listed = "; ".join(f"{name}: {why}" for name, why in left_out.items())
        raise ResultError(
            f"no run of a checkpoint: {listed or 'none was named'}",
            "name runs of checkpoints, or the folder that `tenbin watch` writes to",
        )
    models = [one.model for one in steps]
    drafts = _drafts(places_of(models), metrics, models)
    if not drafts:
        raise ResultError(
            "the runs have no score to show",
            f"none has the metric {', '.join(metrics)}" if metrics else "",
        )
    documents = Documents(models)
    for draft in drafts:
        draft.announce(documents)
    documents.read(progress)
    known = _chances(drafts, models)
    curves = []
    for at, draft in enumerate(drafts, 1):
        curves.append(draft.build(documents, steps, known))
        progress("curves", at, len(drafts))
    return CurveReport(
        tenbin_version=__version__,
        schema_version=SCHEMA_VERSION,
        checkpoints=tuple(_checkpoint(one) for one in steps),
        curves=tuple(with_agreement(curves)),
        notes=tuple(notes),
        unread=left_out,
    )


def _checkpoint(one: StepRuns) -> CurveCheckpoint:
    newest = one.model.sources[0].result
    names = tuple(source.name for source in one.model.sources)
    return CurveCheckpoint(one.step, one.model.name, newest.fingerprint, names, newest.date)


def _drafts(
    columns: Mapping[Key, Sequence[Place]], metrics: Sequence[str], models: Sequence[Model]
) -> list[Draft]:
    references = {key: reference_of(places) for key, places in columns.items()}
    drafts = []
    for arranged in arrange(list(references.items()), "suite"):
        reference = references[arranged.key]
        for metric in _shown_metrics(reference, metrics):
            found = columns[arranged.key]
            drafts.append(Draft.of(arranged, reference, found, metric, models))
    return [draft for draft in drafts if draft.places]


def _shown_metrics(place: Place, wanted: Sequence[str]) -> Iterator[str]:
    if ALL in wanted:
        yield from place.details
    elif wanted:
        yield from (metric for metric in dict.fromkeys(wanted) if metric in place.details)
    else:
        yield from dict.fromkeys([headline(place), *(m for m in place.details if m == BITS)])


def _chances(drafts: Sequence[Draft], models: Sequence[Model]) -> dict[tuple[int, str], Chance]:
    """(Step, task id) → chance, for the newest cell of each curve; each run is read once."""
    wanted: dict[tuple[int, int], set[str]] = {}
    for draft in drafts:
        newest = draft.places[-1]
        if not newest.group and has_chance(draft.metric):
            wanted.setdefault((newest.model, newest.source), set()).add(newest.id)
    return {
        (model, id): chance
        for (model, source), ids in wanted.items()
        for id, chance in chances(models[model].sources[source], ids).items()
    }
