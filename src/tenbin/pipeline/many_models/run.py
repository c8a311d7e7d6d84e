"""Runs many models: one after the other, or as many at once as a cluster has room for.

A model that fails stops no other. Side by side, each run has a driver process of its own: building
prompts and judging answers is Python's work, and one process would hold up many GPUs. Each writes
its own result and journal, and only the result comes back.
"""

from __future__ import annotations

import multiprocessing
import queue
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from types import MappingProxyType
from typing import Any, Literal

from tenbin.config import AUTO, RunConfig
from tenbin.errors import TenbinError
from tenbin.pipeline.interrupt import stopping_on_signals
from tenbin.pipeline.many_models.entries import Entry, known_result
from tenbin.pipeline.progress import Listener
from tenbin.pipeline.run import backend_settings
from tenbin.results.schema import RunResult

_SECONDS_TO_END = 4.0
"""For other processes that were asked to stop; this one has five."""


@dataclass(frozen=True, slots=True)
class ModelRun:
    """How one model's run ended."""

    name: str
    state: Literal["finished", "known", "failed"]
    """`known`: an earlier run's result was there and complete."""
    result: RunResult | None
    """What result.json says; None where it failed."""
    reason: str = ""
    """Why it failed."""


OnEnd = Callable[[ModelRun], None]
ListenerFor = Callable[[Entry], Listener]
"""Gives the listener of a model's run."""


@dataclass(frozen=True, slots=True)
class Slots:
    """Where runs go on, and how many at a time."""

    count: int = 1
    """Runs that there is room for at a time."""
    address: str | None = None
    """Of a cluster that this process has started for them."""


@contextmanager
def open_slots(entries: Sequence[Entry]) -> Iterator[Slots]:
    """Where all runs find their workers, and how many runs there is room for.

    One run without workers. With them as many as the cluster holds, and one more: it prepares its
    prompts and gets workers the moment that others end, so that nothing stands idle between two
    models.
    """
    settings = [backend_settings(entry.config) for entry in entries]
    workers = [one.workers for one in settings if one.workers is not None]
    if len(workers) < len(settings):
        yield Slots()
        return
    from tenbin.backends.ray.capacity import runs_that_fit, total_resources
    from tenbin.backends.ray.cluster import joined_cluster, own_address

    most = max((one.count or 1) * one.num_cpus for one in workers)
    with joined_cluster(workers[0].address, most):
        there = total_resources()
        count = 1 + max(runs_that_fit(one, there) for one in settings)
        yield Slots(count, own_address() if workers[0].address is None else None)


def run_entries(
    entries: Sequence[Entry],
    wanted: int | None,
    alone: ListenerFor,
    beside: ListenerFor,
    on_end: OnEnd,
    failed: Mapping[str, str] = MappingProxyType({}),
) -> list[ModelRun]:
    """Run every model that has no complete result yet, where there is room for it.

    Args:
        entries: The models, checked.
        wanted: How many runs go on side by side, each in a process of its own where several do;
            None: as many as there is room for.
        alone: The listener of a run that is the only one.
        beside: The same where several go on; other processes must be able to import it.
        on_end: Called after each model, by one thread at a time.
        failed: Names of models that cannot be run, and why, as `check_entries` found.

    Returns:
        How each ended, in the order of the entries.
    """
    ended = {name: ModelRun(name, "failed", None, reason) for name, reason in failed.items()}
    for one in ended.values():
        on_end(one)
    sound = [entry for entry in entries if entry.name not in ended]
    if sound:
        with open_slots(sound) as slots:
            at_once = min(wanted or slots.count, len(sound))
            listener_for = alone if at_once == 1 else beside
            ended |= {one.name: one for one in _run_at(slots, sound, at_once, listener_for, on_end)}
    return [ended[entry.name] for entry in entries]


def _run_at(
    slots: Slots, entries: Sequence[Entry], at_once: int, listener_for: ListenerFor, on_end: OnEnd
) -> list[ModelRun]:
    waiting: queue.SimpleQueue[Entry] = queue.SimpleQueue()
    ended: dict[str, ModelRun] = {}
    lock = threading.Lock()

    def note(one: ModelRun) -> None:
        with lock:
            ended[one.name] = one
            on_end(one)

    for entry in entries:
        if (result := known_result(entry)) is not None:
            note(ModelRun(entry.name, "known", result))
        else:
            waiting.put(entry)

    def work() -> None:
        while True:
            try:
                entry = waiting.get_nowait()
            except queue.Empty:
                return
            if at_once == 1:
                note(_run(entry, listener_for))
            else:
                note(_run_apart(entry, listener_for, slots.address))

    if at_once == 1:
        work()
    else:
        _side_by_side(work, min(at_once, waiting.qsize()), waiting)
    return [ended[entry.name] for entry in entries]


def _side_by_side(
    work: Callable[[], None], threads: int, waiting: queue.SimpleQueue[Entry]
) -> None:
    # Daemons: once this process ends, nothing of them stays.
    started = [threading.Thread(target=work, daemon=True) for _ in range(threads)]
    for thread in started:
        thread.start()
    try:
        for thread in started:
            while thread.is_alive():
                thread.join(0.5)  # in steps, so that an interrupt is heard
    except KeyboardInterrupt:
        with suppress(queue.Empty):
            while True:  # nobody is to begin with another model
                waiting.get_nowait()
        _end_processes()
        raise


def _end_processes() -> None:
    """Have the runs in other processes save what there is, and end; those that do not are killed.

    They do not hear Ctrl-C themselves: they would hear it twice.
    """
    running = multiprocessing.active_children()
    for process in running:
        process.terminate()
    until = time.monotonic() + _SECONDS_TO_END
    for process in running:
        process.join(max(0.0, until - time.monotonic()))
        if process.is_alive():
            process.kill()
            process.join()


def _run_apart(entry: Entry, listener_for: ListenerFor, address: str | None) -> ModelRun:
    """Run a model in a process of its own; one that dies is a model that failed."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(
        target=_answer_for, args=(entry, listener_for, address, sender), daemon=True
    )
    process.start()
    sender.close()  # so that its end is seen here
    try:
        ended: ModelRun = receiver.recv()
    except EOFError:
        process.join()
        return ModelRun(entry.name, "failed", None, f"its process ended, code {process.exitcode}")
    process.join()
    return ended


def _answer_for(
    entry: Entry,
    listener_for: ListenerFor,
    address: str | None,
    sender: Connection[ModelRun, Any],
) -> None:
    for one in (signal.SIGINT, signal.SIGHUP):
        signal.signal(one, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with suppress(KeyboardInterrupt), stopping_on_signals():
        if address is not None:
            from tenbin.backends.ray.cluster import attach

            attach(address)
        sender.send(_run(entry, listener_for))


def _end_with_parent() -> None:
    """Stop this process as soon as the one that started it is gone, killed or not."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        signal.raise_signal(signal.SIGTERM)


def _run(entry: Entry, listener_for: ListenerFor) -> ModelRun:
    listener = listener_for(entry)
    try:
        return ModelRun(entry.name, "finished", _execute(entry.config, listener))
    except TenbinError as error:
        return ModelRun(entry.name, "failed", None, str(error))
    except Exception as error:
        # Whatever it is, the other models can be run.
        listener.message(traceback.format_exc())
        return ModelRun(entry.name, "failed", None, f"{type(error).__name__}: {error}")


def _execute(config: RunConfig, listener: Listener) -> RunResult:
    if config.template == AUTO:
        from tenbin.pipeline.sweep import execute_auto as execute
    else:
        from tenbin.pipeline.run import execute
    return execute(config, listener).result
