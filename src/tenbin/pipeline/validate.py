"""What can be wrong with a task, found without a model.

Schema faults are raised by the loader; this module reads the task's data and renders every
template over it, and reports what a reader should look at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from tenbin.config import RunConfig
from tenbin.data import DataChoice, DocumentSet, load_documents
from tenbin.errors import TaskError, TenbinError
from tenbin.metrics.perplexity import count_characters, count_words
from tenbin.metrics.registry import check_question, metric_names, reference_checks
from tenbin.pipeline.prepare import data_choice
from tenbin.pipeline.progress import Listener
from tenbin.pipeline.task_files import trust_of
from tenbin.prompts.assembly import open_assembly
from tenbin.prompts.render import whole_text, word
from tenbin.prompts.worded import Worded
from tenbin.records import Document, Task, TaskFunction, Template
from tenbin.tasks.lm_eval.functions import named_functions
from tenbin.tasks.lm_eval.python_imports import pip_name
from tenbin.tasks.lm_eval.trust import missing_packages, trusted
from tenbin.tasks.prompt_formats import sample_formats, with_formats
from tenbin.tasks.sampling import check_repeats

# In languages that put spaces between words, words with what follows have 5 to 9 characters.
_LONG_WORD = 20
_CHECKED_FORMATS, _CHECKED_DOCUMENTS = 4, 20


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing found."""

    severity: Literal["error", "warning"]
    where: str
    message: str


@dataclass(frozen=True, slots=True)
class Checked:
    """What was looked at, and what was found."""

    task: Task
    documents: int
    templates: int
    findings: tuple[Finding, ...]

    @property
    def errors(self) -> int:
        """Findings that stand in the way of a run."""
        return sum(finding.severity == "error" for finding in self.findings)

    def to_json(self) -> dict[str, Any]:
        """What was found, in types that JSON has."""
        return {
            "task": self.task.name,
            "version": self.task.version,
            "templates": self.templates,
            "documents": self.documents,
            "findings": [asdict(finding) for finding in self.findings],
        }


def validate_selected(task: Task, config: RunConfig, listener: Listener | None = None) -> Checked:
    """Check a task as a run with this config would use it.

    A task with functions that the user does not trust is checked as far as its file goes.

    Args:
        task: The task.
        config: The run.
        listener: Receives the progress.
    """
    functions = named_functions(task)
    if functions:
        trust = trust_of(config)
        unchecked = [*_check_metrics(task), *_check_packages(functions)]
        if not all(trust.covers(function) for _, function in functions):
            keys = ", ".join(dict.fromkeys(key for key, _ in functions))
            reason = f"{keys}: rows and prompts are made by functions that run with --trust_tasks"
            unchecked.append(Finding("warning", "functions", reason))
        if unchecked:
            return Checked(task, 0, len(task.templates), tuple(unchecked))
        try:
            task = trusted(task, trust)
        except TaskError as error:
            failed = Finding("error", "functions", str(error))
            return Checked(task, 0, len(task.templates), (failed,))
    return validate_task(task, data_choice(config), listener)


def _check_packages(functions: list[tuple[str, TaskFunction]]) -> Iterator[Finding]:
    for package, file in missing_packages(functions).items():
        reason = f"{file} needs the package {package}, which is not installed"
        yield Finding("error", "packages", f"{reason}\n  → pip install {pip_name(package)}")


def validate_task(task: Task, choice: DataChoice, listener: Listener | None = None) -> Checked:
    """Check metrics, data, labels, every template on every document, and leaks."""
    listener = listener or Listener()
    findings = list(_check_metrics(task))
    try:
        scored = load_documents(task.dataset, task.split, choice, listener.transfer)
    except TenbinError as error:
        findings.append(Finding("error", f"split {task.split}", str(error)))
        return Checked(task, 0, len(task.templates), tuple(findings))
    findings += _check_pool(task, scored, choice)
    check = _check_texts if task.kind == "perplexity" else _check_template
    for done, template in enumerate(task.templates.values(), 1):
        findings += check(task, template, scored.documents)
        listener.prepare(f"checking {task.name}", done, len(task.templates), "templates")
    findings += _check_formats(task, scored.documents)
    return Checked(task, len(scored.documents), len(task.templates), tuple(findings))


def _check_metrics(task: Task) -> Iterator[Finding]:
    try:
        check_repeats(task)
        metric_names(task)
    except TenbinError as error:
        yield Finding("error", "metrics, filters and sampling", str(error))


def _check_pool(task: Task, scored: DocumentSet, choice: DataChoice) -> Iterator[Finding]:
    split = task.fewshot.split
    if split is None or split == task.split:
        return
    try:
        whole = task.fewshot.whole_split
        dataset = replace(task.dataset, where={}) if whole else task.dataset
        pool = load_documents(dataset, split, choice)
    except TenbinError as error:
        yield Finding("error", f"split {split}", str(error))
        return
    label = task.fewshot.label
    if label and any(label not in document.fields for document in pool.documents):
        yield Finding("error", f"split {split}", f"examples have no field {label!r} to stratify by")
    texts = {_content(document) for document in scored.documents}
    repeated = sum(_content(document) in texts for document in pool.documents)
    if repeated:
        yield Finding(
            "warning", f"split {split}", f"{repeated} rows stand in split {task.split} too"
        )


