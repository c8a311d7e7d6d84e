"""Option order of stored runs: which cells belong together, and what their answers are."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from rich.console import Console

import tenbin
from tenbin.analysis.option_order.answers import rotations_of_others
from tenbin.analysis.option_order.report import (
    OptionOrderReport,
    has_rotations,
    option_order_report,
)
from tenbin.analysis.sweep.options import swept_tasks
from tenbin.errors import ConfigError, ResultError
from tenbin.report.terminal.option_order import print_option_order
from tenbin.results.schema import RunResult, Sample, SampleOutcome
from tests.results.made_result import cell_config, made_result

COUNT = 3
"""Options of a made-up question."""


def made_run(rotations: int = COUNT, **changes: Any) -> RunResult:
    return made_result(
        {
            _id(at): cell_config(template=f"0.3~{at}" if at else "0.3", **_rotation(at), **changes)
            for at in range(rotations)
        }
    )


def _id(rotation: int) -> str:
    return f"jnli-1.1-0.3~{rotation}" if rotation else "jnli-1.1-0.3"


def _rotation(rotation: int) -> dict[str, int]:
    return {"rotation": rotation} if rotation else {}


def made_sample(
    rotation: int, document: int, option: int, chosen: int | None, **changes: Any
) -> Sample:
    """A document whose right option is `option` in the row, and of which a position was chosen."""
    shown = (option - rotation) % COUNT
    right = None if changes.get("failed") else float(chosen == shown)
    keys: dict[str, Any] = {
        "gold": shown,
        "choices": ["A", "B", "C"],
        "num_choices": COUNT,
        "rotation": rotation or None,
        "outcomes": [SampleOutcome("acc", right, predicted=chosen)],
    }
    changes.pop("failed", None)
    return Sample(
        _id(rotation), "jnli", "1.1", "0.3", "ja", 0, 1234, str(document), **{**keys, **changes}
    )


def found(samples: list[Sample], run: RunResult | None = None) -> OptionOrderReport:
    return option_order_report(run or made_run(), samples)


def test_positions_are_those_that_were_shown() -> None:
    """Always A: right wherever the right answer stands first, which is once in three orders."""
    samples = [made_sample(r, at, at % 3, 0) for at in range(12) for r in range(COUNT)]
    (one,) = found(samples).templates
    assert (one.id, one.options, one.documents, one.left_out) == ("jnli-1.1-0.3", 3, 12, 0)
    assert one.ids == ("jnli-1.1-0.3", "jnli-1.1-0.3~1", "jnli-1.1-0.3~2")
    assert [(p.position, p.chosen.value, p.recall.value) for p in one.positions] == [
        ("A", 1, 1), ("B", 0, 0), ("C", 0, 0),
    ]  # fmt: skip
    assert one.mean.value == pytest.approx(1 / 3)
    assert one.removed is None and one.combined is None


def test_log_likelihoods_give_a_prior() -> None:
    samples = [
        made_sample(r, at, at % 3, 0, logprobs=[-1.0, -2.0, -2.0])
        for at in range(12)
        for r in range(COUNT)
    ]
    (one,) = found(samples).templates
    assert one.removed is not None
    prior = one.removed.prior
    assert prior[0] == pytest.approx(prior[1] * 2.718281828, rel=1e-6)
    assert sum(prior) == pytest.approx(1)


def test_documents_without_an_answer_in_one_order_are_left_out() -> None:
    samples = [
        made_sample(r, at, 0, 1, failed=(at, r) == (4, 2)) for at in range(8) for r in range(COUNT)
    ]
    samples += [made_sample(r, 99, 0, 1, num_choices=2, choices=["A", "B"]) for r in range(COUNT)]
    (one,) = found(samples).templates
    assert (one.documents, one.left_out) == (7, 2)


def test_rotations_of_a_part_of_the_documents() -> None:
    """Rotated cells asked four of twenty documents: the others count in the row's order."""
    samples = [made_sample(0, at, at % 3, 0, logprobs=[-1, -2, -3]) for at in range(20)]
    samples += [
        made_sample(r, at, at % 3, 0, logprobs=[-1, -2, -3]) for at in range(4) for r in (1, 2)
    ]
    (one,) = found(samples).templates
    assert (one.documents, one.complete, one.left_out, one.every_order) == (20, 4, 0, False)
    assert one.removed is not None
    assert (one.removed.prior_documents, one.removed.score.n) == (4, 16)


def test_generated_letters_are_positions() -> None:
    run = made_run(output_type="generate")
    samples = [
        made_sample(
            r, at, at % 3, None, gold=None, choices=None, references=["ABC"[(at % 3 - r) % 3]],
            outcomes=[SampleOutcome("acc", float((at % 3 - r) % 3 == 1), ["B", " B ", None][r])],
        )
        for at in range(9) for r in range(COUNT)
    ]  # fmt: skip
    (one,) = found(samples, run).templates
    assert [p.chosen.value for p in one.positions] == [0, pytest.approx(2 / 3), 0]


