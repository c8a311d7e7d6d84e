"""The records of a diagnosis: what `tenbin doctor` prints, writes and gives in Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from tenbin.analysis.doctor.cost import Cost
from tenbin.analysis.doctor.finding import Finding, Severity
from tenbin.analysis.doctor.template_fit import Fit, chat_kind
from tenbin.analysis.doctor.vocabulary import Spelling
from tenbin.analysis.document import ABSENT, to_json
from tenbin.pipeline.doctor.cell import CellDiagnosis, Measures
from tenbin.pipeline.doctor.examine import EVERYTHING, Examination
from tenbin.records.task import stored_kind


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """The model whose tokenizer was used."""

    backend: str
    names: tuple[str, ...]
    tokenizer: str
    vocabulary: int
    max_length: int
    encoding: str
    has_bos: bool
    adds_bos: bool
    has_unknown: bool
    special_tokens: int
    chat_template: str | None
    """What kind of chat template it has; None if it has none."""


@dataclass(frozen=True, slots=True)
class ExaminedSample:
    """Which documents were looked at, and how they were asked."""

    limit: tuple[float, ...] | str
    """One for each entry of `--tasks`, or `all`."""
    sample: str
    """`first` documents, or `spread evenly`."""
    apply_chat_template: bool
    profile: str
    seed: int


@dataclass(frozen=True, slots=True)
class CellReport:
    """What was found of one task under one template."""

    task: str
    version: str
    template: str
    language: str
    kind: str
    num_fewshot: int
    meant_for: str
    severity: Severity
    fit: Fit
    findings: tuple[Finding, ...]
    documents: int
    """Documents that were looked at; 0 if the prompts could not be made."""
    of: int | None = field(metadata=ABSENT)
    """Documents that there are."""
    measures: Measures | None


@dataclass(frozen=True, slots=True)
class CostEstimate:
    """Tokens of a run over all documents."""

    tokens: int
    """With every row computed from its first token."""
    distinct: int
    """With every shared prefix of a template computed once."""
    together: int
    """With all templates of a task in one run."""
    written: int
    """Generated at most."""


@dataclass(frozen=True, slots=True)
class DiagnosisReport:
    """What `tenbin doctor` found."""

    model: ModelFacts
    settings: ExaminedSample
    severity: Severity
    """That of the gravest finding."""
    cells: Mapping[str, CellReport]
    """Id with template → what was found."""
    languages: Mapping[str, Spelling]
    cost: CostEstimate
    notices: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """What `tenbin doctor --format json` prints."""
        document: dict[str, Any] = {"kind": "diagnosis"}
        for one in fields(self):
            document[one.name] = to_json(getattr(self, one.name))
        for id, cell in self.cells.items():
            document["cells"][id]["measures"] = _measures_json(cell.measures)
        document["languages"] = {name: _spelling_json(one) for name, one in self.languages.items()}
        return document


def report_of(found: Examination) -> DiagnosisReport:
    """Everything that was found, as reports show it."""
    vocabulary, config = found.vocabulary, found.config
    return DiagnosisReport(
        ModelFacts(
            backend=config.model,
            names=tuple(vocabulary.names),
            tokenizer=vocabulary.kind,
            vocabulary=vocabulary.size,
            max_length=vocabulary.max_length,
            encoding=vocabulary.encoding,
            has_bos=vocabulary.bos is not None,
            adds_bos=bool(vocabulary.prefix),
            has_unknown=vocabulary.unknown is not None,
            special_tokens=sum(vocabulary.added.values()),
            chat_template=chat_kind(vocabulary.chat_template),
        ),
        ExaminedSample(
            limit=tuple(config.limit) or EVERYTHING,
            sample="first" if config.profile_settings.sampler == "running" else "spread evenly",
            apply_chat_template=config.apply_chat_template,
            profile=config.profile_settings.name,
            seed=config.seed,
        ),
        found.severity,
        {cell.id: _cell_report(cell) for cell in found.cells},
        {one.language: one for one in found.languages},
        _cost_estimate(found),
        tuple(found.notices),
    )


def _cell_report(cell: CellDiagnosis) -> CellReport:
    setup, found = cell.setup, cell.measures
    return CellReport(
        task=setup.cell.task,
        version=setup.cell.version,
        template=setup.cell.template,
        language=setup.task.language,
        kind=stored_kind(setup.task.kind),
        num_fewshot=setup.cell.shots,
        meant_for=setup.task.templates[setup.cell.template].meant_for,
        severity=cell.severity,
        fit=cell.fit,
        findings=cell.findings,
        documents=found.cost.documents if found else 0,
        of=found.cost.of if found else None,
        measures=found,
    )


def _cost_estimate(found: Examination) -> CostEstimate:
    costs = [cell.measures.cost for cell in found.cells if cell.measures is not None]
    by_task: dict[str, Cost] = {}
    for cell in found.cells:
        if cell.measures is not None:
            by_task.setdefault(cell.task_id, cell.measures.cost)
    return CostEstimate(
        tokens=sum(cost.scaled(cost.tokens) for cost in costs),
        distinct=sum(cost.scaled(cost.distinct) for cost in costs),
        together=sum(
            by_task[task].scaled(number)
            for task, number in found.shared_tokens.items()
            if task in by_task
        ),
        written=sum(cost.scaled(cost.written) for cost in costs),
    )


def _measures_json(found: Measures | None) -> dict[str, Any] | None:
    if found is None:
        return None
    measures: dict[str, Any] = asdict(found)
    # JSON has no numbers as keys: the same names in Python and in a file.
    measures["beginning"]["leading"] = {str(k): n for k, n in found.beginning.leading.items()}
    measures["spelling"] = _spelling_json(found.spelling)
    return measures


def _spelling_json(found: Spelling) -> dict[str, Any]:
    return {
        **asdict(found),
        "unknown_share": round(found.unknown_share, 6),
        "broken_share": round(found.broken_share, 6),
        "characters_per_token": round(found.characters_per_token, 4),
    }
