"""What exit codes say, and that nothing scored is not shown as a table of dashes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from tenbin.backends.scripted import ScriptedBackend
from tenbin.cli import main
from tenbin.cli.parser import build_parser
from tenbin.records import Failure, Generate, Request, Response

ROOT = Path(__file__).parents[2]
RUN = ["run", "--model", "scripted", "--sample_data", "--limit", "4"]

pytestmark = pytest.mark.usefixtures("cache")


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that can score and fails at writing."""
    answer = ScriptedBackend.answer

    def fails(self: ScriptedBackend, request: Request) -> Response:
        if isinstance(request, Generate):
            return Failure("broken", "it cannot write")
        return answer(self, request)

    monkeypatch.setattr(ScriptedBackend, "answer", fails)


def test_a_task_without_any_score_is_no_success(
    failing: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = ["--output_path", str(tmp_path / "r.json")]
    assert main([*RUN, "--tasks", "jnli,jsquad", *output]) == 3
    shown = capsys.readouterr().out
    assert "jsquad-1.2-0.2: nothing could be scored: all 4 documents failed" in shown
    assert "jsquad-1.2-0.2 " not in shown, "no row of dashes"
    assert "jnli-1.3-0.2 " in shown
    assert main([*RUN, "--tasks", "jnli", "--output_path", str(tmp_path / "s.json")]) == 0


def test_where_nothing_at_all_was_scored_there_is_no_table(
    failing: None,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for columns in ("160", "60"):
        monkeypatch.setenv("COLUMNS", columns)
        output = ["--output_path", str(tmp_path / f"{columns}.json")]
        assert main([*RUN, "--tasks", "mlogiqa_gen_ja", *output]) == 3
        shown = capsys.readouterr().out
        assert "nothing could be scored" in shown and "value" not in shown and " – " not in shown


def test_sweeps_and_stored_sweeps_say_so_too(
    failing: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "r.json")
    sweep = ["sweep", *RUN[1:], "--tasks", "jsquad", "--templates", "0.2,0.3"]
    said = "nothing could be scored in all of jsquad-1.2-0.2, jsquad-1.2-0.3"
    assert main([*sweep, "--output_path", path]) == 3
    assert said in capsys.readouterr().err
    assert main(["sweep", path]) == 3
    assert said in capsys.readouterr().err


def test_models_of_which_some_failed(failing: None, tmp_path: Path) -> None:
    def run(*models: dict[str, object]) -> int:
        file = tmp_path / "models.yaml"
        shared = {"model": "scripted", "tasks": "jnli", "limit": 4, "sample_data": True}
        named = [{"name": f"m{at}", **one} for at, one in enumerate(models)]
        file.write_text(yaml.safe_dump({**shared, "models": named}))
        place = tmp_path / f"out{len(list(tmp_path.iterdir()))}"
        return main(["run", "--config", str(file), "--output_path", str(place)])

    good = {"model_args": {"fingerprint": "good"}}
    bad = {"model_args": {"raise_after": 1, "fingerprint": "bad"}}
    unread = {"tasks": "jsquad", "model_args": {"fingerprint": "unread"}}
    assert run(good, good) == 0
    assert run(good, bad) == 4
    assert run(bad) == 1
    assert run(good, unread) == 3


def test_errors_and_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*RUN, "--tasks", "no_such_task"]) == 1
    for wrong in (["run", "--no_such_flag"], ["no_such_command"]):
        with pytest.raises(SystemExit) as error:
            main(wrong)
        assert error.value.code == 2


def test_comparing_a_run_without_scores_is_one_sentence(
    failing: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "r.json")
    main([*RUN, "--tasks", "jsquad", "--output_path", path])
    capsys.readouterr()
    assert main(["compare", path, path]) == 1
    shown = capsys.readouterr().err
    assert "jsquad-1.2-0.2: exact_match: all 4 documents failed in one of the runs" in shown
    assert "tenbin report" in shown


