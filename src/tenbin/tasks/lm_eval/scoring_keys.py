"""How an lm-eval task generates and scores: generation_kwargs, metric_list and filter_list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tenbin.records import (
    MOST_REPEATS,
    MOST_TOKENS,
    FilterUse,
    Kind,
    MetricUse,
    Sampling,
    TaskFunction,
)
from tenbin.tasks.lm_eval.python_imports import registered_filter
from tenbin.tasks.lm_eval.task_keys import Keys
from tenbin.tasks.sampling import sampling_of

_DEFAULT_METRICS: Mapping[Kind, tuple[str, ...]] = {
    "choice": ("acc", "acc_norm"),
    "generate": ("exact_match",),
    "perplexity": ("word_perplexity", "byte_perplexity", "bits_per_byte"),
    "loglikelihood": ("perplexity", "acc"),
}
_AGGREGATIONS: Mapping[str, str] = {
    **dict.fromkeys(
        (
            "acc", "acc_norm", "acc_bytes", "acc_mutual_info", "acc_all", "exact_match",
            "likelihood",
        ),
        "mean",
    ),
    "perplexity": "perplexity",
    "word_perplexity": "weighted_perplexity",
    "byte_perplexity": "weighted_perplexity",
    "bits_per_byte": "bits_per_byte",
    "brier_score": "brier_score",
    "mcc": "matthews_corrcoef",
    "f1": "f1",
    "bleu": "bleu",
    "chrf": "chrf",
    "chrf++": "chrf++",
    "ter": "ter",
    "bypass": "bypass",
}  # fmt: skip
"""What lm-eval aggregates with where a file names nothing."""
_OWN_KEYS = frozenset({"metric", "aggregation", "higher_is_better", "hf_evaluate"})
_EXACT_MATCH_SWITCHES = ("ignore_case", "ignore_punctuation", "ignore_numbers")
_LIMITS = ("max_gen_toks", "max_new_tokens", "max_tokens", "max_completion_tokens")
"""Names of one setting; the first that is given counts."""
_GENERATION_KEYS = frozenset(
    {"until", "do_sample", "temperature", "top_p", "top_k", "num_beams", *_LIMITS}
)
MAX_GEN_TOKS = 256
"""lm-eval's limit where a file gives none."""


def stop_strings(generation: Keys, fewshot_delimiter: str) -> tuple[str, ...]:
    """Where an answer ends: `until`, or where the next example would begin."""
    if "until" not in generation.mapping:
        return (fewshot_delimiter,) if fewshot_delimiter else ()
    until = generation.mapping["until"]
    entries = until if isinstance(until, list | tuple) else [until]
    stops = [entry for entry in entries if entry is not None]
    if not all(isinstance(entry, str) for entry in stops):
        generation.refuse(
            "until", f"takes texts, not {until!r}", "write each stop string in quotes"
        )
        return ()
    # An empty one can never be met: every text holds it.
    return tuple(stop for stop in stops if stop)


def token_limit(generation: Keys) -> int:
    """The most tokens of an answer."""
    for key in _LIMITS:
        number = generation.number(key, 1, MOST_TOKENS)
        if number is not None:
            return number
    return MAX_GEN_TOKS


def sampling(generation: Keys) -> Sampling | None:
    """How answers are sampled; None for greedy decoding."""
    settings: dict[str, Any] = {}
    for key in ("temperature", "top_p"):
        value = generation.mapping.get(key)
        try:
            settings[key] = None if value is None else float(value)
        except (TypeError, ValueError):
            generation.refuse(key, f"takes a number, not {value!r}", "write a number")
    settings["top_k"] = generation.number("top_k", 0, MOST_TOKENS)
    do_sample = generation.mapping.get("do_sample")
    if do_sample is not None and not isinstance(do_sample, bool):
        generation.refuse("do_sample", f"takes true or false, not {do_sample!r}", "write one")
        do_sample = None
    settings["do_sample"] = do_sample
    temperature, top_p = settings.get("temperature"), settings.get("top_p")
    if temperature is not None and not 0 <= temperature < float("inf"):
        generation.refuse("temperature", "is below 0 or no number", "give 0 or more")
        return None
    if top_p is not None and not 0 < top_p <= 1:
        generation.refuse("top_p", "is a share above 0 and up to 1", "leave it out for all tokens")
        return None
    return sampling_of(settings)


def refuse_generation_keys(generation: Keys) -> None:
    """Refuse settings of generation that would change answers and do not exist here."""
    beams = generation.number("num_beams", 1, MOST_TOKENS)
    if beams is not None and beams > 1:
        generation.refuse(
            "num_beams",
            f"beam search with {beams} beams does not exist here",
            "set num_beams: 1 in a copy of the file for greedy decoding, a different measurement",
        )
    for key in generation.mapping:
        if key not in _GENERATION_KEYS:
            generation.refuse(
                str(key),
                "tenbin has no such setting of generation",
                f"known: {', '.join(sorted(_GENERATION_KEYS))}",
            )


