"""From stored runs of one model to the report on its consistency."""

from __future__ import annotations

from collections.abc import Sequence, Set
from pathlib import Path

from tenbin.analysis.consistency.alignment import align_family, read_alignment
from tenbin.analysis.consistency.answers import AnswerSet, ExaminedSamples, gather
from tenbin.analysis.consistency.estimates import measure_modes, measure_set
from tenbin.analysis.consistency.report import ConsistencyReport, ExaminedRun, Family
from tenbin.errors import ConfigError, ResultError
from tenbin.statistics.alignment import Alignment
from tenbin.version import __version__

DEFAULT_REFERENCE = "en"


def examine(
    runs: Sequence[ExaminedSamples],
    patterns: Sequence[str] = (),
    reference: str | None = None,
    alignment: str | Path | None = None,
    metric: str | None = None,
) -> ConsistencyReport:
    """Everything that runs of one model show about its consistency.

    Args:
        runs: The runs.
        patterns: Ids, task names or sets to keep; empty keeps all.
        reference: The language that gaps are measured from; English if it is among them.
        alignment: A file that says which rows hold the same item.
        metric: The metric whose extracted answer counts.

    Raises:
        ResultError: The runs do not go together, or nothing shows which rows hold the same item.
        ConfigError: The reference or the alignment file is not usable.
    """
    sets = gather(runs, patterns, metric)
    families: dict[str, list[AnswerSet]] = {}
    for one in sets:
        families.setdefault(one.family, []).append(one)
    origin = _origin(reference, {language for one in sets for language in one.columns})
    if alignment is not None and len(families) > 1:
        raise ConfigError(
            f"--alignment is for one family of tasks, the runs have {', '.join(families)}",
            "choose with --tasks",
        )
    given = read_alignment(alignment) if alignment is not None else None
    aligned = {family: align_family(members, given, origin) for family, members in families.items()}
    measured = {
        one.id: measure_set(one, aligned[one.family], origin)
        for one in sets
        if len(one.columns) > 1
    }
    modes = tuple(
        found
        for family, members in families.items()
        for choice, generation in _mode_pairs(members)
        if (found := measure_modes(choice, generation, aligned[family])) is not None
    )
    if not measured and not modes:
        listed = "; ".join(f"{one.id}: {', '.join(one.columns)}" for one in sets)
        raise ResultError(
            f"nothing to compare: {listed}",
            "consistency needs two languages of a task, or one as choice and as generation",
        )
    return ConsistencyReport(
        tenbin_version=__version__,
        runs=tuple(_examined(run) for run in runs),
        reference=origin,
        families={f: _family(members, aligned[f]) for f, members in families.items()},
        sets=measured,
        modes=modes,
    )


def _origin(reference: str | None, languages: Set[str]) -> str | None:
    """The language that gaps are measured from; None if none is named and English is missing."""
    if reference is None:
        return DEFAULT_REFERENCE if DEFAULT_REFERENCE in languages else None
    if reference not in languages:
        raise ConfigError(
            f"--reference {reference}: no such language in the runs",
            f"they have {', '.join(sorted(languages))}",
        )
    return reference


def _examined(run: ExaminedSamples) -> ExaminedRun:
    result = run.result
    return ExaminedRun(
        run.name, result.model.get("model"), result.fingerprint, result.date, result.partial
    )


def _family(members: Sequence[AnswerSet], alignment: Alignment) -> Family:
    return Family(
        key=members[0].key,
        sets=tuple(one.id for one in members),
        alignment=alignment.method,
        languages=tuple(alignment.items),
        items=len(alignment.shared),
        items_not_asked_everywhere=alignment.partial,
        chance_of_agreement=alignment.chance_of_agreement,
        unseen_swaps=alignment.unseen_swaps,
    )


def _mode_pairs(members: Sequence[AnswerSet]) -> list[tuple[AnswerSet, AnswerSet]]:
    """Each set of choices beside each set of texts that was asked in the same words."""
    return [
        (choice, generation)
        for choice in members
        if choice.kind == "choice"
        for generation in members
        if generation.kind == "generate" and generation.wording == choice.wording
    ]
