"""Every instruction on answers whose verdict was decided by reading the instruction."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

from tenbin.metrics.instructions import (
    INSTRUCTIONS,
    Edition,
    Rules,
    check_asked,
    judge_instructions,
)
from tests.conftest import SHARED

FILES = sorted(Path(__file__).parent.glob("cases_*.yaml"))
VERDICTS = {"pass": (True, True), "loose": (False, True), "fail": (False, False)}


def _groups() -> Iterator[dict[str, Any]]:
    for file in FILES:
        yield from yaml.safe_load(file.read_text("utf-8"))


GROUPS = list(_groups())


def _verdict(id: str, kwargs: dict[str, Any], text: str, edition: Edition) -> tuple[bool, bool]:
    rules = Rules(id.partition(":")[0], edition)
    (found,) = judge_instructions(text, [check_asked(id, kwargs, "case")], rules)
    return found.strict, found.loose


@pytest.mark.parametrize("edition", get_args(Edition))
@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group["id"])
def test_verdicts(group: dict[str, Any], edition: Edition) -> None:
    for text, verdict, *rest in group["cases"]:
        others = rest[0] if rest else {}
        if not group["id"].startswith("ja:"):
            others = {"original": others.get("published", verdict), **others}
        wanted = others.get(edition, verdict)
        assert _verdict(group["id"], group["kwargs"], text, edition) == VERDICTS[wanted], text


def test_every_instruction_has_a_pass_a_fail_and_a_tricky_one() -> None:
    verdicts: dict[str, Counter[str]] = {}
    for group in GROUPS:
        verdicts.setdefault(group["id"], Counter()).update(case[1] for case in group["cases"])
    assert set(verdicts) == set(INSTRUCTIONS)
    assert len(INSTRUCTIONS) == 118
    assert all(one["pass"] and one["fail"] and one.total() >= 3 for one in verdicts.values())
    assert sum(one.total() for one in verdicts.values()) >= 500


@pytest.mark.parametrize("edition", ["published", "corrected"])
def test_published_cases(edition: Edition) -> None:
    """The checked cases of the facts; no fault decides any of them, so both editions agree."""
    file = SHARED / "cases" / "m_ifeval.jsonl"
    if not file.exists():
        pytest.skip(f"no checked cases at {file.relative_to(SHARED.parent)}")
    cases = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    assert len(cases) == 118
    for case in cases:
        found = _verdict(case["instruction_id"], case["kwargs"], case["response"], edition)
        assert found == (case["strict"], case["loose"]), case


@pytest.mark.parametrize("id", INSTRUCTIONS)
@pytest.mark.parametrize("text", ["", " \n\t", "\u3000"])
def test_a_blank_answer_follows_nothing(id: str, text: str) -> None:
    kwargs = next(group["kwargs"] for group in GROUPS if group["id"] == id)
    assert _verdict(id, kwargs, text, "corrected") == (False, False)
    assert _verdict(id, kwargs, text, "published") == (False, False)
