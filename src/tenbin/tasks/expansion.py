"""What a group or a suite of the catalogue selects: each task with its template and shots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tenbin.config.profiles import Profile
from tenbin.errors import TaskError, guess_at
from tenbin.records import Group, GroupMean
from tenbin.tasks.groups import GroupBlock, MemberBlock, group_definitions, suite_definitions
from tenbin.tasks.registry import Registry
from tenbin.tasks.selection import Selected


@dataclass(frozen=True, slots=True)
class _Part:
    """One member of a group: what it selects, and what enters the mean."""

    member: str | Group
    selected: tuple[Selected, ...]
    metrics: tuple[tuple[str, str], ...] = ()
    shots: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Expansion:
    """Expands definitions for one profile and one choice of the user."""

    registry: Registry
    profile: Profile
    template: str | None
    """`--template`, which wins over definitions."""

    def suite(self, name: str) -> list[Selected]:
        """All tasks of a suite, each with the averages that it enters.

        Raises:
            TaskError: There is no such suite, or a member cannot be used.
        """
        known = suite_definitions()
        if name not in known:
            raise TaskError(
                f"--suite {name}: there is no such suite",
                f"{guess_at(name, known)}suites: {', '.join(known)}",
            )
        entry = f"suite {name}"
        selected = [one for group in known[name].groups for one in self.group(group, entry)]
        for member in known[name].tasks:
            if member.is_asked(self.profile.name):
                selected += self._asked(member, entry, f"suite {name}")
        return selected

    def group(self, name: str, entry: str) -> list[Selected]:
        """All tasks of a group.

        Args:
            name: The group.
            entry: What the user wrote.

        Raises:
            TaskError: A member is not among tenbin's tasks, so that there is no mean.
        """
        part = self._group(name, entry)
        assert isinstance(part.member, Group)
        return [replace(one, group=part.member) for one in part.selected]

    def _group(self, name: str, entry: str) -> _Part:
        block = group_definitions()[name]
        if block.missing:
            listed = "; ".join(f"{task}: {why}" for task, why in block.missing.items())
            raise TaskError(
                f"{name}: the mean cannot be computed, since members are missing: {listed}",
                "name the other tasks one by one",
            )
        parts = []
        for member in block.members:
            if not member.is_asked(self.profile.name):
                continue
            if member.group is not None:
                parts.append(self._group(member.group, entry))
            else:
                parts.append(self._task(member, entry, name, block))
        mean = GroupMean(
            metrics=tuple(pair for part in parts for pair in part.metrics),
            weighting=block.mean,
            percent=block.percent,
            shots=tuple(pair for part in parts for pair in part.shots),
        )
        members = tuple(part.member for part in parts if part.selected)
        group = Group(name, name, members, mean=mean)
        return _Part(group, tuple(one for part in parts for one in part.selected))

    def _task(self, member: MemberBlock, entry: str, name: str, block: GroupBlock) -> _Part:
        """A task of a group, or all tasks of a benchmark as a group without a row of its own."""
        selected = tuple(self._asked(member, entry, f"group {name}"))
        metric = member.metric or block.metric
        if self.profile.generated and member.generated and member.generated.metric:
            metric = member.generated.metric
        if metric is None:
            raise TaskError(f"{name}: {member.task}: the definition names no metric")
        metrics = tuple((one.task.name, metric) for one in selected)
        # A published mean has its examples; the form for generated answers goes without.
        number = member.shots if member.generated is None else selected[0].shots
        shots = tuple((one.task.name, number) for one in selected if number is not None)
        if len(selected) == 1:
            return _Part(selected[0].task.name, selected, metrics, shots)
        names = tuple(one.task.name for one in selected)
        mean = GroupMean(metrics, block.mean, block.percent, shots, hidden=True)
        title = str(member.task)
        return _Part(Group(title, title, names, mean=mean), selected)

    def _asked(self, member: MemberBlock, entry: str, who: str) -> Sequence[Selected]:
        """The tasks of a member under the template and with the shots that it is asked with."""
        form = member.generated if self.profile.generated else None
        written = (form.task if form else None) or member.task
        if written is None:
            raise TaskError(f"{who}: a member names neither a task nor a group")
        own = form.template if form else None
        if own is None and not self.profile.templates:
            own = member.template
        shots = member.shots if self.profile.shots is None else self.profile.shots
        found = []
        for one in self.registry.select([written], self.template or own):
            chosen = {} if written == member.task else {"task": who}
            if own and not self.template:
                chosen["template"] = who
            if member.shots is not None and self.profile.shots is None:
                chosen["num_fewshot"] = who
            found.append(
                replace(one, entry=entry, shots=shots, chosen_by=(*one.chosen_by, *chosen.items()))
            )
        return found
