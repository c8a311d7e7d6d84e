"""The workers as the driver sees them: made, ready, at work, dead, replaced.

Turns Ray's references and errors into a few plain events. Knows no plan: which shard goes where is
`dispatch`'s matter.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from tenbin.backends.base import BackendSettings
from tenbin.backends.ray.capacity import any_node_holds, described, free_resources, total_resources
from tenbin.backends.ray.events import Died, Done, Event, Member
from tenbin.backends.ray.shard_ledger import Shard
from tenbin.backends.ray.worker import Answered, Opened, Refused, Terms, Worker
from tenbin.errors import BackendError, TenbinError

_DEATHS = 4
"""Deaths, besides one a worker, that are borne before the first answer of all."""
_PATIENCE = 1800.0
"""Seconds after which a run breaks off that no node has room for: nodes may take long to come."""
_REMIND = 60.0
_FAREWELL = 20.0
"""Seconds in which idle workers may free what they hold, before they are killed."""


class Crew:
    """As many workers as were asked for; whoever dies is replaced."""

    def __init__(
        self,
        settings: BackendSettings,
        terms: Terms,
        count: int,
        each: Mapping[str, float],
        notify: Callable[[str], None],
    ) -> None:
        """Ask Ray for workers; none of them is there yet.

        Args:
            settings: What each of them opens.
            terms: What each of them must be.
            count: How many.
            each: CPUs and GPUs that one takes, by Ray's names.
            notify: Told what a user should know.
        """
        import ray

        self._ray: Any = ray
        self._settings, self._terms = settings, terms
        self._each, self._notify = dict(each), notify
        self._made = 0
        self._deaths_before_answers: int | None = 0
        self._count = count
        self.descriptions: dict[int, Mapping[str, Any]] = {}
        """What each worker's backend last said of itself, by number."""
        self.nodes: dict[int, str] = {}
        """Where each worker was, by number."""
        self.deaths = 0
        self._told: set[str] = set()
        self._empty_since = self._reminded = time.monotonic()
        self._members = [self._make() for _ in range(count)]

    @property
    def ready(self) -> list[Member]:
        """Workers that can be given shards."""
        return [member for member in self._members if member.opening is None]

    def _make(self) -> Member:
        resources = {"num_cpus": self._each["CPU"], "num_gpus": self._each["GPU"]}
        # Deaths are counted here, so Ray neither restarts a worker nor repeats what it was doing.
        remote = self._ray.remote(**resources, max_restarts=0, max_task_retries=0)(Worker)
        actor = remote.options(scheduling_strategy="SPREAD").remote(self._settings, self._terms)
        member = Member(self._made, actor, actor.open.remote())
        self._made += 1
        return member

    def give(self, member: Member, shard: Shard) -> None:
        """Hand a shard over; it is carried only now, so the object store holds little."""
        member.shards[member.actor.answer.remote(shard.requests, shard.known)] = shard

    def events(self, timeout: float) -> list[Event]:
        """What happened, waiting at most so many seconds for something to happen.

        Raises:
            BackendError: A worker refused, or there are none.
        """
        owners = {ref: member for member in self._members for ref in member.shards}
        owners |= {member.opening: member for member in self._members if member.opening is not None}
        if not owners:
            return []
        ready, _ = self._ray.wait(list(owners), num_returns=len(owners), timeout=0)
        if not ready:
            ready, _ = self._ray.wait(list(owners), num_returns=1, timeout=timeout)
        found: list[Event] = []
        dead: dict[int, tuple[Member, str]] = {}
        for ref in ready:
            member = owners[ref]
            try:
                value = self._ray.get(ref)
            except self._ray.exceptions.RayError as error:
                dead.setdefault(member.number, (member, _reason(error)))
                continue
            event = self._take(member, ref, value)
            found += [event] if event is not None else []
        # After all that was answered: what a worker finished before it died counts.
        found += [self._bury(member, reason) for member, reason in dead.values()]
        self._watch_for_workers()
        return found

    def _take(self, member: Member, ref: Any, value: Any) -> Event | None:
        if isinstance(value, Refused):
            raise BackendError(f"{value.message} (worker on {value.node})", value.hint)
        if isinstance(value, Opened):
            member.opening = None
            self.nodes[member.number] = value.node
            return None
        assert isinstance(value, Answered)
        self._deaths_before_answers = None
        if value.description is not None:
            self.descriptions[member.number] = value.description
        for notice in value.notices:
            if notice not in self._told:
                self._told.add(notice)
                self._notify(notice)
        return Done(member.shards.pop(ref), value)

    def _bury(self, member: Member, reason: str) -> Died:
        """Put another worker in a dead one's place."""
        self._ray.kill(member.actor)
        self.deaths += 1
        if self._deaths_before_answers is not None:
            self._deaths_before_answers += 1
            if self._deaths_before_answers >= _DEATHS + self._count:
                raise BackendError(
                    f"workers die before they answer anything, the last one so: {reason}",
                    "see that the model fits the memory of a worker, and that tenbin and its "
                    "libraries are installed on every node",
                )
        self._members[self._members.index(member)] = self._make()
        held = list(member.shards.values())
        return Died(held[0] if held else None, tuple(held[1:]), reason)

    def _watch_for_workers(self) -> None:
        """Say that nobody is there to work, and break off when that lasts."""
        now = time.monotonic()
        if self.ready:
            self._empty_since = self._reminded = now
            return
        waited = now - self._empty_since
        asked = f"each worker takes {described(self._each)}"
        free = described(free_resources())
        there = f"the cluster has {described(total_resources())} ({free} free)"
        # Where a node is large enough, others use it now: their end is waited for.
        if waited > _PATIENCE and not any_node_holds(self._each):
            raise BackendError(
                f"no worker could be placed for {waited / 60:.0f} minutes: {asked}, {there}",
                "ask for less with --num_gpus and --num_cpus, or add nodes; answers are kept",
            )
        if now - self._reminded > _REMIND:
            self._reminded = now
            self._notify(
                f"no worker is ready yet after {waited:.0f} s: they load, or wait for room; "
                f"{asked}, {there}"
            )

    def close(self) -> None:
        """End all workers; those at work are not waited for."""
        members, self._members = self._members, []
        idle = [one for one in members if one.opening is None and not one.shards]
        if idle:
            # A model's own processes would hold its GPU for a while after the worker's death.
            farewells = [one.actor.close.remote() for one in idle]
            self._ray.wait(farewells, num_returns=len(idle), timeout=_FAREWELL)
        for member in members:
            self._ray.kill(member.actor)


def _reason(error: Exception) -> str:
    """What Ray says of a death, in a line."""
    cause = getattr(error, "cause", None)
    if isinstance(cause, TenbinError):
        return cause.message
    if cause is not None:
        return f"{type(cause).__name__}: {cause}".splitlines()[0]
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    telling = [line for line in lines if "because" in line or "No module" in line]
    # What follows are guesses and advice about Ray.
    return (telling or lines or [type(error).__name__])[0].partition(" Some common causes")[0]
