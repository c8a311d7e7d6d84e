"""Every estimate of consistency, as one plain document that JSON can hold.

Joins tables of answers with the statistics; knows neither runs nor how anything is shown.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from itertools import combinations
from typing import TYPE_CHECKING, Any

from tenbin.analysis.consistency.columns import AnswerSet, position_of
from tenbin.analysis.consistency.items import Table, match
from tenbin.statistics import agreement
from tenbin.statistics.alignment import Alignment
from tenbin.statistics.intervals import Estimate, estimate, t_quantile
from tenbin.statistics.measured import Measured
from tenbin.statistics.paired import Comparison, compare, holm
from tenbin.statistics.position import position_bias
from tenbin.statistics.power import interval_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Codes = NDArray[np.intp]
    Right = NDArray[np.float64]

SEED = 1234
"""Of every resample and draw: the same runs give the same document."""


def measure_set(
    answer_set: AnswerSet, alignment: Alignment, reference: str | None
) -> dict[str, Any]:
    """One set: its languages against each other, against the gold answers and against chance.

    Args:
        answer_set: Two or more languages.
        alignment: Which rows hold the same item.
        reference: The language that gaps are measured from; None, or not in the set: no gaps.
    """
    table = match(answer_set.columns, alignment)
    labels = table.labels()
    codes, right = table.codes(labels), table.right()
    return {
        "family": answer_set.family,
        "kind": answer_set.kind,
        "metrics": sorted({column.metric for column in answer_set.columns.values()}),
        "languages": list(table.names),
        "items": len(table.items),
        "items_not_asked_everywhere": table.partial,
        "answers": _answers(table, right),
        "pairs": _pairs(table, codes),
        "agreement": _mean_agreement(table, codes),
        "alpha": estimate_of(agreement.krippendorff_alpha(table.items, codes)),
        **_everywhere(table, codes, right),
        "gaps": _gaps(table, right, reference),
        "positions": _positions(table),
        "flips": _flips(table, codes, labels),
        "reach": _reach(len(table.items)),
    }


def estimate_of(found: Measured | None) -> dict[str, Any] | None:
    """A share or coefficient with its interval; None stays None: it is undefined."""
    return None if found is None else _written(estimate(found, SEED))


def _written(found: Estimate | Comparison) -> dict[str, Any]:
    return {**asdict(found), **interval_of(found)}


def _answers(table: Table, right: Right) -> dict[str, Any]:
    """What became of each language's questions."""
    found = {}
    for at, name in enumerate(table.names):
        states = [row[at].state for row in table.cells]
        found[name] = {
            "read": states.count("read"),
            "unreadable": states.count("unreadable"),
            "failed": states.count("failed"),
            "accuracy": estimate_of(agreement.share(table.items, right[:, at])),
        }
    return found


def _pairs(table: Table, codes: Codes) -> list[dict[str, Any]]:
    found = []
    for a, b in combinations(range(len(table.names)), 2):
        first, second = codes[:, a], codes[:, b]
        same = agreement.share(table.items, agreement.same_answer(first, second))
        found.append(
            {
                "languages": [table.names[a], table.names[b]],
                "agreement": estimate_of(same),
                "kappa": estimate_of(agreement.cohen_kappa(table.items, first, second)),
            }
        )
    return found


def _mean_agreement(table: Table, codes: Codes) -> dict[str, Any]:
    """How often two languages, taken at random, agree; items count by the pairs they have."""
    import numpy as np

    pairs = list(combinations(range(len(table.names)), 2))
    same = np.stack([agreement.same_answer(codes[:, a], codes[:, b]) for a, b in pairs], axis=1)
    answered = (~np.isnan(same)).sum(axis=1)
    counted = answered > 0
    features = np.stack([np.nansum(same, axis=1), answered], axis=1).astype(np.float64)
    names = [item for item, one in zip(table.items, counted, strict=True) if one]
    found = estimate(agreement.ratio(names, features[counted]), SEED)
    expected = [agreement.same_by_chance(codes[:, pair]) for pair in pairs]
    known = [value for value in expected if value is not None]
    return {**_written(found), "by_chance": sum(known) / len(known) if known else None}


