"""A run's result as the page shows it at once: facts, scores, and the command that repeats it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from tenbin.config import repeating_command
from tenbin.report.html.model import (
    CellSamples,
    CellSummary,
    GroupSummary,
    MetricSummary,
    PartialSummary,
    RunFacts,
    RunSummary,
    StopSummary,
    ThinkingSummary,
    UsageSummary,
)
from tenbin.report.terminal.run_notes import choice_methods, engine_mode, partial_counts
from tenbin.results.schema import GenerationLengths, MetricScore, RunResult, UsageEntry

_NORMAL = 1.959964
_SHOWN_ELSEWHERE = {
    "results", "details", "groups", "group_details", "higher_is_better", "n_shot", "versions",
}  # fmt: skip
_SWEEP = ("templates", "num_fewshot_sweep", "seeds", "select_on", "budget")
"""Options that only `tenbin sweep` has."""
_NOT_IN_COMMAND = ("output_path", "system_prompt", "cache_dir")


def run_summary(
    name: str, folder: str, result: RunResult, samples: Mapping[str, CellSamples], details: int
) -> RunSummary:
    """Return one run: facts for the head of the page, its cells and its groups.

    Args:
        name: What the run is called on the page.
        folder: Name of its folder.
        result: Its result.
        samples: Cell id → where its samples are, from `pack_samples`.
        details: Number of the block that holds the rest of the result.
    """
    found = partial_counts(result)
    return RunSummary(
        name=name,
        folder=folder,
        model=str(result.model.get("model", "")),
        facts=_facts(result, samples.values()),
        sample_data=bool(result.config.get("sample_data")),
        cells=[_cell(id, result, samples.get(id)) for id in result.configs],
        groups=[
            GroupSummary(
                id,
                result.group_subtasks[id],
                _metrics(result.group_scores(id)),
                definition.weighting if (definition := result.group_definitions.get(id)) else "",
            )
            for id in result.groups
        ],
        partial=None if found is None else PartialSummary(*found),
        stopping=list(_stops(result)),
        warnings=result.warnings,
        command="\n".join(map(repeat_command, _configs(result))),
        details=details,
    )


def _stops(result: RunResult) -> Iterator[StopSummary]:
    """Return how each task of a run with `--until` ended."""
    if result.stopping is None:
        return
    for id, one in result.stopping.widths.items():
        ended: Literal["reached", "not_reached"] = "reached" if one.reached else "not_reached"
        half = None if one.half_width is None else f"{one.half_width:.2f}"
        yield StopSummary(
            id, ended, one.metric, one.stopped_at, one.documents, half, f"{one.target:g}"
        )
    for id, decided in result.stopping.decisions.items():
        scale = 1 if result.details[id][decided.metric].unit == "%" else 100
        difference = None
        if decided.looks:
            last = decided.looks[-1]
            ends = [scale * last.difference, scale * last.low, scale * last.high]
            difference = "{:+.1f} [{:+.1f}, {:+.1f}]".format(*ends)
        yield StopSummary(
            id, decided.decision, decided.metric, decided.stopped_at, decided.shared,
            difference, result.stopping.against or "",
        )  # fmt: skip


def _facts(result: RunResult, samples: Iterable[CellSamples]) -> RunFacts:
    samples, engine = list(samples), result.engine or {}
    return RunFacts(
        dtype=result.model.get("dtype"),
        device=result.model.get("device"),
        engine=engine.get("name"),
        mode=engine_mode(engine),
        date=result.date,
        seconds=result.total_evaluation_time_seconds,
        from_journal=result.answers_from_journal,
        usage=_usage(result.usage),
        choices_by="; ".join(sorted(choice_methods(result))) or None,
        scored_tokens=sum(one.scored_tokens for one in samples),
        generated_tokens=sum(one.generated_tokens for one in samples),
        thinking=thinking_summary(result.lengths.values()),
        documents=sum(one.count for one in samples),
    )


def _usage(usage: UsageEntry | None) -> UsageSummary | None:
    if usage is None:
        return None
    currency = None if usage.prices is None else usage.prices.get("currency")
    return UsageSummary(
        usage.prompt_tokens,
        usage.cached_tokens,
        usage.completion_tokens,
        usage.calls,
        usage.not_counted,
        usage.cost,
        None if currency is None else str(currency),
    )


def thinking_summary(lengths: Iterable[GenerationLengths]) -> ThinkingSummary | None:
    """Return mean lengths over all answers with separate thinking; None without any."""
    found = [one for one in lengths if one.thoughts and one.thinking_tokens is not None]
    answers = sum(one.answers for one in found)
    if not answers:
        return None
    ends = {
        end: sum((one.thoughts or {}).get(end, 0) for one in found)
        for end in ("none", "budget", "open")
    }
    return ThinkingSummary(
        answers,
        sum((one.thinking_tokens or 0) * one.answers for one in found) / answers,
        sum((one.answer_tokens or 0) * one.answers for one in found) / answers,
        **ends,
    )


def _cell(id: str, result: RunResult, samples: CellSamples | None) -> CellSummary:
    config = result.configs[id]
    return CellSummary(
        id=id,
        task=config.task,
        version=config.version,
        template=config.template,
        language=config.language,
        family=config.family,
        kind=config.output_type,
        role=config.role or "score",
        shots=config.num_fewshot,
        metrics=_metrics(result.scores(id)),
        failures=list(result.failures.get(id, {}).items()),
        samples=samples,
    )


def _metrics(scores: Sequence[MetricScore]) -> list[MetricSummary]:
    found = []
    for score in scores:
        detail = score.detail
        low, high = score_interval(score)
        unweighted = None if detail.unweighted is None else detail.unweighted.value
        found.append(
            MetricSummary(
                score.metric,
                score.value,
                low,
                high,
                detail.n,
                detail.failed,
                detail.higher_is_better,
                detail.unit,
                unweighted,
            )
        )
    return found


def score_interval(score: MetricScore) -> tuple[float | None, float | None]:
    """Return the stored 95% interval; for runs that stored none, the normal approximation."""
    detail, value, stderr = score.detail, score.value, score.stderr
    if detail.states("low"):
        return detail.low, detail.high
    if value is None or stderr is None:
        return None, None
    top = 100.0 if detail.unit == "%" else 1.0
    low, high = value - _NORMAL * stderr, value + _NORMAL * stderr
    return (max(low, 0.0), min(high, top)) if 0 <= value <= top else (low, high)


def result_details(result: RunResult) -> dict[str, Any]:
    """Return the rest of the result for the view of details: hashes, files, settings, versions."""
    return result.model_dump(
        mode="json", by_alias=True, exclude_unset=True, exclude=_SHOWN_ELSEWHERE
    )


def _configs(result: RunResult) -> list[Mapping[str, object]]:
    """The options of a run; of a merged one, those of every run it was made of."""
    return [one.config for one in result.merged] or [result.config]


def repeat_command(config: Mapping[str, object]) -> str:
    """Return the shell command that repeats a run; options are named like the config's keys."""
    swept = any(config.get(name) not in (None, [], 1) for name in _SWEEP)
    command = "sweep" if swept else "run"
    return repeating_command(command, config, _NOT_IN_COMMAND, always=("model", "seed"))
