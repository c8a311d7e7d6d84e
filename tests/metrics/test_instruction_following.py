"""The metrics of instruction following: shares of prompts and of instructions, pooled."""

from __future__ import annotations

import json
import math
import random
from dataclasses import replace
from typing import Any

import pytest

from tenbin.errors import DataError, ResultError
from tenbin.metrics.instruction_following import (
    inst_level_strict_acc,
    prompt_level_loose_acc,
    prompt_level_strict_acc,
)
from tenbin.metrics.judge import judge
from tenbin.metrics.patterns import UnjudgedError
from tenbin.metrics.registry import METRICS
from tenbin.records import Failure, MetricUse, Outcome, Prompt, Task, Text
from tenbin.statistics.bootstrap import Resampling, bootstrap
from tenbin.statistics.errors import summarise
from tenbin.statistics.intervals import estimate
from tenbin.statistics.measured import measured
from tests.metrics.samples import make_prompt, make_task

NO_COMMA = {"id": "en:punctuation:no_comma", "kwargs": {}}
ENDS = {"id": "en:startend:end_checker", "kwargs": {"end_phrase": "the end"}}
JAPANESE = {"id": "ja:letters:furigana", "kwargs": {}}
NAMES = (
    "inst_level_strict_acc",
    "prompt_level_strict_acc",
    "inst_level_loose_acc",
    "prompt_level_loose_acc",
)


def _written(*asked: Any) -> tuple[str, ...]:
    return tuple(json.dumps(one) for one in asked)


def _task(**options: Any) -> Task:
    uses = tuple(MetricUse(name, name, options=options) for name in NAMES)
    return replace(make_task("generate", []), metrics=uses)


def _prompt(document: str, *asked: Any) -> Prompt:
    return make_prompt(document=document, group=None, references=_written(*asked))


def _judged(texts: list[str], *asked: dict[str, Any], **options: Any) -> dict[str, Outcome]:
    first, *more = (Text(text, "end", 1) for text in texts)
    found = judge(_task(**options), _prompt("d", *asked), first, further=more)
    return {one.metric: one for one in found}


def test_a_document_has_a_verdict_for_each_instruction_and_for_all() -> None:
    found = _judged(["Well,\nthe end"], NO_COMMA, ENDS)
    assert {name: one.value for name, one in found.items()} == {
        "inst_level_strict_acc": 0.5,
        "prompt_level_strict_acc": 0.0,
        "inst_level_loose_acc": 1.0,
        "prompt_level_loose_acc": 1.0,
    }
    assert found["inst_level_strict_acc"].item == [
        ("punctuation:no_comma", 0.0),
        ("startend:end_checker", 1.0),
    ]


def test_an_empty_answer_is_an_answer_that_follows_nothing() -> None:
    found = _judged([" \n"], NO_COMMA)
    assert {one.value for one in found.values()} == {0.0}
    assert not any(one.failure for one in found.values())


def test_of_several_answers_each_instruction_has_its_mean() -> None:
    found = _judged(["a, b the end", "the end", "nothing"], NO_COMMA, ENDS)
    pooled = found["inst_level_strict_acc"]
    assert pooled.item == [
        ("punctuation:no_comma", pytest.approx(2 / 3)),
        ("startend:end_checker", pytest.approx(2 / 3)),
    ]
    assert pooled.values == (0.5, 1.0, 0.5)
    assert pooled.value == pytest.approx(2 / 3)
    assert found["prompt_level_strict_acc"].values == (0.0, 1.0, 0.0)


def test_a_failed_document_has_no_value() -> None:
    found = judge(_task(), _prompt("d", NO_COMMA), Failure("timeout", "no answer"))
    assert {one.value for one in found} == {None}


def test_the_edition_decides() -> None:
    answer = "人々（ひとびと）"
    assert prompt_level_strict_acc(answer, _written(JAPANESE)) == 1.0
    assert prompt_level_strict_acc(answer, _written(JAPANESE), edition="published") == 0.0
    found = _judged([answer], JAPANESE, edition="published")
    assert found["inst_level_strict_acc"].value == 0.0


