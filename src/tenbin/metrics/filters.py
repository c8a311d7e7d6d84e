"""Filters: chains of steps by which a task reads an answer out of generated text.

Once a step can read nothing, the later ones are skipped.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from tenbin.errors import TaskError, guess_at
from tenbin.metrics.options import FUNCTION, check_options
from tenbin.metrics.patterns import TimeBudget, UnjudgedError, may_be_slow
from tenbin.metrics.steps import ENDS, FILTERS, MISS, SAY_COUNT, Answers, Setting, Step, shown
from tenbin.records import STEPS_OVER_ROWS, Failure, TaskFunction
from tenbin.sandbox.patterns import compile_pattern

if TYPE_CHECKING:
    from tenbin.metrics.extraction.explain import ReadingStep

Steps = tuple[tuple[str | TaskFunction, Mapping[str, Any]], ...]

_CUSTOM = "custom"
"""The step that is a function of the task."""
_REFUSED = {
    "decontaminate": "lm-eval's own gives no answers",
}
"""Names that lm-eval's files can hold and tenbin does not serve, with the reason."""


def check(steps: Steps, repeats: int = 1) -> None:
    """Refuse steps that could not be run.

    Args:
        steps: (function, options) pairs, as in `FilterUse.steps`.
        repeats: Answers sampled for each document.

    Raises:
        TaskError: A step or one of its options is unknown, a pattern does not compile, or more
            answers are taken than there are.
    """
    for name, options in _named(steps):
        if name in _REFUSED:
            raise TaskError(
                f"filter {name!r} is not served: {_REFUSED[name]}", "use another filter"
            )
        if name == _CUSTOM:
            check_options(f"filter {name!r}", options, {"filter_fn": FUNCTION})
            continue
        if name not in FILTERS:
            known = f"{guess_at(name, FILTERS)}known: {', '.join(FILTERS)}"
            raise TaskError(f"unknown filter {name!r}", known)
        what = f"filter {name!r}"
        check_options(what, options, FILTERS[name].options)
        if "replacement" in options:
            pattern = compile_pattern(options.get("regex_pattern", ENDS), what)
            pattern.check_replacement(options["replacement"])
        if name == "take_first_k" and options["k"] > repeats:
            raise TaskError(
                f"{what} takes {options['k']} answers, but {repeats} are sampled",
                f"set repeats to {options['k']} or more, in the task file or with --repeats",
            )


def check_choices(steps: Steps, choices: int | None) -> None:
    """Refuse to read letters of options where it is not known how many there are, or of too many.

    Args:
        steps: (function, options) pairs, as in `FilterUse.steps`.
        choices: How many options a question offers; None where nothing says it.

    Raises:
        TaskError: A step needs the number and cannot use this one.
    """
    for name, _ in _named(steps):
        # Unknown names are `check`'s to refuse, which a question may come before.
        known = FILTERS[name].letters if name in FILTERS else None
        if known is None:
            continue
        if choices is None:
            raise TaskError(
                f"filter {name!r} reads the letter of an option, and nothing says how many options"
                " a question offers",
                SAY_COUNT,
            )
        if not 2 <= choices <= known:
            raise TaskError(
                f"filter {name!r} knows 2 to {known} options, not {choices}",
                "read the letter with a `regex` filter",
            )


def apply(
    steps: Steps,
    texts: Sequence[str],
    language: str,
    choices: int | None = None,
    row: Mapping[str, Any] | None = None,
) -> Answers:
    """Run a chain of steps over the texts generated for one document.

    A function of the task gets this document alone, as the only one of its list: one that compares
    documents with each other gives something else than in lm-eval.

    Args:
        steps: (function, options) pairs, as in `FilterUse.steps`.
        texts: What the model wrote: one text, or several that were sampled.
        language: The prompt's language.
        choices: How many options the question offers; steps that read their letters need it.
        row: The document's fields; steps that look at them need it.

    Raises:
        UnjudgedError: A pattern ran out of time on a text, or a function of the task failed.

    Returns:
        The answers as read, None where nothing could be read: as many as the texts, unless a step
        chooses among them.
    """
    setting = Setting(language, choices, row)
    answers: Answers = texts
    for name, options in steps:
        if isinstance(name, TaskFunction) or name == _CUSTOM:
            answers = _own(name, options, answers, row)
            continue
        step = FILTERS[name]
        if step.selects:
            answers = step.function(answers, **options)
        else:
            answers = [_step(step, answer, setting, options) for answer in answers]
    return answers


