"""The frozen records that flow between the stages.

This module knows no stage: it imports no sibling, reads no file and holds no behaviour beyond
names derived from its own fields. Read it first; every other module takes some of these records
and gives others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Kind = Literal["choice", "generate", "roll"]
"""How a task asks: score given choices, generate text, or weigh a whole text."""

Finish = Literal["stop", "end", "length"]
"""What ended a text: a stop string, the model's own end, or the token limit."""
ThinkingEnd = Literal["none", "closed", "budget", "open"]
"""How a thought ended: there was none, its model closed it, its budget was spent and it was closed
for the model, or it was never closed and no answer follows."""

Place: TypeAlias = tuple[int, str, str]
"""A request's kind by number, what the model reads before anything is told apart, and the key."""

DEFAULT_TEMPLATE = "default"
"""The template name that is left out of ids: `mlogiqa_mcq_ja` is `mlogiqa_mcq_ja-1.0-default`."""

MOST_CHOICES = 1000
"""Of one document: each is scored by itself."""
MOST_TOKENS = 10_000_000
"""Of one answer; beyond any model's window, and within what every engine can count."""
MOST_SHOTS = 10_000
MOST_REPEATS = 10_000
"""Answers drawn to one document."""


@dataclass(frozen=True, slots=True)
class Dataset:
    """A data set as a task names it; the documents stage knows how to get its rows."""

    name: str
    """A pinned set of `catalog/datasets.yaml` (`jglue/jnli`), or a path or hub id as in lm-eval."""
    config: str | None = None
    """The part of it, such as a language."""
    pinned: bool = True
    """Whether `name` is one of the sets described in `catalog/datasets.yaml`."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """lm-eval's `dataset_kwargs`, for sets that are not pinned."""
    folder: str | None = None
    """Where the task file lies, whose data files may lie there too; None: there is none."""
    file: str | None = field(default=None, compare=False, repr=False)
    """The task file, for messages."""


@dataclass(frozen=True, slots=True)
class Document:
    """One row of a data set, checked and brought into its set's common form."""

    id: str
    fields: Mapping[str, Any]
    """What templates can name."""
    group: str | None
    """What it shares with others: the paragraph it asks about, or the item it translates."""
    origin: str
    """File and line, for messages."""
    row: int | None = None
    """Its number in the split, from 0, as the files list it."""

    def __reduce__(self) -> tuple[type[Document], tuple[Any, ...]]:
        """As its five values: every document is written and read, and the default takes longer."""
        return Document, (self.id, self.fields, self.group, self.origin, self.row)


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file that rows were read from, as the results record it."""

    path: str
    sha256: str
    rows: int
    source: str
    """`download`, `data_dir`, `sample_data` or `datasets`."""
    version: str | None = None
    """Data version or revision, where known."""
    verified: bool = False
    """Whether its bytes are those of the published file."""


@dataclass(frozen=True, slots=True)
class Template:
    """One wording of a task. Texts are Jinja sources over a document's fields."""

    name: str
    description: str
    text: str
    choices: str | tuple[str, ...] | None
    target: str | int
    """The gold answer: an index or a label for choices, the first reference for generation."""
    target_delimiter: str
    fewshot_delimiter: str
    stop: tuple[str, ...]
    example_target: str | None = None
    """What an example shows as its answer, where that is not the gold choice or reference."""
    meant_for: str = ""
    """Which models it was written for, in a few words."""


@dataclass(frozen=True, slots=True)
class MetricUse:
    """A metric as a task uses it."""

    metric: str
    """Its name in the metrics registry."""
    name: str
    """The name its score is reported under."""
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FilterUse:
    """A chain of steps that reads an answer out of generated text, under a name."""

    name: str
    steps: tuple[tuple[str, Mapping[str, Any]], ...]
    """(function, options) pairs, applied in order."""


@dataclass(frozen=True, slots=True)
class FewshotPlan:
    """Where a task's examples come from and how they are drawn."""

    split: str | None
    sampler: Literal["default", "stratified"] = "default"
    label: str | None = None
    """The field that strata are made of."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How the tokens of an answer are drawn, where it is not the greedy one.

    Applied in this order, as transformers does: temperature, top_k, top_p.
    """

    temperature: float
    """Logits are divided by it; above 0."""
    top_p: float = 1.0
    """Only the most likely tokens that together reach this share are drawn from; 1: all."""
    top_k: int = 0
    """Only so many of the most likely tokens are drawn from; 0: all."""


