"""What a worker takes, and how many workers there is room for.

Knows what arguments of backends say about GPUs.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from tenbin.backends.base import BackendSettings, Workers
from tenbin.backends.registry import find_backend
from tenbin.errors import ConfigError

_PARALLEL = ("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size")
"""vLLM's own sizes: a worker holds all GPUs of one engine."""


def each_worker(
    settings: BackendSettings, workers: Workers, there: Mapping[str, float]
) -> dict[str, float]:
    """CPUs and GPUs of one worker, by Ray's names.

    Args:
        settings: The backend that it opens.
        workers: What the user said.
        there: What the cluster has.

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
        gpus = _own_gpus(settings) if _wants_gpu(settings, there) else 0.0
    device = str(settings.model_args.get("device", settings.device or ""))
    if gpus == 0 and device.startswith("cuda"):
        raise ConfigError(
            f"--device {device} with --num_gpus 0: such a worker sees no GPU",
            "leave --num_gpus out, or use --device cpu",
        )
    return {"CPU": workers.num_cpus, "GPU": gpus}


def device_for(settings: BackendSettings, each: Mapping[str, float]) -> str | None:
    """The device a worker uses: said by what it takes, the same on every node."""
    named = settings.model_args.get("device", settings.device)
    if named not in (None, "auto") or not find_backend(settings.model).on_gpus:
        return settings.device
    return "cuda" if each["GPU"] > 0 else "cpu"


def memory_share(each: Mapping[str, float]) -> float:
    """Part of its device's memory that a worker may count on."""
    if each["GPU"] > 0:
        return min(1.0, each["GPU"])
    return min(1.0, each["CPU"] / (os.cpu_count() or 1))


def worker_count(workers: Workers, each: Mapping[str, float], there: Mapping[str, float]) -> int:
    """As many workers as were asked for; else as many as the cluster has room for.

    Raises:
        ConfigError: A cluster of this machine's own, which cannot grow, has no room for them.
    """
    room = [there.get(name, 0.0) / amount for name, amount in each.items() if amount > 0]
    fitting = int(min(room, default=1.0) + 1e-9)
    if workers.count is None:
        return max(1, fitting)
    if workers.address is None and each["GPU"] > 0 and fitting < workers.count:
        raise ConfigError(
            f"{workers.count} workers with {each['GPU']:g} GPUs each: this machine has "
            f"{there.get('GPU', 0):g}",
            "fewer --workers, or a part of a GPU each, such as --num_gpus 0.5",
        )
    return workers.count


def room_for(settings: BackendSettings, there: Mapping[str, float]) -> int:
    """Runs of these settings that a cluster holds side by side, one at least."""
    workers = settings.workers
    assert workers is not None
    each = each_worker(settings, workers, there)
    fitting = worker_count(Workers(address="any"), each, there)
    return max(1, fitting // worker_count(workers, each, there))


def _wants_gpu(settings: BackendSettings, there: Mapping[str, float]) -> bool:
    device = str(settings.model_args.get("device", settings.device or ""))
    if not find_backend(settings.model).on_gpus or device in ("cpu", "mps"):
        return False
    return device.startswith("cuda") or there.get("GPU", 0) > 0


def _own_gpus(settings: BackendSettings) -> float:
    if settings.model != "vllm":
        return 1.0
    count = 1
    for name in _PARALLEL:
        value = str(settings.model_args.get(name, 1))
        count *= int(value) if value.isdecimal() else 1
    return float(count)
