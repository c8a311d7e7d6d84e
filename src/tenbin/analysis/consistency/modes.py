"""Scored choices beside written answers to the same items, as plain values.

Knows tables of two columns, one a mode; does not know runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tenbin.analysis.consistency.columns import AnswerSet
from tenbin.analysis.consistency.estimates import correct, difference, estimate_of
from tenbin.analysis.consistency.items import Table, match
from tenbin.statistics import agreement
from tenbin.statistics.alignment import Alignment
from tenbin.statistics.measured import Measured


def measure_modes(
    choice: AnswerSet, generation: AnswerSet, alignment: Alignment
) -> dict[str, Any] | None:
    """Scored choices beside written answers to the same items, language by language.

    Returns:
        None where the two modes share no language, or do not name answers alike.
    """
    languages = [name for name in choice.columns if name in generation.columns]
    tables = {
        language: match(
            {"choice": choice.columns[language], "generation": generation.columns[language]},
            alignment,
        )
        for language in languages
    }
    alike = all(a.gold == b.gold for table in tables.values() for a, b in table.cells)
    if not languages or not alike:
        return None
    rows = {language: _mode_row(table) for language, table in tables.items()}
    correct(row["difference"] for row in rows.values())
    return {
        "choice": choice.id,
        "generation": generation.id,
        "languages": rows,
        "agreement": estimate_of(_pooled(tables)),
    }


def _mode_row(table: Table) -> dict[str, Any]:
    labels = table.labels()
    codes, right = table.codes(labels), table.right()
    choice, text = right[:, 0], right[:, 1]
    states = [row[1].state for row in table.cells]
    return {
        "items": len(table.items),
        "unreadable": states.count("unreadable"),
        "failed": sum("failed" in (a.state, b.state) for a, b in table.cells),
        "agreement": estimate_of(
            agreement.share(table.items, agreement.same_answer(codes[:, 0], codes[:, 1]))
        ),
        "kappa": estimate_of(agreement.cohen_kappa(table.items, codes[:, 0], codes[:, 1])),
        "right_both": int(((choice == 1) & (text == 1)).sum()),
        "right_choice_only": int(((choice == 1) & (text == 0)).sum()),
        "right_generation_only": int(((choice == 0) & (text == 1)).sum()),
        "right_neither": int(((choice == 0) & (text == 0)).sum()),
        "difference": difference(table.items, choice, text),
    }


def _pooled(tables: Mapping[str, Table]) -> Measured:
    """Agreement of the modes over all languages; an item is one draw, however many ask it."""
    import numpy as np

    names: list[str] = []
    clusters: list[str] = []
    values: list[float] = []
    for language, table in tables.items():
        codes = table.codes(table.labels())
        same = agreement.same_answer(codes[:, 0], codes[:, 1])
        for item, value in zip(table.items, same, strict=True):
            if not np.isnan(value):
                names.append(f"{language} {item}")
                clusters.append(item)
                values.append(float(value))
    features = np.stack([np.array(values, dtype=np.float64), np.ones(len(values))], axis=1)
    return agreement.ratio(names, features, clusters, linear=True)
