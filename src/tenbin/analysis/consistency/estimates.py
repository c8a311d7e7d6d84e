"""Every estimate of consistency: languages of a set, and choices beside generated answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, TypeVar

from tenbin.analysis.consistency.alignment import Table, match
from tenbin.analysis.consistency.answers import AnswerSet, position_of
from tenbin.analysis.consistency.report import (
    AccuracyGap,
    Flip,
    LanguageAnswers,
    LanguageModes,
    LanguagePair,
    ModesReport,
    PositionHabit,
    Reach,
    SetReport,
    Share,
    ShareByChance,
)
from tenbin.analysis.paired import shown_fields
from tenbin.statistics import agreement
from tenbin.statistics.alignment import Alignment
from tenbin.statistics.intervals import Estimate, estimate, wilson_interval
from tenbin.statistics.measured import Measured
from tenbin.statistics.paired import compare, holm
from tenbin.statistics.position import position_bias
from tenbin.statistics.power import FEWEST, interval_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Codes = NDArray[np.intp]
    Right = NDArray[np.float64]

SEED = 1234
"""Of every resample, so that the same runs give the same report."""

Tested = TypeVar("Tested", AccuracyGap, PositionHabit)


def measure_set(answer_set: AnswerSet, alignment: Alignment, reference: str | None) -> SetReport:
    """One set: its languages against each other, against the gold answers and against chance.

    Args:
        answer_set: Two or more languages.
        alignment: Which rows hold the same item.
        reference: The language that gaps are measured from; if None, or not in the set, no gaps.
    """
    table = match(answer_set.columns, alignment)
    labels = table.labels()
    codes, right = table.codes(labels), table.right()
    everywhere = _everywhere(table, codes, right)
    return SetReport(
        family=answer_set.family,
        kind=answer_set.kind,
        metrics=tuple(sorted({column.metric for column in answer_set.columns.values()})),
        languages=table.names,
        items=len(table.items),
        items_not_asked_everywhere=table.partial,
        answers=_answers(table, right),
        pairs=_pairs(table, codes),
        agreement=_mean_agreement(table, codes),
        alpha=_share(agreement.krippendorff_alpha(table.items, codes)),
        same_everywhere=everywhere[0],
        right_everywhere=everywhere[1],
        right_nowhere=everywhere[2],
        gaps=_gaps(table, right, reference),
        positions=_positions(table),
        flips=_flips(table, codes),
        reach=_reach(len(table.items)),
        compares=None if answer_set.compares == "answers" else answer_set.compares,
    )


def _share(found: Measured | None) -> Share | None:
    """A share or coefficient with its interval; None if it is undefined."""
    return None if found is None else Share(*_withheld(estimate(found, SEED)))


def _by_chance(found: Measured, chance: float | None) -> ShareByChance:
    return ShareByChance(*_withheld(estimate(found, SEED)), by_chance=chance)


def _withheld(
    found: Estimate,
) -> tuple[float | None, float | None, float | None, float | None, int, int, str, str | None]:
    """The fields of a `Share`: without an interval, but with a reason, for too few clusters."""
    interval = interval_of(found)
    return (
        found.value,
        found.stderr,
        interval.low,
        interval.high,
        found.n,
        found.clusters,
        found.method,
        interval.reason,
    )


def _answers(table: Table, right: Right) -> dict[str, LanguageAnswers]:
    """What became of each language's questions."""
    found = {}
    for at, name in enumerate(table.names):
        states = [row[at].state for row in table.cells]
        found[name] = LanguageAnswers(
            read=states.count("read"),
            unreadable=states.count("unreadable"),
            failed=states.count("failed"),
            accuracy=_share(agreement.share(table.items, right[:, at])),
        )
    return found


def _pairs(table: Table, codes: Codes) -> tuple[LanguagePair, ...]:
    found = []
    for a, b in combinations(range(len(table.names)), 2):
        first, second = codes[:, a], codes[:, b]
        same = agreement.share(table.items, agreement.same_answer(first, second))
        kappa = agreement.cohen_kappa(table.items, first, second)
        found.append(LanguagePair((table.names[a], table.names[b]), _share(same), _share(kappa)))
    return tuple(found)


def _mean_agreement(table: Table, codes: Codes) -> ShareByChance:
    """How often two languages, taken at random, agree; items count by the pairs they have."""
    import numpy as np

    pairs = list(combinations(range(len(table.names)), 2))
    same = np.stack([agreement.same_answer(codes[:, a], codes[:, b]) for a, b in pairs], axis=1)
    answered = (~np.isnan(same)).sum(axis=1)
    counted = answered > 0
    features = np.stack([np.nansum(same, axis=1), answered], axis=1).astype(np.float64)
    names = [item for item, one in zip(table.items, counted, strict=True) if one]
    expected = [agreement.same_by_chance(codes[:, pair]) for pair in pairs]
    known = [value for value in expected if value is not None]
    found = agreement.ratio(names, features[counted])
    return _by_chance(found, sum(known) / len(known) if known else None)


def _everywhere(
    table: Table, codes: Codes, right: Right
) -> tuple[ShareByChance, ShareByChance, ShareByChance]:
    """Items answered alike, right, and wrong in all languages, beside chance alone."""
    import numpy as np

    whole = ~np.isnan(right).any(axis=1)
    accuracy = right[whole].mean(axis=0) if whole.any() else np.zeros(len(table.names))
    all_right = np.where(whole, (right == 1).all(axis=1).astype(float), np.nan)
    none_right = np.where(whole, (right == 0).all(axis=1).astype(float), np.nan)

    def shared(holds: Right, chance: float | None) -> ShareByChance:
        return _by_chance(agreement.share(table.items, holds), chance)

    return (
        shared(agreement.same_in_all(codes), agreement.same_by_chance(codes)),
        shared(all_right, float(accuracy.prod())),
        shared(none_right, float((1 - accuracy).prod())),
    )


