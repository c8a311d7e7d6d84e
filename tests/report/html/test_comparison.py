"""Every pair of runs, as far as they go together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tenbin.report.html import comparison
from tenbin.report.html.alignment import align_tasks
from tenbin.report.html.build import build_page
from tenbin.report.html.comparison import review_differences
from tenbin.report.html.model import PageComparison
from tenbin.report.html.sample_blocks import Blocks
from tenbin.results.read import StoredRun, read_run
from tests.report.made_run import choice_row, choice_run, config, result, write


def run(folder: Path, ids: tuple[str, ...], lost: int = 0, **others: Any) -> StoredRun:
    """Forty documents of each task, of which the first `lost` right ones are wrong."""
    rows = []
    for id in ids:
        made = [choice_row(id, at, **others) for at in range(40)]
        for row in [row for row in made if row["outcomes"][0]["value"] == 1.0][:lost]:
            row["outcomes"] = choice_row(id, 2)["outcomes"]
        rows += made
    return read_run(write(folder, result({id: config(id) for id in ids}, rows), rows))


def compared(*runs: StoredRun) -> PageComparison:
    names = [f"run {at}" for at in range(len(runs))]
    aligned = align_tasks([one.result for one in runs])
    found = review_differences(runs, names, aligned, Blocks())
    assert found is not None
    return found


def test_every_pair_is_compared(tmp_path: Path) -> None:
    runs = [run(tmp_path / str(lost), ("a",), lost) for lost in (0, 3, 5)]
    found = compared(*runs)
    assert found.every_pair
    assert [(pair.first, pair.second) for pair in found.pairs] == [(0, 1), (0, 2), (1, 2)]
    losses = [pair.comparisons[0].score.losses for pair in found.pairs]
    assert losses == [3, 5, 2]


def test_p_values_are_corrected_for_all_comparisons_with_a_baseline(tmp_path: Path) -> None:
    runs = [run(tmp_path / str(lost), ("a",), lost) for lost in (0, 8, 9)]
    first, second, third = (pair.comparisons[0] for pair in compared(*runs).pairs)
    # With run 0 as the baseline there are two comparisons, of which the smaller counts twice.
    assert second.score.p_value < first.score.p_value
    assert second.score.p_holm == pytest.approx(2 * second.score.p_value)
    # With run 2 as the baseline, the comparisons are 0 and 2, and 1 and 2.
    assert second.p_holm_turned == pytest.approx(2 * second.score.p_value)
    assert third.p_holm_turned == pytest.approx(third.score.p_value)


def test_one_task_that_is_not_comparable_does_not_hide_the_others(tmp_path: Path) -> None:
    one, two = run(tmp_path / "one", ("a", "b")), run(tmp_path / "two", ("a",))
    rows = [choice_row(id, at) for id in ("a", "b") for at in range(40)]
    for row in rows[40:]:
        row |= {"prompt": "anders", "parts": [0]}
    other = write(tmp_path / "three", result({id: config(id) for id in ("a", "b")}, rows), rows)
    pairs = compared(one, two, read_run(other)).pairs
    assert [row.score.other.id for row in pairs[1].comparisons] == ["a"]
    (refused,) = pairs[1].refused
    assert refused.first == "b" and refused.reasons[0].startswith("prompts: 40 of 40")
    assert pairs[0].only_first == ["b"] and pairs[0].only_second == []


def test_runs_without_a_common_task_have_an_empty_pair(tmp_path: Path) -> None:
    (pair,) = compared(run(tmp_path / "one", ("a",)), run(tmp_path / "two", ("b",))).pairs
    assert (list(pair.comparisons), pair.error) == ([], None)
    assert (pair.only_first, pair.only_second) == (["a"], ["b"])


def test_very_many_runs_are_compared_with_the_first_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparison, "MOST_PAIRS", 2)
    found = compared(*(run(tmp_path / str(lost), ("a",), lost) for lost in range(3)))
    assert not found.every_pair
    assert [(pair.first, pair.second) for pair in found.pairs] == [(0, 1), (0, 2)]


def test_a_single_run_is_not_compared(tmp_path: Path) -> None:
    assert review_differences([run(tmp_path / "a", ("a",))], ["a"], [], Blocks()) is None


def test_the_steps_of_a_page_are_told(tmp_path: Path) -> None:
    told: list[tuple[str, int, int, str]] = []
    runs = [read_run(choice_run(tmp_path / name, 5)) for name in "abc"]
    build_page(runs, watch=lambda *step: told.append(step))
    assert [step for step in told if step[3] == "runs"] == [
        ("packing documents", number, 3, "runs") for number in (1, 2, 3)
    ]
    assert ("comparing", 3, 3, "pairs of runs") in told
    assert told[-1][0] == "drawing" and told[-1][1] == told[-1][2] > 0
