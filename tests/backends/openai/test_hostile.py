"""A server that breaks HTTP, JSON or the protocol: bounded, one failure, and no other document."""

from __future__ import annotations

import gzip
import json
import math
import tracemalloc
import zlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tenbin.backends.base import BackendSettings
from tenbin.backends.finite import is_finite
from tenbin.backends.openai import identity
from tenbin.backends.openai.backend import ServerBackend, _open
from tenbin.backends.openai.http import BadAnswerError
from tenbin.backends.openai.prompt_tokens import read_tokens
from tenbin.errors import BackendError, ConfigError, TenbinError
from tenbin.records import Failure, Generate, Picked, Response, Score, Text
from tests.backends.openai.hostile import Behaviour, Call, Hostile, framed, hostile, json_bytes
from tests.backends.openai.misbehaving import completion

OK = "HTTP/1.1 200 OK\r\n"
GOOD = json_bytes(completion("fine"))
BOMB = gzip.compress(b"[" + b" " * 20_000_000, 9)


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identity, "_WAIT", 0.01)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def opened(server: Hostile, is_chat: bool = False, **arguments: Any) -> ServerBackend:
    given = {"base_url": server.base_url, "timeout": 30, "retries": 0, **arguments}
    backend = _open(BackendSettings("openai", given), is_chat)
    backend._server = replace(backend._server, answer_bytes=1 << 16, first_wait=0.01)
    return backend


def answered(behave: Behaviour, **arguments: Any) -> Response:
    """The hostile document's answer, once the others' are seen to be right."""
    prompts = ["one", "two", "hostile", "three", "four"]
    with hostile(behave) as server:
        found = dict(
            opened(server, **arguments).run([Generate(f"k {p}", p, (), 8) for p in prompts])
        )
    assert len(found) == len(prompts)
    for prompt in ("one", "two", "three", "four"):
        response = found[f"k {prompt}"]
        assert isinstance(response, Text) and response.text == f"to {prompt}"
    return found["k hostile"]


def sends(*pieces: bytes | str) -> Behaviour:
    whole = b"".join(
        piece.encode("latin-1") if isinstance(piece, str) else piece for piece in pieces
    )
    return lambda call: call.send(whole)


def then_repeats(head: str, piece: bytes, pause: float = 0.0) -> Behaviour:
    def behave(call: Call) -> None:
        call.send(head.encode())
        call.repeat(piece, pause)

    return behave


def then_resets(*pieces: bytes) -> Behaviour:
    def behave(call: Call) -> None:
        for piece in pieces:
            call.send(piece)
        call.reset()

    return behave


def packed(how: str, content: bytes) -> Behaviour:
    return sends(framed(content, f"Content-Encoding: {how}"))


def chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def raw_deflate(content: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(content) + packer.flush()


CHUNKED = OK + "Transfer-Encoding: chunked\r\n"
ENDLESS = OK + "Content-Length: 999999999999999\r\n\r\n"
EMPTY_BLOCK = b"\x00\x00\x00\xff\xff"
GZIP_HEAD = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03"

HTTP: dict[str, tuple[Behaviour, str, str]] = {
    # an answer that never ends
    "endless": (then_repeats(CHUNKED + "\r\n", chunk(b" " * 9000)), "malformed", "longer than"),
    "promised": (then_repeats(ENDLESS, b"[" * 9000), "malformed", "longer than"),
    "unframed": (then_repeats(OK + "\r\n", b"x" * 9000), "malformed", "longer than"),
    "drip": (then_repeats(CHUNKED + "\r\n", chunk(b" "), 0.05), "timeout", "within 0.4 s"),
    "silence": (then_repeats(ENDLESS, b"", 0.05), "timeout", "within 0.4 s"),
    "nothing": (lambda call: call.over.wait(20) and None, "timeout", "within 0.4 s"),
    "empty blocks": (
        then_repeats(
            CHUNKED + "Content-Encoding: deflate\r\n\r\n", chunk(EMPTY_BLOCK * 999)
        ), "malformed", "longer than",
    ),
    "event stream": (
        then_repeats(CHUNKED + "Content-Type: text/event-stream\r\n\r\n", chunk(b":\n"), 0.05),
        "malformed", "a stream of events",
    ),
    # headers
    "endless headers": (then_repeats(OK, b"X-More: x\r\n" * 99), "connection", "RemoteProtocol"),
    "endless header": (then_repeats(OK + "X: ", b"x" * 9999), "connection", "RemoteProtocol"),
    "endless status": (then_repeats("HTTP/1.1 200 ", b"x" * 9999), "connection", "RemoteProtocol"),
    "drip in headers": (then_repeats(OK, b"X: x\r\n", 0.05), "timeout", "within 0.4 s"),
    "endless 103": (
        then_repeats("", b"HTTP/1.1 103 Early Hints\r\n\r\n" * 20, 0.005), "timeout", "within"
    ),
    "endless 100": (then_repeats("", b"HTTP/1.1 100 Continue\r\n\r\n", 0.02), "timeout", "within"),
    "endless trailers": (
        then_repeats(CHUNKED + "\r\n0\r\n", b"X: x\r\n" * 99), "connection", "RemoteProtocol"
    ),
    "two lengths": (
        sends(OK, "Content-Length: 5\r\nContent-Length: 6\r\n\r\n", "[1,2]"), "connection", "",
    ),
    "negative length": (sends(OK, "Content-Length: -5\r\n\r\n"), "connection", ""),
    "length of letters": (sends(OK, "Content-Length: many\r\n\r\n"), "connection", ""),
    "a broken chunk": (sends(CHUNKED, "\r\nzz\r\n"), "connection", ""),
    "a huge chunk": (sends(CHUNKED, "\r\n", "f" * 40, "\r\n"), "connection", ""),
    "garbage": (sends(b"\x00\xff\x16\x03\x01" * 50), "connection", ""),
    "another protocol": (sends("SSH-2.0-OpenSSH_9.9\r\n"), "connection", ""),
    "a newer HTTP": (sends("HTTP/2.0 200 OK\r\n\r\n"), "malformed", "not complete JSON"),
    "status 999": (sends("HTTP/1.1 999 \r\nContent-Length: 0\r\n\r\n"), "server", "HTTP 999"),
    "status 101": (sends("HTTP/1.1 101 \r\nUpgrade: x\r\n\r\n"), "connection", "RemoteProtocol"),
    "status 204": (sends("HTTP/1.1 204 \r\n\r\n"), "refused", "HTTP 204"),
    "status 304": (sends("HTTP/1.1 206 \r\nContent-Length: 0\r\n\r\n"), "refused", "HTTP 206"),
    # the connection breaks
    "reset at once": (then_resets(), "connection", "Read"),
    "reset in the status": (then_resets(b"HTTP/1.1 2"), "connection", ""),
    "reset in the headers": (then_resets(OK.encode(), b"Content-Le"), "connection", ""),
    "reset in the body": (then_resets(framed(GOOD)[:-9]), "connection", ""),
    "closed in the body": (sends(framed(GOOD)[:-9]), "connection", "RemoteProtocol"),
    "closed in a chunk": (sends(CHUNKED, "\r\n", b"ff\r\n["), "connection", "RemoteProtocol"),
    # packing
    "gzip bomb": (packed("gzip", BOMB), "malformed", "longer than"),
    "deflate bomb": (packed("deflate", zlib.compress(b" " * 9_000_000)), "malformed", "longer"),
    "raw deflate bomb": (
        packed("deflate", raw_deflate(b" " * 9_000_000)), "malformed", "longer"
    ),
    "gzip in gzip": (packed("gzip, gzip", gzip.compress(BOMB)), "malformed", "not requested"),
    "brotli": (packed("br", b"\x0b\x02\x80"), "malformed", "not requested"),
    "zstd": (packed("zstd", b"\x28\xb5\x2f\xfd"), "malformed", "not requested"),
    "half gzip": (packed("gzip", gzip.compress(GOOD)[:-12]), "malformed", "incomplete gzip"),
    "no gzip": (packed("gzip", b"not gzip"), "malformed", "incomplete gzip"),
    "no deflate": (packed("deflate", b"\xff\xff\xff"), "malformed", "incomplete deflate"),
}  # fmt: skip


@pytest.mark.parametrize("case", HTTP)
def test_broken_http_is_one_failure(case: str) -> None:
    behave, kind, words = HTTP[case]
    # Another try, for documents that a busy machine keeps waiting.
    slow = {"timeout": 0.4, "retries": 1} if kind == "timeout" else {}
    found = answered(behave, **slow)
    assert isinstance(found, Failure)
    assert (found.kind, words in found.message) == (kind, True), found


def changed(**changes: Any) -> bytes:
    """A good answer whose only choice has other values."""
    answer = completion("fine")
    answer["choices"][0].update(changes)
    return json_bytes(answer)


JSON: dict[str, tuple[bytes, str]] = {
    "deep": (b"[" * 60_000, "nested too deeply"),
    "deep and closed": (b'{"choices":' + b"[" * 30_000 + b"]" * 30_000 + b"}", "nested too deeply"),
    "no UTF-8": (GOOD.replace(b"fine", b"\xff\xfe"), "not text in UTF-8"),
    "UTF-16": (GOOD.decode().encode("utf-16"), "not text in UTF-8"),
    "lone surrogate": (GOOD.replace(b"fine", rb"\ud83d"), "half of a character"),
    "lone surrogate, capitals": (GOOD.replace(b"fine", rb"\uDE00 \ud83d"), "half of a character"),
    "a number of 5,000 digits": (b'{"choices": ' + b"9" * 5000 + b"}", "not complete JSON"),
    "two documents": (GOOD + GOOD, "not complete JSON"),
    "nothing": (b"", "not complete JSON"),
    "web page": (b"\n <!DOCTYPE html><title>Login</title>", "a web page"),
    "events": (b'data: {"choices": []}\n\ndata: [DONE]\n\n', "a stream of events"),
    "a list": (b"[]", "not a JSON object"),
    "null": (b"null", "not a JSON object"),
    "NaN": (b"NaN", "not a JSON object"),
    "no choices": (b"{}", "holds no choices"),
    "null choices": (b'{"choices": null}', "holds no choices"),
    "empty choices": (b'{"choices": []}', "holds no choices"),
    "a null choice": (b'{"choices": [null]}', "holds no choices"),
    "choices by name": (b'{"choices": {"0": {"text": "x"}}}', "holds no choices"),
    "three choices": (json_bytes({"choices": [{"text": "x"}] * 3}), "3 choices instead of one"),
    "another index": (changed(index=7), "has index 7"),
    "an index of letters": (changed(index="0"), "has index '0'"),
    "an index that is true": (changed(index=False), "has index False"),
    "a huge index": (changed(index=10**4000), "a number of many digits"),
    "text is a number": (changed(text=5), "holds no text"),
    "text is null": (changed(text=None), "holds no text"),
    "text is a list": (changed(text=["x"]), "holds no text"),
    "no text": (b'{"choices": [{"index": 0}]}', "holds no text"),
    "a message of a list": (changed(text=None, message=["x"]), "holds no text"),
}


@pytest.mark.parametrize("case", JSON)
def test_broken_json_is_one_failure(case: str) -> None:
    content, words = JSON[case]
    found = answered(sends(framed(content, "Content-Type: application/json")))
    assert isinstance(found, Failure)
    assert (found.kind, words in found.message) == ("malformed", True), found


def usage(**counted: Any) -> bytes:
    return json_bytes({**completion("fine"), "usage": counted})


DEEP = json_bytes(0).join([b'{"a":[' * 60, b"]}" * 60])
ACCEPTED = {
    "byte order mark": b"\xef\xbb\xbf" + GOOD,
    "names given twice": b'{"choices": [], "choices": [{"text": "no", "text": "fine"}]}',
    "a pair of surrogates": GOOD.replace(b"fine", rb"fine") + b" \n\t ",
    "huge counts": usage(prompt_tokens=10**4000, completion_tokens=10**30),
    "counts of letters": usage(prompt_tokens="7", completion_tokens=None),
    "counts that are true": usage(prompt_tokens=True, completion_tokens=-5),
    "usage is a list": json_bytes({**completion("fine"), "usage": [1, 2]}),
    "an ending of parts": changed(finish_reason={"a": [1]}, stop_reason=[[]]),
    "a deep ending": GOOD.replace(b'"stop"', DEEP),
    "an error beside choices": json_bytes({**completion("fine"), "error": {"code": 500}}),
}


@pytest.mark.parametrize("case", ACCEPTED)
def test_what_can_be_understood_is_taken(case: str) -> None:
    found = answered(sends(framed(ACCEPTED[case], "Content-Type: text/plain; charset=utf-16")))
    assert isinstance(found, Text) and found.text == "fine"
    assert found.usage is None or 0 <= found.usage.prompt_tokens < 10**9


@pytest.mark.parametrize("how", ["gzip", "x-gzip", "deflate", "raw deflate", "identity"])
def test_packed_answers_are_unpacked(how: str) -> None:
    pack: dict[str, Callable[[bytes], bytes]] = {
        "gzip": gzip.compress, "x-gzip": gzip.compress, "deflate": zlib.compress,
        "raw deflate": raw_deflate, "identity": bytes,
    }  # fmt: skip
    found = answered(packed(how.removeprefix("raw "), pack[how](GOOD)))
    assert isinstance(found, Text) and found.text == "fine"


def test_a_bomb_is_not_unpacked() -> None:
    bomb = gzip.compress(b" " * 60_000_000, 9)
    with hostile(packed("gzip", bomb)) as server:
        backend = opened(server, timeout=30)
        tracemalloc.start()
        try:
            found = dict(backend.run([Generate("k", "hostile", (), 8)]))["k"]
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert isinstance(found, Failure) and "longer than" in found.message
    assert peak < 6_000_000


def test_a_long_answer_may_be_as_long_as_its_question_asks() -> None:
    long = json_bytes(completion("x" * 400_000))
    with hostile(sends(framed(long))) as server:
        few, many = (Generate(f"k{n}", "hostile", (), n) for n in (8, 90))
        found = dict(opened(server).run([few, many]))
    assert isinstance(found["k8"], Failure) and "longer than" in found["k8"].message
    assert isinstance(found["k90"], Text)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"<" * 200_000, "HTTP 400: <<<"),
        (b"[" * 200_000, "HTTP 400: [[["),
        (b"\x1b[2J\x1b]0;owned\x07 no", r"HTTP 400: \x1b[2J\x1b]0;owned\x07 no"),
        (json_bytes({"error": "\x9b31m\u202eno\x00"}), r"HTTP 400: \x9b31m\u202eno\x00"),
        (json_bytes({"error": {"message": {"a": ["no"]}}}), 'HTTP 400: {"a": ["no"]}'),
        (b'{"error": ' + b'{"a":' * 500 + b"1" + b"}" * 501, 'HTTP 400: {"error": {"a":{"a"'),
        (rb'{"error": {"message": "half \ud83d"}}', "HTTP 400: "),
        (b"\xff\xfe no", "HTTP 400: \ufffd\ufffd no"),
        (b'{"error": {"code": ' + b"9" * 5000 + b"}}", 'HTTP 400: {"error"'),
        (b"no " * 300_000, "HTTP 400: no no"),
    ],
)  # fmt: skip
def test_the_words_of_a_refusal_are_short_and_printable(content: bytes, words: str) -> None:
    found = answered(sends(framed(content, status="400 Bad")))
    assert isinstance(found, Failure)
    assert found.kind == "refused" and found.message.startswith(words)
    assert len(found.message) < 400 and found.message.isprintable()


