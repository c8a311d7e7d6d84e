"""Groups of stored runs compared: their means on the paired documents, and what is refused."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

import tenbin
from tenbin.backends.scripted import ScriptedBackend
from tenbin.errors import ConfigError, ResultError

pytestmark = pytest.mark.usefixtures("cache")


def model(name: str) -> ScriptedBackend:
    """A model that prefers choices at random, but always the same ones."""

    def score(prompt: str, text: str) -> float:
        return -float(hashlib.sha256(f"{name}{prompt}{text}".encode()).digest()[0])

    return ScriptedBackend(score=score, fingerprint=name)


def evaluate(name: str, tasks: str, **options: Any) -> tenbin.Run:
    given = {"num_fewshot": 0, "sample_data": True, **options}
    return tenbin.evaluate(model(name), tasks=tasks, **given)


def two_runs(tasks: str, **options: Any) -> tuple[tenbin.Run, tenbin.Run]:
    return evaluate("one", tasks, **options), evaluate("two", tasks, **options)


def test_languages_of_one_benchmark() -> None:
    first, second = two_runs("mlogiqa_mcq")
    (row,) = tenbin.compare(first, second).groups()
    assert (row["id"], row["metric"], row["n"], row["clusters"]) == ("mlogiqa_mcq", "acc", 120, 12)
    for side, run in (("baseline", first), ("other", second)):
        assert row[side] == pytest.approx(run.document["groups"]["mlogiqa_mcq"]["acc"])
    assert row["test"] == "sign-flip, exact" and row["weighting"] == "mean weighted by documents"
    assert row["low"] <= row["difference"] <= row["high"]
    tasks = tenbin.compare(first, second).table()
    assert len(tasks) == 10 and row["wins"] == sum(one["wins"] for one in tasks)
    # Groups are a family of their own.
    assert row["p_holm"] == row["p_value"]


def test_an_average_of_the_catalogue() -> None:
    first, second = two_runs("japanese_nli")
    compared = tenbin.compare(first, second)
    (row,) = compared.groups()
    for side, run in (("baseline", first), ("other", second)):
        assert row[side] == pytest.approx(run.document["groups"]["japanese_nli"]["acc"])
    assert row["weighting"] == "plain mean of its tasks"
    by_size = tenbin.compare(first, second, weighting="size").groups()[0]
    assert by_size["weighting"] == "mean weighted by documents"
    sizes = [(one["n"], one["difference"]) for one in compared.table()]
    mean = sum(n * step for n, step in sizes) / sum(n for n, _ in sizes)
    assert by_size["difference"] == pytest.approx(mean)
    assert by_size["difference"] != pytest.approx(row["difference"])


def test_a_mean_of_means() -> None:
    first, second = two_runs("japanese")
    rows = {row["id"]: row for row in tenbin.compare(first, second).groups()}
    for side, run in (("baseline", first), ("other", second)):
        assert rows["japanese"][side] == pytest.approx(run.document["groups"]["japanese"]["mean"])
    assert rows["japanese"]["test"] == "mover", "small members weigh as much as large ones"
    assert rows["jmmlu"]["clusters"] == 159 and rows["jmmlu"]["test"] == "mcnemar, exact"
    assert rows["jmmlu"]["high"] - rows["jmmlu"]["low"] < 0.3, "53 tasks of 3 rows are one sample"


TASK = """
dataset_path: csv
dataset_kwargs: {{data_files: {{test: {name}.csv}}}}
test_split: test
output_type: multiple_choice
doc_to_text: "{{{{question}}}}"
doc_to_choice: ["yes", "no"]
doc_to_target: "{{{{answer}}}}"
metric_list: [{{metric: acc}}]
"""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Two lm-eval tasks of 30 and 90 rows, in a group by size and in a plain one."""
    for name, count in (("small", 30), ("large", 90)):
        rows = [f"{name} {at},{'yes' if at % 3 else 'no'}" for at in range(count)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["question,answer", *rows]) + "\n")
        (tmp_path / f"{name}.yaml").write_text(f"task: {name}{TASK.format(name=name)}")
    for group, by_size in (("sized", "true"), ("plain", "false")):
        (tmp_path / f"{group}.yaml").write_text(
            f"group: {group}\ntask: [small, large]\n"
            f"aggregate_metric_list: [{{metric: acc, weight_by_size: {by_size}}}]\n"
        )
    return tmp_path


