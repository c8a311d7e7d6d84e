"""`tenbin compare` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console

from tenbin.analysis.compare import Side, Wanted, compare_runs
from tenbin.cli import main
from tenbin.report.terminal.comparison import print_comparison
from tenbin.results.read import read_run

pytestmark = pytest.mark.usefixtures("cache")

RUN = ["run", "--model", "scripted", "--sample_data", "--tasks", "jnli-1.3-0.2,mlogiqa_gen_ja"]


@pytest.fixture
def runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    """Two runs of models that write different things."""
    paths = (str(tmp_path / "before.json"), str(tmp_path / "after.json"))
    for path, text in zip(paths, ("{'answer': 'A'}", "{'answer': 'C'}"), strict=True):
        given = ["--model_args", f"text={text}", "--output_path", path]
        assert main([*RUN, *given]) == 0
    capsys.readouterr()
    return paths


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(list(arguments))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_two_runs(runs: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "compare", *runs)
    assert code == 0, err
    for word in ("A  ", "B  ", "mlogiqa_gen_ja", "exact_match,strict-match", "Holm", "2 tests"):
        assert word in out
    assert "changed in mlogiqa_gen_ja" in out and "'A' → 'C' (gold: 'C')" in out
    assert "\x1b" not in out, "no colour codes in a pipe"
    assert "changed in" not in run(capsys, "compare", *runs, "--changes", "0")[1]


@pytest.mark.parametrize("width", [60, 80, 140])
def test_any_width_is_kept(
    width: int, runs: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    opened = [read_run(path) for path in runs]
    sides = [Side("x", run.result, list(run.samples())) for run in opened]
    report = compare_runs(sides, Wanted(metrics=("all",)))
    print_comparison(report, console=Console(width=width, color_system=None))
    out = capsys.readouterr().out
    assert max(cell_len(line.rstrip()) for line in out.splitlines()) <= width
    assert "format_failure,flexible-extract ↓" in out


def test_json_to_a_pipe_and_to_a_file(
    runs: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "difference.json"
    code, out, _ = run(capsys, "compare", *runs, "--format", "json", "-o", str(path))
    assert code == 0
    document = json.loads(out)
    assert document == json.loads(path.read_text(encoding="utf-8"))
    assert document["schema_version"] == 1 and document["tests"] == 2
    assert [one["name"] for one in document["runs"]] == list(runs)
    assert document["comparisons"][1]["changes"][0]["other"]["answer"] == "C"
    code, _, err = run(capsys, "compare", *runs, "-o", str(tmp_path))
    assert code == 1 and "cannot be written" in err


def test_refusals_are_one_message(
    runs: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = str(tmp_path / "shots.json")
    assert main([*RUN, "--num_fewshot", "1", "--output_path", other]) == 0
    capsys.readouterr()
    code, out, err = run(capsys, "compare", runs[0], other)
    assert code == 1 and out == "" and err.startswith("tenbin: not comparable:")
    assert "shots: 0 here, 1 there" in err and "--allow shots" in err
    code, out, _ = run(capsys, "compare", runs[0], other, "--allow", "shots")
    assert code == 0 and "allowed to differ: shots" in out
    for arguments, words in (
        ([runs[0]], "nothing to compare"),
        ([runs[0], "nowhere.json"], "no stored run there"),
        ([*runs, "--map", "jnli"], "takes ID_IN_FIRST=ID_IN_OTHER"),
        ([*runs, "--allow", "everything"], "what may differ: data"),
        ([*runs, "--cells", "jnli"], "no task 'jnli'"),
    ):
        code, _, err = run(capsys, "compare", *arguments)
        assert code == 1 and words in err and "Traceback" not in err


def test_cells_of_one_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "templates.json")
    main([*RUN[:-1], "jnli-1.3-0.2,jnli-1.3-0.3", "--output_path", path])
    capsys.readouterr()
    code, out, _ = run(capsys, "compare", path, "--cells", "jnli-1.3-0.2", "jnli-1.3-0.3")
    assert code == 0 and "jnli-1.3-0.2 → jnli-1.3-0.3" in out
    commas = run(capsys, "compare", path, "--cells", "jnli-1.3-0.2,jnli-1.3-0.3")
    assert commas[1] == out


@pytest.mark.parametrize(
    ("required", "code", "verdict"),
    [
        ("no-worse-than:99", 0, "pass"),
        ("within:99", 0, "pass"),
        ("better", 6, "inconclusive"),
        ("no-worse-than:0.5", 6, "inconclusive"),
    ],
)
def test_what_is_required_sets_the_exit_code(
    runs: tuple[str, str],
    capsys: pytest.CaptureFixture[str],
    required: str,
    code: int,
    verdict: str,
) -> None:
    found, out, err = run(capsys, "compare", *runs, "--require", required)
    assert found == code, err
    assert f"required {required}: {verdict} (" in out
    if code:
        assert "inconclusive: jnli-1.3-0.2 acc [" in out
    document = json.loads(
        run(capsys, "compare", *runs, "--require", required, "--format", "json")[1]
    )
    assert document["requirement"] == {"required": required, "verdict": verdict}
    assert {row["verdict"] for row in document["comparisons"]} >= {verdict}


def test_what_is_shown_to_be_worse_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All of 36 documents lost: no doubt is left."""
    rows = [f'{{"question": "{at}", "answer": "yes"}}' for at in range(36)]
    (tmp_path / "rows.jsonl").write_text("\n".join(rows), encoding="utf-8")
    (tmp_path / "sure.yaml").write_text(
        "task: sure\ndataset_path: json\ndataset_kwargs: {data_files: {test: rows.jsonl}}\n"
        "test_split: test\noutput_type: generate_until\ndoc_to_text: question\n"
        "doc_to_target: answer\nmetric_list: [{metric: exact_match}]\n",
        encoding="utf-8",
    )
    paths = []
    for text in ("yes", "no"):
        paths.append(str(tmp_path / f"{text}.json"))
        task = ["--tasks", "sure", "--include_path", str(tmp_path)]
        model = ["--model", "scripted", "--model_args", f"text={text}"]
        assert main(["run", *model, *task, "--output_path", paths[-1], "--no_cache"]) == 0
    capsys.readouterr()
    for required in ("better", "no-worse-than:5", "within:5"):
        code, out, _ = run(capsys, "compare", *paths, "--require", required)
        assert code == 5 and f"required {required}: fail (0 of 1 pass)" in out
    back = [paths[1], paths[0]]
    for required, code in (("better", 0), ("no-worse-than:5", 0), ("within:5", 5)):
        assert run(capsys, "compare", *back, "--require", required)[0] == code


@pytest.mark.parametrize("written", ["no-worse-than", "no-worse-than:0", "within:-1", "best", ""])
def test_requirements_that_make_no_sense(
    runs: tuple[str, str], capsys: pytest.CaptureFixture[str], written: str
) -> None:
    code, out, err = run(capsys, "compare", *runs, "--require", written)
    assert code == 1 and f"--require {written}" in err and not out
