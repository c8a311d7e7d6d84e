"""Whether two stored cells asked the same thing, and what differs, in words.

Compares what runs recorded: files and their checksums, prompts, shots, seed, decoding, profile.
Whether a difference matters is decided by the caller.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal, TypeVar, get_args

from tenbin.results.schema import CellConfig, DataFileEntry, OriginEntry, RunResult, Sample

Kind = Literal[
    "data", "prompts", "shots", "seed", "decoding", "profile", "partial", "task", "stopping"
]
WARNED: tuple[Kind, ...] = ("task", "stopping")
"""What is pointed out and never refused: it matters only if prompts or scores differ by it."""
KINDS: tuple[str, ...] = tuple(kind for kind in get_args(Kind) if kind not in WARNED)
"""What may differ, as users name it."""

_USUAL_CHOICE = "likelihoods of their texts"
_SETTINGS = (
    "apply_chat_template",
    "chat_template_args",
    "fewshot_as_multiturn",
    "system_instruction",
    "system_prompt",
    "fewshot",
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class StoredCell:
    """One cell of a stored run."""

    result: RunResult
    """The result of its run."""
    id: str
    samples: Mapping[str, Sample]
    """Its documents by id."""

    @property
    def config(self) -> CellConfig:
        """The task as it was asked."""
        return self.result.configs[self.id]

    def files(self, split: str | None) -> Sequence[DataFileEntry]:
        """The files that a split was read from."""
        return () if split is None else self.result.data[self.id].get(split, ())


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that two cells do not have in common."""

    kind: Kind
    text: str


def differences(first: StoredCell, second: StoredCell) -> list[Difference]:
    """What two cells do not have in common, as far as it affects a comparison.

    Cells of different ids differ in template, shots, version or seed by design, so only their
    data and profile are compared. How many documents were asked is no difference: those that both
    have are compared.
    """
    found = [*_partial(first, second), *_stopping(first, second), *_data(first, second)]
    found += _unequal("profile", first.result.profile, second.result.profile)
    if first.id != second.id:
        return found
    mine, theirs = first.config, second.config
    found += _origins(mine.origin, theirs.origin)
    found += _tools(mine.tools or {}, theirs.tools or {})
    found += _unequal("decoding", _decoding(mine), _decoding(theirs))
    if mine.num_fewshot != theirs.num_fewshot:
        found += _unequal("shots", mine.num_fewshot, theirs.num_fewshot)
    elif mine.num_fewshot and mine.seed != theirs.seed:
        text = f"examples sampled with {mine.seed} here, {theirs.seed} there"
        found.append(Difference("seed", text))
    else:
        found += _prompts(first, second)
    return found


def _unequal(kind: Kind, first: T, second: T, what: str = "") -> list[Difference]:
    if first == second:
        return []
    return [Difference(kind, f"{what}{first} here, {second} there")]


def _partial(first: StoredCell, second: StoredCell) -> Iterator[Difference]:
    for cell, where in ((first, "here"), (second, "there")):
        if cell.result.partial:
            counts = cell.result.n_samples[cell.id]
            yield Difference(
                "partial",
                f"the run {where} was stopped after {counts.effective:,} of {counts.asked:,} "
                "documents, which are not a random sample",
            )


def _stopping(first: StoredCell, second: StoredCell) -> Iterator[Difference]:
    for cell, where in ((first, "here"), (second, "there")):
        stopping = cell.result.stopping
        stop = stopping.decisions.get(cell.id) if stopping is not None else None
        if stopping is not None and stop is not None and stop.decision != "undecided":
            yield Difference(
                "stopping",
                f"the run {where} stopped as soon as its difference to {stopping.against} was "
                "decided: its score leans towards that, and p-values here do not count its looks; "
                "its own decision does",
            )


def _data(first: StoredCell, second: StoredCell) -> Iterator[Difference]:
    mine, theirs = first.config, second.config
    yield from _unequal("data", _dataset(mine), _dataset(theirs))
    yield from _unequal("data", mine.split, theirs.split, "split ")
    yield from _files("", first.files(mine.split), second.files(theirs.split))
    if first.id == second.id and mine.num_fewshot and mine.fewshot_split != mine.split:
        pools = first.files(mine.fewshot_split), second.files(theirs.fewshot_split)
        yield from _files("examples: ", *pools)
    changed = [
        document
        for document in first.samples.keys() & second.samples.keys()
        if _right_answer(first.samples[document]) != _right_answer(second.samples[document])
    ]
    # Templates word the same answer differently; under one id only the data can.
    if changed and first.id == second.id:
        named = ", ".join(sorted(changed)[:3]) + (", …" if len(changed) > 3 else "")
        yield Difference(
            "data", f"{len(changed):,} shared documents have another right answer ({named})"
        )


