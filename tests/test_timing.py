"""Where time goes: stages that add up, also through generators, and nothing outside."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from tenbin import timing
from tenbin.timing import counting_from, stage, timed


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(timing.time, "perf_counter", lambda: now[0])
    return now


def test_a_stage_inside_another_is_counted_by_itself(clock: list[float]) -> None:
    with timed() as found:
        clock[0] += 1
        with stage("data"):
            clock[0] += 2
            with stage("prompts"):
                clock[0] += 4
            clock[0] += 8
    assert found.seconds == {"data": 10, "prompts": 4, "other": 1}
    assert list(found.seconds) == ["data", "prompts", "other"]


def test_a_generator_counts_for_itself_only(clock: list[float]) -> None:
    def answers() -> Iterator[int]:
        with stage("scoring"):
            for number in range(3):
                clock[0] += 1
                yield number

    with timed() as found, stage("model"):
        for _ in answers():
            with stage("journal"):
                clock[0] += 10
        clock[0] += 100
    assert found.seconds == {"scoring": 3, "model": 100, "journal": 30}


def test_functions_and_errors(clock: list[float]) -> None:
    @stage("tasks")
    def fail() -> None:
        clock[0] += 5
        raise ValueError

    with timed() as found:
        with pytest.raises(ValueError):
            fail()
        clock[0] += 1
    assert found.seconds == {"tasks": 5, "other": 1}


def test_a_command_counts_from_its_start_once(clock: list[float]) -> None:
    with counting_from(clock[0] - 3):
        with timed() as outer, timed() as inner:
            assert inner is outer
            clock[0] += 1
        assert outer.seconds == {"start": 3, "other": 1}
        with timed() as second:
            clock[0] += 1
        assert second.seconds == {"other": 1}
    with counting_from(clock[0]):
        pass
    with timed() as later:
        clock[0] += 1
    assert later.seconds == {"other": 1}


def test_other_threads_and_code_outside_are_not_counted(clock: list[float]) -> None:
    def work() -> None:
        with stage("scoring"):
            clock[0] += 2

    work()
    with timed() as found:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert found.seconds == {"other": 2}