def test_what_cannot_be_put_together_is_said() -> None:
    lacking = made_run(2)
    report = found([made_sample(r, at, 0, 0) for at in range(4) for r in (0, 1)], lacking)
    assert report.templates == ()
    assert report.notes == ("jnli-1.1-0.3: rotation 2 of 3 was not asked",)
    words = [
        made_sample(r, at, 0, None, gold=None, references=["含意"])
        for at in range(4) for r in range(COUNT)
    ]  # fmt: skip
    assert "with a position" in found(words).notes[0]
    assert not has_rotations(made_run(1))


def test_a_rotation_is_no_option_of_a_sweep() -> None:
    run = made_run()
    assert rotations_of_others(run) == {"jnli-1.1-0.3~1", "jnli-1.1-0.3~2"}
    alone = run.model_copy(
        update={"configs": {id: c for id, c in run.configs.items() if c.rotation}}
    )
    assert rotations_of_others(alone) == set()
    outcomes = tenbin.evaluate(
        model="scripted", tasks="jcommonsenseqa-1.1-0.2,jcommonsenseqa-1.1-0.3",
        rotations=True, sample_data=True, limit=6, no_cache=True, progress=False,
    )  # fmt: skip
    from tenbin.results.samples import outcomes_of

    (task,) = swept_tasks(outcomes.result, outcomes_of(outcomes.sample_records()))
    assert [option.template for option in task.options] == ["0.2", "0.3"]


def test_a_run_says_how_scores_depend_on_the_order() -> None:
    run = tenbin.evaluate(
        model="scripted", tasks="mlogiqa_mcq_ja", template="native+letter", rotations=True,
        sample_data=True, num_fewshot=1, no_cache=True, progress=False,
    )  # fmt: skip
    order = run.option_order()
    (one,) = order.record.templates
    assert one.options == 4 and one.removed is not None
    assert [row["position"] for row in order.table()] == ["A", "B", "C", "D"]
    scores = [
        run.scores[f"mlogiqa_mcq_ja-1.0-native+letter{mark}"]["acc"]
        for mark in ("", "~1", "~2", "~3")
    ]
    assert [score.value for score in one.rotations] == pytest.approx(scores)
    assert one.mean.value == pytest.approx(sum(s or 0 for s in scores) / 4)
    console = Console(file=StringIO(), width=120)
    print_option_order(order.record, console)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "option order of mlogiqa_mcq_ja-1.0-native+letter  acc ↑" in text
    assert "mean over all orders" in text
    assert order["templates"][0]["id"] == one.id


def test_runs_without_rotations() -> None:
    run = tenbin.evaluate(
        model="scripted", tasks="jnli-1.3-0.3", sample_data=True, limit=2, no_cache=True,
        progress=False,
    )  # fmt: skip
    with pytest.raises(ResultError, match="one order only"):
        run.option_order()
    with pytest.raises(ConfigError, match="--rotations changes nothing"):
        tenbin.evaluate(
            model="scripted", tasks="jnli-1.3-0.2,marc_ja", rotations=True, sample_data=True
        )


def test_rotated_orders_of_a_share_of_the_documents() -> None:
    options: dict[str, Any] = {
        "model": "scripted", "tasks": "jcommonsenseqa-1.1-0.2", "sample_data": True,
        "no_cache": True, "progress": False,
    }  # fmt: skip
    run = tenbin.evaluate(**options, rotations=True, rotated_share="50%")
    base, *others = run.result.configs
    assert others == [f"{base}~{rotation}@part" for rotation in (1, 2, 3, 4)]
    assert {run.result.configs[id].role for id in others} == {"part"}
    asked: dict[str, set[str]] = {}
    for sample in run.sample_records():
        asked.setdefault(sample.id, set()).add(sample.document)
    assert {len(asked[base]), *(len(asked[id]) for id in others)} == {20, 10}
    assert all(asked[id] == asked[others[0]] < asked[base] for id in others)
    (one,) = run.option_order().record.templates
    assert one.removed is not None
    assert (one.documents, one.complete, one.removed.score.n) == (20, 10, 10)
    whole = tenbin.evaluate(**options)
    assert one.as_asked.value == whole.scores[base]["acc"]
    with pytest.raises(ConfigError, match="of 1 of 20 documents, and 10 are needed"):
        tenbin.evaluate(**options, rotations=True, rotated_share=0.05)
    for wrong in ({"rotated_share": 0.5}, {"rotations": True, "rotated_share": 1.5}):
        with pytest.raises(ConfigError, match="rotated_share"):
            tenbin.evaluate(**options, **wrong)
