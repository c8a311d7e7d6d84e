"""Scores in a terminal: one line a task, groups first, languages side by side, nothing cut."""

from __future__ import annotations

import io
import re
from collections.abc import Callable

import pytest
from rich.cells import cell_len

import tenbin
from tenbin.report.terminal.console import PlainConsole, print_note
from tenbin.report.terminal.run_line import print_run_line
from tenbin.report.terminal.score_lines import nested_groups
from tenbin.report.terminal.scores import print_results
from tenbin.results.schema import RunResult


def _run(**options: object) -> RunResult:
    given = {"model": "scripted", "sample_data": True, "no_cache": True, "write": False}
    return tenbin.evaluate(**{**given, **options}).result  # type: ignore[arg-type]


def _shown(show: Callable[[PlainConsole], None], width: int) -> list[str]:
    file = io.StringIO()
    show(PlainConsole(file=file, width=width, force_terminal=True, color_system=None))
    return file.getvalue().splitlines()


def _lines(result: RunResult, width: int, all_metrics: bool = False) -> list[str]:
    return _shown(lambda console: print_results(result, console, all_metrics), width)


@pytest.fixture(scope="module")
def japanese() -> RunResult:
    return _run(suite="japanese", limit=2)


@pytest.fixture(scope="module")
def languages() -> RunResult:
    return _run(tasks="mlogiqa_mcq", template="native", limit=2, num_fewshot=0)


@pytest.mark.parametrize("width", [80, 100, 120])
def test_no_line_is_wider_than_the_terminal_and_every_id_is_whole(
    japanese: RunResult, width: int
) -> None:
    lines = _lines(japanese, width)
    assert max(map(cell_len, lines)) <= width
    shown = "\n".join(lines)
    for id in [*japanese.details, *japanese.group_details]:
        # Groups are indented, a metric may follow in the same column.
        assert re.search(rf"^ *{re.escape(id)}  .* ± ", shown, re.M), id


def test_groups_come_first_and_stand_below_those_that_hold_them(japanese: RunResult) -> None:
    lines = _lines(japanese, 120)
    starts = [line.split("  ")[0] if line[:1] != " " else line.lstrip() for line in lines]
    suite, jmmlu, stem = (
        next(at for at, line in enumerate(lines) if line.lstrip().startswith(name))
        for name in ("japanese ", "jmmlu ", "jmmlu_stem-")
    )
    first_task = next(at for at, line in enumerate(starts) if line == "jnli-1.3-0.2")
    assert suite < jmmlu < stem < first_task
    assert [len(lines[at]) - len(lines[at].lstrip()) for at in (suite, jmmlu, stem)] == [0, 2, 4]


def test_a_task_has_one_line_with_its_first_metric_and_all_metrics_on_demand(
    japanese: RunResult,
) -> None:
    short, long = _lines(japanese, 120), _lines(japanese, 120, all_metrics=True)
    of_short = [line for line in short if line.startswith("jnli-1.3-0.2 ")]
    assert len(of_short) == 1 and " acc " in of_short[0]
    assert not any("macro_f1" in line for line in short if not line.startswith("group"))
    assert any("macro_f1 ↑" in line for line in long)
    assert any("--all_metrics" in line for line in short)
    assert not any("--all_metrics" in line for line in long)


def test_a_wide_terminal_shows_intervals_and_a_narrow_one_drops_columns_not_ids(
    japanese: RunResult,
) -> None:
    assert any("95% interval" in line for line in _lines(japanese, 120))
    assert not any("95% interval" in line for line in _lines(japanese, 60))
    narrow = _lines(japanese, 40)
    assert max(map(cell_len, narrow)) <= 40
    at = next(at for at, line in enumerate(narrow) if line.startswith("jmmlu_college_medicine"))
    assert "n = 2" in narrow[at + 1]


