"""Whether stored runs are parts of one: what they must have in common, and what they have not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tenbin.errors import ResultError
from tenbin.records.model_info import merged
from tenbin.results.identity import RunIdentity, model_differences
from tenbin.results.read import StoredRun
from tenbin.results.schema import EngineAnswers, RunResult

_OF_CELLS = ("until", "against", "select_on", "template")
"""Settings that say which cells a run has, or which documents: cells record that themselves."""
_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Part:
    """A run that is merged."""

    name: str
    """How the user knows it."""
    stored: StoredRun

    @property
    def result(self) -> RunResult:
        """What result.json says."""
        return self.stored.result


def check_agreement(parts: Sequence[Part]) -> None:
    """See that all runs can stand in one result.

    Raises:
        ResultError: They cannot; the message lists everything that differs.
    """
    first, *others = parts
    lines = [f"{one.name}: {line}" for one in parts for line in _unfit(one.result)]
    for other in others:
        found = [*_model(first.result, other.result), *_settings(first.result, other.result)]
        lines += [f"{other.name}: {line}" for line in found]
    lines += [*_data(parts), *_templates(parts)]
    if lines:
        refuse(lines, "each line shows the first run → the other; run what differs in the same way")


def refuse(lines: Sequence[str], hint: str) -> None:
    """Refuse to merge, for these reasons.

    Raises:
        ResultError: Always.
    """
    shown = [f"  {line}" for line in lines[:_SHOWN]]
    rest = [f"  and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
    raise ResultError("\n".join(["these runs are not parts of one:", *shown, *rest]), hint)


def _unfit(result: RunResult) -> Iterator[str]:
    if result.partial:
        yield "was stopped before its end: the same command goes on from there"
    if result.stopping is not None and result.stopping.decisions:
        yield "stopped by its difference to another run (--until decided), which is about it alone"
    if any(config.role == "part" for config in result.configs.values()):
        yield "asks a part of the documents under each prompt (--budget, --rotated_share)"


def _model(first: RunResult, other: RunResult) -> Iterator[str]:
    yield from model_differences(RunIdentity.of(first), RunIdentity.of(other))
    if first.fingerprint == other.fingerprint:
        described = [_engine(one) for run in (first, other) for one in run.answered_by]
        for line in merged([one for one in described if one])[1]:
            yield f"answers of another engine: {line}"


def _engine(answers: EngineAnswers) -> Mapping[str, Any]:
    return {name: one for name, one in answers.to_json().items() if name != "answers" and one}


def _settings(first: RunResult, other: RunResult) -> Iterator[str]:
    mine, theirs = RunIdentity.of(first).settings(), RunIdentity.of(other).settings()
    for name in dict.fromkeys((*mine, *theirs)):
        one, two = mine.get(name), theirs.get(name)
        if name not in _OF_CELLS and one != two:
            yield f"{name}: {one} → {two}"
    choices = [run.template_choice for run in (first, other)]
    said = {choice.select_on for choice in choices if choice is not None}
    if len(said) > 1:
        yield f"templates were chosen on other documents: {' → '.join(sorted(said))}"


def _data(parts: Sequence[Part]) -> Iterator[str]:
    """Splits of one data set that were read from different files."""
    known: dict[tuple[object, ...], tuple[str, list[str]]] = {}
    for part in parts:
        for id, config in part.result.configs.items():
            for split, files in part.result.data[id].items():
                digests = [file.sha256 for file in files]
                key = (config.task, config.version, config.dataset, config.dataset_config, split)
                where, before = known.setdefault(key, (part.name, digests))
                if before != digests:
                    yield (
                        f"{part.name}: {id}: other data in the split {split} than in {where}: "
                        f"sha256 {_short(before)} → {_short(digests)}"
                    )


def _templates(parts: Sequence[Part]) -> Iterator[str]:
    """Templates of one name with different words."""
    known: dict[tuple[str, str, str], tuple[str, str]] = {}
    for part in parts:
        for id, config in part.result.configs.items():
            hashed = part.result.prompts[id].template_hash
            key = (config.task, config.version, config.template)
            where, before = known.setdefault(key, (part.name, hashed))
            if before != hashed:
                yield f"{part.name}: {id}: the words of the template are not those in {where}"


def _short(digests: Sequence[str]) -> str:
    return " and ".join(one[:12] for one in digests) or "none"
