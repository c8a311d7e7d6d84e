"""Options in another order: fields, gold answers and choices after a rotation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tenbin.errors import TaskError
from tenbin.prompts.render import word
from tenbin.prompts.rotation import marks_positions, shown_position
from tenbin.prompts.worded import Worded
from tenbin.records import Dataset, Document, FewshotPlan, OptionFields, Task, Template

OPTIONS = ("cat", "dog", "owl")
FIELDS = {"question": "Q", "options": list(OPTIONS), "o0": "cat", "o1": "dog", "o2": "owl"}
DECLARED = OptionFields(3, ("options",), ("o0", "o1", "o2"))


def made(
    text: str,
    choices: Any,
    target: Any = "label",
    options: OptionFields | None = DECLARED,
    **keys: Any,
) -> Task:
    template = Template("plain", "", text, choices, target, "", "\n\n", ())
    base: dict[str, Any] = {
        "name": "made", "version": "1", "language": "en", "family": "made", "group": None,
        "kind": "choice", "dataset": Dataset("rows"), "split": "test",
        "fewshot": FewshotPlan(None), "templates": {"plain": template},
        "default_template": "plain", "metrics": (),
    }  # fmt: skip
    return Task(**{**base, "options": options, **keys})


def rotated(task: Task, rotation: int, gold: Any = 1, **fields: Any) -> Worded:
    template = replace(task.templates["plain"], rotation=rotation)
    row = {**FIELDS, "label": gold, **fields}
    return word(task, template, Document("1", row, None, "line 1"), None)


def test_positions_are_each_others_inverse() -> None:
    for count in (2, 3, 5):
        for rotation in range(count):
            shown = [shown_position(at, rotation, count) for at in range(count)]
            assert sorted(shown) == list(range(count))
            assert shown[rotation] == 0, "a rotation of r shows option r first"


@pytest.mark.parametrize("text", ["{{ options[0] }} {{ options[1] }} {{ options[2] }}",
                                  "{{ o0 }} {{ o1 }} {{ o2 }}"])  # fmt: skip
@pytest.mark.parametrize(
    ("rotation", "shown", "gold"),
    [(0, "cat dog owl", 1), (1, "dog owl cat", 0), (2, "owl cat dog", 2)],
)
@pytest.mark.parametrize(
    "choices", [("A", "B", "C"), "options", ("{{ o0 }}", "{{ o1 }}", "{{ o2 }}")]
)
def test_lists_fields_and_gold_move_together(
    text: str, rotation: int, shown: str, gold: int, choices: Any
) -> None:
    worded = rotated(made(text, choices), rotation)
    assert (worded.text, worded.gold) == (shown, gold)
    assert worded.choices is not None
    if choices == ("A", "B", "C"):
        assert worded.choices == choices
    else:
        assert worded.choices == tuple(shown.split())
        assert worded.target == "dog"


@pytest.mark.parametrize(("gold", "expected"), [(1, "B"), ("1", "B"), ("B", "B"), ("dog", "dog")])
def test_gold_may_be_an_index_a_letter_or_a_text(gold: Any, expected: str) -> None:
    target = "{{ 'ABC'[label] }}" if isinstance(gold, int) else "{{ label }}"
    task = made("{{ options }}", None, target, kind="generate")
    for rotation in range(3):
        after = rotated(task, rotation, gold).target
        if gold == "dog":
            assert after == expected
        elif gold == "1":
            assert after == str((1 - rotation) % 3)
        else:
            assert after == "ABC"[(1 - rotation) % 3]


def test_label_words_that_a_template_writes_out_are_rotated_with_the_labels() -> None:
    options = OptionFields(3, ("labels", "words.options"))
    task = made(
        "{{ words.options | join(' ') }}",
        ("yes", "no", "maybe"),
        options=options,
        labels=("yes", "no", "maybe"),
        words={"options": ["It follows.", "It does not.", "Who knows."]},
    )
    worded = rotated(task, 2)
    assert worded.text == "Who knows. It follows. It does not."
    assert worded.choices == ("maybe", "yes", "no")
    assert worded.target == "no"


@pytest.mark.parametrize(
    ("choices", "marks"),
    [
        ("ABCD", True),
        (["(A)", "(B)"], True),
        (["1.", "2.", "3."], True),
        ("0123", True),
        ("①②", True),
        ("アイウ", True),
        ("イロハ", True),
        (["はい", "いいえ"], False),
        ("BA", False),
        (["A. x", "B. y"], False),
    ],
)
def test_what_numbers_positions(choices: Any, marks: bool) -> None:
    assert marks_positions(choices) is marks


def test_rows_that_do_not_fit_are_refused() -> None:
    with pytest.raises(TaskError, match="no field 'o2'"):
        row = {name: value for name, value in FIELDS.items() if name != "o2"}
        task = made("{{ o0 }}", ("A", "B", "C"))
        template = replace(task.templates["plain"], rotation=1)
        word(task, template, Document("1", {**row, "label": 0}, None, "line 1"), None)
    with pytest.raises(TaskError, match="the gold answer 7 is none of 3 options"):
        rotated(made("{{ o0 }}", ("A", "B", "C")), 1, 7)
    with pytest.raises(TaskError, match="'options' is no list of options"):
        rotated(
            made("{{ o0 }}", ("A", "B", "C"), options=OptionFields(3, ("options",))),
            1,
            options=None,
        )
    with pytest.raises(TaskError, match="does not say which fields hold them"):
        rotated(made("{{ o0 }}", ("A", "B", "C"), options=None), 1)
