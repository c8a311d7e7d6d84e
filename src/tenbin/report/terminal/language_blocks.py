"""Tasks that ask the same in several languages, as one block with the languages as columns."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tenbin.report.terminal.numbers import headline_name, short_number
from tenbin.results.schema import MetricScore, RunResult

_LEAST = 3
"""Languages of a block, at least."""
_COLUMN = 7
"""Width of a language, with the space before it."""
_ERROR = "±"


@dataclass(frozen=True, slots=True)
class LanguageBlock:
    """One family of tasks: a row per template, a column per language."""

    name: str
    version: str
    shots: int
    metric: str
    rows: Mapping[str, Mapping[str, str]]
    """Template → language → id."""

    @property
    def ids(self) -> list[str]:
        """The ids of all its tasks."""
        return [id for row in self.rows.values() for id in row.values()]

    @property
    def languages(self) -> list[str]:
        """Its columns, in the order of the tasks."""
        return list(dict.fromkeys(language for row in self.rows.values() for language in row))


def language_blocks(result: RunResult, ids: Iterable[str]) -> list[LanguageBlock]:
    """Return the blocks that tasks make; other tasks are in none.

    Args:
        result: The run.
        ids: Tasks that have scores.
    """
    found: dict[tuple[str, str, int, str], dict[str, dict[str, str]]] = {}
    doubled = set()
    for id in ids:
        config, score = result.configs[id], result.scores(id)[0]
        if config.parallel is None or config.parallel.columns is None:
            continue
        key = (config.parallel.columns, config.version, config.num_fewshot, headline_name(score))
        # Documents that choose a template are others than those that are scored.
        template = config.template if config.role != "select" else f"{config.template} (chosen on)"
        row = found.setdefault(key, {}).setdefault(template, {})
        if config.language in row:
            doubled.add(key)
        row[config.language] = id
    return [
        block
        for key, rows in found.items()
        if key not in doubled and len((block := LanguageBlock(*key, rows)).languages) >= _LEAST
    ]


def print_block(result: RunResult, block: LanguageBlock, console: Console) -> None:
    """Print a block: its facts, then languages, values and errors in as many parts as it needs."""
    scores = {id: result.scores(id)[0] for id in block.ids}
    counts = {score.detail.n for score in scores.values()}
    facts = [f"{block.name} {block.version}"]
    if len(block.rows) == 1:
        facts.append(f"template {next(iter(block.rows))}")
    facts += [f"{block.shots}-shot", block.metric]
    if len(counts) == 1:
        facts.append(f"n = {counts.pop():,} each")
    console.print(Text(", ".join(facts), style="bold"))
    rows = _rows(block, scores, with_n="each" not in facts[-1])
    label = max(len(name) for name, _ in rows)
    languages = block.languages
    parts = math.ceil(len(languages) / max(1, (console.width - label) // _COLUMN))
    columns = math.ceil(len(languages) / parts)
    for start in range(0, len(languages), columns):
        console.print(_part(rows, languages[start : start + columns], label))


def _rows(
    block: LanguageBlock, scores: Mapping[str, MetricScore], with_n: bool
) -> list[tuple[str, dict[str, str]]]:
    """Return the rows of the table: name, and text by language."""
    rows = []
    for template, ids in block.rows.items():
        of = {language: scores[id] for language, id in ids.items()}
        name = template if len(block.rows) > 1 else "value"
        rows.append((name, {one: short_number(s.value, s.detail.unit) for one, s in of.items()}))
        rows.append((_ERROR, {one: short_number(s.stderr, s.detail.unit) for one, s in of.items()}))
        if with_n:
            rows.append(("n", {one: f"{s.detail.n:,}" for one, s in of.items()}))
        if any(score.detail.failed for score in of.values()):
            rows.append(("failed", {one: f"{s.detail.failed:,}" for one, s in of.items()}))
    return rows


def _part(
    rows: Sequence[tuple[str, Mapping[str, str]]], languages: Sequence[str], label: int
) -> Table:
    table = Table(box=None, pad_edge=False, padding=0, header_style="dim")
    table.add_column("", width=label, no_wrap=True)
    for language in languages:
        table.add_column(language, justify="right", min_width=_COLUMN, no_wrap=True)
    for name, texts in rows:
        style = "dim" if name in (_ERROR, "n") else "red" if name == "failed" else ""
        cells = (Text(f" {texts.get(one, '–')}") for one in languages)
        table.add_row(Text(name), *cells, style=style)
    return table
