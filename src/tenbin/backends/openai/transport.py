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
from typing import Any

from tenbin.backends.openai.connections import Connections
from tenbin.backends.openai.limit import AdaptiveLimit, Pass
from tenbin.backends.openai.patience import Patience, retry_after
from tenbin.backends.openai.secret import Secret
from tenbin.backends.openai.verdict import Verdict, judge_refusal
from tenbin.errors import BackendError
from tenbin.records import Failure

_LONGEST_PAUSE = 900.0
"""Seconds that a server may ask for before the run is given up until later."""


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

    async def post(self, path: str, body: Mapping[str, Any]) -> Reply | Failure:
        """Ask until there is an answer, a lasting refusal, or no try left.

        Raises:
            BackendError: Nothing more can be asked of this server.
        """
        attempt = 0
        while True:
            attempt += 1
            found, asked_for = await self._once(path, body)
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
        self, path: str, body: Mapping[str, Any]
    ) -> tuple[Mapping[str, Any] | Verdict, float | None]:
        """One try: a good body or what is wrong, and the seconds that the server asks for."""
        import httpx

        async with self.limit.leave() as given:
            self.traffic.calls += 1
            try:
                with self.connections.lent() as client:
                    response = await asyncio.wait_for(
                        client.post(path, json=body, headers=self.secret.headers()), self.timeout
                    )
            except (asyncio.TimeoutError, httpx.TimeoutException):
                self._overburdened(given, 0.0)
                message = f"no whole answer within {self.timeout:g} s"
                return Verdict("passing", "timeout", message, overburdened=True), None
            except httpx.TransportError as error:
                words = self.secret.scrubbed(str(error)) or "the connection broke"
                return Verdict("passing", "connection", f"{type(error).__name__}: {words}"), None
            found = self._read(response.status_code, response.text)
            asked_for = retry_after(response.headers) if isinstance(found, Verdict) else None
            if asked_for is not None and asked_for > _LONGEST_PAUSE:
                raise BackendError(
                    f"the server asks to wait {asked_for:,.0f} seconds",
                    "run the same command again then; without --no_cache every answer so far"
                    " is kept",
                )
            if not isinstance(found, Verdict):
                self.limit.went_well()
            elif found.overburdened:
                self._overburdened(given, asked_for or 0.0)
            return found, asked_for

    def _overburdened(self, given: Pass, pause: float) -> None:
        before = self.limit.cuts
        self.limit.overburdened(given, pause)
        self.traffic.halved += self.limit.cuts - before

    def _read(self, status: int, text: str) -> Mapping[str, Any] | Verdict:
        if status != 200:
            return judge_refusal(status, self.secret.scrubbed(text), self.secret.sent_from)
        try:
            body = json.loads(self.secret.scrubbed_answer(text))
        except ValueError:
            is_page = text.lstrip().startswith("<")
            what = "a web page: does base_url end in /v1?" if is_page else "no whole JSON"
            return Verdict("passing", "malformed", f"the answer is {what}")
        if not isinstance(body, dict):
            return Verdict("passing", "malformed", "the answer is no JSON object")
        error = body.get("error")
        if error and "choices" not in body:
            # Some gateways answer 200 and put the fault inside.
            code = error.get("code") if isinstance(error, dict) else None
            status = code if isinstance(code, int) and 300 <= code < 600 else 500
            return judge_refusal(status, self.secret.scrubbed(text), self.secret.sent_from)
        return body
