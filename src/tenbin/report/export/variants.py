"""Which runs asked a task or group alike, and what sets the others apart."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tenbin.results.schema import CellConfig, DataFileEntry, RunResult


@dataclass(frozen=True, slots=True)
class Asked:
    """How a task or group was asked, as far as scores depend on it."""

    task: str
    """Name of the task; of a group, its own."""
    facts: Mapping[str, str]
    """What was asked, by name and in words; runs are alike if all of these are equal. Without
    examples there are no facts about them."""

    @property
    def shots(self) -> str:
        """Examples in a prompt."""
        return self.facts["shots"]

    def against(self, other: Asked) -> str:
        """What sets it apart from another way of asking, in its own words."""
        return ", ".join(
            f"{text}-shot" if name == "shots" else text
            for name, text in self.facts.items()
            if text and text != other.facts.get(name, text)
        )


@dataclass(frozen=True, slots=True)
class Variant:
    """One way in which something was asked."""

    asked: Asked
    text: str
    """What sets it apart from the other ways, besides shots; empty if nothing does."""


@dataclass(frozen=True, slots=True)
class Variants:
    """All ways in which something was asked."""

    variants: tuple[Variant, ...]
    of_run: tuple[int | None, ...]
    """For each run the number of its variant; None if it did not ask this."""


def find_variants(asked: Sequence[Asked | None]) -> Variants:
    """The ways in which runs asked one task or group, in the order of the runs."""
    distinct: list[Asked] = []
    for one in asked:
        if one is not None and one not in distinct:
            distinct.append(one)
    names = dict.fromkeys(name for one in distinct for name in one.facts)
    differing = [
        name
        for name in names
        if name != "shots" and len({one.facts[name] for one in distinct if name in one.facts}) > 1
    ]
    variants = [
        Variant(one, ", ".join(text for name in differing if (text := one.facts.get(name, ""))))
        for one in distinct
    ]
    numbers = [None if one is None else distinct.index(one) for one in asked]
    return Variants(tuple(variants), tuple(numbers))


def asked_cell(result: RunResult, id: str) -> Asked:
    """How a task was asked: data, split, template, shots and their seed, decoding."""
    config = result.configs[id]
    files = result.data[id]
    facts = {
        "shots": str(config.num_fewshot),
        "data": _data("data", files.get(config.split, ())),
        "split": f"split {config.split}",
        "template": f"template words {result.prompts[id].template_hash[:8]}",
        "decoding": _decoding(config),
    }
    if config.num_fewshot:
        facts["seed"] = f"seed {config.seed}"
        pool = config.fewshot_split or config.split
        facts["examples"] = _data(f"examples from {pool}", files.get(pool, ()))
    return Asked(config.task, facts)


def asked_group(result: RunResult, id: str) -> Asked:
    """How a group was asked: its tasks, how they are weighted, and how each was asked."""
    members = sorted(one for one in result.group_subtasks[id] if one in result.configs)
    asked = {member: asked_cell(result, member) for member in members}
    shots = [one.shots for one in asked.values()]
    definition = result.group_definitions.get(id)
    facts = {
        "shots": ", ".join(shots if len(set(shots)) > 1 else shots[:1]),
        "tasks": f"{len(members)} {'task' if len(members) == 1 else 'tasks'}",
        "members": f"members {_short(members)}",
        "weighting": definition.weighting if definition is not None else "",
    }
    # Fact by fact, so that only what differs is named.
    for name in ("data", "split", "template", "decoding", "seed", "examples"):
        texts = [f"{member}: {one.facts.get(name, '')}" for member, one in asked.items()]
        if any(name in one.facts for one in asked.values()):
            facts[name] = f"{name} {_short(texts)}"
    return Asked(id, facts)


def _data(what: str, files: Sequence[DataFileEntry]) -> str:
    """The data in short: its version, and the beginning of its checksum."""
    if not files:
        return f"{what} unknown"
    versions = dict.fromkeys(file.version for file in files if file.version)
    digest = files[0].sha256[:8] if len(files) == 1 else _short([file.sha256 for file in files])
    return " ".join([what, *versions, digest])


def _decoding(config: CellConfig) -> str:
    if config.output_type == "choice":
        return f"choices by {config.choices_by or 'likelihoods of their texts'}"
    thinking = f", thinking up to {config.thinking.budget:,} tokens" if config.thinking else ""
    if not config.do_sample:
        return f"greedy decoding{thinking}"
    return (
        f"temperature {config.temperature:g}, top_p {config.top_p:g}, top_k {config.top_k}"
        f"{thinking}"
    )


def _short(texts: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:8]
