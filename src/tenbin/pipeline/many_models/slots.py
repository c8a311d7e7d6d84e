"""Where the runs of many models go on, and how many there is room for at a time.

Knows workers and clusters; runs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from tenbin.pipeline.many_models.entries import Entry
from tenbin.pipeline.run import backend_settings


@dataclass(frozen=True, slots=True)
class Place:
    """Where runs go on."""

    room: int = 1
    """How many there is room for at a time."""
    address: str | None = None
    """Of a cluster that this process has started for them."""


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
    from tenbin.backends.ray.capacity import runs_that_fit, total_resources
    from tenbin.backends.ray.cluster import joined_cluster, own_address

    most = max((one.count or 1) * one.num_cpus for one in workers)
    with joined_cluster(workers[0].address, most):
        there = total_resources()
        room = 1 + max(runs_that_fit(one, there) for one in settings)
        yield Place(room, own_address() if workers[0].address is None else None)