def _origins(first: OriginEntry | None, second: OriginEntry | None) -> Iterator[Difference]:
    """What differs in the files that a task was read from and in their functions."""
    if first is None or second is None:
        return
    mine, theirs = _function_hashes(first), _function_hashes(second)
    changed = [name for name in sorted({*mine, *theirs}) if mine.get(name) != theirs.get(name)]
    if changed:
        yield Difference("task", f"functions of the task file differ: {', '.join(changed)}")
    if first.sha256 != second.sha256:
        yield Difference("task", f"{_file(first)} here, {_file(second)} there")


def _tools(first: Mapping[str, str], second: Mapping[str, str]) -> Iterator[Difference]:
    """Which programs decided on something in one run alone."""
    for what in sorted({*first, *second}):
        mine, theirs = first.get(what, "none"), second.get(what, "none")
        yield from _unequal("task", mine, theirs, f"{what} by ")


def _function_hashes(origin: OriginEntry) -> dict[str, str]:
    return {f"{PurePath(one.file).name}: {one.name}": one.sha256 for one in origin.functions}


def _file(origin: OriginEntry) -> str:
    package = f"{origin.package}, " if origin.package else ""
    return f"{origin.path} ({package}sha256 {origin.sha256[:12]})"


def _decoding(config: CellConfig) -> str:
    """How answers were chosen; runs of earlier versions know likelihoods and greedy decoding."""
    if config.output_type == "choice":
        return f"choices by {config.choices_by or _USUAL_CHOICE}"
    thinking = config.thinking
    thought = f", thinking of up to {thinking.budget:,} tokens" if thinking else ""
    if not config.do_sample:
        return f"greedy{thought}"
    settings = {"temperature": config.temperature, "top_p": config.top_p, "top_k": config.top_k}
    return f"sampled with {', '.join(f'{name} {n:g}' for name, n in settings.items())}{thought}"


def _dataset(config: CellConfig) -> str:
    return " ".join(name for name in (config.dataset, config.dataset_config) if name)


def _files(
    what: str, first: Sequence[DataFileEntry], second: Sequence[DataFileEntry]
) -> Iterator[Difference]:
    if [file.sha256 for file in first] != [file.sha256 for file in second]:
        yield Difference("data", f"{what}{_described(first)} here, {_described(second)} there")


def _described(files: Sequence[DataFileEntry]) -> str:
    if not files:
        return "no file"
    return " and ".join(
        f"{file.path} ({_version(file)}{file.rows:,} rows, sha256 {file.sha256[:12]})"
        for file in files
    )


def _version(file: DataFileEntry) -> str:
    return f"version {file.version}, " if file.version else ""


def _right_answer(sample: Sample) -> tuple[int | None, str | None, tuple[str, ...]]:
    return sample.gold, sample.target, tuple(sample.references or ())


def _prompts(first: StoredCell, second: StoredCell) -> Iterator[Difference]:
    shared = first.samples.keys() & second.samples.keys()
    changed = sorted(
        document
        for document in shared
        if _asked(first.samples[document]) != _asked(second.samples[document])
    )
    if not changed:
        return
    text = f"{len(changed):,} of {len(shared):,} shared documents have other prompts"
    text += f" (document {changed[0]} for one)"
    causes = prompt_causes(first, second)
    dropped = [
        sum(cell.samples[d].dropped_examples or 0 for d in shared) for cell in (first, second)
    ]
    if dropped[0] != dropped[1]:
        causes.append(
            f"{dropped[0]:,} examples left out to fit the window here, {dropped[1]:,} there"
        )
    yield Difference("prompts", f"{text}: {'; '.join(causes)}" if causes else text)


def prompt_causes(first: StoredCell, second: StoredCell) -> list[str]:
    """Options and words of the template by which the prompts of two cells differ."""
    causes = [
        f"{name} {one!r} here, {two!r} there"
        for name in _SETTINGS
        if (one := setting(first.result, name)) != (two := setting(second.result, name))
    ]
    hashes = [cell.result.prompts[cell.id].template_hash for cell in (first, second)]
    return causes if hashes[0] == hashes[1] else [*causes, "the template's own words"]


def _asked(sample: Sample) -> tuple[object, ...]:
    return sample.prompt, sample.continuations, sample.stop, sample.max_gen_toks


def setting(result: RunResult, name: str) -> object:
    """An option of a run; None where it has none."""
    value = result.config.get(name)
    # Runs of earlier versions do not name options that they did not have.
    return None if value == {} else value
