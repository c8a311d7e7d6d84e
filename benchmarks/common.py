"""What the benchmarks share: exact requests, peers in their own interpreters, and result files."""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import datetime, timezone
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from tenbin.backends.base import Backend, BackendSettings
from tenbin.backends.checkpoint.arguments import HfArguments
from tenbin.backends.checkpoint.file_hashes import FileHashes
from tenbin.backends.checkpoint.gguf import converted_folder
from tenbin.backends.checkpoint.location import EMBEDDED_MODEL, locate_model
from tenbin.backends.registry import open_backend
from tenbin.config import build_config
from tenbin.pipeline.cells.choose import choose_cells
from tenbin.pipeline.prepare import load_data, prompt_settings, prompts_of
from tenbin.pipeline.requests import requests_of
from tenbin.records import Prompt, Request, Response
from tenbin.results.provenance import git_revision

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
LIBRARIES = ("tenbin", "torch", "transformers", "tokenizers", "numpy", "pyarrow")


def parser(doc: str) -> argparse.ArgumentParser:
    """The flags that every benchmark understands."""
    made = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("--data_dir", required=True, help="the folder that holds jglue_v1.1/")
    made.add_argument("--output_dir", type=Path, default=RESULTS)
    made.add_argument("--attempts", type=int, default=2, help="of a pass that was disturbed")
    return made


def embedded_model() -> str:
    """The folder of the embedded model's float32 weights, which every program can load."""
    gguf = locate_model(HfArguments(EMBEDDED_MODEL)).gguf
    assert gguf is not None
    return str(converted_folder(gguf, FileHashes().of([gguf])[0], None))


def open_model(dtype: str, engine: str | None = None, batch_size: Any = "auto") -> Backend:
    """tenbin's hf backend on the CPU."""
    arguments = {"pretrained": EMBEDDED_MODEL}
    if engine:
        arguments["engine"] = engine
    return open_backend(
        BackendSettings(
            "hf", arguments, device="cpu", dtype=dtype, batch_size=batch_size, notify=print
        )
    )


def prompts_for(backend: Backend, **options: Any) -> list[Prompt]:
    """The prompts of one task, exactly as `tenbin run` with these options asks them."""
    config = build_config(options)
    setups = choose_cells(config)
    data = load_data(config, setups)
    settings = prompt_settings(config)
    tokenizer = backend.capabilities.tokenizer
    return [p for setup in setups for p in prompts_of(setup, data, settings, tokenizer)]


def requests_for(prompts: Sequence[Prompt]) -> list[Request]:
    """What a run asks of its backend for these prompts."""
    asked: dict[str, Request] = {}
    for prompt in prompts:
        for request in requests_of(prompt):
            asked.setdefault(request.key, request)
    return list(asked.values())


def peak_mib() -> float:
    """The most memory that this process has had (Linux).

    Not `ru_maxrss`, which begins with what the process that started it has.
    """
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) / 1024


def timed(backend: Backend, requests: Sequence[Request]) -> tuple[dict[str, float], dict[str, Any]]:
    """Answer all requests; the times taken, and the answers by key."""
    wall, cpu = time.perf_counter(), time.process_time()
    answers: dict[str, Response] = dict(backend.run(requests))
    times = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    assert set(answers) == {request.key for request in requests}
    return times, answers


class Peer:
    """Another program, kept open in an interpreter of its own; see peer.py."""

    def __init__(
        self, python: str, program: str, model: str, dtype: str, device: str = "cpu"
    ) -> None:
        """Start it and wait until its model is loaded."""
        began = time.perf_counter()
        self.log = Path(tempfile.mkstemp(prefix=f"{program}-", suffix=".log")[1])
        self._process = subprocess.Popen(
            [python, str(HERE / "peer.py"), program, model, dtype, device],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log.open("w"),
            text=True,
            start_new_session=True,
            env={**os.environ, "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"},
        )
        self.versions: dict[str, str] = self._read()["versions"]
        self.start_seconds = time.perf_counter() - began

    def ask(self, action: str, items: Sequence[Any], **options: Any) -> dict[str, Any]:
        """Let it score (`loglikelihood`) or write (`generate_until`); times and values."""
        assert self._process.stdin is not None
        with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
            json.dump(items, file, ensure_ascii=False)
            file.flush()
            message = {"action": action, "items": file.name, **options}
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()
            return self._read()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stop it and its workers for a while: some wait for work by spinning on the cores."""
        os.killpg(self._process.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.killpg(self._process.pid, signal.SIGCONT)

    def close(self) -> None:
        """Let it end."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=120)

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            tail = self.log.read_text(errors="replace")[-3000:]
            raise SystemExit(f"the peer ended; its log {self.log} says:\n{tail}")
        return dict(json.loads(line))


def best_batch_size(peer: Peer, action: str, items: Sequence[Any], sizes: Sequence[int]) -> Any:
    """The peer's fastest batch size on some items, and the seconds of each."""
    seconds = {
        size: peer.ask(action, items, batch_size=size)["wall"] for size in sizes if len(sizes) > 1
    }
    if not seconds:
        return sizes[0], {}
    say(f"  seconds by batch size: {seconds}")
    return min(seconds, key=lambda size: seconds[size]), seconds


