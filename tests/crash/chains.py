"""Runs that are killed and started again until one ends, and what must be true of them then.

A case is a command. It is run once undisturbed, which gives its results and the list of its steps.
A chain runs it in a fresh folder and kills it, once or several times, at steps or at moments that
are drawn; the last run is left alone. Then results, samples and the list of files must be those of
the undisturbed run, and no more may have been computed than what was under way when it was killed.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import select
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
CHILD = Path(__file__).with_name("child.py")
WATCHDOG = 300.0
"""Seconds after which a run that should have ended has hung."""

OF_THE_MOMENT = frozenset(
    {
        "date",
        "total_evaluation_time_seconds",
        "timing",
        "answers_from_journal",
        "usage",
        "scale",
        "probe",
        "generation_probe",
        "traffic",
        "probe_usage",
    }
)
"""Keys of result.json that say when and how a run went, not what it found."""


@dataclass(frozen=True)
class Case:
    """A command that is killed."""

    name: str
    arguments: tuple[str, ...]
    """Of `tenbin`, with paths relative to the folder it is run in; --output_path and --cache_dir
    are added."""
    in_flight: int = 1
    """Units of computing that may be under way at a time, beside those before the first answer."""
    environment: tuple[tuple[str, str], ...] = ()


@dataclass
class Profile:
    """An undisturbed run."""

    seconds: float
    steps: Counter[str]
    computed: int
    first: int
    """What was computed before the first answer: a probe, the first batch."""
    result: dict[str, Any]
    samples: str
    files: list[str]
    answers: int


@dataclass
class Kill:
    """One run that was killed."""

    case: str
    stage: str
    moment: str
    known_before: int
    known_after: int


@dataclass
class Chain:
    """Kills up to a run that ended."""

    case: str
    kills: list[Kill] = field(default_factory=list)
    computed: int = 0
    faults: list[str] = field(default_factory=list)
    undisturbed: int = 0


class Nursery:
    """A process with all libraries imported that forks runs."""

    def __init__(self, *modules: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(CHILD), *modules],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]),
                "OMP_NUM_THREADS": "1",
                "HF_HUB_OFFLINE": "1",
                "TOKENIZERS_PARALLELISM": "false",
            },
        )
        self._said("ready")

    def start(self, order: dict[str, Any]) -> int:
        """The id of a new process that runs this."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return int(self._said())

    def wait(self, process: int, seconds: float) -> int | None:
        """The exit status of the process that was started last; None where it takes longer."""
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], seconds)
        return int(self._said()) if ready else None

    def _said(self, expected: str | None = None) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline().strip()
        if not line or (expected is not None and line != expected):
            raise RuntimeError(f"the process that forks runs has ended: {line!r}")
        return line

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(60)
        self._process.stdout.close()

    def __enter__(self) -> Nursery:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class Started:
    """One process of a case, in a folder."""

    def __init__(
        self, nursery: Nursery, case: Case, folder: Path, kill: tuple[str, int] | None = None
    ) -> None:
        self.folder, self.log = folder, folder / "steps.log"
        self.output = folder / "output.txt"
        for name in ("tmp", "out", "cache"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        self.log.unlink(missing_ok=True)
        self.mark = f"{folder}-{time.monotonic_ns()}"
        order: dict[str, Any] = {
            "arguments": [
                *case.arguments,
                *("--output_path", "out/result.json", "--cache_dir", "cache"),
            ],
            "folder": str(folder),
            "log": str(self.log),
            "folders": [str(folder / name) for name in ("out", "cache", "tmp")],
            "environment": {
                "TMPDIR": str(folder / "tmp"),
                "TENBIN_CRASH_MARK": self.mark,
                **dict(case.environment),
            },
        }
        if kill is not None:
            order |= {"label": kill[0], "ordinal": kill[1]}
        self._nursery = nursery
        self.began = time.monotonic()
        self.process = nursery.start(order)

    def wait(self, kill_after: float | None = None) -> int:
        """Its exit status; -9 when it was killed, by itself or after so many seconds."""
        status = self._nursery.wait(self.process, WATCHDOG if kill_after is None else kill_after)
        if status is None:
            with suppress(ProcessLookupError):
                os.kill(self.process, signal.SIGKILL)
            status = self._nursery.wait(self.process, WATCHDOG)
            if kill_after is None or status is None:
                raise TimeoutError(f"a run hung: {self.output.read_text()[-2000:]}")
        return status

    def notes(self, what: str) -> list[Any]:
        """What it has written down of one kind."""
        found = []
        for line in self.log.read_bytes().splitlines() if self.log.exists() else []:
            with suppress(ValueError):
                kind, value = json.loads(line)
                if kind == what:
                    found.append(value)
        return found


def left_processes(mark: str, agents: bool = True) -> list[int]:
    """Processes that runs with this mark have started and that are still there.

    Args:
        mark: Stands in their environment.
        agents: Whether Ray's own agents count, which see only after a minute that their node ended.
    """
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark.encode() not in (place / "environ").read_bytes():
                continue
            name = (place / "cmdline").read_bytes()
            if agents or not re.match(rb"ray::(Dashboard|RuntimeEnv)Agent", name):
                found.append(int(place.name))
    return found


def journal_rows(folder: Path) -> int:
    """Answers that the journals of a folder hold."""
    total = 0
    for file in (folder / "cache" / "journal").glob("*.sqlite"):
        connection = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
        with closing(connection), suppress(sqlite3.OperationalError):
            total += int(connection.execute("SELECT count(*) FROM answers").fetchone()[0])
    return total


def stored(folder: Path) -> tuple[dict[str, Any], str]:
    """result.json without what belongs to the moment, and a digest of the samples."""
    written = (folder / "out" / "result.json").read_text(encoding="utf-8")
    inside = (folder / "out" / "result.run" / "result.json").read_text(encoding="utf-8")
    assert inside == written, "the two copies of result.json differ"
    samples = (folder / "out" / "result.run" / "samples.parquet").read_bytes()
    return lasting(json.loads(written)), hashlib.sha256(samples).hexdigest()


def lasting(value: Any) -> Any:
    """A document without the keys that belong to the moment."""
    if isinstance(value, dict):
        return {k: lasting(v) for k, v in value.items() if k not in OF_THE_MOMENT}
    return [lasting(one) for one in value] if isinstance(value, list) else value


def files_in(folder: Path) -> list[str]:
    """All files and folders that a run has left, but its log."""
    return sorted(
        str(path.relative_to(folder))
        for name in ("out", "cache", "tmp")
        for path in (folder / name).rglob("*")
    )


def profile(nursery: Nursery, case: Case, folder: Path) -> Profile:
    """Run a case undisturbed."""
    started = Started(nursery, case, folder)
    status = started.wait()
    if status != 0:
        raise RuntimeError(f"{case.name} ended with {status}: {started.output.read_text()[-3000:]}")
    result, samples = stored(folder)
    first, total = _before_first_answer(started.log)
    return Profile(
        time.monotonic() - started.began,
        Counter(started.notes("step")),
        total,
        first,
        result,
        samples,
        files_in(folder),
        journal_rows(folder),
    )


def _before_first_answer(log: Path) -> tuple[int, int]:
    first = total = 0
    given = False
    for line in log.read_bytes().splitlines():
        kind, value = json.loads(line)
        given = given or kind == "given"
        if kind == "computed":
            total += value
            first += 0 if given else value
    return first, total


_STAGES = (
    (r"sql (BEGIN|INSERT|COMMIT|ROLLBACK)", "journal: writing"),
    (r"sql ", "journal: opening and reading"),
    (r"os\.(rename|remove|rmdir) out/", "results: renaming"),
    (r"\w+(\.\w+)? out/", "results: writing"),
    (r"\w+(\.\w+)? cache/(probes|digests)", "probe cache"),
    (r"\w+(\.\w+)? cache/(datasets|first_seen)", "download"),
    (r"\w+(\.\w+)? (cache|tmp)/", "other files"),
)


def stage_of(label: str) -> str:
    """The stage of a run that a step belongs to: functions have the name of theirs."""
    found = (stage for pattern, stage in _STAGES if re.match(pattern, label))
    if "progress.json" in label:
        return "progress.json"
    return next(found, label)


class Moments:
    """Draws when a run is killed: at a step, or by the clock."""

    def __init__(self, generator: random.Random, known: Profile, by_clock: float) -> None:
        self._generator, self._known, self._by_clock = generator, known, by_clock

    def draw(self) -> tuple[str, int] | float:
        """A step (its label and which of them), or seconds."""
        if self._generator.random() < self._by_clock:
            return self._generator.uniform(0.0, self._known.seconds)
        by_stage: dict[str, list[str]] = {}
        for label in sorted(self._known.steps):
            by_stage.setdefault(stage_of(label), []).append(label)
        # By stage first: there are many kinds of steps where a file is opened, and one of judging.
        stage = self._generator.choice(sorted(by_stage))
        label = self._generator.choice(by_stage[stage])
        return label, self._generator.randint(1, self._known.steps[label])


def run_chain(
    nursery: Nursery,
    case: Case,
    known: Profile,
    folder: Path,
    moments: Sequence[tuple[str, int] | float],
) -> Chain:
    """Kill a case at each of the moments in turn, let it end, and see what it has left."""
    chain = Chain(case.name)
    for moment in moments:
        if not _run_killed(nursery, chain, case, folder, moment):
            break
    else:
        before = journal_rows(folder)
        started = Started(nursery, case, folder)
        status = started.wait()
        chain.computed += sum(started.notes("computed"))
        _end(chain, started, status)
        if status == 0:
            _check_known(chain, folder, before)
    chain.undisturbed = known.computed
    if not chain.faults:
        _check_end(chain, case, known, folder)
    return chain


def _run_killed(
    nursery: Nursery, chain: Chain, case: Case, folder: Path, moment: tuple[str, int] | float
) -> bool:
    """Whether the run was killed; one that was over before goes to the end of the chain."""
    before = journal_rows(folder)
    by_step = moment if isinstance(moment, tuple) else None
    started = Started(nursery, case, folder, by_step)
    status = started.wait(moment if isinstance(moment, float) else None)
    chain.computed += sum(started.notes("computed"))
    if status != -signal.SIGKILL:
        _end(chain, started, status)
        return False
    shown = f"{by_step[0]} #{by_step[1]}" if by_step else f"after {moment:.2f} s"
    after = journal_rows(folder)
    stage = stage_of(by_step[0]) if by_step else "any moment"
    chain.kills.append(Kill(case.name, stage, shown, before, after))
    _wait_for_the_end(chain, started)
    given = started.notes("given")
    if after < before + sum(given[:-1]):
        chain.faults.append(
            f"killed at {shown}: {sum(given)} answers were given, the journal went from {before} "
            f"to {after}"
        )
    return True


def _end(chain: Chain, started: Started, status: int) -> None:
    if status != 0:
        moments = [kill.moment for kill in chain.kills]
        chain.faults.append(
            f"after {moments}: ended with {status}: {started.output.read_text()[-2000:]}"
        )
    _wait_for_the_end(chain, started)


def _wait_for_the_end(chain: Chain, started: Started) -> None:
    deadline = time.monotonic() + 60
    while left := left_processes(started.mark, agents=False):
        if time.monotonic() > deadline:
            chain.faults.append(f"processes are left behind: {left}")
            return
        time.sleep(0.05)


def _check_known(chain: Chain, folder: Path, before: int) -> None:
    document = json.loads((folder / "out" / "result.json").read_text(encoding="utf-8"))
    if document["answers_from_journal"] != before:
        chain.faults.append(
            f"{before} answers were in the journal, {document['answers_from_journal']} were used"
        )


def _check_end(chain: Chain, case: Case, known: Profile, folder: Path) -> None:
    result, samples = stored(folder)
    if result != known.result:
        chain.faults.append(f"result.json differs: {_differences(known.result, result)[:8]}")
    if samples != known.samples:
        chain.faults.append("samples.parquet differs")
    if (files := files_in(folder)) != known.files:
        odd = sorted(set(files) ^ set(known.files))
        chain.faults.append(f"files that only one of the two runs has left: {odd}")
    most = known.computed + len(chain.kills) * (known.first + case.in_flight)
    if chain.computed > most:
        chain.faults.append(f"{chain.computed} units were computed, at most {most} were expected")
    if journal_rows(folder) != known.answers:
        chain.faults.append(f"{journal_rows(folder)} answers are kept, not {known.answers}")


def _differences(one: Any, other: Any, place: str = "") -> list[str]:
    if isinstance(one, dict) and isinstance(other, dict):
        keys = sorted({*one, *other})
        return [d for k in keys for d in _differences(one.get(k), other.get(k), f"{place}.{k}")]
    return [] if one == other else [f"{place}: {one!r} → {other!r}"]