def test_a_refusal_without_end_is_read_no_further() -> None:
    endless = "HTTP/1.1 400 Bad\r\nTransfer-Encoding: chunked\r\n\r\n"
    found = answered(then_repeats(endless, chunk(b"no " * 3000)))
    assert isinstance(found, Failure) and found.message.startswith("HTTP 400: no no")
    bomb = answered(sends(framed(BOMB, "Content-Encoding: gzip", status="400 Bad")))
    assert isinstance(bomb, Failure) and bomb.message.startswith("HTTP 400")


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "307 Temporary", "308 Permanent"])
def test_redirects_are_not_followed(status: str, monkeypatch: pytest.MonkeyPatch) -> None:
    key = "sk-never-goes-elsewhere-1234"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with hostile(lambda call: None) as other:
        there = f"Location: {other.base_url}/completions?key={key}"
        moved = sends(framed(b"", there, status=status))
        with hostile(moved) as server, pytest.raises(BackendError) as raised:
            list(opened(server).run([Generate("k", "hostile", (), 8)]))
        # The list of models as well.
        with hostile(moved, moved) as server, pytest.raises(BackendError) as listed:
            opened(server)
        assert not other.calls
    for error in (raised.value, listed.value):
        assert "redirects are not followed" in error.message and "base_url" in error.hint
        assert "?key=[key]" in error.message and key not in str(error)