def _content(document: Document) -> str:
    return repr(sorted((k, v) for k, v in document.fields.items() if "id" not in k))


def _check_formats(task: Task, documents: Sequence[Document]) -> Iterator[Finding]:
    """Whether the declared prompt formats fit together, and some of them the first documents."""
    if task.formats is None:
        return
    try:
        formats = sample_formats(task, _CHECKED_FORMATS, seed=0)
    except TaskError as error:
        yield Finding("error", "formats", str(error))
        return
    worded = with_formats(task, formats)
    for one in formats:
        found = _check_template(worded, worded.templates[one.id], documents[:_CHECKED_DOCUMENTS])
        yield from (finding for finding in found if finding.severity == "error")


def _check_template(
    task: Task, template: Template, documents: Sequence[Document]
) -> Iterator[Finding]:
    where = f"template {template.name}"
    try:
        assembly = open_assembly(task, template, None, None, None, False)
        worded = [word(task, template, document, None) for document in documents]
        for document, one in zip(documents, worded, strict=True):
            check_question(task, one.num_choices, document.origin)
            for check in reference_checks(task):
                check(one.references, document.origin)
    except TenbinError as error:
        yield Finding("error", where, str(error))
        return
    empty = [d.origin for d, w in zip(documents, worded, strict=True) if not w.target.strip()]
    if empty and task.process_results is None:
        yield Finding(
            "error", where, f"{len(empty)} documents have an empty answer, first {empty[0]}"
        )
    for document, one in zip(documents, worded, strict=True):
        if one.choices is not None and len(set(one.choices)) < len(one.choices):
            yield Finding("warning", where, f"{document.origin}: two choices are the same text")
            break
    if task.kind == "generate":
        yield from _check_indices(where, documents, worded)
    if task.kind != "loglikelihood":
        # The word that ends a text may well stand in it before.
        yield from _check_leak(where, assembly.description, documents, worded)
    stops = [s for s in template.stop if any(s in w.target for w in worded)]
    if stops:
        yield Finding(
            "warning", where, f"answers hold the stop string {stops[0]!r} and would be cut"
        )


def _check_indices(
    where: str, documents: Sequence[Document], worded: list[Worded]
) -> Iterator[Finding]:
    """Are the references numbers that count the entries of a list beside them?"""
    lists: set[str] | None = None
    for document, one in zip(documents, worded, strict=True):
        stripped = [reference.strip() for reference in one.references]
        if not stripped or not all(text.isdecimal() and len(text) < 10 for text in stripped):
            return
        highest = max(map(int, stripped))
        fitting = {
            name
            for name, value in document.fields.items()
            if isinstance(value, list) and len(value) >= 2 and highest < len(value)
            # A number that is itself an entry is an answer, not an index.
            if not any(str(entry).strip() in stripped for entry in value)
        }
        lists = fitting if lists is None else lists & fitting
        if not lists:
            return
    if lists:
        name = sorted(lists)[0]
        yield Finding(
            "warning",
            where,
            f"every reference is a number, such as {worded[0].references[0]!r}, and fits as an "
            f"index into field {name!r}: models would have to write the number; "
            f"`doc_to_choice: {name}` makes the entry's text the reference",
        )


def _check_texts(
    task: Task, template: Template, documents: Sequence[Document]
) -> Iterator[Finding]:
    """Is there a text in every document, and are there words where words are counted?"""
    where = f"template {template.name}"
    try:
        texts = [whole_text(task, template, document) for document in documents]
    except TenbinError as error:
        yield Finding("error", where, str(error))
        return
    repeated = len(texts) - len(set(texts))
    if repeated:
        yield Finding("warning", where, f"{repeated} documents repeat the text of another")
    length = sum(map(count_characters, texts)) / sum(map(count_words, texts))
    if length > _LONG_WORD and "word_perplexity" in {use.metric for use in task.metrics}:
        yield Finding(
            "warning",
            where,
            f"word_perplexity: a word has {length:.0f} characters, so these texts are not written "
            "with spaces between words; char_perplexity and bits_per_byte say more",
        )


def _check_leak(
    where: str, description: str, documents: Sequence[Document], worded: list[Worded]
) -> Iterator[Finding]:
    """Does the text give the right answer away in a way it does not treat the others?

    A choice task shows all its choices or none of them: a prompt that holds the gold choice but
    not one of the others leaks, and so does one that ends in its own answer.
    """
    leaking = []
    for document, one in zip(documents, worded, strict=True):
        prompt = (description if one.description is None else one.description) + one.text
        if one.contexts:
            continue
        if prompt.rstrip().endswith(one.target.strip()) and len(one.target.strip()) > 1:
            leaking.append(document.origin)
        elif one.choices is not None and one.gold is not None:
            shown = [choice.strip() in prompt for choice in one.choices]
            if shown[one.gold] and not any(s for i, s in enumerate(shown) if i != one.gold):
                leaking.append(document.origin)
    # One document may hold its answer by chance; a template that leaks does it everywhere.
    if len(leaking) > max(1, len(documents) // 2):
        yield Finding(
            "error",
            where,
            f"the right answer stands in the prompt and the others do not, in {len(leaking)} of "
            f"{len(documents)} documents, first {leaking[0]}",
        )
