"""Which runs are of one model, and what rows are called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from tenbin.analysis.compare.comparability import setting
from tenbin.results.folder import numbered_names, run_name
from tenbin.results.schema import RunResult, Sample

_OF_THE_MODEL = (
    "apply_chat_template",
    "chat_template_args",
    "fewshot_as_multiturn",
    "system_instruction",
    "system_prompt",
)
"""Options that make another model of the same weights."""
COLUMNS = ("gold", "group", "num_choices")
"""Columns of the samples that are needed, besides the required ones."""


@dataclass(frozen=True, slots=True)
class Source:
    """A stored run."""

    name: str
    """How the user knows it: its path."""
    result: RunResult
    samples: Callable[[], Iterable[Sample]]
    """Reads its samples, at least the columns `COLUMNS`."""


@dataclass(frozen=True, slots=True)
class Model:
    """A row."""

    name: str
    sources: tuple[Source, ...]
    """Its runs, the newest first."""


def models_of(sources: Sequence[Source]) -> list[Model]:
    """Runs with the same weights and the same chat settings are one model.

    A model is called what its backend calls it. Where two are called the same, the file or folder
    of their newest runs distinguishes them, which has the `name` of an entry of `models:`.
    """
    rows: dict[tuple[str, ...], list[Source]] = {}
    for source in sources:
        own = [repr(setting(source.result, name) or None) for name in _OF_THE_MODEL]
        key = (source.result.fingerprint, source.result.model_name, *own)
        rows.setdefault(key, []).append(source)
    newest = [sorted(own, key=lambda one: one.result.date, reverse=True) for own in rows.values()]
    names = [called(own[0]) for own in newest]
    counts = Counter(names)
    names = [
        name if counts[name] == 1 else _distinguished(name, own[0])
        for name, own in zip(names, newest, strict=True)
    ]
    return [
        Model(name, tuple(own)) for name, own in zip(numbered_names(names), newest, strict=True)
    ]


def called(run: Source) -> str:
    """What the backend calls the model; the scripted one calls every model by its own name.

    It is one line, whatever the name holds: it stands in tables.
    """
    given = " ".join(run.result.model_name.split())
    name = PurePath(given).name or given
    return run_name(run.name) if name == (run.result.engine or {}).get("name") else name


def _distinguished(name: str, run: Source) -> str:
    """A name that another row has too, with what the user called the run."""
    stem = run_name(run.name)
    return stem if name in stem else f"{name} {stem}"
