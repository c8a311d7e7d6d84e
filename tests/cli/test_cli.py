"""The command line as a user meets it."""

from __future__ import annotations

import errno
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tenbin.cli import main
from tenbin.tasks.registry import load_registry
from tests.conftest import ROOT

pytestmark = pytest.mark.usefixtures("cache")

SAMPLE_JGLUE = ROOT / "src" / "tenbin" / "catalog" / "sample_data" / "jglue_v1.1"
SCRIPTED = ["--model", "scripted", "--sample_data"]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs go to runs/ of the folder that one is in."""
    monkeypatch.chdir(tmp_path)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(list(arguments))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def python(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], cwd=cwd, capture_output=True, text=True, timeout=120
    )


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from tenbin.cli import main\n"
        "try: main(['--help'])\nexcept SystemExit: pass\n"
        "heavy = {'torch','transformers','numpy','pyarrow','rich','yaml','pydantic','jinja2'}\n"
        "sys.exit(str(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)"
    )
    done = python("-c", code)
    assert done.returncode == 0, done.stderr
    assert "run" in done.stdout and "preview" in done.stdout


def test_listing_tasks_imports_no_model_or_data_library() -> None:
    code = (
        "import sys; from tenbin.cli import main; main(['tasks'])\n"
        "heavy = {'torch','transformers','numpy','scipy','pyarrow','datasets','httpx','fugashi'}\n"
        "sys.exit(str(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)"
    )
    done = python("-c", code)
    assert done.returncode == 0, done.stderr
    assert "jcommonsenseqa-1.1" in done.stdout and "1,119" in done.stdout


COMMANDS = (
    "run", "sweep", "report", "export", "serve", "tasks", "data", "preview", "validate", "compare",
    "leaderboard", "doctor", "consistency",
)  # fmt: skip


@pytest.mark.parametrize("command", [None, *COMMANDS])
def test_every_command_has_help(command: str | None, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([command, "--help"] if command else ["--help"])
    assert stopped.value.code == 0
    assert max(len(line) for line in capsys.readouterr().out.splitlines()) <= 80


def test_help_names_every_backend(capsys: pytest.CaptureFixture[str]) -> None:
    from tenbin.backends.registry import BACKENDS

    with pytest.raises(SystemExit):
        main(["run", "--help"])
    shown = capsys.readouterr().out
    assert [name for name in BACKENDS if name not in shown] == []


def test_no_command_shows_help(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys)
    assert code == 0 and "make demo" in out


def test_tasks_by_pattern(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "tasks", "jnli")
    assert code == 0 and "jnli-1.3" in out
    assert not any(line.strip().startswith("jsquad") for line in out.splitlines())
    code, out, _ = run(capsys, "tasks", "mlogiqa_*_ja")
    assert "mlogiqa_gen_ja-1.0" in out and "mlogiqa_gen_ko" not in out
    code, out, _ = run(capsys, "tasks", "nothing")
    assert code == 1 and "no task matches" in out


def test_preview_jsonl_has_the_documented_keys(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(
        capsys, "preview", "--tasks", "jsquad-1.1-0.4,mlogiqa_mcq_ja", "--limit", "2",
        "--num-fewshot", "1", "--format", "jsonl", "--sample-data",
    )  # fmt: skip
    rows = [json.loads(line) for line in out.splitlines()]
    assert (
        code == 0
        and [row["task"] for row in rows] == ["jsquad-1.1-0.4"] * 2 + ["mlogiqa_mcq_ja"] * 2
    )
    assert {"task", "doc_id", "prompt", "continuations", "target", "stop"} <= set(rows[0])
    assert rows[0]["continuations"] is None and rows[0]["stop"] == ["<NL>"]
    assert len(rows[2]["continuations"]) == 4 and rows[2]["stop"] == []


def test_preview_shows_the_prompts_that_a_run_of_a_suite_asks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    suite = ("preview", "--suite", "jp_stable", "--limit", "1", "--format", "jsonl")
    code, out, _ = run(capsys, *suite, "--sample_data")
    shown = {row["task"]: row["num_fewshot"] for row in map(json.loads, out.splitlines())}
    assert code == 0 and shown["jnli-1.1-0.2"] == 3
    for task in ("jnli", "jsquad", "jcommonsenseqa"):
        shutil.copytree(SAMPLE_JGLUE / task, tmp_path / "jglue_v1.1" / task)
    # Two sample rows of a subject cannot give the suite's five examples.
    code, out, _ = run(capsys, "preview", "--suite", "japanese", "--limit", "1", "--sample_data")
    assert code == 0 and "row-" in out
    code, out, err = run(capsys, *suite, "--data_dir", str(tmp_path))
    assert code == 1 and "--skip_missing" in err
    code, out, err = run(capsys, *suite, "--data_dir", str(tmp_path), "--skip_missing")
    assert code == 0 and "left out" in err and "marc_ja" not in out
    assert {json.loads(line)["task"] for line in out.splitlines()} == {*shown} - {"marc_ja-1.1-0.2"}


def test_preview_text_shows_the_prompt_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "preview", "--tasks", "jnli-1.3-0.3", "--limit", "1", "--sample_data")
    assert "### 指示:\n与えられた前提と仮説の関係を回答してください。" in out
    assert "→" in out


def test_run_prints_a_table_and_writes_results(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "result.json"
    code, out, err = run(
        capsys, "run", *SCRIPTED, "--tasks", "jnli-1.3-0.2,mlogiqa_mcq", "--num_fewshot", "2,0",
        "--limit=3", "--output_path", str(path),
    )  # fmt: skip
    assert code == 0, err
    document = json.loads(path.read_text(encoding="utf-8"))
    value = document["results"]["jnli-1.3-0.2"]["acc"]
    assert f"{value:.4f}" in out and "mlogiqa_mcq" in out and str(path) in out
    assert "\x1b" not in out, "no colour codes in a pipe"
    assert "waiting for the model to load" in err, "progress goes to stderr"


def test_flags_override_the_run_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "run.yaml"
    config.write_text(
        "model: scripted\ntasks: [jnli-1.3-0.2]\nsample_data: true\nlimit: 5\nnum_fewshot: 1\n"
        f"output_path: {tmp_path / 'result.json'}\n",
        encoding="utf-8",
    )
    assert run(capsys, "run", "--config", str(config), "--limit", "2")[0] == 0
    document = json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))
    assert document["n-samples"]["jnli-1.3-0.2"]["effective"] == 2
    assert document["n-shot"]["jnli-1.3-0.2"] == 1
    # The run's own file runs it again.
    again = tmp_path / "result.run" / "run.yaml"
    code, _, err = run(
        capsys, "run", "--config", str(again), "--output_path", str(tmp_path / "again.json")
    )
    assert code == 0 and "in the journal already" in err
    second = json.loads((tmp_path / "again.json").read_text(encoding="utf-8"))
    assert second["results"] == document["results"]
    assert second["prompts"] == document["prompts"]


def test_a_run_file_keeps_falsy_values_and_the_system_prompt(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SYSTEM_PROMPT", "手短に。")
    first, second = tmp_path / "a.json", tmp_path / "b.json"
    given = ["--tasks", "jnli-1.3-0.6", "--seed", "0", "--num_fewshot", "2", "--limit", "2"]
    assert run(capsys, "run", *SCRIPTED, *given, "--output_path", str(first))[0] == 0
    monkeypatch.delenv("SYSTEM_PROMPT")
    again = ["--config", str(tmp_path / "a.run" / "run.yaml"), "--output_path", str(second)]
    assert run(capsys, "run", *again)[0] == 0
    documents = [json.loads(path.read_text(encoding="utf-8")) for path in (first, second)]
    assert documents[0]["config"]["seed"] == documents[1]["config"]["seed"] == 0
    assert documents[0]["config"]["system_prompt"] == "手短に。"
    assert documents[0]["prompts"] == documents[1]["prompts"]


def test_a_flag_overrides_the_files_place_of_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "run.yaml"
    config.write_text("tasks: jnli\nsample_data: true\nmodel: scripted\n", encoding="utf-8")
    code, _, err = run(capsys, "run", "--config", str(config), "--data_dir", str(tmp_path))
    assert code == 1 and "exclude each other" not in err and str(tmp_path) in err
    code, _, err = run(
        capsys, "run", "--config", str(config), "--sample_data", "false", "--offline"
    )
    assert code == 1 and "offline" in err.lower()


def test_a_narrow_terminal_gets_lines_instead_of_shreds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from rich.console import Console

    from tenbin.report.terminal.scores import print_results
    from tenbin.results.read import read_result

    path = tmp_path / "r.json"
    run(
        capsys, "run", *SCRIPTED, "--tasks", "mlogiqa_gen,jsquad", "--limit", "1",
        "--output_path", str(path),
    )  # fmt: skip
    print_results(read_result(Path(path)), Console(width=60, color_system=None), all_metrics=True)
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 60
    assert "format_failure,flexible-extract ↓" in out and "0.00%" in out


def test_unknown_flags_get_a_near_match(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["run", "--num_fewshots", "3"])
    assert "did you mean --num_fewshot" in capsys.readouterr().err


def test_output_that_is_a_folder_is_found_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.json").mkdir()
    code, _, err = run(
        capsys, "run", *SCRIPTED, "--tasks", "jnli", "--output_path", str(tmp_path / "x.json")
    )
    assert code == 1 and "it is a folder" in err


def test_an_unusable_journal_is_one_message(
    cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cache.write_text("no folder")
    code, _, err = run(capsys, "run", *SCRIPTED, "--tasks", "jnli", "--limit", "1")
    assert code == 1 and "--no_cache" in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--tasks", "jnli-1.3-0.2", "--template", "0.3"], ["changes nothing"]),
        (["--tasks", "jnli", "--limit", ""], ["--limit takes"]),
        (["--tasks", "jnli", "--limit", "inf"], ["--limit takes"]),
        (["--tasks", "jcomonsenseqa"], ["unknown task", "did you mean jcommonsenseqa"]),
        (
            ["--tasks", "jnli", "--num_fewshot", "1,2"],
            ["gives 2 numbers for 1 entry", "(no task)"],
        ),
        (["--tasks", "jnli", "--limit", "x"], ["--limit takes"]),
        (["--tasks", "jnli", "--config", "nowhere.yaml"], ["nowhere.yaml"]),
        (["--tasks", "jnli", "--model", "gpt"], ["unknown model backend 'gpt'", "hf"]),
        (["--tasks", "jnli", "--num_fewshot", "99"], ["99 examples were asked for"]),
        (["--tasks", "jnli", "--model_args", "colour=red"], ["colour", "max_length"]),
        (["--tasks", "jnli", "--split", "test", "--data_versions", "jglue=1.1"], ["test", "1.3"]),
    ],
)
def test_errors_are_one_message_without_a_traceback(
    arguments: list[str], words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    given = [*SCRIPTED, *arguments]
    code, out, err = run(capsys, "run", *given)
    assert code == 1 and out == ""
    assert "Traceback" not in err and err.startswith("tenbin: ")
    for word in words:
        assert word in err


def test_missing_data_says_where_it_looked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = run(
        capsys, "run", "--model", "scripted", "--tasks", "marc_ja", "--data_dir", str(tmp_path)
    )
    assert code == 1
    for word in ("marc_ja", str(tmp_path), "withdrawn", "validation"):
        assert word in err


def test_the_documented_entry_point_runs_from_anywhere(tmp_path: Path) -> None:
    done = python(
        str(ROOT / "main.py"), "--model", "scripted", "--tasks", "jnli-1.1-0.3,jsquad-1.1-0.3",
        "--num_fewshot", "3,2", "--sample_data", "--limit", "2", "--output_path", "result.json",
        cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "result.json").is_file()
    assert (tmp_path / "result.run" / "samples.parquet").is_file()


def test_validate_the_whole_catalog(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "validate", "*", "--sample_data")
    assert code == 0, out
    assert out.count("✓") == len(load_registry().tasks) and "error" not in out


LEAKING = """
task: leaky
dataset_path: json
dataset_kwargs: {data_files: {test: %s}}
output_type: multiple_choice
test_split: test
templates:
  honest: {doc_to_text: "Q: {{question}}"}
  leaks: {doc_to_text: "Q: {{question}} (it is {{options[answer]}})"}
  broken: {doc_to_text: "Q: {{quest}}"}
