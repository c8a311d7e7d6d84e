"""What is evaluated: a task with its data set, templates and metrics, and the cell of a score."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, TypeAlias

from tenbin.records.format_grammar import DeclaredFormats

Kind = Literal["choice", "generate", "perplexity", "loglikelihood"]
"""How a task asks: score given choices, generate text, score a whole text, or score one given
answer after its prompt."""


def stored_kind(kind: Kind) -> str:
    """The word for a kind in files: `roll` for perplexity, as the first version wrote it."""
    return "roll" if kind == "perplexity" else kind


DEFAULT_TEMPLATE = "default"
"""The template name that is left out of ids: `mlogiqa_mcq_ja` is `mlogiqa_mcq_ja-1.0-default`."""


MOST_CHOICES = 1000
"""Of one document: each is scored by itself."""


MOST_TOKENS = 10_000_000
"""Of one answer; beyond any model's window, and within what every engine can count."""


MOST_SHOTS = 10_000


MOST_FORMATS = 10_000
"""Prompt formats of one task in one run."""


MOST_REPEATS = 10_000
"""Most answers sampled per document."""


@dataclass(frozen=True, slots=True)
class TaskFunction:
    """A Python function that a task file names with `!function`.

    Inert until `tenbin.tasks.lm_eval.trust` has loaded it: reading, listing and validating task
    files runs none of their code.
    """

    file: str
    """The Python file, or the module for a function of an installed package."""
    name: str
    """What the function is called in it."""
    sha256: str = ""
    """Of the file: part of what a result says about its task, and of every cache key."""
    call: Callable[..., Any] | None = field(default=None, compare=False, repr=False)
    """The function itself, once its folder is trusted."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Call the function."""
        if self.call is None:
            raise RuntimeError(f"{self}: called before its folder was trusted")
        return self.call(*arguments, **options)

    def __str__(self) -> str:
        """As `file: name`, for messages."""
        return f"{self.file}: {self.name}"

    def __reduce__(self) -> tuple[type[TaskFunction], tuple[str, str, str]]:
        """Without the function itself, which another process must not get by this way."""
        return TaskFunction, (self.file, self.name, self.sha256)


Source: TypeAlias = "str | int | TaskFunction"
"""What makes a text, a target or choices of a row: Jinja, the name of a field, a number as it is,
or a function of the row."""


@dataclass(frozen=True, slots=True)
class Dataset:
    """A data set as a task names it; the documents stage knows how to get its rows."""

    name: str
    """A pinned set of `catalog/datasets/` (`jglue/jnli`), or a path or hub id as in lm-eval."""
    config: str | None = None
    """The part of it, such as a language."""
    pinned: bool = True
    """Whether `name` is one of the sets described in `catalog/datasets/`."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """lm-eval's `dataset_kwargs`, for sets that are not pinned."""
    folder: str | None = None
    """Where the task file lies, whose data files may lie there too; None: there is none."""
    file: str | None = field(default=None, compare=False, repr=False)
    """The task file, for messages."""
    process_docs: TaskFunction | None = None
    """Turns the rows of a split, a `datasets.Dataset`, into those that are asked."""
    custom_dataset: TaskFunction | None = None
    """Makes the rows of all splits itself; called with `metadata` and `options` as keywords."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """The task's metadata, where `custom_dataset` gets it."""
    where: Mapping[str, str] = field(default_factory=dict)
    """Only the rows whose fields have these values are the task's."""
    equal_keys: bool = False
    """Whether a key that some rows of a JSON file lack is None in them, as in lm-eval; otherwise a
    template that names it is refused for these rows."""


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file that rows were read from, as the results record it."""

    path: str
    sha256: str
    rows: int
    source: str
    """`download`, `data_dir`, `sample_data` or `datasets`; for functions of task files
    `process_docs`, `custom_dataset` or `samples`."""
    version: str | None = None
    """Data version or revision, where known."""
    verified: bool = False
    """Whether its bytes are those of the published file."""


@dataclass(frozen=True, slots=True)
class Template:
    """One wording of a task. Texts are Jinja sources over a document's fields."""

    name: str
    description: str
    text: Source
    choices: str | tuple[str, ...] | TaskFunction | None
    target: Source | tuple[str, ...]
    """The gold answer: an index or a label for choices, the first reference for generation; a
    tuple holds several."""
    target_delimiter: str
    fewshot_delimiter: str
    stop: tuple[str, ...]
    example_target: str | None = None
    """What an example shows as its answer, where that is not the gold choice or reference."""
    meant_for: str = ""
    """Which models it was written for, in a few words."""
    source: str = ""
    """Who publishes this wording; empty: it is tenbin's own."""
    system_prompt: str | None = None
    """What `{{ system_prompt }}` stands for unless the user gives another text."""
    gen_prefix: str | None = None
    """Jinja, or a field's name: what the model's answer begins with, given to it."""
    example: ExampleWording | None = None
    """How examples are worded where not as the question is (lm-eval's `fewshot_config`)."""
    rotation: int = 0
    """Places that the options of questions and examples are rotated by: with 2, the third option of
    the row is shown first. The gold answer moves along. Needs `Task.options`."""
    reverses_examples: bool = False
    """Whether examples are shown in the reverse of the order they were sampled in."""
    chat: bool = False
    """Whether prompts are put into the model's chat format without `--apply_chat_template` too."""
    format: Mapping[str, str] | None = None
    """Of a format: dimension → level. None: the template is one that somebody wrote."""


