"""What a comparison must show: one row at a time, and how often a verdict over many is wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tenbin.analysis.compare.report import BothSides, ComparedCell, ComparedScore
from tenbin.analysis.compare.requirement import (
    Requirement,
    check_scales,
    judge_row,
    overall,
    parse_requirement,
)
from tenbin.errors import ConfigError
from tenbin.statistics.measured import measured
from tenbin.statistics.paired import compare_members, holm
from tenbin.statistics.paired_sides import PairedMember
from tests.statistics.worlds import outcomes, with_values

ROW = ComparedScore(
    n=400, clusters=400, difference=0.01, stderr=0.012, low=-0.014, high=0.034,
    interval_method="bonett-price", wins=20, losses=16, ties=364, p_value=0.4,
    test="mcnemar, exact", detectable=0.05, baseline=ComparedCell(0, "x"),
    other=ComparedCell(1, "x"), metric="acc", unit="", top=1.0, higher_is_better=True,
    value=BothSides(0.6, 0.61), left_out=BothSides(0, 0), differences=(), correlation=0.5,
    wide_low=-0.02, wide_high=0.04, p_holm=0.8,
)  # fmt: skip


@pytest.mark.parametrize(
    ("written", "changed", "verdict"),
    [
        ("no-worse-than:2", {}, "pass"),
        ("no-worse-than:1", {}, "inconclusive"),
        ("no-worse-than:1", {"low": -0.05, "high": -0.015, "wide_high": -0.005}, "inconclusive"),
        ("no-worse-than:1", {"low": -0.05, "high": -0.03, "wide_high": -0.02}, "fail"),
        ("no-worse-than:2", {"higher_is_better": False}, "inconclusive"),
        ("no-worse-than:4", {"higher_is_better": False}, "pass"),
        ("no-worse-than:2", {"top": 100.0, "unit": "%"}, "pass"),
        ("no-worse-than:2", {"low": None, "high": None, "reason": "too few"}, "inconclusive"),
        ("within:4", {}, "pass"),
        ("within:3", {}, "inconclusive"),
        ("within:1", {"low": 0.02, "wide_low": 0.015, "high": 0.05}, "fail"),
        ("better", {}, "inconclusive"),
        ("better", {"p_value": 0.01}, "pass"),
        ("better", {"p_value": 0.01, "reason": "too few"}, "inconclusive"),
        ("better", {"p_value": 0.01, "higher_is_better": False}, "inconclusive"),
        ("better", {"p_holm": 0.01, "p_value": 0.001, "higher_is_better": False}, "fail"),
    ],
)
def test_one_row(written: str, changed: dict[str, object], verdict: str) -> None:
    assert judge_row(replace(ROW, **changed), parse_requirement(written)).verdict == verdict


def test_how_many_documents_would_decide() -> None:
    # (1.96 + 0.84)² · 400 · (0.012 / 0.01)² = 4,521, in two digits.
    found = judge_row(ROW, Requirement("no-worse-than", 1.0))
    assert found.documents_needed == 4_600
    assert judge_row(ROW, Requirement("within", 50.0)).documents_needed is None
    # Two margins can be missed: (1.96 + 1.28)² instead. In 80 % of runs, both ends stay inside.
    found = judge_row(ROW, Requirement("within", 1.0))
    assert found.documents_needed == 6_100
    ends = np.random.default_rng(1).normal(0, 0.012 * (400 / 6_100) ** 0.5, 20_000)
    passed = abs(ends) + 1.96 * 0.012 * (400 / 6_100) ** 0.5 < 0.01
    assert 0.78 <= passed.mean() <= 0.82


def test_scores_without_points() -> None:
    perplexity = replace(ROW, metric="word_perplexity", top=None)
    check_scales(parse_requirement("better"), [perplexity])
    with pytest.raises(ConfigError, match="word_perplexity of x has no points"):
        check_scales(parse_requirement("no-worse-than:1"), [ROW, perplexity])


def test_all_must_pass_and_one_is_enough_to_fail() -> None:
    assert overall(["pass", "pass"]) == "pass"
    assert overall(["pass", "inconclusive"]) == "inconclusive"
    assert overall(["pass", "inconclusive", "fail"]) == "fail"


def verdicts(
    draw: np.random.Generator, shares: list[tuple[float, float]], written: str, times: int
) -> list[str]:
    """Verdicts over several tasks of 300 documents with the given shares won and lost."""
    like = measured("mean", outcomes([1.0] * 300))
    found = []
    for _ in range(times):
        rows = []
        for won, lost in shares:
            chance = draw.random(300)
            first = with_values(like, np.where(chance < won, 0.0, 1.0))
            other = with_values(like, np.where((chance >= won) & (chance < won + lost), 0.0, 1.0))
            one = compare_members([PairedMember("", first, other)], tests=len(shares))
            rows.append(
                replace(
                    ROW, difference=one.difference, low=one.low, high=one.high,
                    wide_low=one.wide_low, wide_high=one.wide_high, p_value=one.p_value,
                )
            )  # fmt: skip
        corrected = holm([row.p_value for row in rows])
        requirement = parse_requirement(written)
        judged = [
            judge_row(replace(row, p_holm=p), requirement).verdict
            for row, p in zip(rows, corrected, strict=True)
        ]
        found.append(overall(judged))
    return found


def test_wrong_verdicts_are_rare() -> None:
    draw = np.random.default_rng(3)
    # One of four tasks is worse by exactly the margin: passing is wrong.
    passed = verdicts(draw, [(0.05, 0.1), *[(0.1, 0.05)] * 3], "no-worse-than:5", 100)
    assert passed.count("pass") / 100 <= 0.06
    # All of six are at the margin: failing is wrong, though each has its chance to.
    failed = verdicts(draw, [(0.05, 0.1)] * 6, "no-worse-than:5", 60)
    assert failed.count("fail") / 60 <= 0.06
    # None differs: neither `better` nor its opposite is claimed.
    same = verdicts(draw, [(0.05, 0.05)] * 4, "better", 60)
    assert same.count("inconclusive") / 60 >= 0.93
    # And what is so is found.
    assert verdicts(draw, [(0.15, 0.03)] * 3, "better", 20).count("pass") >= 18
    assert verdicts(draw, [(0.02, 0.2)] * 3, "no-worse-than:5", 20).count("fail") >= 18
