"""The Ray cluster: one that is there, or one of this machine's own for the length of a run.

Knows how to come and go; knows no worker and no request. Nothing is told
to Ray's makers, and no dashboard is opened.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tenbin.errors import BackendError, ConfigError

_SECONDS = 10.0
"""How long a cluster may take to take a connection."""
_OBJECT_STORE = 256 << 20
"""Bytes of shared memory of a cluster of our own: some shards a worker are under way at a time."""

# Read by Ray as it is imported: here, so that it holds for whoever imports Ray after this module.
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
# A worker without GPUs sees what it would see without Ray: Ray's own default from now on.
os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")

_lock = threading.Lock()
_joined: dict[str | None, int] = {}
"""How many users each connection has that this module made: Ray has one a process."""


def join_cluster(address: str | None, num_cpus: float) -> None:
    """Connect to a cluster, or start one; where the process is connected already, use that.

    Args:
        address: `auto`, HOST:PORT or ray://HOST:PORT; None starts one here.
        num_cpus: CPUs that a cluster of our own must have at least.

    Raises:
        BackendError: There is no cluster at this address.
    """
    if address is None and "ray" not in sys.modules:
        # Ray binds to loopback alone where it is told that there are no other machines.
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    import ray

    with _lock:
        if not _joined and ray.is_initialized():
            return  # whoever connected will leave
        if not _joined:
            _connect(ray, address, num_cpus)
        elif address not in _joined:
            raise BackendError(
                f"this process works on the Ray cluster {next(iter(_joined)) or 'of its own'} and "
                f"cannot use {address or 'one of its own'} too",
                "use one cluster at a time, or a process for each",
            )
        _joined[address] = _joined.get(address, 0) + 1


@contextmanager
def joined_cluster(address: str | None, num_cpus: float) -> Iterator[None]:
    """Keep a cluster while several backends come and go."""
    join_cluster(address, num_cpus)
    try:
        yield
    finally:
        leave_cluster(address)


def own_address() -> str:
    """Where other processes of this machine find a cluster that this one has started."""
    import ray

    known: Any = ray
    return str(known.get_runtime_context().gcs_address)


def attach(address: str) -> None:
    """Be connected for the length of this process, whatever backends come and go."""
    import ray

    _connect(ray, address, 0.0)


def leave_cluster(address: str | None) -> None:
    """Disconnect where this module connected and nobody else is left; ends a cluster of our own."""
    import ray

    with _lock:
        if address not in _joined:
            return
        _joined[address] -= 1
        if not _joined[address]:
            del _joined[address]
        if not _joined:
            ray.shutdown()


def _connect(ray: Any, address: str | None, num_cpus: float) -> None:
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address is None:
        options |= {
            "num_cpus": max(os.cpu_count() or 1, -int(-num_cpus // 1)),
            # Without it Ray joins whatever cluster somebody else has started on this machine.
            "address": "local",
            "include_dashboard": False,
            "object_store_memory": _OBJECT_STORE,
        }
    else:
        options["address"] = address
        _knock(address)
    try:
        with _own_signals():
            ray.init(**options)
    except (ConnectionError, OSError, RuntimeError, ValueError, TimeoutError) as error:
        if address is None:
            raise BackendError(f"Ray could not be started here: {_first_line(error)}") from error
        raise _nobody(address, error) from error
    except ImportError as error:
        raise BackendError(
            f"ray://… needs Ray's client: {_first_line(error)}", "pip install 'ray[client]'"
        ) from error


@contextmanager
def _own_signals() -> Iterator[None]:
    """Keep what this process does when it is told to end: Ray would exit at once."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, before)


def _knock(address: str) -> None:
    """See that somebody listens: Ray itself tries for many minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon:
        return
    if not port.isdecimal():
        raise ConfigError(
            f"--ray_address {address}: {port!r} is no port",
            "write auto, HOST:PORT or ray://HOST:PORT",
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise _nobody(address, error) from error


def _nobody(address: str, error: BaseException) -> BackendError:
    if address.startswith("ray://") and "timeout" in str(error):
        return BackendError(
            f"the Ray cluster at {address} does not let this machine in: {_first_line(error)}",
            "where the cluster asks for a token, set RAY_AUTH_MODE=token and give Ray the token "
            "(its pages on token authentication say how)",
        )
    return BackendError(
        f"no Ray cluster answers at {address}: {_first_line(error)}",
        "`ray status` on the cluster shows its address; leave --ray_address out to start one on "
        "this machine",
    )


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
