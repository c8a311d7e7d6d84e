"""Join stored runs of one model to one stored run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

from tenbin.errors import ConfigError
from tenbin.pipeline.merge.agreement import Part, check_agreement
from tenbin.pipeline.merge.cells import MergedCell, merged_cells
from tenbin.pipeline.merge.groups import merged_groups
from tenbin.pipeline.merge.record import merged_result
from tenbin.pipeline.output_folder import stored_result
from tenbin.pipeline.progress import Listener, ProgressCounter
from tenbin.results.folder import RunFolder, choose_folder, leave_folder
from tenbin.results.read import StoredRun, read_run
from tenbin.results.schema import RunResult, Sample
from tenbin.results.write import write_run


def merge_runs(
    runs: Sequence[str | Path],
    output: str | Path,
    listener: Listener,
    include_path: Sequence[str] = (),
) -> StoredRun:
    """Join stored runs and store the result.

    Args:
        runs: Run folders or their result.json.
        output: A .json file, or a folder in which the run gets one of its own.
        listener: Receives the progress, and what a reader should know.
        include_path: Where task files are now that the runs were asked with.

    Returns:
        The merged run.

    Raises:
        ConfigError: Fewer than two runs, or the place holds another run.
        ResultError: The runs are not parts of one; the message lists what differs.
    """
    opened = [read_run(path) for path in runs]
    places = [one.path.resolve() for one in opened]
    if len(set(places)) < 2:
        raise ConfigError("one run is whole already: there is nothing to merge", "name several")
    if len(set(places)) < len(places):
        raise ConfigError("a run is named twice", "name each once")
    parts = [
        Part(str(path), _found_at(one, include_path))
        for path, one in zip(runs, opened, strict=True)
    ]
    check_agreement(parts)
    for part in parts:
        part.stored.check_samples()
    cells = merged_cells(parts)
    groups, setups = merged_groups(parts, cells)
    # As they are stored, whatever folders were searched for task files.
    stored = [replace(part, stored=one) for part, one in zip(parts, opened, strict=True)]
    result = merged_result(stored, cells, groups, setups)
    folder = _taken_place(Path(output), result)
    try:
        total = sum(result.n_samples[one.id].effective for one in cells)
        counter = ProgressCounter(listener.prepare, "writing samples", total)
        write_run(folder, result, counter.through(_samples(parts, cells)), _run_file(result))
    finally:
        leave_folder(folder)
    return read_run(folder.path)


def _found_at(run: StoredRun, include_path: Sequence[str]) -> StoredRun:
    """The run with the folders of task files that lie elsewhere now."""
    if not include_path:
        return run
    config = {**run.result.config, "include_path": list(include_path)}
    merged = [
        one.model_copy(update={"config": {**one.config, "include_path": list(include_path)}})
        for one in run.result.merged
    ]
    update = {"config": config, **({"merged": merged} if merged else {})}
    return replace(run, result=run.result.model_copy(update=update))


def _taken_place(output: Path, result: RunResult) -> RunFolder:
    stamp = datetime.now(timezone.utc).strftime("%Y%m%d-%H%M%S")
    folder = choose_folder(str(output), f"{result.model_name}-merged", stamp)
    before = stored_result(folder)
    if before is not None and before.run_id != result.run_id:
        leave_folder(folder)
        raise ConfigError(
            f"{folder.result_file} holds another run, which is not replaced",
            "name another place with -o",
        )
    return folder


def _samples(parts: Sequence[Part], cells: Sequence[MergedCell]) -> Iterator[Sample]:
    for number, part in enumerate(parts):
        ids = {one.own_id: one.id for one in cells if one.part == number}
        for sample in part.stored.samples():
            if sample.id in ids:
                yield sample if ids[sample.id] == sample.id else replace(sample, id=ids[sample.id])


def _run_file(result: RunResult) -> dict[str, object]:
    """The options that the merged runs share, with every task: for reading, not for a rerun."""
    return {name: one for name, one in result.config.items() if one not in (None, False, [], {})}