def test_a_redirect_to_nowhere_is_one_failure() -> None:
    for there in (
        "http://[::1",
        "http://x:99999/",
        "\x1b[2J",
        "http://" + "x" * 9000,
        "file:///etc",
    ):
        found = None
        try:
            found = answered(sends(framed(b"", f"Location: {there}", status="302 Found")))
        except BackendError as error:
            assert "redirects are not followed" in error.message and len(str(error)) < 600
        assert found is None or (isinstance(found, Failure) and found.message.isprintable())


def test_a_wait_that_is_no_wait_is_not_waited_for() -> None:
    dates = ("Mon, 99 Foo 99999 99:99:99 GMT", "Thu, 01 Jan 1970 00:00:00 GMT",
             "Fri, 31 Dec 9999 23:59:59 -2359")  # fmt: skip
    for wait in ("-5", "garbage", "nan", "1e999", "9" * 400, "", *dates):
        later = framed(b"later", f"Retry-After: {wait}", status="429 Later")
        tries: list[int] = []

        def behave(call: Call, later: bytes = later, tries: list[int] = tries) -> None:
            tries.append(1)
            call.send(later if len(tries) == 1 else framed(GOOD))

        with hostile(behave) as server:
            run = opened(server, retries=2).run([Generate("k", "hostile", (), 8)])
            try:
                found = dict(run)["k"]
            except BackendError as error:
                assert "asks to wait" in error.message and wait.startswith(("9", "Fri"))
                continue
        assert isinstance(found, Text), wait


