"""Sections and labels of columns, by suite, language or template."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tenbin.analysis.leaderboard.columns import GroupKey, Key, Place, data_name
from tenbin.analysis.leaderboard.report import By

GROUPS = "groups"
"""The section of all groups."""
TASKS = "tasks"
"""The section of tasks that no suite and no group brought."""
_SUITE = "suite "


@dataclass(frozen=True, slots=True)
class Arranged:
    """Where a column stands, and what it is called there."""

    key: Key
    section: str
    label: str


def arrange(columns: Sequence[tuple[Key, Place]], by: By) -> list[Arranged]:
    """Sections in the order in which they first occur, each with its columns.

    Args:
        columns: Columns, each with one of its cells.
        by: By language and by template, groups are left out.
    """
    kept = [one for one in columns if by == "suite" or not isinstance(one[0], GroupKey)]
    suites: dict[str, str] = {}
    for _, place in kept:
        if not place.group and (suite := _suite(place)):
            suites.setdefault(place.cell.config.task, suite)
    named = [(key, place, *_section_and_label(key, place, by, suites)) for key, place in kept]
    order = list(dict.fromkeys(section for _, _, section, _ in named))
    named.sort(key=lambda one: order.index(one[2]))
    facts = [_facts(key, place) for key, place, _, _ in named]
    titles = [(section, label) for _, _, section, label in named]
    labels = []
    for own, (section, label) in zip(facts, titles, strict=True):
        twins = [
            other for other, title in zip(facts, titles, strict=True) if title == (section, label)
        ]
        # What distinguishes columns of one name, and nothing else, is added to it.
        more = [text for at, text in enumerate(own) if len({twin[at] for twin in twins}) > 1]
        labels.append(" ".join(dict.fromkeys([label, *more])))
    return [
        Arranged(key, section, label)
        for (key, _, section, _), label in zip(
            named, _numbered([one[2] for one in named], labels), strict=True
        )
    ]


def _section_and_label(
    key: Key, place: Place, by: By, suites: Mapping[str, str]
) -> tuple[str, str]:
    if isinstance(key, GroupKey):
        return GROUPS, key.group
    config = place.cell.config
    if by == "language":
        items = config.parallel.columns if config.parallel else config.family or config.task
        return items, config.language
    if by == "template":
        return f"{config.task} {config.version}, {config.num_fewshot}-shot", config.template
    return suites.get(config.task, TASKS), config.task


def _suite(place: Place) -> str | None:
    """The suite that chose a task, or else the first group that holds it; None without either."""
    chosen = place.result.chosen_by.get(place.id, {}).values()
    suites = [text.removeprefix(_SUITE) for text in chosen if text.startswith(_SUITE)]
    groups = [id for id, members in place.result.group_subtasks.items() if place.id in members]
    return next(iter([*suites, *groups]), None)


def _facts(key: Key, place: Place) -> tuple[str, ...]:
    if isinstance(key, GroupKey):
        return ()
    config = place.cell.config
    return (
        config.task,
        config.version,
        config.template,
        f"{config.num_fewshot}-shot",
        f"data {data_name(config, place)}",
    )


def _numbered(sections: Sequence[str], labels: Sequence[str]) -> list[str]:
    """Groups of one name with other members get a number: the columns' members say the rest."""
    titles = list(zip(sections, labels, strict=True))
    counts, seen, numbered = Counter(titles), Counter[tuple[str, str]](), []
    for title in titles:
        seen[title] += 1
        numbered.append(f"{title[1]} ({seen[title]})" if counts[title] > 1 else title[1])
    return numbered
