"""Runs that may kill themselves: `tenbin`'s command line in processes that count what they do.

    python tests/crash/child.py

reads an order a line (JSON: arguments, folder, environment, log, folders, label, ordinal), runs
each in a process of its own, forked so that libraries are imported once, and prints the process's
id, then its exit status.

Every step of interest has a label: operations on files of the given folders (heard through Python's
audit events, so that no step can be missed because its code has moved), statements on databases in
files, and calls of a few functions that mark stages. Before the N-th step of a label the process
sends itself SIGKILL. Without a label it counts alone. Steps and counts are lines of the log.
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import re
import signal
import sqlite3
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from pathlib import Path
from typing import Any

STAGES = {
    "planning": "tenbin.pipeline.plan:Plan._write",
    "judging": "tenbin.pipeline.judge:judge_planned",
    "samples": "tenbin.pipeline.finish:make_sample",
    "scores": "tenbin.pipeline.finish:summarise_cells",
    "answering": "tenbin.journal.answers:Answers.write",
    "probing": "tenbin.backends.hf.probe_cache:Forward",
    "forward": "tenbin.backends.text.score_collector:ScoreCollector.targets",
    "decoding": "tenbin.backends.hf.generation.decode:DecodeStepper.step",
    "posting": "tenbin.backends.openai.client:Client.post",
    "handing out": "tenbin.backends.ray.worker_pool:WorkerPool.give",
}
"""Functions whose calls are steps, by the name of their stage."""


_COMPUTED: dict[str, Callable[[tuple[Any, ...]], int]] = {
    "forward": lambda values: len(values[1]),  # inputs of a batch
    "decoding": lambda values: int(values[1]),  # rows of a step
    "posting": lambda values: 1,  # calls of a server
    "handing out": lambda values: len(values[2].requests),  # requests of a shard
}
"""What a model is asked to compute, in units of its own, by stage."""


class Steps:
    """Counts steps, writes them down and ends the process at the chosen one."""

    def __init__(self, log: str, label: str | None, ordinal: int) -> None:
        self._log = os.open(log, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
        self._label, self._ordinal = label, ordinal
        self._counts: Counter[str] = Counter()

    def step(self, label: str) -> None:
        """One more of this kind is about to be taken."""
        self._counts[label] += 1
        self.note("step", label)
        if label == self._label and self._counts[label] == self._ordinal:
            self.note("killed", label)
            os.kill(os.getpid(), signal.SIGKILL)

    def note(self, what: str, value: object) -> None:
        """A line of the log, which survives the process."""
        os.write(self._log, f"{json.dumps([what, value])}\n".encode())


def hear_files(steps: Steps, folders: list[Path]) -> None:
    """Make every change of a file below these folders a step."""
    kinds = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.truncate", "open"}

    def hear(event: str, values: tuple[Any, ...]) -> None:
        if event not in kinds or not isinstance(values[0], str | os.PathLike):
            return
        path = Path(values[0]).absolute()
        folder = next((one for one in folders if one in path.parents), None)
        if folder is None or (event == "open" and not _writes(values)):
            return
        place = re.sub(r"[0-9a-f]{32}", "HASH", str(path.relative_to(folder.parent)))
        place = re.sub(r"(\.|-)\d+\b", r"\1N", place)
        steps.step(f"{event} {place}")

    sys.addaudithook(hear)


def _writes(values: tuple[Any, ...]) -> bool:
    flags = values[2] if len(values) > 2 and isinstance(values[2], int) else 0
    return bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))


def hear_databases(steps: Steps) -> None:
    """Make every statement on a database in a file a step."""
    connect = sqlite3.connect

    @wraps(connect)
    def connect_heard(database: Any, *arguments: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(database, *arguments, **options)
        if str(database):
            words = re.compile(r"\s+")
            connection.set_trace_callback(
                lambda text: steps.step("sql " + " ".join(words.split(text.strip())[:2]))
            )
        return connection

    sqlite3.connect = connect_heard  # type: ignore[assignment]


def hear_calls(steps: Steps, names: list[str]) -> None:
    """Make calls of the named stages' functions steps."""
    for stage in names:
        module, _, path = STAGES[stage].partition(":")
        owner: Any = importlib.import_module(module)
        *parents, name = path.split(".")
        for parent in parents:
            owner = getattr(owner, parent)
        setattr(owner, name, _heard(steps, stage, getattr(owner, name)))


def _heard(steps: Steps, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def wrapped(*values: Any, **options: Any) -> Any:
        if stage == "answering":
            steps.note("given", len(values[1]))
        elif stage in _COMPUTED:
            steps.note("computed", _COMPUTED[stage](values))
        steps.step(stage)
        return function(*values, **options)

    return wrapped


def count_scripted(steps: Steps) -> None:
    """Note every answer that the scripted backend works out."""
    from tenbin.backends.scripted import ScriptedBackend

    answer = ScriptedBackend.answer

    def counted(self: Any, request: Any) -> Any:
        steps.note("computed", 1)
        return answer(self, request)

    ScriptedBackend.answer = counted  # type: ignore[method-assign]


def run(order: dict[str, Any]) -> int:
    """Run one command, in the process that was forked for it."""
    os.environ.update(order["environment"])
    tempfile.tempdir = None  # it was chosen by the environment before
    os.chdir(order["folder"])
    output = os.open("output.txt", os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
    for stream in (1, 2):
        os.dup2(output, stream)
    steps = Steps(order["log"], order.get("label"), order.get("ordinal", 1))
    hear_databases(steps)
    arguments = order["arguments"]
    model = arguments[arguments.index("--model") + 1]
    stages = ["planning", "judging", "samples", "scores", "answering"]
    if "--workers" in arguments:
        stages.append("handing out")
    elif model == "hf":
        stages += ["probing", "forward", "decoding"]
    elif model.startswith("openai"):
        stages.append("posting")
    else:
        count_scripted(steps)
    hear_calls(steps, stages)
    if "TENBIN_CRASH_PLAIN_HTTP" in os.environ:
        from tenbin.data.sources import download

        download.SCHEMES = frozenset({"http", "https"})
    hear_files(steps, [Path(folder).resolve() for folder in order["folders"]])
    from tenbin.cli import main as command

    return command(arguments)


def serve() -> None:
    """Fork a process for every order."""
    for module in sys.argv[1:]:
        importlib.import_module(module)
    print("ready", flush=True)
    for line in sys.stdin:
        sys.stdout.flush()
        process = os.fork()
        if not process:
            sys.stdin.close()
            status = 70
            try:
                status = run(json.loads(line))
            except SystemExit as ended:
                status = ended.code if isinstance(ended.code, int) else 1
            except BaseException:
                traceback.print_exc()
            finally:
                with suppress(OSError):
                    sys.stdout.flush()
                _end_as_a_process_does(status)
        print(process, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), flush=True)


def _end_as_a_process_does(status: int) -> None:
    """What the interpreter does at its end, which a forked process cannot leave to it."""
    atexit._run_exitfuncs()
    os._exit(status)


if __name__ == "__main__":
    serve()
