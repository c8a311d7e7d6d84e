"""Workers, watched: what hangs is ended, what dies is begun again behind the input it died on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tests.fuzz.targets import find_targets
from tests.fuzz.worker import STATE, Work

ROOT = Path(__file__).parents[2]
_LOOK = 0.2
_HUNG = 1_000
_ALONE = {
    "PYTHONFAULTHANDLER": "1",
    **dict.fromkeys(("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TENBIN_OFFLINE"), "1"),
}
"""A worker reaches no network."""
_NOT_BEGUN = -1


@dataclass(slots=True)
class Finding:
    """One place that inputs should not lead to."""

    target: str
    index: int
    place: str
    detail: str
    input: bytes


@dataclass(slots=True)
class Tally:
    """What was tried of one target."""

    accepted: int = 0
    refused: int = 0
    found: int = 0
    """Inputs that led to a finding."""
    seconds: float = 0.0

    @property
    def inputs(self) -> int:
        """How many in all."""
        return self.accepted + self.refused + self.found


@dataclass(slots=True)
class Outcome:
    """What a run of the fuzzer gave."""

    tallies: dict[str, Tally] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    def add(self, finding: Finding) -> None:
        """Take a finding in, unless its place is known."""
        if all((one.target, one.place) != (finding.target, finding.place) for one in self.findings):
            self.findings.append(finding)


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is to be tried."""

    targets: tuple[str, ...]
    seed: int
    inputs: int | None = None
    seconds: float | None = None
    hang: float = 120.0
    """Seconds after which an input counts as one that never ends."""
    tell: Callable[[Finding], None] = lambda finding: None


def fuzz(plan: Plan, processes: int = 1) -> Outcome:
    """Try inputs of all targets.

    Args:
        plan: What and how much.
        processes: Workers side by side, each with targets of its own.
    """
    outcome = Outcome({name: Tally() for name in plan.targets})
    # One worker for all begins once; several take the next target when they are free.
    shares = [plan.targets] if processes == 1 else [(name,) for name in plan.targets]
    with ThreadPoolExecutor(processes) as pool:
        list(pool.map(lambda share: _watch(share, plan, outcome), shares))
    return outcome


def _watch(names: tuple[str, ...], plan: Plan, outcome: Outcome) -> None:
    """Run workers until these targets are done."""
    left, first = names, 0
    spent = 0.0
    while left:
        with tempfile.TemporaryDirectory(prefix="tenbin-fuzz-", dir=_fast_folder()) as folder:
            state = Path(folder) / "state"
            state.write_bytes(STATE.pack(0, _NOT_BEGUN, time.monotonic()))
            seconds = None if plan.seconds is None else plan.seconds - spent
            work = Work(left, plan.seed, first, plan.inputs, seconds, folder)
            ended, told = _attend(work, plan, outcome)
            if ended == 0:
                return
            number, index, _ = STATE.unpack(state.read_bytes())
            if index == _NOT_BEGUN:
                raise RuntimeError(f"the worker does not begin:\n{told}")
            data = (Path(folder) / "input").read_bytes()
        (target,) = find_targets((left[number],))
        outcome.tallies[target.name].found += 1
        what = "hangs" if ended == _HUNG else f"ends the process ({ended})"
        outcome.add(Finding(target.name, index, what, told[-3_000:], data))
        # Targets before this one are done; this one goes on behind what it was lost on.
        spent = spent + outcome.tallies[target.name].seconds if number == 0 else 0.0
        left, first = left[number:], index + 1
        if plan.inputs is not None and first >= plan.inputs * target.share:
            left, first, spent = left[1:], 0, 0.0


def _attend(work: Work, plan: Plan, outcome: Outcome) -> tuple[int, str]:
    """Start a worker, read what it says, end it where an input never ends.

    Returns:
        The exit status, or _HUNG; and what it wrote besides.
    """
    environment = {**os.environ, **_ALONE, "PYTHONPATH": _python_path()}
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.fuzz.worker"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        cwd=ROOT, env=environment, text=True,
    )  # fmt: skip
    assert process.stdin and process.stdout and process.stderr
    process.stdin.write(json.dumps(asdict(work)) + "\n")
    process.stdin.close()
    told: list[str] = []
    readers = [
        threading.Thread(target=_take_lines, args=(process.stdout, plan, outcome)),
        threading.Thread(target=lambda: told.extend(process.stderr)),
    ]
    for reader in readers:
        reader.start()
    hung = False
    while process.poll() is None:
        time.sleep(_LOOK)
        began = STATE.unpack((Path(work.folder) / "state").read_bytes())[2]
        if time.monotonic() - began > plan.hang:
            hung = True
            process.kill()
            process.wait()
    for reader in readers:
        reader.join()
    return (_HUNG if hung else process.returncode), "".join(told)


def _fast_folder() -> str | None:
    """Where files are in memory, if there is such a place."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def _python_path() -> str:
    return os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])


def _take_lines(lines: Sequence[str], plan: Plan, outcome: Outcome) -> None:
    before: dict[str, dict[str, Any]] = {}
    for line in lines:
        said = json.loads(line)
        if "counts" not in said:
            finding = Finding(
                said["target"], said["index"], said["place"], said["detail"],
                bytes.fromhex(said["input"]),
            )  # fmt: skip
            outcome.add(finding)
            plan.tell(finding)
            continue
        tally, last = outcome.tallies[said["target"]], before.get(said["target"])
        earlier = last["counts"] if last else {"accepted": 0, "refused": 0, "finding": 0}
        tally.accepted += said["counts"]["accepted"] - earlier["accepted"]
        tally.refused += said["counts"]["refused"] - earlier["refused"]
        tally.found += said["counts"]["finding"] - earlier["finding"]
        tally.seconds += said["seconds"] - (last["seconds"] if last else 0.0)
        before[said["target"]] = said