doc_to_choice: options
doc_to_target: answer
"""


def test_validate_finds_leaks_and_broken_templates(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        {"question": f"q{i}", "options": [f"red {i}", f"green {i}"], "answer": i % 2}
        for i in range(6)
    ]
    data = tmp_path / "rows.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    task = tmp_path / "leaky.yaml"
    task.write_text(LEAKING % data, encoding="utf-8")
    code, out, _ = run(capsys, "validate", str(task))
    assert code == 1
    assert "template leaks" in out and "right answer stands in the prompt" in out
    assert "template broken" in out and "'quest' is undefined" in out
    assert "template honest" not in out
    rows[3]["answer"] = 5
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    code, out, _ = run(capsys, "validate", str(task))
    assert code == 1 and "gold answer 5" in out and "rows.jsonl" in out and "4" in out


def test_a_task_of_ones_own_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = tmp_path / "rows.jsonl"
    rows = [{"question": f"q{i}", "options": ["x", "y"], "answer": i % 2} for i in range(4)]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    task = tmp_path / "mine.yaml"
    task.write_text(LEAKING.replace("leaky", "mine") % data, encoding="utf-8")
    code, out, err = run(
        capsys, "run", "--model", "scripted", "--tasks", str(task), "--template", "honest",
        "--num_fewshot", "1", "--output_path", str(tmp_path / "r.json"),
    )  # fmt: skip
    assert code == 0, err
    assert "mine" in out


@pytest.mark.parametrize("where", ["shelf", "database", "fetched rows"])
def test_a_full_scratch_disk_is_an_error_that_names_it(
    where: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def full_database(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    if where == "shelf":
        monkeypatch.setattr("tempfile.SpooledTemporaryFile.write", full)
    elif where == "database":
        # SQLite's limit on pages stands in for the disk.
        tables = ("PRAGMA max_page_count=2", "CREATE TABLE t (x)", "CREATE TABLE u (x)")
        monkeypatch.setattr("tenbin.pipeline.plan._TABLES", tables)
    else:  # pages are also written to make room for those that are read
        monkeypatch.setattr("tenbin.pipeline.plan.Plan.planned", full_database)
    code, out, err = run(
        capsys, "run", "--model", "scripted", "--tasks", "jnli", "--sample_data", "--limit", "1",
        "--no_cache", "--output_path", str(tmp_path / "r.json"),
    )  # fmt: skip
    assert (code, out) == (1, "")
    assert "no space is left on the disk" in err
    assert str(tmp_path) in err and "TMPDIR" in err


@pytest.mark.parametrize(
    "given",
    [("--jglue_version", "1.3"), ("--jglue-version=1.3",), ("--data_versions", "jglue=1.3")],
)
def test_the_version_of_a_data_set(
    given: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = run(capsys, "validate", *given, "jnli", "--sample_data")
    assert code == 1 and "the sample data has one version, jglue 1.1, not 1.3" in out


def test_an_argument_of_the_wrong_kind_is_said_in_two_lines(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The usage of `run` has forty lines, which would push the message off the screen."""
    with pytest.raises(SystemExit) as ended:
        main(["run", "--log_level", "loud"])
    lines = capsys.readouterr().err.splitlines()
    assert ended.value.code == 2 and len(lines) == 2
    assert "'loud'" in lines[0] and lines[0].startswith("tenbin: argument --log_level")
    assert "tenbin run --help" in lines[1]
    with pytest.raises(SystemExit):
        main(["report"])
    assert capsys.readouterr().err.startswith("usage: tenbin report"), "a short one helps"


def test_a_pair_without_a_value_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["run", *SCRIPTED, "--tasks", "jnli", "--model_args"]
    code, _, err = run(capsys, *given, "fingerprint=x,seed")
    assert code == 1 and "joined by commas ('seed' has no =), not 'fingerprint=x,seed'" in err
    code, _, err = run(capsys, *given, "=x")
    assert code == 1 and "('=x' has no name)" in err
