"""Which cells a run has: tasks × templates × shots × draws of examples, as the config asks for.

Every fault of a name, a number or a metric shows here, before data is read or a model loads.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tenbin.config import RunConfig, pair_numbers
from tenbin.config.values import DECIDED
from tenbin.errors import ConfigError
from tenbin.files.allowed_paths import Reach
from tenbin.metrics.registry import find_metric, metric_names, used_metric
from tenbin.records import INSTRUCTIONS, Cell, Group, MetricUse, Task, Template
from tenbin.tasks.installed import included_place
from tenbin.tasks.registry import load_registry
from tenbin.tasks.rotation import (
    FORMAT,
    MARK,
    all_templates,
    rotations_of,
    split_rotation,
    with_template,
)
from tenbin.tasks.sampling import check_repeats, overridden
from tenbin.tasks.selection import Selected
from tenbin.timing import stage

if TYPE_CHECKING:
    from tenbin.tasks.lm_eval.trust import Trust

ALL = "all"
PART = "@part"
"""The mark of cells that ask a part of the documents, in a sweep on a budget."""


@dataclass(frozen=True, slots=True)
class Share:
    """Which documents a cell asks in a sweep on a budget: each is asked under some of the prompts,
    drawn at random."""

    prompt: int
    """The cell's number among the prompts of its task."""
    prompts: int
    per_document: int
    """Prompts that each document is asked under."""
    seed: int
    rotated: bool = False
    """Whether it is `--rotated_share`: all rotations ask the same documents, as prompt 0 would."""


@dataclass(frozen=True, slots=True)
class CellSetup:
    """A cell with all that is needed to ask it."""

    cell: Cell
    task: Task
    limit: float | None
    until: float | Literal["decided"] | None = None
    """When to stop: half the width of the interval in points, or when a difference is decided;
    None: when all documents are asked."""
    selects: bool = False
    """Whether its documents choose a template, apart from those that score it."""
    share: Share | None = None
    """With `--budget` or `--rotated_share`: which of the documents it asks; None: all."""
    groups: tuple[Group, ...] = field(default=(), compare=False)
    """Groups that entries of `--tasks` or a suite named and that this task is in."""
    chosen_by: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    """Option → who chose its value where the user did not: `profile NAME`, `group NAME`."""

    @property
    def template(self) -> Template:
        """The template it is asked with."""
        return self.task.templates[self.cell.template]

    @property
    def role(self) -> str:
        """What its documents are for, as result.json says it."""
        if self.share is not None:
            return "part"
        return "select" if self.selects else "score"

    @property
    def scores_unconditionally(self) -> bool:
        """Whether a metric asks for the choices without their prompt too."""
        uses = self.task.metrics
        return any(used_metric(self.task, use).needs_unconditional for use in uses)


def reach_of(config: RunConfig) -> Reach:
    """Where files that task files name may lie, besides their own folders."""
    named = [included_place(place) for place in config.include_path]
    folders = [place if place.is_dir() else place.parent for place in named]
    if config.data_dir:
        folders.append(Path(config.data_dir).expanduser())
    return Reach(tuple(folders), config.allow_outside_files)


def with_trust(task: Task, config: RunConfig) -> Task:
    """The task with its functions loaded, where it has any and the user trusts them.

    Raises:
        TaskError: It has functions that the user does not trust, or that cannot be loaded.
    """
    if task.origin is None or not task.origin.functions:
        return task
    from tenbin.tasks.lm_eval.trust import trusted

    return trusted(task, trust_of(config))


def trust_of(config: RunConfig) -> Trust:
    """Whose functions may run: by `--trust_tasks`, and by the user's configuration file."""
    from tenbin.config.user_file import read_user_settings
    from tenbin.tasks.lm_eval.trust import Trust

    if config.trust_tasks:
        return Trust(everything=True)
    settings = read_user_settings()
    return Trust(folders=settings.trust_tasks, settings=str(settings.path))


