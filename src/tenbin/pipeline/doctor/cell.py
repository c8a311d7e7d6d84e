"""One task under one template: its prompts, every measure of them, and what the measures mean.

A document with several inputs, such as winogrande's, is looked at input by input, and each counts
as one; only the estimated cost counts documents.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tenbin.analysis.doctor.bos import Beginning, judge_beginning, measure_beginning
from tenbin.analysis.doctor.boundary import Boundary, judge_boundary, measure_boundary
from tenbin.analysis.doctor.choice_tokens import Labels, judge_labels, measure_labels
from tenbin.analysis.doctor.cost import Cost, measure_cost, pack_rows
from tenbin.analysis.doctor.finding import Finding, Severity, worst
from tenbin.analysis.doctor.markers import (
    Marker,
    find_markers,
    fixed_texts,
    judge_markers,
    read_markers,
)
from tenbin.analysis.doctor.special_tokens import Injection, judge_injection, measure_injection
from tenbin.analysis.doctor.template_fit import Fit, judge_fit
from tenbin.analysis.doctor.thinking import judge_thoughts
from tenbin.analysis.doctor.truncation import Overflow, judge_overflow, measure_overflow
from tenbin.analysis.doctor.vocabulary import Spelling, judge_spelling, measure_spelling
from tenbin.backends.base import TokenizerInspector
from tenbin.config import RunConfig
from tenbin.errors import TenbinError
from tenbin.pipeline.cells.setup import CellSetup
from tenbin.pipeline.prepare import Data, prompt_settings
from tenbin.prompts.build import build_prompts, limited
from tenbin.prompts.example_pool import Pool
from tenbin.records import Document, Prompt
from tenbin.records.tokenized import TokenizedPrompt


@dataclass(frozen=True, slots=True)
class Measures:
    """The numbers of one cell."""

    boundary: Boundary
    beginning: Beginning
    markers: tuple[Marker, ...]
    chat_markers: tuple[Marker, ...]
    """Those of the model's chat format, where prompts go through it."""
    injection: Injection
    overflow: Overflow
    labels: Labels | None
    """None where answers are generated."""
    spelling: Spelling
    cost: Cost


@dataclass(frozen=True, slots=True)
class CellDiagnosis:
    """What was found of one task under one template."""

    setup: CellSetup
    fit: Fit
    measures: Measures | None
    """None where the prompts could not be made; a finding says why."""
    findings: tuple[Finding, ...]

    @property
    def id(self) -> str:
        """Task, version and template, all written out."""
        cell = self.setup.cell
        return f"{cell.task}-{cell.version}-{cell.template}{cell.mark}"

    @property
    def task_id(self) -> str:
        """Task and version."""
        return f"{self.setup.cell.task}-{self.setup.cell.version}"

    @property
    def severity(self) -> Severity:
        """That of the gravest finding."""
        return worst(finding.severity for finding in self.findings)


def examine_cell(
    setup: CellSetup, data: Data, config: RunConfig, reader: TokenizerInspector
) -> tuple[CellDiagnosis, list[bytes]]:
    """Look at one cell.

    Returns:
        What was found, and the rows that a model would compute, packed for counting.
    """
    template = setup.task.templates[setup.cell.template]
    markers = _read(find_markers(fixed_texts(template)), reader, template.stop)
    fit = judge_fit(
        template, markers, reader.vocabulary, config.apply_chat_template or template.chat
    )
    if setup.task.kind == "perplexity":
        fit = Fit("no sign", "texts are scored as they are: there is no wording")
    scored, pool = data.for_cell(setup)[0].documents, data.pool(setup)
    try:
        prompts = list(_prompts(setup, scored, pool, config, reader))
    except TenbinError as error:
        refused = Finding(
            "prompts", "refused", "problem", "the prompts cannot be made", error.message, 1, 1,
            error.hint or "see `tenbin validate`",
        )  # fmt: skip
        return CellDiagnosis(setup, fit, None, (refused,)), []
    inputs = [one for prompt in prompts for one in _inputs(prompt)]
    readings = reader.tokenize(inputs)
    packed = pack_rows(readings)
    cost = measure_cost(readings, packed, len(prompts), len(scored))
    measures = _measure(
        setup, inputs, readings, cost, markers, (scored, pool.documents), config, reader
    )
    findings = _judge(setup, measures, reader.tokenizer.thinking_marks)
    return CellDiagnosis(setup, fit, measures, tuple(findings)), packed


