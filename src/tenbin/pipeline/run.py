"""The pipeline: the one module that joins all stages.

config → cells → data → prompts → plan → answers → outcomes → scores → results.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

from tenbin.backends.base import Backend, BackendSettings, Workers
from tenbin.backends.registry import open_backend
from tenbin.config import RunConfig
from tenbin.errors import ConfigError
from tenbin.files.hub_switches import hub_offline
from tenbin.journal.answers import Answers
from tenbin.journal.store import Journal
from tenbin.metrics.registry import tools_of
from tenbin.pipeline.ask import ask
from tenbin.pipeline.capabilities import suited_cells, thinking_notices
from tenbin.pipeline.cells.choose import choose_cells
from tenbin.pipeline.cells.documents import part_cells, selecting_cells
from tenbin.pipeline.cells.per_task import number_notices
from tenbin.pipeline.cells.setup import CellSetup
from tenbin.pipeline.early_start import EarlyStart
from tenbin.pipeline.finish import (
    CompletedRun,
    RunState,
    finish,
    prepare_to_save,
    save_part,
    write_completed,
)
from tenbin.pipeline.interrupt import rescuing
from tenbin.pipeline.output_folder import check_place, model_name, taken_place
from tenbin.pipeline.partial_scores import PartialScores
from tenbin.pipeline.plan import Plan
from tenbin.pipeline.prepare import (
    Data,
    count_prompts,
    data_choice,
    limit_notices,
    load_data,
    prompt_settings,
    prompts_of,
)
from tenbin.pipeline.progress import Listener, ProgressCounter, RunStart
from tenbin.pipeline.record import identify
from tenbin.pipeline.until.stop_rule import StopRule
from tenbin.pipeline.until.width import check_widths, width_rules
from tenbin.results.folder import RunFolder
from tenbin.results.identity import run_id
from tenbin.sandbox.printable import counted
from tenbin.timing import stage, timed

_LOG = logging.getLogger("tenbin.pipeline")
__all__ = ["CompletedRun", "backend_settings", "execute", "execute_cells"]


def execute(
    config: RunConfig, listener: Listener, backend: Backend | None = None, write: bool = True
) -> CompletedRun:
    """Evaluate, from a checked config to written results.

    Args:
        config: What to do.
        listener: Receives the progress.
        backend: A model that is open already; otherwise the one the config names is opened.
        write: Whether to write the run folder.

    Raises:
        KeyboardInterrupt: It was stopped; what was answered by then is written, marked as partial.
    """
    if config.then:
        raise ConfigError("--then is an option of `tenbin sweep`", "leave it out of this run")
    with timed():
        setups = choose_cells(config)
        asked = part_cells(config, [*setups, *selecting_cells(config, setups)])
        return execute_cells(config, asked, listener, backend, write)


def execute_cells(
    config: RunConfig,
    setups: Sequence[CellSetup],
    listener: Listener,
    backend: Backend | None = None,
    write: bool = True,
    folder: RunFolder | None = None,
    data: Data | None = None,
    **more: Any,
) -> CompletedRun:
    """Evaluate given cells of a config.

    Args:
        config: What to do.
        setups: The cells.
        listener: Receives the progress.
        backend: A model that is open already.
        write: Whether to write the run folder.
        folder: The place of the run, where it is taken already.
        data: The rows, where they have been read for another run of the same cells.
        more: As in `RunState`: `template_choice`, `leaders` and `usage_before`.
    """
    more |= {"stamp": datetime.now(timezone.utc), "started": time.monotonic()}
    for task in {(s.task.name, s.task.version): s.task for s in setups}.values():
        tools_of(task)  # refuses what is not installed; prompts alone need none of it
    with ExitStack() as held:
        held.enter_context(hub_offline(config.offline))
        more["timing"] = held.enter_context(timed())
        data = data or load_data(config, setups, listener.transfer)
        setups = data.kept(setups)
        _log_data(setups, data)
        widths = check_widths(setups, data)
        for notice in [*data.notices(), *limit_notices(setups, data)]:
            listener.warning(notice)
        for notice in [*number_notices(config, setups), *widths]:
            listener.message(notice)
        if write and folder is None:
            folder = held.enter_context(taken_place(config, more["stamp"], listener))
        if backend is None:
            with stage("model files"):
                backend = open_backend(backend_settings(config, listener.message))
            held.callback(backend.close)
        _LOG.debug("model: backend %s, fingerprint %s", config.model, backend.fingerprint)
        with _reported_break(listener):
            state = _prepare(config, setups, data, backend, listener, folder, **more)
            run = write_completed(state, _ask_and_judge(state, backend, listener), listener)
        listener.complete(run)
    _log_end(run)
    return run


@contextmanager
def _reported_break(listener: Listener) -> Iterator[None]:
    """Tells the listener when the run breaks off."""
    try:
        yield
    except BaseException as error:
        listener.abort(error)
        raise


def _ask_and_judge(state: RunState, backend: Backend, listener: Listener) -> CompletedRun:
    judge = state.partial_scores.judge
    with (
        closing(state.answers),
        rescuing(lambda: save_part(state), prepare_to_save),
        state.partial_scores as observer,
    ):
        for _ in state.stop_rule.portions(state.plan, judge.judged, listener.message):
            ask(state.plan.queue, backend, state.answers, listener, observer, state.usage)
            observer.write("judging")
            judge.judge_rest(listener.prepare)
            observer.end_portion()
        engine = dict(backend.describe()).get("engine")
        _LOG.debug("engine: %s", json.dumps(engine, ensure_ascii=False, default=str))
        return finish(state, judge.judged, notify=listener.message)


def _log_data(setups: Sequence[CellSetup], data: Data) -> None:
    """Log what is asked and the files that rows come from; nothing is looked up for no reader."""
    if not _LOG.isEnabledFor(logging.DEBUG):
        return
    ids = ", ".join(setup.cell.id for setup in setups)
    _LOG.debug("%s: %s", counted(len(setups), "cell"), ids)
    files = {(s, file) for setup in setups for s, all in data.files(setup).items() for file in all}
    for split, file in sorted(files, key=lambda one: (one[1].path, one[0])):
        _LOG.debug("data: %s: %s, SHA-256 %s", split, file.path, file.sha256)


def _log_end(completed: CompletedRun) -> None:
    """Log the stages with their seconds, and where the results are."""
    if completed.timing is not None:
        spent = completed.timing.seconds.items()
        _LOG.debug("stages: %s", ", ".join(f"{name} {seconds:.3f} s" for name, seconds in spent))
    if completed.folder is not None:
        _LOG.debug("results: %s", completed.folder.result_file)


def _prepare(
    config: RunConfig,
    setups: Sequence[CellSetup],
    data: Data,
    backend: Backend,
    listener: Listener,
    folder: RunFolder | None,
    **more: Any,
) -> RunState:
    """Fit the cells to the backend, check the folder, and plan all requests."""
    suited, left_out = suited_cells(setups, backend)
    replaces = False
    if folder is not None:
        replaces = check_place(folder, config, suited, data, backend.fingerprint)
    marks = backend.capabilities.thinking_marks
    thinking = thinking_notices(config.thinking_settings, [setup.task for setup in suited], marks)
    notices = [*left_out, *thinking]
    for notice in notices:
        listener.message(notice)
    if listener.watches_scores:
        id = run_id(identify(config, suited, data, backend.fingerprint))
        cells = tuple(setup.cell for setup in suited)
        listener.begin(RunStart(id, model_name(config), backend.fingerprint, config, cells))
    early = EarlyStart(backend, lambda: _journal(config, backend, listener))
    # What stops early asks some documents alone, and which ones is not known yet.
    watch = None if any(setup.until for setup in suited) else early.watch
    with early:
        plan = _plan(config, suited, data, backend, listener, watch)
        answers = Answers(early.journal(), backend.describe)
    path = folder.path if folder is not None else None
    notify = listener.partial if listener.watches_scores else None
    partial_scores = PartialScores(path, model_name(config), suited, plan, answers, notify)
    state = RunState(
        config, tuple(suited), tuple(notices), data, plan, answers, partial_scores, backend,
        folder, replaces, **more,
    )  # fmt: skip
    if any(setup.until == "decided" for setup in suited):
        from tenbin.pipeline.until.against import decision_rule

        rule = decision_rule(state)
    else:
        rule = StopRule(config.seed, width_rules(plan, suited, config.seed))
    if rule.stops:
        plan.hold_back()
    return replace(state, stop_rule=rule)


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
        add_bos=config.profile_settings.add_bos,
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


@stage("prompts")
def _plan(
    config: RunConfig,
    setups: Sequence[CellSetup],
    data: Data,
    backend: Backend,
    listener: Listener,
    watch: Callable[[Sequence[str]], None] | None,
) -> Plan:
    settings = prompt_settings(config)
    writes = any(setup.task.kind == "generate" for setup in setups)
    if settings.cap_by_references and writes and backend.capabilities.tokenizer is None:
        raise ConfigError(
            f"profile {config.profile} ends answers at the references' length in tokens, and this"
            " backend shows no tokenizer",
            "name it with --model_args tokenizer=PATH, or leave the profile out",
        )
    format = backend.capabilities.chat_format
    chat = format.chat if format is not None else None
    plan = Plan(watch)
    total = sum(count_prompts(setup, data) for setup in setups)
    counter = ProgressCounter(listener.prepare, "making prompts", total)
    for setup in setups:
        prompts = prompts_of(setup, data, settings, backend.capabilities.tokenizer, chat)
        plan.add(setup.cell, counter.through(prompts), setup.scores_unconditionally)
    _LOG.debug("prompts: %s, in %s requests", f"{len(plan):,}", f"{plan.queue.left()[0]:,}")
    return plan


@stage("journal")
def _journal(config: RunConfig, backend: Backend, listener: Listener) -> Journal | None:
    if config.no_cache:
        return None
    folder = data_choice(config).cache_dir / "journal"
    return Journal(folder, backend.fingerprint, listener.message)
