"""Which tasks of several runs stand side by side."""

from __future__ import annotations

from tenbin.report.html.alignment import align_tasks
from tenbin.results.schema import RunResult
from tests.report.made_run import choice_row, config, record


def made(*ids: tuple[str, str], role: str = "score") -> RunResult:
    configs = {id: config(task, role=role) for id, task in ids}
    return record(configs, [choice_row(id, 0) for id, _ in ids])


def rows(*results: RunResult) -> list[tuple[str, tuple[str | None, ...]]]:
    return [(row.name, row.cells) for row in align_tasks(results)]


def test_the_same_id_is_the_same_task() -> None:
    one, two = made(("a-1", "a"), ("b-1", "b")), made(("b-1", "b"), ("c-1", "c"))
    assert rows(one, two) == [
        ("a-1", ("a-1", None)),
        ("b-1", ("b-1", "b-1")),
        ("c-1", (None, "c-1")),
    ]


def test_one_task_under_different_templates_is_one_row() -> None:
    assert rows(made(("a-1", "a")), made(("a-2", "a")), made(("b-1", "b"))) == [
        ("a", ("a-1", "a-2", None)),
        ("b-1", (None, None, "b-1")),
    ]


def test_several_templates_in_one_run_stay_apart() -> None:
    assert rows(made(("a-1", "a"), ("a-2", "a")), made(("a-2", "a"))) == [
        ("a-1", ("a-1", None)),
        ("a-2", ("a-2", "a-2")),
    ]


def test_documents_that_chose_a_template_are_no_task() -> None:
    assert rows(made(("a-1", "a"), role="select")) == []