def repeats(keys: Keys, sampled: bool) -> int:
    """Answers per document; lm-eval asks the same again where decoding is greedy."""
    return (keys.number("repeats", 1, MOST_REPEATS) or 1) if sampled else 1


def metrics(keys: Keys, kind: Kind, judged_by_function: bool) -> tuple[MetricUse, ...]:
    """The metrics of a task: those of `metric_list`, or lm-eval's for the kind of task."""
    if keys.mapping.get("metric_list") is None:
        return tuple(MetricUse(name, name) for name in _DEFAULT_METRICS[kind])
    uses = [
        _metric(entry, kind, judged_by_function)
        for entry in keys.entries("metric_list")
    ]  # fmt: skip
    if not uses:
        keys.refuse("metric_list", "names no metric", "name one, or leave metric_list out")
    return tuple(use for use in uses if use is not None)


def _metric(entry: Keys, kind: Kind, judged_by_function: bool) -> MetricUse | None:
    metric = entry.mapping.get("metric")
    if isinstance(metric, TaskFunction):
        name, function = metric.name, None if judged_by_function else metric
    elif isinstance(metric, str | int) and not isinstance(metric, bool) and metric != "":
        name, function = str(metric), None
    else:
        entry.refuse(
            "metric", f"takes a metric's name or a `!function`, not {metric!r}", "name the metric"
        )
        return None
    aggregation = _aggregation(entry, name, judged_by_function or function is not None)
    higher = entry.mapping.get("higher_is_better")
    if isinstance(higher, str):
        higher = higher.strip().lower() != "false"
    options = {} if judged_by_function else _options(entry, name, function, kind)
    return MetricUse(
        metric=name,
        name=name,
        options=options,
        function=function,
        aggregation=aggregation,
        higher_is_better=None if higher is None else bool(higher),
    )


def _aggregation(entry: Keys, name: str, foreign: bool) -> str | TaskFunction | None:
    """What is written; else, for values of a function, what lm-eval has for the metric's name."""
    written = entry.mapping.get("aggregation")
    if isinstance(written, str | TaskFunction):
        return written
    if written is not None:
        entry.refuse(
            "aggregation", f"takes a name or a `!function`, not {written!r}", "write `mean`"
        )
    elif foreign and name not in _AGGREGATIONS:
        entry.refuse(
            "aggregation",
            f"is missing, and lm-eval has none for a metric called {name!r}",
            "write `aggregation: mean`, or what else makes one number of the documents' values",
        )
    return _AGGREGATIONS.get(name) if foreign else None


def _options(
    entry: Keys, name: str, function: TaskFunction | None, kind: Kind
) -> dict[str, Any]:  # fmt: skip
    """The options that lm-eval's metric would see.

    Its own metrics other than exact_match take none, so that what files write there (`average`,
    `weight_by_size`) has no effect; nor does anything for tasks that score log-likelihoods.
    """
    given = {key: value for key, value in entry.mapping.items() if key not in _OWN_KEYS}
    if kind != "generate":
        return {}
    if function is None and name in _AGGREGATIONS and name != "exact_match":
        return {}
    if name == "exact_match" and function is None:
        for key in _EXACT_MATCH_SWITCHES:
            if key in given:
                # lm-eval asks only whether the value is true, and some files hold a text.
                given[key] = bool(given[key])
    return given


def filters(keys: Keys) -> tuple[FilterUse, ...]:
    """The chains of `filter_list`."""
    found = []
    for number, entry in enumerate(keys.entries("filter_list")):
        name = entry.text("name")
        if not name:
            entry.refuse("name", "is missing", "give the filter a name")
        steps = []
        for step in entry.entries("filter"):
            function = step.mapping.get("function")
            if not isinstance(function, str | TaskFunction):
                step.refuse("function", "names no filter", "give the name of a filter")
                continue
            options = {key: value for key, value in step.mapping.items() if key != "function"}
            steps.append((_registered(keys, function), options))
        found.append(FilterUse(name or str(number), tuple(steps)))
    return tuple(found)


def _registered(keys: Keys, function: str | TaskFunction) -> str | TaskFunction:
    """A step, or the class of that name which a file of the task's functions registers."""
    if isinstance(function, str):
        for one in keys.mapping.values():
            found = registered_filter(one, function) if isinstance(one, TaskFunction) else None
            if found is not None:
                return found
    return function
