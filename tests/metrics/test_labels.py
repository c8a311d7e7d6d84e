"""The reader of labels, on answers as models write them."""

from pathlib import Path

import pytest
import yaml

from tenbin.metrics import filters
from tenbin.metrics.extraction.labels import read_label

_CASES = yaml.safe_load((Path(__file__).parent / "label_cases.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "case", _CASES["cases"], ids=[f"{at}-{case['set']}" for at, case in enumerate(_CASES["cases"])]
)
def test_reads_as_a_human_reader(case):
    assert read_label(case["text"], _CASES["sets"][case["set"]]) == case["expected"]


def test_there_are_many_cases():
    assert len(_CASES["cases"]) >= 100


def test_as_a_filter_step():
    labels = {"含意": ["含意"], "矛盾": ["矛盾"]}
    steps = (("label_flexible", {"labels": labels}),)
    filters.check(steps)
    assert filters.apply(steps, ["答えは矛盾です。", "？"], "ja") == ["矛盾", None]
    told = filters.explain(steps, "答えは矛盾です。", "ja")
    assert [(step.name, step.text) for step in told] == [("label_flexible", "矛盾")]
