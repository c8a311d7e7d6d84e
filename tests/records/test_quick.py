"""Records made quickly are the records that `dataclass` makes."""

from __future__ import annotations

import inspect
import pickle
from dataclasses import FrozenInstanceError, dataclass, fields, replace

import pytest

from tenbin.records import Document, Generate, Outcome, Prompt, Scores, Text
from tenbin.records.quick import quick


@dataclass(frozen=True, slots=True)
class Plain:
    """As `dataclass` makes it."""

    name: str
    values: tuple[int, ...] = ()
    note: str | None = None


@quick
@dataclass(frozen=True, slots=True)
class Quick:
    """The same, made quickly."""

    name: str
    values: tuple[int, ...] = ()
    note: str | None = None


def test_the_same_arguments_give_the_same_values() -> None:
    for arguments, options in [
        (("a",), {}),
        (("a", (1,), "b"), {}),
        ((), {"note": "b", "name": "a"}),
    ]:
        one, other = Plain(*arguments, **options), Quick(*arguments, **options)
        assert [getattr(one, field.name) for field in fields(one)] == [
            getattr(other, field.name) for field in fields(other)
        ]
        assert repr(one) == repr(other).replace("Quick", "Plain")
    assert Quick("a") == Quick("a") != Quick("b") and hash(Quick("a")) == hash(Quick("a"))
    assert replace(Quick("a"), note="b") == Quick("a", note="b")
    assert inspect.signature(Quick).parameters.keys() == inspect.signature(Plain).parameters.keys()


def test_wrong_arguments_and_changes_are_refused() -> None:
    for wrong in [{}, {"name": "a", "other": 1}]:
        with pytest.raises(TypeError):
            Quick(**wrong)  # type: ignore[arg-type]
    with pytest.raises(FrozenInstanceError):
        Quick("a").name = "b"  # type: ignore[misc]
    with pytest.raises(AssertionError, match="factory"):
        from dataclasses import field, make_dataclass

        factory = ("values", list, field(default_factory=list))
        quick(make_dataclass("Other", [factory], frozen=True, slots=True))


@pytest.mark.parametrize("record", [Document, Generate, Outcome, Prompt, Scores, Text])
def test_records_are_pickled_by_their_values(record: type) -> None:
    names = [field.name for field in fields(record)]
    made = record(**{name: name for name in names})
    assert [getattr(made, name) for name in names] == names
    again = pickle.loads(pickle.dumps(made))
    assert again == made and type(again) is record
