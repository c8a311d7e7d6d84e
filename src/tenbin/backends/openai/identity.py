"""Which model a server has, as far as it says: looked up once, before any request.

A server may change behind its name; what it says of its model is all that can be known. It goes
into the fingerprint and the results, with the key removed.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tenbin.backends.openai.arguments import ServerArguments
from tenbin.backends.openai.concurrency import run_concurrently
from tenbin.backends.openai.dialect import Dialect, dialect_of
from tenbin.backends.openai.http import (
    BadAnswerError,
    Connections,
    Received,
    UnreadableError,
    cleaned,
    open_connections,
    parse_answer,
    read_count,
    receive,
)
from tenbin.backends.openai.retry import Refusal, classify_refusal, one_line, read_error
from tenbin.backends.openai.secret import Secret
from tenbin.errors import BackendError, ConfigError, guess_at

_ATTEMPTS = 3
_WAIT = 0.5
"""Seconds before the second attempt; twice that before the third."""
_SECONDS, _SECONDS_TO_CONNECT = 20.0, 10.0
_MOST_BYTES = 16 << 20
_SHOWN = 80
"""Characters of a wrong answer that a message shows."""


@dataclass(frozen=True, slots=True)
class Page:
    """The response of one address."""

    address: str
    received: Received
    body: Any
    """Its JSON without the key; None if there is none that can be used."""
    secret: Secret

    @property
    def refusal(self) -> Refusal:
        """The meaning of a status other than 200."""
        elsewhere = self.received.headers.get("location", "")
        return classify_refusal(self.received.status, self.received.text, self.secret, elsewhere)

    @property
    def summary(self) -> str:
        """Status and beginning of the body, for a message."""
        words, _ = read_error(self.received.text, self.secret)
        return f"HTTP {self.received.status}" + (f": {one_line(words, _SHOWN)}" if words else "")


@dataclass(frozen=True, slots=True)
class Lookup:
    """Reads what a server says besides answers: its list of models, its version."""

    connections: Connections
    secret: Secret
    seconds: float

    async def get(self, address: str) -> Page:
        """The response of an address, whatever its status, with retries.

        Raises:
            BackendError: No server answers, or its response cannot be read.
        """
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                received = await self._received(address)
            except UnreadableError as error:
                raise BackendError(
                    f"{address}: the answer is {error}", "check base_url: it usually ends in /v1"
                ) from None
            except _no_answer() as error:
                self._give_up(address, error, attempt == _ATTEMPTS)
            else:
                if received.status < 500 or attempt == _ATTEMPTS:
                    return Page(address, received, self._body(received), self.secret)
            await asyncio.sleep(_WAIT * attempt)
        raise AssertionError("the loop above returns or raises")

    async def read(self, address: str) -> Mapping[str, Any]:
        """The JSON object of an address outside the protocol; empty where there is none."""
        try:
            received = await self._received(address)
        except UnreadableError:
            return {}
        except _no_answer():
            return {}
        body = self._body(received)
        return body if isinstance(body, Mapping) else {}

    async def _received(self, address: str) -> Received:
        with self.connections.borrow() as client:
            request = client.build_request("GET", address, headers=self.secret.headers())
            return await receive(client, request, self.seconds, _MOST_BYTES)

    def _body(self, received: Received) -> Any:
        if received.status != 200:
            return None
        try:
            return cleaned(parse_answer(received.content, self.secret), self.secret.scrubbed)
        except BadAnswerError:
            return None

    def _give_up(self, address: str, error: Exception, is_last: bool) -> None:
        """Raise an error that another attempt cannot help."""
        reason = one_line(self.secret.scrubbed(str(error))) or type(error).__name__
        if isinstance(error, asyncio.TimeoutError):
            reason = f"no complete answer within {self.seconds:g} s"
        if "certificate" in reason.lower():
            raise BackendError(
                f"no safe connection to {address}: {reason}",
                "check base_url; SSL_CERT_FILE=FILE names the certificate of an authority of"
                " your own",
            ) from None
        if "ssl" in reason.lower():
            raise BackendError(
                f"no safe connection to {address}: {reason}",
                "a server of your own usually speaks plain http: base_url=http://…",
            ) from None
        if is_last:
            raise BackendError(
                f"no server answers at {address}: {reason}",
                "start it, or check base_url; a server that is loading its model needs a while",
            ) from None


def _no_answer() -> tuple[type[Exception], ...]:
    import httpx

    return asyncio.TimeoutError, httpx.HTTPError


@asynccontextmanager
async def open_lookup(arguments: ServerArguments, secret: Secret) -> AsyncIterator[Lookup]:
    """A lookup with its own connections, for the length of the block."""
    seconds = min(_SECONDS, arguments.timeout)
    connecting = min(_SECONDS_TO_CONNECT, seconds)
    async with open_connections(arguments.base_url, connecting) as connections:
        yield Lookup(connections, secret, seconds)


_KEPT = ("id", "root", "parent", "owned_by", "max_model_len", "meta")
"""Fields of a model to keep. Not `created`: vLLM and llama.cpp give the time of the request."""
_LONGEST_FACT = 10_000
"""Longest fact that results record; of a longer one they record a checksum."""
_LONGEST_NAME = 80
_MOST_NAMES = 1_000
"""Number of models among which a similar name is searched."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What a server says of itself and of its model."""

    model: str
    dialect: Dialect
    window: int | None = None
    """The model's context window in tokens, where the server says so."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What the server says of the model."""
    software: str | None = None
    """The server program, and its version where known."""
    chat_template: str | None = None
    """The source of the model's chat template, where the server shows it."""


