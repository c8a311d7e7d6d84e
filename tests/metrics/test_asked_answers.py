"""What the generation tasks ask for is what their filters read, in every language."""

from __future__ import annotations

import pytest

from tenbin.metrics.extraction.flexible import read_flexible
from tenbin.metrics.extraction.strict import read_strict
from tenbin.records import Task
from tenbin.tasks.registry import load_registry

GROUPS = ("belebele_gen", "global_mmlu_gen", "pawsx_gen", "xcopa_gen", "xnli_gen")
TASKS = [task for task in load_registry().all() if task.group in GROUPS]


@pytest.fixture(scope="module", params=GROUPS)
def group(request: pytest.FixtureRequest) -> list[Task]:
    return [task for task in TASKS if task.group == request.param]


def test_the_form_asked_for_is_read_strictly_in_every_language(group: list[Task]) -> None:
    for task in group:
        count = task.num_choices
        assert count is not None
        form = task.words["json"].splitlines()[-1]
        placeholder = form.removeprefix("{'answer': '").removesuffix("'}")
        assert placeholder in task.words["json"].splitlines()[0]
        for letter in "ABCD"[:count]:
            answer = form.replace(placeholder, letter)
            assert read_strict(answer, count) == letter
            assert read_flexible(f"{task.words['answer']} {answer}", task.language, count) == letter


def test_a_model_that_repeats_the_form_has_chosen_nothing(group: list[Task]) -> None:
    for task in group:
        assert read_strict(task.words["json"], task.num_choices or 0) is None
        assert read_flexible(task.words["json"], task.language, task.num_choices or 0) is None


def test_a_letter_after_the_heading_is_read_in_every_language(group: list[Task]) -> None:
    for task in group:
        for answer in (f"{task.words['answer']} B", "B", "**B**", "B."):
            assert read_flexible(answer, task.language, task.num_choices or 0) == "B", task.name
