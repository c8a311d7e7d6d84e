"""Answers of stored runs: what counts as an answer, and what does not go together."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest

import tenbin
from tenbin.analysis.consistency.answers import ExaminedSamples, gather, letter, position_of
from tenbin.backends.scripted import ScriptedBackend
from tenbin.errors import ResultError
from tenbin.results.schema import RunResult, Sample

pytestmark = pytest.mark.usefixtures("cache")


def evaluate(tasks: str, **options: Any) -> tenbin.Run:
    backend = options.pop("backend", None) or ScriptedBackend(texts=lambda _: "{'answer': 'C'}")
    return tenbin.evaluate(backend, tasks, sample_data=True, no_cache=True, **options)


def given(run: tenbin.Run, name: str = "run") -> ExaminedSamples:
    samples = [Sample.from_json(row) for row in run.samples]
    return ExaminedSamples(name, RunResult.model_validate(run.document), samples)


def test_sets_differ_in_language_alone() -> None:
    names = [one.id for one in gather([given(evaluate("mlogiqa_mcq,mlogiqa_gen,jnli", limit=2))])]
    assert names == ["mlogiqa_mcq", "mlogiqa_gen"], "jnli has no parallel key"


def test_variants_and_templates_are_sets_of_their_own() -> None:
    run = evaluate("mlogiqa_mcq_en-1.0-*,mlogiqa_mcq_ja-1.0-*,mlogiqa_gen_ja", limit=1)
    sets = {one.id: one for one in gather([given(run)])}
    assert {"mlogiqa_mcq", "mlogiqa_mcq-1.0-native", "mlogiqa_mcq-1.0-native+letter"} <= set(sets)
    assert list(sets["mlogiqa_mcq-1.0-native+letter"].columns) == ["en", "ja"]
    assert sets["mlogiqa_mcq-1.0-default+letter"].wording == sets["mlogiqa_gen"].wording
    assert sets["mlogiqa_mcq-1.0-native"].wording != sets["mlogiqa_gen"].wording


def test_answers_that_failed_or_cannot_be_read_are_no_answers() -> None:
    def write(prompt: str) -> str:
        return "{'answer': 'B'}" if "佐藤" in prompt else "わかりません"

    asked = evaluate("mlogiqa_gen_ja", limit=3)
    backend = ScriptedBackend(texts=write)
    key = _key_of(asked.samples[2], backend)
    backend = ScriptedBackend(texts=write, failures={key: "no memory"})
    run = evaluate("mlogiqa_gen_ja", limit=3, backend=backend)
    (found,) = gather([given(run)])
    column = found.columns["ja"]
    assert column.metric == "exact_match,flexible-extract"
    states = [(a.state, a.label, a.right) for a in column.answers.values()]
    assert states == [
        ("read", "B", False),
        ("unreadable", None, False),
        ("failed", None, None),
    ]
    assert [a.gold for a in column.answers.values()][:2] == ["C", "A"]
    assert [a.item for a in column.answers.values()] == ["s00", "s01", "s02"]


def _key_of(sample: Any, backend: ScriptedBackend) -> str:
    """The request that asks a sample's prompt."""
    evaluate("mlogiqa_gen_ja", limit=3, backend=backend)
    return next(r.key for r in backend.asked if getattr(r, "prompt", "") == sample["prompt"])


def test_a_choice_is_a_letter_and_another_metric_may_choose() -> None:
    run = evaluate("mlogiqa_mcq_en", limit=4)
    (plain,) = gather([given(run)])
    (normed,) = gather([given(run)], metric="acc_norm")
    outcomes = {o["metric"]: o for o in run.samples[0]["outcomes"]}
    for found, metric in ((plain, "acc"), (normed, "acc_norm")):
        column = found.columns["en"]
        assert column.metric == metric
        assert column.answers[0].label == letter(outcomes[metric]["predicted"])
        assert column.answers[0].offered == 4 and column.size == 12


def test_a_metric_that_no_task_has_is_refused() -> None:
    run = evaluate("mlogiqa_mcq_en", limit=1)
    with pytest.raises(ResultError, match="--metric acc_nrm: no task here has it"):
        gather([given(run)], metric="acc_nrm")


def test_several_sampled_answers_are_not_one() -> None:
    run = evaluate("mlogiqa_gen_en", limit=1, repeats=3, gen_kwargs="temperature=0.8")
    with pytest.raises(ResultError, match="3 answers were sampled for each question"):
        gather([given(run)])


def test_one_answer_for_each_row() -> None:
    run = evaluate("mlogiqa_mcq_en", limit=1)
    with pytest.raises(ResultError, match="row 0 was answered more than once"):
        gather([replace(given(run), samples=[*given(run).samples, *given(run).samples])])


def test_letters_and_positions() -> None:
    assert [letter(0), letter(25), letter(26)] == ["A", "Z", "27"]
    assert [position_of("C"), position_of("c"), position_of("AB"), position_of("")] == [
        2,
        None,
        None,
        None,
    ]


def test_tasks_choose() -> None:
    run = evaluate("mlogiqa_mcq,mlogiqa_gen", limit=1)
    (found,) = gather([given(run)], ["mlogiqa_mcq_ja", "mlogiqa_mcq_ko"])
    assert list(found.columns) == ["ja", "ko"]
    (found,) = gather([given(run)], ["mlogiqa_gen"])
    assert len(found.columns) == 10
    with pytest.raises(ResultError, match="no task with a parallel key matches nothing in run"):
        gather([given(run)], ["nothing"])


def test_what_does_not_go_together_is_refused() -> None:
    run = evaluate("mlogiqa_mcq_en", limit=1)
    with pytest.raises(ResultError, match="mlogiqa_mcq has language en twice"):
        gather([given(run, "a"), given(run, "b")])
    other = evaluate("mlogiqa_mcq_ja", limit=1, backend=ScriptedBackend(fingerprint="other"))
    with pytest.raises(ResultError, match="different models") as caught:
        gather([given(run, "a"), given(other, "b")])
    assert "b: scripted, other" in str(caught.value)
    with pytest.raises(ResultError, match="no task with a parallel key in run"):
        gather([given(evaluate("jnli", limit=1))])


def test_a_run_of_an_earlier_version_says_so() -> None:
    run = evaluate("mlogiqa_mcq_en", limit=1)
    document = copy.deepcopy(dict(run.document))
    del document["configs"]["mlogiqa_mcq_en"]["parallel"]
    with pytest.raises(ResultError, match="earlier version"):
        gather([replace(given(run), result=RunResult.model_validate(document))])


def test_a_metric_that_is_not_right_or_wrong_is_refused() -> None:
    run = evaluate("mlogiqa_mcq_en", limit=1)
    (sample,) = given(run).samples
    half = replace(sample, outcomes=[replace(sample.outcomes[0], value=0.5)])
    with pytest.raises(ResultError, match="acc is not simply right or wrong"):
        gather([replace(given(run), samples=[half])])
