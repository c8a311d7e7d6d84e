"""Lets torch's threads give up their cores while they wait, where other programs want the cores.

OpenMP's threads wait for each other in busy loops. On a quiet machine that is fastest. Where other
programs run, the thread that is waited for may have no core, and the others burn theirs meanwhile:
with six processes on two cores a run took four times as long, and seven times the processor time.
Which thread computes what, and so every number, is the same.
"""

from __future__ import annotations

import os
import sys

_BUSY = 2.0
"""Processes per core that want to run, above which a machine is busy; a run alone makes one."""
_SETTINGS = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")
"""The user's own say in this."""


def wait_without_spinning_if_busy() -> None:
    """Set OpenMP's passive waiting on a busy machine; torch reads it when it is imported."""
    if "torch" in sys.modules or any(name in os.environ for name in _SETTINGS):
        return
    if _processes_per_core() > _BUSY:
        os.environ["OMP_WAIT_POLICY"] = "PASSIVE"


def _processes_per_core() -> float:
    """How many processes wanted to run in the last minute; 0 where the system does not tell."""
    try:
        return os.getloadavg()[0] / (os.cpu_count() or 1)
    except (AttributeError, OSError):
        return 0.0
