"""The pipeline: the one module that joins all stages.

config → cells → data → prompts → plan → answers → outcomes → scores → results.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from tenbin.asking import Listener, ask
from tenbin.backends.base import Backend, BackendSettings, Workers, chat_format_of
from tenbin.backends.registry import open_backend
from tenbin.config import RunConfig
from tenbin.counting import Counted
from tenbin.describing import Given, engine_notices, engines_of, model_entries
from tenbin.errors import ConfigError
from tenbin.journal.answers import Answers
from tenbin.journal.store import Journal
from tenbin.judging import JudgedDocuments, judge_all
from tenbin.metrics.registry import find_metric
from tenbin.naming import suited_cells
from tenbin.planning.plan import Plan
from tenbin.preparation import (
    CellSetup,
    Data,
    choose_cells,
    count_prompts,
    data_choice,
    load_data,
    pairing_notices,
    prompt_settings,
    prompts_of,
    selecting_cells,
)
from tenbin.reasoning import thinking_notices
from tenbin.recording import record, run_file
from tenbin.records import Cell, ScoreRow
from tenbin.results.folder import RunFolder, choose_folder, discard_empty, write_run
from tenbin.results.progress import clear_progress
from tenbin.results.rows import sample_row
from tenbin.scoring import GroupScore, summarise_cells, summarise_groups
from tenbin.spending import Spent, usage_entry, usage_of_both
from tenbin.watching import Watch


@dataclass(frozen=True, slots=True)
class Finished:
    """A run that is over: its scores, its documents, and the document that records it."""

    config: RunConfig
    setups: tuple[CellSetup, ...]
    scores: Mapping[Cell, Sequence[ScoreRow]]
    groups: tuple[GroupScore, ...]
    judged: JudgedDocuments
    document: Mapping[str, Any]
    folder: RunFolder | None

    def samples(self) -> Iterator[dict[str, Any]]:
        """Every document as plain values, one at a time."""
        for one in self.judged:
            yield sample_row(
                one.planned.prompt, one.response, one.unconditional, one.outcomes, one.further
            )


def execute(
    config: RunConfig, listener: Listener, backend: Backend | None = None, write: bool = True
) -> Finished:
    """Evaluate, from a checked config to written results.

    Args:
        config: What to do.
        listener: Told how it goes.
        backend: A model that is open already; otherwise the one the config names is opened.
        write: Whether to write the run folder.
    """
    setups = choose_cells(config)
    return execute_cells(
        config, [*setups, *selecting_cells(config, setups)], listener, backend, write
    )


def execute_cells(
    config: RunConfig,
    setups: Sequence[CellSetup],
    listener: Listener,
    backend: Backend | None = None,
    write: bool = True,
    also: Mapping[str, Any] | None = None,
    spent: Mapping[str, Any] | None = None,
) -> Finished:
    """Evaluate given cells of a config.

    Args:
        config: What to do.
        setups: The cells.
        listener: Told how it goes.
        backend: A model that is open already.
        write: Whether to write the run folder.
        also: Recorded beside the scores.
        spent: The entry `usage` of what was asked before, on behalf of this run.
    """
    started, stamp = time.time(), datetime.now(timezone.utc)
    data = load_data(config, setups, listener.transfer)
    for notice in [*pairing_notices(config, setups), *data.notices()]:
        listener.message(notice)
    folder = None
    if write:
        moment = stamp.strftime("%Y%m%d-%H%M%S")
        folder = choose_folder(config.output_path, _model_name(config), moment)
    try:
        opened = (
            backend
            if backend is not None
            else open_backend(backend_settings(config, listener.message))
        )
        try:
            asked = _ask(config, setups, data, opened, listener, folder)
        finally:
            if backend is None:
                opened.close()
    except BaseException:
        if folder is not None:
            discard_empty(folder)
        raise
    with closing(asked.answers):
        counted = Counted(listener.prepare, "judging", len(asked.plan))
        judged = judge_all(asked.setups, asked.plan, asked.answers, counted)
    scores = summarise_cells(asked.setups, judged)
    groups = summarise_groups(asked.setups, judged)
    took = usage_of_both(spent, usage_entry(asked.spent, asked.description.get("prices")))
    document = {
        **record(
            config, asked.setups, scores, groups, data, asked.plan, judged.tallies, asked.notices
        ),
        **_of_the_model(asked, opened.fingerprint),
        "date": stamp.isoformat(timespec="seconds"),
        "usage": took,
        "total_evaluation_time_seconds": round(time.time() - started, 3),
        **(also or {}),
    }
    finished = Finished(config, asked.setups, scores, tuple(groups), judged, document, folder)
    if folder is not None:
        counted = Counted(listener.prepare, "writing samples", len(judged))
        write_run(folder, document, counted.through(finished.samples()), run_file(config))
        clear_progress(folder.path)
    return finished


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a model was asked, and that it answered."""

    setups: tuple[CellSetup, ...]
    """The cells as this model could answer them."""
    notices: tuple[str, ...]
    plan: Plan
    answers: Answers
    """To be closed."""
    spent: Spent
    description: Mapping[str, Any]
    """Of the backend as it is now."""
    engines: tuple[Given, ...]
    """What gave the answers, in this run and before."""


