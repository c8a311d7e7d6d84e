"""`tenbin tasks` with folders of lm-eval's task files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.cells import cell_len

from tenbin.cli import main, tasks
from tenbin.pipeline import suite_cost
from tenbin.report.terminal.console import PlainConsole
from tests.tasks.lm_eval.test_grouping import TASK, registry

Command = Callable[..., tuple[int, str]]


@pytest.fixture
def listed(
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Command:
    """`tenbin tasks` in a folder with three tasks, a group, a Python class and a broken file."""
    monkeypatch.setenv("TENBIN_CACHE", str(tmp_path_factory.mktemp("cache")))
    canary = "open(__file__ + '.ran', 'w').close()\n"
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "utils.py").write_text(canary, encoding="utf-8")
    registry(
        tmp_path / "in",
        "group: letters\ntask: [a, b, vowels]\n",
        a="tag: [vowels]\nprocess_docs: !function utils.f\n",
        c="doc_to_image: x\n",
    )
    for name, text in {
        "class": "task: squad\nclass: !function utils.Squad\n",
        "broken": "task: [\n",
        "hidden/_more": f"task: quite_else\n{TASK}",
    }.items():
        path = tmp_path / "in" / f"{name}.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def run(*arguments: str) -> tuple[int, str]:
        code = main(["tasks", "--include_path", str(tmp_path / "in"), *arguments])
        assert not list(tmp_path.rglob("*.ran")), "a task's code was imported"
        return code, capsys.readouterr().out

    return run


def rows(out: str) -> dict[str, str]:
    lines = (line.split(None, 1) for line in out.splitlines() if line.strip())
    return {line[0]: line[1] if len(line) > 1 else "" for line in lines}


def test_files_are_listed_with_kinds_and_needs(listed: Command) -> None:
    code, out = listed()
    assert code == 0
    found = rows(out)
    assert found["letters"].startswith("group") and "3 members: a, b, vowels" in found["letters"]
    assert found["vowels"].split() == ["tag", "1", "task"]
    assert found["a"].split() == ["choice", "vowels", "trust", "a.yaml"]
    assert found["b"].split() == ["choice", "–", "b.yaml"]
    assert found["c"].startswith("refused") and "doc_to_image" in out
    assert found["squad"].startswith("python") and "a Python class" in out
    assert found["broken"].startswith("refused") and "not valid YAML" in out
    assert found["quite_else"].split()[-1] == "hidden/_more.yaml"
    assert "4 tasks, 1 group, 1 tag, 1 Python class (refused), 1 file that cannot be" in out
    assert "jnli-1.3" in out, "the catalogue is there too"


@pytest.mark.parametrize(
    ("pattern", "names"),
    [("quite", {"quite_else"}), ("[ab]", {"a", "b"}), ("vow*", {"vowels", "a"})],
)
def test_a_pattern_is_about_names_and_tags(listed: Command, pattern: str, names: set[str]) -> None:
    code, out = listed(pattern, "--json")
    stored = json.loads(out)
    assert code == 0
    assert {one["name"] for one in stored["files"]} | stored["tags"].keys() == names


def test_many_files_are_a_summary_by_folder(
    listed: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "_MOST_ROWS", 3)
    code, out = listed()
    assert code == 0
    assert "hidden (1)" in out and "quite_else" not in out
    assert "--all" in out
    code, out = listed("--all")
    lines = [line.split("\t") for line in out.splitlines() if line.count("\t") == 3]
    assert ["quite_else", "task", "", "hidden/_more.yaml"] in lines
    assert ["letters", "group", "a,b,vowels", "group0.yaml"] in lines
    assert ["vowels", "tag", "1 task", ""] in lines
    assert len(lines) == 8
    code, out = listed("*")
    assert "and 5 more: narrow the pattern, or give --all" in out


def test_a_name_that_there_is_not_gets_a_hint(listed: Command) -> None:
    code, out = listed("leters")
    assert code == 1
    assert "no task matches 'leters': did you mean letters?" in out


def test_progress_is_shown_when_indexing_takes_long(
    listed: Command, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ticks = iter(range(0, 10_000, 20))
    monkeypatch.setattr("time.monotonic", lambda: float(next(ticks)))
    report = tasks._progress()
    report(1, 9)
    report(2, 9)
    assert "indexing task files: 2 of 9" in capsys.readouterr().err


def test_show_says_what_a_task_asks_and_how_to_cite_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks", "--show", "jnli-1.1"]) == 0
    shown = capsys.readouterr().out
    for part in ("Whether a hypothesis follows", "29 validation labels", "Kurihara", "2,434"):
        assert part in shown
    assert "| `acc` | higher | 0.3333 |" in shown


def test_suites_are_listed_with_documents_and_tokens(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks", "jp_stable", "--suites", "--profile", "few-shot-likelihood"]) == 0
    shown = capsys.readouterr().out
    assert "marc_ja-1.1-0.2" in shown and "13,649" in shown, "the sum of four published splits"
    assert "estimated: a token per 4 characters" in " ".join(shown.split())
    assert "GFLOP" not in shown


def test_time_of_a_model_is_estimated_from_a_measured_rate(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rate = suite_cost.Rate(1e12, "1,000 GFLOP/s")
    monkeypatch.setattr(suite_cost, "measure_rate", lambda: rate)
    assert rate.seconds(1e9, 1_000_000) == 2000
    assert main(["tasks", "jp_stable", "--suites", "--parameters", "1B"]) == 0
    assert "1,000 GFLOP/s" in capsys.readouterr().out
    assert main(["tasks", "--suites", "--parameters", "many"]) == 1
    assert "8B, 135M" in capsys.readouterr().err


def test_averages_are_listed_with_the_tasks(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks", "jsquad"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "average jp_stable_4: jsquad-1.1, jcommonsenseqa-1.1" in shown
    assert "(refused: members are missing)" in shown


def test_tasks_that_differ_in_language_only_are_one_row(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks"]) == 0
    found = rows(capsys.readouterr().out)
    assert "jnli-1.3" in found and "mlogiqa_mcq_ja-1.0" not in found
    row = found["mlogiqa_mcq_*-1.0"]
    assert row.startswith("ar en es fr ja") and "10 × 80" in row
    assert main(["tasks", "--all"]) == 0
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines() if "\t" in line]
    assert ["mlogiqa_gen_ja-1.0", "ja"] in [line[:2] for line in lines]
    assert all(len(line) == 6 for line in lines)


def test_the_grammar_of_formats_is_listed_with_its_rules(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["tasks", "--formats"]) == 0
    listed = capsys.readouterr().out.split("\n")
    assert {"jcommonsenseqa", "jnli", "marc_ja", "xnli_*", "mlogiqa_mcq_*", "jmmlu_*"} <= {*listed}
    assert "jsquad" not in listed
    assert main(["tasks", "--formats", "jnli-1.3"]) == 0
    shown = capsys.readouterr().out
    assert "0: terms, 1: yes-no, 2: truth" in shown
    assert "rule letter-needs-symbols: options without symbols" in shown
    assert main(["tasks", "--formats", "xnli_ur", "--json"]) == 0
    described = json.loads(capsys.readouterr().out)
    levels = {one["name"]: one["levels"] for one in described["dimensions"]}
    assert levels["language"] == {"1": "english"}
    assert levels["marks"] == {"0": "plain", "1": "square", "3": "heading"}
    assert main(["tasks", "--formats", "jsquad"]) == 1


def test_suites_fit_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is said of a suite is broken between words, not by the terminal inside them."""
    shown = PlainConsole(width=80, force_terminal=True, color_system=None)
    monkeypatch.setattr("tenbin.report.terminal.console.make_console", lambda: shown)
    assert main(["tasks", "--suites"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 20 and max(cell_len(line.rstrip()) for line in lines) <= 80
