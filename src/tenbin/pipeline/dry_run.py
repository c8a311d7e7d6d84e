"""What a run would ask: documents, requests, tokens, and what of it the journal knows already.

No weights are loaded and nothing is written. Where the model cannot be opened at all, tokens are
estimated from characters and the journal cannot be looked into; both is said.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from os.path import commonprefix
from pathlib import Path
from typing import Any

from tenbin.backends.base import Backend, Capabilities
from tenbin.backends.registry import open_backend
from tenbin.config import AUTO, RunConfig
from tenbin.errors import ConfigError, TenbinError
from tenbin.files.hub_switches import hub_offline
from tenbin.journal.answers import Answers
from tenbin.journal.store import Journal
from tenbin.pipeline.capabilities import suited_cells
from tenbin.pipeline.cells.choose import choose_cells
from tenbin.pipeline.cells.documents import part_cells, selecting_cells
from tenbin.pipeline.cells.setup import CellSetup
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
from tenbin.pipeline.progress import Listener, ProgressCounter
from tenbin.pipeline.run import backend_settings
from tenbin.pipeline.suite_cost import estimate_tokens, measure_rate
from tenbin.pipeline.usage import TokenUsage, cost_of
from tenbin.records import Generate, Request, Score
from tenbin.results.folder import RESULT
from tenbin.results.read import read_run
from tenbin.results.schema import RunResult

_AT_WORK = ("scoring", "generation", "model")
"""Stages in which a model answers."""
_LOOKED_AT = 50
"""Latest runs of a folder that are searched for one of the same model."""
_UNITS = {"m": 1e6, "b": 1e9}
_SIZE = re.compile(r"(?<![A-Za-z0-9])(\d+(?:\.\d+)?)([MB])(?![A-Za-z0-9])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class DryTask:
    """What one cell would ask."""

    id: str
    documents: int
    shots: int


@dataclass(frozen=True, slots=True)
class DryRun:
    """What a run would ask."""

    tasks: tuple[DryTask, ...]
    requests: int
    """Distinct ones: identical prompts are asked once."""
    known: int | None
    """Of these the journal has the answers; None where it could not be looked up."""
    prompt_tokens: int
    """Of the requests that are left, each counted whole."""
    distinct_tokens: int
    """The same with shared prefixes counted once."""
    answer_tokens: int
    """Written at most."""
    counted: str
    """How tokens were counted."""
    seconds: float | None
    """Estimated time of the model; None where nothing is known of its speed."""
    rate: str
    """What the estimate rests on, or why there is none."""
    cost: float | None
    """At most; None where no prices are known."""
    currency: str | None
    notices: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """All of it as JSON."""
        return asdict(self)


def dry_run(config: RunConfig, listener: Listener) -> DryRun:
    """Prepare everything that a run asks, and ask nothing.

    Raises:
        TenbinError: A fault that the run would have before it loads the model.
    """
    if config.template == AUTO:
        raise ConfigError(
            "--dry_run cannot know which template --template auto chooses",
            "name one, or look at all of them: tenbin sweep … --dry_run",
        )
    setups = choose_cells(config)
    setups = part_cells(config, [*setups, *selecting_cells(config, setups)])
    data = load_data(config, setups, listener.transfer)
    setups = data.kept(setups)
    notices = [*data.notices(), *limit_notices(setups, data)]
    with hub_offline(config.offline):
        backend, why = _opened(config, listener)
    try:
        if backend is None:
            notices.append(f"the model cannot be opened: {why}")
        else:
            setups, left_out = suited_cells(setups, backend)
            notices += left_out
        return _counted(config, setups, data, backend, listener, notices)
    finally:
        if backend is not None:
            backend.close()


def _opened(config: RunConfig, listener: Listener) -> tuple[Backend | None, str]:
    """The backend, whose weights are not loaded; or None, and why."""
    settings = replace(backend_settings(config, listener.message), workers=None)
    try:
        return open_backend(settings), ""
    except TenbinError as error:
        return None, error.message


def _counted(
    config: RunConfig,
    setups: Sequence[CellSetup],
    data: Data,
    backend: Backend | None,
    listener: Listener,
    notices: list[str],
) -> DryRun:
    capabilities = Capabilities() if backend is None else backend.capabilities
    settings = prompt_settings(config)
    format = capabilities.chat_format
    if format is None and settings.apply_chat_template:
        settings = replace(settings, apply_chat_template=False)
        notices.append("prompts are counted without the chat format, which only the model has")
    if capabilities.tokenizer is None:
        settings = replace(settings, cap_by_references=False)
    if config.until:
        notices.append("at most: --until stops as soon as enough is known")
    if config.then:
        notices.append("the first part alone: --then chooses what follows by its answers")
    plan = Plan()
    total = sum(count_prompts(setup, data) for setup in setups)
    counter = ProgressCounter(listener.prepare, "making prompts", total)
    chat = format.chat if format is not None else None
    for setup in setups:
        prompts = prompts_of(setup, data, settings, capabilities.tokenizer, chat)
        plan.add(setup.cell, counter.through(prompts), setup.scores_unconditionally)
    requests = plan.queue.left()[0]
    known = None if backend is None else _settle_known(config, plan, backend, listener)
    read, distinct, written = _tokens(plan, capabilities, listener)
    seconds, rate = _time(config, backend, plan.queue.left()[0], distinct + written)
    prices = _prices(config, backend)
    usage = TokenUsage(prompt_tokens=read, completion_tokens=written)
    return DryRun(
        tasks=tuple(DryTask(s.cell.id, count_prompts(s, data), s.cell.shots) for s in setups),
        requests=requests,
        known=known,
        prompt_tokens=read,
        distinct_tokens=distinct,
        answer_tokens=written,
        counted="estimated from characters, without a tokenizer"
        if capabilities.tokenizer is None
        else "counted with the model's tokenizer",
        seconds=seconds,
        rate=rate,
        cost=cost_of(usage, prices),
        currency=(prices or {}).get("currency"),
        notices=tuple(notices),
    )


def _settle_known(
    config: RunConfig, plan: Plan, backend: Backend, listener: Listener
) -> int | None:
    """Take off what the journal has; how many. A journal that is not there is not made."""
    if config.no_cache:
        return 0
    folder = data_choice(config).cache_dir / "journal"
    name = hashlib.sha256(backend.fingerprint.encode()).hexdigest()[:32]
    if not (folder / f"{name}.sqlite").exists():
        return 0
    answers = Answers(Journal(folder, backend.fingerprint, listener.message))
    try:
        settled = [
            numbers[key]
            for numbers in plan.queue.numbered_keys()
            for key in answers.known(list(numbers))
        ]
    finally:
        answers.close()
    plan.queue.settle_numbers(settled)
    return len(settled)


def _tokens(plan: Plan, capabilities: Capabilities, listener: Listener) -> tuple[int, int, int]:
    """Tokens that are read, the same with shared prefixes once, and those that are written."""
    count = _counter(capabilities)
    read = distinct = written = 0
    before, total = "", plan.queue.left()[0]
    counter = ProgressCounter(listener.prepare, "counting tokens", total)
    for request in counter.through(plan.queue.open(by_prefix=True)):
        text, answers = _texts(request)
        shared = len(commonprefix((before, text)))  # noqa: RUF071  texts, not paths
        before = text
        if isinstance(request, Generate):
            written += request.max_gen_toks
        of_answers = sum(map(count, answers))
        read += count(text) + of_answers
        distinct += count(text[shared:]) + of_answers
    return read, distinct, written


def _counter(capabilities: Capabilities) -> Callable[[str], int]:
    tokenizer = capabilities.tokenizer
    if tokenizer is None:
        return estimate_tokens
    return lambda text: tokenizer.answer_lengths([text])[0] if text else 0


def _texts(request: Request) -> tuple[str, Sequence[str]]:
    """The prompt of a request, and the answers that are read after it."""
    if isinstance(request, Score):
        return request.prompt, request.continuations
    return (request.prompt if isinstance(request, Generate) else request.text), ()


def _prices(config: RunConfig, backend: Backend | None) -> Mapping[str, Any] | None:
    """Prices of a million tokens; a server need not be reached to know them."""
    if backend is not None:
        prices: Mapping[str, Any] | None = backend.describe().get("prices")
        return prices
    if config.model not in ("openai", "openai-chat"):
        return None
    from tenbin.backends.openai.arguments import read_arguments
    from tenbin.backends.openai.pricing import prices_of

    arguments = read_arguments(config.model_args, config.model == "openai-chat")
    return prices_of(arguments, arguments.model or "")


def _time(
    config: RunConfig, backend: Backend | None, requests: int, tokens: int
) -> tuple[float | None, str]:
    """Seconds that the model would take, and what this rests on."""
    if not requests:
        return 0.0, "nothing is left to ask"
    if backend is not None and (earlier := _earlier_rate(config, backend.fingerprint)) is not None:
        seconds, place = earlier
        return requests * seconds, f"{1 / seconds:,.1f} requests per second in {place}"
    named = str(config.model_args.get("pretrained", ""))
    size = _SIZE.search(Path(named).name)
    if size is None:
        return None, "no earlier run of this model is known (tenbin tasks --suites --parameters 8B)"
    parameters = float(size[1]) * _UNITS[size[2].lower()]
    rate = measure_rate()
    return (
        rate.seconds(parameters, tokens),
        f"{size[0]} parameters by its name, at {rate.how}; what a model reaches is less",
    )


def _earlier_rate(config: RunConfig, fingerprint: str) -> tuple[float, Path] | None:
    """Seconds per request of the latest run of this model beside --output_path, and its place."""
    place = Path(config.output_path or "runs")
    folder = place.parent if place.suffix == ".json" else place
    runs = sorted(folder.glob(f"*/{RESULT}"), key=lambda path: path.stat().st_mtime)
    for path in reversed(runs[-_LOOKED_AT:]):
        try:
            result = read_run(path).result
        except TenbinError:
            continue
        seconds = _seconds_per_answer(result) if result.fingerprint == fingerprint else None
        if seconds is not None:
            return seconds, path.parent
    return None


def _seconds_per_answer(result: RunResult) -> float | None:
    """Seconds of an answer that was not in the journal; None where there was none."""
    spent = sum(float(result.timing.get(name) or 0) for name in _AT_WORK)
    answered = sum(one.answers for one in result.answered_by) - (result.answers_from_journal or 0)
    return spent / answered if answered > 0 and spent > 0 else None
