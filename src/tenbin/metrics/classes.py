"""Metrics over classes for generated answers: what is read is one of a few labels.

They are called as those of choice tasks and give the same numbers for the same classes. An answer
out of which no class could be read is a prediction of its own, which is never right.
"""

from __future__ import annotations

from collections.abc import Sequence

from tenbin.metrics.base import CLASSES, metric
from tenbin.metrics.options import Option

_CLASSES = Option(
    "a list of two or more different texts",
    lambda value: (
        isinstance(value, list | tuple)
        and len(value) > 1
        and all(isinstance(one, str) for one in value)
        and len(set(value)) == len(value)
    ),
    required=True,
)


@metric("balanced_acc", "generate", aggregation="balanced_acc", options={CLASSES: _CLASSES})
def balanced_acc(answer: str, references: Sequence[str], *, classes: Sequence[str]) -> float:
    """1 for the right class; aggregated to the mean recall over the classes that occur."""
    return float(answer == references[0])


@metric("mcc", "generate", aggregation="mcc", options={CLASSES: _CLASSES})
def mcc(answer: str, references: Sequence[str], *, classes: Sequence[str]) -> float:
    """1 for the right class; aggregated to Matthews correlation of right and read classes."""
    return float(answer == references[0])


@metric("macro_f1", "generate", aggregation="macro_f1", options={CLASSES: _CLASSES})
def macro_f1(answer: str, references: Sequence[str], *, classes: Sequence[str]) -> float:
    """1 for the right class; aggregated to the mean F1 over classes."""
    return float(answer == references[0])
