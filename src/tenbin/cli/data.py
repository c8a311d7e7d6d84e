"""`tenbin data`: what data tasks read from where, and fetching it beforehand."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tenbin.config import RunConfig
    from tenbin.pipeline.data_sets import TaskSplit

EXAMPLES = """examples:
  tenbin data list jnli                    what a run reads, and where
  tenbin data list xnli_zh --include_path tasks --data_dir data --json
  tenbin data fetch xnli_zh --include_path tasks --data_dir data
  tenbin run … --tasks xnli_zh --include_path tasks --data_dir data --offline
"""
_LIST = """Names for each task and split the data set, its part, and the file that a run
reads or, where there is none, the place where it is looked for first. Reads no
rows, runs no code of task files and uses no network.
"""
_FETCH = """Downloads what is missing: sets of the hub into --data_dir, as Parquet; those of
tenbin's own tasks into --data_dir, or without it into the cache. Files that are
there are read to their end and kept. Few-shot splits are included.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions list and fetch."""
    from tenbin.cli.flags import add_options
    from tenbin.cli.parser import add_command

    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = add_command(actions, "list", "list what tasks read, and where it is", _LIST)
    fetching = add_command(
        actions, "fetch", "download the data of tasks, for runs without a network", _FETCH
    )
    for action in (listing, fetching):
        action.add_argument("names", nargs="+", metavar="TASK", help="names as in --tasks")
        action.add_argument("--json", action="store_true", help="print JSON")
        add_options(action, "data")


def execute(options: argparse.Namespace) -> int:
    """Perform the action."""
    from tenbin.cli.flags import flags_of
    from tenbin.config import build_config
    from tenbin.pipeline.data_sets import list_data

    config = build_config({"tasks": ",".join(options.names), **flags_of(options)})
    wanted = list_data(config)
    if options.action == "fetch":
        return _fetch(options, config, wanted)
    if options.json:
        _print_json([_entry(one) for one in wanted])
    else:
        _print_table(wanted)
    return 0


def _entry(one: TaskSplit) -> dict[str, object]:
    place = one.place
    return {
        "task": one.task,
        "role": one.role,
        "dataset": place.dataset.name,
        "config": place.dataset.config,
        "split": place.split,
        "origin": place.origin,
        "places": [str(path) for path in place.places],
        "found": [str(path) for path in place.found],
        "problem": place.problem or None,
    }


def _print_json(value: object) -> None:
    import json

    print(json.dumps(value, ensure_ascii=False, indent=1))


def _print_table(wanted: Sequence[TaskSplit]) -> None:
    from rich import box
    from rich.table import Table

    from tenbin.report.terminal.console import make_console
    from tenbin.sandbox.printable import visible

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("task", "data set", "part", "split", "", "file"):
        table.add_column(name, overflow="fold")
    for one in wanted:
        dataset = one.place.dataset
        mark, file = _state(one)
        cells = (one.task, dataset.name, dataset.config or "", one.place.split, mark, file)
        table.add_row(*(visible(cell) for cell in cells))
    console = make_console()
    console.print(table)
    made = sum(one.place.origin == "function" for one in wanted)
    here = sum(bool(one.place.found) for one in wanted)
    functions = f", {made:,} are made by functions" if made else ""
    console.print(
        f"{here:,} of {len(wanted) - made:,} splits are here{functions}. A split may also be "
        ".parquet, .json, .csv, .tsv, .txt, or gzipped JSON (docs/data.md).",
        highlight=False,
        soft_wrap=True,
    )


def _state(one: TaskSplit) -> tuple[str, str]:
    """A mark, and the file or why there is none."""
    place = one.place
    if place.origin == "function":
        return "–", f"made by {place.dataset.custom_dataset}"
    if place.found:
        more = f" and {len(place.found) - 1} more" if len(place.found) > 1 else ""
        return "✓", f"{place.found[0]}{more}"
    return "✗", place.problem or f"{place.places[0]}"


def _fetch(options: argparse.Namespace, config: RunConfig, wanted: Sequence[TaskSplit]) -> int:
    from tenbin.pipeline.data_sets import fetch_data
    from tenbin.report.terminal.progress import open_progress
    from tenbin.sandbox.printable import visible

    done = list(fetch_data(config, wanted, open_progress()))
    if options.json:
        _print_json(
            [
                {
                    "dataset": one.place.dataset.name,
                    "config": one.place.dataset.config,
                    "split": one.place.split,
                    "state": one.state,
                    "files": [str(path) for path in one.files],
                    "rows": one.rows,
                    "problem": one.problem or None,
                }
                for one in done
            ]
        )
    else:
        for one in done:
            name = " ".join(filter(None, (one.place.dataset.name, one.place.dataset.config)))
            shown = f"{one.rows:,} rows in {one.files[0]}" if one.files else "made by the task"
            print(visible(f"{one.state:8}{name} {one.place.split}: {one.problem or shown}"))
    return 1 if any(one.state == "failed" for one in done) else 0