def _step(step: Step, answer: Any, setting: Setting, options: Mapping[str, Any]) -> Any:
    if answer is None:
        return step.function(MISS, setting, **options) if step.reads_misses else None
    return step.function(answer, setting, **options)


def _own(
    name: str | TaskFunction,
    options: Mapping[str, Any],
    answers: Answers,
    row: Mapping[str, Any] | None,
) -> Answers:
    """A step of the task's own: a class with `apply`, or a function of responses and documents."""
    if row is None:
        raise TaskError(f"filter {name}: the document was planned without its row")
    given = [MISS if answer is None else answer for answer in answers]
    function = options["filter_fn"] if isinstance(name, str) else name
    try:
        if isinstance(name, str):
            found = function([given], [dict(row)])
        else:
            found = function(**options).apply([given], [dict(row)])
        first = next(iter(found))
    except Exception as error:
        message = f"{function}: {type(error).__name__}: {error}"
        raise UnjudgedError(Failure("task_function", message[:500])) from error
    read = list(first) if isinstance(first, list | tuple) else [first]
    return [None if answer == MISS else answer for answer in read]


def explain(
    steps: Steps,
    text: str,
    language: str,
    choices: int | None = None,
    budget: TimeBudget | None = None,
) -> list[ReadingStep]:
    """What each step of a chain makes of a text, for a reader who wonders how it was read.

    The last entry's text is what `apply` gives for this text alone, unless a pattern is too slow
    for explaining it or a step looks at the row: no step is explained from there on. Steps that
    rest because nothing is left to read are not listed. A chain that no task could have has no
    explanation: steps come from stored runs here.

    Args:
        steps: (function, options) pairs, as in `FilterUse.steps`.
        text: What the model wrote.
        language: The prompt's language.
        choices: How many options the question offers.
        budget: Shared by the texts of a report, so that a slow pattern is tried once.
    """
    from tenbin.metrics.extraction.explain import ReadingStep, explain_flexible, explain_number

    try:
        check(steps, sys.maxsize)
        check_choices(steps, choices)
    except TaskError:
        return []
    budget = budget or TimeBudget()
    setting = Setting(language, choices)
    current: str | None = text
    explained: list[ReadingStep] = []
    for name, options in steps:
        if current is None or isinstance(name, TaskFunction) or name in STEPS_OVER_ROWS:
            break
        if name == "choice_letter_flexible":
            explained += explain_flexible(current, language, setting.known_choices)
        elif name == "number_flexible":
            explained += explain_number(current, language)
        elif FILTERS[name].selects:
            # Of several answers one is explained, and among one there is no choice.
            explained.append(ReadingStep(name, current))
        else:
            explained.append(_explained(name, options, current, setting, budget))
        current = explained[-1].text
    return explained


def _named(steps: Steps) -> Iterator[tuple[str, Mapping[str, Any]]]:
    return ((name, options) for name, options in steps if isinstance(name, str))


def _explained(
    name: str, options: Mapping[str, Any], text: str, setting: Setting, budget: TimeBudget
) -> ReadingStep:
    """What a step makes of a text; nothing where its pattern takes too long."""
    from tenbin.metrics.extraction.explain import ReadingStep

    source = options.get("regex_pattern")
    watched = source is not None and may_be_slow(source, text)
    if watched and budget.is_spent(str(source)):
        return ReadingStep(name, None, too_slow=True)
    try:
        with budget.measure(str(source)) if watched else nullcontext():
            return ReadingStep(name, shown(FILTERS[name].function(text, setting, **options)))
    except UnjudgedError as error:
        return ReadingStep(name, None, too_slow=error.failure.kind == "pattern_timeout")