QUIET = 0.08
"""A pass is quiet when other processes took at most this share of the cores meanwhile."""


def interleave(
    peer: Peer,
    parts: Sequence[Any],
    ours: Callable[[], Mapping[str, float]],
    theirs: Callable[[Any], Mapping[str, float]],
    passes_of_ours: int = 3,
    attempts: int = 2,
    peer_share: float = 1.0,
) -> dict[str, Any]:
    """Time passes of tenbin over everything between the parts that the peer is timed on.

    A machine's slow minutes then meet both. Peers here gain nothing from a document by another
    one, so the sum of their parts is their time for the whole. Each pass waits until the machine
    is quiet, for a while; one that was disturbed is repeated, and the least disturbed counts.

    Args:
        peer: Stopped while tenbin is timed.
        parts: What the peer is given, part by part.
        ours: A pass of tenbin over everything.
        theirs: The peer's work on a part.
        passes_of_ours: How often tenbin is timed.
        attempts: How often a disturbed pass is tried.
        peer_share: What part of all tokens the parts hold; the peer's time is divided by it.
    """
    passes: list[dict[str, float]] = []
    pieces: list[dict[str, float]] = []
    every = -(-len(parts) // passes_of_ours)
    for at, part in enumerate(parts):
        with peer.paused():
            if at % every == 0:
                passes.append(least_disturbed(ours, attempts))
                _say_pass("tenbin, all", passes[-1])
        pieces.append(least_disturbed(partial(theirs, part), attempts, peer.paused))
        _say_pass(f"peer, part {at + 1} of {len(parts)}", pieces[-1])
    found: dict[str, Any] = {"tenbin": passes, "peer_parts": pieces}
    quiet = [one for one in passes if one["others"] <= QUIET] or passes
    for clock in ("wall", "cpu"):
        mine = statistics.median(one[clock] for one in quiet)
        other = sum(one[clock] for one in pieces) / peer_share
        found[f"tenbin_{clock}"] = round(mine, 3)
        found[f"peer_{clock}"] = round(other, 3)
        found[f"speedup_{clock}"] = round(other / mine, 2)
    found["peer_share_timed"] = round(peer_share, 3)
    found["quiet"] = all(one["others"] <= QUIET for one in [*quiet, *pieces])
    return found


def _say_pass(name: str, times: Mapping[str, float]) -> None:
    say(f"  {name}: {times['wall']:.1f} s; others took {times['others']:.0%} of the cores")


def least_disturbed(
    run: Callable[[], Mapping[str, float]],
    attempts: int,
    waiting: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> dict[str, float]:
    """The times of a pass, tried again while other processes disturb it; the calmest counts.

    Args:
        run: The pass; gives its seconds by the clock (`wall`) and of processor time (`cpu`).
        attempts: How often it is tried at most.
        waiting: What holds while the machine is waited for.
    """
    tried = []
    for _ in range(attempts):
        with waiting():
            wait_for_quiet(40.0 if attempts > 1 else 4.0)
        wall, busy = time.perf_counter(), _busy_seconds()
        times = dict(run())
        span = (time.perf_counter() - wall) * (os.cpu_count() or 1)
        times["others"] = round(max(0.0, _busy_seconds() - busy - times["cpu"]) / span, 3)
        tried.append(times)
        if times["others"] <= QUIET:
            break
    return min(tried, key=lambda times: times["others"])


def wait_for_quiet(patience: float) -> None:
    """Wait until the cores have been free for a second, or patience ends."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        busy = _busy_seconds()
        time.sleep(1.0)
        if _busy_seconds() - busy <= QUIET * (os.cpu_count() or 1):
            return


def _busy_seconds() -> float:
    """Processor time of all processes of the machine, and what its host took away."""
    fields = Path("/proc/stat").read_text().split(maxsplit=9)[1:9]
    idle = int(fields[3]) + int(fields[4])
    return (sum(map(int, fields)) - idle) / os.sysconf("SC_CLK_TCK")


def portions(items: Sequence[Any], count: int) -> list[Sequence[Any]]:
    """The items in this many portions of about equal size."""
    size = -(-len(items) // count)
    return [items[at : at + size] for at in range(0, len(items), size)]


def setup_facts(**peers: Mapping[str, str]) -> dict[str, Any]:
    """The machine and the versions, for a result file."""
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "libraries": versions(LIBRARIES),
        "peers": {name: dict(found) for name, found in peers.items()},
        "environment": {
            k: v for k, v in os.environ.items() if k.startswith(("OMP_", "KMP_", "VLLM_"))
        },
        "revision": git_revision(),
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
    }


def versions(names: Sequence[str]) -> dict[str, str]:
    """Versions of what is installed among these."""
    found = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor()


def write_result(folder: Path, name: str, body: Mapping[str, Any]) -> None:
    """Keep the result as benchmarks/results/NAME.json."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    path.write_text(json.dumps(body, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    say(f"written: {path}")


def say(text: str) -> None:
    """A line for whoever watches."""
    print(text, flush=True, file=sys.stderr)
