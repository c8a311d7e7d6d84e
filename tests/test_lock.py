"""The lock: exact versions with hashes, within the ranges of pyproject.toml, torch apart."""

from __future__ import annotations

import re
import sys
from importlib.metadata import version

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.conftest import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LOCK = (ROOT / "requirements" / "lock.txt").read_text("utf-8")
ENTRY = re.compile(
    r"^(?P<requirement>[^\s#].*?) \\\n(?P<hashes>(?: +--hash=sha256:[0-9a-f]{64}.*\n?)+)", re.M
)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
INSTALLED_EXTRAS = ("hf", "report", "datasets", "instructions", "peft", "ray", "dev")


def _locked() -> dict[str, Requirement]:
    """What the lock holds for this Python on this platform."""
    found = [Requirement(entry["requirement"]) for entry in ENTRY.finditer(LOCK)]
    here = [one for one in found if one.marker is None or one.marker.evaluate()]
    names = [canonicalize_name(one.name) for one in here]
    assert len(names) == len(set(names)), "one version of a package for one platform"
    return dict(zip(names, here, strict=True))


def _wanted() -> list[Requirement]:
    extras = PROJECT["optional-dependencies"]
    lines = [
        *PROJECT["dependencies"],
        *(line for name in INSTALLED_EXTRAS for line in extras[name]),
    ]
    return [Requirement(line) for line in lines]


def test_every_entry_is_exact_and_has_hashes() -> None:
    entries = [line for line in LOCK.splitlines() if re.match(r"[^\s#]", line)]
    assert len(entries) == len(ENTRY.findall(LOCK)) > 100
    assert all(re.match(r"[\w.-]+==[\w.]+( ; .+)? \\$", line) for line in entries)


def test_torch_and_its_builds_are_pinned_by_version_alone() -> None:
    assert not re.search(r"^(torch|triton|nvidia-|cuda-)", LOCK, re.M)
    assert re.search(r"^torch==[\d.]+$", (ROOT / "requirements/torch.txt").read_text("utf-8"), re.M)


def test_no_address_of_an_index_is_in_it() -> None:
    assert "://" not in LOCK
    assert "--index" not in LOCK


@pytest.mark.parametrize("wanted", _wanted(), ids=lambda wanted: wanted.name)
def test_every_dependency_is_locked_within_its_range(wanted: Requirement) -> None:
    if wanted.name == "torch":
        return
    locked = _locked()[canonicalize_name(wanted.name)]
    (exact,) = locked.specifier
    assert wanted.specifier.contains(exact.version)


def test_the_environment_of_these_tests_is_the_locked_one() -> None:
    other = {}
    for name, requirement in _locked().items():
        (exact,) = requirement.specifier
        if version(name) != exact.version:
            other[name] = (version(name), exact.version)
    assert not other