@stage("tasks")
def choose_cells(config: RunConfig, every_template: bool = False) -> list[CellSetup]:
    """What `--tasks`, `--num_fewshot` and `--limit` ask for, in the order written.

    Args:
        config: What the user wrote.
        every_template: Whether a bare name stands for all templates of its task where the config
            says nothing of templates.
    """
    registry = load_registry(config.include_path, config.profile, reach_of(config))
    entries = [registry.select([entry], config.template) for entry in config.tasks]
    if config.suite:
        expansion = registry.expansion(config.template)
        entries += [expansion.suite(name) for name in config.suite]
    selected = [_swept_templates(config, chosen) for chosen in entries]
    if every_template and not (config.template or config.templates or config.formats):
        selected = [_all_templates(entry) for entry in selected]
    if config.rotated_share is not None and (config.budget or not config.rotations):
        raise ConfigError(
            "--rotated_share says how many documents --rotations asks in other orders, and "
            "--budget has shares of its own",
            "give it with --rotations, and without --budget",
        )
    if config.rotations:
        selected = _with_rotations(selected)
    shots = _per_task(config, "num_fewshot", config.num_fewshot, selected)
    limits = _per_task(config, "limit", config.limit, selected)
    stops = _stops(config, selected)
    setups: dict[str, CellSetup] = {}
    formatted: set[str] = set()
    chosen_tasks = [chosen for entry in selected for chosen in entry]
    if config.template and config.template not in {chosen.template for chosen in chosen_tasks}:
        raise ConfigError(
            f"--template {config.template} changes nothing: every entry of --tasks names its own",
            "leave it out, or name tasks without version and template",
        )
    for chosen, number, limit, until in zip(chosen_tasks, shots, limits, stops, strict=True):
        task = _adjusted(chosen.task, config)
        check_repeats(task)
        metric_names(task)  # refuses metrics, filters and options that do not fit, before all else
        task = with_trust(task, config)
        own, chosen_by = _shots(config, chosen, task, number)
        task, templates = _with_formats(config, chosen, task, own, formatted)
        for cell in _swept_cells(config, task, templates, own):
            groups = (chosen.group,) if chosen.group else ()
            setup = CellSetup(cell, task, limit, until, groups=groups, chosen_by=chosen_by)
            _check_shown(config, setup, chosen.entry)
            known = setups.setdefault(cell.id, setup)
            if known != setup:
                raise ConfigError(
                    f"{chosen.full_id} is asked for twice, with different shots, limits or "
                    "widths of --until",
                    "name it once, or make two runs",
                )
            together = tuple(dict.fromkeys((*known.groups, *groups)))
            setups[cell.id] = replace(known, groups=together)
    _check_sweep(config, [setup.cell for setup in setups.values()])
    _check_extra_metrics(config, [setup.task for setup in setups.values()])
    _check_generation(config, [setup.task for setup in setups.values()])
    _check_excluded(config, setups.values())
    return [_rotated_part(config, setup) for setup in setups.values()]


def _check_draws(config: RunConfig, flag: str) -> None:
    """Refuse to leave out documents on which the examples of others depend."""
    if config.profile_settings.draw != "document":
        raise ConfigError(
            f"profile {config.profile} draws the examples of a document after those of all "
            f"documents before it, and {flag} leaves documents out",
            f"leave the profile or {flag} out",
        )


def _rotated_part(config: RunConfig, setup: CellSetup) -> CellSetup:
    """A cell with rotated options asks a share of the documents where the user wants that."""
    if config.rotated_share is None or not setup.template.rotation:
        return setup
    _check_draws(config, "--rotated_share")
    cell = replace(setup.cell, mark=f"{setup.cell.mark}{PART}")
    share = Share(0, max(2, round(1 / config.rotated_share)), 1, config.seed, rotated=True)
    return replace(setup, cell=cell, share=share, until=None)


def selecting_cells(config: RunConfig, setups: Sequence[CellSetup]) -> list[CellSetup]:
    """The same cells on documents of the split that `--select_on` names; none without one.

    Raises:
        ConfigError: That split is the one that is scored.
    """
    if config.held_out is None:
        return []
    split, count = config.held_out
    chosen = []
    for setup in setups:
        if config.rotations and setup.template.rotation:
            continue  # no wording that one would choose
        if setup.task.split == split:
            raise ConfigError(
                f"--select_on {config.select_on}: {setup.task.name} is scored on {split!r} itself",
                "choose on another split, or with --select_on crossfit",
            )
        cell = replace(setup.cell, mark=f"{setup.cell.mark}@{split}")
        chosen.append(CellSetup(cell, replace(setup.task, split=split), count, selects=True))
    return chosen


