"""Parts of a result that contradict each other are refused when it is read."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import tenbin
from tenbin.errors import ResultError
from tenbin.results.read import parse_result

Change = Callable[[dict[str, Any]], object]


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    run = tenbin.evaluate(
        "scripted", "mlogiqa_gen", sample_data=True, limit=1, gen_kwargs="temperature=0.5"
    )
    return dict(run.document)


CHANGES: list[tuple[str, Change]] = [
    ("groups: lacks mlogiqa_gen", lambda d: d["groups"].clear()),
    ("group_details: lacks mlogiqa_gen", lambda d: d["group_details"].clear()),
    ("is sampled and lacks top_p", lambda d: d["configs"]["mlogiqa_gen_ja"].update(top_p=None)),
    ("model.engine: ", lambda d: d["model"].update(engine="tree")),
    ("details: lacks mlogiqa_gen_ja", lambda d: d["details"].pop("mlogiqa_gen_ja")),
]


@pytest.mark.parametrize(("fault", "change"), CHANGES, ids=[fault for fault, _ in CHANGES])
def test_what_does_not_fit_together_is_named(
    document: dict[str, Any], fault: str, change: Change
) -> None:
    assert parse_result(document, Path("result.json")).to_json() == document
    changed = copy.deepcopy(document)
    change(changed)
    with pytest.raises(ResultError) as caught:
        parse_result(changed, Path("result.json"))
    assert fault in caught.value.message


def test_samples_without_an_outcome_that_has_a_score(tmp_path: Path) -> None:
    paths = [tmp_path / f"{name}.json" for name in ("one", "two")]
    for at, path in enumerate(paths):
        tenbin.evaluate(
            "scripted", "jnli", sample_data=True, limit=8, output_path=str(path),
            model_args={"fingerprint": str(at)},
        )  # fmt: skip
    runs = [tenbin.load_run(path) for path in paths]
    samples = list(runs[1].samples)
    for sample in samples:
        sample["outcomes"] = [one for one in sample["outcomes"] if one["metric"] != "acc"]
    runs[1] = replace(runs[1], samples=samples)
    with pytest.raises(ResultError, match="no sample has an outcome of it"):
        tenbin.compare(*runs, metrics=["acc"])
