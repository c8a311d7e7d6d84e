"""One call to the server, tried again where that is safe and can help.

Knows HTTP, waits and the limit on calls; knows no prompt and no answer's shape. Writing text has no
side effect at a server, so a call whose answer got lost may be made again; it may be paid
twice, and every try is counted.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from tenbin.backends.openai.connections import Connections
from tenbin.backends.openai.limit import AdaptiveLimit, Pass
from tenbin.backends.openai.parsing import BadAnswerError, parse_answer
from tenbin.backends.openai.patience import Patience, retry_after
from tenbin.backends.openai.receiving import Received, UnreadableError, receive
from tenbin.backends.openai.secret import Secret
from tenbin.backends.openai.verdict import Verdict, judge_refusal, one_line
from tenbin.errors import BackendError
from tenbin.records import Failure

BYTES_FOR_A_BYTE = 512
"""Bytes of an answer for each byte of its question: a token that is shown with its log-probability
and the likeliest one beside it takes about 200, and may be a single byte of the question."""
_LONGEST_PAUSE = 900.0
"""Seconds that a server may ask for before the run is given up until later."""
_NOT_SENT = "the prompt holds half of a character (a lone surrogate), which no text in UTF-8 has"


@dataclass(frozen=True, slots=True)
class Reply:
    """A good answer, and how many calls it took."""

    body: Mapping[str, Any]
    calls: int


@dataclass(slots=True)
class Traffic:
    """What was sent in all, answered or not."""

    calls: int = 0
    retries: int = 0
    waited_seconds: float = 0.0
    halved: int = 0
    """How often the limit on calls was cut."""
    reasons: dict[str, int] = field(default_factory=dict)
    """Why calls were made again."""


@dataclass(slots=True)
class Transport:
    """Calls to one server."""

    connections: Connections
    secret: Secret
    limit: AdaptiveLimit
    patience: Patience
    timeout: float
    traffic: Traffic

    async def post(self, path: str, body: Mapping[str, Any], most: int) -> Reply | Failure:
        """Ask until there is an answer, a lasting refusal, or no try left.

        Args:
            path: Behind the server's address.
            body: What is asked.
            most: Bytes that an answer may have, beside some for each byte of the question.

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
            if not isinstance(found, Verdict):
                return Reply(found, attempt)
            if found.meaning == "fatal":
                raise BackendError(
                    f"{self.connections.base_url}{path}: {found.message}", found.hint
                )
            if found.meaning == "refused":
                return Failure(found.kind, found.message)
            if attempt > self.patience.retries:
                tries = "1 try" if attempt == 1 else f"{attempt} tries"
                return Failure(found.kind, f"{found.message} ({tries})", retryable=True)
            await self._rest(attempt, asked_for, found)

    async def _rest(self, attempt: int, asked_for: float | None, found: Verdict) -> None:
        wait = self.patience.wait_before(attempt, asked_for)
        self.traffic.retries += 1
        self.traffic.waited_seconds += wait
        reason = found.message.partition(":")[0]
        self.traffic.reasons[reason] = self.traffic.reasons.get(reason, 0) + 1
        await asyncio.sleep(wait)

    async def _once(
        self, path: str, content: bytes, most: int
    ) -> tuple[Mapping[str, Any] | Verdict, float | None]:
        """One try: a good body or what is wrong, and the seconds that the server asks for."""
        async with self.limit.leave() as given:
            self.traffic.calls += 1
            received = await self._call(path, content, most)
            if isinstance(received, Verdict):
                if received.overburdened:
                    self._overburdened(given, 0.0)
                return received, None
            found = self._read(received)
            if not isinstance(found, Verdict):
                self.limit.went_well()
                return found, None
            asked_for = retry_after(received.headers) if found.meaning == "passing" else None
            if asked_for is not None and asked_for > _LONGEST_PAUSE:
                raise BackendError(
                    f"the server asks to wait {asked_for:,.0f} seconds",
                    "run the same command again then; without --no_cache every answer so far"
                    " is kept",
                )
            if found.overburdened:
                self._overburdened(given, asked_for or 0.0)
            return found, asked_for

    async def _call(self, path: str, content: bytes, most: int) -> Received | Verdict:
        """What came back, or why nothing did that could be read."""
        import httpx

        headers = {"Content-Type": "application/json", **self.secret.headers()}
        try:
            with self.connections.lent() as client:
                request = client.build_request("POST", path, content=content, headers=headers)
                return await receive(client, request, self.timeout, most)
        except (asyncio.TimeoutError, httpx.TimeoutException):
            message = f"no whole answer within {self.timeout:g} s"
            return Verdict("passing", "timeout", message, overburdened=True)
        except UnreadableError as error:
            meaning: Literal["passing", "refused"] = "refused" if error.lasting else "passing"
            return Verdict(meaning, "malformed", f"the answer is {error}")
        except httpx.HTTPError as error:
            words = one_line(self.secret.scrubbed(str(error))) or "the connection broke"
            return Verdict("passing", "connection", f"{type(error).__name__}: {words}")

    def _overburdened(self, given: Pass, pause: float) -> None:
        before = self.limit.cuts
        self.limit.overburdened(given, pause)
        self.traffic.halved += self.limit.cuts - before

    def _read(self, received: Received) -> Mapping[str, Any] | Verdict:
        if received.status != 200:
            elsewhere = received.headers.get("location", "")
            return judge_refusal(received.status, received.words, self.secret, elsewhere)
        try:
            body = parse_answer(received.content, self.secret)
        except BadAnswerError as error:
            return Verdict("passing", "malformed", f"the answer is {error}")
        if not isinstance(body, dict):
            return Verdict("passing", "malformed", "the answer is no JSON object")
        fault = body.get("error")
        if fault and "choices" not in body:
            # Some gateways answer 200 and put the fault inside.
            code = fault.get("code") if isinstance(fault, dict) else None
            status = code if isinstance(code, int) and 300 <= code < 600 else 500
            return judge_refusal(status, received.words, self.secret)
        return body
