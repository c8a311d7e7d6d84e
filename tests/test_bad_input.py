"""Task files, rows and flags that would hang, grow or end in a traceback: one error each.

Every case goes through `validate`, `preview` and `run`, in a process whose address space is
limited: all three refuse it with the same reason, and `run` does so before the model is asked.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import ROOT
from tests.sandbox.bad_templates import BAD_TEMPLATES

TASK: dict[str, Any] = {
    "task": "made",
    # A key that makes it one of tenbin's own: those of lm-eval have tests in tests/tasks/lm_eval.
    "title": "Made",
    "dataset_path": "json",
    "dataset_kwargs": {"data_files": {"test": "rows.jsonl"}},
    "test_split": "test",
    "output_type": "multiple_choice",
    "doc_to_text": "{{ question }}",
    "doc_to_choice": ["a", "b"],
    "doc_to_target": "label",
}
GENERATE = {"output_type": "generate_until", "doc_to_choice": None}
ROW = '{"question": "q", "label": 0}\n'
DEEP = "[" * 1_000_000 + "]" * 1_000_000
BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]\n"
    for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)


def nested_bomb() -> str:
    lines = ["  a: &a [x, x, x, x, x, x, x, x, x]"]
    lines += [
        f"  {new}: &{new} [{', '.join([f'*{old}'] * 9)}]"
        for old, new in zip("abcdefgh", "bcdefghi", strict=True)
    ]
    return "\n".join(lines)


def merge_bomb() -> str:
    lines = ["x0: &x0 {k: 1}"]
    lines += [f"x{n}: &x{n} {{<<: [{', '.join([f'*x{n - 1}'] * 9)}]}}" for n in range(1, 12)]
    return "\n".join(lines)


def task_file(**changes: Any) -> str:
    keys = {name: value for name, value in {**TASK, **changes}.items() if value is not None}
    return yaml.safe_dump(keys, allow_unicode=True)


Case = tuple[str, str, list[str]]
"""The task file, the rows, and what the message holds."""

IN_TASK = "task.yaml"
IN_ROW = "rows.jsonl, line 1"


def cases() -> Iterator[tuple[str, Case]]:
    plain = task_file()
    for name in ("nested loops", "macro in two"):
        source, reason = BAD_TEMPLATES[name]
        yield name, (task_file(doc_to_text=source), ROW, [IN_TASK, IN_ROW, reason])
    for name in ("lipsum", "text times number", "tilde", "power of power"):
        source, reason = BAD_TEMPLATES[name]
        for key in ("doc_to_text", "doc_to_choice", "doc_to_target", "example_target"):
            yield f"{name} in {key}", (task_file(**{key: source}), ROW, [IN_TASK, IN_ROW, reason])
        yield (
            f"{name} in description",
            (task_file(description=source), ROW, [IN_TASK, "description", reason]),
        )
    yield (
        "regex_replace",
        (
            task_file(doc_to_text="{{ question|regex_replace('(a+)+$', '') }}"),
            json.dumps({"question": "a" * 4000 + "!", "label": 0}),
            [IN_TASK, IN_ROW, "(a+)+$", "took more than"],
        ),
    )
    yield "no such field", (task_file(doc_to_text="{{ x }}"), ROW, [IN_TASK, IN_ROW, "'x'"])
    yield "no template", (task_file(doc_to_text="{{ x"), ROW, [IN_TASK, IN_ROW, "Jinja"])
    yield "half character", (task_file(doc_to_text="{{ '\\ud800' }}"), ROW, [IN_ROW, "surrogate"])
    yield "99,999 choices", (task_file(doc_to_choice=["x"] * 99_999), ROW, [IN_TASK, "values"])
    yield "9,999 choices", (task_file(doc_to_choice=["x"] * 9_999), ROW, [IN_TASK, "1000"])
    yield (
        "99,999 choices of a template",
        (task_file(doc_to_choice="{{ range(99999)|list }}"), ROW, [IN_ROW, "99,999 choices"]),
    )
    yield "repeats", (task_file(**GENERATE, repeats=10**9), ROW, [IN_TASK, "repeats", "10000"])
    yield (
        "max_gen_toks",
        (
            task_file(**GENERATE, generation_kwargs={"max_gen_toks": int("9" * 20)}),
            ROW,
            [IN_TASK, "max_gen_toks"],
        ),
    )
    yield "digits", (plain + f"num_fewshot: {'9' * 5000}\n", ROW, [IN_TASK, "digits"])
    yield "num_fewshot", (task_file(num_fewshot=-3), ROW, [IN_TASK, "num_fewshot"])
    yield "many shots", (task_file(num_fewshot=10**12), ROW, [IN_TASK, "num_fewshot"])
    yield (
        "wordings",
        (
            task_file(
                **{
                    name: {f"n{at}": {} for at in range(100)}
                    for name in ("versions", "languages", "templates", "variants")
                }
            ),
            ROW,
            [IN_TASK, "templates; at most"],
        ),
    )
    yield "alias bomb", (f"{plain}{BOMB}", ROW, [IN_TASK, "aliases"])
    yield (
        "alias bomb in dataset_kwargs",
        (task_file(dataset_kwargs=None) + f"dataset_kwargs:\n{nested_bomb()}", ROW, ["aliases"]),
    )
    yield "merge bomb", (f"{plain}{merge_bomb()}", ROW, [IN_TASK, "aliases"])
    yield "circle", (f"{plain}metadata: &a {{b: *a}}\n", ROW, [IN_TASK, "itself"])
    yield "deep flow", (f"{plain}metadata: {'[' * 100_000}", ROW, [IN_TASK, "levels"])
    yield "deep block", (f"{plain}metadata:\n  {'- ' * 100_000}x", ROW, [IN_TASK, "levels"])
    yield "large file", (f"{plain}# {'x' * 4_000_000}", ROW, [IN_TASK, "bytes"])
    yield "date", (f"{plain}title: 2024-99-99\n", ROW, [IN_TASK, "month"])
    yield "many faults", (task_file(labels=list(range(5_000))), ROW, [IN_TASK, "more"])
    yield "latin-1", ("task: \udcff", ROW, [IN_TASK, "UTF-8"])
    for name in ("pipe", "/dev/zero", "/dev/stdin"):
        yield f"include {name}", (f"{plain}include: {name}\n", ROW, [IN_TASK, name])
    yield "include number", (f"{plain}include: 5\n", ROW, [IN_TASK, "include"])
    yield "include itself", (f"{plain}include: task.yaml\n", ROW, ["include each other"])
    yield "include many", (f"{plain}include: [{'inc.yaml, ' * 200}]\n", ROW, ["100 files"])
    yield "include null byte", (f'{plain}include: "a\\0b"\n', ROW, [IN_TASK, "include"])
    yield "include folder", (f"{plain}include: folder\n", ROW, ["folder"])
    yield "include outside", (f"{plain}include: ../other.yaml\n", ROW, [IN_TASK, "outside"])
    yield "include absolute", (f"{plain}include: /etc/hostname\n", ROW, [IN_TASK, "outside"])
    yield "include link", (f"{plain}include: link.yaml\n", ROW, [IN_TASK, "outside", "links"])
    for name in ("../rows.jsonl", "/etc/hostname", "link.jsonl", "/**/*.jsonl", "~/*.jsonl"):
        files = {"data_files": {"test": name}}
        yield (
            f"data_files {name}",
            (task_file(dataset_kwargs=files), ROW, [IN_TASK, "data_files", "outside"]),
        )
    for name, reason in {
        "": "data_files",
        "x\0y": "no file",
        "x" * 5000: "long",
        "**x": "**",
    }.items():
        files = {"data_files": {"test": name}}
        yield (
            f"data_files {name[:9]!r}",
            (task_file(dataset_kwargs=files), ROW, [IN_TASK, "data_files", reason]),
        )
    yield (
        "data_files number",
        (task_file(dataset_kwargs={"data_files": {"test": 5}}), ROW, [IN_TASK, "data_files"]),
    )
    for address in ("http://127.0.0.1:9/x.json", "file:///etc/passwd", "ftp://127.0.0.1/x"):
        files = {"data_files": {"test": address}}
        yield (
            f"data_files {address}",
            (task_file(dataset_kwargs=files), ROW, [IN_TASK, "neither https"]),
        )
    yield (
        "dataset_path outside",
        (task_file(dataset_path="../other", dataset_kwargs=None), ROW, [IN_TASK, "outside"]),
    )
    yield (
        "split outside",
        (
            task_file(dataset_path="folder", dataset_kwargs=None, test_split="../../rows"),
            ROW,
            [IN_TASK, "outside"],
        ),
    )
    yield (
        "dataset_path of this machine",
        (task_file(dataset_path="/etc", dataset_kwargs=None), ROW, [IN_TASK, "/etc"]),
    )
    yield (
        "pickle",
        (
            task_file(dataset_path="pandas", dataset_kwargs={"data_files": {"test": "rows.csv"}}),
            ROW,
            [IN_TASK, "pandas", "does not read"],
        ),
    )
    yield (
        "cache_dir",
        (
            task_file(dataset_path="a/b", dataset_kwargs={"cache_dir": "/tmp/x"}),
            ROW,
            [IN_TASK, "cache_dir"],
        ),
    )
    for delimiter in (5, "ab", "", "\n", '"', ["x"]):
        options = {"data_files": {"test": "rows.csv"}, "delimiter": delimiter}
        yield (
            f"delimiter {delimiter!r}",
            (
                task_file(dataset_path="csv", dataset_kwargs=options),
                ROW,
                [IN_TASK, "delimiter", "one character"],
            ),
        )
    for key in ("field", "data_dir"):
        options = {"data_files": {"test": "rows.jsonl"}, key: [1]}
        yield f"{key} list", (task_file(dataset_kwargs=options), ROW, [IN_TASK, key])
    yield "half character in a row", (plain, '{"question": "\\ud800", "label": 0}', [IN_ROW])
    yield "deep row", (plain, f'{{"question": {DEEP}, "label": 0}}', [IN_ROW, "levels"])
    yield "digits in a row", (plain, f'{{"question": "q", "label": {"9" * 5000}}}', [IN_ROW])
    yield "huge label", (plain, f'{{"question": "q", "label": {"9" * 50}}}', [IN_ROW, "gold"])
    yield (
        "NaN",
        (task_file(doc_to_text="{{ score }}"), '{"score": NaN, "label": 0}', [IN_ROW, "nan"]),
    )
    yield "NaN label", (plain, '{"question": "q", "label": NaN}', [IN_ROW, "nan"])
    yield (
        "shadowed field",
        (
            task_file(doc_to_choice="labels"),
            '{"question": "q", "label": 0, "labels": ["a", "b"]}',
            [IN_TASK, IN_ROW, "'labels'", "rename"],
        ),
    )


CASES = dict(cases())

_PROGRAM = """
import io, json, resource, sys, time
from contextlib import redirect_stderr, redirect_stdout
import numpy, pyarrow, scipy.stats, pydantic, rich.table
import tenbin.backends.registry
from tenbin.cli import main