def test_the_documented_table_is_the_help_s(capsys: pytest.CaptureFixture[str]) -> None:
    written = (ROOT / "docs" / "exit-codes.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"^\| `(\d+)` \|", written, flags=re.MULTILINE))
    with pytest.raises(SystemExit):
        build_parser("run").parse_args(["run", "--help"])
    shown = capsys.readouterr().out.partition("exit codes:")[2]
    assert documented == set(re.findall(r"\b(\d+)\b", shown))


def test_too_few_documents_get_no_number(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "r.json")
    two = [*RUN[:-1], "2", "--tasks", "mlogiqa_mcq", "--output_path", path]
    assert main(two) == 0
    shown = capsys.readouterr().out
    assert "n = 2: too few documents to detect any difference reliably" in shown
    assert "±50" not in shown
    document = json.loads(Path(path).read_text())
    detail = document["details"]["mlogiqa_mcq_ja"]["acc"]["detectable"]
    assert detail == {"unpaired": None, "paired": None, "reason": "too few documents"}
    assert main(["consistency", path]) == 0
    shown = capsys.readouterr().out
    assert "Too few items to say how precise these numbers are." in shown
    assert not re.search(r"±\d+ points", shown)
    assert main(["consistency", path, "--format", "json"]) == 0
    reach = json.loads(capsys.readouterr().out)["sets"]["mlogiqa_mcq"]["reach"]
    assert reach == {"accuracy_half_width": None, "reason": "too few items"}


def scripted_run(place: Path, fingerprint: str, limit: int, *more: str) -> str:
    command = [*RUN[:-1], str(limit), "--model_args", f"fingerprint={fingerprint}", *more]
    assert main([*command, "--output_path", str(place), "--no_cache"]) == 0
    return str(place)


@pytest.mark.parametrize("limit", [2, 4, 5, 12])
def test_comparisons_of_too_few_documents_have_no_interval(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], limit: int
) -> None:
    runs = [
        scripted_run(tmp_path / f"{name}.json", name, limit, "--tasks", "jnli") for name in "ab"
    ]
    capsys.readouterr()
    assert main(["compare", *runs]) == 0
    shown = capsys.readouterr().out
    # Five documents have an interval, but no exact test of five rejects at 5 %.
    assert ("too few documents" in shown) == (f"n = {limit}: too few" in shown) == (limit < 6)
    assert ("[-" in shown) == (limit >= 5), shown
    assert main(["compare", *runs, "--format", "json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["comparisons"]
    ends = [row["low"], row["high"], row["detectable"], row.get("reason")]
    if limit < 5:
        assert ends == [None, None, None, "too few documents"]
    else:
        assert None not in ends[:2] and ends[3] is None
        assert (ends[2] is None) == (limit < 6)


@pytest.mark.parametrize("limit", [2, 5])
def test_sweeps_of_too_few_documents_have_no_interval(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], limit: int
) -> None:
    command = ["sweep", *RUN[1:-1], str(limit), "--tasks", "jnli-1.3", "--no_cache"]
    path = str(tmp_path / "sweep.json")
    assert main([*command, "--templates", "0.2,0.3", "--output_path", path]) == 0
    few = limit < 5
    assert ("too few documents" in capsys.readouterr().out) == few
    assert main(["sweep", path, "--format", "json"]) == 0
    (task,) = json.loads(capsys.readouterr().out)["tasks"]
    for entry in (*task["options"], *task["differences"], task["choice"]["honest"]):
        assert (entry["low"] is None) == (entry["high"] is None) == few
        assert entry.get("reason") == ("too few documents" if few else None)


@pytest.mark.parametrize("limit", [2, 5])
def test_consistency_of_too_few_documents_has_no_interval(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], limit: int
) -> None:
    tasks = ["--tasks", "mlogiqa_mcq,mlogiqa_gen"]
    path = scripted_run(tmp_path / "r.json", "a", limit, *tasks)
    few = limit < 5
    capsys.readouterr()
    assert main(["consistency", path]) == 0
    shown = capsys.readouterr().out
    assert ("too few documents" in shown) == few
    assert bool(re.search(r"\[[+-]?\d", shown)) != few, shown
    assert max(map(len, shown.splitlines())) <= 80
    assert "documentsby" not in shown, "columns stay apart where nothing was read"
    assert main(["consistency", path, "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    found = document["sets"]["mlogiqa_mcq"]
    rows = [row["accuracy"] for row in found["answers"].values()]
    rows += [*found["gaps"].values(), found["agreement"], found["right_everywhere"]]
    rows += [pair["agreement"] for pair in found["pairs"]]
    for row in filter(None, rows):
        assert row.get("reason") == ("too few documents" if few else None)
        assert (row["low"] is None) == few
