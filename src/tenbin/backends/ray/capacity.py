"""What a cluster has, what one worker reserves, and how many workers fit.

Only the functions that look at the cluster need a connection to it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from tenbin.backends.base import BackendSettings, Workers
from tenbin.backends.registry import find_backend
from tenbin.errors import ConfigError

_PARALLEL = ("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size")
"""vLLM's own sizes: a worker reserves all GPUs of one engine."""


def worker_resources(
    settings: BackendSettings, workers: Workers, available: Mapping[str, float]
) -> dict[str, float]:
    """CPUs and GPUs that one worker reserves, by Ray's names.

    Args:
        settings: The backend that it opens.
        workers: What the user said.
        available: What the cluster has.

    Raises:
        ConfigError: The number of GPUs contradicts the device, or vLLM would use Ray too.
    """
    if settings.model_args.get("distributed_executor_backend") == "ray":
        raise ConfigError(
            "distributed_executor_backend=ray: vLLM would ask Ray for GPUs beside those that its "
            "worker has, and wait for them",
            "leave it out: a worker takes all GPUs of its engine, on one node; or leave --workers "
            "out, and vLLM spreads one model over nodes itself",
        )
    gpus = workers.num_gpus
    if gpus is None:
        gpus = _own_gpus(settings) if _wants_gpu(settings, available) else 0.0
    device = str(settings.model_args.get("device", settings.device or ""))
    if gpus == 0 and device.startswith("cuda"):
        raise ConfigError(
            f"--device {device} with --num_gpus 0: such a worker sees no GPU",
            "leave --num_gpus out, or use --device cpu",
        )
    return {"CPU": workers.num_cpus, "GPU": gpus}


def device_for(settings: BackendSettings, each: Mapping[str, float]) -> str | None:
    """The device that every worker uses, by what it reserves: the same on every node."""
    named = settings.model_args.get("device", settings.device)
    if named not in (None, "auto") or not find_backend(settings.model).on_gpus:
        return settings.device
    return "cuda" if each["GPU"] > 0 else "cpu"


def memory_share(each: Mapping[str, float]) -> float:
    """Part of its device's memory that a worker may use."""
    if each["GPU"] > 0:
        return min(1.0, each["GPU"])
    return min(1.0, each["CPU"] / (os.cpu_count() or 1))


def worker_count(
    workers: Workers, each: Mapping[str, float], available: Mapping[str, float]
) -> int:
    """The number of workers: as requested, or as many as the cluster has room for.

    Raises:
        ConfigError: The local cluster, which cannot grow, has no room for them.
    """
    room = [available.get(name, 0.0) / amount for name, amount in each.items() if amount > 0]
    fitting = int(min(room, default=1.0) + 1e-9)
    if workers.count is None:
        return max(1, fitting)
    if workers.address is None and each["GPU"] > 0 and fitting < workers.count:
        raise ConfigError(
            f"{workers.count} workers with {each['GPU']:g} GPUs each: this machine has "
            f"{available.get('GPU', 0):g}",
            "use fewer --workers, or a part of a GPU for each, such as --num_gpus 0.5",
        )
    return workers.count


def runs_that_fit(settings: BackendSettings, available: Mapping[str, float]) -> int:
    """How many runs of these settings fit on a cluster at a time; at least one."""
    workers = settings.workers
    assert workers is not None
    each = worker_resources(settings, workers, available)
    fitting = worker_count(Workers(address="any"), each, available)
    return max(1, fitting // worker_count(workers, each, available))


def _wants_gpu(settings: BackendSettings, available: Mapping[str, float]) -> bool:
    device = str(settings.model_args.get("device", settings.device or ""))
    if not find_backend(settings.model).on_gpus or device in ("cpu", "mps"):
        return False
    return device.startswith("cuda") or available.get("GPU", 0) > 0


def _own_gpus(settings: BackendSettings) -> float:
    if settings.model != "vllm":
        return 1.0
    count = 1
    for name in _PARALLEL:
        value = str(settings.model_args.get(name, 1))
        count *= int(value) if value.isdecimal() else 1
    return float(count)


def total_resources() -> dict[str, float]:
    """All CPUs, GPUs and other resources of the nodes that are alive."""
    import ray

    known: Any = ray
    return dict(known.cluster_resources())


def free_resources() -> dict[str, float]:
    """Resources that nothing has reserved."""
    import ray

    known: Any = ray
    return dict(known.available_resources())


def any_node_holds(each: Mapping[str, float]) -> bool:
    """Whether any node that is alive is large enough, in use or not."""
    import ray

    known: Any = ray
    return any(
        all(node["Resources"].get(name, 0.0) >= amount for name, amount in each.items())
        for node in known.nodes()
        if node["Alive"]
    )


def described(resources: Mapping[str, float]) -> str:
    """CPUs and GPUs for a message."""
    return ", ".join(f"{resources.get(name, 0):g} {name}s" for name in ("CPU", "GPU"))
