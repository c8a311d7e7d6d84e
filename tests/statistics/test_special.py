"""scipy's functions without its package: the same functions, and the package stays usable."""

from __future__ import annotations

import subprocess
import sys

import pytest

_ALONE = """
import sys
from tenbin.statistics.special import special

found = special()
assert found.stdtrit(19, 0.975) > 2
assert "scipy.special" not in sys.modules and "numpy.f2py" not in sys.modules
import scipy.special
for name in ("stdtrit", "ndtr", "ndtri", "fdtrc", "bdtr", "bdtrik", "gammaln"):
    assert getattr(found, name) is getattr(scipy.special, name), name
assert scipy.special.gammaln(3.0) > 0
"""
_BESIDE_A_THREAD = """
import sys, threading
from tenbin.statistics.special import special

held = threading.Event()
threading.Thread(target=held.wait, name=sys.argv[1]).start()
try:
    found = special()
    assert found.stdtrit(19, 0.975) > 2
    assert ("scipy.special" in sys.modules) == (sys.argv[1] != "tenbin-stop")
finally:
    held.set()
"""


def _run(code: str, *arguments: str) -> None:
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_functions_are_those_of_the_package() -> None:
    _run(_ALONE)


@pytest.mark.parametrize("name", ["other", "tenbin-stop"])
def test_beside_a_thread_that_may_import_the_package_is_loaded_whole(name: str) -> None:
    _run(_BESIDE_A_THREAD, name)
