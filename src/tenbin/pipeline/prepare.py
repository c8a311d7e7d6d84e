"""The first half of a run: from a RunConfig to the exact prompts of every cell.

Joins tasks, documents and prompts. No weights are loaded here, so every fault of a name, a file,
a row or a template shows before a model does.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path

from tenbin.config import RunConfig, pair_numbers
from tenbin.data import (
    DataChoice,
    DocumentSet,
    Progress,
    cache_directory,
    load_documents,
)
from tenbin.errors import ConfigError, DataError
from tenbin.files.allowed_paths import Reach
from tenbin.files.disk_list import DiskList
from tenbin.metrics.registry import check_question, find_metric, metric_names
from tenbin.pipeline.requests import content_key
from tenbin.pipeline.sweep_cells import all_templates, check_sweep, swept_cells, swept_templates
from tenbin.prompts.assembly import Chat
from tenbin.prompts.build import PromptSettings, build_prompts, limited
from tenbin.prompts.example_pool import Pool
from tenbin.prompts.truncation import Measure
from tenbin.records import Cell, DataFile, Dataset, Document, MetricUse, Prompt, Task
from tenbin.tasks.registry import Selected, load_registry
from tenbin.tasks.sampling import check_repeats, overridden


@dataclass(frozen=True, slots=True)
class CellSetup:
    """A cell with all that is needed to ask it."""

    cell: Cell
    task: Task
    limit: float | None
    selects: bool = False
    """Whether its documents choose a template, apart from those that score it."""

    @property
    def weighs_unconditionally(self) -> bool:
        """Whether a metric asks for the choices without their prompt too."""
        return any(find_metric(use.metric).needs_unconditional for use in self.task.metrics)


@dataclass(slots=True)
class Data:
    """The rows of every cell, each split read once."""

    choice: DataChoice
    progress: Progress | None = None
    """Told how downloads go on."""
    _sets: dict[tuple[str, str], DocumentSet] = field(default_factory=dict)
    _digests: dict[str, str] = field(default_factory=dict)
    """SHA-256 by path, as each was read first."""
    _pools: dict[tuple[str, str], Pool] = field(default_factory=dict)
    _lots: dict[tuple[str, str, int, int], DiskList[Document]] = field(default_factory=dict)

    def load(self, dataset: Dataset, split: str) -> DocumentSet:
        """The documents of a split."""
        # The whole data set: two that are both called `json` differ in their files alone.
        key = (repr(dataset), split)
        if key not in self._sets:
            self._sets[key] = load_documents(dataset, split, self.choice, self.progress)
            self._check_unchanged(self._sets[key])
        return self._sets[key]

    def _check_unchanged(self, loaded: DocumentSet) -> None:
        """Refuse a file that was another one when a split before this one was read from it."""
        for file in loaded.files:
            if self._digests.setdefault(file.path, file.sha256) != file.sha256:
                raise DataError(
                    f"{file.path} changed while the run read its data",
                    "run again once nothing writes to it any more",
                )

    def for_cell(self, setup: CellSetup) -> tuple[DocumentSet, DocumentSet | None]:
        """The scored documents, and those that examples come from when there are shots."""
        scored = self.load(setup.task.dataset, setup.task.split)
        if setup.cell.shots == 0 or setup.task.fewshot.split is None:
            return scored, None
        return scored, self.load(setup.task.dataset, setup.task.fewshot.split)

    def pool(self, setup: CellSetup) -> Pool:
        """Where a cell's examples come from, one pool a split; empty without shots."""
        _, examples = self.for_cell(setup)
        if examples is None or setup.task.fewshot.split is None:
            return Pool(())
        key = (repr(setup.task.dataset), setup.task.fewshot.split)
        if key not in self._pools:
            self._pools[key] = Pool(examples.documents)
        return self._pools[key]

    def by_lot(self, setup: CellSetup, count: int, seed: int) -> DiskList[Document]:
        """So many of the cell's documents, the same ones for every template."""
        key = (repr(setup.task.dataset), setup.task.split, count, seed)
        if key not in self._lots:
            scored, _ = self.for_cell(setup)
            self._lots[key] = _drawn(scored.documents, count, seed)
        return self._lots[key]

    def files(self, setup: CellSetup) -> dict[str, tuple[DataFile, ...]]:
        """The files behind a cell, by split."""
        scored, pool = self.for_cell(setup)
        found = {setup.task.split: scored.files}
        if pool is not None and setup.task.fewshot.split is not None:
            found[setup.task.fewshot.split] = pool.files
        return found

    def notices(self) -> list[str]:
        """What is worth knowing about the rows."""
        return list(dict.fromkeys(n for loaded in self._sets.values() for n in loaded.notices))


