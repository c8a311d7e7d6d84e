"""All cells of a diagnosis: which tasks, templates and documents, and what they have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tenbin.analysis.doctor.cost import count_distinct
from tenbin.analysis.doctor.finding import Severity, worst
from tenbin.analysis.doctor.vocabulary import Spelling, join_spelling
from tenbin.backends.registry import open_inspector
from tenbin.config import AUTO, RunConfig, build_config
from tenbin.files.hub_switches import hub_offline
from tenbin.pipeline.cells.choose import choose_cells
from tenbin.pipeline.cells.per_task import number_notices
from tenbin.pipeline.doctor.cell import CellDiagnosis, examine_cell
from tenbin.pipeline.prepare import load_data
from tenbin.pipeline.progress import Listener
from tenbin.pipeline.run import backend_settings
from tenbin.records.tokenized import Vocabulary

DEFAULT_LIMIT = 100
"""Documents of a task that are looked at unless the user says otherwise."""
EVERYTHING = "all"


@dataclass(frozen=True, slots=True)
class Examination:
    """A whole diagnosis."""

    config: RunConfig
    vocabulary: Vocabulary
    cells: tuple[CellDiagnosis, ...]
    languages: tuple[Spelling, ...]
    shared_tokens: Mapping[str, int]
    """Task and version → distinct tokens when all its templates run together."""
    notices: tuple[str, ...]

    @property
    def severity(self) -> Severity:
        """That of the gravest finding."""
        return worst(cell.severity for cell in self.cells)


def examination_config(given: Mapping[str, Any]) -> RunConfig:
    """A checked config whose limit is a sample unless all documents are asked for."""
    values = dict(given)
    if values.get("limit") is None:
        values["limit"] = DEFAULT_LIMIT
    elif values["limit"] == EVERYTHING:
        values["limit"] = None
    if values.get("template") == AUTO:
        # What a run would choose among is looked at in full.
        values["template"] = None
    # Nothing is chosen here, so it does not matter on what.
    values["select_on"] = None
    return build_config(values)


def examine(config: RunConfig, listener: Listener) -> Examination:
    """Look at every cell that the config asks for; bare names stand for all their templates.

    Args:
        config: As for a run, from `examination_config`.
        listener: Receives the progress.
    """
    setups = choose_cells(config, every_template=True)
    data = load_data(config, setups, listener.transfer)
    setups = data.kept(setups)
    notices = [*number_notices(config, setups), *data.notices()]
    for notice in notices:
        listener.message(notice)
    with hub_offline(config.offline):
        reader = open_inspector(backend_settings(config, listener.message))
    cells: list[CellDiagnosis] = []
    rows: dict[str, list[bytes]] = {}
    for done, setup in enumerate(setups, 1):
        found, packed = examine_cell(setup, data, config, reader)
        listener.prepare("examining templates", done, len(setups), "templates")
        cells.append(found)
        rows.setdefault(found.task_id, []).extend(packed)
    shared = {task: count_distinct(packed) for task, packed in rows.items()}
    return Examination(
        config,
        reader.vocabulary,
        tuple(cells),
        _languages(cells),
        shared,
        tuple(notices),
    )


def _languages(cells: Sequence[CellDiagnosis]) -> tuple[Spelling, ...]:
    parts: dict[str, list[Spelling]] = {}
    for cell in cells:
        if cell.measures is not None:
            spelling = cell.measures.spelling
            parts.setdefault(spelling.language, []).append(spelling)
    return tuple(join_spelling(language, some) for language, some in parts.items())
