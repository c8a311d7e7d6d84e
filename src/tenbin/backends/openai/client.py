"""The client of one server: a call with its retries, what it used, and the session of a run."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from tenbin.backends.openai.arguments import ServerArguments
from tenbin.backends.openai.concurrency import AdaptiveLimit, Slot
from tenbin.backends.openai.dialect import Dialect
from tenbin.backends.openai.http import (
    BadAnswerError,
    Connections,
    Received,
    UnreadableError,
    open_connections,
    parse_answer,
    read_count,
    receive,
)
from tenbin.backends.openai.retry import (
    Refusal,
    RetryPolicy,
    classify_refusal,
    one_line,
    retry_after,
)
from tenbin.backends.openai.secret import Secret
from tenbin.errors import BackendError
from tenbin.records import Failure, Response, Usage

BYTES_FOR_A_BYTE = 512
"""Bytes of a response allowed for each byte of its request: a token shown with its log-probability
and the likeliest one takes about 200, and may be a single byte of the request."""
_LONGEST_PAUSE = 900.0
"""Longest Retry-After that is waited for; beyond it the run stops and can be continued later."""
_NOT_SENT = "the prompt holds a lone surrogate (half of a character), which UTF-8 cannot encode"


@dataclass(frozen=True, slots=True)
class Reply:
    """A successful response, and how many calls it took."""

    body: Mapping[str, Any]
    calls: int


@dataclass(slots=True)
class Traffic:
    """Calls of a whole run, answered or not."""

    calls: int = 0
    retries: int = 0
    halved: int = 0
    """How often the limit on concurrent calls was halved."""
    reasons: dict[str, int] = field(default_factory=dict)
    """Why calls were retried."""


@dataclass(slots=True)
class Client:
    """Posts to one server, with retries.

    Generating text has no side effect at a server, so a call whose answer was lost may be made
    again. It may be charged twice, and every attempt is counted.
    """

    connections: Connections
    secret: Secret
    limit: AdaptiveLimit
    policy: RetryPolicy
    timeout: float
    traffic: Traffic

    async def post(self, path: str, body: Mapping[str, Any], most: int) -> Reply | Failure:
        """Post until there is an answer, a permanent refusal, or no attempt left.

        Args:
            path: Relative to the server's address.
            body: The request.
            most: Bytes that the response may have, besides some for each byte of the request.

        Raises:
            BackendError: Nothing more can be asked of this server.
        """
        try:
            content = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
        except UnicodeEncodeError:
            return Failure("unencodable", _NOT_SENT)
        most += BYTES_FOR_A_BYTE * len(content)
        attempt = 0
        while True:
            attempt += 1
            found, asked_for = await self._once(path, content, most)
            if not isinstance(found, Refusal):
                return Reply(found, attempt)
            if found.meaning == "fatal":
                raise BackendError(
                    f"{self.connections.base_url}{path}: {found.message}", found.hint
                )
            if found.meaning == "permanent":
                return Failure(found.kind, found.message)
            if attempt > self.policy.retries:
                tries = "1 attempt" if attempt == 1 else f"{attempt} attempts"
                return Failure(found.kind, f"{found.message} ({tries})", retryable=True)
            await self._back_off(attempt, asked_for, found)

    async def _back_off(self, attempt: int, asked_for: float | None, found: Refusal) -> None:
        wait = self.policy.delay_before(attempt, asked_for)
        self.traffic.retries += 1
        reason = found.message.partition(":")[0]
        self.traffic.reasons[reason] = self.traffic.reasons.get(reason, 0) + 1
        await asyncio.sleep(wait)

    async def _once(
        self, path: str, content: bytes, most: int
    ) -> tuple[Mapping[str, Any] | Refusal, float | None]:
        """One attempt: its body or refusal, and the seconds of a Retry-After header."""
        async with self.limit.slot() as given:
            self.traffic.calls += 1
            received = await self._call(path, content, most)
            if isinstance(received, Refusal):
                if received.overloaded:
                    self._overloaded(given, 0.0)
                return received, None
            found = self._read(received)
            if not isinstance(found, Refusal):
                self.limit.succeeded()
                return found, None
            asked_for = retry_after(received.headers) if found.meaning == "transient" else None
            if asked_for is not None and asked_for > _LONGEST_PAUSE:
                raise BackendError(
                    f"the server asks to wait {asked_for:,.0f} seconds",
                    "run the same command again then; without --no_cache every answer so far"
                    " is kept",
                )
            if found.overloaded:
                self._overloaded(given, asked_for or 0.0)
            return found, asked_for

    async def _call(self, path: str, content: bytes, most: int) -> Received | Refusal:
        """The response, or why none could be read."""
        import httpx

        headers = {"Content-Type": "application/json", **self.secret.headers()}
        try:
            with self.connections.borrow() as client:
                request = client.build_request("POST", path, content=content, headers=headers)
                return await receive(client, request, self.timeout, most)
        except (asyncio.TimeoutError, httpx.TimeoutException):
            message = f"no complete answer within {self.timeout:g} s"
            return Refusal("transient", "timeout", message, overloaded=True)
        except UnreadableError as error:
            meaning: Literal["transient", "permanent"] = (
                "permanent" if error.permanent else "transient"
            )
            return Refusal(meaning, "malformed", f"the answer is {error}")
        except httpx.HTTPError as error:
            reason = one_line(self.secret.scrubbed(str(error))) or "the connection broke"
            return Refusal("transient", "connection", f"{type(error).__name__}: {reason}")

    def _overloaded(self, given: Slot, pause: float) -> None:
        before = self.limit.cuts
        self.limit.overloaded(given, pause)
        self.traffic.halved += self.limit.cuts - before

    def _read(self, received: Received) -> Mapping[str, Any] | Refusal:
        if received.status != 200:
            elsewhere = received.headers.get("location", "")
            return classify_refusal(received.status, received.text, self.secret, elsewhere)
        try:
            body = parse_answer(received.content, self.secret)
        except BadAnswerError as error:
            return Refusal("transient", "malformed", f"the answer is {error}")
        if not isinstance(body, dict):
            return Refusal("transient", "malformed", "the answer is not a JSON object")
        fault = body.get("error")
        if fault and "choices" not in body:
            # Some gateways answer 200 with the error inside.
            code = fault.get("code") if isinstance(fault, dict) else None
            status = code if isinstance(code, int) and 300 <= code < 600 else 500
            return classify_refusal(status, received.text, self.secret)
        return body


NO_USAGE = Usage(0, 0, 0, calls=0)


def usage_of(reply: Reply) -> Usage | None:
    """Token counts of one reply; None where the server does not count, never an estimate."""
    counted = reply.body.get("usage")
    if not isinstance(counted, Mapping):
        return None
    read, written = _number(counted, "prompt_tokens"), _number(counted, "completion_tokens")
    if read is None:
        return None
    cached = _number(counted.get("prompt_tokens_details"), "cached_tokens")
    return Usage(read, written or 0, cached or 0, reply.calls)


def thinking_tokens_of(reply: Reply) -> int | None:
    """Thinking tokens among those generated; None where the server does not say."""
    counted = reply.body.get("usage")
    details = counted.get("completion_tokens_details") if isinstance(counted, Mapping) else None
    return _number(details, "reasoning_tokens")


def sum_usage(parts: Iterable[Usage | None]) -> Usage | None:
    """Usage of several calls together; None where one of them was not counted."""
    total = None
    for part in parts:
        if part is None:
            return None
        total = part if total is None else add_usage(total, part)
    return total


def add_usage(total: Usage, part: Usage | None) -> Usage:
    """A total with one more call; a call that was not counted adds nothing."""
    if part is None:
        return total
    return Usage(
        total.prompt_tokens + part.prompt_tokens,
        total.completion_tokens + part.completion_tokens,
        total.cached_tokens + part.cached_tokens,
        total.calls + part.calls,
    )


def _number(values: Any, name: str) -> int | None:
    return read_count(values.get(name)) if isinstance(values, Mapping) else None


Encode = Callable[[str], Sequence[int]]
_COUNTED = frozenset({"server", "timeout", "connection", "malformed", "refused", "not_shown"})
"""Failures of the server; a prompt that is too long is not one."""


_ANSWER_BYTES, _BYTES_PER_TOKEN = 16 << 20, 4 << 10
"""Bytes that a response may have, besides those for its request: a base, and more for each
requested token, which may be shown with the twenty likeliest ones."""
_LONGEST_CONNECT = 30.0
"""Longest time to wait for a connection."""


@dataclass(frozen=True, slots=True)
class Server:
    """Which server is used, and how."""

    arguments: ServerArguments
    secret: Secret
    model: str
    dialect: Dialect
    is_chat: bool
    first_wait: float = 0.5
    """Seconds before the first retry."""
    answer_bytes: int = _ANSWER_BYTES
    """Base number of bytes that a response may have."""


@dataclass(slots=True)
class Session:
    """What all requests of one run share: client, tokenizer, counts. Lives in one event loop."""

    server: Server
    client: Client
    encode: Encode | None = None
    """Encodes a text without special tokens; None where no tokenizer is known."""
    failed_in_a_row: int = 0
    counted: Usage = NO_USAGE
    """Token counts of all replies so far."""

    async def ask(self, body: dict[str, object]) -> Reply | Failure:
        """One call to completions or chat completions."""
        path = "/chat/completions" if self.server.is_chat else "/completions"
        tokens = body.get(self.server.arguments.limit_field)
        most = self.server.answer_bytes + _BYTES_PER_TOKEN * (
            tokens if isinstance(tokens, int) else 0
        )
        reply = await self.client.post(path, {"model": self.server.model, **body}, most)
        if isinstance(reply, Reply):
            self.counted = add_usage(self.counted, usage_of(reply))
        return reply

    def note(self, response: Response) -> None:
        """Count consecutive failures, and stop a run in which everything fails.

        Raises:
            BackendError: `give_up` requests failed one after the other.
        """
        if not isinstance(response, Failure):
            self.failed_in_a_row = 0
        elif response.kind in _COUNTED:
            self.failed_in_a_row += 1
            if self.failed_in_a_row >= self.server.arguments.give_up:
                raise BackendError(
                    f"{self.failed_in_a_row} requests failed one after the other, the last with:"
                    f" {response.message}",
                    "check the server and run the same command again: without --no_cache"
                    " every answer so far is kept (give_up=N allows more failures in a row)",
                )


@asynccontextmanager
async def open_session(
    server: Server, traffic: Traffic, encode: Encode | None = None
) -> AsyncIterator[Session]:
    """A session for the length of the block."""
    arguments = server.arguments
    longest = min(_LONGEST_CONNECT, arguments.timeout)
    async with open_connections(arguments.base_url, longest) as connections:
        client = Client(
            connections,
            server.secret,
            AdaptiveLimit(arguments.concurrency),
            RetryPolicy(arguments.retries, server.first_wait),
            arguments.timeout,
            traffic,
        )
        yield Session(server, client, encode)