def _gaps(
    table: Table, right: Right, reference: str | None
) -> dict[str, AccuracyGap | None] | None:
    if reference not in table.names:
        return None
    base = right[:, table.names.index(reference)]
    others = [at for at, name in enumerate(table.names) if name != reference]
    found = {table.names[at]: _gap(table.items, base, right[:, at]) for at in others}
    return {**found, **_corrected(found)}


def _corrected(found: Mapping[str, Tested | None]) -> dict[str, Tested]:
    """Those that were tested, with the p-values that hold for all of them together."""
    tested = {name: one for name, one in found.items() if one is not None}
    p_values = holm([one.p_value for one in tested.values()])
    return {
        name: replace(one, p_holm=p_holm)
        for (name, one), p_holm in zip(tested.items(), p_values, strict=True)
    }


def _gap(items: Sequence[str], baseline: Right, other: Right) -> AccuracyGap | None:
    """Accuracy less the baseline's; None if no item was scored on both sides."""
    import numpy as np

    if np.isnan(baseline + other).all():
        return None
    found = compare(agreement.share(items, baseline), agreement.share(items, other), SEED)
    return AccuracyGap(**shown_fields(found))


def _positions(table: Table) -> dict[str, PositionHabit] | None:
    """Which choice is taken how often; None if answers are not choices."""
    golds = [position_of(row[0].gold) for row in table.cells]
    chosen = [[position_of(a.label) if a.label else None for a in row] for row in table.cells]
    lettered = all(
        at is not None or answer.label is None
        for places, row in zip(chosen, table.cells, strict=True)
        for at, answer in zip(places, row, strict=True)
    )
    if not lettered or any(gold is None for gold in golds):
        return None
    # A generation prompt does not store what it offered: four is usual where letters are read.
    letters = max([3, *(g for g in golds if g), *(at for row in chosen for at in row if at)]) + 1
    found: dict[str, PositionHabit] = {}
    for column, name in enumerate(table.names):
        answered = [
            (places[column], gold, cells[column].offered or letters)
            for places, gold, cells in zip(chosen, golds, table.cells, strict=True)
            if places[column] is not None
        ]
        if answered:
            taken, gold, offered = zip(*answered, strict=True)
            bias = position_bias(taken, gold, offered, SEED)
            found[name] = PositionHabit(
                bias.n,
                bias.right,
                bias.chosen,
                bias.gold,
                bias.expected,
                bias.distance,
                bias.chance_distance,
                bias.p_value,
            )
    return _corrected(found)


def _flips(table: Table, codes: Codes) -> tuple[Flip, ...]:
    """The items that not all languages answer alike, the most scattered first."""
    found = []
    for flip in agreement.flips(codes):
        if flip.distinct > 1:
            row = dict(zip(table.names, table.cells[flip.at], strict=True))
            found.append(
                Flip(
                    item=table.items[flip.at],
                    gold=table.cells[flip.at][0].gold,
                    distinct=flip.distinct,
                    entropy=flip.entropy,
                    right=sum(bool(answer.right) for answer in row.values()),
                    answers={name: answer.label for name, answer in row.items()},
                    failed=tuple(n for n, answer in row.items() if answer.state == "failed"),
                )
            )
    return tuple(found)


def _reach(items: int) -> Reach:
    """What so many items can show of one language, at the least certain accuracy, one half.

    Half the width of Wilson's interval, as accuracies have it; none for fewer than five items.
    """
    if items < FEWEST:
        return Reach(None, "too few items")
    low, high = wilson_interval(0.5, 0.5 / (items - 1) ** 0.5, items, items - 1)
    return Reach((high - low) / 2)


def measure_modes(
    choice: AnswerSet, generation: AnswerSet, alignment: Alignment
) -> ModesReport | None:
    """Scored choices beside generated answers to the same items, language by language.

    Returns:
        None if the two modes share no language, or do not name answers alike.
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
    found = {language: _language_modes(table) for language, table in tables.items()}
    gaps = _corrected({language: one.difference for language, one in found.items()})
    return ModesReport(
        choice=choice.id,
        generation=generation.id,
        languages={
            language: replace(one, difference=gaps.get(language)) for language, one in found.items()
        },
        agreement=_share(_pooled(tables)),
    )


def _language_modes(table: Table) -> LanguageModes:
    labels = table.labels()
    codes, right = table.codes(labels), table.right()
    choice, text = right[:, 0], right[:, 1]
    states = [row[1].state for row in table.cells]
    same = agreement.same_answer(codes[:, 0], codes[:, 1])
    return LanguageModes(
        items=len(table.items),
        unreadable=states.count("unreadable"),
        failed=sum("failed" in (a.state, b.state) for a, b in table.cells),
        agreement=_share(agreement.share(table.items, same)),
        kappa=_share(agreement.cohen_kappa(table.items, codes[:, 0], codes[:, 1])),
        right_both=int(((choice == 1) & (text == 1)).sum()),
        right_choice_only=int(((choice == 1) & (text == 0)).sum()),
        right_generation_only=int(((choice == 0) & (text == 1)).sum()),
        right_neither=int(((choice == 0) & (text == 0)).sum()),
        difference=_gap(table.items, choice, text),
    )


def _pooled(tables: Mapping[str, Table]) -> Measured:
    """Agreement of the modes over all languages; all languages of an item are one cluster."""
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
