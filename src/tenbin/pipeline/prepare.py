"""Read the data and build the prompts of every cell.

No weights are loaded here, so every fault of a file, a row or a template shows before a model does.
"""

from __future__ import annotations

import heapq
import math
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from tenbin.config import RunConfig
from tenbin.data import (
    DataChoice,
    DocumentSet,
    Progress,
    cache_directory,
    load_documents,
    load_samples,
    made_splits,
    rows_of_subset,
)
from tenbin.errors import AlteredFile, ConfigError, DataError, MissingData
from tenbin.files.disk_list import DiskList
from tenbin.metrics.registry import check_question, reference_checks
from tenbin.pipeline.cells.setup import CellSetup, Share
from tenbin.pipeline.notices import listed
from tenbin.pipeline.requests import content_key
from tenbin.pipeline.task_files import reach_of
from tenbin.prompts.assembly import Chat
from tenbin.prompts.build import PromptSettings, build_prompts, limited
from tenbin.prompts.example_pool import Pool
from tenbin.prompts.truncation import Measure
from tenbin.records import DataFile, Dataset, Document, Prompt, Task
from tenbin.timing import stage


@dataclass(slots=True)
class Data:
    """The rows of every cell, each split read once."""

    choice: DataChoice
    progress: Progress | None = None
    """Called with a line about each download."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """Of the model: a task's `custom_dataset` may take its tokenizer from them."""
    skipped: dict[str, str] = field(default_factory=dict)
    """Task id → why its rows could not be had, with `--skip_missing`."""
    _fewer: dict[str, int] = field(default_factory=dict)
    """Task id → examples, where the sample rows can give no more."""
    _sets: dict[tuple[str, str], DocumentSet] = field(default_factory=dict)
    _parts: dict[tuple[str, ...], dict[tuple[str, ...], DiskList[Document]]] = field(
        default_factory=dict
    )
    """The rows of a split by the fields and values that tasks choose them by."""
    _digests: dict[str, str] = field(default_factory=dict)
    """SHA-256 by path, as each was read first."""
    _made: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    """Splits that functions of tasks made, by data set: each function is called once."""
    _pools: dict[tuple[str, ...], Pool] = field(default_factory=dict)
    _samples: dict[tuple[str, str, int, int], DiskList[Document]] = field(default_factory=dict)
    _designs: dict[tuple[object, ...], list[array[int]]] = field(default_factory=dict)
    """Of sweeps on a budget: positions of documents by prompt, for each set of documents."""

    def load(self, dataset: Dataset, split: str) -> DocumentSet:
        """The documents of a split."""
        # The whole data set: two that are both called `json` differ in their files alone.
        key = (repr(dataset), split)
        if key not in self._sets and dataset.where:
            whole = replace(dataset, where={}, file="")
            parts = self._parts.setdefault((repr(whole), split, *dataset.where), {})
            self._sets[key] = rows_of_subset(dataset, self.load(whole, split), parts)
        if key not in self._sets:
            made = self._made_splits(dataset)
            self._sets[key] = load_documents(dataset, split, self.choice, self.progress, made)
            self._check_unchanged(self._sets[key])
        return self._sets[key]

    def _made_splits(self, dataset: Dataset) -> Mapping[str, Any] | None:
        if dataset.custom_dataset is None:
            return None
        key = repr(replace(dataset, process_docs=None))
        if key not in self._made:
            self._made[key] = made_splits(dataset, self.arguments)
        return self._made[key]

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
        return scored, self._examples(setup.task) if setup.cell.shots else None

    def _examples(self, task: Task) -> DocumentSet | None:
        """What the task's examples come from: a split, else the samples of its file."""
        plan = task.fewshot
        if plan.split is not None:
            return self.load(_example_set(task), plan.split)
        if plan.samples is None:
            return None
        key = (repr(plan.samples), "samples")
        if key not in self._sets:
            self._sets[key] = load_samples(plan, task.source)
        return self._sets[key]

    def pool(self, setup: CellSetup) -> Pool:
        """Where a cell's examples come from, one pool a split; empty without shots."""
        _, examples = self.for_cell(setup)
        if examples is None:
            return Pool(())
        plan = setup.task.fewshot
        key = (repr(_example_set(setup.task)), plan.split or repr(plan.samples), repr(plan.indices))
        if key not in self._pools:
            documents: Sequence[Document] = examples.documents
            if plan.indices is not None:
                documents = _chosen(documents, plan.indices, setup.task)
            self._pools[key] = Pool(documents)
        return self._pools[key]

    def sample(self, setup: CellSetup, count: int, seed: int) -> DiskList[Document]:
        """A random sample of the cell's documents, the same one for every template."""
        key = (repr(setup.task.dataset), setup.task.split, count, seed)
        if key not in self._samples:
            scored, _ = self.for_cell(setup)
            self._samples[key] = _sampled(scored.documents, count, seed)
        return self._samples[key]

    def asked(self, setup: CellSetup) -> Sequence[int]:
        """Positions of the documents that a cell of a sweep on a budget asks, in order."""
        share = setup.share
        assert share is not None
        key = (repr(setup.task.dataset), setup.task.split, setup.limit, replace(share, prompt=0))
        if key not in self._designs:
            documents, limit = self.scored(setup, share.seed)
            count = limited(len(documents), limit)
            self._designs[key] = _design(islice(documents, count), share)
        return self._designs[key][share.prompt]

    def scored(self, setup: CellSetup, seed: int) -> tuple[Sequence[Document], float | None]:
        """The documents of a cell, and how many of them: those that select are a sample.

        Args:
            setup: The cell.
            seed: Of the run, not the cell: every sample of examples meets the same documents.
        """
        if setup.selects and setup.limit is not None:
            return self.sample(setup, int(setup.limit), seed), None
        return self.for_cell(setup)[0].documents, setup.limit

    def files(self, setup: CellSetup) -> dict[str, tuple[DataFile, ...]]:
        """The files behind a cell, by split."""
        scored, pool = self.for_cell(setup)
        found = {setup.task.split: scored.files}
        if pool is not None and pool.files:
            split = setup.task.fewshot.split or "samples"
            # Of one split that examples and questions go through different functions, all.
            found[split] = tuple(dict.fromkeys((*found.get(split, ()), *pool.files)))
        return found

    def notices(self) -> list[str]:
        """What is worth knowing about the rows."""
        left_out: dict[str, list[str]] = {}
        for id, reason in self.skipped.items():
            left_out.setdefault(reason, []).append(id)
        missing = [
            f"left out, since the data cannot be had: {listed(ids)}: {reason}"
            for reason, ids in left_out.items()
        ]
        if self._fewer:
            first, *others = (f"{id} has {number}" for id, number in self._fewer.items())
            more = f", and {len(others)} more tasks have fewer than they should" if others else ""
            missing.append(f"the sample rows are too few for all examples: {first}{more}")
        loaded = (notice for one in self._sets.values() for notice in one.notices)
        return [*missing, *dict.fromkeys(loaded)]

    def kept(self, setups: Sequence[CellSetup]) -> list[CellSetup]:
        """The cells whose rows there are, with no more examples than the sample rows can give.

        Fewer only where a definition or a profile chose the number: what the user names is an
        error if it cannot be had.
        """
        return [self._fitted(setup) for setup in setups if setup.cell.id not in self.skipped]

    def _fitted(self, setup: CellSetup) -> CellSetup:
        if not self.choice.sample_data or "num_fewshot" not in dict(setup.chosen_by):
            return setup
        shared = setup.task.fewshot.split == setup.task.split
        available = max(len(self.pool(setup)) - shared, 0)
        if setup.cell.shots <= available:
            return setup
        self._fewer[setup.cell.id] = available
        return replace(setup, cell=replace(setup.cell, shots=available))


