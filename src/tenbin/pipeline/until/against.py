"""`--until decided --against RUN`: the stored run that a run is compared with while it goes on."""

from __future__ import annotations

from collections.abc import Mapping

from tenbin.analysis.compare.comparability import StoredCell, differences
from tenbin.analysis.compare.pairs import Pair, Side, cells_of, refuse_incomparable
from tenbin.errors import ConfigError, ResultError
from tenbin.pipeline.cells.setup import CellSetup
from tenbin.pipeline.finish import RunState, finish
from tenbin.pipeline.judge import JudgedDocuments
from tenbin.pipeline.until.blocks import looks_in_random_order
from tenbin.pipeline.until.decision import DecisionRule, shared_level
from tenbin.pipeline.until.stop_rule import StopRule
from tenbin.records import Failure, Prompt
from tenbin.results.read import read_run
from tenbin.results.samples import Outcomes, make_sample, outcomes_of
from tenbin.results.schema import Sample

_NOT_ASKED = Failure("not asked", "the comparison looks at prompts alone")


def decision_rule(state: RunState) -> StopRule:
    """When the tasks of a run stop whose difference to a stored run is to be decided.

    Raises:
        ResultError: The run cannot be read, or is not comparable with this one.
        ConfigError: It lacks a task, or a task has no metric that is a mean.
    """
    path = str(state.config.against)
    stored = read_run(path)
    other = Side(path, stored.result, list(stored.samples()))
    theirs, outcomes = cells_of(other), outcomes_of(other.samples)
    setups = [setup for setup in state.setups if setup.until == "decided"]
    missing = [setup.cell.id for setup in setups if setup.cell.id not in theirs]
    if missing:
        raise ConfigError(
            f"--against {path}: no task {missing[0]!r} in this run",
            f"it has: {', '.join(theirs)}; leave others out of --tasks",
        )
    mine = _as_planned(state, theirs)
    pairs = [Pair(0, 1, mine[s.cell.id], theirs[s.cell.id]) for s in setups]
    here = Side("this run", mine[setups[0].cell.id].result, ())
    found = [(pair, differences(pair.baseline, pair.other)) for pair in pairs]
    try:
        refuse_incomparable([here, other], found, ())
    except ResultError as error:
        raise ResultError(
            f"--against {path}: {error.message}",
            "name a run that asked the same; finished runs can be compared with tenbin compare "
            "--allow",
        ) from None
    level = shared_level(setups)
    rules = [_rule(state, setup, outcomes, level) for setup in setups]
    return StopRule(state.config.seed, rules, path, stored.result.run_id)


def _as_planned(state: RunState, others: Mapping[str, StoredCell]) -> dict[str, StoredCell]:
    """The cells of a run that has asked nothing yet, as if they were stored."""
    result = finish(state, JudgedDocuments(state.plan)).result
    # How choices are made is known once some were.
    configs = {
        id: config.model_copy(update={"choices_by": others[id].config.choices_by})
        if id in others
        else config
        for id, config in result.configs.items()
    }
    result = result.model_copy(update={"configs": configs})
    return {
        cell.id: StoredCell(
            result,
            cell.id,
            {
                one.prompt.document: _unanswered(one.prompt)
                for chunk in state.plan.planned(cell)
                for one in chunk
            },
        )
        for cell in state.plan.spans
    }


def _unanswered(prompt: Prompt) -> Sample:
    return make_sample(prompt, _NOT_ASKED, None, ())


def _rule(state: RunState, setup: CellSetup, outcomes: Outcomes, level: float) -> DecisionRule:
    """The rule of one task: by its first metric that is a mean and that the other run has."""
    id = setup.cell.id
    for name, metric in setup.metrics:
        if metric.aggregation == "mean" and (id, name) in outcomes:
            break
    else:
        raise ConfigError(
            f"--until decided: {id} has no metric that is a mean over documents in both runs",
            "leave --until out, and compare the finished runs with tenbin compare",
        )
    values = {one.document: one.value for one in outcomes[id, name] if one.value is not None}
    blocks = looks_in_random_order(state.plan, setup.cell, state.config.seed, values)
    return DecisionRule(
        setup, blocks, name, metric.higher_is_better, metric.top or 1.0, values, level,
        documents=len(state.plan.spans[setup.cell]),
    )  # fmt: skip
