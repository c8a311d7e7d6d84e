"""What a server may answer: read by the real client, off a connection that is none."""

from __future__ import annotations

import asyncio
import gzip
import json
import threading
import zlib
from collections.abc import Awaitable, Callable, Mapping
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import httpx

from tenbin.backends.openai import identity
from tenbin.backends.openai.arguments import read_arguments
from tenbin.backends.openai.choices import LetterChooser, find_chooser
from tenbin.backends.openai.client import Server, Session, Traffic, open_session
from tenbin.backends.openai.dialect import Dialect
from tenbin.backends.openai.generation import generate, generate_with_budget
from tenbin.backends.openai.http import Connections
from tenbin.backends.openai.identity import Identity, _identify, open_lookup
from tenbin.backends.openai.scoring import PromptScorer, find_scorer
from tenbin.backends.openai.secret import Secret
from tenbin.errors import BackendError
from tenbin.journal.payloads import decode, encode
from tenbin.records import Failure, Generate, Response, Score, Thinking
from tests.fuzz.mutation import damage_bytes, damage_tree, write_json
from tests.fuzz.target import PropertyError, Target

_KEY = "sk-secret/key+with&marks"
_USAGE = {
    "prompt_tokens": 3, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 1},
    "completion_tokens_details": {"reasoning_tokens": 1},
}  # fmt: skip


def _body(**choice: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "finish_reason": "stop", **choice}], "usage": _USAGE}


_ECHO = {
    "tokens": ["Q", " A", " x"], "token_logprobs": [None, -0.5, -1.5],
    "top_logprobs": [None, {" A": -0.5}, {" y": -0.1, " x": -1.5}], "text_offset": [0, 1, 3],
}  # fmt: skip
_LISTED = [
    None,
    {"5": {"logprob": -0.5, "rank": 1, "decoded_token": " A"}},
    {
        "6": {"logprob": -1.5, "rank": 2, "decoded_token": " x"},
        "7": {"logprob": -0.2, "rank": 1, "decoded_token": " y"},
    },
]
_FIRST = {
    "content": [
        {
            "token": "A", "logprob": -0.1,
            "top_logprobs": [{"token": "A", "logprob": -0.1}, {"token": " B", "logprob": -2.5}],
        }
    ]
}  # fmt: skip
_SEEDS: dict[str, dict[str, Any]] = {
    "completion": _body(text=" yes\n\nno", stop_reason="\n\n"),
    "chat": _body(message={"role": "assistant", "content": "yes", "reasoning_content": "hm"}),
    "thought": _body(text="<think>hm</think> yes"),
    "echo": _body(text="Q A x", logprobs=_ECHO),
    "listed": _body(text=" x", prompt_logprobs=_LISTED),
    "letters": _body(message={"content": "A"}, logprobs=_FIRST),
    "letters_plain": _body(text=" A", logprobs={"top_logprobs": [{" A": -0.1, "B": -2.0}]}),
    "probe": _body(text="Q A x", logprobs=_ECHO),
    "probe_letters": _body(message={"content": "A"}, logprobs=_FIRST),
    "models": {
        "data": [{"id": "m", "owned_by": "vllm", "max_model_len": 9, "meta": {"n_ctx": 5}}],
        "version": "1",
        "chat_template": "{{ x }}",
        "build_info": "b1",
        "model_path": "/a/b.gguf",
    },
}
_WORDS = (
    "stop", "length", "content_filter", "tool_calls", "refusal", "error", "choices", "message",
    "text", "logprobs", "llamacpp", "vllm", "sglang", _KEY, 10**12, -1e-9, 0.001,
    "id", "data",
)  # fmt: skip
_HEADERS: tuple[dict[str, str], ...] = (
    {}, {}, {}, {"content-type": "text/event-stream"}, {"content-encoding": "gzip"},
    {"content-encoding": "deflate"}, {"content-encoding": "br"}, {"retry-after": "99999999999"},
    {"retry-after": "Wed, 21 Oct 2099 07:28:00 GMT"}, {"retry-after": "-1"}, {"retry-after": "1e9"},
    {"retry-after": "Wed, 99 Oct 99999 07:28:00 GMT"}, {"location": f"http://x/{_KEY}"},
    {"server": "llama.cpp"}, {"content-type": "text/html"}, {"content-length": "5"},
)  # fmt: skip
_STATUS = (200, 200, 200, 200, 200, 400, 401, 402, 403, 404, 413, 418, 429, 301, 500, 503, 599, 204)
_ERRORS: tuple[Any, ...] = (
    {"error": {"message": f"bad key {_KEY}", "type": "x", "code": "insufficient_quota"}},
    {"error": {"message": "maximum context length is 9 tokens", "code": 400}},
    {"error": "no"},
    {"detail": [{"msg": "m"}], "message": "m"},
)


