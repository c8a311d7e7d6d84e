"""Counting on the way: nothing is changed, and whoever waits is told now and then."""

from __future__ import annotations

from tenbin.pipeline.progress import ProgressCounter


def test_items_go_through_and_are_told_of() -> None:
    told: list[tuple[str, int, int]] = []
    counted = ProgressCounter(lambda *said: told.append(said), "judging", 1_200)
    assert list(counted.through(range(700))) == list(range(700))
    assert list(counted.through(range(500))) == list(range(500))
    assert told == [("judging", done, 1_200) for done in (500, 1_000, 1_200)]
