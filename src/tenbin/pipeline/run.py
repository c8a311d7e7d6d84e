"""The pipeline: the one module that joins all stages.

config → cells → data → prompts → plan → answers → outcomes → scores → results.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing, nullcontext
from datetime import datetime, timezone
from typing import Any

from tenbin.backends.base import Backend, BackendSettings, Workers
from tenbin.backends.registry import open_backend
from tenbin.config import RunConfig
from tenbin.errors import ConfigError
from tenbin.journal.answers import Answers
from tenbin.journal.store import Journal
from tenbin.pipeline.ask import ask
from tenbin.pipeline.capabilities import suited_cells, thinking_notices
from tenbin.pipeline.cells import CellSetup, choose_cells, pairing_notices, selecting_cells
from tenbin.pipeline.conclude import (
    RunResult,
    RunState,
    conclude,
    prepare_to_save,
    save_part,
    write_finished,
)
from tenbin.pipeline.interrupt import rescuing
from tenbin.pipeline.judge import judge_all
from tenbin.pipeline.output_folder import check_place, model_name, taken_place
from tenbin.pipeline.partial_scores import Watch
from tenbin.pipeline.plan import Plan
from tenbin.pipeline.prepare import (
    Data,
    count_prompts,
    data_choice,
    load_data,
    prompt_settings,
    prompts_of,
)
from tenbin.pipeline.progress import Listener, ProgressCounter
from tenbin.results.folder import RunFolder

__all__ = ["RunResult", "backend_settings", "execute", "execute_cells"]


def execute(
    config: RunConfig, listener: Listener, backend: Backend | None = None, write: bool = True
) -> RunResult:
    """Evaluate, from a checked config to written results.

    Args:
        config: What to do.
        listener: Told how it goes.
        backend: A model that is open already; otherwise the one the config names is opened.
        write: Whether to write the run folder.

    Raises:
        KeyboardInterrupt: It was stopped; what was answered by then is written, marked as partial.
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
    folder: RunFolder | None = None,
    **more: Any,
) -> RunResult:
    """Evaluate given cells of a config.

    Args:
        config: What to do.
        setups: The cells.
        listener: Told how it goes.
        backend: A model that is open already.
        write: Whether to write the run folder.
        folder: The place of the run, where it is taken already.
        more: As in `RunState`: `also` and `usage_before`.
    """
    stamp, started = datetime.now(timezone.utc), time.monotonic()
    data = load_data(config, setups, listener.transfer)
    for notice in [*pairing_notices(config, setups), *data.notices()]:
        listener.message(notice)
    with ExitStack() as held:
        if write and folder is None:
            folder = held.enter_context(taken_place(config, stamp, listener))
        opened = backend
        if opened is None:
            opened = open_backend(backend_settings(config, listener.message))
            held.callback(opened.close)
        more |= {"stamp": stamp, "started": started}
        state = _prepare(config, setups, data, opened, listener, folder, **more)
        with closing(state.answers), rescuing(lambda: save_part(state), prepare_to_save):
            finished = _carry_out(state, listener)
        return write_finished(state, finished, listener)


def _prepare(
    config: RunConfig,
    setups: Sequence[CellSetup],
    data: Data,
    backend: Backend,
    listener: Listener,
    folder: RunFolder | None,
    **more: Any,
) -> RunState:
    """Everything that comes before the first question."""
    suited, left_out = suited_cells(setups, backend)
    replaces = False
    if folder is not None:
        replaces = check_place(folder, config, suited, data, backend.fingerprint)
    notices = [*left_out, *_thinking_notices(suited, config, backend)]
    for notice in notices:
        listener.message(notice)
    plan = _plan(config, suited, data, backend, listener)
    answers = Answers(_journal(config, backend, listener), backend.describe)
    watch = None
    if folder is not None:
        watch = Watch(folder.path, model_name(config), suited, plan, answers)
    return RunState(
        config, tuple(suited), tuple(notices), data, plan, answers, backend, folder,
        replaces, watch, **more,
    )  # fmt: skip


def _carry_out(state: RunState, listener: Listener) -> RunResult:
    """Ask everything, judge every answer, and score."""
    watch = state.watch
    with watch or nullcontext():
        ask(state.plan.queue, state.backend, state.answers, listener, watch, state.spent)
        if watch is not None:
            watch.write("judging")
        counter = ProgressCounter(listener.prepare, "judging", len(state.plan))
        judged = judge_all(state.setups, state.plan, state.answers, counter)
        return conclude(state, judged, tell=listener.message)


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
    if settings.cap_by_references and writes and backend.capabilities.tokenizer is None:
        raise ConfigError(
            f"profile {config.way.name} ends answers at the references' length in tokens, and this"
            " backend shows no tokenizer",
            "name it with --model_args tokenizer=PATH, or leave the profile out",
        )
    format = backend.capabilities.chat_format
    chat = format.chat if format is not None else None
    plan = Plan()
    total = sum(count_prompts(setup, data) for setup in setups)
    counter = ProgressCounter(listener.prepare, "making prompts", total)
    for setup in setups:
        prompts = prompts_of(setup, data, settings, backend.capabilities.tokenizer, chat)
        plan.add(setup.cell, counter.through(prompts), setup.scores_unconditionally)
    return plan


def _thinking_notices(
    setups: Sequence[CellSetup], config: RunConfig, backend: Backend
) -> list[str]:
    marks = backend.capabilities.thinking_marks
    return thinking_notices(config.reasoning, [setup.task for setup in setups], marks)


def _journal(config: RunConfig, backend: Backend, listener: Listener) -> Journal | None:
    if config.no_cache:
        return None
    folder = data_choice(config).cache_dir / "journal"
    return Journal(folder, backend.fingerprint, listener.message)
