"""Every way a server can fail, and what becomes of the documents: each is answered exactly once."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from tenbin.errors import BackendError, ConfigError
from tenbin.records import Failure, Generate, Response, Text
from tests.backends.openai.misbehaving import (
    DROPPED,
    Answer,
    Misbehaving,
    Script,
    completion,
    misbehaving,
    opened,
)

KEY = "sk-a-very-secret-key-0123456789"


def asked(count: int) -> list[Generate]:
    return [Generate(f"k{number}", f"prompt {number}", ("\n",), 8) for number in range(count)]


def well(body: Mapping[str, Any]) -> Answer:
    return Answer(completion(f"to {body['prompt']}"))


def answers(
    script: Script, count: int = 12, **arguments: Any
) -> tuple[dict[str, Response], Misbehaving]:
    """All answers by key, after checking that each key came once."""
    with misbehaving(script) as server:
        found = list(opened(server, **arguments).run(asked(count)))
    assert Counter(key for key, _ in found) == {f"k{number}": 1 for number in range(count)}
    return dict(found), server


def assert_all_right(found: Mapping[str, Response], calls: int | None = None) -> None:
    for key, response in found.items():
        assert isinstance(response, Text), response
        assert response.text == f"to prompt {key[1:]}"
        assert response.usage is not None
        assert calls is None or response.usage.calls == calls


def first_time(trouble: Answer) -> Script:
    """Trouble for each prompt once, then a good answer."""
    return lambda before, body: trouble if before == 0 else well(body)


@pytest.mark.parametrize(
    "trouble",
    [
        Answer({"error": {"message": "busy"}}, 500),
        Answer({"error": {"message": "overloaded"}}, 503),
        Answer("conflict", 409),
        Answer("too slow", 408),
        Answer({"error": {"message": "slow down"}}, 429, {"Retry-After": "0"}),
        DROPPED,
        Answer(completion("half"), cut_after=20),
        Answer(raw=b'{"choices": [{"text": "ha'),
        Answer(raw=b"[]"),
        Answer(raw=b"<html>gateway</html>", status=502),
        Answer({"error": {"message": "upstream", "code": 502}}),
    ],
    ids=["500", "503", "409", "408", "429", "dropped", "mid-body", "half-json", "list", "502-html",
         "error-in-200"],
)  # fmt: skip
def test_passing_trouble_is_tried_again(trouble: Answer) -> None:
    found, server = answers(first_time(trouble))
    assert_all_right(found, calls=2)
    assert len(server.calls) == 24


def test_a_slow_drip_ends_at_the_time_limit() -> None:
    drip = Answer(completion("slow"), drip=0.05)
    found, server = answers(first_time(drip), count=4, timeout=0.5)
    assert_all_right(found, calls=2)
    assert len(server.calls) == 8


def test_no_try_left_is_a_failure_that_may_be_tried_again_later() -> None:
    found, server = answers(
        lambda before, body: (
            Answer({"error": {"message": "broken"}}, 500)
            if body["prompt"] == "prompt 3"
            else well(body)
        ),
        retries=2,
    )
    failed = found.pop("k3")
    assert failed == Failure("server", "HTTP 500: broken (3 attempts)", retryable=True)
    assert_all_right(found, calls=1)
    assert len(server.calls) == 11 + 3


def test_one_refused_document_is_its_own_failure_and_is_not_tried_again() -> None:
    words = "top_p must be below 1"
    found, server = answers(
        lambda before, body: (
            Answer({"error": {"message": words}}, 400)
            if body["prompt"] == "prompt 5"
            else well(body)
        )
    )
    assert found.pop("k5") == Failure("refused", f"HTTP 400: {words}")
    assert_all_right(found, calls=1)
    assert len(server.calls) == 12


@pytest.mark.parametrize(
    "error",
    [
        {"message": "This model's maximum context length is 4096 tokens.", "code": 400},
        {"message": "request (8001 tokens) exceeds the available context size (2048 tokens)"},
        {"message": "too big", "code": "context_length_exceeded"},
    ],
)
def test_a_prompt_too_long_is_called_so_and_never_stops_a_run(error: Any) -> None:
    found, _ = answers(lambda before, body: Answer({"error": error}, 400), count=30, give_up=2)
    assert {r.kind for r in found.values() if isinstance(r, Failure)} == {"context_overflow"}


@pytest.mark.parametrize(
    ("status", "remedy"), [(401, "OPENAI_API_KEY"), (403, "api_key_env"), (404, "base_url")]
)
def test_what_concerns_every_document_stops_the_run(status: int, remedy: str) -> None:
    with misbehaving(lambda before, body: Answer({"error": {"message": "no"}}, status)) as server:
        with pytest.raises(BackendError, match=f"HTTP {status}: no") as raised:
            list(opened(server).run(asked(50)))
        assert remedy in raised.value.hint
        # Not one call for each document: those under way at that moment, at most.
        assert len(server.calls) <= 8


def test_no_credit_left_stops_the_run_though_it_looks_like_a_full_queue() -> None:
    error = {"message": "You exceeded your quota", "code": "insufficient_quota"}
    with (
        misbehaving(lambda before, body: Answer({"error": error}, 429)) as server,
        pytest.raises(BackendError, match="exceeded your quota"),
    ):
        list(opened(server).run(asked(5)))


def test_a_server_that_fails_everything_stops_the_run() -> None:
    with misbehaving(lambda before, body: Answer("broken", 500)) as server:
        run = opened(server, retries=0, give_up=6).run(asked(1000))
        with pytest.raises(BackendError, match="6 requests failed one after the other"):
            list(run)
        assert len(server.calls) < 100


def test_answers_before_the_stop_are_kept() -> None:
    def script(before: int, body: Mapping[str, Any]) -> Answer:
        return well(body) if body["prompt"] < "prompt 4" else Answer("gone", 404, delay=0.2)

    found: list[str] = []
    with misbehaving(script) as server:
        run = opened(server, concurrency=1).run(asked(10))
        with pytest.raises(BackendError, match="404"):
            for key, _ in run:
                found.append(key)
    good = {f"k{call['prompt'][7:]}" for call in server.calls if call["prompt"] < "prompt 4"}
    assert set(found) == good


def test_seconds_to_wait_are_honoured() -> None:
    with misbehaving(first_time(Answer("later", 429, {"Retry-After": "1"}))) as server:
        found = dict(opened(server).run(asked(1)))
    assert_all_right(found, calls=2)
    assert server.moments[1] - server.moments[0] >= 1.0


def test_a_date_to_wait_for_is_honoured() -> None:
    date = datetime.now(timezone.utc).replace(microsecond=0) + timedelta(seconds=3)
    named = time.monotonic() + (date - datetime.now(timezone.utc)).total_seconds()
    wait = format_datetime(date, usegmt=True)
    with misbehaving(first_time(Answer("later", 429, {"Retry-After": wait}))) as server:
        found = dict(opened(server).run(asked(1)))
    assert_all_right(found, calls=2)
    # On a slow machine the first call may come after the date already.
    assert server.moments[1] >= named - 0.01


def test_a_wait_of_hours_is_left_to_the_user() -> None:
    with (
        misbehaving(first_time(Answer("later", 429, {"Retry-After": "86400"}))) as server,
        pytest.raises(BackendError, match=r"86,400 seconds") as raised,
    ):
        list(opened(server).run(asked(1)))
    assert "every answer so far is kept" in raised.value.hint


def test_calls_at_a_time_grow_and_never_pass_the_limit() -> None:
    slow = lambda before, body: Answer(completion(f"to {body['prompt']}"), delay=0.02)  # noqa: E731
    found, server = answers(slow, count=120, concurrency=12)
    assert_all_right(found, calls=1)
    assert 5 <= server.most_at_once <= 12


def test_the_key_is_sent_and_shown_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    def script(before: int, body: Mapping[str, Any]) -> Answer:
        if body["prompt"] == "prompt 0":
            return Answer({"error": {"message": f"Bearer {KEY} may not"}}, 400)
        return Answer(completion(f"you are {KEY}"))

    models = {"data": [{"id": "made-up", "owned_by": f"owner of {KEY}"}]}
    with misbehaving(script, models) as server:
        backend = opened(server)
        found = dict(backend.run(asked(3)))
        assert all(sent["Authorization"] == f"Bearer {KEY}" for sent in server.headers)
    assert found["k0"] == Failure("refused", "HTTP 400: Bearer [key] may not")
    assert KEY not in repr([found, backend.describe(), backend.fingerprint, backend._server])


def test_a_refused_key_is_not_repeated_in_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTHER_KEY", KEY)
    refused = Answer({"error": {"message": f"Incorrect API key provided: {KEY}"}}, 401)
    with misbehaving(first_time(refused), models=refused) as server:
        with pytest.raises(BackendError, match="Incorrect API key") as raised:
            opened(server, api_key_env="OTHER_KEY")
        assert KEY not in str(raised.value)
        server.models = {"data": []}
        with pytest.raises(BackendError, match="Incorrect API key") as raised:
            list(opened(server, api_key_env="OTHER_KEY").run(asked(1)))
        assert KEY not in str(raised.value)


def test_whoever_stops_listening_ends_the_threads() -> None:
    before = threading.active_count()
    with misbehaving(lambda _, body: Answer(completion("x"), delay=0.05)) as server:
        run = opened(server).run(asked(5000))
        for _ in range(3):
            next(run)
        run.close()  # type: ignore[attr-defined]
        assert not [t for t in threading.enumerate() if t.name == "tenbin-calls"]
        assert len(server.calls) < 500
    assert threading.active_count() <= before + 8


def test_answers_wait_until_they_are_fetched() -> None:
    """Nobody fetches: then no more is asked than there is room for."""
    with misbehaving(lambda _, body: well(body)) as server:
        run = opened(server, concurrency=2).run(asked(300))
        next(run)
        seen = -1
        while seen != len(server.calls):
            seen = len(server.calls)
            time.sleep(0.3)
        assert seen <= 12
        assert len(list(run)) == 299


def test_no_server_is_said_at_once() -> None:
    with misbehaving(lambda _, body: well(body)) as server:
        address = server.base_url
    with pytest.raises(BackendError, match="no server answers") as raised:
        from tenbin.backends.base import BackendSettings
        from tenbin.backends.registry import open_backend

        open_backend(BackendSettings("openai", {"base_url": address, "model": "m"}))
    assert "base_url" in raised.value.hint


NGINX = Answer(raw=b"<html><title>Welcome to nginx!</title></html>")


@pytest.mark.parametrize(
    ("models", "shown"),
    [
        (NGINX, "HTTP 200: Welcome to nginx!"),
        (Answer({"error": {"message": "File Not Found"}}, 404), "HTTP 404: File Not Found"),
        ({"data": []}, "HTTP 200"),
    ],
    ids=["web page", "wrong path", "empty"],
)
def test_an_address_that_lists_no_models_is_doubted(models: Any, shown: str) -> None:
    with misbehaving(first_time(Answer(completion("x"))), models=models) as server:
        with pytest.raises(BackendError) as raised:
            opened(server, model=None)
        assert f"{server.base_url}/models lists no models ({shown}" in str(raised.value)
        assert "check base_url" in raised.value.hint
        assert "model=NAME" in raised.value.hint
        # A server need not list what it has.
        assert opened(server).describe()["model"] == "made-up"


def test_several_models_and_none_named() -> None:
    models = {"data": [{"id": "alpha"}, {"id": "beta"}]}
    with (
        misbehaving(first_time(Answer(completion("x"))), models=models) as server,
        pytest.raises(ConfigError, match="has several models") as raised,
    ):
        opened(server, model=None)
    assert "alpha, beta" in raised.value.hint


def test_a_web_page_is_called_one() -> None:
    with misbehaving(lambda before, body: NGINX) as server:
        found = dict(opened(server, retries=0).run([Generate("k", "p", (), 9)]))["k"]
    assert isinstance(found, Failure)
    assert "a web page: does base_url end in /v1?" in found.message


def test_https_where_the_server_speaks_http_is_said_once() -> None:
    with misbehaving(first_time(Answer(completion("x")))) as server:
        address = server.base_url.replace("http://", "https://")
        with pytest.raises(BackendError, match="no safe connection") as raised:
            opened(server, base_url=address, timeout=2)
    assert "http://" in raised.value.hint


def test_a_key_that_is_not_taken_is_named_by_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    refused = Answer({"error": {"message": "no"}}, 401)
    with misbehaving(lambda before, body: refused) as server:
        with pytest.raises(BackendError) as raised:
            list(opened(server, api_key_env="MY_KEY").run([Generate("k", "p", (), 9)]))
        assert "the key in MY_KEY is not accepted" in raised.value.hint
        server.models = refused
        with pytest.raises(BackendError) as raised:
            opened(server, api_key_env="MY_KEY")
        assert "the key in MY_KEY is not accepted" in raised.value.hint
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        with pytest.raises(BackendError) as raised:
            opened(server)
        assert "export the key as OPENAI_API_KEY" in raised.value.hint


def test_a_file_is_called_by_its_name_in_results_and_price_tables(tmp_path: Path) -> None:
    file = "/somewhere/of/mine/small.gguf"
    models = {"data": [{"id": file, "owned_by": "llamacpp"}]}
    table = tmp_path / "prices.yaml"
    table.write_text("small.gguf: {input: 1, output: 2}")
    with misbehaving(first_time(Answer(completion("x"))), models=models) as server:
        described = opened(server, model=None, prices=str(table)).describe()
    assert described["prices"]["input"] == 1
    assert described["server_says"]["id"] == "small.gguf"
    assert "somewhere" not in str(described)