def _prompts(
    setup: CellSetup,
    documents: Sequence[Document],
    pool: Pool,
    config: RunConfig,
    reader: TokenizerInspector,
) -> Iterator[Prompt]:
    """The prompts of a sample that is spread over the set, each as a run would ask it.

    Where examples are sampled by one generator, they depend on all documents before, and
    the first documents are taken.
    """
    settings = prompt_settings(config)
    limit = setup.limit
    if settings.sampler == "document":
        count = limited(len(documents), limit)
        documents = [documents[at * len(documents) // count] for at in range(count)]
        limit = None
    return build_prompts(setup.task, setup.cell, documents, pool, limit, settings, reader.tokenizer)


def _inputs(prompt: Prompt) -> list[Prompt]:
    """What a model reads for a document: each context by itself where there are several."""
    if not prompt.contexts:
        return [prompt]
    return [replace(prompt, text=context, contexts=()) for context in prompt.contexts]


def _read(
    words: list[str], reader: TokenizerInspector, stop: Sequence[str] = ()
) -> tuple[Marker, ...]:
    encoded = dict(zip(words, reader.encode(words), strict=True))
    return read_markers(words, encoded, reader.vocabulary, reader.decode, stop)


def _measure(
    setup: CellSetup,
    prompts: Sequence[Prompt],
    readings: Sequence[TokenizedPrompt],
    cost: Cost,
    markers: tuple[Marker, ...],
    documents: tuple[Sequence[Document], Sequence[Document]],
    config: RunConfig,
    reader: TokenizerInspector,
) -> Measures:
    vocabulary = reader.vocabulary
    met = {prompt.document for prompt in prompts}, {id for p in prompts for id in p.examples}
    asked, shown = (
        {document.id: document for document in some if document.id in ids}
        for some, ids in zip(documents, met, strict=True)
    )
    special = [word for word, is_special in vocabulary.added.items() if is_special]
    chat_words: list[str] = []
    if config.apply_chat_template:
        turn = [{"role": "user", "content": "a"}]
        chat_words = find_markers([reader.tokenizer.chat(turn, config.chat_template_args)])
    return Measures(
        measure_boundary(prompts, readings, vocabulary.encoding, reader.decode),
        measure_beginning(readings, vocabulary),
        markers,
        _read(chat_words, reader),
        measure_injection(prompts, asked, shown, special),
        measure_overflow(prompts, readings, vocabulary.max_length),
        measure_labels(prompts, readings),
        measure_spelling(
            setup.task.language,
            prompts,
            readings,
            vocabulary.unknown,
            reader.decode,
            reader.encode,
        ),
        cost,
    )


def _judge(
    setup: CellSetup, found: Measures, thinking_marks: tuple[str, str] | None
) -> list[Finding]:
    task = setup.task
    stop = task.templates[setup.cell.template].stop if task.kind == "generate" else ()
    documents = found.boundary.documents
    labels = judge_labels(found.labels, [use.name for use in task.metrics]) if found.labels else []
    return [
        *judge_boundary(found.boundary),
        *judge_beginning(found.beginning),
        *judge_markers(found.markers, documents, stop),
        *judge_markers(found.chat_markers, documents, (), from_chat=True),
        *judge_injection(found.injection),
        *judge_overflow(found.overflow),
        *labels,
        *judge_spelling(found.spelling),
        *judge_thoughts(task.kind, task.thinking, thinking_marks, documents),
    ]