def test_a_year_to_wait_matters_only_where_waiting_helps() -> None:
    refused = answered(sends(framed(b"no", "Retry-After: 31536000", status="400 Bad")))
    assert refused == Failure("refused", "HTTP 400: no")


def test_cookies_are_not_kept() -> None:
    cookie = "Set-Cookie: mark=" + "x" * 3000
    with hostile(lambda call: None, sends(framed(json_bytes({}), cookie))) as server:
        dict(opened(server, model="m", concurrency=1).run([Generate("k", "one", (), 8)]))
        assert not [call for call in server.calls if "cookie" in call.headers]
        assert {call.headers["accept-encoding"] for call in server.calls} == {"gzip, deflate"}


def test_a_prompt_that_is_no_text_is_its_own_failure() -> None:
    with hostile(lambda call: None) as server:
        found = dict(
            opened(server).run([Generate("a", "half \ud83d", (), 8), Generate("b", "b", (), 8)])
        )
    assert isinstance(found["a"], Failure) and found["a"].kind == "unencodable"
    assert isinstance(found["b"], Text)


DEEP_FACT = b'{"data":[{"id":"m","meta":' + b"[" * 900 + b"]" * 900 + b"}]}"
LISTS: dict[str, tuple[Behaviour, str | None]] = {
    "endless": (then_repeats(CHUNKED + "\r\n", chunk(b" " * 90_000)), "no complete answer|longer"),
    "drip": (then_repeats(OK, b"X: x\r\n", 0.05), "no complete answer within 0.4 s"),
    "drip in the body": (then_repeats(ENDLESS, b" ", 0.05), "no complete answer within 0.4 s"),
    "103": (then_repeats("", b"HTTP/1.1 103 Early\r\n\r\n", 0.005), "no complete answer"),
    "events": (
        then_repeats(OK + "Content-Type: text/event-stream\r\n\r\n", b":\n", 0.05), "stream of"
    ),
    "zstd": (packed("zstd", b"x"), "not requested"),
    "bomb": (packed("gzip", BOMB), "longer than"),
    "reset": (then_resets(), "no server answers"),
    "garbage": (sends(b"\x00\x01\x02" * 99), "no server answers"),
    "deep": (sends(framed(b"[" * 90_000)), None),
    "deep in a fact": (sends(framed(DEEP_FACT)), None),
    "null": (sends(framed(b"null")), None),
    "NaN": (sends(framed(b'{"data": NaN}')), None),
    "a number": (sends(framed(b'{"data": 5}')), None),
    "numbers": (sends(framed(b'{"data": [1, null, [], {"id": 5}, {"id": {}}, {"id": ""}]}')), None),
    "surrogate": (sends(framed(rb'{"data": [{"id": "\ud800"}]}')), None),
    "no UTF-8": (sends(framed(b"\xff\xfe")), None),
    "404": (sends(framed(b"\x1b[2J" * 9, status="404 No")), None),
}  # fmt: skip


