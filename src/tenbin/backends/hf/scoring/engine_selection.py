"""Selects the fastest scoring engine that gives the right numbers for this very model.

Not every architecture allows every way of sharing work, and names do not say which. So the first
run probes the model itself (`probe`). An engine that fails is passed over with one line that says
why; it never returns a number.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tenbin.backends.hf.model.causality import require_causal
from tenbin.backends.hf.model.compilation import Compilation, CompileMode
from tenbin.backends.hf.model.forward import Forward
from tenbin.backends.hf.model.memory import fitted_budget, release_memory
from tenbin.backends.hf.scoring.cache import CacheEngine
from tenbin.backends.hf.scoring.masked_rows import MaskedRowsEngine
from tenbin.backends.hf.scoring.plain import PlainEngine
from tenbin.backends.hf.scoring.probe import Probe, random_tokens, scores_of
from tenbin.backends.hf.scoring.tree import TreeEngine, may_be_fused
from tenbin.backends.text.encoding import Row
from tenbin.backends.text.score_collector import ScoringEngine
from tenbin.errors import BackendError


@dataclass(frozen=True, slots=True)
class Selection:
    """Which engine is right for a model, by the probe."""

    engine: str
    """Its name: `tree`, `rows`, `cache` or `plain`."""
    variant: int = 0
    """Which of the engine's variants."""
    passed_over: tuple[str, ...] = ()
    """Faster engines, each with the reason why it was not selected."""
    is_settled: bool = True
    """Whether lack of memory had no part in it, so that the next start would select the same."""


@dataclass(frozen=True, slots=True)
class SelectedEngine:
    """An engine, and what the probe found out to select it."""

    engine: ScoringEngine
    selection: Selection
    single: ScoringEngine
    """Scores one row at a time: decides where a batch gives no finite number."""


def select_engine(
    forward: Forward,
    name: str,
    batch_size: int | Literal["auto"],
    row_budget: int,
    pack_budget: int,
    compilation: CompileMode = "auto",
    known: Selection | None = None,
    memory_share: float | None = None,
) -> SelectedEngine:
    """Return the fastest engine that passes the probe, or the one that was asked for.

    Args:
        forward: The model.
        name: `auto`, or an engine by name.
        batch_size: Rows per batch of the plain engine, or `auto`.
        row_budget: Padded tokens per batch of the plain engine.
        pack_budget: Tokens per pack.
        compilation: When the tree engine compiles the model's layers.
        known: An earlier selection for this model; saves the probe.
        memory_share: Part of the device's memory to count on; None: what is free.

    Raises:
        BackendError: The engine that was asked for fails the probe, or the model is not causal.
        NotFiniteError: The model gives no finite log-likelihoods.
    """
    candidates = _candidates(forward, batch_size, row_budget, pack_budget)
    probe = Probe(forward)
    selection = known or _probed(forward.model, candidates, probe, name)
    make = candidates[selection.engine].variants[selection.variant]
    engine = _fitted(forward, make, memory_share)
    if isinstance(engine, TreeEngine):

        def compiled() -> TreeEngine:
            return TreeEngine(forward, pack_budget, Compilation("always"))

        # Compiled layers are probed only when they are first wanted: compiling takes long.
        if engine.fused is not None and compilation == "auto":
            compilation = "never"  # as fast, and there at once
        engine.compilation = Compilation(compilation, lambda: probe.refusal(compiled))
    return SelectedEngine(engine, selection, PlainEngine(forward, 1, 1))


@dataclass(frozen=True, slots=True)
class _Candidate:
    mode: str
    """The engine's name in results."""
    variants: tuple[Callable[[], Any], ...]
    """Functions that make the engine, the fastest variant first."""


def _candidates(
    forward: Forward, batch_size: int | Literal["auto"], row_budget: int, pack_budget: int
) -> dict[str, _Candidate]:
    """All engines by name, the fastest first."""
    return {
        "tree": _Candidate(TreeEngine.mode, _tree_variants(forward, pack_budget)),
        "rows": _Candidate(
            MaskedRowsEngine.mode, (lambda: MaskedRowsEngine(forward, pack_budget),)
        ),
        "cache": _Candidate(
            CacheEngine.mode,
            (
                lambda: CacheEngine(forward, row_budget),
                lambda: CacheEngine(forward, row_budget, stepwise=True),
            ),
        ),
        "plain": _Candidate(
            PlainEngine.mode, (lambda: PlainEngine(forward, batch_size, row_budget),)
        ),
    }


def _tree_variants(forward: Forward, budget: int) -> tuple[Callable[[], TreeEngine], ...]:
    plain = (lambda: TreeEngine(forward, budget),)
    if not may_be_fused(forward):
        return plain
    return (lambda: TreeEngine(forward, budget, fused=True), *plain)


def _probed(
    model: Any, candidates: Mapping[str, _Candidate], probe: Probe, wanted: str
) -> Selection:
    require_causal(model)
    probe.require_finite()
    passed_over: list[str] = []
    for name, candidate in candidates.items():
        # The plain engine is what all others are measured against, so it needs no probe.
        if name == "plain" or wanted not in ("auto", name):
            continue
        reasons: list[str] = []
        for variant, make in enumerate(candidate.variants):
            reason = probe.refusal(make)
            if reason is None:
                if name == "tree":
                    passed_over += [f"fused layers: {why}" for why in reasons]
                return Selection(name, variant, tuple(passed_over), not probe.ran_out_of_memory)
            reasons.append(reason)
        why = "; ".join(dict.fromkeys(reasons))
        if wanted == name:
            raise BackendError(
                f"engine={name} does not fit this model: {why}",
                "leave engine out to let tenbin choose",
            )
        passed_over.append(f"{candidate.mode}: {why}")
    return Selection("plain", 0, tuple(passed_over), not probe.ran_out_of_memory)


def _fitted(
    forward: Forward, make: Callable[[], ScoringEngine], memory_share: float | None
) -> ScoringEngine:
    """Make an engine whose budget fits the device's memory."""
    engine = make()

    def measure(tokens: int) -> None:
        trial = make()
        trial.budget = tokens
        scores_of(trial, _filling_groups(forward, tokens))

    config = forward.model.config.get_text_config()
    try:
        engine.budget = fitted_budget(forward.device, config, engine.budget, measure, memory_share)
    except (RuntimeError, MemoryError):
        # Measuring failed; halving after an out-of-memory error will find the size.
        release_memory(forward.device)
    return engine


def _filling_groups(forward: Forward, tokens: int) -> list[list[Row]]:
    """Contexts with a few answers, enough to fill a batch of so many tokens in any engine."""
    generator = random.Random(tokens)
    groups = []
    for _ in range(tokens // 40):
        context = random_tokens(generator, forward, 32)
        groups.append([Row(context + random_tokens(generator, forward, 8), 2) for _ in range(4)])
    return groups
