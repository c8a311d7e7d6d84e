"""Entry points of other packages: names without imports, and errors that name the package."""

from __future__ import annotations

import sys

import pytest

from tenbin.errors import PluginError
from tenbin.plugins import METRICS, entry_points
from tests.conftest import Install


def test_names_are_known_without_an_import(install: Install) -> None:
    install("first", "1.0", "value = 7", seven="first_code:value")
    found = entry_points(METRICS)["seven"]
    assert (found.package, found.version, found.target) == ("first", "1.0", "first_code:value")
    assert "first_code" not in sys.modules
    assert found.load() == 7


@pytest.mark.parametrize(
    ("code", "target", "reason"),
    [
        ("raise RuntimeError('no licence')", "broken_code:value", "RuntimeError: no licence"),
        ("import sys; sys.exit(3)", "broken_code:value", "SystemExit: 3"),
        ("", "broken_code:value", "has no attribute 'value'"),
        ("", "nowhere_at_all:value", "No module named 'nowhere_at_all'"),
        ("", "not a target", "cannot be used"),
    ],
)
def test_a_broken_package_is_named(install: Install, code: str, target: str, reason: str) -> None:
    install("broken", "0.3", code, poor=target)
    with pytest.raises(PluginError) as caught:
        entry_points(METRICS)["poor"].load()
    sys.modules.pop("broken_code", None)
    assert f"broken 0.3: the entry point poor = {target} of {METRICS}" in caught.value.message
    assert reason in caught.value.message


def test_one_name_of_two_packages_is_refused(install: Install) -> None:
    install("left", "1.0", "value = 1", same="left_code:value", other="left_code:value")
    install("right", "2.0", "value = 2", same="right_code:value")
    with pytest.raises(PluginError) as caught:
        entry_points(METRICS)["same"].load()
    assert "left 1.0" in caught.value.message
    assert "right 2.0" in caught.value.message
    assert entry_points(METRICS)["other"].load() == 1
