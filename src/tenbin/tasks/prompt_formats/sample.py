"""A reproducible sample of a task's formats, with each level of each dimension about as often."""

from __future__ import annotations

import hashlib
import json
import random
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from tenbin.errors import TaskError
from tenbin.records import FormatGrammar, Task
from tenbin.tasks.prompt_formats.dimensions import BY_NAME, CHAT, DIMENSIONS, OF_EXAMPLES
from tenbin.tasks.prompt_formats.exclusions import read_exclusions
from tenbin.tasks.prompt_formats.format_id import (
    PromptFormat,
    canonical,
    made_format,
    usable_levels,
)
from tenbin.tasks.prompt_formats.grammar import require_grammar
from tenbin.tasks.prompt_formats.rules import broken_rule, may_be_sampled

_Key = tuple[str, str, str]
"""Language of the wording, dimension, level."""
_ADDED = (*OF_EXAMPLES, CHAT)
_CANDIDATES = 8
"""Formats that are sampled for each place of the sample, of which the rarest is taken."""
_TRIES = 20_000
"""Attempts without a new format after which there are taken to be no more."""
_MISSES = 300
"""Excluded formats in a row after which all others are taken to be excluded too."""


def sample_formats(
    task: Task,
    count: int,
    seed: int,
    excluded: Collection[str] = (),
    shots: int = 0,
    chat: bool = False,
) -> tuple[PromptFormat, ...]:
    """So many formats of a task; a larger sample begins with the smaller one.

    Formats that are excluded drop out and the next ones of the same sequence follow, so that a veto
    leaves the others as they are.

    Args:
        task: A task that declares formats.
        count: How many.
        seed: The same seed gives the same formats.
        excluded: Ids, and levels as `dimension=level`.
        shots: Examples in the prompts: without, the dimensions of examples keep their first level.
        chat: Whether some formats are to be in the model's chat format.

    Raises:
        TaskError: The task declares no formats, or has fewer.
    """
    grammar = require_grammar(task)
    exclusions = read_exclusions(task, excluded)
    found: list[PromptFormat] = []
    misses = 0
    added = [name for name, least in OF_EXAMPLES.items() if shots >= least]
    for one in _sequence(grammar, seed, [*added, *([CHAT] if chat else [])]):
        excluded_here = exclusions.exclude(one) or broken_rule(grammar, one.choices) is not None
        misses = misses + 1 if excluded_here else 0
        if not misses:
            found.append(one)
        if len(found) == count:
            return tuple(found)
        if misses == _MISSES:
            break
    raise TaskError(
        f"{task.name} {task.version}: {count:,} prompt formats were asked for, "
        f"and {len(found):,} were found",
        "ask for fewer with --formats, or exclude fewer with --exclude_formats",
    )


def _sequence(grammar: FormatGrammar, seed: int, added: Sequence[str]) -> Iterator[PromptFormat]:
    """Different formats, until no new one is found.

    Args:
        grammar: What they are made of.
        seed: The same seed gives the same formats.
        added: Dimensions that are about examples or a chat. They have generators of their own, so
            that all else is the same with and without them.
    """
    worded = _generator(seed, "formats")
    of_examples, of_chat = _generator(seed, "examples of formats"), _generator(seed, CHAT)
    generators = {name: of_chat if name == CHAT else of_examples for name in added}
    counts: Counter[_Key] = Counter()
    seen: set[str] = set()
    usable = {
        language: {
            one.name: usable_levels(grammar, one.name, language)[
                : 1 if one.name in _ADDED else None
            ]
            for one in DIMENSIONS[1:]
        }
        for language in grammar.wordings
    }
    while True:
        sampled: list[PromptFormat] = []
        for _ in range(_TRIES):
            one = _sampled(grammar, usable, counts, worded)
            if one is not None and one.id not in seen:
                sampled.append(one)
                if len(sampled) == _CANDIDATES:
                    break
        if not sampled:
            return
        best = min(sampled, key=lambda one: sum(counts[key] ** 2 for key in _keys(one)))
        seen.add(best.id)
        counts.update(_keys(best))
        yield _with_added(grammar, best, counts, generators)


def _generator(seed: int, purpose: str) -> random.Random:
    digest = hashlib.sha256(json.dumps([purpose, seed]).encode()).digest()
    return random.Random(int.from_bytes(digest[:8], "big"))


def _keys(format: PromptFormat) -> list[_Key]:
    """What is to be balanced: levels within a language, since some exist in one alone."""
    language = format.choices["language"]
    return [
        ("", "language", language),
        *((language, *pair) for pair in format.levels.items() if pair[0] not in _ADDED),
    ]


def _sampled(
    grammar: FormatGrammar,
    usable: Mapping[str, Mapping[str, tuple[str, ...]]],
    counts: Counter[_Key],
    generator: random.Random,
) -> PromptFormat | None:
    """A format at random, rare levels more often; None where a rule excludes it."""
    language = _rare(tuple(usable), "", "language", counts, generator)
    choices = {"language": language}
    for name, levels in usable[language].items():
        choices[name] = _rare(levels, language, name, counts, generator)
    choices = canonical(grammar, choices)
    return made_format(grammar, choices) if may_be_sampled(grammar, choices) else None


def _rare(
    levels: Sequence[str],
    language: str,
    name: str,
    counts: Counter[_Key],
    generator: random.Random,
) -> str:
    """One of the levels, those that were taken less often before with more weight."""
    if len(levels) == 1:
        return levels[0]
    seen = [counts[language, name, level] for level in levels]
    least = min(seen)
    return generator.choices(levels, [1 / (1 + count - least) ** 2 for count in seen])[0]


def _with_added(
    grammar: FormatGrammar,
    format: PromptFormat,
    counts: Counter[_Key],
    generators: Mapping[str, random.Random],
) -> PromptFormat:
    """The format with levels of the dimensions that are sampled by themselves."""
    choices, language = dict(format.choices), format.choices["language"]
    for name, generator in generators.items():
        possible = [
            level
            for level in BY_NAME[name].levels(grammar)
            if may_be_sampled(grammar, {**choices, name: level})
        ]
        choices[name] = _rare(possible, language, name, counts, generator)
        counts[language, name, choices[name]] += 1
    return made_format(grammar, choices)