def _example_set(task: Task) -> Dataset:
    """The rows that examples come from, with the function that makes examples of them."""
    plan, dataset = task.fewshot, task.dataset
    if plan.whole_split and dataset.where:
        dataset = replace(dataset, where={})
    return (
        dataset if plan.process_docs is None else replace(dataset, process_docs=plan.process_docs)
    )


def _chosen(
    documents: Sequence[Document], indices: Sequence[int], task: Task
) -> DiskList[Document]:
    """The documents that `fewshot_indices` names."""
    for index in indices:
        if not 0 <= index < len(documents):
            raise DataError(
                f"{task.source}: fewshot_indices names row {index}, and split "
                f"`{task.fewshot.split}` has {len(documents):,}",
                "rows count from 0",
            )
    return DiskList(documents[index] for index in indices)


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


def prompt_settings(config: RunConfig) -> PromptSettings:
    """The user's choices about prompts."""
    return PromptSettings(
        seed=config.seed,
        fewshot=config.fewshot,
        sampler=config.profile_settings.sampler,
        apply_chat_template=config.apply_chat_template,
        chat_template_args=config.chat_template_args,
        fewshot_as_multiturn=config.fewshot_as_multiturn,
        system_instruction=config.system_instruction,
        system_prompt=config.system_instruction or config.system_prompt,
        fit_examples=config.profile_settings.fit_examples,
        cap_by_references=config.profile_settings.cap_by_references,
    )


