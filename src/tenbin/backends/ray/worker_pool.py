"""The pool of workers: starts them, gives them shards, reports events, replaces dead ones."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from tenbin.backends.base import BackendSettings
from tenbin.backends.ray.capacity import any_node_holds, described, free_resources, total_resources
from tenbin.backends.ray.dispatch import Died, Done, Event, WorkerHandle
from tenbin.backends.ray.shard_ledger import Shard
from tenbin.backends.ray.worker import Answered, Expected, Opened, Refused, Worker
from tenbin.errors import BackendError, TenbinError

_EARLY_DEATHS = 4
"""Deaths, besides one per worker, that are tolerated before the first answer of the run."""
_LONGEST_WAIT = 1800.0
"""Seconds after which a run stops if no node has room for a worker: nodes may start slowly."""
_REMIND = 60.0
"""Seconds between messages that no worker is ready."""
_CLOSE_TIMEOUT = 20.0
"""Seconds in which idle workers may close their backend before they are killed."""


class WorkerPool:
    """A fixed number of workers; one that dies is replaced."""

    def __init__(
        self,
        settings: BackendSettings,
        expected: Expected,
        count: int,
        each: Mapping[str, float],
        notify: Callable[[str], None],
    ) -> None:
        """Start workers; they open their backends in the background.

        Args:
            settings: What each worker opens.
            expected: What each worker must match.
            count: Number of workers.
            each: CPUs and GPUs that one worker reserves, by Ray's names.
            notify: Called with messages for the user.
        """
        import ray

        self._ray: Any = ray
        self._settings, self._expected = settings, expected
        self._each, self._notify = dict(each), notify
        self._started = 0
        self._deaths_before_answers: int | None = 0
        self._count = count
        self.descriptions: dict[int, Mapping[str, Any]] = {}
        """The last description of each worker's backend, by worker number."""
        self.nodes: dict[int, str] = {}
        """The node of each worker, by worker number."""
        self.deaths = 0
        self._notified: set[str] = set()
        self._empty_since = self._reminded = time.monotonic()
        self._workers = [self._start() for _ in range(count)]

    @property
    def ready(self) -> list[WorkerHandle]:
        """Workers that can be given shards."""
        return [worker for worker in self._workers if worker.opening is None]

    def _start(self) -> WorkerHandle:
        resources = {"num_cpus": self._each["CPU"], "num_gpus": self._each["GPU"]}
        # Deaths are counted here, so Ray must neither restart a worker nor repeat its tasks.
        remote = self._ray.remote(**resources, max_restarts=0, max_task_retries=0)(Worker)
        actor = remote.options(scheduling_strategy="SPREAD").remote(self._settings, self._expected)
        worker = WorkerHandle(self._started, actor, actor.open.remote())
        self._started += 1
        return worker

    def give(self, worker: WorkerHandle, shard: Shard) -> None:
        """Give a shard to a worker; it is sent only now, so that the object store holds little."""
        worker.shards[worker.actor.answer.remote(shard.requests, shard.known)] = shard

    def events(self, timeout: float) -> list[Event]:
        """Shards that were answered and workers that died; waits at most `timeout` seconds for one.

        Raises:
            BackendError: A worker reported an error, or no worker can be started.
        """
        owners = {ref: worker for worker in self._workers for ref in worker.shards}
        owners |= {worker.opening: worker for worker in self._workers if worker.opening is not None}
        if not owners:
            return []
        ready, _ = self._ray.wait(list(owners), num_returns=len(owners), timeout=0)
        if not ready:
            ready, _ = self._ray.wait(list(owners), num_returns=1, timeout=timeout)
        found: list[Event] = []
        dead: dict[int, tuple[WorkerHandle, str]] = {}
        for ref in ready:
            worker = owners[ref]
            try:
                value = self._ray.get(ref)
            except self._ray.exceptions.RayError as error:
                dead.setdefault(worker.number, (worker, _reason(error)))
                continue
            event = self._take(worker, ref, value)
            found += [event] if event is not None else []
        # Deaths come last: what a worker finished before it died counts.
        found += [self._replace(worker, reason) for worker, reason in dead.values()]
        self._check_ready()
        return found

    def _take(self, worker: WorkerHandle, ref: Any, value: Any) -> Event | None:
        if isinstance(value, Refused):
            raise BackendError(f"{value.message} (worker on {value.node})", value.hint)
        if isinstance(value, Opened):
            worker.opening = None
            self.nodes[worker.number] = value.node
            return None
        assert isinstance(value, Answered)
        self._deaths_before_answers = None
        if value.description is not None:
            self.descriptions[worker.number] = value.description
        for notice in value.notices:
            if notice not in self._notified:
                self._notified.add(notice)
                self._notify(notice)
        return Done(worker.shards.pop(ref), value)

    def _replace(self, worker: WorkerHandle, reason: str) -> Died:
        """Start another worker in place of a dead one."""
        self._ray.kill(worker.actor)
        self.deaths += 1
        if self._deaths_before_answers is not None:
            self._deaths_before_answers += 1
            if self._deaths_before_answers >= _EARLY_DEATHS + self._count:
                raise BackendError(
                    f"workers die before they answer anything, the last one with: {reason}",
                    "check that the model fits the memory of a worker, and that tenbin and its "
                    "libraries are installed on every node",
                )
        self._workers[self._workers.index(worker)] = self._start()
        held = list(worker.shards.values())
        return Died(held[0] if held else None, tuple(held[1:]), reason)

    def _check_ready(self) -> None:
        """Report that no worker is ready, and stop the run when that lasts too long."""
        now = time.monotonic()
        if self.ready:
            self._empty_since = self._reminded = now
            return
        waited = now - self._empty_since
        asked = f"each worker needs {described(self._each)}"
        free = described(free_resources())
        there = f"the cluster has {described(total_resources())} ({free} free)"
        # A node that is large enough is in use by others: wait until they finish.
        if waited > _LONGEST_WAIT and not any_node_holds(self._each):
            raise BackendError(
                f"no worker could be placed for {waited / 60:.0f} minutes: {asked}, {there}",
                "reduce --num_gpus and --num_cpus, or add nodes; answers are kept",
            )
        if now - self._reminded > _REMIND:
            self._reminded = now
            self._notify(
                f"no worker is ready after {waited:.0f} s: they are loading or wait for resources; "
                f"{asked}, {there}"
            )

    def close(self) -> None:
        """End all workers without waiting for those at work."""
        workers, self._workers = self._workers, []
        idle = [one for one in workers if one.opening is None and not one.shards]
        if idle:
            # Otherwise a model's own processes would hold its GPU for a while longer.
            closing = [one.actor.close.remote() for one in idle]
            self._ray.wait(closing, num_returns=len(idle), timeout=_CLOSE_TIMEOUT)
        for worker in workers:
            self._ray.kill(worker.actor)


def _reason(error: Exception) -> str:
    """Ray's reason for a death, on one line."""
    cause = getattr(error, "cause", None)
    if isinstance(cause, TenbinError):
        return cause.message
    if cause is not None:
        return f"{type(cause).__name__}: {cause}".splitlines()[0]
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    reasons = [line for line in lines if "because" in line or "No module" in line]
    # The rest of the line is general advice about Ray.
    return (reasons or lines or [type(error).__name__])[0].partition(" Some common causes")[0]