def part_cells(config: RunConfig, setups: Sequence[CellSetup]) -> list[CellSetup]:
    """The cells of a sweep on a budget: each asks a part of its documents.

    Cells of tasks that have no more prompts than the budget pays for stay as they are, as do all
    without `--budget`.

    Raises:
        ConfigError: That is so of all tasks, or of any with `--then`, or examples depend on
            documents that are not asked.
    """
    if config.budget is None:
        return list(setups)
    _check_draws(config, "--budget")
    cells: dict[tuple[str, str], list[str]] = {}
    for setup in setups:
        cells.setdefault((setup.task.name, setup.task.version), []).append(setup.cell.id)
    most = max(map(len, cells.values()))
    if most <= config.budget:
        raise ConfigError(
            f"--budget {config.budget}x: no task has more than {most} prompts to sweep over, and "
            f"{most} full runs cost no more",
            "leave --budget out, or sweep over more prompts",
        )
    for (task, version), ids in cells.items():
        if config.then and len(ids) <= config.budget:
            raise ConfigError(
                f"--then: {task} {version} has {len(ids)} prompts, which --budget "
                f"{config.budget}x runs in full",
                "sweep it by itself, without --budget",
            )
    parts = []
    for setup in setups:
        ids = cells[setup.task.name, setup.task.version]
        if len(ids) > config.budget:
            share = Share(ids.index(setup.cell.id), len(ids), config.budget, config.seed)
            cell = replace(setup.cell, mark=f"{setup.cell.mark}{PART}")
            setup = replace(setup, cell=cell, share=share)
        parts.append(setup)
    return parts


def _check_shown(config: RunConfig, setup: CellSetup, entry: str) -> None:
    """Refuse examples for tasks that show none, and what is about prompts for perplexity tasks."""
    measures = setup.task.kind == "perplexity"
    if setup.cell.shots and (measures or setup.task.references == INSTRUCTIONS):
        what = "measures the perplexity of whole texts" if measures else "asks each prompt alone"
        several = f"give a number for each entry of --tasks, 0 for {entry}"
        raise ConfigError(
            f"{setup.cell.id} {what} and takes no examples, but {setup.cell.shots} were asked for",
            several if len(config.tasks) > 1 else "leave --num_fewshot out",
        )
    if not measures:
        return
    for flag in ("apply_chat_template", "system_instruction"):
        if getattr(config, flag):
            raise ConfigError(
                f"{setup.cell.id} measures the perplexity of whole texts: "
                f"--{flag} would change nothing",
                "leave it out, or make a run of its own for this task",
            )


def _per_task(
    config: RunConfig, name: str, numbers: tuple[float, ...], selected: list[list[Selected]]
) -> list[float | None]:
    """A number for each selected task: by entry as written, or by sorted id."""
    if config.profile_settings.pairing == "sorted" and len(numbers) > 1:
        ids = sorted({chosen.full_id for entry in selected for chosen in entry})
        by_id = dict(zip(ids, pair_numbers(name, numbers, ids), strict=True))
        return [by_id[chosen.full_id] for entry in selected for chosen in entry]
    entries = [*config.tasks, *(f"suite {name}" for name in config.suite)]
    paired = pair_numbers(name, numbers, entries)
    return [number for entry, number in zip(selected, paired, strict=True) for _ in entry]


def _stops(
    config: RunConfig, selected: list[list[Selected]]
) -> Sequence[float | Literal["decided"] | None]:
    """When each selected task stops."""
    if config.until == DECIDED:
        return ["decided" for entry in selected for _ in entry]
    assert not isinstance(config.until, str)
    return _per_task(config, "until", config.until, selected)


def _shots(
    config: RunConfig, chosen: Selected, task: Task, number: float | None
) -> tuple[int, tuple[tuple[str, str], ...]]:
    """How many examples a task has, and who chose what of it where the user did not."""
    profile, by = config.profile_settings, dict(chosen.chosen_by)
    if number is not None and not _stays_zero(config, task):
        by.pop("num_fewshot", None)
        return int(number), tuple(by.items())
    if task.kind == "perplexity":
        return task.default_shots, tuple(by.items())
    named = profile.shots
    has_examples = task.fewshot.split is not None or task.fewshot.samples is not None
    if named is None and chosen.shots is None and has_examples:
        named = profile.default_shots
    if named is not None:
        by["num_fewshot"] = f"profile {profile.name}"
        return named, tuple(by.items())
    return (task.default_shots if chosen.shots is None else chosen.shots), tuple(by.items())


def _stays_zero(config: RunConfig, task: Task) -> bool:
    return task.zero_shot and config.profile_settings.keeps_zero_shots


def profile_notices(config: RunConfig, setups: Sequence[CellSetup]) -> list[str]:
    """Says which number went to which task, where the profile decides that."""
    zero = list(dict.fromkeys(s.cell.id for s in setups if _stays_zero(config, s.task)))
    if zero and any(config.num_fewshot):
        listed = ", ".join(zero[:5]) + (f" and {len(zero) - 5} more" if len(zero) > 5 else "")
        return [
            f"profile {config.profile} leaves tasks without examples whose files say "
            f"num_fewshot: 0, whatever --num_fewshot says: {listed}"
        ]
    if (
        config.profile_settings.pairing != "sorted"
        or max(len(config.num_fewshot), len(config.limit)) < 2
    ):
        return []
    pairs = [f"{s.cell.id}: shots {s.cell.shots}, limit {s.limit or 'none'}" for s in setups]
    return [f"profile {config.profile} pairs numbers with sorted names: {'; '.join(pairs)}"]


