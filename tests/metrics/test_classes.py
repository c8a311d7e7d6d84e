"""Balanced accuracy, correlation and F1 of labels that were read out of generated answers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tenbin.errors import TaskError
from tenbin.metrics.judge import judge
from tenbin.metrics.registry import find_metric, metric_names
from tenbin.metrics.text_outcomes import NO_CLASS
from tenbin.records import FilterUse, MetricUse, Outcome, Task, Text
from tenbin.statistics.measured import _NO_CLASS, measured
from tenbin.tasks.registry import load_registry

from .samples import make_prompt, make_task

READ = (FilterUse("read", (("label_flexible", {"labels": {"yes": ["はい"], "no": ["いいえ"]}}),)),)
NAMES = ("balanced_acc", "mcc", "macro_f1")


def classified(**options: object) -> Task:
    uses = tuple(MetricUse(name, name, options) for name in NAMES)
    return replace(make_task("generate", ["exact_match"], READ), metrics=uses)


def outcomes(gold: str, text: str, at: int = 0) -> list[Outcome]:
    prompt = replace(make_prompt(references=(gold,)), document=f"d{at}")
    return judge(classified(classes=["no", "yes"]), prompt, Text(text, "stop", 1))


def test_scores_are_those_of_the_confusion_matrix() -> None:
    """By hand: gold no no yes yes, read no nothing yes no."""
    answers = [("no", "いいえ"), ("no", "さあ"), ("yes", "はい"), ("yes", "いいえ")]
    judged = [outcomes(gold, text, at) for at, (gold, text) in enumerate(answers)]
    assert [row[0].item for row in judged] == [(0, 0), (0, NO_CLASS), (1, 1), (1, 0)]
    assert [row[0].value for row in judged] == [1.0, 0.0, 1.0, 0.0]
    scores = {name: measured(name, [row[at] for row in judged]) for at, name in enumerate(NAMES)}
    assert scores["balanced_acc"].value == pytest.approx(0.5)
    assert scores["macro_f1"].value == pytest.approx((2 / 4 + 2 / 3 + 0) / 3)
    assert scores["mcc"].value == pytest.approx((2 * 4 - 6) / ((16 - 8) * (16 - 6)) ** 0.5)


def test_nothing_read_is_counted_as_the_statistics_count_it() -> None:
    assert NO_CLASS == _NO_CLASS


def test_a_right_answer_that_is_no_class_is_a_failure() -> None:
    found = outcomes("maybe", "はい")
    assert {one.value for one in found} == {None}
    assert all(one.failure is not None and one.failure.kind == "no_gold" for one in found)


@pytest.mark.parametrize("options", [{}, {"classes": ["yes"]}, {"classes": ["no", "no"]}])
def test_classes_must_be_listed(options: dict[str, object]) -> None:
    with pytest.raises(TaskError, match="classes"):
        metric_names(classified(**options))


def test_a_name_means_the_metric_of_its_kind() -> None:
    for name in NAMES:
        assert find_metric(name).kind == find_metric(name, "choice").kind == "choice"
        assert find_metric(name, "generate").kind == "generate"


def test_generated_forms_report_what_the_scored_forms_report() -> None:
    registry = load_registry()
    forms = {"jcola": "jcola_gen", "jnli": "jnli_gen", "jnli_neg": "jnli_neg_gen"}
    forms |= {"janli": "janli_gen", "marc_ja": "marc_ja_gen", "jcola_ood": "jcola_gen_ood"}
    forms |= {"jcommonsensemorality": "jcommonsensemorality_gen", "xnli_de": "xnli_gen_de"}
    forms |= {"pawsx_ja": "pawsx_gen_ja"}
    for scored, generated in forms.items():
        over_classes = {use.name for use in registry.newest(scored).metrics} & set(NAMES)
        task = registry.newest(generated)
        assert over_classes and over_classes <= {use.name for use in task.metrics}, scored
        for use in task.metrics:
            if use.name in NAMES and task.labels and task.kind == "generate":
                assert len(use.options["classes"]) == len(task.labels)