@dataclass(frozen=True, slots=True)
class OptionFields:
    """Which fields hold the options of a question, so that they can be shown in another order.

    A path such as `words.options` or `options.published` leads into a field.
    """

    count: int
    """Options of a question, at most: how many rotations there are."""
    lists: tuple[str, ...] = ()
    """Fields that hold all options in their order; `labels` and `words.NAME` are the task's own."""
    fields: tuple[str, ...] = ()
    """Fields that hold one option each, in their order."""
    gold: str = "label"
    """The field that says which option is right: its index, its letter or its text."""
    fixed: tuple[str, ...] = ()
    """Templates that are never rotated, since they explain each option where it stands."""

    def named_in(self, source: object) -> bool:
        """Whether a part of a template names the options: a path, or Jinja that holds one."""
        if not isinstance(source, str):
            return False
        paths = self.lists + self.fields
        return source in paths or any(_names(path, source) for path in paths)


@lru_cache(maxsize=4096)
def _names(path: str, source: str) -> bool:
    """Whether Jinja names a field, or one of the task's `words`, which are one field of many."""
    root, _, rest = path.partition(".")
    word = rf"\s*(?:\.\s*|\[\s*['\"]){re.escape(rest)}\b" if root == "words" else ""
    named = re.compile(rf"(?<![\w.]){re.escape(root)}\b{word}")
    # Split, not matched as a whole: a text of opening braces alone would take forever.
    parts = re.split(r"\{\{|\{%", source)[1:]
    return any(named.search(re.split(r"\}\}|%\}", part, maxsplit=1)[0]) for part in parts)


@dataclass(frozen=True, slots=True)
class ExampleWording:
    """How few-shot examples are worded; None stands for the template's own part."""

    text: Source | None = None
    choices: str | tuple[str, ...] | TaskFunction | None = None
    target: Source | tuple[str, ...] | None = None
    target_delimiter: str | None = None
    fewshot_delimiter: str | None = None
    gen_prefix: str | None = None


@dataclass(frozen=True, slots=True)
class MetricUse:
    """A metric as a task uses it."""

    metric: str
    """Its name in the metrics registry; with a function of the task's own, that function's."""
    name: str
    """The name its score is reported under."""
    options: Mapping[str, Any] = field(default_factory=dict)
    function: TaskFunction | None = None
    """The task's own metric."""
    aggregation: str | TaskFunction | None = None
    """How values of documents become one number; None: as the metric itself does it."""
    higher_is_better: bool | None = None
    """None: as the metric itself says."""


@dataclass(frozen=True, slots=True)
class FilterUse:
    """A chain of steps that reads an answer out of generated text, under a name."""

    name: str
    steps: tuple[tuple[str | TaskFunction, Mapping[str, Any]], ...]
    """(function, options) pairs, applied in order."""


