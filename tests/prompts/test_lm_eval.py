"""Documents as lm-eval's task files word them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tenbin.backends.scripted import CharacterTokenizer
from tenbin.errors import DataError, TaskError
from tenbin.pipeline.plan import Plan
from tenbin.prompts.build import PromptSettings, build_prompts
from tenbin.prompts.example_pool import Pool
from tenbin.prompts.render import whole_text, word, word_as_example
from tenbin.prompts.worded import Worded
from tenbin.records import (
    Cell,
    Dataset,
    Document,
    ExampleWording,
    FewshotPlan,
    FilterUse,
    Kind,
    Prompt,
    Score,
    Task,
    TaskFunction,
    TaskOrigin,
    Template,
)


def row(id: str = "0", **fields: Any) -> Document:
    return Document(id, fields, None, f"rows.jsonl:{id}")


def function(call: Callable[..., Any], name: str = "made") -> TaskFunction:
    return TaskFunction("utils.py", name, call=call)


def template_of(**parts: Any) -> Template:
    given: dict[str, Any] = {
        "name": "default",
        "description": "",
        "text": "{{question}}",
        "choices": None,
        "target": "{{answer}}",
        "target_delimiter": " ",
        "fewshot_delimiter": "\n\n",
        "stop": ("\n\n",),
    }
    return Template(**{**given, **parts})


def task_of(kind: Kind = "choice", **parts: Any) -> Task:
    template = template_of(**parts)
    return Task(
        name="made", version="1.0", language="en", family="made", group=None, kind=kind,
        dataset=Dataset("made", pinned=False), split="test", fewshot=FewshotPlan("train"),
        templates={"default": template}, default_template="default", metrics=(),
        origin=TaskOrigin("made.yaml", "0" * 64),
    )  # fmt: skip


def worded(task: Task, document: Document, **settings: Any) -> Worded:
    return word(task, task.templates["default"], document, None, **settings)


def prompts_of(task: Task, *documents: Document, shots: int = 0, **settings: Any) -> list[Prompt]:
    pool = Pool([row(f"t{i}", question=f"q{i}", answer=f"a{i}") for i in range(3)])
    cell = Cell(task.name, task.version, "default", shots, 1234)
    chosen = PromptSettings(**settings)
    return list(build_prompts(task, cell, documents, pool, None, chosen, None))


def test_items_of_a_list_of_choices_are_not_rendered() -> None:
    task = task_of(choices=(" {{no}}", "yes"), target=1)
    assert worded(task, row(question="?")).choices == (" {{no}}", "yes")


def test_digits_are_an_index_where_a_template_wrote_them() -> None:
    choices = ("1", "2", "3")
    by_field = worded(task_of(choices=choices, target="label"), row(question="?", label="1"))
    assert (by_field.gold, by_field.target) == (0, "1")
    rendered = worded(task_of(choices=choices, target="{{label}}"), row(question="?", label="1"))
    assert (rendered.gold, rendered.target) == (1, "2")


@pytest.mark.parametrize(
    ("target", "golds"),
    [([0, 2], (0, 2)), (["c", "a"], (2, 0)), ([7, 1], (1,)), ("[1, 2]", ())],
)
def test_a_list_of_targets_is_several_golds(target: Any, golds: tuple[int, ...]) -> None:
    task = task_of(choices=("a", "b", "c", "[1, 2]"), target="answer")
    made = worded(task, row(question="?", answer=target))
    assert made.golds == golds
    assert made.gold == (golds[0] if golds else 3)
    assert worded(task_of(choices=("a", "b", "c"), target="{{answer}}"),
                  row(question="?", answer=[1, 2])).golds == (1, 2)  # fmt: skip


@pytest.mark.parametrize(
    ("given", "golds"),
    [
        (np.int32(1), (1,)),
        (np.bool_(True), (1,)),
        (np.array([0, 2]), (0, 2)),
        ([np.int64(2)], (2,)),
    ],
)
def test_numbers_of_numpy_are_indices_too(given: Any, golds: tuple[int, ...]) -> None:
    """toxigen rounds with numpy, and its doc_to_target gives an `np.int32`."""
    task = task_of(choices=("a", "b", "c"), target=function(lambda doc: given))
    made = worded(task, row(question="?"))
    assert (made.gold, made.golds or (made.gold,)) == (golds[0], golds)


@pytest.mark.parametrize("gold", [4, -1, "d", None, " a", []])
def test_a_document_without_a_gold_choice_is_refused_unless_it_counts_as_wrong(gold: Any) -> None:
    task = task_of(choices=("a", "b"), target="answer")
    document = row(question="?", answer=gold)
    with pytest.raises(DataError, match=r"rows.jsonl:0: the gold answer .* one of the 2 choices"):
        worded(task, document)
    made = worded(task, document, refuse_missing_gold=False)
    assert (made.gold, made.golds, made.references) == (None, (), ())
    judged = replace(task, process_results=function(lambda doc, results: {}))
    assert worded(judged, document).gold is None


def test_one_choice_and_bool_and_float_golds() -> None:
    assert worded(task_of(choices=("only",), target=0), row(question="?")).gold == 0
    task = task_of(choices=("no", "yes"), target="answer")
    assert worded(task, row(question="?", answer=True)).gold == 1
    assert worded(task, row(question="?", answer=1.0)).gold == 1


def test_functions_get_the_row_as_one_dict() -> None:
    def text(doc: dict[str, Any]) -> str:
        doc["seen"] = True
        return f"Q: {doc['question']}"

    task = task_of(
        text=function(text),
        choices=function(lambda doc: [doc["question"], "other"]),
        target=function(lambda doc: 0 if doc["seen"] else 1),
    )
    document = row(question="x")
    made = worded(task, document)
    assert (made.text, made.choices, made.gold) == ("Q: x", ("x", "other"), 0)
    assert document.fields == {"question": "x"}


def test_a_function_that_fails_is_named_with_the_row() -> None:
    task = task_of("generate", text=function(lambda doc: doc["none"], "doc_to_text"))
    with pytest.raises(DataError, match=r"rows.jsonl:0: utils.py: doc_to_text failed: KeyError"):
        worded(task, row(question="x", answer="y"))


@pytest.mark.parametrize(
    ("value", "references"),
    [(["a", "b"], ("a", "b")), (5, ("5",)), (0.5, ("0.5",)), (True, ("True",)), ("x", ("x",))],
)
def test_accepted_answers_of_a_generation_are_texts(
    value: Any, references: tuple[str, ...]
) -> None:
    made = worded(task_of("generate", target="answer"), row(question="?", answer=value))
    assert (made.references, made.target) == (references, references[0])


def test_an_index_into_the_choices_of_a_generation_is_their_text() -> None:
    task = task_of("generate", choices=("(A)", "(B)"), target="{{answer}}")
    made = worded(task, row(question="?", answer=1))
    assert (made.references, made.choices, made.num_choices) == (("(B)",), None, 2)


def test_fields_of_the_row_win_over_tenbins_own_names() -> None:
    task = task_of("generate", text="{{labels}} {{system_prompt}}")
    assert worded(task, row(labels="l", system_prompt="s", answer="x")).text == "l s"


def test_an_example_has_a_wording_of_its_own_and_may_have_no_answer() -> None:
    own = ExampleWording(text="E {{question}}", choices=("x", "y"), target="{{answer}}")
    task = task_of(choices=("a", "b"), example=own)
    template = task.templates["default"]
    shown = word_as_example(task, template, row(question="?", answer=-1), None)
    assert (shown.text, shown.target, shown.answered) == ("E ?", "-1", True)
    shown = word_as_example(task, template, row(question="?", answer=1), None)
    assert shown.target == "y"
    shown = word_as_example(task, template, row(question="?", answer=""), None)
    assert not shown.answered
    with pytest.raises(TaskError, match=r"made 1\.0, template default, rows"):
        word_as_example(task, template, row(answer=1), None)


WINOGRANDE = {
    "text": "{{answer}}",
    "choices": "{{[question + ' a', question + ' b']}}",
    "target": "{{rest}}",
}


def test_several_inputs_are_requests_of_their_own() -> None:
    task = task_of(**WINOGRANDE)
    asked = row(question="who", answer=1, rest="came.")
    (prompt,) = prompts_of(task, asked)
    assert prompt.contexts == ("who a", "who b")
    assert (prompt.text, prompt.continuations, prompt.gold) == ("who a", (" came.",), 1)
    assert prompt.choices == prompt.contexts
    plan = Plan()
    plan.add(prompt.cell, [prompt], unconditional=True)
    ((planned,),) = plan.planned(prompt.cell)
    assert planned.prompt == prompt
    requests = {request.key: request for request in plan.queue.open()}
    first, second = (requests[key] for key in (planned.key, *planned.further_keys))
    assert isinstance(first, Score) and isinstance(second, Score)
    assert (first.prompt, second.prompt) == prompt.contexts
    assert first.continuations == second.continuations == (" came.",)
    bare = requests[planned.unconditional_key or ""]
    assert isinstance(bare, Score)
    assert (bare.prompt, bare.continuations) == ("", (" who a", " who b"))


def test_examples_of_several_inputs_show_the_right_one() -> None:
    task = task_of(**WINOGRANDE)
    pool = [row("t0", question="you", answer=0, rest="went.")]
    cell = Cell(task.name, task.version, "default", 1, 1)
    asked = row(question="who", answer=1, rest="came.")
    (prompt,) = build_prompts(task, cell, [asked], Pool(pool), None, PromptSettings(), None)
    assert prompt.contexts == ("you a went.\n\nwho a", "you a went.\n\nwho b")
    assert prompt.parts == (0, len("you a went.\n\n"))


def test_the_longest_input_decides_how_many_examples_fit() -> None:
    task = task_of(text="{{answer}}", choices="{{['short', question]}}", target="x")
    pool = [row("t0", question="e" * 30, answer=0)]
    cell = Cell(task.name, task.version, "default", 1, 1)
    asked = row(question="q" * 60, answer=1)
    made = [
        next(
            build_prompts(
                task, cell, [asked], Pool(pool), None, PromptSettings(), CharacterTokenizer(window)
            )
        )
        for window in (100, 70)
    ]
    assert [prompt.dropped_examples for prompt in made] == [0, 1]


def test_one_given_answer_is_scored_without_a_delimiter() -> None:
    task = task_of("loglikelihood", target="{{' ' + answer}}")
    (prompt,) = prompts_of(task, row(question="the", answer="end"), shots=1)
    assert prompt.continuations == prompt.choices == (" end",)
    assert prompt.text.endswith("\n\nthe") and "  a" in prompt.text


def test_the_description_is_rendered_over_each_document() -> None:
    task = task_of("generate", description="About {{topic}}.\n")
    first, second = prompts_of(
        task,
        row("0", question="q", answer="a", topic="cats"),
        row("1", question="q", answer="a", topic="dogs"),
    )
    assert (first.text, second.text) == ("About cats.\nq", "About dogs.\nq")
    assert first.parts == (len("About cats.\n"),)
    by_field = task_of("generate", description="topic")
    (prompt,) = prompts_of(by_field, row(question=" q", answer="a", topic="cats"))
    assert prompt.text == "cats q"


def test_rows_go_with_prompts_that_functions_judge() -> None:
    asked = row(question="q", answer="a")
    task = task_of("generate")
    assert prompts_of(task, asked)[0].fields is None
    judged = replace(task, process_results=function(lambda doc, results: {}))
    assert prompts_of(judged, asked)[0].fields == asked.fields
    filtered = replace(task, filters=(FilterUse("own", ((function(list), {}),)),))
    assert prompts_of(filtered, asked)[0].fields == asked.fields


def test_a_whole_text_may_come_from_a_function() -> None:
    task = task_of("perplexity", text="", target=function(lambda doc: doc["page"].lower()))
    assert whole_text(task, task.templates["default"], row(page="ABC")) == "abc"