def refuse(*_, **__):
    raise AssertionError("a model was asked")

from tenbin.backends.scripted import ScriptedBackend
ScriptedBackend.run = refuse
import tenbin.sandbox.patterns
tenbin.sandbox.patterns.SECONDS = 0.1
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 30), -1))
for line in sys.stdin:
    folder, commands = json.loads(line)
    import os
    os.chdir(folder)
    said = []
    for command in commands:
        out = io.StringIO()
        started = time.process_time()
        with redirect_stdout(out), redirect_stderr(out):
            try:
                code = main(command)
            except SystemExit as error:
                code = error.code
        said.append([code, out.getvalue(), time.process_time() - started])
    print(json.dumps(said), file=sys.__stdout__, flush=True)
"""


class Commands:
    """A process that carries out commands, so that a hang or a crash ends nothing else."""

    def __init__(self, cache: Path) -> None:
        environment = {**os.environ, "TENBIN_CACHE": str(cache), "COLUMNS": "300"}
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=ROOT,
            env=environment,
            text=True,
        )

    def say(self, folder: Path, *commands: list[str]) -> list[tuple[int, str, float]]:
        assert self._process.stdin is not None and self._process.stdout is not None
        print(json.dumps([str(folder), commands]), file=self._process.stdin, flush=True)
        line = self._process.stdout.readline()
        if not line:
            assert self._process.stderr is not None
            raise AssertionError(f"the process ended: {self._process.stderr.read()[-2000:]}")
        return [tuple(one) for one in json.loads(line)]

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Commands]:
    started = Commands(tmp_path_factory.mktemp("cache"))
    yield started
    started.end()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inner = tmp_path / "inner"
    (inner / "folder").mkdir(parents=True)
    os.mkfifo(inner / "pipe")
    (tmp_path / "other.yaml").write_text("title: outside\n")
    (tmp_path / "rows.jsonl").write_text(ROW)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "test.jsonl").write_text(ROW)
    (inner / "inc.yaml").write_text("title: included\n")
    (inner / "rows.csv").write_text("question,label\nq,0\n")
    (inner / "link.yaml").symlink_to(tmp_path / "other.yaml")
    (inner / "link.jsonl").symlink_to(tmp_path / "rows.jsonl")
    return inner


ALL = (
    ["validate", "task.yaml"],
    ["preview", "--tasks", "task.yaml"],
    ["run", "--model", "scripted", "--tasks", "task.yaml", "--output_path", "out.json"],
)


@pytest.mark.parametrize("name", CASES)
def test_bad_input_is_one_error_in_every_command(
    commands: Commands, folder: Path, name: str
) -> None:
    text, rows, expected = CASES[name]
    (folder / "task.yaml").write_bytes(text.encode("utf-8", "surrogateescape"))
    (folder / "rows.jsonl").write_text(rows, encoding="utf-8")
    for code, said, seconds in commands.say(folder, *ALL):
        assert code == 1, said
        assert "Traceback" not in said and "AssertionError" not in said
        for part in expected:
            assert part in said
        assert len(said) < 5000
        # A guard: what takes longer than this takes for ever.
        assert seconds < 60


def test_what_is_refused_outside_can_be_allowed(commands: Commands, folder: Path) -> None:
    named = {"data_files": {"test": "../rows.jsonl"}}
    (folder / "task.yaml").write_text(task_file(dataset_kwargs=named, include="../other.yaml"))
    allowed = ["--allow_outside_files"]
    for code, said, _ in commands.say(folder, *([*command, *allowed] for command in ALL[:2])):
        assert code == 0, said
    (folder / "task.yaml").write_text(task_file(dataset_kwargs=named))
    for code, said, _ in commands.say(folder, *([*c, "--data_dir", ".."] for c in ALL[:2])):
        assert code == 0, said


def test_a_file_of_the_catalogue_can_be_included(commands: Commands, folder: Path) -> None:
    catalogue = ROOT / "src" / "tenbin" / "catalog" / "tasks" / "jnli.yaml"
    (folder / "task.yaml").write_text(f"include: {catalogue}\ntask: made\n")
    ((code, said, _),) = commands.say(folder, ["validate", "task.yaml", "--sample_data"])
    assert code == 0, said


def test_files_below_a_folder_of_tasks_are_within_reach(commands: Commands, folder: Path) -> None:
    below = folder / "folder"
    named = {"data_files": {"test": "../rows.jsonl"}}
    (folder / "rows.jsonl").write_text(ROW)
    (below / "task.yaml").write_text(task_file(dataset_kwargs=named, include="../inc.yaml"))
    command = ["preview", "--tasks", "made", "--include_path", str(folder)]
    ((code, said, _),) = commands.say(below, command)
    assert code == 0, said


def test_no_file_can_allow_itself_more(commands: Commands, folder: Path) -> None:
    (folder / "rows.jsonl").write_text(ROW)
    (folder / "task.yaml").write_text(task_file())
    run = {"tasks": "task.yaml", "model": "scripted", "allow_outside_files": True}
    (folder / "run.yaml").write_text(yaml.safe_dump(run))
    (folder / "task.yaml").write_text(task_file(allow_outside_files=True))
    said = commands.say(folder, ["run", "--config", "run.yaml"], ["validate", "task.yaml"])
    for code, text, _ in said:
        assert code == 1 and "allow_outside_files" in text


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        (["--system_instruction", "a\udcff"], "--system_instruction"),
        (["--num_fewshot", "-3"], "--num_fewshot"),
        (["--num_fewshot", "9" * 20], "--num_fewshot"),
        (["--repeats", "1000000000"], "--repeats"),
        (["--gen_kwargs", "max_gen_toks=" + "9" * 20], "--gen_kwargs"),
        (["--seeds", "1000000000"], "--seeds"),
        (["--seed", "9" * 5000], "--seed"),
        (["--limit", "nan"], "--limit"),
    ],
)
def test_bad_flags_are_one_error(
    capsys: pytest.CaptureFixture[str], flags: list[str], reason: str
) -> None:
    from tenbin.cli import main

    command = "sweep" if flags[0] == "--seeds" else "run"
    assert main([command, "--model", "scripted", "--tasks", "jnli", *flags]) == 1
    assert reason in capsys.readouterr().err
