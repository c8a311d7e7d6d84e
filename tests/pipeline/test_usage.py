"""Tokens and cost: by hand, and only what was counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tenbin.backends.openai.arguments import ServerArguments
from tenbin.backends.openai.pricing import prices_of
from tenbin.errors import ConfigError
from tenbin.pipeline.usage import TokenUsage, usage_entry, usage_of_both
from tenbin.records import Failure, Picked, Response, Rolled, Scores, Text, Usage
from tenbin.report.terminal.run_notes import format_cost, usage_lines

ANSWERS: list[Response] = [
    Text("x", "end", 3, usage=Usage(1000, 200, 400)),
    Scores((-1.0,), (1,), (True,), usage=Usage(500, 3, 0, 4)),
    Picked(0, "generated", "A", usage=Usage(100, 1)),
    Rolled(-3.0, 4, Usage(10, 1)),
    Text("y", "end", 0),
    Failure("server", "HTTP 500"),
]


def spent(answers: list[Response], from_journal: int = 0) -> TokenUsage:
    counted = TokenUsage(from_journal)
    for answer in answers:
        counted.add(answer)
    return counted


PRICES = {"input": 2.0, "output": 10.0, "cached": 0.5, "currency": "USD"}


def test_sums_and_cost_by_hand() -> None:
    entry = usage_entry(spent(ANSWERS, 7), PRICES)
    assert entry is not None
    assert [entry.prompt_tokens, entry.completion_tokens, entry.cached_tokens] == [
        1610, 205, 400,
    ]  # fmt: skip
    assert (entry.calls, entry.answers, entry.not_counted) == (7, 4, 1)
    assert entry.cost == pytest.approx((1210 * 2 + 400 * 0.5 + 205 * 10) / 1e6)
    assert usage_lines(entry) == [
        "usage: 1,610 prompt tokens (400 cached), 205 completion tokens, 7 calls, cost 0.0047 USD, "
        "1 answer not counted by the server, 7 answers from the journal at no cost"
    ]


@pytest.mark.parametrize(
    ("cost", "shown"),
    [(0.0, "0.0000"), (1234.5, "1,234.5000"), (0.00474, "0.0047"), (0.0000321, "0.000032")],
)
def test_a_small_cost_is_not_shown_as_none(cost: float, shown: str) -> None:
    assert format_cost(cost) == shown


def test_what_choosing_took_is_part_of_what_the_run_took() -> None:
    first = usage_entry(spent(ANSWERS, 7), PRICES)
    second = usage_entry(spent(ANSWERS[:1], 1), PRICES)
    assert first is not None and second is not None
    both = usage_of_both(first, second)
    assert first.cost is not None and second.cost is not None and both is not None
    assert both.to_json() == {
        "prompt_tokens": 2610, "completion_tokens": 405, "cached_tokens": 800, "calls": 8,
        "answers": 5, "not_counted": 1, "from_journal": 8,
        "cost": pytest.approx(first.cost + second.cost), "prices": PRICES,
    }  # fmt: skip
    assert usage_of_both(None, second) == usage_of_both(second, None) == second
    assert usage_of_both(None, None) is None


def test_cached_tokens_without_a_price_cost_what_others_do() -> None:
    entry = usage_entry(spent(ANSWERS, 0), {**PRICES, "cached": None})
    assert entry is not None
    assert entry.cost == pytest.approx((1610 * 2 + 205 * 10) / 1e6)


def test_nothing_is_made_up() -> None:
    assert usage_entry(spent([Text("x", "end", 3)], 0), None) is None
    entry = usage_entry(spent(ANSWERS, 0), None)
    assert entry is not None
    assert entry.cost is None
    assert usage_lines(None) == []


def test_a_table_of_prices(tmp_path: Path) -> None:
    table = tmp_path / "prices.yaml"
    table.write_text("gpt-small: {input: 0.5, output: 2}\nlocal: {input: 0, output: 0}\n")
    arguments = ServerArguments("http://x/v1", prices=str(table), currency="EUR")
    expected: dict[str, Any] = {"input": 0.5, "output": 2, "cached": None, "currency": "EUR"}
    assert prices_of(arguments, "gpt-small") == expected
    with pytest.raises(ConfigError, match="did you mean 'gpt-small'"):
        prices_of(arguments, "gpt-smal")
    assert prices_of(ServerArguments("http://x/v1"), "m") is None
    given = ServerArguments("http://x/v1", price_input=1.0, price_output=2.0)
    assert prices_of(given, "m") == {"input": 1.0, "output": 2.0, "cached": None, "currency": None}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("m: {input: 1}", "output is missing"),
        ("m: {input: 1, output: cheap}", "not a number"),
        ("m: {input: 1, output: -1}", "not a number"),
        ("m: {input: 1, output: 1, reading: 2}", "unknown reading"),
        ("m: 3", "give input, output"),
        ("[1, 2]", "maps models"),
        ("{", "not valid YAML"),
    ],
)
def test_faults_of_a_table_are_named(tmp_path: Path, text: str, reason: str) -> None:
    table = tmp_path / "prices.yaml"
    table.write_text(text)
    with pytest.raises(ConfigError, match=reason):
        prices_of(ServerArguments("http://x/v1", prices=str(table)), "m")
    with pytest.raises(ConfigError, match="No such file"):
        prices_of(ServerArguments("http://x/v1", prices=str(tmp_path / "none.yaml")), "m")
