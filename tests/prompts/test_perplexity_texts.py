"""Texts that are weighed whole reach the backend byte for byte, or not at all."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tenbin.errors import DataError, TaskError
from tenbin.prompts.build import PromptSettings, build_prompts
from tenbin.prompts.example_pool import Pool
from tenbin.records import Cell, Dataset, Document, FewshotPlan, MetricUse, Prompt, Task, Template

TEMPLATE = Template("default", "", "", None, "text", " ", "\n\n", ())
TASK = Task(
    name="pages",
    version="1.0",
    language="en",
    family="pages",
    group=None,
    kind="perplexity",
    dataset=Dataset("pages"),
    split="test",
    fewshot=FewshotPlan(None),
    templates={"default": TEMPLATE},
    default_template="default",
    metrics=(MetricUse("bits_per_byte", "bits_per_byte"),),
)
CELL = Cell("pages", "1.0", "default", 0, 1234)


def build(*texts: object, target: str = "text", **settings: object) -> list[Prompt]:
    documents = [
        Document(f"d{at}", {"text": text}, None, f"pages.jsonl, line {at + 1}")
        for at, text in enumerate(texts)
    ]
    task = replace(TASK, templates={"default": replace(TEMPLATE, target=target)})
    prepared = PromptSettings(**settings)  # type: ignore[arg-type]
    return list(build_prompts(task, CELL, documents, Pool(()), None, prepared, None))


def test_texts_stay_as_they_are() -> None:
    odd = [" leading\n\n", "{{ no template }}", "[1, 2]", "猫\u3000\r\n", "7"]
    for target in ("text", "{{ text }}"):
        prompts = build(*odd, target=target)
        assert [prompt.text for prompt in prompts] == odd
    assert {(p.kind, p.continuations, p.target, p.examples) for p in prompts} == {
        ("perplexity", None, None, ())
    }


def test_a_template_may_add_to_the_text() -> None:
    assert build("a", target="# Title\n{{ text }}")[0].text == "# Title\na"


@pytest.mark.parametrize("text", ["", "  \n", None, 5])
def test_no_text_is_an_error_that_names_the_row(text: object) -> None:
    with pytest.raises(DataError, match=r"pages\.jsonl, line 2: there is no text to measure"):
        build("a", text)


def test_a_target_that_names_no_field_is_refused() -> None:
    with pytest.raises(TaskError, match="names no field: 'page'") as caught:
        build("a", target="page")
    assert caught.value.hint == "fields: text"
    with pytest.raises(TaskError, match=r"line 1: the template names a field that is not there"):
        build("a", target="{{ page }}")


def test_the_published_order_of_documents_is_kept_for_profiles_that_shuffle() -> None:
    texts = [str(number) for number in range(30)]
    assert [prompt.text for prompt in build(*texts)] == texts
    shuffled = [prompt.text for prompt in build(*texts, sampler="running")]
    assert shuffled != texts and sorted(shuffled) == sorted(texts)
