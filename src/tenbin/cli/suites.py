"""`tenbin tasks --suites`: what is in each suite, and what it costs."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from tenbin.errors import ConfigError, guess_at

REGIMES = ("few-shot-likelihood", "zero-shot-chat")
"""Profiles that suites are listed under where the user names none."""
_UNITS = {"": 1.0, "K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}


def list_suites(options: argparse.Namespace) -> int:
    """Print every suite, or the tasks of the one that is named."""
    from tenbin.cli.flags import flags_of
    from tenbin.pipeline.suite_cost import measure_rate, suite_costs
    from tenbin.report.terminal.console import make_console
    from tenbin.report.terminal.progress import open_progress
    from tenbin.report.terminal.suites import print_method, print_suite
    from tenbin.tasks.groups import suite_definitions

    known = suite_definitions()
    if options.pattern and options.pattern not in known:
        raise ConfigError(
            f"there is no suite {options.pattern!r}",
            f"{guess_at(options.pattern, known)}suites: {', '.join(known)}",
        )
    parameters = _number(options.parameters) if options.parameters else None
    count = _counter(options.tokenizer) if options.tokenizer else None
    rate = measure_rate() if parameters else None
    profile = flags_of(options).get("profile")
    console, listener = make_console(), open_progress()
    for name in [options.pattern] if options.pattern else known:
        costs = {
            regime: suite_costs(name, regime, count, listener)
            for regime in ([profile] if profile else REGIMES)
        }
        each = options.pattern is not None
        print_suite(name, known[name], costs, console, each, parameters, rate)
    print_method(console, options.tokenizer, parameters, rate)
    return 0


def _number(text: str) -> float:
    """`8B` or `135M` as a number.

    Raises:
        ConfigError: It is none.
    """
    unit = text[-1].upper() if text[-1:].isalpha() else ""
    digits = text[:-1] if unit else text
    try:
        number = float(digits) * _UNITS[unit]
    except (ValueError, KeyError):
        number = 0.0
    if not 0 < number < 1e16:
        raise ConfigError(
            f"--parameters {text}: not a number of parameters", "write 8B, 135M or 8000000000"
        )
    return number


def _counter(place: str) -> Callable[[str], int]:
    from tenbin.backends.base import BackendSettings
    from tenbin.backends.registry import open_tokenizer

    tokenizer = open_tokenizer(BackendSettings(model="hf", model_args={"pretrained": place}))
    return lambda text: tokenizer.answer_lengths([text])[0] if text else 0
