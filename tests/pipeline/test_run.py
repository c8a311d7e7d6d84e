"""The whole pipeline on sample data with scripted answers: exact, resumable, honest."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pandas
import polars
import pytest

import tenbin
from tenbin.backends.scripted import ScriptedBackend
from tenbin.config import build_config
from tenbin.errors import BackendError, ConfigError, DataError, JournalError
from tenbin.pipeline.progress import Listener
from tenbin.pipeline.run import execute
from tenbin.records import Failure

ALL = "jcommonsenseqa-1.1-0.3,jnli-1.3-0.2,marc_ja-1.1-0.3,jsquad-1.1-0.3,jaquad-0.1-0.3"

pytestmark = pytest.mark.usefixtures("cache")


class Heard(Listener):
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.messages: list[str] = []
        self.asked = 0

    def message(self, text: str) -> None:
        self.messages.append(text)

    def start(self, total: int, work: float) -> None:
        self.asked = total


def evaluate(backend: ScriptedBackend | None = None, **options: object) -> tenbin.Run:
    given = {"tasks": ALL.split(","), "num_fewshot": 2, "sample_data": True, **options}
    return tenbin.evaluate(backend or ScriptedBackend(), **given)


def comparable(run: tenbin.Run) -> dict:
    document = json.loads(json.dumps(run.document))
    times = ("date", "total_evaluation_time_seconds", "timing")
    for key in (*times, "answers_from_journal", "git_hash"):
        document.pop(key)
    return document


def test_scores_of_every_task() -> None:
    run = evaluate(limit=6)
    assert list(run.scores) == ALL.split(",")
    assert list(run.scores["jnli-1.3-0.2"]) == [
        "acc",
        "acc_norm",
        "balanced_acc",
        "mcc",
        "macro_f1",
    ]
    assert list(run.scores["jsquad-1.1-0.3"]) == ["exact_match", "f1"]
    for row in run.table():
        assert row["n"] == 6 and row["failed"] == 0 and row["value"] is not None


def test_accuracy_is_what_the_log_likelihoods_say() -> None:
    run = evaluate(tasks=["jcommonsenseqa-1.1-0.1"], no_cache=True)
    right = [
        sample["logprobs"].index(max(sample["logprobs"])) == sample["gold"]
        for sample in run.samples
    ]
    assert len(right) == 20
    assert run.scores["jcommonsenseqa-1.1-0.1"]["acc"] == pytest.approx(sum(right) / 20)


def test_a_perfect_model_scores_full_marks() -> None:
    oracle = {s["prompt"]: (s["target"], s["continuations"]) for s in evaluate().samples}

    def score(prompt: str, continuation: str) -> float:
        return 0.0 if continuation == oracle[prompt][0] else -9.0

    perfect = ScriptedBackend(
        score=score, texts=lambda prompt: oracle[prompt][0] + "\n続き", fingerprint="perfect"
    )
    for row in evaluate(perfect).table():
        full = 100 if row["metric"] in ("exact_match", "f1") else 1
        assert row["value"] == pytest.approx(full), row


def test_groups_and_filters() -> None:
    def answer(prompt: str) -> str:
        return "{'answer': 'C'}" if "Passage" in prompt else "No idea"

    run = evaluate(
        ScriptedBackend(texts=answer), tasks=["mlogiqa_mcq", "mlogiqa_gen"], num_fewshot=0
    )
    assert run.document["group_subtasks"]["mlogiqa_gen"][0] == "mlogiqa_gen_ar"
    group = run.groups["mlogiqa_gen"]
    assert group["exact_match,strict-match"] == pytest.approx(3 / 12), "3 of 12 golds are C"
    assert group["format_failure,flexible-extract"] == 0
    entries = run.document["results"]["mlogiqa_gen_ja"]
    assert "exact_match_stderr,strict-match" in entries
    assert run.document["group_details"]["mlogiqa_mcq"]["acc"]["n"] == 120


def test_result_document_is_in_the_usual_shape(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    evaluate(limit=3, output_path=str(path))
    document = json.loads(path.read_text(encoding="utf-8"))
    cell = "jnli-1.3-0.2"
    assert document["results"][cell]["acc_stderr"] is not None
    assert document["versions"][cell] == "1.3"
    assert document["n-samples"][cell] == {"original": 18, "effective": 3}
    assert document["n-shot"][cell] == 2
    assert document["config"]["sample_data"] is True
    assert document["profile"] == "tenbin"
    assert document["engine"]["name"] == "scripted"
    files = document["data"][cell]
    assert files["validation"][0]["source"] == "sample_data"
    assert len(files["train"][0]["sha256"]) == 64
    assert len(document["prompts"][cell]["prompts_hash"]) == 32
    assert {"numpy", "python"} <= set(document["libraries"])


def test_samples_open_in_pandas_polars_and_duckdb(tmp_path: Path) -> None:
    evaluate(limit=3, output_path=str(tmp_path / "result.json"))
    path = str(tmp_path / "result.run" / "samples.parquet")
    assert len(pandas.read_parquet(path)) == 15
    assert polars.read_parquet(path).filter(polars.col("task") == "jnli")["logprobs"].len() == 3
    query = f"SELECT count(*), sum(len(outcomes)) FROM '{path}' WHERE task = 'jnli'"
    assert duckdb.sql(query).fetchall() == [(3, 15)]


def test_a_stored_run_reads_back_whole(tmp_path: Path) -> None:
    fresh = evaluate(limit=4, output_path=str(tmp_path / "result.json"))
    for place in ("result.json", "result.run", "result.run/result.json"):
        stored = tenbin.load_run(tmp_path / place)
        assert stored.scores == fresh.scores
        assert json.loads(json.dumps(list(stored.samples))) == json.loads(
            json.dumps(list(fresh.samples))
        )


def test_a_folder_as_output_path_gets_a_folder_a_run(tmp_path: Path) -> None:
    run = evaluate(limit=1, output_path=str(tmp_path / "runs"))
    assert run.path is not None and run.path.parent == tmp_path / "runs"
    assert {p.name for p in run.path.iterdir()} == {"result.json", "samples.parquet", "run.yaml"}


def test_order_of_tasks_and_limit_do_not_change_a_document() -> None:
    whole = {(s["id"], s["document"]): s for s in evaluate(no_cache=True).samples}
    backwards = evaluate(tasks=list(reversed(ALL.split(","))), limit=5, no_cache=True)
    for sample in backwards.samples:
        assert sample == whole[sample["id"], sample["document"]]


def test_a_crashed_run_goes_on_where_it_stopped() -> None:
    with pytest.raises(BackendError, match="the script ends"):
        evaluate(ScriptedBackend(raise_after=30))
    second, heard = ScriptedBackend(), Heard()
    run = evaluate(second, listener=heard)
    assert any("30 of" in message and "going on" in message for message in heard.messages)
    assert len(second.asked) == heard.asked == len({r.key for r in second.asked})
    assert run.document["answers_from_journal"] == 30
    untouched = evaluate(no_cache=True)
    assert comparable(run)["results"] == comparable(untouched)["results"]
    assert run.samples == untouched.samples


def test_a_repeated_run_asks_nothing() -> None:
    evaluate()
    again = ScriptedBackend(raise_after=0)
    assert evaluate(again).scores == evaluate(no_cache=True).scores
    assert again.asked == []


def test_no_cache_asks_again_and_leaves_no_journal(cache: Path) -> None:
    evaluate(no_cache=True)
    assert not (cache / "journal").exists()


def test_another_model_does_not_see_these_answers() -> None:
    evaluate()
    other = ScriptedBackend(fingerprint="another")
    evaluate(other)
    assert other.asked


def test_failures_are_counted_and_never_scored() -> None:
    asked = ScriptedBackend()
    evaluate(asked, tasks=["jnli-1.3-0.2"], no_cache=True)
    failures = {request.key: "no answer" for request in asked.asked[:5]}
    run = evaluate(ScriptedBackend(failures=failures), tasks=["jnli-1.3-0.2"])
    for row in run.table():
        assert (row["n"], row["failed"]) == (13, 5)
    assert run.document["failures"] == {"jnli-1.3-0.2": {"scripted: no answer": 5}}
    failed = [sample for sample in run.samples if sample["failure_kind"]]
    assert len(failed) == 5
    assert all(o["value"] is None for sample in failed for o in sample["outcomes"])
    evaluate(again := ScriptedBackend(), tasks=["jnli-1.3-0.2"])
    assert len(again.asked) == 5, "a rerun asks what failed, and nothing else"


def test_log_probabilities_that_are_not_finite_are_failures() -> None:
    """Some documents overflow: none of their answers is scored or written down."""
    tasks = ["jnli-1.3-0.2", "mlogiqa_gen_ja", "plain_text_ja"]
    run = evaluate(ScriptedBackend(not_finite="山"), tasks=tasks, num_fewshot=0)
    for task in tasks:
        samples = [sample for sample in run.samples if sample["id"].startswith(task)]
        failed = [sample for sample in samples if sample["failure_kind"] == "not_finite"]
        assert 0 < len(failed) < len(samples)
        assert all(outcome["value"] is None for s in failed for outcome in s["outcomes"])
        (reason,) = run.document["failures"][task]
        assert reason.startswith("not_finite: ") and "bfloat16" in reason
    evaluate(again := ScriptedBackend(), tasks=tasks, num_fewshot=0)
    failed = [sample for sample in run.samples if sample["failure_kind"]]
    assert len(again.asked) == len(failed), "a rerun asks what failed, and nothing else"


def test_all_failed_is_no_score() -> None:
    class Broken(ScriptedBackend):
        def answer(self, request: object) -> Failure:
            return Failure("broken", "always")

    run = evaluate(Broken(), tasks=["jnli-1.3-0.2"])
    assert {row["value"] for row in run.table()} == {None}


def test_a_backend_that_miscounts_is_caught() -> None:
    class Forgetful(ScriptedBackend):
        def run(self, requests):
            yield from list(super().run(requests))[:-1]

    class Doubling(ScriptedBackend):
        def run(self, requests):
            answers = list(super().run(requests))
            yield from [*answers, answers[0]]

    with pytest.raises(BackendError, match="left 1 of"):
        evaluate(Forgetful(), no_cache=True)
    with pytest.raises(BackendError, match="twice"):
        evaluate(Doubling(), no_cache=True)


def test_pmi_asks_for_the_choices_alone() -> None:
    backend = ScriptedBackend()
    run = evaluate(backend, tasks=["jnli-1.3-0.2"], extra_metrics="acc_pmi,acc_norm_bytes")
    assert {"acc_pmi", "acc_norm_bytes"} <= set(run.scores["jnli-1.3-0.2"])
    assert [r.prompt for r in backend.asked].count("") == 1, "asked once for all documents"
    assert all(sample["unconditional_logprobs"] for sample in run.samples)


def test_extra_metrics_for_some_tasks() -> None:
    run = evaluate(extra_metrics="jnli:acc_norm_tokens", limit=2)
    having = [id for id, scores in run.scores.items() if "acc_norm_tokens" in scores]
    assert having == ["jnli-1.3-0.2"]
    with pytest.raises(ConfigError, match="no chosen task can use it"):
        evaluate(tasks=["jsquad-1.1-0.3"], extra_metrics="acc_pmi")


def test_duplicate_prompts_are_asked_once() -> None:
    backend = ScriptedBackend()
    evaluate(backend, tasks=["jsquad-1.1-0.1", "jsquad-1.2-0.1"], num_fewshot=0)
    assert len(backend.asked) == 18, "0.1 is the same text in both versions"


def test_window_notices() -> None:
    heard = Heard()
    run = evaluate(
        ScriptedBackend(max_length=500),
        tasks=["jcommonsenseqa-1.1-0.3"],
        num_fewshot=8,
        listener=heard,
    )
    dropped = run.document["prompts"]["jcommonsenseqa-1.1-0.3"]["dropped_examples"]
    assert dropped > 0
    assert any("examples left out" in warning for warning in run.document["warnings"])
    assert all(len(sample["prompt"]) <= 500 for sample in run.samples)


def test_published_profile_pairs_numbers_with_sorted_names() -> None:
    tasks = ["jsquad-1.1-0.3", "jcommonsenseqa-1.1-0.3"]
    ours = evaluate(tasks=tasks, num_fewshot="2,3", limit=1)
    theirs = evaluate(tasks=tasks, num_fewshot="2,3", limit=1, profile="jp-stable")
    assert ours.document["n-shot"] == {"jsquad-1.1-0.3": 2, "jcommonsenseqa-1.1-0.3": 3}
    assert theirs.document["n-shot"] == {"jsquad-1.1-0.3": 3, "jcommonsenseqa-1.1-0.3": 2}
    assert theirs.document["profile"] == "jp-stable"


def test_published_profile_caps_by_the_references() -> None:
    run = evaluate(tasks=["jsquad-1.1-0.3"], profile="jp-stable")
    for sample in run.samples:
        assert sample["max_gen_toks"] == max(len(text) for text in sample["references"])


def test_one_task_twice_with_different_shots_is_refused() -> None:
    with pytest.raises(ConfigError, match="asked for twice"):
        evaluate(tasks=["jnli-1.3-0.2", "jnli-1.3-*"], num_fewshot="1,2")


def test_bad_rows_stop_a_run_before_the_model_opens(tmp_path: Path) -> None:
    folder = tmp_path / "jglue_v1.1" / "jnli"
    folder.mkdir(parents=True)
    good = '{"sentence_pair_id": "%d", "sentence1": "a", "sentence2": "b", "label": %d}\n'
    (folder / "validation.jsonl").write_text(good % (1, 0) + good % (2, 7), encoding="utf-8")
    config = build_config({"tasks": "jnli", "data_dir": str(tmp_path), "model": "no-such-backend"})
    with pytest.raises(DataError, match=r"validation\.jsonl.*2"):
        execute(config, Listener())


def test_unwritable_output_is_found_first(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(ConfigError, match="cannot be written"):
        evaluate(output_path=str(tmp_path / "taken" / "runs"))


def test_task_files_of_one_format_read_each_their_own_rows(tmp_path: Path) -> None:
    tasks = []
    for name, label in (("first", 0), ("second", 1)):
        rows = tmp_path / f"{name}.jsonl"
        rows.write_text(json.dumps({"q": name, "c": ["x", "y"], "label": label}), encoding="utf-8")
        path = tmp_path / f"{name}.yaml"
        path.write_text(
            f"task: {name}\ndataset_path: json\noutput_type: multiple_choice\n"
            f"dataset_kwargs: {{data_files: {{test: {rows}}}}}\ntest_split: test\n"
            "doc_to_text: q\ndoc_to_choice: c\ndoc_to_target: label\n",
            encoding="utf-8",
        )
        tasks.append(str(path))
    run = evaluate(tasks=tasks, num_fewshot=0, sample_data=False)
    assert [(s["prompt"], s["gold"]) for s in run.samples] == [("first", 0), ("second", 1)]


def test_a_run_that_never_began_leaves_no_folder(tmp_path: Path) -> None:
    """Its journal cannot be opened: a file stands where the folder should be."""
    (tmp_path / "journal").write_text("")
    with pytest.raises(JournalError, match="journal"):
        evaluate(limit=1, cache_dir=str(tmp_path), output_path=str(tmp_path / "out"))
    assert not list((tmp_path / "out").iterdir())