def _ask(
    config: RunConfig,
    setups: Sequence[CellSetup],
    data: Data,
    backend: Backend,
    listener: Listener,
    folder: RunFolder | None,
) -> _Asked:
    suited, left_out = suited_cells(setups, backend)
    notices = [*left_out, *_thinking_notices(suited, config, backend)]
    for notice in notices:
        listener.message(notice)
    plan = _plan(config, suited, data, backend, listener)
    answers = Answers(_journal(config, backend, listener), backend.describe)
    try:
        if folder is None:
            spent = ask(plan.queue, backend, answers, listener)
        else:
            with Watch(folder.path, _model_name(config), suited, plan, answers) as watch:
                spent = ask(plan.queue, backend, answers, listener, watch.answered)
        description = dict(backend.describe())
        engines = engines_of(answers.given_by(description))
    except BaseException:
        answers.close()
        raise
    for notice in engine_notices(engines):
        listener.message(notice)
        notices.append(notice)
    return _Asked(tuple(suited), tuple(notices), plan, answers, spent, description, tuple(engines))


def _of_the_model(asked: _Asked, fingerprint: str) -> dict[str, Any]:
    """What result.json says of the model; how the work was spread is no part of what it is."""
    scale = asked.description.get("scale")
    return {
        **model_entries(asked.engines, asked.description),
        "fingerprint": fingerprint,
        "answers_from_journal": asked.spent.from_journal,
        **({"scale": scale} if scale is not None else {}),
    }


def backend_settings(
    config: RunConfig, notify: Callable[[str], None] | None = None
) -> BackendSettings:
    """The model half of a config."""
    return BackendSettings(
        model=config.model,
        model_args=config.model_args,
        device=config.device,
        dtype=config.dtype,
        batch_size=config.batch_size,
        encoding=config.encoding,
        add_bos=config.way.add_bos,
        cache_dir=str(data_choice(config).cache_dir),
        notify=notify,
        workers=_workers(config),
    )


def _workers(config: RunConfig) -> Workers | None:
    if config.workers is None and config.ray_address is None:
        return None
    given = {name: getattr(config, name) for name in ("num_gpus", "num_cpus", "shard_size")}
    said = {name: value for name, value in given.items() if value is not None}
    return Workers(config.workers, config.ray_address, **said)


def _plan(
    config: RunConfig,
    setups: Sequence[CellSetup],
    data: Data,
    backend: Backend,
    listener: Listener,
) -> Plan:
    settings = prompt_settings(config)
    writes = any(setup.task.kind == "generate" for setup in setups)
    if settings.cap_by_references and writes and backend.tokenizer is None:
        raise ConfigError(
            f"profile {config.way.name} ends answers at the references' length in tokens, and this"
            " backend shows no tokenizer",
            "name it with --model_args tokenizer=PATH, or leave the profile out",
        )
    format = chat_format_of(backend)
    chat = format.chat if format is not None else None
    plan = Plan()
    total = sum(count_prompts(setup, data) for setup in setups)
    counted = Counted(listener.prepare, "making prompts", total)
    for setup in setups:
        prompts = prompts_of(setup, data, settings, backend.tokenizer, chat)
        unconditional = any(
            find_metric(use.metric).needs_unconditional for use in setup.task.metrics
        )
        plan.add(setup.cell, counted.through(prompts), unconditional)
    return plan


def _thinking_notices(
    setups: Sequence[CellSetup], config: RunConfig, backend: Backend
) -> list[str]:
    marks = backend.tokenizer.thinking_marks if backend.tokenizer is not None else None
    return thinking_notices(config.reasoning, [setup.task for setup in setups], marks)


def _model_name(config: RunConfig) -> str:
    named = config.model_args.get("pretrained") or config.model_args.get("model")
    return str(named or config.model)


def _journal(config: RunConfig, backend: Backend, listener: Listener) -> Journal | None:
    if config.no_cache:
        return None
    folder = data_choice(config).cache_dir / "journal"
    return Journal(folder, backend.fingerprint, listener.message)