def test_languages_of_one_family_are_columns_of_one_block(languages: RunResult) -> None:
    lines = _lines(languages, 80)
    at = next(at for at, line in enumerate(lines) if line.startswith("mlogiqa_mcq 1.0, "))
    assert lines[at].endswith("n = 2 each")
    assert lines[at + 1].split() == ["ar", "en", "es", "fr", "ja", "ko", "pt", "th", "vi", "zh"]
    values = lines[at + 2].split()
    assert values[0] == "value" and len(values) == 11
    ja = languages.scores("mlogiqa_mcq_ja-1.0-native")[0].value
    assert ja is not None and values[5] == f"{ja:.3f}"
    # Columns stand under their headings.
    assert [m.end() for m in re.finditer(r"\S+", lines[at + 1])] == [
        m.end() for m in re.finditer(r"\S+", lines[at + 2])
    ][1:]


def test_a_block_that_is_too_wide_continues_below_in_equal_parts(languages: RunResult) -> None:
    lines = _lines(languages, 60)
    assert max(map(cell_len, lines)) <= 60
    heads = [line.split() for line in lines if set(line.split()) <= set(_CODES) and line.strip()]
    assert [len(head) for head in heads] == [5, 5]


_CODES = ["ar", "en", "es", "fr", "ja", "ko", "pt", "th", "vi", "zh"]


def test_two_languages_are_two_lines() -> None:
    result = _run(tasks="mlogiqa_mcq_ja,mlogiqa_mcq_en", limit=2)
    lines = _lines(result, 80)
    assert sum(line.startswith("mlogiqa_mcq_") for line in lines) == 2


def test_failed_documents_have_a_column(languages: RunResult) -> None:
    details = {
        id: {
            metric: one.model_copy(update={"failed": 1}) if id.startswith("mlogiqa_mcq_ja") else one
            for metric, one in found.items()
        }
        for id, found in languages.details.items()
    }
    lines = _lines(languages.model_copy(update={"details": details}), 80)
    (row,) = [line.split() for line in lines if line.startswith("failed ")]
    assert row[1:].count("1") == 1 and row[5] == "1"


def test_groups_within_groups_make_a_tree() -> None:
    members = {"b": ["1", "2"], "a": ["1", "2", "3"], "c": ["3"], "other": ["9"]}
    found = nested_groups(members, list(members))
    assert [(one.id, one.depth) for one in found] == [("a", 0), ("b", 1), ("c", 1), ("other", 0)]


def test_a_stored_run_is_one_line(japanese: RunResult) -> None:
    lines = _shown(lambda console: print_run_line("runs/a", japanese, console), 120)
    assert len(lines) == 1
    assert lines[0].startswith("run      runs/a: scripted, 64 tasks, n = ")
    assert "japanese mean" in lines[0] and " ± " in lines[0]
    parts = {id: one.model_copy(update={"role": "part"}) for id, one in japanese.configs.items()}
    swept = japanese.model_copy(update={"configs": parts, "group_details": {}})
    (line,) = _shown(lambda console: print_run_line("runs/b", swept, console), 200)
    assert line.endswith("a sweep on a budget: no score of a single prompt")


def test_notes_are_indented_on_a_terminal_and_whole_in_a_pipe() -> None:
    text = "note: 日本語の長い注釈は端末の幅で折り返され、二行目からは字下げされる。" * 3
    wrapped = _shown(lambda console: print_note(console, text), 50)
    assert len(wrapped) > 1 and max(map(cell_len, wrapped)) <= 50
    assert all(line.startswith("  ") for line in wrapped[1:])
    file = io.StringIO()
    print_note(PlainConsole(file=file, width=50, color_system=None), text)
    assert file.getvalue() == text + "\n"


def test_several_templates_are_rows_of_one_block() -> None:
    names = [f"mlogiqa_mcq_{code}-1.0-{one}" for one in ("native", "paper") for code in _CODES[:3]]
    result = _run(tasks=",".join(names), limit=2)
    lines = _lines(result, 80)
    assert sum(line.startswith("mlogiqa_mcq 1.0, ") for line in lines) == 1
    rows = [line.split()[0] for line in lines if line.startswith(("native", "paper"))]
    assert rows == ["native", "paper"]