def data_choice(config: RunConfig) -> DataChoice:
    """Where the user wants rows from."""
    return DataChoice(
        data_dir=Path(config.data_dir) if config.data_dir else None,
        sample_data=config.sample_data,
        cache_dir=Path(config.cache_dir) if config.cache_dir else cache_directory(),
        offline=config.offline,
        versions=config.data_versions,
        reach=reach_of(config),
    )


def reach_of(config: RunConfig) -> Reach:
    """Where files that task files name may lie, besides their own folders."""
    named = [Path(place) for place in config.include_path]
    folders = [place if place.is_dir() else place.parent for place in named]
    if config.data_dir:
        folders.append(Path(config.data_dir).expanduser())
    return Reach(tuple(folders), config.allow_outside_files)


def choose_cells(config: RunConfig, every_template: bool = False) -> list[CellSetup]:
    """What `--tasks`, `--num_fewshot` and `--limit` ask for, in the order written.

    Args:
        config: What the user wrote.
        every_template: Whether a bare name stands for all templates of its task where the config
            says nothing of templates.
    """
    registry = load_registry(config.include_path, config.profile, reach_of(config))
    selected = [
        swept_templates(config, registry.select([entry], config.template)) for entry in config.tasks
    ]
    if every_template and not (config.template or config.templates):
        selected = [all_templates(entry) for entry in selected]
    shots = _per_task(config, "num_fewshot", config.num_fewshot, selected)
    limits = _per_task(config, "limit", config.limit, selected)
    setups: dict[str, CellSetup] = {}
    chosen_tasks = [chosen for entry in selected for chosen in entry]
    if config.template and config.template not in {chosen.template for chosen in chosen_tasks}:
        raise ConfigError(
            f"--template {config.template} changes nothing: every entry of --tasks names its own",
            "leave it out, or name tasks without version and template",
        )
    for chosen, number, limit in zip(chosen_tasks, shots, limits, strict=True):
        task = _adjusted(chosen.task, config)
        check_repeats(task)
        metric_names(task)  # refuses metrics, filters and options that do not fit, before all else
        own = task.default_shots if number is None else int(number)
        for cell in swept_cells(config, task, chosen.template, own):
            setup = CellSetup(cell, task, limit)
            _check_whole_texts(config, setup, chosen.entry)
            known = setups.setdefault(cell.id, setup)
            if known != setup:
                raise ConfigError(
                    f"{chosen.full_id} is asked for twice, with different shots or limits",
                    "name it once, or make two runs",
                )
    check_sweep(config, [setup.cell for setup in setups.values()])
    _check_extra_metrics(config, [setup.task for setup in setups.values()])
    _check_generation(config, [setup.task for setup in setups.values()])
    return list(setups.values())


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
        if setup.task.split == split:
            raise ConfigError(
                f"--select_on {config.select_on}: {setup.task.name} is scored on {split!r} itself",
                "choose on another split, or with --select_on crossfit",
            )
        cell = replace(setup.cell, mark=f"{setup.cell.mark}@{split}")
        chosen.append(CellSetup(cell, replace(setup.task, split=split), count, selects=True))
    return chosen


def _check_whole_texts(config: RunConfig, setup: CellSetup, entry: str) -> None:
    """A text that is weighed whole has no prompt: refuse what would be put into one."""
    if setup.task.kind != "roll":
        return
    if setup.cell.shots:
        several = f"give a number for each entry of --tasks, 0 for {entry}"
        raise ConfigError(
            f"{setup.cell.id} weighs whole texts and takes no examples, but "
            f"{setup.cell.shots} were asked for",
            several if len(config.tasks) > 1 else "leave --num_fewshot out",
        )
    for flag in ("apply_chat_template", "system_instruction"):
        if getattr(config, flag):
            raise ConfigError(
                f"{setup.cell.id} weighs whole texts: --{flag} would change nothing",
                "leave it out, or make a run of its own for this task",
            )


