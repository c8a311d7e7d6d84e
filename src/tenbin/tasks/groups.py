"""Groups and suites of the catalogue: their tasks, how each is asked, and how scores are averaged.

A group is an average that people quote. A suite is a list of groups and tasks that are run
together. Both say for each task which template and how many examples belong to it, and which form
of it is asked where a profile reads generated answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from pydantic import Field, TypeAdapter

from tenbin.records import MOST_SHOTS, Weighting
from tenbin.tasks.schema import Block

CATALOG = Path(__file__).parent.parent / "catalog"
B = TypeVar("B", bound=Block)


class GeneratedBlock(Block):
    """The form of a member whose answers are generated and read."""

    task: str | None = None
    """None: the same task."""
    template: str | None = None
    metric: str | None = None


class MemberBlock(Block):
    """One member: a task, all tasks of a benchmark (`xnli`), or another group."""

    task: str | None = None
    """A name, or an id that names version and template."""
    group: str | None = None
    metric: str | None = None
    """The metric that enters the mean; None: the group's."""
    template: str | None = None
    shots: int | None = Field(default=None, ge=0, le=MOST_SHOTS)
    generated: GeneratedBlock | None = None
    only: list[str] = Field(default_factory=list)
    """Profiles that it is asked under; empty: all."""
    without: list[str] = Field(default_factory=list)
    """Profiles that it is not asked under."""

    def is_asked(self, profile: str) -> bool:
        """Whether it is a member under a profile."""
        return profile not in self.without and (not self.only or profile in self.only)


class GroupBlock(Block):
    """One entry of `catalog/groups/`."""

    title: str
    about: str
    """What the mean is, and who quotes it."""
    mean: Weighting = "plain"
    metric: str | None = None
    percent: bool = False
    members: list[MemberBlock]
    missing: dict[str, str] = Field(default_factory=dict)
    """Members that are not among tenbin's tasks, and why; the group is refused while it has any."""


class SuiteBlock(Block):
    """One entry of `catalog/suites/`."""

    title: str
    about: str
    groups: list[str] = Field(default_factory=list)
    tasks: list[MemberBlock] = Field(default_factory=list)
    """Tasks that are in none of its averages."""


@cache
def group_definitions() -> Mapping[str, GroupBlock]:
    """The groups of the catalogue by name."""
    return _read("groups", GroupBlock)


@cache
def suite_definitions() -> Mapping[str, SuiteBlock]:
    """The suites of the catalogue by name."""
    return _read("suites", SuiteBlock)


def _read(folder: str, block: type[B]) -> dict[str, B]:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    entries: dict[str, Any] = {}
    for file in sorted((CATALOG / folder).glob("*.yaml")):
        entries |= yaml.load(file.read_text(encoding="utf-8"), Loader=loader)
    return TypeAdapter(dict[str, block]).validate_python(entries)  # type: ignore[valid-type]


def all_members(name: str) -> Iterator[MemberBlock]:
    """The tasks of a group and of the groups below it, as their definitions write them."""
    for member in group_definitions()[name].members:
        if member.group is None:
            yield member
        else:
            yield from all_members(member.group)