def test_groups_of_lm_eval_files_keep_their_weighting(files: Path) -> None:
    options: dict[str, Any] = {"include_path": str(files), "sample_data": False}
    first, second = two_runs("sized,plain", **options)
    compared = tenbin.compare(first, second)
    rows = {row["id"]: row for row in compared.groups()}
    small, large = (row["difference"] for row in compared.table())
    assert rows["sized"]["difference"] == pytest.approx((30 * small + 90 * large) / 120)
    assert rows["plain"]["difference"] == pytest.approx((small + large) / 2)
    assert rows["plain"]["test"] == "mover" and rows["sized"]["test"] == "mcnemar, exact"
    assert small != large
    both = tenbin.compare(first, second, weighting="plain").groups()
    assert [row["difference"] for row in both] == pytest.approx([(small + large) / 2] * 2)


def test_documents_that_only_one_run_has_take_no_part() -> None:
    first, second = evaluate("one", "mlogiqa_mcq"), evaluate("two", "mlogiqa_mcq", limit=5)
    found = tenbin.compare(first, second).document["groups"][0]
    assert (found["n"], found["left_out"]) == (50, {"baseline": 70, "other": 0})
    assert len(found["members"]) == 10


def test_only_what_is_named() -> None:
    first, second = two_runs("mlogiqa_mcq")
    compared = tenbin.compare(first, second, cells=["mlogiqa_mcq"])
    assert not compared.table() and len(compared.groups()) == 1
    both = tenbin.compare(first, second, cells=["mlogiqa_mcq", "mlogiqa_mcq_ja"])
    assert len(both.table()) == len(both.groups()) == 1
    with pytest.raises(ResultError, match=r"no task 'mlogiqa_m'"):
        tenbin.compare(first, second, cells=["mlogiqa_m"])
    with pytest.raises(ResultError, match="no metric 'bleu'"):
        tenbin.compare(first, second, cells=["mlogiqa_mcq"], metrics=["bleu"])


def test_two_templates_of_a_group_in_one_run() -> None:
    run = evaluate("one", "mlogiqa_mcq,mlogiqa_mcq-1.0-native")
    ids = ["mlogiqa_mcq", "mlogiqa_mcq-1.0-native"]
    (row,) = tenbin.compare(run, cells=ids).groups()
    assert [row["id"], row["other_id"]] == ids and row["n"] == 120
    assert row["other"] == pytest.approx(run.document["groups"][ids[1]]["acc"])


def test_a_group_with_other_members_is_left_out_with_the_reason() -> None:
    first = evaluate("one", "mlogiqa_mcq")
    second = evaluate("two", "mlogiqa_mcq_ja,mlogiqa_mcq_en,mlogiqa_mcq_fr")
    compared = tenbin.compare(first, second)
    assert not compared.groups()
    reasons = compared.document["groups_not_compared"]
    assert reasons == {"mlogiqa_mcq": "10 tasks in one run, 3 in the other"}
    with pytest.raises(ResultError, match="mlogiqa_mcq: cannot be compared: 10 tasks"):
        tenbin.compare(first, second, cells=["mlogiqa_mcq"])


def test_members_that_differ_are_refused_also_where_only_the_group_is_named() -> None:
    first = evaluate("one", "mlogiqa_mcq", num_fewshot=0)
    second = evaluate("two", "mlogiqa_mcq", num_fewshot=1)
    with pytest.raises(ResultError, match="shots: 0 here, 1 there"):
        tenbin.compare(first, second, cells=["mlogiqa_mcq"])
    (row,) = tenbin.compare(first, second, cells=["mlogiqa_mcq"], allow=["shots"]).groups()
    assert row["n"] == 120


def test_requirements_are_judged_for_tasks_and_groups() -> None:
    first, second = two_runs("mlogiqa_mcq")
    for require in ("better", "no-worse-than:1", "within:99"):
        compared = tenbin.compare(first, second, require=require)
        verdicts = [
            row["verdict"] for kind in ("comparisons", "groups") for row in compared.document[kind]
        ]
        assert len(verdicts) == 11
        assert compared.verdict == ("pass" if require == "within:99" else "inconclusive")
    assert tenbin.compare(first, second).verdict is None
    json.dumps(compared.document, allow_nan=False)
    with pytest.raises(ConfigError, match="--require best: unknown"):
        tenbin.compare(first, second, require="best")