def _everywhere(table: Table, codes: Codes, right: Right) -> dict[str, Any]:
    """What holds in all languages at once, and how often it would by chance alone."""
    import numpy as np

    whole = ~np.isnan(right).any(axis=1)
    accuracy = right[whole].mean(axis=0) if whole.any() else np.zeros(len(table.names))
    shares = {
        "same_everywhere": (agreement.same_in_all(codes), agreement.same_by_chance(codes)),
        "right_everywhere": (
            np.where(whole, (right == 1).all(axis=1).astype(float), np.nan),
            float(accuracy.prod()),
        ),
        "right_nowhere": (
            np.where(whole, (right == 0).all(axis=1).astype(float), np.nan),
            float((1 - accuracy).prod()),
        ),
    }
    return {
        name: {**_written(estimate(agreement.share(table.items, holds), SEED)), "by_chance": chance}
        for name, (holds, chance) in shares.items()
    }


def _gaps(table: Table, right: Right, reference: str | None) -> dict[str, Any] | None:
    if reference not in table.names:
        return None
    base = right[:, table.names.index(reference)]
    others = [at for at, name in enumerate(table.names) if name != reference]
    rows = {table.names[at]: difference(table.items, base, right[:, at]) for at in others}
    correct(rows.values())
    return rows


def correct(rows: Iterable[dict[str, Any] | None]) -> None:
    """Add the p-values that hold for all rows together."""
    tested = [row for row in rows if row is not None]
    for row, p_value in zip(tested, holm([row["p_value"] for row in tested]), strict=True):
        row["p_holm"] = p_value


def difference(items: Sequence[str], baseline: Right, other: Right) -> dict[str, Any] | None:
    """Accuracy beyond the baseline's; None where no item was scored on both sides."""
    import numpy as np

    if np.isnan(baseline + other).all():
        return None
    found = compare(agreement.share(items, baseline), agreement.share(items, other), SEED)
    written = _written(found)
    return {**written, "detectable": None if "reason" in written else found.detectable}


def _positions(table: Table) -> dict[str, Any] | None:
    """Which choice is taken how often; None where answers are no choices."""
    golds = [position_of(row[0].gold) for row in table.cells]
    chosen = [[position_of(a.label) if a.label else None for a in row] for row in table.cells]
    lettered = all(
        at is not None or answer.label is None
        for places, row in zip(chosen, table.cells, strict=True)
        for at, answer in zip(places, row, strict=True)
    )
    if not lettered or any(gold is None for gold in golds):
        return None
    # A prompt for text does not store what it offered: four is the rule where letters are read.
    letters = max([3, *(g for g in golds if g), *(at for row in chosen for at in row if at)]) + 1
    rows = {}
    for column, name in enumerate(table.names):
        answered = [
            (places[column], gold, cells[column].offered or letters)
            for places, gold, cells in zip(chosen, golds, table.cells, strict=True)
            if places[column] is not None
        ]
        if answered:
            taken, gold, offered = zip(*answered, strict=True)
            rows[name] = asdict(position_bias(taken, gold, offered, SEED))
    correct(rows.values())
    return rows


def _flips(table: Table, codes: Codes, labels: Sequence[str]) -> list[dict[str, Any]]:
    """The items that not all languages answer alike, the most scattered first."""
    return [
        {
            "item": table.items[flip.at],
            "gold": table.cells[flip.at][0].gold,
            "distinct": flip.distinct,
            "entropy": flip.entropy,
            "right": sum(bool(answer.right) for answer in table.cells[flip.at]),
            "answers": {
                name: answer.label
                for name, answer in zip(table.names, table.cells[flip.at], strict=True)
            },
            "failed": [
                name
                for name, answer in zip(table.names, table.cells[flip.at], strict=True)
                if answer.state == "failed"
            ],
        }
        for flip in agreement.flips(codes)
        if flip.distinct > 1
    ]


def _reach(items: int) -> dict[str, Any]:
    """What so many items can show of one language, at the least certain accuracy, one half.

    A share lies within one half of one half, whatever was seen: an interval that is no narrower
    says nothing. That is so for fewer than seven items.
    """
    half = t_quantile(items - 1) * (0.25 / items) ** 0.5 if items > 1 else math.inf
    if half >= 0.5:
        return {"accuracy_half_width": None, "reason": "too few items"}
    return {"accuracy_half_width": half}
