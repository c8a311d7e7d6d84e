"""Drawn answers through the whole pipeline: asked, kept, judged, recorded, shown."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

import polars
import pytest

import tenbin
from tenbin.backends.scripted import ScriptedBackend
from tenbin.cli import main
from tenbin.errors import BackendError, ConfigError, TaskError, TenbinError

pytestmark = pytest.mark.usefixtures("cache")

WARM = {"gen_kwargs": "temperature=0.8,top_p=0.95", "repeats": 4}


def evaluate(backend: ScriptedBackend | None = None, **options: Any) -> tenbin.Run:
    given = {"tasks": ["mlogiqa_gen_ja"], "sample_data": True, "limit": 5, **options}
    return tenbin.evaluate(backend or ScriptedBackend(), **given)


def letters(run: tenbin.Run) -> dict[str, list[str]]:
    """Four answers to each prompt: 4, 3, 2, 1 and 0 of them right, in turn."""
    wrong = {"A": "B", "B": "C", "C": "D", "D": "A"}
    texts = {}
    for number, sample in enumerate(run.samples):
        (gold,) = sample["references"]
        chosen = [gold if at >= number else wrong[gold] for at in range(4)]
        texts[sample["prompt"]] = [f"{{'answer': '{letter}'}}" for letter in chosen]
    return texts


def test_a_score_is_the_mean_over_draws_and_its_error_is_over_documents() -> None:
    texts = letters(evaluate())
    run = evaluate(ScriptedBackend(texts=texts), **WARM, no_cache=True)
    means = [1.0, 0.75, 0.5, 0.25, 0.0]
    entries = run.document["results"]["mlogiqa_gen_ja"]
    assert entries["exact_match,strict-match"] == pytest.approx(0.5)
    error = entries["exact_match_stderr,strict-match"]
    assert error == pytest.approx(statistics.stdev(means) / 5**0.5)
    assert run.document["details"]["mlogiqa_gen_ja"]["exact_match,strict-match"]["n"] == 5
    for sample, mean in zip(run.samples, means, strict=True):
        (outcome,) = [o for o in sample["outcomes"] if o["metric"] == "exact_match,strict-match"]
        assert outcome["value"] == mean == sum(outcome["values"]) / 4
        assert [drawn["text"] for drawn in sample["samples"]] == texts[sample["prompt"]]
        assert sample["generated"] == texts[sample["prompt"]][0]


def test_results_record_how_answers_were_drawn(tmp_path: Path) -> None:
    path = tmp_path / "drawn.json"
    run = evaluate(tasks=["mlogiqa_gen_ja", "jnli"], **WARM, seed=7, output_path=str(path))
    config = run.document["configs"]["mlogiqa_gen_ja"]
    wanted = {"do_sample": True, "temperature": 0.8, "top_p": 0.95, "top_k": 0, "repeats": 4}
    assert {key: config[key] for key in wanted} == wanted and config["seed"] == 7
    choice = run.document["configs"]["jnli-1.3-0.2"]
    assert {choice[key] for key in wanted} == {None}
    table = polars.read_parquet(tmp_path / "drawn.run" / "samples.parquet")
    drawn = table.filter(polars.col("task") == "mlogiqa_gen_ja")
    assert drawn["samples"].list.len().to_list() == [4] * 5
    thoughts = {"thinking", "thinking_tokens", "thinking_end"}
    assert drawn["samples"][0][0].keys() == {"text", "finish", "tokens", *thoughts}
    assert table.filter(polars.col("task") == "jnli")["samples"].is_null().all()
    again = tenbin.load_run(path)
    assert list(again.samples) == list(run.samples)
    greedy = evaluate(no_cache=True)
    assert greedy.document["configs"]["mlogiqa_gen_ja"]["do_sample"] is False
    assert {sample["samples"] for sample in greedy.samples} == {None}


def test_the_run_file_repeats_the_run(tmp_path: Path) -> None:
    path = tmp_path / "drawn.json"
    first = evaluate(**WARM, output_path=str(path))
    other = tmp_path / "again.json"
    again = ["run", "--config", str(tmp_path / "drawn.run" / "run.yaml"), "--model", "scripted"]
    assert main([*again, "--no_cache", "--output_path", str(other)]) == 0
    assert json.loads(other.read_text())["results"] == first.document["results"]
    assert list(tenbin.load_run(other).samples) == list(first.samples)


def test_a_crashed_run_goes_on_and_more_repeats_ask_for_the_rest_alone() -> None:
    with pytest.raises(BackendError, match="the script ends"):
        evaluate(ScriptedBackend(raise_after=7), **WARM)
    evaluate(second := ScriptedBackend(), **WARM)
    assert len(second.asked) == 13
    whole = evaluate(**WARM, no_cache=True)
    assert evaluate(**WARM).samples == whole.samples
    more = ScriptedBackend()
    evaluate(more, gen_kwargs=WARM["gen_kwargs"], repeats=6)
    assert sorted({request.sample for request in more.asked}) == [4, 5]  # type: ignore[union-attr]
    assert len(more.asked) == 10


def test_seeds_and_settings_tell_answers_apart_and_greedy_stays() -> None:
    greedy = evaluate()
    drawn = evaluate(**WARM)
    other = evaluate(**WARM, seed=99)
    texts = [[s["text"] for s in sample["samples"]] for sample in drawn.samples]
    assert len({text for row in texts for text in row}) == 20
    assert texts != [[s["text"] for s in sample["samples"]] for sample in other.samples]
    assert evaluate(again := ScriptedBackend()).samples == greedy.samples
    assert again.asked == [], "greedy answers are in the journal, and the drawn ones beside them"


def test_a_failed_draw_is_a_failed_document() -> None:
    asked = ScriptedBackend()
    evaluate(asked, **WARM, no_cache=True)
    failures = {asked.asked[2].key: "no answer"}
    run = evaluate(ScriptedBackend(failures=failures), **WARM, no_cache=True)
    assert {(row["n"], row["failed"]) for row in run.table()} == {(4, 1)}
    assert run.document["failures"] == {"mlogiqa_gen_ja": {"scripted: no answer": 1}}
    failed = run.samples[0]
    assert failed["failure_kind"] == "scripted" and failed["generated"] is not None
    assert [drawn["text"] is None for drawn in failed["samples"]] == [False, False, True, False]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"repeats": 4}, TaskError, "all 4 repeats of a greedy answer would be the same"),
        ({"repeats": 4, "gen_kwargs": "temperature=0"}, TaskError, "temperature above 0"),
        ({"repeats": 0}, ConfigError, "--repeats takes a whole number above 0"),
        ({"gen_kwargs": "top_p=0.9"}, ConfigError, "mlogiqa_gen_ja: top_p=0.9 has no effect"),
        ({"gen_kwargs": "temperature=warm"}, ConfigError, "a number as temperature"),
        ({"gen_kwargs": "temperature=-1"}, ConfigError, "0 or more as temperature"),
        ({"gen_kwargs": "top_p=0,temperature=1"}, ConfigError, "above 0, up to 1 as top_p"),
        ({"gen_kwargs": "top_k=1.5,temperature=1"}, ConfigError, "a whole number as top_k"),
        ({"gen_kwargs": "max_gen_toks=0"}, ConfigError, "above 0 as max_gen_toks"),
        ({"gen_kwargs": "temprature=1"}, ConfigError, "did you mean temperature?"),
        ({"gen_kwargs": "until=x"}, ConfigError, "(no until)"),
        ({"gen_kwargs": "temperature"}, ConfigError, "name=value pairs"),
        ({"tasks": ["jnli"], **WARM}, ConfigError, "no chosen task generates text"),
        ({"tasks": ["jnli"], "repeats": 1}, ConfigError, "--repeats changes nothing"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_asked(
    options: dict[str, Any], error: type[TenbinError], message: str
) -> None:
    backend = ScriptedBackend()
    with pytest.raises(error) as caught:
        evaluate(backend, **options)
    assert message in str(caught.value)
    assert backend.asked == []


def test_a_limit_alone_stays_greedy() -> None:
    run = evaluate(gen_kwargs={"max_gen_toks": 3}, no_cache=True)
    assert {sample["max_gen_toks"] for sample in run.samples} == {3}
    assert {sample["finish"] for sample in run.samples} == {"length"}
    assert run.document["configs"]["mlogiqa_gen_ja"]["do_sample"] is False


def test_the_terminal_says_how_answers_were_sampled(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    command = ["run", "--model", "scripted", "--tasks", "mlogiqa_gen_ja,jsquad", "--sample_data"]
    drawn = ["--gen_kwargs", "temperature=0.8,top_k=40", "--repeats", "4", "--limit", "2"]
    assert main([*command, *drawn, "--output_path", str(tmp_path)]) == 0
    assert (
        "sampling: mlogiqa_gen_ja, jsquad-1.2-0.2: 4 answers per document, "
        "temperature 0.8, top_k 40, seed 1234; values are means over them"
    ) in capsys.readouterr().out
    assert main([*command, "--limit", "2", "--output_path", str(tmp_path)]) == 0
    assert "sampling" not in capsys.readouterr().out
