"""Chooses the fastest scoring core that gives the right numbers for this very model.

Not every architecture allows every way of sharing work, and names do not tell. So the first run
asks the model itself (`probe`). A candidate that fails is passed over with one line that says why;
it never returns a number. Knows cores; knows no request.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from tenbin.backends.hf.cached import CachedContexts
from tenbin.backends.hf.compiling import Compiling, When
from tenbin.backends.hf.desk import ScoringCore
from tenbin.backends.hf.encoding import Row
from tenbin.backends.hf.forward import Forward
from tenbin.backends.hf.masked import MaskedRows
from tenbin.backends.hf.memory import fitted_budget, release_memory
from tenbin.backends.hf.packed import PackedTree
from tenbin.backends.hf.probe import Candidate, Probe, made_up, scores_of
from tenbin.backends.hf.rows import PlainRows
from tenbin.errors import BackendError


@dataclass(frozen=True, slots=True)
class Choice:
    """A core, and why no faster one."""

    core: ScoringCore
    reasons: tuple[str, ...] = ()


def choose_core(
    forward: Forward,
    engine: str,
    batch_size: int | Literal["auto"],
    row_budget: int,
    pack_budget: int,
    compiling: When = "auto",
) -> Choice:
    """The fastest core that passes the probe, or the one that was asked for.

    Args:
        forward: The model.
        engine: `auto`, or a rung by name.
        batch_size: Rows a batch of plain rows, or `auto`.
        row_budget: Padded tokens a batch of plain rows.
        pack_budget: Tokens a pack.
        compiling: When the packed tree compiles the model's layers.

    Raises:
        BackendError: The core that was asked for fails the probe.
    """
    rungs: dict[str, tuple[str, list[Callable[[], Candidate]]]] = {
        "tree": (PackedTree.mode, [lambda: PackedTree(forward, pack_budget)]),
        "rows": (MaskedRows.mode, [lambda: MaskedRows(forward, pack_budget)]),
        "cache": (
            CachedContexts.mode,
            [
                lambda: CachedContexts(forward, row_budget),
                lambda: CachedContexts(forward, row_budget, stepwise=True),
            ],
        ),
    }
    probe = Probe(forward)

    def compiled() -> PackedTree:
        return PackedTree(forward, pack_budget, Compiling("always"))

    passed_over: list[str] = []
    for name, (mode, makers) in rungs.items():
        if engine not in ("auto", name):
            continue
        reasons = []
        for make in makers:
            reason = probe.refusal(make)
            if reason is None:
                core = _fitted(forward, make)
                if isinstance(core, PackedTree):
                    core.compiling = Compiling(compiling, lambda: probe.refusal(compiled))
                return Choice(core, tuple(passed_over))
            reasons.append(reason)
        why = "; ".join(dict.fromkeys(reasons))
        if engine == name:
            raise BackendError(
                f"engine={name} does not fit this model: {why}",
                "leave engine out to let tenbin choose",
            )
        passed_over.append(f"{mode}: {why}")
    plain = _fitted(forward, lambda: PlainRows(forward, batch_size, row_budget))
    return Choice(plain, tuple(passed_over))


def _fitted(forward: Forward, make: Callable[[], ScoringCore]) -> ScoringCore:
    """A core whose budget is what memory holds."""
    core = make()

    def measure(tokens: int) -> None:
        trial = make()
        trial.budget = tokens
        scores_of(trial, _families(forward, tokens))

    config = forward.model.config.get_text_config()
    try:
        core.budget = fitted_budget(forward.device, config, core.budget, measure)
    except (RuntimeError, MemoryError):
        # Halving finds the size where measuring it did not.
        release_memory(forward.device)
    return core


def _families(forward: Forward, tokens: int) -> list[list[Row]]:
    """Contexts with a few answers, enough to fill a batch of so many tokens under any core."""
    generator = random.Random(tokens)
    groups = []
    for _ in range(tokens // 40):
        context = made_up(generator, forward, 32)
        groups.append([Row(context + made_up(generator, forward, 8), 2) for _ in range(4)])
    return groups