@dataclass(frozen=True, slots=True)
class Thinking:
    """How a model that reasons before it answers marks its thoughts, and how long they may get."""

    opening: str = "<think>"
    closing: str = "</think>"
    budget: int = 2048
    """Tokens of thought; where they are spent, the thought is closed and the answer begins."""

    @property
    def closing_text(self) -> str:
        """What ends a thought whose budget is spent: the mark as models are used to write it."""
        return f"\n{self.closing}\n\n"

    @property
    def room(self) -> int:
        """Tokens that a thought may take with marks that do not count: never more than bytes."""
        return self.budget + len((self.opening + self.closing_text).encode())


@dataclass(frozen=True, slots=True)
class Parallel:
    """That a task asks the same items as others, in another language or another mode."""

    key: str
    """The field that names the item; where rows lack it, nothing says which item they hold."""
    items: str
    """What the tasks that share their items have in common: their family."""
    columns: str
    """What the tasks of one mode have in common, apart from the language: their group."""


@dataclass(frozen=True, slots=True)
class Task:
    """What is asked, of which data, under which wordings, and how it is judged."""

    name: str
    version: str
    language: str
    family: str
    """Tasks of one family draw the same examples, so that languages and modes stay comparable."""
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
    num_choices: int | None = None
    """Options that each question of a generation task offers; None: `doc_to_choice` says it for
    each document, or it is not known."""
    max_gen_toks: int = 256
    sampling: Sampling | None = None
    """None: greedy decoding."""
    repeats: int = 1
    """Answers that are drawn to each document."""
    thinking: Thinking | None = None
    """None: all that is written is the answer."""
    title: str = ""
    source: str = ""
    """The file it was read from, for messages."""
    default_shots: int = 0
    """Shots when the command line names none."""
    parallel: Parallel | None = None
    """None: its items are its own."""


@dataclass(frozen=True, slots=True)
class Cell:
    """The identity of one evaluation: what a score belongs to."""

    task: str
    version: str
    template: str
    shots: int
    seed: int
    mark: str = ""
    """What tells it from its siblings in one sweep: `@3shot`, `@seed1235`, `@train`."""

    @property
    def id(self) -> str:
        """The task id as users write it, `jnli-1.3-0.2`; a default template goes unwritten."""
        if self.template == DEFAULT_TEMPLATE:
            return f"{self.task}{self.mark}"
        return f"{self.task}-{self.version}-{self.template}{self.mark}"


@dataclass(frozen=True, slots=True)
class Prompt:
    """One document as it is put to the model in one cell."""

    cell: Cell
    document: str
    language: str
    group: str | None
    kind: Kind
    text: str
    """Everything the model reads before its answer, byte for byte; for a roll the text itself."""
    continuations: tuple[str, ...] | None
    """What is scored after `text`, delimiter included; None for generation and rolls."""
    choices: tuple[str, ...] | None
    """The continuations without their delimiter: what length normalisation measures."""
    gold: int | None
    """Index of the right choice."""
    references: tuple[str, ...]
    """Accepted answers of a generation task."""
    target: str | None
    """The right answer as an example would show it; None for a roll, which has none."""
    stop: tuple[str, ...]
    max_gen_toks: int
    examples: tuple[str, ...] = ()
    """Ids of the few-shot documents shown."""
    dropped_examples: int = 0
    """How many examples were left out because the window is too short."""
    parts: tuple[int, ...] = ()
    """Where each example and then the question begins in `text`; empty where a chat format has
    rewritten them beyond recognition."""
    sampling: Sampling | None = None
    """None: greedy decoding."""
    repeats: int = 1
    """How many answers are drawn."""
    row: int | None = None
    """The document's number in its split, from 0."""
    item: str | None = None
    """What the parallel key says the document holds; None where the data does not say."""
    thinking: Thinking | None = None
    """None: all that is written is the answer."""
    num_choices: int | None = None
    """Options that the question offers, where that is known."""

    @property
    def room(self) -> int:
        """Tokens that may be written in all, thought and answer."""
        return self.max_gen_toks + (self.thinking.room if self.thinking else 0)


@dataclass(frozen=True, slots=True)
class Score:
    """Ask for the log-likelihood of each continuation of one prompt."""

    key: str
    prompt: str
    continuations: tuple[str, ...]

    @property
    def place(self) -> Place:
        """Where it comes among others in a walk through the tree of their beginnings."""
        return 0, self.prompt, self.key


@dataclass(frozen=True, slots=True)
class Generate:
    """Ask for a continuation, cut before the first stop string."""

    key: str
    prompt: str
    stop: tuple[str, ...]
    max_gen_toks: int
    sampling: Sampling | None = None
    """None: greedy decoding."""
    seed: int = 0
    """Where an answer is drawn: decides it, together with prompt and settings. 63 bits."""
    sample: int = 0
    """Which of several answers drawn to one prompt; for people, since `seed` differs anyway."""
    thinking: Thinking | None = None
    """None: all that is written is the answer. Else stop strings and `max_gen_toks` hold for what
    follows the thought."""

    @property
    def room(self) -> int:
        """Tokens that may be written in all, thought and answer."""
        return self.max_gen_toks + (self.thinking.room if self.thinking else 0)

    @property
    def place(self) -> Place:
        """Where it comes among others in a walk through the tree of their beginnings."""
        return 2, self.prompt, self.key