def _per_task(
    config: RunConfig, name: str, numbers: tuple[float, ...], selected: list[list[Selected]]
) -> list[float | None]:
    """A number for each selected task: by entry as written, or by sorted id."""
    if config.way.pairing == "sorted" and len(numbers) > 1:
        ids = sorted({chosen.full_id for entry in selected for chosen in entry})
        by_id = dict(zip(ids, pair_numbers(name, numbers, ids), strict=True))
        return [by_id[chosen.full_id] for entry in selected for chosen in entry]
    paired = pair_numbers(name, numbers, config.tasks)
    return [number for entry, number in zip(selected, paired, strict=True) for _ in entry]


def pairing_notices(config: RunConfig, setups: Sequence[CellSetup]) -> list[str]:
    """Says which number went to which task, where that is not the order written."""
    if config.way.pairing != "sorted" or max(len(config.num_fewshot), len(config.limit)) < 2:
        return []
    pairs = [f"{s.cell.id}: shots {s.cell.shots}, limit {s.limit or 'none'}" for s in setups]
    return [f"profile {config.way.name} pairs numbers with sorted names: {'; '.join(pairs)}"]


def _adjusted(task: Task, config: RunConfig) -> Task:
    """The task with the user's split, extra metrics and settings of generation."""
    extra = tuple(
        MetricUse(metric, metric)
        for pattern, metric in _extra_metrics(config)
        if fnmatchcase(task.name, pattern)
        and find_metric(metric).kind == task.kind
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
    return replace(
        task,
        sampling=sampling,
        repeats=config.repeats or task.repeats,
        max_gen_toks=config.gen_kwargs.get("max_gen_toks", task.max_gen_toks),
        thinking=config.reasoning,
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


def prompt_settings(config: RunConfig) -> PromptSettings:
    """The user's choices about prompts."""
    return PromptSettings(
        seed=config.seed,
        fewshot=config.fewshot,
        running_draw=config.way.draw == "running",
        apply_chat_template=config.apply_chat_template,
        chat_template_args=config.chat_template_args,
        fewshot_as_multiturn=config.fewshot_as_multiturn,
        system_instruction=config.system_instruction,
        system_prompt=config.system_instruction or config.system_prompt,
        fit_examples=config.way.fit_examples,
        cap_by_references=config.way.cap_by_references,
    )


def load_data(
    config: RunConfig, setups: Sequence[CellSetup], progress: Progress | None = None
) -> Data:
    """Read and check every row the cells need."""
    data = Data(data_choice(config), progress)
    for setup in setups:
        data.for_cell(setup)
    return data


def count_prompts(setup: CellSetup, data: Data) -> int:
    """How many prompts a cell will have."""
    return limited(len(data.for_cell(setup)[0].documents), setup.limit)


def prompts_of(
    setup: CellSetup,
    data: Data,
    settings: PromptSettings,
    tokenizer: Measure | None,
    chat: Chat | None = None,
) -> Iterator[Prompt]:
    """The prompts of one cell; conversations are formatted by `chat`, or by the tokenizer."""
    documents: Sequence[Document] = data.for_cell(setup)[0].documents
    limit = setup.limit
    if setup.selects and limit is not None:
        # By the run's seed, not the cell's: every draw of examples meets the same documents.
        documents, limit = data.by_lot(setup, int(limit), settings.seed), None
    prompts = build_prompts(
        setup.task, setup.cell, documents, data.pool(setup), limit, settings, tokenizer, chat
    )
    return _readable(setup.task, prompts)


def _readable(task: Task, prompts: Iterator[Prompt]) -> Iterator[Prompt]:
    """The prompts again; one whose answer no filter could read is refused before it is asked."""
    for prompt in prompts:
        check_question(task, prompt.num_choices, f"document {prompt.document}")
        yield prompt


def _drawn(documents: Sequence[Document], count: int, seed: int) -> DiskList[Document]:
    """So many documents by lot, in their order: files may be sorted."""
    keys = (content_key(seed, document.id) for document in documents)
    drawn = heapq.nsmallest(count, ((key, at) for at, key in enumerate(keys)))
    return DiskList(documents[at] for at in sorted(at for _, at in drawn))
