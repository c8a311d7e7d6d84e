"""Control characters out of data, task files, names and messages are shown, never sent."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from rich.table import Table
from rich.text import Text

from tenbin.cli import main
from tenbin.report.terminal.console import PlainConsole, made_visible
from tenbin.sandbox.printable import visible

pytestmark = pytest.mark.usefixtures("cache")

HOSTILE = "\x1b[31mred\x1b]0;title\x07\r\x08\x9b2J\u202eevil\u2066[/][bold]x[/bold]\x00\u2028"
RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
STYLES = re.compile(r"\x1b\[[0-9;]*m|\x1b\[\?25[lh]|\x1b\[\d*[AK]|\r")
"""What rich writes on a terminal: colours, the cursor, a line drawn anew."""

TASK = {
    "task": f"hostile{HOSTILE}",
    "title": f"title {HOSTILE}",
    "dataset_path": "json",
    "dataset_kwargs": {"data_files": {"test": "rows.jsonl"}},
    "test_split": "test",
    "output_type": "multiple_choice",
    "doc_to_text": "{{ question }}",
    "doc_to_choice": "options",
    "doc_to_target": "{{ label }}",
    "group": f"group{HOSTILE}",
    "metric_list": [{"metric": "acc", "name": f"acc {HOSTILE}"}],
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = [
        {"question": f"{number} {HOSTILE}", "options": [f"a{HOSTILE}", "b"], "label": 0}
        for number in range(3)
    ]
    content = "\n".join(json.dumps(row) for row in rows)
    (tmp_path / "rows.jsonl").write_text(content, encoding="utf-8")
    (tmp_path / "hostile.yaml").write_text(yaml.safe_dump(TASK), encoding="utf-8")
    other = {**TASK, "task": "other", "title": "other"}
    (tmp_path / "other.yaml").write_text(yaml.safe_dump(other), encoding="utf-8")
    return tmp_path


Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def tenbin(folder: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> Command:
    """The command line; gives the exit code and the bytes of its two streams."""

    def run(*arguments: str) -> tuple[int, str, str]:
        try:
            code = main(list(arguments))
        except SystemExit as end:
            code = int(end.code or 0)
        written = capfdbinary.readouterr()
        return code, written.out.decode(), written.err.decode()

    return run


def assert_harmless(*streams: str) -> None:
    for stream in streams:
        assert not RAW.search(stream), repr(stream)


def test_every_command_shows_what_a_task_and_its_rows_hold(tenbin: Command) -> None:
    code, out, err = tenbin("preview", "--tasks", "hostile.yaml")
    assert code == 0, err
    assert_harmless(out, err)
    assert r"0 \x1b[31mred\x1b]0;title\a\r\b\x9b2J\u202eevil\u2066[/][bold]x[/bold]\0\u2028" in out
    code, out, err = tenbin("preview", "--tasks", "hostile.yaml", "--format", "jsonl")
    assert json.loads(out.split("\n")[0])["prompt"] == f"0 {HOSTILE}", "exact for machines"
    for action in ("list", "fetch"):
        code, out, err = tenbin("data", action, "hostile.yaml")
        assert code == 0, err
        assert_harmless(out, err)
    code, out, err = tenbin("data", "list", "hostile.yaml", "--json")
    assert json.loads(out)[0]["task"] == f"hostile{HOSTILE}", "exact for machines"
    code, out, err = tenbin("validate", "hostile.yaml")
    assert_harmless(out, err)
    assert r"\x1b[31mred" in out
    code, out, err = tenbin("tasks", "--include_path", ".", "hostile")
    assert code == 0 and r"\x1b[31mred" in "".join(out.split())
    assert_harmless(out, err)


def test_runs_and_what_is_made_of_them_show_it(folder: Path, tenbin: Command) -> None:
    for name in ("one", "two"):
        command = ["run", "--model", "scripted", "--tasks", "hostile.yaml,other.yaml"]
        code, out, err = tenbin(*command, "--output_path", f"{name}.json")
        assert code == 0, err
        assert r"\x1b[31mred" in "".join(out.split())
        assert_harmless(out, err)
    stored = json.loads((folder / "one.json").read_text(encoding="utf-8"))
    assert any(HOSTILE in id for id in stored["results"]), "exact in the file"
    for command in (["compare", "one.json", "two.json"], ["journal", "show"]):
        code, out, err = tenbin(*command)
        assert code == 0, err
        assert_harmless(out, err)
    code, out, err = tenbin("sweep", "one.json")
    assert_harmless(out, err)
    code, out, err = tenbin("consistency", "one.json")
    assert_harmless(out, err)
    for to in ("csv", "markdown", "latex", "html-table", "jsonl", "model-card", "every-eval-ever"):
        code, out, err = tenbin("export", "one.json", "--to", to)
        assert code == 0, err
        assert_harmless(out, err)


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "--model", "scripted", "--tasks", f"no{HOSTILE}".replace("\0", "")],
        ["run", "--model", f"no{HOSTILE}".replace("\0", ""), "--tasks", "jnli", "--sample_data"],
        ["run", f"--no{HOSTILE}".replace("\0", ""), "x"],
        ["compare", f"no{HOSTILE}".replace("\0", ""), "one.json"],
    ],
)
def test_errors_show_it(tenbin: Command, arguments: list[str]) -> None:
    code, out, err = tenbin(*arguments)
    assert code != 0 and r"\x1b[31m" in err
    assert_harmless(out, err)
    assert "Traceback" not in err


def test_an_error_out_of_a_row_shows_it(folder: Path, tenbin: Command) -> None:
    rows = folder / "rows.jsonl"
    bad = json.dumps({"question": "q", "options": [HOSTILE, "b"], "label": f"{HOSTILE}"})
    rows.write_text(bad, encoding="utf-8")
    code, out, err = tenbin("run", "--model", "scripted", "--tasks", "hostile.yaml")
    assert code == 1 and r"\x1b" in err
    assert_harmless(out, err)


def test_a_terminal_gets_no_more_than_richs_own_styles(folder: Path) -> None:
    receiver, terminal = pty.openpty()
    command = ["run", "--model", "scripted", "--tasks", "hostile.yaml"]
    child = subprocess.Popen(
        [sys.executable, "-m", "tenbin", *command],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=terminal,
        stderr=terminal,
        env={**os.environ, "TENBIN_CACHE": str(folder / "cache"), "TERM": "xterm-256color"},
    )
    os.close(terminal)
    shown = b""
    try:
        while chunk := os.read(receiver, 65536):
            shown += chunk
    except OSError:
        pass  # the other end is closed
    finally:
        os.close(receiver)
        assert child.wait(timeout=60) == 0
    text = STYLES.sub("", shown.decode())
    assert r"\x1b[31mred" in "".join(text.split())
    assert_harmless(text)


def test_the_console_is_the_last_guard() -> None:
    stream = io.StringIO()
    console = PlainConsole(file=stream, width=200, force_terminal=True, color_system=None)
    table = Table(title=HOSTILE)
    table.add_column(HOSTILE)
    table.add_row(Text(HOSTILE))
    table.add_row(HOSTILE)
    console.print(table)
    console.print(HOSTILE, Text(HOSTILE))
    console.rule(HOSTILE)
    assert_harmless(stream.getvalue())
    assert "[bold]x[/bold]" in stream.getvalue(), "markup is text"


def test_what_is_visible_stays() -> None:
    kept = "A\tB\nC é 日本語 العربية ไทย 한국어 😀 \u200c\u200d\\x1b"
    assert visible(kept) == kept
    assert visible(visible(HOSTILE)) == visible(HOSTILE)
    assert visible("\ud800\U000e0041") == r"\ud800\U000e0041"
    assert made_visible({"\x1b": ["\r", ("\x07", 1)]}) == {r"\x1b": [r"\r", (r"\a", 1)]}