@dataclass(frozen=True, slots=True)
class Roll:
    """Ask for the log-likelihood of a whole text."""

    key: str
    text: str

    @property
    def place(self) -> Place:
        """Where it comes among others in a walk through the tree of their beginnings."""
        return 1, self.text, self.key


Request: TypeAlias = Score | Generate | Roll


@dataclass(frozen=True, slots=True)
class Usage:
    """What a server counted for one answer, its repeated tries included: what is paid for."""

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0
    """Those of the prompt that the server had in its cache."""
    calls: int = 1


@dataclass(frozen=True, slots=True)
class Scores:
    """The answer to a Score, one entry a continuation."""

    logprobs: tuple[float, ...]
    token_counts: tuple[int, ...]
    greedy: tuple[bool, ...]
    """Whether greedy decoding would have given exactly this continuation."""
    truncated: int = 0
    """Tokens cut from the left of the longest row."""
    usage: Usage | None = None
    """None where no server counted."""


@dataclass(frozen=True, slots=True)
class Picked:
    """The answer to a Score by a model that names one choice and shows no likelihood of texts."""

    choice: int | None
    """Index of the continuation whose label is the likeliest first token; None where `text` is to
    be read, which metrics do."""
    way: Literal["letter_logprobs", "generated"]
    """By the likeliest first token among the labels of the choices, or read out of its text."""
    text: str
    """What it wrote."""
    logprobs: tuple[float | None, ...] = ()
    """Of the labels, where the server shows them; None: not among those shown."""
    usage: Usage | None = None
    labels: tuple[str, ...] = ()
    """What the choices are called: letters, or what the prompt calls them."""
    added: str = ""
    """What was put behind the prompt, a list of the choices and an instruction; empty where the
    prompt itself shows labels and was asked as it is."""


@dataclass(frozen=True, slots=True)
class Text:
    """The answer to a Generate."""

    text: str
    finish: Finish
    token_count: int
    """Of the answer; thoughts are counted apart."""
    truncated: int = 0
    thinking: str = ""
    """What was thought before the answer, without the marks around it."""
    thinking_tokens: int = 0
    """What the model wrote before its answer, marks included."""
    thinking_end: ThinkingEnd = "none"
    """`open`: the answer is empty, and `finish` says what ended the thought."""
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class Rolled:
    """The answer to a Roll."""

    logprob: float
    token_count: int
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """No answer, and why."""

    kind: str
    message: str
    retryable: bool = False


Response: TypeAlias = Scores | Picked | Text | Rolled | Failure


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one metric says of one document."""

    cell: Cell
    document: str
    metric: str
    value: float | None
    """None when the document failed: never a zero in disguise. For a roll its log-likelihood."""
    answer: str | None = None
    """What was read as the model's answer: a choice's text or an extracted string; of several
    drawn answers the first."""
    predicted: int | None = None
    gold: int | None = None
    """Both as indices, for metrics over a confusion matrix."""
    group: str | None = None
    weight: float | None = None
    """What the value is spread over, for metrics of rolls: words, bytes or characters."""
    values: tuple[float, ...] = ()
    """Where several answers were judged: what was said of each; `value` is their mean."""
    answers: tuple[str | None, ...] = ()
    """What was read out of each of them."""
    failure: Failure | None = None
    """Why an answer that came could not be judged."""


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """One number of the results: a metric of a cell (or of a group), with what it rests on."""

    id: str
    metric: str
    value: float | None
    """None when no document could be scored."""
    stderr: float | None
    n: int
    """Documents behind the value."""
    failed: int
    higher_is_better: bool
    stderr_method: str
    """`analytic` or `bootstrap`."""
    low: float | None = None
    """The 95 % interval's ends; None where too little is known."""
    high: float | None = None
    clusters: int = 0
    """Independent units among the documents: paragraphs, items asked in several languages."""
    interval_method: str = "wilson"
    """`wilson`, `t` or `bca`."""
    aggregation: str = "mean"
    """How values of documents became this one: `mean`, `mcc`, …"""
    detectable_unpaired: float | None = None
    """The smallest difference to another run that would show, on other documents."""
    detectable_paired: float | None = None
    """The same on the same documents."""
    weight: float | None = None
    """Words, bytes or characters behind the value, for metrics of rolls."""
