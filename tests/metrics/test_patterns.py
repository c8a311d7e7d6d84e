"""Explaining how answers were read ends soon, whatever patterns a stored run brings."""

from __future__ import annotations

from typing import Any

import pytest

from tenbin.metrics import filters, patterns, steps
from tenbin.metrics.patterns import TimeBudget
from tenbin.sandbox import patterns as sandbox

SLOW = r"(a|aa)+$"
HOSTILE = "a" * 60 + "b"


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The patterns that are tried, each time they are."""
    tried: list[str] = []
    honest = steps.find_all

    def counted(source: str, text: str) -> Any:
        tried.append(source)
        return honest(source, text)

    monkeypatch.setattr(steps, "find_all", counted)
    monkeypatch.setattr(sandbox, "SECONDS", 0.1)
    return tried


def chain(*sources: str) -> tuple[tuple[str, dict[str, str]], ...]:
    return tuple(("regex", {"regex_pattern": source}) for source in sources)


def test_a_slow_pattern_is_tried_once(calls: list[str]) -> None:
    shared = TimeBudget()
    for at in range(50):
        (told,) = filters.explain(chain(SLOW), HOSTILE + str(at), "en", None, shared)
        assert (told.name, told.text, told.too_slow) == ("regex", None, True)
    assert calls == [SLOW]


def test_others_and_texts_that_it_is_surely_fast_on_are_explained(calls: list[str]) -> None:
    shared = TimeBudget()
    filters.explain(chain(SLOW), HOSTILE, "en", None, shared)
    (other,) = filters.explain(chain(r"b.*"), HOSTILE, "en", None, shared)
    assert other.text == "b" and not other.too_slow
    (nothing,) = filters.explain(chain(r"c+"), HOSTILE, "en", None, shared)
    assert nothing.text is None and not nothing.too_slow
    cubic = chain(r"a*a*a*[cd]")
    (long,) = filters.explain(cubic, "a" * 5_000 + "bc", "en", None, shared)
    (short,) = filters.explain(cubic, "aac", "en", None, shared)
    assert long.too_slow and (short.text, short.too_slow) == ("aac", False)


def test_many_slow_patterns_end_together(calls: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "SECONDS_IN_ALL", 0.25)
    shared = TimeBudget()
    for at in range(40):
        (told,) = filters.explain(chain(f"{SLOW[:-1]}{at}$"), HOSTILE, "en", None, shared)
        assert told.too_slow
    assert len(calls) <= 3


def test_a_pattern_that_is_slow_within_its_limit_is_not_tried_again(
    calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its first reading is shown; a thousand of them would take as long as timeouts do."""
    monkeypatch.setattr(patterns, "SLOW_SECONDS", -1.0)
    shared = TimeBudget()
    text = "a" * 2_000
    told = [filters.explain(chain(r"(a|aa)+"), text, "en", None, shared)[0] for _ in range(3)]
    assert [one.too_slow for one in told] == [False, True, True]
    assert told[0].text is not None and len(calls) == 1
