"""A page about the tasks of one file, in Markdown: all facts come from the catalogue."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from tenbin.data.sources.pinned import PinnedSet, Split, find_pinned_set
from tenbin.metrics.registry import metric_names
from tenbin.records import Citation, Task, Template
from tenbin.tasks.rotation import rotations_of

_KINDS = {
    "choice": "the log-likelihoods of choices",
    "generate": "a generated answer",
    "perplexity": "the log-likelihood of whole texts",
    "loglikelihood": "the log-likelihood of a text",
}
_HOSTS = {"github": "https://github.com/", "hub": "https://huggingface.co/datasets/"}


def newest_tasks(tasks: Sequence[Task]) -> list[Task]:
    """The last version of each task, as its file lists them."""
    return list({task.name: task for task in tasks}.values())


def page_name(task: Task) -> str:
    """What the page of a task is called: as its file is."""
    return Path(task.source).stem


def task_facts(tasks: Sequence[Task]) -> str:
    """What is known of the tasks of one file.

    Args:
        tasks: All of them, in every version.
    """
    return "\n".join(_facts(tasks))


def _facts(tasks: Sequence[Task]) -> Iterator[str]:
    newest = newest_tasks(tasks)
    first = newest[0]
    about = first.about
    yield f"# {_title(newest)}\n"
    if about:
        yield f"{about.asks}\n"
    yield f"Scored by {_KINDS[first.kind]}. {_names(newest)}\n"
    versions = list(dict.fromkeys(task.version for task in tasks))
    if len(versions) > 1:
        yield f"Versions: {', '.join(versions)}; the default is {first.version}.\n"
    if about and about.shots:
        yield f"Examples in published numbers: {about.shots}\n"
    if about and about.note:
        yield f"{about.note}\n"
    yield "## Templates\n\n| template | meant for | wording |\n|---|---|---|"
    for template in first.templates.values():
        if "+" not in template.name:
            yield _template_row(template, first)
    variants = dict.fromkeys(name.partition("+")[2] for name in first.templates if "+" in name)
    if variants:
        listed = ", ".join(f"`+{name}`" for name in variants)
        yield f"\nEvery template also with the scoring variants {listed}."
    if rotated := [name for name in first.templates if len(rotations_of(first, name)) > 1]:
        orders = f"[in {first.options.count if first.options else 0} orders](../option-order.md)"
        yield f"\nThe options can be shown {orders} in {_rotated_templates(first, rotated)}."
    yield "\n## Metrics\n\n| metric | better | chance |\n|---|---|---|"
    for name, metric in metric_names(first):
        chance = first.chance.get(name, first.chance.get(name.partition(",")[0]))
        unit = " %" if metric.percent else ""
        better = "higher" if metric.higher_is_better else "lower"
        yield f"| `{name}` | {better} | {'' if chance is None else f'{chance:.4g}{unit}'} |"
    yield from _data(newest)
    if about and about.faults:
        yield "\n## Known faults\n"
        yield from (f"- {fault.replace('<', '&lt;')}" for fault in about.faults)
    if about and about.citation:
        yield f"\n## How to cite\n\n```bibtex\n{_bibtex(first, about.citation)}\n```"


def _title(newest: Sequence[Task]) -> str:
    """The title of the tasks; of subsets ("JMMLU: anatomy") the part that they share."""
    titles = list(dict.fromkeys(task.title or task.name for task in newest))
    shared = {title.partition(": ")[0] for title in titles}
    return titles[0] if len(titles) == 1 or len(shared) > 1 else shared.pop()


def _rotated_templates(task: Task, rotated: Sequence[str]) -> str:
    plain = [name for name in rotated if "+" not in name]
    if len(rotated) == len(task.templates):
        return "every template"
    return ", ".join(f"`{name}`" for name in plain)


def _names(newest: Sequence[Task]) -> str:
    if len(newest) == 1:
        return f"Task `{newest[0].name}`, language `{newest[0].language}`."
    groups = dict.fromkeys(task.group for task in newest if task.group)
    together = f" Together: {', '.join(f'`{group}`' for group in groups)}." if groups else ""
    listed = ", ".join(f"`{task.name}`" for task in newest)
    return f"{len(newest)} tasks: {listed}.{together}"


def _template_row(template: Template, task: Task) -> str:
    default = " (default)" if template.name == task.default_template else ""
    source = _cell(template.source) or "tenbin's own"
    return f"| `{template.name}`{default} | {_cell(template.meant_for)} | {source} |"


def _cell(text: str) -> str:
    """A text as a cell of a table."""
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


def _data(newest: Sequence[Task]) -> Iterator[str]:
    yield "\n## Data\n"
    for name in dict.fromkeys(task.dataset.name for task in newest if task.dataset.pinned):
        one = next(task for task in newest if task.dataset.name == name)
        pinned = find_pinned_set(one.dataset)
        place = f"[{pinned.homepage}]({pinned.homepage})"
        yield f"{pinned.title}, {place}. Licence: {pinned.licence}.\n"
        if pinned.withdrawn:
            yield f"{pinned.withdrawn}.\n"
        yield "| version | split | rows | source | revision |\n|---|---|---|---|---|"
        yield from _split_rows(pinned)
        yield ""
    scored = dict.fromkeys(task.split for task in newest)
    examples = dict.fromkeys(task.fewshot.split for task in newest if task.fewshot.split)
    sampled = f"; examples are sampled from {', '.join(f'`{one}`' for one in examples)}"
    yield f"Scored: {', '.join(f'`{one}`' for one in scored)}{sampled if examples else ''}."


def _split_rows(pinned: PinnedSet) -> Iterator[str]:
    each = " in each part" if pinned.configs else ""
    for version, splits in pinned.versions.items():
        for split in splits.values():
            rows = "" if split.rows is None else f"{split.rows:,}{each}"
            by_part = (f"{name} {count:,}" for name, count in split.rows_by_config.items())
            rows = rows or ", ".join(by_part)
            source, revision = _source(split)
            yield f"| {version} | `{split.name}` | {rows} | {source} | {revision} |"


def _source(split: Split) -> tuple[str, str]:
    host = _HOSTS.get(split.host)
    if host is None:
        return "your own rows, or the samples", ""
    return f"[{split.repository}]({host}{split.repository})", f"`{split.revision[:12]}`"


def _bibtex(task: Task, citation: Citation) -> str:
    authors = " and ".join(one.strip() for one in citation.authors.split(","))
    return (
        f"@inproceedings{{{page_name(task)}{citation.year},\n"
        f"  author = {{{authors}}},\n"
        f"  title = {{{{{citation.title}}}}},\n"
        f"  booktitle = {{{citation.venue}}},\n"
        f"  year = {{{citation.year}}}\n}}"
    )
