"""A vLLM server on loopback, in a process group of its own that is ended by its id."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx

PATIENCE = 300.0
"""Seconds until a server must answer."""


@contextmanager
def vllm_server(folder: Path | str, log: Path, *options: str) -> Iterator[str]:
    """Start vLLM's server for a folder; its address, where the protocol begins.

    By its module: the command `vllm` asks for a version that its build for CPUs does not have.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", str(folder)]
    command += ["--host", "127.0.0.1", "--port", str(port), *options]
    with log.open("wb") as stream:
        process = subprocess.Popen(
            command,
            stdout=stream,
            stderr=stream,
            start_new_session=True,
            env={**os.environ, "HF_HUB_OFFLINE": "1"},
        )
    try:
        _wait_until_ready(f"http://127.0.0.1:{port}/health", process, log)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        _end(process)


def _wait_until_ready(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + PATIENCE
    while True:
        ended = process.poll() is not None
        assert not ended and time.monotonic() < end, log.read_text(errors="replace")[-3000:]
        with suppress(httpx.HTTPError):
            if httpx.get(address, timeout=5.0, trust_env=False).status_code == 200:
                return
        time.sleep(0.5)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout=30)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(timeout=30)