def identify(arguments: ServerArguments, secret: Secret) -> Identity:
    """Look up which model a server has.

    Raises:
        BackendError: It does not answer, or refuses the key.
        ConfigError: It has no such model, or several and none was named.
    """
    (found,) = run_concurrently([arguments], partial(open_lookup, arguments, secret), _identify, 1)
    return found


async def _identify(lookup: Lookup, arguments: ServerArguments) -> Identity:
    page = await lookup.get(f"{arguments.base_url}/models")
    status = page.received.status
    if status in (401, 403) or 300 <= status < 400:
        raise BackendError(f"{page.address}: {page.refusal.message}", page.refusal.hint)
    listed = _listed(page)
    dialect = dialect_of(page.received.headers.get("server", ""), _owner(listed))
    if not listed and arguments.model is None:
        raise _no_list(page)
    name = _chosen(arguments, listed, dialect)
    said = next((one for one in listed if one["id"] == name), None)
    if said is None and len(listed) == 1 and dialect == "llama.cpp":
        said = listed[0]  # llama.cpp has one model and answers to any name.
    facts = {key: said[key] for key in _KEPT if said and said.get(key) is not None}
    if said and dialect == "plain" and said.get("created"):
        facts["created"] = said["created"]
    root = arguments.base_url.removesuffix("/v1")
    template = None
    if dialect == "llama.cpp":
        properties = await lookup.read(f"{root}/props")
        facts |= _llama_facts(properties)
        source = properties.get("chat_template")
        template = source if isinstance(source, str) and source else None
    software = await _software(lookup, root, dialect, facts)
    recorded = {key: _recorded(value) for key, value in facts.items()}
    return Identity(name, dialect, _window(facts), recorded, software, template)


def _listed(page: Page) -> list[Mapping[str, Any]]:
    """The models that a server lists, if any."""
    found = page.body.get("data") if isinstance(page.body, Mapping) else None
    if not isinstance(found, list):
        return []
    named = (one for one in found if isinstance(one, Mapping))
    return [one for one in named if isinstance(one.get("id"), str) and one["id"]]


def _no_list(page: Page) -> BackendError:
    """No model was named, and the address lists none: the address is probably wrong."""
    return BackendError(
        f"{page.address} lists no models ({page.summary})",
        "check base_url: the protocol begins there, usually after /v1; where a server lists none,"
        " add model=NAME",
    )


def _owner(listed: list[Mapping[str, Any]]) -> str:
    return str(listed[0].get("owned_by", "")) if listed else ""


def _chosen(arguments: ServerArguments, listed: list[Mapping[str, Any]], dialect: Dialect) -> str:
    names = [str(one["id"]) for one in listed]
    known = ", ".join(one_line(name, _LONGEST_NAME) for name in names[:8])
    if arguments.model is None:
        if len(names) == 1:
            return names[0]
        raise ConfigError(
            "the server has several models, and none is named", f"add model=NAME; it has: {known}"
        )
    if dialect in ("vllm", "sglang") and arguments.model not in names:
        # Comparing many long names would be slow.
        alike = [name for name in names[:_MOST_NAMES] if len(name) <= _LONGEST_NAME]
        guess = guess_at(arguments.model, alike)
        raise ConfigError(f"the server has no model {arguments.model!r}", f"{guess}it has: {known}")
    return arguments.model


def _llama_facts(properties: Mapping[str, Any]) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    if path := properties.get("model_path"):
        # The file name without its folder: results are shared.
        facts["file"] = short_name(str(path))
    if kind := properties.get("model_ftype"):
        facts["quantisation"] = kind
    if template := properties.get("chat_template"):
        facts["chat_template"] = hashlib.sha256(str(template).encode()).hexdigest()[:16]
    if build := properties.get("build_info"):
        facts["build"] = build
    return facts


async def _software(
    lookup: Lookup, root: str, dialect: Dialect, facts: Mapping[str, Any]
) -> str | None:
    if dialect == "llama.cpp":
        build = facts.get("build")
        return f"llama.cpp {one_line(str(build), _LONGEST_NAME)}" if build else "llama.cpp"
    if dialect == "vllm":
        version = (await lookup.read(f"{root}/version")).get("version")
        return f"vLLM {one_line(str(version), _LONGEST_NAME)}" if version else "vLLM"
    return "SGLang" if dialect == "sglang" else None


def _window(facts: Mapping[str, Any]) -> int | None:
    meta = facts.get("meta")
    for found in (
        facts.get("max_model_len"),
        meta.get("n_ctx") if isinstance(meta, Mapping) else None,
    ):
        if window := read_count(found):
            return window
    return None


def _recorded(fact: Any) -> Any:
    """A fact for the results: with valid JSON numbers, and not too long."""
    kept = _cleaned(fact)
    written = json.dumps(kept, ensure_ascii=False)
    if len(written) <= _LONGEST_FACT:
        return kept
    return f"{len(written):,} characters, sha256 {hashlib.sha256(written.encode()).hexdigest()}"


def _cleaned(fact: Any) -> Any:
    """A fact with file names instead of paths, and numbers that every JSON reader accepts."""
    if isinstance(fact, Mapping):
        return {name: _cleaned(value) for name, value in fact.items()}
    if isinstance(fact, list):
        return [_cleaned(value) for value in fact]
    if isinstance(fact, float) and not math.isfinite(fact):
        return str(fact)
    if isinstance(fact, int) and abs(fact) > 2**53:
        return f"a number of {fact.bit_length():,} bits"
    return short_name(fact) if isinstance(fact, str) else fact


def short_name(model: str) -> str:
    """A model's name; for a path, as llama.cpp gives it, the file name."""
    return model.replace("\\", "/").rsplit("/", 1)[-1] if model.endswith(".gguf") else model


def fingerprint_of(parts: Mapping[str, Any]) -> str:
    """One hash of all parts, in any order: the server's half of the journal's key."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()