@dataclass(frozen=True, slots=True)
class FewshotPlan:
    """Where a task's few-shot examples come from and how they are sampled."""

    split: str | None
    sampler: Literal["default", "stratified", "first_n"] = "default"
    label: str | None = None
    """The field that strata are made of."""
    samples: tuple[Mapping[str, Any], ...] | TaskFunction | None = None
    """Examples that the task file holds itself, or a function that gives them."""
    indices: tuple[int, ...] | None = None
    """Rows of the split that examples are sampled from; None: all."""
    process_docs: TaskFunction | None = None
    """What turns the rows of `split` into examples; None: as for the scored rows."""
    excludes_document: bool = False
    """Whether lm-eval samples one example more and removes the asked document: where the split that
    the file names for examples is the test split, also where it names neither."""
    whole_split: bool = False
    """Whether the examples of a subset come from all rows of the split, not from the subset's."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """Sampling settings of an answer that is not greedy.

    Applied in this order, as transformers does: temperature, top_k, top_p.
    """

    temperature: float
    """Logits are divided by it; above 0."""
    top_p: float = 1.0
    """Sample from the most likely tokens that together reach this probability; 1: all."""
    top_k: int = 0
    """Sample from this many of the most likely tokens; 0: all."""
    states_top_k: bool = field(default=False, compare=False, repr=False)
    """Whether the task or the user says `top_k`, which a profile then leaves as it is."""


@dataclass(frozen=True, slots=True)
class Thinking:
    """Marks and token budget of a model's thinking section."""

    opening: str = "<think>"
    closing: str = "</think>"
    budget: int = 2048
    """Most tokens of thinking; then the section is closed and the answer begins."""

    @property
    def closing_text(self) -> str:
        """Text that closes a section whose budget is used up, as models write it themselves."""
        return f"\n{self.closing}\n\n"

    @property
    def room(self) -> int:
        """Most tokens of the section with its marks, which have at most as many tokens as bytes."""
        return self.budget + len((self.opening + self.closing_text).encode())


Compared = Literal["answers", "outcomes"]
"""Answers in a form that languages share, such as a letter or a number; or, where an answer is a
text of its language, whether it is right."""


@dataclass(frozen=True, slots=True)
class Parallel:
    """That a task asks the same items as others, in another language or another mode."""

    key: str
    """The field that names the item; where rows lack it, nothing says which item they hold."""
    items: str
    """What the tasks that share their items have in common: their family."""
    columns: str
    """What the tasks of one mode have in common, apart from the language: their group."""
    compares: Compared = "answers"
    """What `tenbin consistency` compares between languages."""


@dataclass(frozen=True, slots=True)
class GroupMetric:
    """A score of a group: the mean of its tasks' scores."""

    metric: str
    """The name that the tasks' scores are reported under."""
    weight_by_size: bool = True
    """Whether a task counts by its documents; otherwise every task counts the same."""
    filters: tuple[str, ...] | None = None
    """Filters whose scores are averaged, each by itself; None: all that the tasks have."""


Weighting = Literal["plain", "size"]
"""What members count: each the same, or each by its documents."""


@dataclass(frozen=True, slots=True)
class GroupMean:
    """A score of a group whose definition names the metric of each task."""

    metrics: tuple[tuple[str, str], ...]
    """Task and metric, for the tasks that are members themselves; groups below have their own."""
    weighting: Weighting = "plain"
    percent: bool = False
    """Whether the mean is quoted from 0 to 100; otherwise from 0 to 1."""
    shots: tuple[tuple[str, int], ...] = ()
    """Task and the number of examples that the definition asks for."""
    hidden: bool = False
    """Whether it is only a part of the group above, such as the languages of one benchmark."""


@dataclass(frozen=True, slots=True)
class Group:
    """Tasks that are selected together under one name and may have common scores."""

    name: str
    alias: str
    """What tables call it."""
    members: tuple[str | Group, ...]
    """Names of tasks (`Task.name`), and further groups."""
    metrics: tuple[GroupMetric, ...] = ()
    """Scores by lm-eval's rules; empty: it has none of these."""
    mean: GroupMean | None = None
    """The score of a group of the catalogue."""

    def member_metrics(self) -> dict[str, str]:
        """Task → the metric that enters the mean, here and in the groups below."""
        found = dict(self.mean.metrics) if self.mean else {}
        for member in self.members:
            if isinstance(member, Group):
                found |= member.member_metrics()
        return found

    def weights(self, sizes: Mapping[str, int]) -> dict[str, float]:
        """Task → its weight in the mean; all weights together are 1.

        Args:
            sizes: Task → scored documents.
        """
        by_size = self.mean is not None and self.mean.weighting == "size"
        shares = [
            sum(sizes[task] for task in ([one] if isinstance(one, str) else one.tasks()))
            if by_size
            else 1
            for one in self.members
        ]
        found: dict[str, float] = {}
        for member, share in zip(self.members, shares, strict=True):
            part = share / sum(shares)
            below = {member: 1.0} if isinstance(member, str) else member.weights(sizes)
            for task, weight in below.items():
                found[task] = found.get(task, 0.0) + part * weight
        return found

    def tasks(self) -> tuple[str, ...]:
        """Names of all tasks in it and in the groups below, each once, in the order written."""
        names: dict[str, None] = {}
        for member in self.members:
            names.update(dict.fromkeys([member] if isinstance(member, str) else member.tasks()))
        return tuple(names)

    def groups(self) -> tuple[Group, ...]:
        """This group and all groups below it, from the top."""
        inner = (member for member in self.members if isinstance(member, Group))
        return (self, *(below for one in inner for below in one.groups()))


