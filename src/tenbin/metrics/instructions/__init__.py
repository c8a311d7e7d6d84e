"""Instruction following: rules that decide whether an answer does what its prompt asks.

The 118 instructions of M-IFEval in Japanese, English, Spanish and French, each a pure function of
the text. docs/instruction-following.md says what each edition of the rules decides.
"""

from tenbin.metrics.instructions.base import LANGUAGES, Edition, Rules
from tenbin.metrics.instructions.registry import (
    INSTRUCTIONS,
    Asked,
    check_asked,
    tools_of,
)
from tenbin.metrics.instructions.verdicts import Verdict, judge_instructions, loose_variants

__all__ = [
    "INSTRUCTIONS",
    "LANGUAGES",
    "Asked",
    "Edition",
    "Rules",
    "Verdict",
    "check_asked",
    "judge_instructions",
    "loose_variants",
    "tools_of",
]
