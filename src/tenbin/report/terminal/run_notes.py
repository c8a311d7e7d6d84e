"""Notes that accompany a run's scores: partial runs, unscored tasks, sampling, thinking, usage."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import PurePath

from tenbin.config.profiles import DEFAULT_PROFILE
from tenbin.results.schema import CellConfig, MetricDetail, RunResult, UsageEntry

_NOT_RUN = "not run"
"""The mode an engine reports for scoring when it scored nothing."""
_NAMED = 5
"""Tasks or files named in one line."""


def engine_mode(engine: Mapping[str, object]) -> object:
    """Return how an engine answered: its scoring mode, or its generation mode if it only wrote."""
    mode, generation = engine.get("mode"), engine.get("generation")
    return generation if mode == _NOT_RUN and generation is not None else mode


def partial_counts(result: RunResult) -> tuple[int, int] | None:
    """Return (answered, asked) documents of a run that was stopped; None if it is complete."""
    if not result.partial:
        return None
    counts = result.n_samples.values()
    return sum(one.effective for one in counts), sum(one.asked for one in counts)


def partial_lines(result: RunResult) -> list[str]:
    """Return one line if the run was stopped before its end."""
    found = partial_counts(result)
    if found is None:
        return []
    return [
        f"PARTIAL: the run was stopped; scores are based on {found[0]:,} of {found[1]:,} "
        "documents, which are not a random sample. Run the same command again to continue."
    ]


def budget_lines(result: RunResult) -> list[str]:
    """Return a line for each task whose prompts were asked of a part of the documents each."""
    tasks: dict[str, int] = {}
    for config in result.configs.values():
        if config.role == "part" and result.config.get("budget"):
            name = f"{config.task} {config.version}"
            tasks[name] = tasks.get(name, 0) + 1
    return [
        f"{name}: {count:,} prompts, each asked of a part of the documents (--budget "
        f"{result.config.get('budget')}x); `tenbin sweep RUN` shows the distribution of scores"
        for name, count in tasks.items()
    ]


def without_parts(result: RunResult) -> RunResult:
    """Return a result without the cells that have no scores of their own, in a budget sweep."""
    parts = {id for id, config in result.configs.items() if config.role == "part"}
    if not parts:
        return result
    details = {id: found for id, found in result.details.items() if id not in parts}
    return result.model_copy(update={"details": details})


def stopping_lines(result: RunResult) -> list[str]:
    """Return a line per task that `--until` stopped, or that was to be stopped and was not."""
    if result.stopping is None:
        return []
    lines = []
    for id, one in result.stopping.widths.items():
        half = "no interval" if one.half_width is None else f"±{one.half_width:.2f} points"
        blocks = f"{len(one.blocks)} block{'s' if len(one.blocks) > 1 else ''}"
        asked = f"{one.stopped_at:,} of {one.documents:,} documents in {blocks}, in random order"
        said = f"stopped at ±{one.target:g}" if one.reached else f"±{one.target:g} was not reached"
        lines.append(f"until: {id}: {said}: {one.metric} {half} after {asked}")
    for id, decided in result.stopping.decisions.items():
        scale = 1 if result.details[id][decided.metric].unit == "%" else 100
        line = f"until: {id}: {decided.decision} than {result.stopping.against}: "
        if decided.decision == "undecided":
            line = f"until: {id}: undecided against {result.stopping.against}: "
        if decided.looks:
            last = decided.looks[-1]
            line += (
                f"{decided.metric} {scale * last.difference:+.1f} points, repeated 95 % interval "
                f"[{scale * last.low:+.1f}, {scale * last.high:+.1f}], z {last.z:+.2f} at a "
                f"boundary of {last.boundary:.2f}; "
            )
        looks = f"{len(decided.looks)} look{'s' if len(decided.looks) != 1 else ''}"
        line += f"{looks}, {decided.stopped_at:,} of {decided.shared:,} documents"
        lines.append(line)
    return lines


def is_unscored(details: Iterable[MetricDetail]) -> bool:
    """Whether no document of a task was scored by any metric."""
    return not any(detail.n for detail in details)


def unscored_lines(result: RunResult) -> list[str]:
    """Return a line for each task in which nothing could be scored."""
    lines = []
    for id, details in result.details.items():
        if is_unscored(details.values()):
            failed = max((detail.failed for detail in details.values()), default=0)
            why = f"all {failed:,} documents failed" if failed else "no document was answered"
            lines.append(f"{id}: nothing could be scored: {why}")
    return lines


def sampling_lines(result: RunResult) -> list[str]:
    """Return how answers were sampled: one line for all tasks with the same settings."""
    ids: dict[str, list[str]] = {}
    for id, config in result.configs.items():
        if config.do_sample:
            ids.setdefault(_sampling(config), []).append(id)
    return [f"sampling: {', '.join(names)}: {how}" for how, names in ids.items()]


def _sampling(config: CellConfig) -> str:
    repeats = config.repeats or 1
    how = f"{repeats} answers" if repeats > 1 else "1 answer"
    how += f" per document, temperature {config.temperature:g}"
    how += f", top_k {config.top_k}" if config.top_k else ""
    how += f", top_p {config.top_p:g}" if config.top_p is not None and config.top_p < 1 else ""
    return f"{how}, seed {config.seed}" + ("; values are means over them" if repeats > 1 else "")


def thinking_lines(result: RunResult) -> list[str]:
    """Return the mean lengths of thinking and answers: one line for each task that has thinking."""
    lines = []
    for id, lengths in result.lengths.items():
        ends, answers = lengths.thoughts, lengths.answers
        if not ends or not answers:
            continue
        line = f"thinking: {id}: "
        if lengths.thinking_tokens is None:
            line += "thinking was separated from answers, but its tokens were not counted"
        else:
            line += f"{lengths.thinking_tokens:,.0f} tokens of thinking and "
            line += f"{lengths.answer_tokens or 0:,.0f} of answer on average"
        thinking = result.configs[id].thinking
        for end, what in (
            ("budget", f"cut at {thinking.budget:,} tokens" if thinking else "cut"),
            ("open", "never closed, so without an answer"),
            ("none", "without thinking"),
        ):
            line += f"; {ends[end]:,} of {answers:,} {what}" if ends.get(end) else ""
        lines.append(line)
    return lines


def choice_methods(result: RunResult) -> dict[str, list[str]]:
    """Return how choices were picked → ids of tasks whose choices were not scored by likelihood."""
    ids: dict[str, list[str]] = {}
    for id, config in result.configs.items():
        if config.choices_by and "letter" in config.choices_by:
            ids.setdefault(config.choices_by, []).append(id)
    return ids


def choice_lines(result: RunResult) -> list[str]:
    """Return how choices were picked, if not by likelihood: one line for each method."""
    methods = choice_methods(result).items()
    return [f"choices: {', '.join(ids)}: picked by {how}" for how, ids in methods]


def origin_lines(result: RunResult) -> list[str]:
    """Return where lm-eval tasks came from, which functions ran, and the profile if it is named."""
    lines = []
    if result.profile not in (None, DEFAULT_PROFILE):
        lines.append(f"profile: {result.profile}")
    ids: dict[str, list[str]] = {}
    functions = set()
    for id, config in result.configs.items():
        if config.origin is not None:
            folder = str(PurePath(config.origin.path).parent)
            origin = config.origin.package or ("the working folder" if folder == "." else folder)
            ids.setdefault(origin, []).append(id)
            functions |= {(one.file, one.sha256) for one in config.origin.functions}
    for origin, names in ids.items():
        lines.append(f"task files: {_names(names)}: from {origin}")
    if functions:
        shown = [f"{PurePath(file).name} ({sha256[:12]})" for file, sha256 in sorted(functions)]
        lines.append(f"trusted functions: {_names(shown)}")
    return lines


def _names(names: list[str]) -> str:
    """Return the first names, and how many more there are."""
    rest = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + rest


def part_lines(result: RunResult) -> list[str]:
    """Return what each first metric over parts of documents is made of: one line for each task.

    Parts are grouped by what stands before the colon; result.json has each.
    """
    lines = []
    for id, details in result.details.items():
        metric = next((name for name, detail in details.items() if detail.parts), None)
        if metric is None:
            continue
        sums: dict[str, tuple[float, int]] = {}
        for kind, part in (details[metric].parts or {}).items():
            name = kind.partition(":")[0]
            total, count = sums.get(name, (0.0, 0))
            sums[name] = total + part.value * part.n, count + part.n
        shown = ", ".join(f"{name} {total:g}/{count}" for name, (total, count) in sums.items())
        lines.append(f"{id} {metric}: {shown}")
    return lines


def tool_lines(result: RunResult) -> list[str]:
    """Return the programs that metrics left decisions to: one line for all tasks with the same."""
    ids: dict[str, list[str]] = {}
    for id, config in result.configs.items():
        if config.tools:
            shown = ", ".join(f"{what} by {tool}" for what, tool in config.tools.items())
            ids.setdefault(shown, []).append(id)
    return [f"tools: {_names(names)}: {tools}" for tools, names in ids.items()]


def usage_lines(usage: UsageEntry | None) -> list[str]:
    """Return one line with the tokens and cost that a server reported; none without a server."""
    if usage is None:
        return []
    parts = [
        f"{usage.prompt_tokens:,} prompt tokens ({usage.cached_tokens:,} cached)",
        f"{usage.completion_tokens:,} completion tokens",
        "1 call" if usage.calls == 1 else f"{usage.calls:,} calls",
    ]
    if usage.cost is not None:
        currency = (usage.prices or {}).get("currency")
        parts.append(f"cost {format_cost(usage.cost)}" + (f" {currency}" if currency else ""))
    if usage.not_counted:
        parts.append(f"{_answers(usage.not_counted)} not counted by the server")
    if usage.from_journal:
        parts.append(f"{_answers(usage.from_journal)} from the journal at no cost")
    return [f"usage: {', '.join(parts)}"]


def format_cost(cost: float) -> str:
    """Format a cost with four decimals, or as many as show two significant digits."""
    decimals = 4 if cost <= 0 else max(4, 1 - math.floor(math.log10(cost)))
    return f"{cost:,.{decimals}f}"


def _answers(count: int) -> str:
    return "1 answer" if count == 1 else f"{count:,} answers"


def definition_lines(result: RunResult) -> list[str]:
    """Return a line per mean that the catalogue defines: its weighting and its metrics."""
    lines = []
    for id, one in result.group_definitions.items():
        by_metric: dict[str, int] = {}
        for metric in one.metrics.values():
            by_metric[metric] = by_metric.get(metric, 0) + 1
        parts = ", ".join(f"{metric} of {count}" for metric, count in by_metric.items())
        lines.append(f"group {id}: {one.weighting}: {parts} tasks")
    return lines


def chosen_lines(result: RunResult) -> list[str]:
    """Return a line per profile, group or suite that chose something which the user left open."""
    chosen: dict[str, dict[str, set[str]]] = {}
    for id, options in result.chosen_by.items():
        config = result.configs[id]
        values = {
            "task": config.task,
            "template": config.template,
            "num_fewshot": f"{config.num_fewshot} examples",
        }
        for option, who in options.items():
            chosen.setdefault(who, {}).setdefault(option, set()).add(str(values.get(option)))
    lines = []
    for who, found in chosen.items():
        parts = [f"{option} {_list(sorted(values))}" for option, values in found.items()]
        lines.append(f"{who} chose: {'; '.join(parts).replace('num_fewshot ', '')}")
    return lines


def _list(names: list[str]) -> str:
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
