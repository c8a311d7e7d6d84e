"""Stored runs compared: what is paired, what is refused and why, what comes out."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pandas
import pytest

import tenbin
from tenbin.backends.scripted import ScriptedBackend
from tenbin.errors import ConfigError, ResultError
from tenbin.results.read import parse_result
from tests.conftest import ROOT

TASKS = "jnli-1.3-0.2,jsquad-1.1-0.3,mlogiqa_mcq_ja"
SAMPLES = ROOT / "src" / "tenbin" / "catalog" / "sample_data"

pytestmark = pytest.mark.usefixtures("cache")


def evaluate(backend: ScriptedBackend | None = None, **options: Any) -> tenbin.Run:
    given = {"tasks": TASKS, "num_fewshot": 2, "sample_data": True, **options}
    return tenbin.evaluate(backend or ScriptedBackend(), **given)


def shortest() -> ScriptedBackend:
    """Another model: it likes short answers."""
    return ScriptedBackend(score=lambda prompt, text: -float(len(text)), fingerprint="short")


def test_two_models_on_every_cell_they_share() -> None:
    first, second = evaluate(), evaluate(shortest())
    rows = tenbin.compare(first, second).table()
    assert [(row["id"], row["metric"]) for row in rows] == [
        ("jnli-1.3-0.2", "acc"),
        ("jsquad-1.1-0.3", "exact_match"),
        ("mlogiqa_mcq_ja", "acc"),
    ]
    accuracy = rows[0]
    values = [run.scores["jnli-1.3-0.2"]["acc"] for run in (first, second)]
    assert (accuracy["baseline"], accuracy["other"]) == pytest.approx(values)
    assert accuracy["difference"] == pytest.approx(values[1] - values[0])
    assert accuracy["n"] == accuracy["wins"] + accuracy["losses"] + accuracy["ties"] == 18
    assert accuracy["low"] <= accuracy["difference"] <= accuracy["high"]
    assert all(row["p_holm"] >= row["p_value"] for row in rows)
    assert pandas.DataFrame(rows).shape[0] == 3


def test_paragraphs_are_clusters() -> None:
    rows = tenbin.compare(evaluate(), evaluate(shortest()), metrics=["all"]).table()
    by_metric = {(row["id"], row["metric"]): row for row in rows}
    assert by_metric["jsquad-1.1-0.3", "exact_match"]["clusters"] == 6
    assert by_metric["jsquad-1.1-0.3", "exact_match"]["test"] == "sign-flip, exact"
    assert by_metric["jnli-1.3-0.2", "acc"]["test"] == "mcnemar, exact"
    assert by_metric["jnli-1.3-0.2", "mcc"]["test"].startswith("swap")
    assert by_metric["jnli-1.3-0.2", "mcc"]["interval_method"] == "bca"


def test_changed_documents_come_with_both_answers() -> None:
    first, second = evaluate(tasks="jnli-1.3-0.2"), evaluate(shortest(), tasks="jnli-1.3-0.2")
    (row,) = tenbin.compare(first, second).document["comparisons"]
    assert len(row["changes"]) == row["wins"] + row["losses"] > 0
    answers = [{s["document"]: s["outcomes"][0] for s in run.samples} for run in (first, second)]
    for change in row["changes"]:
        for side, own in zip(("baseline", "other"), answers, strict=True):
            found = own[change["document"]]
            assert change[side] == {"value": found["value"], "answer": found["answer"]}
        assert change["better"] == (change["other"]["value"] == 1)


def test_two_templates_of_one_run() -> None:
    run = evaluate(tasks="jnli-1.3-0.2,jnli-1.3-0.3,jnli-1.3-0.4")
    ids = ["jnli-1.3-0.2", "jnli-1.3-0.3", "jnli-1.3-0.4"]
    rows = tenbin.compare(run, cells=ids).table()
    assert [(row["id"], row["other_id"]) for row in rows] == [(ids[0], ids[1]), (ids[0], ids[2])]
    (back,) = run.compare(run, cells={ids[0]: ids[1]})
    assert back["difference"] == pytest.approx(-rows[0]["difference"])
    with pytest.raises(ConfigError, match="nothing to compare"):
        tenbin.compare(run)


def test_ids_that_differ_are_mapped() -> None:
    first, second = evaluate(tasks="jnli-1.3-0.2"), evaluate(tasks="jnli-1.3-0.3")
    with pytest.raises(ResultError, match="no task id in common"):
        tenbin.compare(first, second)
    (row,) = tenbin.compare(first, second, mapping={"jnli-1.3-0.2": "jnli-1.3-0.3"}).table()
    assert row["n"] == 18
    with pytest.raises(ResultError, match=r"no task 'jnli-1\.3-0\.9'"):
        tenbin.compare(first, second, mapping={"jnli-1.3-0.2": "jnli-1.3-0.9"})


def test_several_runs_against_the_first_or_all_against_all() -> None:
    runs = [evaluate(), evaluate(shortest()), evaluate(limit=4)]
    some = tenbin.compare(*runs, cells=["jnli-1.3-0.2"]).table()
    assert [(row["run"], row["other_run"]) for row in some] == [(0, 1), (0, 2)]
    every = tenbin.compare(*runs, all_pairs=True).table()
    assert {(row["run"], row["other_run"]) for row in every} == {(0, 1), (0, 2), (1, 2)}
    assert len(every) == 9


def test_a_limit_is_no_reason_to_refuse() -> None:
    (row, *_) = tenbin.compare(evaluate(), evaluate(limit=5)).document["comparisons"]
    assert row["n"] == 5 and row["left_out"] == {"baseline": 13, "other": 0}
    assert row["differences"] == []


def copy_of_samples(folder: Path) -> Path:
    shutil.copytree(SAMPLES, folder)
    return folder


def test_other_data_is_refused(tmp_path: Path) -> None:
    folder = copy_of_samples(tmp_path / "data")
    before = evaluate(sample_data=False, data_dir=str(folder))
    rows = folder / "jglue_v1.1" / "jnli" / "validation.jsonl"
    lines = rows.read_text(encoding="utf-8").splitlines()
    first = json.loads(lines[0])
    labels = ["entailment", "contradiction", "neutral"]
    first["label"] = (
        (first["label"] + 1) % 3
        if isinstance(first["label"], int)
        else labels[(labels.index(first["label"]) + 1) % 3]
    )
    lines[0] = json.dumps(first, ensure_ascii=False)
    rows.write_text("\n".join(lines) + "\n", encoding="utf-8")
    after = evaluate(sample_data=False, data_dir=str(folder))
    with pytest.raises(ResultError) as refused:
        tenbin.compare(before, after)
    message = str(refused.value)
    assert "not comparable" in message and "jnli-1.3-0.2" in message
    assert "sha256" in message and "1 shared documents have another right answer" in message
    assert "jsquad" not in message, "only what differs is named"
    assert "--allow data" in message
    rows_found = tenbin.compare(before, after, allow=["data"]).document["comparisons"]
    assert [one["kind"] for one in rows_found[0]["differences"]] == ["data", "data"]
    assert rows_found[1]["differences"] == []
    # What is comparable can be named.
    assert tenbin.compare(before, after, cells=["jsquad-1.1-0.3"]).table()[0]["n"] == 18


def test_other_examples_data_is_refused(tmp_path: Path) -> None:
    folder = copy_of_samples(tmp_path / "data")
    options = {"tasks": "jnli-1.3-0.2", "sample_data": False, "data_dir": str(folder)}
    before, before_bare = evaluate(**options), evaluate(num_fewshot=0, **options)
    pool = folder / "jglue_v1.1" / "jnli" / "train.jsonl"
    lines = pool.read_text(encoding="utf-8").splitlines()
    pool.write_text("\n".join(reversed(lines)) + "\n", encoding="utf-8")
    with pytest.raises(ResultError, match=r"data: examples: .*train\.jsonl"):
        tenbin.compare(before, evaluate(**options))
    assert tenbin.compare(before_bare, evaluate(num_fewshot=0, **options)).table()


@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        ({"num_fewshot": 3}, "shots", "2 here, 3 there"),
        ({"seed": 7}, "seed", "examples sampled with 1234 here, 7 there"),
        ({"apply_chat_template": True}, "prompts", "apply_chat_template False here, True there"),
        ({"fewshot": "fixed"}, "prompts", "fewshot 'random' here, 'fixed' there"),
    ],
)
def test_what_differs_is_said(options: dict[str, Any], kind: str, words: str) -> None:
    first, second = evaluate(tasks="jnli-1.3-0.2"), evaluate(tasks="jnli-1.3-0.2", **options)
    with pytest.raises(ResultError) as refused:
        tenbin.compare(first, second)
    assert f"{kind}: " in str(refused.value) and words in str(refused.value)
    (row,) = tenbin.compare(first, second, allow=[kind]).document["comparisons"]
    assert [one["kind"] for one in row["differences"]] == [kind]


def test_other_decoding_is_said_and_more_draws_are_no_difference() -> None:
    warm = {"tasks": "jsquad-1.1-0.3", "gen_kwargs": "temperature=0.7,top_p=0.9"}
    greedy, drawn = evaluate(tasks="jsquad-1.1-0.3"), evaluate(**warm, repeats=2)
    with pytest.raises(ResultError) as refused:
        tenbin.compare(greedy, drawn)
    words = "decoding: greedy here, sampled with temperature 0.7, top_p 0.9, top_k 0 there"
    assert words in str(refused.value)
    assert tenbin.compare(greedy, drawn, allow=["decoding"]).table()
    assert tenbin.compare(drawn, evaluate(**warm, repeats=3)).table()


def test_a_window_that_drops_examples_is_another_prompt() -> None:
    options = {"tasks": "jcommonsenseqa-1.1-0.3", "num_fewshot": 8}
    narrow = ScriptedBackend(max_length=500, fingerprint="narrow")
    with pytest.raises(ResultError, match=r"prompts: .*examples left out to fit the window here"):
        tenbin.compare(evaluate(narrow, **options), evaluate(**options))


def test_another_profile_is_refused() -> None:
    first = evaluate(tasks="jnli-1.3-0.2", num_fewshot=0)
    second = evaluate(tasks="jnli-1.3-0.2", num_fewshot=0, profile="jp-stable")
    with pytest.raises(ResultError, match="profile: tenbin here, jp-stable there"):
        tenbin.compare(first, second)


def test_without_examples_the_seed_does_not_matter() -> None:
    first = evaluate(tasks="jnli-1.3-0.2", num_fewshot=0)
    second = evaluate(tasks="jnli-1.3-0.2", num_fewshot=0, seed=9)
    assert tenbin.compare(first, second).table()[0]["difference"] == 0


def test_another_language_is_other_data() -> None:
    run = evaluate(tasks="mlogiqa_mcq_ja,mlogiqa_mcq_en", num_fewshot=0)
    with pytest.raises(ResultError, match="data: mlogiqa ja here, mlogiqa en there"):
        tenbin.compare(run, cells=["mlogiqa_mcq_ja", "mlogiqa_mcq_en"])


def test_failed_documents_are_left_out_and_counted() -> None:
    asked = ScriptedBackend()
    first = evaluate(asked, tasks="jnli-1.3-0.2", no_cache=True)
    failures = {request.key: "no answer" for request in asked.asked[:3]}
    second = evaluate(ScriptedBackend(failures=failures), tasks="jnli-1.3-0.2", no_cache=True)
    (row,) = tenbin.compare(first, second).document["comparisons"]
    assert (row["n"], row["difference"]) == (15, 0)
    assert row["left_out"] == {"baseline": 3, "other": 3}


def test_a_task_of_which_every_document_failed_is_named() -> None:
    asked = ScriptedBackend()
    tasks = "jnli-1.3-0.2,mlogiqa_mcq_ja"
    evaluate(asked, tasks="jnli-1.3-0.2", no_cache=True)
    failures = {request.key: "no answer" for request in asked.asked}
    first = evaluate(tasks=tasks, no_cache=True)
    second = evaluate(ScriptedBackend(failures=failures), tasks=tasks, no_cache=True)
    with pytest.raises(ResultError, match=r"jnli-1.3-0.2: acc: all 18 documents failed") as caught:
        tenbin.compare(first, second)
    assert "--cells" in caught.value.hint
    assert len(tenbin.compare(first, second, cells=["mlogiqa_mcq_ja"]).table()) == 1


def test_metrics_and_kinds_that_do_not_exist() -> None:
    first, second = evaluate(), evaluate(shortest())
    with pytest.raises(ResultError, match="no metric 'bleu'"):
        tenbin.compare(first, second, metrics=["bleu"])
    with pytest.raises(ConfigError, match="--allow colour"):
        tenbin.compare(first, second, allow=["colour"])
    run = evaluate(tasks="mlogiqa_mcq_ja,mlogiqa_gen_ja", num_fewshot=0)
    with pytest.raises(ResultError, match="no metric in common"):
        tenbin.compare(run, cells=["mlogiqa_mcq_ja", "mlogiqa_gen_ja"])


def test_runs_of_schema_version_1_can_be_compared() -> None:
    first, second = evaluate(), evaluate(shortest())
    old = json.loads(json.dumps(first.document))
    for details in old["details"].values():
        for metric, detail in details.items():
            if metric == "balanced_acc":
                # As that version wrote it: by this the aggregation is recognised.
                detail["stderr_method"] = "bootstrap"
            for name in ("aggregation", "low", "high", "clusters", "detectable"):
                detail.pop(name)
    migrated = parse_result({**old, "schema_version": 1}, Path("result.json"))
    there = tenbin.compare(tenbin.Run(migrated, first.samples), second, metrics=["all"]).table()
    assert there == tenbin.compare(first, second, metrics=["all"]).table()
