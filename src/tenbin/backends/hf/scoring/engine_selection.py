"""Chooses the fastest scoring core that gives the right numbers for this very model.

Not every architecture allows every way of sharing work, and names do not tell. So the first run
asks the model itself (`probe`). A candidate that fails is passed over with one line that says why;
it never returns a number. Knows cores; knows no request.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tenbin.backends.hf.model.compilation import Compiling, When
from tenbin.backends.hf.model.forward import Forward
from tenbin.backends.hf.model.memory import fitted_budget, release_memory
from tenbin.backends.hf.scoring.cache import CachedContexts
from tenbin.backends.hf.scoring.masked_rows import MaskedRows
from tenbin.backends.hf.scoring.plain import PlainRows
from tenbin.backends.hf.scoring.probe import Probe, made_up, scores_of
from tenbin.backends.hf.scoring.tree import PackedTree
from tenbin.backends.text.encoding import Row
from tenbin.backends.text.score_collector import ScoringCore
from tenbin.errors import BackendError


@dataclass(frozen=True, slots=True)
class Finding:
    """Which way of scoring is right for a model: what the probe says."""

    rung: str
    variant: int = 0
    """Which of the rung's ways."""
    passed_over: tuple[str, ...] = ()
    """Faster rungs, and why not they."""
    is_settled: bool = True
    """Whether memory had no part in it, so that the same model will be judged the same."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A core, and what was found out to choose it."""

    core: ScoringCore
    finding: Finding

    single: ScoringCore
    """Scores rows one at a time: what the model says where a batch gives no finite number."""

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why no faster one."""
        return self.finding.passed_over


def choose_core(
    forward: Forward,
    engine: str,
    batch_size: int | Literal["auto"],
    row_budget: int,
    pack_budget: int,
    compiling: When = "auto",
    known: Finding | None = None,
    memory_share: float | None = None,
) -> Choice:
    """The fastest core that passes the probe, or the one that was asked for.

    Args:
        forward: The model.
        engine: `auto`, or a rung by name.
        batch_size: Rows a batch of plain rows, or `auto`.
        row_budget: Padded tokens a batch of plain rows.
        pack_budget: Tokens a pack.
        compiling: When the packed tree compiles the model's layers.
        known: What was found out about this model before; spares the probe.
        memory_share: Part of the device's memory to count on; None: what is free.

    Raises:
        BackendError: The core that was asked for fails the probe.
        NotFiniteError: The model gives no finite log-likelihoods.
    """
    rungs = _rungs(forward, batch_size, row_budget, pack_budget)
    probe = Probe(forward)
    finding = known or _probed(rungs, probe, engine)
    core = _fitted(forward, rungs[finding.rung].ways[finding.variant], memory_share)
    if isinstance(core, PackedTree):

        def compiled() -> PackedTree:
            return PackedTree(forward, pack_budget, Compiling("always"))

        core.compiling = Compiling(compiling, lambda: probe.refusal(compiled))
    return Choice(core, finding, PlainRows(forward, 1, 1))


@dataclass(frozen=True, slots=True)
class _Rung:
    mode: str
    """What results call it."""
    ways: tuple[Callable[[], Any], ...]
    """Make its core, the fastest first."""


def _rungs(
    forward: Forward, batch_size: int | Literal["auto"], row_budget: int, pack_budget: int
) -> dict[str, _Rung]:
    """All rungs by name, the fastest first."""
    return {
        "tree": _Rung(PackedTree.mode, (lambda: PackedTree(forward, pack_budget),)),
        "rows": _Rung(MaskedRows.mode, (lambda: MaskedRows(forward, pack_budget),)),
        "cache": _Rung(
            CachedContexts.mode,
            (
                lambda: CachedContexts(forward, row_budget),
                lambda: CachedContexts(forward, row_budget, stepwise=True),
            ),
        ),
        "plain": _Rung(PlainRows.mode, (lambda: PlainRows(forward, batch_size, row_budget),)),
    }


def _probed(rungs: Mapping[str, _Rung], probe: Probe, engine: str) -> Finding:
    probe.require_finite()
    passed_over: list[str] = []
    for name, rung in rungs.items():
        # Plain rows are the measure of all others and need no proof.
        if name == "plain" or engine not in ("auto", name):
            continue
        reasons = []
        for variant, make in enumerate(rung.ways):
            reason = probe.refusal(make)
            if reason is None:
                return Finding(name, variant, tuple(passed_over), not probe.was_cramped)
            reasons.append(reason)
        why = "; ".join(dict.fromkeys(reasons))
        if engine == name:
            raise BackendError(
                f"engine={name} does not fit this model: {why}",
                "leave engine out to let tenbin choose",
            )
        passed_over.append(f"{rung.mode}: {why}")
    return Finding("plain", 0, tuple(passed_over), not probe.was_cramped)


def _fitted(
    forward: Forward, make: Callable[[], ScoringCore], memory_share: float | None
) -> ScoringCore:
    """A core whose budget is what memory holds."""
    core = make()

    def measure(tokens: int) -> None:
        trial = make()
        trial.budget = tokens
        scores_of(trial, _families(forward, tokens))

    config = forward.model.config.get_text_config()
    try:
        core.budget = fitted_budget(forward.device, config, core.budget, measure, memory_share)
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
