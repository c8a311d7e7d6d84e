"""The collector rests while libraries come in, and works again afterwards."""

from __future__ import annotations

import gc
import subprocess
import sys

import pytest

from tenbin.backends.gc_pause import paused_gc


def test_nothing_is_collected_inside() -> None:
    assert gc.isenabled()
    frozen = gc.get_freeze_count()
    with paused_gc():
        assert not gc.isenabled()
    assert gc.isenabled()
    # torch is here already: what is collected later may be a model.
    assert gc.get_freeze_count() == frozen


def test_it_works_again_after_an_error() -> None:
    with pytest.raises(KeyError), paused_gc():
        raise KeyError
    assert gc.isenabled()


def test_one_that_was_at_rest_stays_so() -> None:
    gc.disable()
    try:
        with paused_gc():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_what_the_first_import_brings_is_left_alone() -> None:
    code = """
import gc, sys
from tenbin.backends.gc_pause import paused_gc
with paused_gc():
    pass
print(gc.get_freeze_count())
with paused_gc():
    import types
    sys.modules["torch"] = types.ModuleType("torch")
print(gc.get_freeze_count() > 0, gc.isenabled())
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.split() == ["0", "True", "True"]
