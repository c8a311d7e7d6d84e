"""A short run of the fuzzer, the inputs that it once stumbled over, and whether it finds faults."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.replaying import kept_cases
from tests.fuzz.running import Plan, fuzz
from tests.fuzz.targets import NAMES, find_targets
from tests.fuzz.verdict import judge
from tests.metrics.watchdog import watchdog

SEED = 20_260_801
INPUTS = 40
SHORT = tuple(name for name in NAMES if name != "chat_template")
"""Without what takes long to import."""


@pytest.mark.parametrize("name", NAMES)
def test_valid_inputs_are_accepted(name: str, tmp_path: Path) -> None:
    (target,) = find_targets([name])
    for number, seed in enumerate(target.seeds()):
        verdict = judge(target, seed, tmp_path)
        assert verdict.kind == "accepted", (number, verdict)


@pytest.mark.parametrize(
    ("name", "path"), kept_cases(), ids=lambda one: one.name if isinstance(one, Path) else one
)
def test_what_was_a_finding_is_none(name: str, path: Path, tmp_path: Path) -> None:
    (target,) = find_targets([name])
    with watchdog(60):
        verdict = judge(target, path.read_bytes(), tmp_path)
    assert verdict.kind != "finding", verdict


def test_a_short_run_finds_nothing() -> None:
    outcome = fuzz(Plan(SHORT, SEED, inputs=INPUTS))
    assert outcome.findings == []
    for name, target in zip(SHORT, find_targets(SHORT), strict=True):
        assert outcome.tallies[name].inputs == int(INPUTS * target.share)


PLANTED = {
    "raises": "KeyError at outside",
    "long": "long message at outside",
    "empty": "empty message at outside",
    "raw": "raw characters in message at outside",
    "slow": "slow",
    "memory": "memory",
    "hangs": "hangs",
    "dies": "ends the process (-9)",
}


def test_planted_faults_are_found_and_made_small() -> None:
    outcome = fuzz(Plan(("planted",), 769, inputs=9, hang=8.0))
    assert {one.place for one in outcome.findings} == set(PLANTED.values())
    # What hung or died is an input too, and the worker went on behind it.
    assert outcome.tallies["planted"].inputs == 9
    (finding,) = (one for one in outcome.findings if one.place == PLANTED["raises"])
    assert finding.input == b"raises"
