"""Runs many models: one after the other, or as many at once as a cluster has room for.

A model that fails stops no other. Side by side, each run has a driver process of its own: building
prompts and judging answers is Python's work, and one process would hold up many GPUs. Each writes
its own result and journal, and only its scores come back.
"""

from __future__ import annotations

import multiprocessing
import queue
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Literal

from tenbin.asking import Listener
from tenbin.config import AUTO, RunConfig
from tenbin.errors import TenbinError
from tenbin.roster.entries import Entry, known_result
from tenbin.run import backend_settings

_KEPT = ("results", "details", "configs", "n-samples", "failures")


@dataclass(frozen=True, slots=True)
class Ended:
    """How one model's run ended."""

    name: str
    state: Literal["finished", "known", "failed"]
    """`known`: an earlier run's result was there and complete."""
    scores: Mapping[str, Any]
    """Of result.json what a table needs; empty where it failed."""
    reason: str = ""
    """Why it failed."""


Told = Callable[[Ended], None]


@dataclass(frozen=True, slots=True)
class Place:
    """Where runs go on."""

    room: int = 1
    """How many there is room for at a time."""
    address: str | None = None
    """Of a cluster that this process has started for them."""


def run_entries(
    entries: Sequence[Entry],
    at_once: int,
    place: Place,
    listener_for: Callable[[str], Listener],
    told: Told,
) -> list[Ended]:
    """Run every model that has no complete result yet.

    Args:
        entries: The models, checked.
        at_once: How many runs go on side by side, each in a process of its own where several do.
        place: Where they find their workers.
        listener_for: Gives the listener of a model's run; a function that other processes can
            import, where several go on.
        told: Called after each model, by one thread at a time.

    Returns:
        How each ended, in the order of the entries.
    """
    waiting: queue.SimpleQueue[Entry] = queue.SimpleQueue()
    ended: dict[str, Ended] = {}
    lock = threading.Lock()

    def note(one: Ended) -> None:
        with lock:
            ended[one.name] = one
            told(one)

    for entry in entries:
        if (document := known_result(entry)) is not None:
            note(Ended(entry.name, "known", _scores(document)))
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
                note(_run_apart(entry, listener_for, place.address))

    if at_once == 1:
        work()
    else:
        _side_by_side(work, min(at_once, waiting.qsize()))
    return [ended[entry.name] for entry in entries]


def _side_by_side(work: Callable[[], None], threads: int) -> None:
    # Daemons: an interrupt ends the program and its processes; the journals are whole.
    started = [threading.Thread(target=work, daemon=True) for _ in range(threads)]
    for thread in started:
        thread.start()
    for thread in started:
        while thread.is_alive():
            thread.join(0.5)  # in steps, so that an interrupt is heard


def _run_apart(entry: Entry, listener_for: Callable[[str], Listener], address: str | None) -> Ended:
    """Run a model in a process of its own; one that dies is a model that failed."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(
        target=_answer_for, args=(entry, listener_for, address, sender), daemon=True
    )
    process.start()
    sender.close()  # so that its end is seen here
    try:
        ended: Ended = receiver.recv()
    except EOFError:
        process.join()
        return Ended(entry.name, "failed", {}, f"its process ended, code {process.exitcode}")
    process.join()
    return ended


def _answer_for(
    entry: Entry,
    listener_for: Callable[[str], Listener],
    address: str | None,
    sender: Connection[Ended, Any],
) -> None:
    with suppress(KeyboardInterrupt):
        if address is not None:
            from tenbin.backends.ray.cluster import attach

            attach(address)
        sender.send(_run(entry, listener_for))


def _run(entry: Entry, listener_for: Callable[[str], Listener]) -> Ended:
    listener = listener_for(entry.name)
    try:
        return Ended(entry.name, "finished", _scores(_execute(entry.config, listener)))
    except TenbinError as error:
        return Ended(entry.name, "failed", {}, str(error))
    except Exception as error:
        # Whatever it is, the other models can be run.
        listener.message(traceback.format_exc())
        return Ended(entry.name, "failed", {}, f"{type(error).__name__}: {error}")


def _execute(config: RunConfig, listener: Listener) -> Mapping[str, Any]:
    if config.template == AUTO:
        from tenbin.choosing import execute_auto as execute
    else:
        from tenbin.run import execute
    return execute(config, listener).document


def _scores(document: Mapping[str, Any]) -> dict[str, Any]:
    return {name: document[name] for name in _KEPT}


@contextmanager
def place_for(entries: Sequence[Entry]) -> Iterator[Place]:
    """Where all runs find their workers, and how many runs there is room for.

    One run without workers. With them as many as the cluster holds, and one more: it prepares its
    prompts and gets workers the moment that others end, so that nothing stands idle between two
    models.
    """
    settings = [backend_settings(entry.config) for entry in entries]
    workers = [one.workers for one in settings if one.workers is not None]
    if len(workers) < len(settings):
        yield Place()
        return
    from tenbin.backends.ray.cluster import joined_cluster, own_address
    from tenbin.backends.ray.resources import room_for
    from tenbin.backends.ray.stock import total_resources

    most = max((one.count or 1) * one.num_cpus for one in workers)
    with joined_cluster(workers[0].address, most):
        there = total_resources()
        room = 1 + max(room_for(one, there) for one in settings)
        yield Place(room, own_address() if workers[0].address is None else None)
