"""Connecting to a Ray cluster, or starting one on this machine for the length of a run.

Usage statistics are not sent to Ray's makers, and no dashboard is opened.
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
"""Longest wait for a connection to a cluster."""
_OBJECT_STORE = 256 << 20
"""Shared memory of a local cluster in bytes: few shards per worker are under way at a time."""

# Ray reads these at import, so they are set when this module is imported.
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
# A worker without GPUs sees the same devices as without Ray: the default of later versions.
os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")

_lock = threading.Lock()
_joined: dict[str | None, int] = {}
"""Users of each connection that this module made: Ray allows one connection per process."""


def join_cluster(address: str | None, num_cpus: float) -> None:
    """Connect to a cluster or start one; a connection of the process is used if there is one.

    Args:
        address: `auto`, HOST:PORT or ray://HOST:PORT; None starts a local cluster.
        num_cpus: Fewest CPUs of a local cluster.

    Raises:
        BackendError: There is no cluster at this address.
    """
    if address is None and "ray" not in sys.modules:
        # Makes Ray bind to loopback only: there are no other machines.
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    import ray

    with _lock:
        if not _joined and ray.is_initialized():
            return  # whoever made the connection closes it
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
    """Stay connected for the length of the block, while several backends come and go."""
    join_cluster(address, num_cpus)
    try:
        yield
    finally:
        leave_cluster(address)


def own_address() -> str:
    """Address at which other processes of this machine reach the local cluster."""
    import ray

    known: Any = ray
    return str(known.get_runtime_context().gcs_address)


def attach(address: str) -> None:
    """Connect for the life of this process, while backends come and go."""
    import ray

    _connect(ray, address, 0.0)


def leave_cluster(address: str | None) -> None:
    """Disconnect when the last user of a connection leaves; this ends a local cluster."""
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
            # Otherwise Ray would join any cluster that is running on this machine.
            "address": "local",
            "include_dashboard": False,
            "object_store_memory": _OBJECT_STORE,
        }
    else:
        options["address"] = address
        _check_listening(address)
    try:
        with _kept_signals():
            ray.init(**options)
    except (ConnectionError, OSError, RuntimeError, ValueError, TimeoutError) as error:
        if address is None:
            raise BackendError(f"Ray could not be started here: {_first_line(error)}") from error
        raise _unreachable(address, error) from error
    except ImportError as error:
        raise BackendError(
            f"ray://… needs Ray's client: {_first_line(error)}", "pip install 'ray[client]'"
        ) from error


@contextmanager
def _kept_signals() -> Iterator[None]:
    """Keep this process's handler of SIGTERM: Ray's would exit at once."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, before)


def _check_listening(address: str) -> None:
    """Check that something listens at the address: Ray itself would try for many minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon:
        return
    if not port.isdecimal():
        raise ConfigError(
            f"--ray_address {address}: {port!r} is not a port",
            "write auto, HOST:PORT or ray://HOST:PORT",
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise _unreachable(address, error) from error


def _unreachable(address: str, error: BaseException) -> BackendError:
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
