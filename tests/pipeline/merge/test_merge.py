"""Merged runs are the run that would have asked everything at once; what differs is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import tenbin
from tenbin.cli import main
from tenbin.errors import ConfigError, ResultError
from tenbin.results.read import read_run

SAME = (
    "results", "details", "groups", "group_subtasks", "group_details", "configs", "data", "prompts",
    "n-samples", "n-shot", "versions", "failures", "warnings", "fingerprint", "run_id",
)  # fmt: skip


def asked(place: Path, name: str, tasks: str, **options: Any) -> Path:
    path = place / f"{name}.json"
    given: dict[str, Any] = {"sample_data": True, "no_cache": True, **options}
    tenbin.evaluate("scripted", tasks, output_path=str(path), **given)
    return path


def merged(place: Path, *runs: Path) -> dict[str, Any]:
    tenbin.merge(*runs, output_path=place / "merged.json")
    found: dict[str, Any] = json.loads((place / "merged.json").read_text(encoding="utf-8"))
    return found


def test_more_tasks_make_the_run_that_asked_all_of_them(tmp_path: Path) -> None:
    first = asked(tmp_path, "a", "jnli,mlogiqa_mcq_ja,mlogiqa_mcq_en")
    second = asked(tmp_path, "b", "jcommonsenseqa,mlogiqa_mcq_fr")
    tasks = "jnli,mlogiqa_mcq_ja,mlogiqa_mcq_en,jcommonsenseqa,mlogiqa_mcq_fr"
    whole = json.loads(asked(tmp_path, "whole", tasks).read_text(encoding="utf-8"))
    found = merged(tmp_path, first, second)
    assert {name: found.get(name) for name in SAME} == {name: whole.get(name) for name in SAME}
    assert list(found["groups"]) == ["mlogiqa_mcq"]
    mine, theirs = (read_run(tmp_path / f"{name}.json") for name in ("merged", "whole"))
    assert list(mine.sample_rows()) == list(theirs.sample_rows())
    origins = [(one["run_id"], one["cells"]) for one in found["merged"]]
    assert origins == [
        (json.loads(path.read_text())["run_id"], list(json.loads(path.read_text())["configs"]))
        for path in (first, second)
    ]


def test_more_shots_are_told_apart_as_in_a_sweep(tmp_path: Path) -> None:
    tasks = "mlogiqa_mcq_ja,mlogiqa_mcq_en,jnli"
    runs = [asked(tmp_path, f"r{shots}", tasks, num_fewshot=shots) for shots in (0, 2)]
    found = merged(tmp_path, *runs)
    assert list(found["configs"]) == [
        f"{task}@{shots}shot"
        for shots in (0, 2)
        for task in ("mlogiqa_mcq_ja", "mlogiqa_mcq_en", "jnli-1.3-0.2")
    ]
    assert set(found["groups"]) == {"mlogiqa_mcq@0shot", "mlogiqa_mcq@2shot"}
    for path, shots in zip(runs, (0, 2), strict=True):
        own = json.loads(path.read_text(encoding="utf-8"))
        group = found["groups"][f"mlogiqa_mcq@{shots}shot"]
        assert group["acc"] == own["groups"]["mlogiqa_mcq"]["acc"]
        ids = {sample.id for sample in read_run(tmp_path / "merged.json").samples()}
        assert f"jnli-1.3-0.2@{shots}shot" in ids


def test_more_templates_and_a_merged_run_again(tmp_path: Path) -> None:
    runs = [asked(tmp_path, f"t{n}", f"jnli-1.3-0.{n}") for n in (2, 3, 4)]
    tenbin.merge(*runs[:2], output_path=tmp_path / "two.json")
    found = merged(tmp_path, tmp_path / "two.json", runs[2])
    assert list(found["configs"]) == [f"jnli-1.3-0.{n}" for n in (2, 3, 4)]
    assert [one["cells"] for one in found["merged"]] == [[f"jnli-1.3-0.{n}"] for n in (2, 3, 4)]


def test_a_cell_that_two_runs_have_alike_is_one(tmp_path: Path) -> None:
    first = asked(tmp_path, "a", "jnli,mlogiqa_mcq_ja")
    second = asked(tmp_path, "b", "jnli,mlogiqa_mcq_en", seed=7)
    found = merged(tmp_path, first, second)
    assert list(found["configs"]) == ["jnli-1.3-0.2", "mlogiqa_mcq_ja", "mlogiqa_mcq_en"]
    assert [len(one["cells"]) for one in found["merged"]] == [2, 1]
    assert len(list(read_run(tmp_path / "merged.json").samples())) == 18 + 12 + 12


def test_a_group_of_the_catalogue_gets_the_tasks_that_it_lacked(tmp_path: Path) -> None:
    whole = json.loads(asked(tmp_path, "whole", "mlogiqa_mcq").read_text(encoding="utf-8"))
    members = whole["group_subtasks"]["mlogiqa_mcq"]
    first = asked(tmp_path, "a", ",".join(members[:4]))
    second = asked(tmp_path, "b", ",".join(members[4:]))
    found = merged(tmp_path, first, second)
    assert found["groups"] == whole["groups"]
    assert found["group_details"] == whole["group_details"]


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ({}, {"limit": 5}, "documents: 18 → 5"),
        ({}, {"system_instruction": "Be brief."}, "system_instruction: None → Be brief."),
        ({}, {"profile": "jp-stable"}, "profile: tenbin → jp-stable"),
        ({}, {"encoding": "separate"}, "encoding"),
        ({}, {"model_args": {"max_length": 1024}}, "max_length"),
    ],
)
def test_what_differs_is_listed(
    first: dict[str, Any], second: dict[str, Any], said: str, tmp_path: Path
) -> None:
    runs = [asked(tmp_path, "a", "jnli", **first), asked(tmp_path, "b", "jnli", **second)]
    with pytest.raises(ResultError) as raised:
        tenbin.merge(*runs, output_path=tmp_path / "merged.json")
    assert said in str(raised.value)
    assert not (tmp_path / "merged.json").exists()


def changed(path: Path, change: Any) -> Path:
    """A stored run with another result.json."""
    folder = path.with_suffix(".run")
    for file in (path, folder / "result.json"):
        document = json.loads(file.read_text(encoding="utf-8"))
        change(document)
        file.write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")
    return path


def test_other_data_other_engines_and_stopped_runs_are_refused(tmp_path: Path) -> None:
    first = asked(tmp_path, "a", "jnli-1.3-0.2")

    def other_data(document: Any) -> None:
        document["data"]["jnli-1.3-0.3"]["validation"][0]["sha256"] = "f" * 64

    def other_engine(document: Any) -> None:
        document["answered_by"][0]["engine"]["mode"] = "another"

    def stopped(document: Any) -> None:
        document["partial"] = True
        document["n-samples"]["jnli-1.3-0.3"]["asked"] = 40

    for name, change, said in (
        ("data", other_data, "other data in the split validation"),
        ("engine", other_engine, "another engine: engine.mode: 'script', elsewhere 'another'"),
        ("stopped", stopped, "was stopped before its end"),
    ):
        second = changed(asked(tmp_path, name, "jnli-1.3-0.3"), change)
        with pytest.raises(ResultError, match=said):
            tenbin.merge(first, second, output_path=tmp_path / "merged.json")


def test_other_outcomes_of_one_cell_are_refused(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    first = asked(tmp_path, "a", "jnli")
    second = asked(tmp_path, "b", "jnli,mlogiqa_mcq_ja")
    file = second.with_suffix(".run") / "samples.parquet"
    table = pq.read_table(file)
    rows = table.to_pylist()
    rows[0]["outcomes"][0]["value"] = 1.0 - rows[0]["outcomes"][0]["value"]
    pq.write_table(pa.Table.from_pylist(rows, table.schema), file)
    changed(second, lambda document: document.pop("samples"))
    with pytest.raises(ResultError, match="other outcomes than in"):
        tenbin.merge(first, second, output_path=tmp_path / "merged.json")


def test_the_merged_run_opens_everywhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = asked(tmp_path, "a", "mlogiqa_mcq_ja,jnli")
    second = asked(tmp_path, "b", "mlogiqa_mcq_en,mlogiqa_mcq_fr")
    place, page = str(tmp_path / "merged.json"), str(tmp_path / "report.html")
    assert main(["merge", str(first), str(second), "-o", place]) == 0
    assert "merged.run/result.json" in capsys.readouterr().out
    for given in (
        ["report", place, "-o", page],
        ["compare", place, str(first)],
        ["export", place, "--to", "csv"],
        ["leaderboard", place, str(first)],
        ["consistency", place],
    ):
        assert main(given) == 0, given
    said = capsys.readouterr().out
    assert "mlogiqa_mcq" in said


def test_a_place_that_holds_another_run_stays(tmp_path: Path) -> None:
    runs = [asked(tmp_path, name, task) for name, task in (("a", "jnli"), ("b", "jcommonsenseqa"))]
    before = runs[0].read_bytes()
    with pytest.raises(ConfigError, match="holds another run"):
        tenbin.merge(*runs, output_path=runs[0])
    assert runs[0].read_bytes() == before
    with pytest.raises(ConfigError, match="nothing to merge"):
        tenbin.merge(runs[0], output_path=tmp_path / "m.json")
    with pytest.raises(ConfigError, match="named twice"):
        tenbin.merge(*runs, runs[0], output_path=tmp_path / "m.json")


def test_a_folder_of_tasks_that_moved_is_named_anew(tmp_path: Path) -> None:
    tasks = tmp_path / "tasks"
    tasks.mkdir()
    for name in ("one", "two"):
        (tasks / f"{name}.yaml").write_text(
            f"task: {name}\noutput_type: multiple_choice\n"
            f"dataset_path: json\ndataset_kwargs: {{data_files: {{test: {name}.jsonl}}}}\n"
            "test_split: test\ndoc_to_text: '{{q}}'\ndoc_to_choice: ['はい', 'いいえ']\n"
            "doc_to_target: a\n"
            "metric_list: [{metric: acc}]\n",
            encoding="utf-8",
        )
        (tasks / f"{name}.jsonl").write_text('{"q": "?", "a": 0}\n' * 3, encoding="utf-8")
    runs = [
        asked(tmp_path, n, n, include_path=str(tasks), sample_data=False) for n in ("one", "two")
    ]
    moved = shutil.move(tasks, tmp_path / "elsewhere")
    with pytest.raises(ResultError, match="--include_path"):
        tenbin.merge(*runs, output_path=tmp_path / "m.json")
    found = tenbin.merge(*runs, output_path=tmp_path / "m.json", include_path=str(moved))
    assert len(found.result.configs) == 2