@pytest.mark.parametrize("case", LISTS)
def test_a_list_of_models_that_is_none(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    behave, words = LISTS[case]
    if words is not None and "complete" in words:
        monkeypatch.setattr(identity, "_SECONDS", 0.4)
    with hostile(lambda call: None, behave) as server:
        with pytest.raises(TenbinError, match=words or "lists no models") as raised:
            opened(server)
        assert raised.value.message.isprintable() and len(str(raised.value)) < 600
        if words is None:
            # The user says which model it is: then the list is not needed.
            found = dict(opened(server, model="m").run([Generate("k", "one", (), 8)]))
            assert isinstance(found["k"], Text)


def test_what_a_server_says_of_its_model_can_be_written_down() -> None:
    said = b"""{"id": "m", "owned_by": "vllm", "root": "%s", "max_model_len": %s,
               "meta": {"a": NaN, "b": -Infinity, "c": 1e999, "d": [%s], "n_ctx": true}}"""
    said %= b"r" * 50_000, b"9" * 400, b"9" * 400

    def listed(call: Call) -> None:
        version = {"version": "1\x1b[2J" + "0" * 500}
        body = json_bytes(version) if "version" in call.path else b'{"data": [' + said + b"]}"
        call.send(framed(body))

    with hostile(lambda call: None, listed) as server:
        described = opened(server).describe()
    written = json.dumps(described, allow_nan=False)
    assert len(written) < 5_000
    assert "sha256" in described["server_says"]["root"]
    assert described["max_length"] is None
    assert described["engine"]["software"].startswith(r"vLLM 1\x1b[2J0")


def test_names_of_models_are_shown_within_bounds() -> None:
    names = [{"id": "\x1b[2J" + "n" * 9_000 + str(n), "owned_by": "vllm"} for n in range(500)]
    with hostile(lambda call: None, sends(framed(json_bytes({"data": names})))) as server:
        for arguments in ({}, {"model": "nn"}):
            with pytest.raises(ConfigError) as raised:
                opened(server, **arguments)
            assert len(str(raised.value)) < 1_000 and raised.value.hint.isprintable()


NUMBERS: dict[str, Any] = {
    "NaN": math.nan,
    "infinite": math.inf,
    "minus infinity": -math.inf,
    "4,000 digits": -(10**4000),
    "vLLM's minus infinity": -9999.0,
    "null": None,
    "letters": "-1.0",
    "true": True,
    "a list": [-1.0],
    "an object": {"a": [[]]},
}


@pytest.mark.parametrize("case", NUMBERS)
@pytest.mark.parametrize("way", ["echo", "prompt_logprobs"])
def test_what_is_no_logprobability_is_not_finite(case: str, way: str) -> None:
    value = NUMBERS[case]
    shown = {"tokens": ["a", "b", "c"], "token_logprobs": [None, value, -1.0],
             "top_logprobs": [None, {"b": -1.0}, {"c": -1.0}]}  # fmt: skip
    listed = [None, {"1": {"logprob": value, "decoded_token": "b"}}, {"2": {"logprob": -1.0}}]
    choice = {"logprobs": shown, "prompt_logprobs": listed}
    tokens = read_tokens(way, {"choices": [choice]}, [0, 1, 2])  # type: ignore[arg-type]
    assert not is_finite(tokens[1].logprob) and tokens[2].logprob == -1.0


SHAPES: dict[str, Any] = {
    "tokens that are numbers": {"tokens": [1, 2, 3]},
    "tops that are lists": {"top_logprobs": [None, [1], [2]]},
    "tops that are empty": {"top_logprobs": [None, {}, {}]},
    "above zero": {"token_logprobs": [None, 0.5, -1.0]},
    "too many": {"tokens": ["a"] * 9, "token_logprobs": [None, *[-1.0] * 8],
                 "top_logprobs": [None, *[{"a": -1.0}] * 8]},
    "too few": {"tokens": ["a", "b"], "token_logprobs": [None, -1.0], "top_logprobs": [None, {}]},
}  # fmt: skip


@pytest.mark.parametrize("case", SHAPES)
def test_echoes_of_another_shape_are_refused(case: str) -> None:
    shown = {"tokens": ["a", "b", "c"], "token_logprobs": [None, -1.0, -1.0],
             "top_logprobs": [None, {"b": -1.0}, {"c": -1.0}], **SHAPES[case]}  # fmt: skip
    with pytest.raises(BadAnswerError):
        read_tokens("echo", {"choices": [{"logprobs": shown}]}, [0, 1, 2])


@pytest.mark.parametrize("count", [-1, True, "2", 10**400, None, 2.0])
def test_a_prompt_is_as_long_as_the_server_counts_it(count: Any) -> None:
    shown = {
        "tokens": ["a", "b"],
        "token_logprobs": [None, -1.0],
        "top_logprobs": [None, {"b": -1.0}],
    }
    body = {"choices": [{"logprobs": shown}], "usage": {"prompt_tokens": count}}
    with pytest.raises(BadAnswerError, match="does not count"):
        read_tokens("echo", body, None)


@pytest.mark.parametrize("entry", [None, [], {}, {"1": None}, {"1": -1.0}, {"2": {"logprob": -1}}])
def test_lists_of_another_shape_are_refused(entry: Any) -> None:
    with pytest.raises(BadAnswerError):
        read_tokens("prompt_logprobs", {"choices": [{"prompt_logprobs": [None, entry]}]}, [0, 1])


def test_a_token_is_likeliest_only_if_no_certain_one_beats_it() -> None:
    """A log-probability of 0 is one like any other."""
    entry = {"1": {"logprob": -20.0}, "2": {"logprob": 0.0}}
    choice = {"prompt_logprobs": [None, entry]}
    assert not read_tokens("prompt_logprobs", {"choices": [choice]}, [0, 1])[1].is_top


def first(**more: Any) -> Any:
    return {"content": [{"token": "A", "logprob": -1.0, **more}]}


FIRST: dict[str, tuple[Any, str]] = {
    "a token that is null": ({"content": [{"token": None, "logprob": -1.0}]}, "not text"),
    "no mapping": (first(top_logprobs=[5]), "not a list of tokens"),
    "no list": (first(top_logprobs={"a": 1}), "a first token is not text"),
    "a number": (first(top_logprobs=7), "not a list of tokens"),
}
QUESTION = Score("s", "hostile?\nA. x\nB. y\nAnswer:", ("A", "B"))


@pytest.mark.parametrize("case", FIRST)
def test_first_tokens_of_another_shape_name_no_choice(case: str) -> None:
    shown, words = FIRST[case]
    with hostile(sends(framed(json_bytes(completion("A", logprobs=shown))))) as server:
        found = dict(opened(server, choices="letters").run([QUESTION]))["s"]
    assert isinstance(found, Failure)
    assert found.kind == "malformed" and words in found.message


def test_a_probe_of_another_shape_leaves_texts_to_be_read() -> None:
    with hostile(sends(framed(json_bytes(completion("B"))))) as server:
        server.say = lambda body: completion("A", logprobs=first(top_logprobs=7))
        backend = opened(server, choices="letters")
        found = dict(backend.run([QUESTION]))["s"]
        assert isinstance(found, Picked) and found.way == "generated" and found.text == "B"
        assert "not a list of tokens" in backend.describe()["engine"]["scoring"]
