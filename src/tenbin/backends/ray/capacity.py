"""What a cluster has: CPUs and GPUs, in all, free, and on one node. The process is connected."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def total_resources() -> dict[str, float]:
    """All CPUs, GPUs and the like of the nodes that are there now."""
    import ray

    known: Any = ray
    return dict(known.cluster_resources())


def free_resources() -> dict[str, float]:
    """What nobody has taken."""
    import ray

    known: Any = ray
    return dict(known.available_resources())


def any_node_holds(each: Mapping[str, float]) -> bool:
    """Whether one of the nodes that are there now is large enough, in use or not."""
    import ray

    known: Any = ray
    return any(
        all(node["Resources"].get(name, 0.0) >= amount for name, amount in each.items())
        for node in known.nodes()
        if node["Alive"]
    )


def described(resources: Mapping[str, float]) -> str:
    """CPUs and GPUs in words."""
    return ", ".join(f"{resources.get(name, 0):g} {name}s" for name in ("CPU", "GPU"))