@stage("data")
def load_data(
    config: RunConfig, setups: Sequence[CellSetup], progress: Progress | None = None
) -> Data:
    """Read and check every row the cells need.

    Raises:
        DataError: Rows are missing or damaged; with `--skip_missing`, all tasks lack theirs.
    """
    data = Data(data_choice(config), progress, config.model_args)
    failed: dict[tuple[str, str | None], MissingData] = {}
    for setup in setups:
        source = (setup.task.dataset.name, setup.task.dataset.config)
        try:
            if source in failed:
                raise failed[source]
            data.for_cell(setup)
            if setup.share is not None:
                data.asked(setup)  # refuses prompts that would be asked of too few documents
        except AlteredFile:
            raise
        except MissingData as error:
            if not config.skip_missing:
                if len(setups) == 1:
                    raise
                hint = "--skip_missing leaves out tasks whose data cannot be had"
                raise type(error)(
                    f"{setup.cell.id}: {error.message}", f"{error.hint}; {hint}"
                ) from error
            failed[source] = error
            data.skipped[setup.cell.id] = error.message.split(";")[0]
    if setups and not data.kept(setups):
        raise next(iter(failed.values()))
    return data


def count_prompts(setup: CellSetup, data: Data) -> int:
    """How many prompts a cell will have."""
    if setup.share is not None:
        return len(data.asked(setup))
    return limited(len(data.for_cell(setup)[0].documents), setup.limit)


def limit_notices(setups: Sequence[CellSetup], data: Data) -> list[str]:
    """One line where `--limit` names more documents than there are."""
    fewer: dict[str, int] = {}
    for setup in setups:
        limit, there = setup.limit, len(data.for_cell(setup)[0].documents)
        if limit is not None and limit > max(there, 1) and setup.share is None:
            fewer[setup.cell.id] = there
    if not fewer:
        return []
    shown = listed([f"{id} has {there:,}" for id, there in fewer.items()])
    return [f"--limit asks for more documents than there are: {shown}; all of them are asked"]


def prompts_of(
    setup: CellSetup,
    data: Data,
    settings: PromptSettings,
    tokenizer: Measure | None,
    chat: Chat | None = None,
) -> Iterator[Prompt]:
    """The prompts of one cell; conversations are formatted by `chat`, or by the tokenizer."""
    documents, limit = data.scored(setup, settings.seed)
    asked = None if setup.share is None else data.asked(setup)
    prompts = build_prompts(
        setup.task, setup.cell, documents, data.pool(setup), limit, settings, tokenizer, chat, asked
    )
    return _readable(setup.task, prompts)


def _readable(task: Task, prompts: Iterator[Prompt]) -> Iterator[Prompt]:
    """The prompts again; one whose answer no filter could read is refused before it is asked."""
    checks = reference_checks(task)
    for prompt in prompts:
        where = f"{prompt.cell.id}: document {prompt.document}"
        check_question(task, prompt.num_choices, where)
        for check in checks:
            check(prompt.references, where)
        yield prompt


def _design(documents: Iterable[Document], share: Share) -> list[array[int]]:
    """Which documents each prompt is asked of, as their positions.

    Raises:
        ConfigError: A prompt would be asked of too few documents.
    """
    import numpy as np

    from tenbin.statistics.option_order import LEAST_PRIOR
    from tenbin.statistics.prompts.design import assign, check_load

    # Marked, because a group's name may be another document's id.
    names = [f"document {one.id}" if one.group is None else one.group for one in documents]
    if share.rotated and len(names) < LEAST_PRIOR * share.prompts:
        raise ConfigError(
            f"--rotated_share asks rotated orders of {len(names) // share.prompts} of {len(names)} "
            f"documents, and {LEAST_PRIOR} are needed",
            f"--rotated_share {min(0.5, math.ceil(100 * LEAST_PRIOR / len(names)) / 100):g}, or "
            "leave it out to ask all of them",
        )
    if not share.rotated:
        check_load(len(names), share.prompts, share.per_document)
    asked = assign(names, share.prompts, share.per_document, share.seed)
    return [array("Q", np.flatnonzero(column).tolist()) for column in asked.T]


def _sampled(documents: Sequence[Document], count: int, seed: int) -> DiskList[Document]:
    """A random sample of documents, in their own order."""
    keys = (content_key(seed, document.id) for document in documents)
    sampled = heapq.nsmallest(count, ((key, at) for at, key in enumerate(keys)))
    return DiskList(documents[at] for at in sorted(at for _, at in sampled))
