"""The `model-index` of a hub model card, and the same scores as a Markdown table below it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tenbin.errors import ConfigError
from tenbin.report.export.grid import arrange
from tenbin.report.export.markdown import to_markdown
from tenbin.report.export.names import model_label
from tenbin.report.export.numbers import show_score
from tenbin.report.export.published import DataSource, find_source
from tenbin.report.export.table import Cell, Column, NamedRun, ScoreTable
from tenbin.results.identity import RunIdentity, model_differences
from tenbin.results.schema import CellConfig
from tenbin.sandbox.printable import visible

_METRIC_TYPES = {
    "acc": "accuracy",
    "mcc": "matthews_correlation",
    "word_perplexity": "perplexity",
    "byte_perplexity": "perplexity",
}
"""Metrics whose id on the hub is another than their name here."""

_BY_ITSELF = "export the runs of each model by itself"


def to_model_card(table: ScoreTable, percent: bool) -> str:
    """The front matter of a model card with the scores of its tasks, and a table.

    Averages of groups are in the table only: `model-index` has results on data sets.

    Raises:
        ConfigError: The runs are of several models, or of one model's name with several weights.
    """
    import yaml

    models = list(dict.fromkeys(model_label(run.result) for run in table.runs))
    if len(models) > 1:
        raise ConfigError(
            f"a model card is about one model, and the runs have {', '.join(models[:4])}",
            _BY_ITSELF,
        )
    _check_weights(table.runs)
    results = [
        result
        for run, row in zip(table.runs, table.cells, strict=True)
        for result in _results(run, table.columns, row, percent)
    ]
    # With one run a name that the user gave is the model's; several names are those of runs.
    name = table.runs[0].name if len(table.runs) == 1 else models[0]
    index = {"model-index": [{"name": visible(name), "results": results}]}
    written = yaml.safe_dump(index, sort_keys=False, allow_unicode=True, width=100)
    return f"---\n{written}---\n\n## Evaluation\n\n{to_markdown(arrange(table, percent))}"


def _check_weights(runs: Sequence[NamedRun]) -> None:
    """See that all runs with one engine are of the same weights.

    Engines have fingerprints of their own, so that runs with different ones are not compared.
    """
    first: dict[object, NamedRun] = {}
    for run in runs:
        known = first.setdefault((run.result.engine or {}).get("name"), run)
        one, other = RunIdentity.of(known.result), RunIdentity.of(run.result)
        if lines := list(model_differences(one, other)):
            raise ConfigError(
                f"a model card is about one model, and the answers of {known.name} and {run.name} "
                f"are of different ones: {'; '.join(lines)}",
                _BY_ITSELF,
            )


def _results(
    run: NamedRun, columns: Sequence[Column], row: Sequence[Cell], percent: bool
) -> Iterator[dict[str, Any]]:
    """One result for each task that has scores."""
    tasks: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for column, cell in zip(columns, row, strict=True):
        if column.kind == "task" and cell.score is not None:
            key = (column.id, column.shots, column.variant)
            tasks.setdefault(key, []).append(_metric(column, cell, percent))
    for (id, shots, _), metrics in tasks.items():
        config, source = run.result.configs[id], find_source(run.result, id)
        dataset = {
            "type": visible(_dataset_type(source, config)),
            "name": visible(f"{source.name} ({source.url})" if source.url else source.name),
        }
        if config.dataset_config:
            dataset["config"] = visible(config.dataset_config)
        dataset["split"] = visible(config.split)
        if source.host == "hub" and source.revision:
            dataset["revision"] = source.revision
        kind = {"type": "text-generation", "name": visible(f"{id}, {shots}-shot")}
        yield {"task": kind, "dataset": dataset, "metrics": metrics}


def _dataset_type(source: DataSource, config: CellConfig) -> str:
    """The data set's id on the hub; of others a name that is no id there, lest it be a link."""
    name = config.dataset or config.task
    return source.repository if source.host == "hub" else name.replace("/", "_")


def _metric(column: Column, cell: Cell, percent: bool) -> dict[str, Any]:
    assert cell.score is not None, "asked for cells with a score"
    shown, detail = show_score(cell.score, column.unit, percent), cell.score.detail
    base = column.metric.partition(",")[0]
    args = {
        "unit": shown.unit,
        "interval_95": None if shown.low is None else [shown.low, shown.high],
        "interval_method": detail.interval_method,
        "stderr": shown.stderr,
        "n": detail.n,
        "failed": detail.failed,
        "higher_is_better": detail.higher_is_better,
        "num_fewshot": int(column.shots),
        "remarks": visible("; ".join(cell.remarks)) or None,
    }
    kept = {name: value for name, value in args.items() if value not in (None, "")}
    return {
        "type": visible(_METRIC_TYPES.get(base, base)),
        "value": shown.value,
        "name": visible(column.metric),
        "args": kept,
    }
