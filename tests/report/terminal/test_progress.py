"""What a log says while a run goes on."""

from __future__ import annotations

import pytest

from tenbin.report.terminal import progress


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
        "5 requests; waiting for the model to load",
        "1 of 5 answered",
        "2 of 5 answered, about 1 min 00 s left",
        "3 of 5 answered, about 40 s left",
        "3 of 5 answered in 1 min 40 s, the first after 1 min 00 s",
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
    assert "3 of 3 answered in 0 s\n" in said and "2 of 2 answered in 0 s\n" in said


def test_long_work_without_the_model_is_told_of(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = progress.LineProgress()
    for what in ("making prompts", "judging", "judging"):
        for done in range(500, 4_001, 500):
            lines.prepare(what, done, 4_000)
            clock.now += 10.0 if what == "judging" else 0.1
    assert capsys.readouterr().err.splitlines() == [
        "tenbin: judging: 1,000 of 4,000 documents, about 1 min 00 s left",
        "tenbin: judging: 2,000 of 4,000 documents, about 40 s left",
        "tenbin: judging: 3,000 of 4,000 documents, about 20 s left",
        "tenbin: judging: 4,000 documents in 1 min 10 s",
        "tenbin: judging: 1,000 of 4,000 documents, about 1 min 00 s left",
        "tenbin: judging: 2,000 of 4,000 documents, about 40 s left",
        "tenbin: judging: 3,000 of 4,000 documents, about 20 s left",
        "tenbin: judging: 4,000 documents in 1 min 10 s",
    ]


def test_a_terminal_draws_long_work_over_one_line(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    bar = progress.BarProgress()
    for done in range(500, 2_001, 500):
        bar.prepare("judging", done, 2_000)
        clock.now += 3.0
    drawn = capsys.readouterr().err
    lines = [line.rstrip() for line in drawn.replace("\r", "\n").splitlines()]
    assert lines == [
        "tenbin: judging: 1,000 of 2,000 documents, about 6 s left",
        "tenbin: judging: 1,500 of 2,000 documents, about 3 s left",
        "tenbin: judging: 2,000 documents in 9 s",
    ]
    assert drawn.count("\n") == 1
