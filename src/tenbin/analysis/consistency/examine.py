"""From stored runs to one document about their consistency: the way through this folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from pathlib import Path
from typing import Any

from tenbin.analysis.consistency.alignment_file import read_alignment
from tenbin.analysis.consistency.columns import AnswerSet, gather
from tenbin.analysis.consistency.estimates import measure_set
from tenbin.analysis.consistency.items import align_family
from tenbin.analysis.consistency.modes import measure_modes
from tenbin.errors import ConfigError, ResultError
from tenbin.statistics.alignment import Alignment
from tenbin.version import __version__

DEFAULT_REFERENCE = "en"

Given = tuple[str, Mapping[str, Any], Iterable[Mapping[str, Any]]]
"""A run: its name, its result document, its samples."""


def examine(
    runs: Sequence[Given],
    patterns: Sequence[str] = (),
    reference: str | None = None,
    alignment: str | Path | None = None,
    metric: str | None = None,
) -> dict[str, Any]:
    """Everything that runs of one model show about its consistency.

    Args:
        runs: What was stored.
        patterns: Ids, task names or sets to keep; none keeps all.
        reference: The language that gaps are measured from; English where there is some.
        alignment: A file that says which rows hold the same item.
        metric: Whose reading of an answer counts.

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
    document = {
        "tenbin_version": __version__,
        "runs": [_run(name, stored) for name, stored, _ in runs],
        "reference": origin,
        "families": {f: _family(members, aligned[f]) for f, members in families.items()},
        "sets": {
            one.id: measure_set(one, aligned[one.family], origin)
            for one in sets
            if len(one.columns) > 1
        },
        "modes": [
            modes
            for family, members in families.items()
            for choice, generation in _mode_pairs(members)
            if (modes := measure_modes(choice, generation, aligned[family])) is not None
        ],
    }
    if not document["sets"] and not document["modes"]:
        listed = "; ".join(f"{one.id}: {', '.join(one.columns)}" for one in sets)
        raise ResultError(
            f"nothing to compare: {listed}",
            "consistency needs two languages of a task, or one as choice and as generation",
        )
    return document


def _origin(reference: str | None, languages: Set[str]) -> str | None:
    """The language that gaps are measured from; None where none is named and there is no usual."""
    if reference is None:
        return DEFAULT_REFERENCE if DEFAULT_REFERENCE in languages else None
    if reference not in languages:
        raise ConfigError(
            f"--reference {reference}: no such language in the runs",
            f"they have {', '.join(sorted(languages))}",
        )
    return reference


def _run(name: str, stored: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": name,
        "model": stored["model"].get("model"),
        "fingerprint": stored["fingerprint"],
        "date": stored["date"],
        "partial": bool(stored.get("partial")),
    }


def _family(members: Sequence[AnswerSet], alignment: Alignment) -> dict[str, Any]:
    return {
        "key": members[0].key,
        "sets": [one.id for one in members],
        "alignment": alignment.method,
        "languages": list(alignment.items),
        "items": len(alignment.shared),
        "items_not_asked_everywhere": alignment.partial,
        "chance_of_agreement": alignment.chance_of_agreement,
        "unseen_swaps": alignment.unseen_swaps,
    }


def _mode_pairs(members: Sequence[AnswerSet]) -> list[tuple[AnswerSet, AnswerSet]]:
    """Each set of choices beside each set of texts that was asked in the same words."""
    return [
        (choice, generation)
        for choice in members
        if choice.kind == "choice"
        for generation in members
        if generation.kind == "generate" and generation.wording == choice.wording
    ]
