"""What may be said about a server, and what is refused before anything is asked."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest

from tenbin.backends.openai.arguments import read_arguments
from tenbin.backends.openai.concurrency import AdaptiveLimit, Slot
from tenbin.backends.openai.retry import RetryPolicy, retry_after
from tenbin.backends.openai.secret import Secret, read_secret
from tenbin.errors import ConfigError

URL = "http://127.0.0.1:8000/v1"


def test_values_are_coerced() -> None:
    found = read_arguments(
        {"base_url": f"{URL}/", "concurrency": "8", "timeout": "2.5", "retries": "0"}, False
    )
    assert (found.base_url, found.concurrency, found.timeout, found.retries) == (URL, 8, 2.5, 0)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "address is not known"),
        ({"base_url": "127.0.0.1:8000"}, "not an address"),
        ({"base_url": URL, "concurency": 3}, "did you mean 'concurrency'"),
        ({"base_url": URL, "concurrency": 0}, "concurrency=0 is not a whole number above 0"),
        ({"base_url": URL, "retries": "-1"}, "retries='-1' is not a whole number of 0 or more"),
        ({"base_url": URL, "timeout": "soon"}, "timeout='soon' is not a number above 0"),
        ({"base_url": URL, "timeout": 0}, "timeout=0 is not a number above 0"),
        ({"base_url": URL, "timeout": "nan"}, "not a number above 0"),
        ({"base_url": URL, "price_input": "-1"}, "price_input='-1' is not a number of 0 or more"),
        ({"base_url": URL, "currency": "USD"}, "currency alone gives no cost"),
        ({"base_url": URL, "logprobs": "maybe"}, "none of auto, never"),
        ({"base_url": f"{URL}?key=1"}, "ends in"),
        ({"base_url": URL, "price_input": 1}, "both price_input and price_output"),
        ({"base_url": URL, "price_cached": 1}, "price_cached alone"),
        ({"base_url": URL, "prices": "f", "price_input": 1, "price_output": 1}, "names a file"),
    ],
)
def test_what_is_wrong_is_named(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        read_arguments(given, False)
    assert message in str(raised.value)


def test_choices_by_letter_need_no_saying_in_a_chat() -> None:
    assert read_arguments({"base_url": URL, "choices": "letters"}, False).choices == "letters"
    with pytest.raises(ConfigError, match="always names letters"):
        read_arguments({"base_url": URL, "choices": "letters"}, True)


@pytest.mark.parametrize(
    "given",
    [
        {"base_url": URL, "api_key": "sk-secret"},
        {"base_url": "http://me:sk-secret@127.0.0.1:8000/v1"},
        {"base_url": "me:sk-secret@127.0.0.1"},
    ],
)
def test_secrets_on_the_command_line_are_refused_without_repeating_them(
    given: dict[str, Any],
) -> None:
    with pytest.raises(ConfigError) as raised:
        read_arguments(given, False)
    assert "sk-secret" not in str(raised.value)


def test_the_key_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert not read_secret(None)
    monkeypatch.setenv("OPENAI_API_KEY", " sk-usual \n")
    assert read_secret(None).headers() == {"Authorization": "Bearer sk-usual"}
    with pytest.raises(ConfigError, match="no such variable"):
        read_secret("NOT_SET_ANYWHERE")
    monkeypatch.setenv("OTHER", "sk-öther")
    with pytest.raises(ConfigError) as raised:
        read_secret("OTHER")
    assert "öther" not in str(raised.value)
    assert "sk" not in repr(Secret("sk-secret"))


@pytest.mark.parametrize(
    "address",
    ["http://127.0.0.1:99999/v1", "http://127.0.0.1:x/v1", "http://[::1/v1", "http:///v1"],
)
def test_an_address_that_is_none_is_refused_before_anything_is_sent(address: str) -> None:
    with pytest.raises(ConfigError, match="base_url"):
        read_arguments({"base_url": address}, False)


def test_a_short_key_is_taken_out_of_errors_and_left_in_answers() -> None:
    secret = Secret("EMPTY")
    assert secret.scrubbed("key EMPTY refused") == "key [key] refused"
    assert secret.scrubbed_answer("the set is EMPTY") == "the set is EMPTY"


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("3", 3.0),
        ("0.5", 0.5),
        ("-1", 0.0),
        ("Mon, 01 Jan 2024 00:00:10 GMT", 10.0),
        ("Sun, 31 Dec 2023 00:00:00 GMT", 0.0),
        ("soon", None),
        ("inf", None),
        ("nan", None),
        ("", None),
    ],
)
def test_retry_after(written: str, seconds: float | None) -> None:
    now = datetime(2024, 1, 1, tzinfo=timezone.utc)
    assert retry_after({"retry-after": written}, now) == seconds


def test_waits_double_spread_and_never_undercut_the_server() -> None:
    policy = RetryPolicy(9, first=1.0, longest=10.0)
    waits = [policy.delay_before(attempt, None) for attempt in range(1, 9)]
    for wait, full in zip(waits, (1, 2, 4, 8, 10, 10, 10, 10), strict=True):
        assert full / 2 <= wait <= full
    assert len(set(waits)) == len(waits)
    again = RetryPolicy(9, first=1.0, longest=10.0)
    assert waits == [again.delay_before(attempt, None) for attempt in range(1, 9)]
    assert policy.delay_before(1, 7.0) >= 7.0


def test_the_limit_grows_and_halves_once_for_each_burst() -> None:
    now = [0.0]
    limit = AdaptiveLimit(32, clock=lambda: now[0])
    for _ in range(12):
        limit.succeeded()
    assert limit.current == 16
    calls = [Slot(now[0]) for _ in range(5)]
    now[0] = 1.0
    for call in calls:
        limit.overloaded(call)
    assert (limit.current, limit.cuts) == (8, 1)
    now[0] = 2.0
    late = Slot(now[0])
    now[0] = 3.0
    limit.overloaded(late)
    assert (limit.current, limit.cuts) == (4, 2)
    for _ in range(4):
        limit.succeeded()
    assert 4.8 < limit.current <= 5
    for number in range(9):
        now[0] = 10.0 + number
        call = Slot(now[0])
        now[0] += 0.5
        limit.overloaded(call)
    assert limit.current == 1
