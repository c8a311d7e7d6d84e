"""What trackers are told: every number, and no folder of the machine."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tenbin.report.tracking.content import tracked_result, without_folders
from tenbin.report.tracking.samples import sample_tables
from tenbin.results.schema import Sample, SampleOutcome
from tests.report.export.made_runs import ACC, data_file, run

PRIVATE = {
    "seed": 1234,
    "model": "hf",
    "model_args": {"pretrained": "/home/me/models/mine", "base_url": "http://inner.host/v1"},
    "data_dir": "/home/me/data",
    "cache_dir": "/home/me/cache",
    "include_path": ["/home/me/tasks"],
    "tasks": ["/home/me/tasks/own.yaml", "jnli"],
    "num_fewshot": [3],
}


def no_samples() -> Iterator[Sample]:
    return iter(())


def test_folders_have_their_last_name_only() -> None:
    file = data_file(path="/home/me/data/valid.json")
    made = run(
        "/home/me/models/mine", {"a": ACC}, config=PRIVATE, data={"a": {"validation": [file]}},
        model={"model": "/home/me/models/mine", "revision": None, "tokenizer": "/home/me/t"},
    )  # fmt: skip
    found = tracked_result(made.result, no_samples, None)
    written = json.dumps(
        [dict(found.run.settings), found.table, found.result.to_json(), found.run.model]
    )
    assert "/home" not in written and "inner.host" not in json.dumps(dict(found.run.settings))
    assert found.run.settings["model_args.pretrained"] == "mine"
    assert found.run.settings["tasks"] == "own.yaml,jnli"
    assert found.run.settings["num_fewshot"] == "3"
    assert "data_dir" not in found.run.settings


def test_nothing_else_of_a_result_changes() -> None:
    made = run("org/model", {"a": ACC}).result
    assert without_folders(made) == made


def test_scores_that_are_missing_are_left_out() -> None:
    made = run("m", {"a": {"acc": (None, None, None)}}).result
    found = tracked_result(made, no_samples, None).scores
    assert not any(name.endswith("/acc") for name in found)
    assert any(name.endswith("/acc_n") for name in found)


def sample(id: str, number: int) -> Sample:
    return Sample(
        id=id, task=id, version="1", template="d", language="ja", shots=0, seed=1,
        document=f"d{number}", prompt=f"p{number}",
        outcomes=[SampleOutcome("acc", float(number % 2), "yes")],
    )  # fmt: skip


def test_tables_are_bounded_task_by_task() -> None:
    rows = [sample(id, number) for id in ("a", "b") for number in range(7)]
    first, second = sample_tables(rows, 3)
    assert (first.id, second.id) == ("a", "b")
    assert [row[0] for row in second.rows] == ["d0", "d1", "d2"]
    assert first.columns[-1] == "acc" and [row[-1] for row in first.rows] == [0.0, 1.0, 0.0]
    assert list(sample_tables(rows, 0)) == []