@dataclass(frozen=True, slots=True)
class Citation:
    """The publication to cite for a benchmark."""

    authors: str
    year: int
    title: str
    venue: str


@dataclass(frozen=True, slots=True)
class About:
    """What a reader of a task's scores should know."""

    asks: str
    """What a document asks, in a sentence or two."""
    faults: tuple[str, ...] = ()
    """Known faults of the data or of published wordings, and what the task does about each."""
    citation: Citation | None = None
    shots: str = ""
    """Examples that published numbers use."""
    note: str = ""


@dataclass(frozen=True, slots=True)
class TaskOrigin:
    """What a result says about the file that a task was read from."""

    path: str
    sha256: str
    """Of the file with all that it includes."""
    package: str | None = None
    """The installed package that brings it, with its version: `lm_eval 0.4.13`."""
    functions: tuple[TaskFunction, ...] = ()
    """The functions that it names, in the order of their names."""


@dataclass(frozen=True, slots=True)
class Task:
    """What is asked, of which data, under which wordings, and how it is judged."""

    name: str
    version: str
    language: str
    family: str
    """Tasks of one family sample the same examples, so that languages and modes stay comparable."""
    group: str | None
    kind: Kind
    dataset: Dataset
    split: str
    fewshot: FewshotPlan
    templates: Mapping[str, Template]
    default_template: str
    metrics: tuple[MetricUse, ...]
    filters: tuple[FilterUse, ...] = ()
    references: str | None = None
    """The field path of all accepted answers of a generation task; None: the target alone."""
    labels: tuple[str, ...] = ()
    """Label words that templates can name as `labels`."""
    words: Mapping[str, Any] = field(default_factory=dict)
    """Words of the task's language that templates can name as `words.NAME`."""
    chance: Mapping[str, float] = field(default_factory=dict)
    """Metric → its value for answers that know nothing of the question."""
    about: About | None = None
    """What pages and listings say about it."""
    num_choices: int | None = None
    """Options that each question of a generation task offers; None: `doc_to_choice` says it for
    each document, or it is not known."""
    max_gen_toks: int = 256
    sampling: Sampling | None = None
    """None: greedy decoding."""
    repeats: int = 1
    """Answers sampled per document."""
    thinking: Thinking | None = None
    """None if the model has no thinking section."""
    title: str = ""
    source: str = ""
    """The file it was read from, for messages."""
    default_shots: int = 0
    """Shots when the command line names none."""
    zero_shot: bool = False
    """Whether its file says `num_fewshot: 0`, which lm-eval lets no command line change."""
    parallel: Parallel | None = None
    """None: its items are its own."""
    process_results: TaskFunction | None = None
    """Judges a document in place of the metrics: gives a value for each metric's name."""
    options: OptionFields | None = None
    """None: its file does not say where its options are, and no template can be rotated."""
    formats: DeclaredFormats | None = None
    """What prompt formats of it are made of; None: its file declares nothing."""
    tags: tuple[str, ...] = ()
    """Names that select it together with others, without a common score."""
    origin: TaskOrigin | None = None
    """Where an lm-eval file came from; None for tenbin's own."""

    @property
    def judges_rows(self) -> bool:
        """Whether a document is judged with its row at hand, which prompts then keep."""
        steps = [name for use in self.filters for name, _ in use.steps]
        return self.process_results is not None or any(
            name in STEPS_OVER_ROWS or isinstance(name, TaskFunction) for name in steps
        )


INSTRUCTIONS = "instructions"
"""The field that `Task.references` names where references are instructions to follow."""

STEPS_OVER_ROWS = ("multi_choice_regex", "custom")
"""Steps of filters that look at the row."""


@dataclass(frozen=True, slots=True)
class Cell:
    """The identity of one evaluation: what a score belongs to."""

    task: str
    version: str
    template: str
    shots: int
    seed: int
    mark: str = ""
    """Suffix that distinguishes the cells of one sweep: `@3shot`, `@seed1235`, `@train`."""

    @property
    def id(self) -> str:
        """The task id as users write it, `jnli-1.3-0.2`; a default template goes unwritten."""
        if self.template == DEFAULT_TEMPLATE:
            return f"{self.task}{self.mark}"
        return f"{self.task}-{self.version}-{self.template}{self.mark}"