def test_instructions_are_pooled_over_documents_and_counted_by_type() -> None:
    """3 of 4 instructions are followed, which is not the mean of the documents' shares."""
    answers = {"a": ("x", [NO_COMMA, ENDS, NO_COMMA]), "b": ("the end", [ENDS])}
    outcomes = [
        judge(_task(), _prompt(name, *asked), Text(text, "end", 1))[0]
        for name, (text, asked) in answers.items()
    ]
    row = summarise("inst_level_strict_acc", "pooled", measured("pooled", outcomes), 0, "t")
    assert row.value == 0.75
    assert [one.value for one in outcomes] == [pytest.approx(2 / 3), 1.0]
    assert row.parts == {"punctuation:no_comma": (2.0, 2), "startend:end_checker": (1.0, 2)}
    assert (row.n, row.clusters, row.interval_method) == (2, 2, "wilson")
    # Linearised: documents deviate by (2 - 0.75 * 3) / 4 and (1 - 0.75) / 4, times G/(G-1).
    assert row.stderr == pytest.approx(math.sqrt(2 * (0.0625**2 + 0.0625**2)))


def test_the_error_is_that_of_prompts_and_not_of_instructions() -> None:
    """Instructions of one prompt that fall together say as much as one of them."""

    def width(copies: int) -> float:
        outcomes = [
            judge(_task(), _prompt(f"{n:03}", *[NO_COMMA] * copies), Text(text, "end", 1))[0]
            for n, text in enumerate(["a,", "b"] * 20)
        ]
        row = summarise("i", "pooled", measured("pooled", outcomes), 0, "t")
        assert row.value == 0.5
        assert row.low is not None and row.high is not None
        return row.high - row.low

    assert width(3) == pytest.approx(width(1))


@pytest.mark.parametrize("item", [None, [], 5, [1], [["a", "b"]]])
def test_parts_that_tenbin_did_not_write_are_refused(item: Any) -> None:
    outcome = replace(judge(_task(), _prompt("d", ENDS), Text("x", "end", 1))[0], item=item)
    with pytest.raises(ResultError, match="document d"):
        measured("pooled", [outcome])


def test_all_wrong_has_an_interval_too() -> None:
    outcomes = [
        judge(_task(), _prompt(f"{n:03}", NO_COMMA, ENDS), Text(",", "end", 1))[0] for n in range(9)
    ]
    row = summarise("i", "pooled", measured("pooled", outcomes), 0, "t")
    assert (row.value, row.low) == (0.0, 0.0)
    assert row.high is not None and 0.2 < row.high < 0.5


def test_the_linearised_error_agrees_with_the_bootstrap() -> None:
    draw = random.Random(3)
    outcomes = []
    for n in range(300):
        asked = [NO_COMMA, ENDS, NO_COMMA][: draw.choice([1, 1, 2, 3])]
        text = draw.choice(["a", "a,", "the end", ", the end"])
        outcomes.append(judge(_task(), _prompt(f"{n:03}", *asked), Text(text, "end", 1))[0])
    found = measured("pooled", outcomes)
    drawn = bootstrap(Resampling(found.cluster_sums(), found.score), 0)
    assert drawn is not None
    assert estimate(found).stderr == pytest.approx(drawn.stderr, rel=0.06)


def test_what_is_no_instruction_fails_its_document_alone() -> None:
    with pytest.raises(UnjudgedError):
        prompt_level_loose_acc("x", ["an answer"])
    with pytest.raises(UnjudgedError):
        prompt_level_loose_acc("x", _written(NO_COMMA, JAPANESE))
    (first, *_) = judge(_task(), _prompt("d", "no mapping"), Text("x", "end", 1))
    assert first.failure is not None and first.failure.kind == "no_instructions"


def test_references_are_checked_before_a_model_loads() -> None:
    check = METRICS["inst_level_strict_acc"].check
    assert check is not None
    check(_written(NO_COMMA, ENDS), "row 3")
    with pytest.raises(DataError, match="row 3: a reference is not an instruction"):
        check(["an answer"], "row 3")
    with pytest.raises(DataError, match="row 3: en:startend:end_checker needs end_phrase"):
        check(_written({**ENDS, "kwargs": {}}), "row 3")


def test_the_share_of_one_document() -> None:
    assert inst_level_strict_acc([("a", 1.0), ("b", 0.0)]) == 0.5