def _make(rng: Random) -> bytes:
    name = rng.choice(tuple(_SEEDS))
    status, headers = 200, {}
    if rng.randrange(4) == 0:
        status, headers = rng.choice(_STATUS), rng.choice(_HEADERS)
    seed = _SEEDS[name] if status == 200 and rng.randrange(20) else rng.choice(_ERRORS)
    body = write_json(rng, damage_tree(rng, json.loads(json.dumps(seed)), _WORDS))
    if rng.randrange(10) == 0:
        body = damage_bytes(rng, body, (b"\xff", b"data: ", b"<html>", b"NaN", _KEY.encode()))
    if headers.get("content-encoding") == "gzip":
        body = gzip.compress(body * rng.choice((1, 1, 50_000 // (len(body) + 1))), mtime=0)
    if headers.get("content-encoding") == "deflate":
        body = zlib.compress(body)
    if headers and rng.randrange(3) == 0:
        body = damage_bytes(rng, body)
    return json.dumps([name, status, headers]).encode() + b"\n" + body


def _check(data: bytes, folder: Path) -> None:
    head, _, body = data.partition(b"\n")
    try:
        name, status, headers = json.loads(head)
        response = httpx.Response(status, headers=headers, stream=httpx.ByteStream(body))
        ask = _SCENARIOS[name]
    except (ValueError, TypeError, KeyError, AttributeError):
        return  # A shortened input that is none any more.
    _CANNED[:] = [response.status_code, dict(headers), body]
    with (
        patch.object(Connections, "_opened", lambda self: _client()),
        patch.object(identity, "_WAIT", 0.0),
    ):
        found = asyncio.run_coroutine_threadsafe(_awaited(ask), _loop()).result()
    if isinstance(found, Identity):
        _settled(json.dumps([found.model, found.facts, found.software], allow_nan=False))
    elif isinstance(found, Failure):
        _settled(f"{found.kind} {found.message}")
        raise BackendError(f"{found.kind}: {found.message}")
    elif not isinstance(found, LetterChooser | PromptScorer):
        _settled(repr(found))
        if decode(*encode(found)) != found:
            raise PropertyError("the journal gives back another answer")


def _settled(text: str) -> None:
    """What results and messages repeat is text that can be kept, and the key is not in it."""
    text.encode()
    if _KEY in text:
        raise PropertyError("the key stands in what is kept")


_CANNED: list[Any] = []


async def _awaited(ask: Callable[[], Awaitable[Any]]) -> Any:
    return await ask()


@lru_cache(maxsize=1)
def _loop() -> asyncio.AbstractEventLoop:
    """An event loop in a thread: the browser of page tests keeps one running in the main thread."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="fuzz-loop", daemon=True).start()
    return loop


@lru_cache(maxsize=1)
def _client() -> httpx.AsyncClient:
    def answer(request: httpx.Request) -> httpx.Response:
        status, headers, body = _CANNED
        return httpx.Response(status, headers=headers, stream=httpx.ByteStream(body))

    return httpx.AsyncClient(
        base_url="http://127.0.0.1:1/v1", transport=httpx.MockTransport(answer)
    )


async def _in_session(
    is_chat: bool, ask: Callable[[Session], Awaitable[Any]], dialect: Dialect = "plain"
) -> Any:
    given = {"base_url": "http://127.0.0.1:1/v1", "model": "m", "retries": 0}
    arguments = read_arguments(given, is_chat)
    server = Server(arguments, Secret(_KEY), "m", dialect, is_chat, first_wait=0.0)
    async with open_session(server, Traffic()) as session:
        found = await ask(session)
        if isinstance(found, Response):
            session.note(found)
        return found


async def _models() -> Identity:
    arguments = read_arguments({"base_url": "http://127.0.0.1:1/v1"}, False)
    async with open_lookup(arguments, Secret(_KEY)) as opened:
        return await _identify(opened, arguments)


_TEXT = Generate("k", "Q", ("\n\n",), 5)
_THINKING = Thinking("<think>", "</think>", 4)
_CHOICE = Score("k", "Q A", (" x",))
_QUESTION = Score("k", "Q", (" one", " two"))
_SCENARIOS: Mapping[str, Callable[[], Awaitable[Any]]] = {
    "completion": lambda: _in_session(False, lambda s: generate(s, _TEXT)),
    "chat": lambda: _in_session(True, lambda s: generate(s, _TEXT)),
    "thought": lambda: _in_session(
        False,
        lambda s: generate_with_budget(
            s, Generate("k", "Q", ("\n\n",), 5, thinking=_THINKING), _THINKING
        ),
    ),
    "echo": lambda: _in_session(False, lambda s: PromptScorer("echo", None).score(s, _CHOICE)),
    "listed": lambda: _in_session(
        False, lambda s: PromptScorer("prompt_logprobs", None).score(s, _CHOICE), "vllm"
    ),
    "letters": lambda: _in_session(True, lambda s: LetterChooser(5).pick(s, _QUESTION)),
    "letters_plain": lambda: _in_session(False, lambda s: LetterChooser(5).pick(s, _QUESTION)),
    "probe": lambda: _in_session(False, lambda s: find_scorer(s, None, "joint")),
    "probe_letters": lambda: _in_session(True, find_chooser),
    "models": _models,
}

TARGETS = (
    Target(
        "server_answer",
        _make,
        _check,
        lambda: [
            json.dumps([name, 200, {}]).encode() + b"\n" + json.dumps(body).encode()
            for name, body in _SEEDS.items()
            if name != "probe"
        ],
        share=2.0,
    ),
)