def _adjusted(task: Task, config: RunConfig) -> Task:
    """The task with the user's split, extra metrics and settings of generation."""
    extra = tuple(
        MetricUse(metric, metric)
        for pattern, metric in _extra_metrics(config)
        if fnmatchcase(task.name, pattern)
        and find_metric(metric, task.kind).kind == task.kind
        and metric not in {use.metric for use in task.metrics}
    )
    task = replace(task, metrics=task.metrics + extra, split=config.split or task.split)
    return _generating(task, config) if task.kind == "generate" else task


def _generating(task: Task, config: RunConfig) -> Task:
    """A generation task with `--gen_kwargs` and `--repeats` laid over its own settings."""
    try:
        sampling = overridden(task.sampling, config.gen_kwargs)
    except ValueError as error:
        raise ConfigError(
            f"--gen_kwargs: {task.name}: {error}",
            "to draw answers give a temperature above 0; for greedy ones temperature=0 alone",
        ) from None
    if sampling is not None and not sampling.states_top_k:
        sampling = replace(sampling, top_k=config.profile_settings.top_k)
    # lm-eval judges the first answer alone unless the file's filters say otherwise.
    first = config.profile_settings.first_answer and not task.filters
    return replace(
        task,
        sampling=sampling,
        repeats=config.repeats or (1 if first else task.repeats),
        max_gen_toks=config.gen_kwargs.get("max_gen_toks", task.max_gen_toks),
        thinking=config.thinking_settings,
    )


def _check_generation(config: RunConfig, tasks: list[Task]) -> None:
    for flag in ("gen_kwargs", "repeats", "thinking"):
        if getattr(config, flag) and not any(task.kind == "generate" for task in tasks):
            raise ConfigError(
                f"--{flag} changes nothing: no chosen task generates text",
                "leave it out, or name generation tasks; `tenbin tasks` lists what there is",
            )


def _extra_metrics(config: RunConfig) -> list[tuple[str, str]]:
    pairs = []
    for written in config.extra_metrics:
        pattern, colon, metric = written.rpartition(":")
        pairs.append((pattern if colon else "*", metric))
    return pairs


def _check_extra_metrics(config: RunConfig, tasks: list[Task]) -> None:
    for pattern, metric in _extra_metrics(config):
        used = [t for t in tasks if metric in {use.metric for use in t.metrics}]
        if not used:
            raise ConfigError(
                f"--extra_metrics {metric}: no chosen task can use it",
                f"it is for {find_metric(metric).kind} tasks"
                + (f" matching {pattern!r}" if pattern != "*" else ""),
            )


def _swept_templates(config: RunConfig, selected: Iterable[Selected]) -> list[Selected]:
    """The selected tasks under each template of `--templates`.

    Raises:
        ConfigError: A task is named with its template, or lacks one that was asked for.
    """
    if not config.templates:
        return list(selected)
    swept: dict[str, Selected] = {}
    for chosen in selected:
        if chosen.named:
            raise ConfigError(
                f"{chosen.entry!r} names its template, and --templates names others",
                f"write {chosen.task.name}-{chosen.task.version} to sweep over its templates",
            )
        for name in _asked(config.templates, chosen.task):
            one = replace(chosen, task=with_template(chosen.task, name), template=name)
            swept.setdefault(one.full_id, one)
    return list(swept.values())


def _all_templates(selected: Iterable[Selected]) -> list[Selected]:
    """The selected tasks under every template they have; one that was named stands alone."""
    return [
        replace(chosen, template=name)
        for chosen in selected
        for name in ([chosen.template] if chosen.named else chosen.task.templates)
    ]


