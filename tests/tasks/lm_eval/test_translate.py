"""Task files of lm-eval become tasks by its meaning, and say at once what stands in the way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tenbin.errors import TaskError
from tenbin.records import ExampleWording, MetricUse, Sampling, Task, TaskFunction
from tenbin.tasks.lm_eval.translate import Translation, translate

FILE = Path("tasks/quiz/quiz.yaml")
FUNCTION = TaskFunction("tasks/quiz/utils.py", "process")
CHOICE = {
    "task": "quiz",
    "dataset_path": "some/quiz",
    "output_type": "multiple_choice",
    "test_split": "test",
    "doc_to_text": "{{question}}",
    "doc_to_target": "answer",
    "doc_to_choice": ["yes", "no"],
}
GENERATE = {
    "task": "sums",
    "dataset_path": "some/sums",
    "validation_split": "dev",
    "doc_to_text": "{{question}}",
    "doc_to_target": "{{answer}}",
}


def translated(base: dict[str, Any], **keys: Any) -> Task:
    return translate({**base, **keys}, FILE).require()


def refused(base: dict[str, Any], **keys: Any) -> dict[str, str]:
    """Refusals by key."""
    result = translate({**base, **keys}, FILE)
    assert result.task is None
    assert {refusal.file for refusal in result.refusals} == {str(FILE)}
    assert all(refusal.remedy for refusal in result.refusals)
    return {refusal.key: refusal.reason for refusal in result.refusals}


@pytest.mark.parametrize("empty", ["", [], {}])
def test_a_choice_task_without_a_choice_is_refused(empty: object) -> None:
    assert refused(CHOICE, doc_to_choice=empty) == {"doc_to_choice": "names no choice"}


def test_a_choice_task() -> None:
    task = translated(CHOICE, tag="quizzes", task_alias="A quiz", metadata={"version": 2.0})
    assert (task.name, task.version, task.title, task.tags) == (
        "quiz",
        "2.0",
        "A quiz",
        ("quizzes",),
    )
    assert (task.kind, task.split, task.dataset.name) == ("choice", "test", "some/quiz")
    template = task.templates["default"]
    assert template.choices == ("yes", "no")
    assert (template.target_delimiter, template.fewshot_delimiter) == (" ", "\n\n")
    assert [use.name for use in task.metrics] == ["acc", "acc_norm"]
    assert task.origin is not None
    assert task.origin.path == str(FILE)


def test_defaults_of_a_generation_task() -> None:
    task = translated(GENERATE)
    assert (task.kind, task.split, task.version, task.max_gen_toks) == (
        "generate",
        "dev",
        "1.0",
        256,
    )
    assert task.templates["default"].stop == ("\n\n",)
    assert task.metrics == (MetricUse("exact_match", "exact_match"),)


@pytest.mark.parametrize(
    ("given", "stop", "limit", "sampling"),
    [
        ({"do_sample": False}, ("\n\n",), 256, None),
        ({"until": "Q:", "max_gen_toks": 32}, ("Q:",), 32, None),
        ({"until": [], "max_new_tokens": 64, "num_beams": 1}, (), 64, None),
        ({"until": None}, (), 256, None),
        ({"until": ["a"], "temperature": "0.5"}, ("a",), 256, Sampling(0.5)),
        ({"until": ["a"], "do_sample": False, "temperature": 1}, ("a",), 256, None),
        ({"until": ["a"], "top_p": 0.9}, ("a",), 256, None),
        (
            {"until": ["a"], "do_sample": True, "temperature": 0.8, "top_p": 0.9, "top_k": 5},
            ("a",),
            256,
            Sampling(0.8, 0.9, 5),
        ),
    ],
)
def test_generation_settings(
    given: dict[str, Any], stop: tuple[str, ...], limit: int, sampling: Sampling | None
) -> None:
    task = translated(GENERATE, generation_kwargs=given)
    assert (task.templates["default"].stop, task.max_gen_toks, task.sampling) == (
        stop,
        limit,
        sampling,
    )


def test_settings_of_generation_that_do_not_exist_are_refused_by_name() -> None:
    reasons = refused(GENERATE, generation_kwargs={"num_beams": 4, "repetition_penalty": 1.1})
    assert set(reasons) == {"generation_kwargs.num_beams", "generation_kwargs.repetition_penalty"}
    assert "4 beams" in reasons["generation_kwargs.num_beams"]


def test_repeats_count_where_answers_are_sampled() -> None:
    sampled = {"until": ["a"], "do_sample": True, "temperature": 0.7}
    assert translated(GENERATE, repeats=8, generation_kwargs=sampled).repeats == 8
    assert translated(GENERATE, repeats=8).repeats == 1
    assert translated(CHOICE, repeats=8).repeats == 1


def test_examples_come_from_the_named_split_or_by_the_rule() -> None:
    plan = translated(CHOICE, training_split="train").fewshot
    assert (plan.split, plan.sampler, plan.excludes_document) == ("train", "default", False)
    plan = translated(CHOICE, fewshot_split="dev", fewshot_config={"sampler": "first_n"}).fewshot
    assert (plan.split, plan.sampler) == ("dev", "first_n")
    assert translated(CHOICE, fewshot_config={"split": "dev"}).fewshot.split == "dev"
    assert translated(CHOICE, fewshot_split="test").fewshot.excludes_document
    # By the rule the test split is used too, but lm-eval does not look whether it is.
    plan = translated(CHOICE).fewshot
    assert (plan.split, plan.excludes_document) == ("test", False)
    assert translated(GENERATE, training_split="train").fewshot.excludes_document


def test_examples_in_the_file() -> None:
    samples = [{"question": "1+1", "answer": "2"}]
    plan = translated(GENERATE, fewshot_config={"sampler": "first_n", "samples": samples}).fewshot
    assert (plan.split, plan.samples) == (None, tuple(samples))
    # A named split comes first, as in lm-eval.
    both = {"split": "train", "samples": samples}
    plan = translated(GENERATE, fewshot_config=both).fewshot
    assert (plan.split, plan.samples) == ("train", None)


def test_examples_in_words_of_their_own() -> None:
    config = {"doc_to_text": "{{q}}?", "doc_to_target": "", "sampler": "first_n"}
    template = translated(GENERATE, gen_prefix="A:", fewshot_config=config).templates["default"]
    assert template.gen_prefix == "A:"
    assert template.example == ExampleWording(text="{{q}}?", target="")
    assert (
        translated(GENERATE, fewshot_config={"sampler": "first_n"}).templates["default"].example
        is None
    )
    without = translated(GENERATE, gen_prefix="A:", fewshot_config={"gen_prefix": None})
    assert without.templates["default"].example == ExampleWording(gen_prefix="")


def test_choices_and_targets_in_every_form() -> None:
    template = translated(CHOICE, doc_to_choice={"a": "A.", "b": "B."}).templates["default"]
    assert template.choices == ("A.", "B.")
    template = translated(CHOICE, doc_to_choice="{{options}}", doc_to_target=1).templates["default"]
    assert (template.choices, template.target) == ("{{options}}", 1)
    template = translated(CHOICE, doc_to_choice=FUNCTION, doc_to_target=FUNCTION).templates[
        "default"
    ]
    assert (template.choices, template.target) == (FUNCTION, FUNCTION)
    template = translated(GENERATE, doc_to_target=["one", "1"], doc_to_text=0).templates["default"]
    assert (template.text, template.target) == (0, ("one", "1"))
    assert (
        "quotes" in translate({**CHOICE, "doc_to_choice": [True, False]}, FILE).refusals[0].remedy
    )


def test_whole_texts_have_no_prompt() -> None:
    task = translated(
        GENERATE,
        output_type="loglikelihood_rolling",
        description="A text:",
        doc_to_text="ignored",
        num_fewshot=2,
    )
    template = task.templates["default"]
    assert (template.text, template.description, task.default_shots) == ("", "", 0)
    assert task.fewshot.split is None
    assert [use.name for use in task.metrics] == [
        "word_perplexity",
        "byte_perplexity",
        "bits_per_byte",
    ]


def test_one_given_answer() -> None:
    task = translated(GENERATE, output_type="loglikelihood")
    assert task.kind == "loglikelihood"
    assert [use.name for use in task.metrics] == ["perplexity", "acc"]


def test_metrics_with_options_functions_and_aggregations() -> None:
    task = translated(
        GENERATE,
        metric_list=[
            {
                "metric": "exact_match",
                "aggregation": "mean",
                "higher_is_better": True,
                "ignore_case": True,
                "ignore_punctuation": 'true - "."',
                "regexes_to_ignore": [","],
            },
            {"metric": FUNCTION, "aggregation": "mean", "k": [1, 5]},
            {"metric": "f1", "aggregation": FUNCTION, "average": "macro"},
        ],
    )
    first, second, third = task.metrics
    assert first.aggregation == "mean"
    assert first.higher_is_better is True
    assert first.options == {
        "ignore_case": True,
        "ignore_punctuation": True,
        "regexes_to_ignore": [","],
    }
    assert (second.metric, second.function, second.options) == ("process", FUNCTION, {"k": [1, 5]})
    # lm-eval's f1 takes no options: what stands there has no effect.
    assert (third.options, third.aggregation) == ({}, FUNCTION)


def test_values_of_a_function_need_an_aggregation() -> None:
    judged = {"process_results": FUNCTION, "metric_list": [{"metric": "acc"}]}
    assert translated(GENERATE, **judged).metrics[0].aggregation == "mean"
    judged["metric_list"] = [{"metric": "my_score"}]
    assert "my_score" in refused(GENERATE, **judged)["metric_list.0.aggregation"]


def test_filters_keep_their_functions() -> None:
    chain = [{"function": "regex", "regex_pattern": "x"}, {"function": FUNCTION, "k": 1}]
    custom = [{"function": "custom", "filter_fn": FUNCTION}]
    listed = [{"name": "strict", "filter": chain}, {"name": "own", "filter": custom}]
    task = translated(GENERATE, filter_list=listed)
    assert task.filters[0].steps == (("regex", {"regex_pattern": "x"}), (FUNCTION, {"k": 1}))
    assert task.filters[1].steps == (("custom", {"filter_fn": FUNCTION}),)


def test_needs_name_every_function_with_its_key(tmp_path: Path) -> None:
    (tmp_path / "utils.py").write_text(
        "import no_such_package_a\nimport json\ndef process(d): ...\n"
    )
    function = TaskFunction(str(tmp_path / "utils.py"), "process")
    result = translate(
        {
            **CHOICE,
            "process_docs": function,
            "doc_to_text": function,
            "fewshot_config": {"doc_to_text": function},
            "metric_list": [{"metric": "acc", "aggregation": function}],
        },
        FILE,
    )
    assert [need.key for need in result.needs if need.kind == "trust"] == [
        "process_docs",
        "doc_to_text",
        "fewshot_config.doc_to_text",
        "metric_list.acc.aggregation",
    ]
    assert [need.what for need in result.needs if need.kind == "package"] == ["no_such_package_a"]
    assert result.task is not None
    assert result.task.origin is not None
    assert result.task.origin.functions == (function,)


def test_a_function_without_its_file_is_no_package_to_install() -> None:
    """`!function utils.process` where utils.py was not copied along."""
    refusals = refused(CHOICE, process_docs=TaskFunction("no_such_utils", "process"))
    assert "there is no no_such_utils.py beside the file" in refusals["process_docs"]
    dotted = translate({**CHOICE, "process_docs": TaskFunction("no_such_package.a", "f")}, FILE)
    assert [need.what for need in dotted.needs if need.kind == "package"] == ["no_such_package"]


def test_everything_refused_is_said_at_once() -> None:
    reasons = refused(
        GENERATE,
        doc_to_image="image",
        unsafe_code=True,
        use_prompt="promptsource:x",
        recipe="abc",
        doc_to_text="{{ question ",
        output_type="guess",
        fewshot_config={"sampler": "balanced", "colour": 1},
        num_fewshot="many",
    )
    assert set(reasons) == {
        "doc_to_image",
        "unsafe_code",
        "use_prompt",
        "recipe",
        "doc_to_text",
        "output_type",
        "fewshot_config.sampler",
        "fewshot_config.colour",
        "num_fewshot",
    }
    with pytest.raises(TaskError) as caught:
        translate({**GENERATE, "doc_to_audio": "sound", "recipe": 1}, FILE).require()
    assert f"{FILE}: doc_to_audio: audio is not supported" in caught.value.message
    assert "recipe" in caught.value.message


def test_a_python_class_is_refused_as_such() -> None:
    assert list(refused({"task": "fda", "class": FUNCTION})) == ["class"]
    assert list(refused({"task": "fda", "class": None, "recipe": 1})) == ["class"]


@pytest.mark.parametrize(
    ("template", "fault"),
    [("{% if x %}", "line 1"), ("{{ x | no_such }}", "no_such"), ("{{ x is strange }}", "strange")],
)
def test_templates_that_cannot_compile_are_refused(template: str, fault: str) -> None:
    assert fault in refused(GENERATE, doc_to_text=template)["doc_to_text"]


@pytest.mark.parametrize(
    "keys",
    [
        {"metric_list": "acc"},
        {"metric_list": [{}]},
        {"metric_list": []},
        {"filter_list": [{"name": "x", "filter": ["regex"]}]},
        {"dataset_path": None},
        {"validation_split": None},
        {"doc_to_target": None},
        {"tag": 5},
        {"generation_kwargs": [1]},
        {"generation_kwargs": {"until": [1]}},
        {"generation_kwargs": {"temperature": "warm"}},
        {"generation_kwargs": {"max_gen_toks": 0}},
        {"process_docs": "utils.process"},
        {"fewshot_config": {"samples": "few"}},
        {"dataset_kwargs": "x"},
        {"task": None},
    ],
)
def test_malformed_values_are_refusals_and_no_tracebacks(keys: dict[str, Any]) -> None:
    refused(GENERATE, **keys)


def test_keys_that_may_be_null() -> None:
    nothing = dict.fromkeys(
        ("dataset_name", "dataset_kwargs", "num_fewshot", "fewshot_split", "metadata", "tag",
         "process_docs", "metric_list", "filter_list", "training_split", "gen_prefix"),
    )  # fmt: skip
    assert translated(GENERATE, **nothing) == translated(GENERATE)


def test_data_options_without_trust_in_code_of_a_data_set() -> None:
    dataset = translated(
        GENERATE, dataset_kwargs={"trust_remote_code": True, "revision": "x"}
    ).dataset
    assert dataset.options == {"revision": "x"}
    task = translated(
        {**GENERATE, "dataset_path": None}, custom_dataset=FUNCTION, metadata={"version": 1, "n": 3}
    )
    assert (task.dataset.custom_dataset, task.dataset.metadata) == (
        FUNCTION,
        {"version": 1, "n": 3},
    )


def test_a_translation_without_a_task_tells_all_remedies_once() -> None:
    result: Translation = translate({**GENERATE, "doc_to_image": "a", "doc_to_audio": "b"}, FILE)
    with pytest.raises(TaskError) as caught:
        result.require()
    assert caught.value.hint.count("tenbin evaluates text") == 1
