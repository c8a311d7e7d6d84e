"""SQuAD's exact match and F1, for transformers versions that no longer have them.

Functions of lm-eval's xquad and coqa import `transformers.data.metrics.squad_metrics`, which
transformers 5 dropped: without it neither program can run them. `provide` puts this module in its
place, for both, where it is missing.
"""

from __future__ import annotations

import re
import string
import sys
from collections import Counter
from importlib.util import find_spec
from types import ModuleType


def provide() -> bool:
    """Return whether this module had to be put there."""
    if find_spec("transformers.data.metrics") is not None:
        return False
    package = ModuleType("transformers.data.metrics")
    package.__path__ = []
    package.squad_metrics = sys.modules[__name__]  # type: ignore[attr-defined]
    sys.modules["transformers.data.metrics"] = package
    sys.modules["transformers.data.metrics.squad_metrics"] = sys.modules[__name__]
    return True


def _words(text: str) -> list[str]:
    """Lower case, without punctuation and articles."""
    kept = "".join(letter for letter in text.lower() if letter not in string.punctuation)
    return re.sub(r"\b(a|an|the)\b", " ", kept).split()


def compute_exact(gold: str, answer: str) -> int:
    """1 where both have the same words in the same order."""
    return int(_words(gold) == _words(answer))


def compute_f1(gold: str, answer: str) -> float:
    """The harmonic mean of precision and recall over words."""
    wanted, found = _words(gold), _words(answer)
    if not wanted or not found:
        return float(wanted == found)
    common = sum((Counter(wanted) & Counter(found)).values())
    if not common:
        return 0.0
    precision, recall = common / len(found), common / len(wanted)
    return 2 * precision * recall / (precision + recall)