def _with_rotations(selected: list[list[Selected]]) -> list[list[Selected]]:
    """The selected tasks, each template with all rotations of its options.

    Raises:
        ConfigError: No selected template can be rotated.
    """
    found: list[list[Selected]] = []
    for entry in selected:
        rotated: dict[str, Selected] = {}
        for chosen in entry:
            for name in rotations_of(chosen.task, split_rotation(chosen.template)[0]):
                one = replace(chosen, task=with_template(chosen.task, name), template=name)
                rotated.setdefault(one.full_id, one)
        found.append(list(rotated.values()))
    if not any(split_rotation(one.template)[1] for entry in found for one in entry):
        from tenbin.pipeline.notices import listed

        tasks = {one.task.name: one.task for entry in selected for one in entry}.values()
        able = [
            f"{task.name}-{task.version}-{name}"
            for task in tasks
            for name in task.templates
            if len(rotations_of(task, name)) > 1
        ]
        raise ConfigError(
            "--rotations changes nothing: no chosen template lists options in an order that its "
            "task can change (docs/option-order.md)",
            f"these do: {listed(able)}" if able else "leave it out",
        )
    return found


def _asked(templates: tuple[str, ...], task: Task) -> list[str]:
    if ALL in templates:
        return list(task.templates)
    # A pattern (native*) stands for what it matches, in the task's own order.
    known = all_templates(task) if any(MARK in written for written in templates) else task.templates
    matching = {
        written: [
            name
            for name in (known if MARK in written else task.templates)
            if fnmatchcase(name, written)
        ]
        or [written]
        for written in templates
    }
    templates = tuple(dict.fromkeys(name for names in matching.values() for name in names))
    missing = [
        name
        for name in templates
        if split_rotation(name)[0] not in task.templates and not name.startswith(FORMAT)
    ]
    if missing:
        raise ConfigError(
            f"--templates: {task.name} {task.version} has no template {missing[0]!r}",
            f"templates of {task.name} {task.version}: {', '.join(task.templates)}; "
            "or sweep the task by itself",
        )
    return list(templates)


def _with_formats(
    config: RunConfig, chosen: Selected, task: Task, shots: int, known: set[str]
) -> tuple[Task, list[str]]:
    """The task with its formats among its templates, and the names of those that are asked.

    Args:
        config: What the user wrote.
        chosen: What was selected.
        task: Its task, as it is asked.
        shots: Examples of each prompt.
        known: Tasks whose formats are asked already, under another template; this one is added.

    Raises:
        ConfigError: The entry names its template.
        TaskError: The task declares no formats, or too few.
    """
    if config.formats is None:
        return task, [chosen.template]
    if chosen.named:
        raise ConfigError(
            f"{chosen.entry!r} names its template, and --formats asks for others",
            f"write {task.name}-{task.version} to ask its prompt formats",
        )
    published = [chosen.template] if config.templates else []
    if f"{task.name}-{task.version}" in known:
        return task, published
    known.add(f"{task.name}-{task.version}")
    from tenbin.tasks.prompt_formats import excluded_formats, sample_formats, with_formats

    most = max(config.num_fewshot_sweep or (shots,))
    excluded = excluded_formats(config.exclude_formats)
    formats = sample_formats(task, config.formats, config.seed, excluded, most, config.chat_formats)
    return with_formats(task, formats), [*published, *(one.id for one in formats)]


def _check_excluded(config: RunConfig, setups: Iterable[CellSetup]) -> None:
    """Refuse exclusions that are about no asked task."""
    if config.exclude_formats:
        from tenbin.tasks.prompt_formats import check_exclusions, excluded_formats

        tasks = {f"{one.task.name}-{one.task.version}": one.task for one in setups}
        check_exclusions(list(tasks.values()), excluded_formats(config.exclude_formats))


def _swept_cells(config: RunConfig, task: Task, templates: list[str], shots: int) -> list[Cell]:
    """One cell for each template, each number of shots and each draw of examples.

    Without examples there is nothing to draw, so a cell without shots stands once.
    """
    cells = []
    for template, number in product(templates, config.num_fewshot_sweep or (shots,)):
        for seed in range(config.seed, config.seed + (config.seeds if number else 1)):
            mark = f"@{number}shot" if config.num_fewshot_sweep else ""
            mark += f"@seed{seed}" if config.seeds > 1 and number else ""
            cells.append(Cell(task.name, task.version, template, number, seed, mark))
    return cells


def _check_sweep(config: RunConfig, cells: Iterable[Cell]) -> None:
    """Refuse a sweep over nothing.

    Raises:
        ConfigError: Examples are to be drawn anew but no prompt shows any, or a choice is to be
            made and there is nothing to choose from.
    """
    if config.select_on and not (config.templates or config.formats or config.num_fewshot_sweep):
        raise ConfigError(
            "--select_on says where a template is chosen, but there is nothing to choose from",
            "use it with --template auto, or with `tenbin sweep`",
        )
    if config.seeds > 1 and not any(cell.shots for cell in cells):
        raise ConfigError(
            "--seeds draws examples anew, but no task has shots",
            "give --num_fewshot, or leave --seeds out",
        )
