"""What a log says while a run goes on."""

from __future__ import annotations

import pytest

from tenbin.report import progress


class Clock:
    """Time that passes when told to."""

    now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    return clock


def test_estimates_count_from_the_first_answer(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = progress.LineProgress()
    lines.start(5, 50.0)
    clock.now += 60.0  # the model is loaded
    lines.advance(10.0)
    clock.now += 20.0
    lines.advance(10.0)
    clock.now += 20.0
    lines.advance(10.0)
    lines.finish()
    said = [line.removeprefix("tenbin: ") for line in capsys.readouterr().err.splitlines()]
    assert said == [
        "asking 5 times, as soon as the model is ready",
        "1 of 5 answered",
        "2 of 5 answered, about 1 min 00 s left",
        "3 of 5 answered, about 40 s left",
        "3 of 5 answered in 40 s",
    ]


def test_a_batch_that_came_at_once_shows_no_pace(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = progress.LineProgress()
    lines.start(100, 100.0)
    clock.now += 14.5
    for _ in range(10):
        lines.advance(1.0)
    clock.now += 1.0
    lines.advance(1.0)
    assert capsys.readouterr().err.splitlines()[-1] == "tenbin: 11 of 100 answered"


def test_a_second_round_counts_anew(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    lines = progress.LineProgress()
    for total in (3, 2):
        lines.start(total, float(total))
        for _ in range(total):
            lines.advance(1.0)
        lines.finish()
    said = capsys.readouterr().err
    assert "3 of 3 answered" in said and "2 of 2 answered" in said
