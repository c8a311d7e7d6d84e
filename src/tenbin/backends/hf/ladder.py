"""Chooses the fastest scoring core that gives the right numbers for this very model.

Not every architecture allows every way of sharing work, and names do not tell. So the first run
asks the model itself: a few made-up sequences are scored by a candidate and by plain rows of one,
and two controls keep the comparison honest. A candidate that fails is passed over with one line
that says why; it never returns a number. Knows cores; knows no request.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from tenbin.backends.hf.cached import CachedContexts
from tenbin.backends.hf.desk import ScoringCore
from tenbin.backends.hf.encoding import Row
from tenbin.backends.hf.forward import Forward
from tenbin.backends.hf.masked import MaskedRows
from tenbin.backends.hf.memory import fitted_budget, release_memory
from tenbin.backends.hf.packed import PackedTree
from tenbin.backends.hf.rows import PlainRows
from tenbin.errors import BackendError

_EXACT = 1e-4
"""Largest difference of a log-likelihood in float32."""
_NOISE = 4.0
"""In shorter types: so many times the model's own difference between one row and many."""
_LEAST_NOISE = 0.02
_WINDOW = 1024
"""Windows up to this length are tried by contexts that are longer."""


class Candidate(ScoringCore, Protocol):
    """A core that can be made wrong on purpose."""

    broken: bool
    """Its mask or its cache is a wrong one: for the probe's control only."""


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
) -> Choice:
    """The fastest core that passes the probe, or the one that was asked for.

    Args:
        forward: The model.
        engine: `auto`, or a rung by name.
        batch_size: Rows a batch of plain rows, or `auto`.
        row_budget: Padded tokens a batch of plain rows.
        pack_budget: Tokens a pack.

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
    passed_over: list[str] = []
    for name, (mode, makers) in rungs.items():
        if engine not in ("auto", name):
            continue
        reasons = []
        for make in makers:
            reason = probe.refusal(make)
            if reason is None:
                return Choice(_fitted(forward, make), tuple(passed_over))
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
        _scores(trial, _families(forward, tokens))

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
        context = _tokens(generator, forward, 32)
        groups.append([Row(context + _tokens(generator, forward, 8), 2) for _ in range(4)])
    return groups


def _tokens(generator: random.Random, forward: Forward, count: int) -> tuple[int, ...]:
    return tuple(generator.randrange(forward.vocabulary) for _ in range(count))


class Probe:
    """Made-up sequences, scored by plain rows of one and by candidates."""

    def __init__(self, forward: Forward) -> None:
        """Make the sequences; nothing is scored before a candidate asks.

        Args:
            forward: The model.
        """
        self._forward = forward
        self._groups = _sequences(forward)
        self._expected: Scored | None = None
        self._allowed = _EXACT

    def refusal(self, make: Callable[[], Candidate]) -> str | None:
        """Why a candidate must not be used; None when it gives the plain numbers.

        Args:
            make: Gives a fresh candidate.
        """
        groups = self._groups
        try:
            core = make()
            expected = self._plain()
            found = _scores(core, groups)
            moved = _scores(make(), _perturbed(groups, self._forward.vocabulary))
            blind = make()
            blind.broken = True
            wrong = _scores(blind, groups)
        except Exception as error:  # whatever an architecture objects to
            words = str(error).strip().splitlines() or ["no reason given"]
            return f"{type(error).__name__}: {words[0][:120]}"
        difference = _largest(expected, found)
        if not difference <= self._allowed:
            return f"log-likelihoods differ by {difference:.2g}, {self._allowed:.2g} is allowed"
        siblings = _largest(_unperturbed(found), _unperturbed(moved))
        if not siblings <= self._allowed:
            return f"a branch reaches its siblings: {siblings:.2g}"
        if not _largest(expected, wrong) > 20 * max(difference, 1e-7):
            return "a wrong mask or cache changes nothing, so the probe proves nothing"
        return None

    def _plain(self) -> Scored:
        if self._expected is None:
            expected = _scores(PlainRows(self._forward, 1, 1), self._groups)
            self._allowed = _tolerance(self._forward, self._groups, expected)
            self._expected = expected
        return self._expected


def _sequences(forward: Forward) -> list[list[Row]]:
    """Ragged contexts, shared prefixes, one-token, nested and long continuations."""
    generator = random.Random(0)

    def tokens(count: int) -> tuple[int, ...]:
        return _tokens(generator, forward, count)

    shared = tokens(11)
    contexts = [shared + tokens(23), shared + tokens(4), tokens(1), shared, tokens(37)]
    if window := _shortest_window(forward):
        contexts.append(tokens(window + 19))
    groups = []
    for context in contexts:
        first = tokens(2)
        answers = [first, (*first, *tokens(3)), tokens(1), tokens(6)]
        groups.append([Row(context + answer, len(answer)) for answer in answers])
    return groups


def _shortest_window(forward: Forward) -> int | None:
    config = forward.model.config.get_text_config()
    values = [getattr(config, name, None) for name in ("sliding_window", "attention_chunk_size")]
    windows = [value for value in values if isinstance(value, int) and value <= _WINDOW]
    return min(windows, default=None)


Scored = list[list[float]]


def _scores(core: ScoringCore, groups: Sequence[Sequence[Row]]) -> Scored:
    found: dict[int, list[float]] = {}
    for number, scores in core.score(groups):
        if scores is None:
            raise MemoryError("the device's memory does not suffice for the probe")
        found[number] = [score.logprob for score in scores]
    return [found[number] for number in range(len(groups))]


def _perturbed(groups: Sequence[Sequence[Row]], vocabulary: int) -> list[list[Row]]:
    """The same with other tokens in each group's last answer."""
    changed = []
    for group in groups:
        last = group[-1]
        answer = tuple((token + 1) % vocabulary for token in last.ids[-last.scored :])
        changed.append([*group[:-1], Row(last.ids[: -last.scored] + answer, last.scored)])
    return changed


def _unperturbed(scored: Scored) -> Scored:
    return [values[:-1] for values in scored]


def _tolerance(forward: Forward, groups: Sequence[Sequence[Row]], alone: Scored) -> float:
    import torch

    if forward.dtype == torch.float32:
        return _EXACT
    together = _scores(PlainRows(forward, "auto", 1 << 14), groups)
    return max(_LEAST_NOISE, _NOISE * _largest(alone, together))


def _largest(first: Scored, second: Scored) -> float:
    pairs = [(a, b) for x, y in zip(first, second, strict=True) for a, b in zip(x, y, strict=True)]
    return max(abs(a - b) for a, b in pairs)
