"""Formats of the catalogue's tasks: ids, samples, vetoes, and that nothing but the form changes."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tenbin.data import DataChoice, load_documents
from tenbin.errors import TaskError
from tenbin.prompts.environment import render
from tenbin.prompts.render import word
from tenbin.records import Document, Task, Template
from tenbin.tasks.prompt_formats import (
    PromptFormat,
    check_exclusions,
    excluded_formats,
    read_format,
    sample_formats,
    with_format,
    with_formats,
)
from tenbin.tasks.prompt_formats.dimensions import (
    BY_NAME,
    DIGITS,
    DIMENSIONS,
    STYLES,
    cased,
    symbols_of,
    wording_of,
)
from tenbin.tasks.prompt_formats.grammar import require_grammar
from tenbin.tasks.prompt_formats.rules import RULES, broken_rule
from tenbin.tasks.prompt_formats.sample import _sequence
from tenbin.tasks.registry import Registry, load_registry
from tests.conftest import ROOT

REGISTRY = load_registry()
EXAMINED = (
    "jcommonsenseqa-1.1", "jnli-1.3", "marc_ja-1.1", "jmmlu_anatomy-1.1", "mlogiqa_mcq_ja-1.0",
    "mlogiqa_mcq_ar-1.0", "mlogiqa_mcq_fr-1.0", "xnli_de-1.1", "xnli_th-1.1", "xnli_ur-1.1",
    "xnli_zh-1.1", "xcopa_tr-1.1", "xcopa_et-1.1", "pawsx_ko-1.1", "pawsx_ja-1.1",
    "janli-1.0", "jcola-0.2", "jcommonsensemorality-1.0",
    "belebele_jpn_Jpan-1.0", "belebele_zho_Hant-1.0", "belebele_eng_Latn-1.0", "global_mmlu_hi-1.0",
)  # fmt: skip
"""A task of every file that declares formats, and of languages that differ in what they allow."""


def format_template(task: Task, id: str) -> Template:
    return with_format(task, id).templates[id]


@pytest.fixture
def registry() -> Registry:
    return REGISTRY


@pytest.fixture
def questions() -> Task:
    return REGISTRY.task("jcommonsenseqa", "1.1")


@pytest.fixture
def inferences() -> Task:
    return REGISTRY.task("jnli", "1.3")


def changed(task: Task, **levels: str) -> str:
    """The id of the task's first format with other levels of some dimensions."""
    grammar = require_grammar(task)
    digits = ["0"] * len(DIMENSIONS)
    for at, dimension in enumerate(DIMENSIONS):
        if dimension.name in levels:
            digits[at] = DIGITS[dimension.levels(grammar).index(levels[dimension.name])]
    return "f-" + "".join(digits)


def documents(task: Task) -> list[Document]:
    loaded = load_documents(task.dataset, task.split, DataChoice(sample_data=True))
    return list(loaded.documents)


def test_an_id_says_everything(questions: Task) -> None:
    for one in sample_formats(questions, 50, 7, shots=3):
        assert re.fullmatch(r"f-[0-9a-z]{18}", one.id)
        assert read_format(questions, one.id) == one
        made = format_template(questions, one.id)
        assert made.name == one.id
        assert made.format == one.levels


def test_ids_and_texts_stay_what_they_are(questions: Task, inferences: Task) -> None:
    made = format_template(questions, "f-121010307100010204")
    assert made.text == (
        "OPTIONS -\n(1) {{ choice4 }}\n(2) {{ choice0 }}\n(3) {{ choice1 }}\n(4) {{ choice2 }}\n"
        "(5) {{ choice3 }}\nQUESTION - {{ question }}\n"
        "Select the number of the most suitable answer among those given.\nCORRECT ANSWER -"
    )
    assert made.choices == ("(2)", "(3)", "(4)", "(5)", "(1)")
    assert (made.description, made.target_delimiter) == ("", " ")
    assert made.fewshot_delimiter == "\n\n---\n\n"
    made = format_template(inferences, "f-020001117031110001")
    assert made.description.startswith("前提が正しいとすると、仮説は正しいですか。")
    assert made.text == (
        "[前提]：{{ premise }}\n\n[仮説]：{{ hypothesis }}\n\n"
        "[選択肢]：(1) いいえ (2) どちらとも言えない (3) はい\n\n[回答]："
    )
    assert made.choices == ("はい", "いいえ", "どちらとも言えない")
    assert [one.id for one in sample_formats(questions, 3, 1234)] == [
        "f-030103202101010002",
        "f-110210210001000004",
        "f-100001302110010002",
    ]


@pytest.mark.parametrize(
    ("name", "shots", "digest"),
    [
        ("jcommonsenseqa-1.1", 0, "981bad6bb8192954"),
        ("jcommonsenseqa-1.1", 3, "0ddd96567c74281e"),
        ("jnli-1.3", 0, "03096c85adffeca2"),
        ("jnli-1.3", 3, "812c8215fcb46a2c"),
    ],
)
def test_the_hundred_formats_of_published_tables(name: str, shots: int, digest: str) -> None:
    """Ids, texts and their order, as the committed matrices of correctness have them."""
    task = REGISTRY.task(*name.rsplit("-", 1))
    made = []
    for one in sample_formats(task, 100, 1234, shots=shots):
        template = format_template(task, one.id)
        assert isinstance(template.choices, tuple)
        made.append(
            [
                one.id,
                template.description,
                template.text,
                list(template.choices),
                template.target,
                template.target_delimiter,
                template.fewshot_delimiter,
                template.reverses_examples,
            ]
        )
    written = json.dumps(made, ensure_ascii=False).encode()
    assert hashlib.sha256(written).hexdigest()[:16] == digest


def test_the_sample_is_reproducible_and_grows(questions: Task) -> None:
    sample = sample_formats(questions, 60, 3)
    assert sample_formats(questions, 20, 3) == sample[:20]
    assert len({one.id for one in sample}) == 60
    assert {one.id for one in sample_formats(questions, 60, 4)} != {one.id for one in sample}


def test_levels_are_about_as_frequent_as_each_other(questions: Task, inferences: Task) -> None:
    for task in (questions, inferences):
        sample = sample_formats(task, 100, 1234, shots=3)
        languages = Counter(one.levels["language"] for one in sample)
        assert abs(languages["native"] - languages["english"]) <= 6
        for language in languages:
            for name in sample[0].levels:
                counts = Counter(
                    one.levels[name] for one in sample if one.levels["language"] == language
                )
                del counts["–"]
                # A dash needs lines and texts, an examples' newline a single line, a single line no
                # instruction behind the input: they are rarer.
                counts.pop("-", None)
                if len(counts) > 1:
                    assert max(counts.values()) - min(counts.values()) <= 10, (name, counts)


def test_examples_add_their_dimensions_and_change_no_other(questions: Task) -> None:
    without = sample_formats(questions, 40, 11)
    shown = sample_formats(questions, 40, 11, shots=3)
    for one, other in zip(without, shown, strict=True):
        assert one.levels["example_order"] == "drawn"
        assert one.levels["between_examples"] == "blank-line"
        differing = {name for name in one.levels if one.levels[name] != other.levels[name]}
        assert differing <= {"example_order", "between_examples"}
    assert {one.levels["example_order"] for one in shown} == {"drawn", "reversed"}
    one_shot = sample_formats(questions, 40, 11, shots=1)
    assert {one.levels["example_order"] for one in one_shot} == {"drawn"}


def test_a_veto_leaves_the_others_as_they_are(questions: Task, tmp_path: Path) -> None:
    sample = sample_formats(questions, 20, 5)
    vetoed = sample[3].id
    kept = sample_formats(questions, 20, 5, [vetoed])
    assert kept[:19] == sample[:3] + sample[4:]
    assert sample_formats(questions, 20, 5, [f"jnli-1.3-{vetoed}"]) == sample
    assert sample_formats(questions, 20, 5, [f"jcommonsenseqa-1.1-{vetoed}"]) == kept
    native = sample_formats(questions, 20, 5, ["language=english", "option_style=①"])
    assert {one.levels["language"] for one in native} == {"native"}
    assert "①" not in {one.levels["option_style"] for one in native}
    assert [one for one in sample if one in native] == [
        one
        for one in sample
        if one.levels["language"] == "native" and one.levels["option_style"] != "①"
    ]
    file = tmp_path / "vetoes.txt"
    file.write_text(f"# read on Monday\n{vetoed}  # too terse\n\nlanguage=english\n")
    assert excluded_formats([str(file), "scored=text"]) == (
        vetoed, "language=english", "scored=text",
    )  # fmt: skip


def test_a_veto_that_names_nothing_is_refused(
    questions: Task, inferences: Task, tmp_path: Path
) -> None:
    both = [questions, inferences]
    with pytest.raises(TaskError, match="no dimension 'colour'"):
        check_exclusions(both, ["colour=red"])
    with pytest.raises(TaskError, match="no level 'esperanto'"):
        check_exclusions(both, ["language=esperanto"])
    with pytest.raises(TaskError, match="no level 'truth'"):
        check_exclusions([questions], ["label_words=truth"])
    check_exclusions(both, ["label_words=truth", "rotation=4", "f-020001117031110001"])
    with pytest.raises(TaskError, match="nowhere: neither the id"):
        excluded_formats(["nowhere"])
    with pytest.raises(TaskError, match="neither the id"):
        excluded_formats(["f-02000111703111000"])
    file = tmp_path / "vetoes.txt"
    file.write_text("f-020001117031110001\nwhat is this\n")
    with pytest.raises(TaskError, match="line 2: 'what is this'"):
        excluded_formats([str(file)])


def test_more_formats_than_there_are(questions: Task) -> None:
    grammar = require_grammar(questions)
    every = [
        f"{dimension.name}={level}"
        for dimension in DIMENSIONS
        for level in dimension.levels(grammar)[2:]
    ]
    with pytest.raises(TaskError, match="1,000 prompt formats were asked for, and 0 were found"):
        sample_formats(questions, 1000, 1, [*every, "language=native", "language=english"])


BREAKS: dict[str, dict[str, str]] = {
    "letter-needs-symbols": {"option_style": "-"},
    "wide-marks-in-their-languages": {"language": "english", "after_labels": "wide-colon"},
    "native-letters-in-their-languages": {"language": "english", "option_style": "native"},
    "dashes-on-lines": {"option_style": "-", "scored": "text", "between_options": "comma"},
    "one-line-throughout": {"between_parts": "space"},
    "one-line-needs-colons": {
        "between_parts": "space", "between_options": "comma", "after_labels": "dash",
    },
    "one-line-without-instruction": {
        "between_parts": "space", "between_options": "comma", "instruction": "1",
        "instruction_place": "after-input",
    },
    "headings-on-lines": {
        "between_parts": "space", "between_options": "comma", "marks": "heading",
    },
    "options-are-listed": {"option_style": "unlisted", "scored": "text"},
    "unlisted-labels-are-named": {"option_style": "unlisted", "scored": "text"},
    "answers-need-their-question": {"label_words": "yes-no"},
    "examples-apart": {"between_examples": "newline"},
}  # fmt: skip
"""Rule → levels that break it and no other."""


@pytest.mark.parametrize("name", BREAKS)
def test_what_a_rule_excludes(name: str, questions: Task, inferences: Task) -> None:
    labelled = name in ("unlisted-labels-are-named", "answers-need-their-question")
    task = inferences if labelled else questions
    id = changed(task, **BREAKS[name])
    with pytest.raises(TaskError, match=name):
        read_format(task, id)
    levels = {one.name: one.levels(require_grammar(task))[0] for one in DIMENSIONS} | BREAKS[name]
    broken = [rule.name for rule in RULES if rule.excludes(require_grammar(task), levels)]
    assert broken == [name]


def test_every_rule_has_its_case() -> None:
    elsewhere = {
        "declared-language", "numbers-beside-numbers", "numbers-by-their-name",
        "sentences-end-once",
    }  # fmt: skip
    assert {rule.name for rule in RULES} == {*BREAKS, *elsewhere}


def test_ids_that_name_no_format(questions: Task, inferences: Task) -> None:
    with pytest.raises(TaskError, match="not the id of a prompt format"):
        read_format(questions, "f-0")
    with pytest.raises(TaskError, match="marks has no level 'z'"):
        read_format(questions, "f-00000z000000000000")
    same = changed(questions, instruction_place="after-input")
    with pytest.raises(TaskError, match="dimensions that have no effect") as caught:
        read_format(questions, same)
    assert caught.value.hint == "name f-000000000000000000"
    with pytest.raises(TaskError, match="declares no prompt formats"):
        read_format(REGISTRY.task("jsquad", REGISTRY.newest("jsquad").version), same)


def worded(
    task: Task, sample: tuple[PromptFormat, ...]
) -> Iterator[tuple[PromptFormat, Template, Document]]:
    task = with_formats(task, sample)
    for document in documents(task)[:2]:
        for one in sample:
            yield one, task.templates[one.id], document


@pytest.mark.parametrize("name", EXAMINED)
def test_every_option_stands_behind_its_symbol(name: str) -> None:
    """The listing pairs each option of the row with the symbol that is scored for it."""
    task = REGISTRY.task(*name.rsplit("-", 1))
    grammar = require_grammar(task)
    sample = sample_formats(task, 24, 1234)
    seen: set[tuple[str, ...]] = set()
    found = list(worded(task, sample))
    rows = {document.id: document for _, _, document in found}
    for one, template, document in found:
        chosen, asked = one.choices, word(task, template, document, None)
        assert broken_rule(grammar, chosen) is None
        assert asked.choices is not None and asked.gold is not None
        wording = wording_of(grammar, chosen)
        labels = wording.labels[chosen["label_words"]].words
        texts = (
            labels
            or word(
                task,
                format_template(task, changed(task, language=chosen["language"], scored="text")),
                document,
                None,
            ).choices
        )
        assert texts is not None
        style = chosen["option_style"]
        marks = symbols_of(style, wording, len(texts)) or (STYLES[style][1],) * len(texts)
        for at, (text, choice) in enumerate(zip(texts, asked.choices, strict=True)):
            place = (at - int(chosen["rotation"])) % len(texts)
            if style != "unlisted":
                assert f"{marks[place]} {text}" in asked.text
            if chosen["scored"] == "text":
                assert choice == text
            else:
                assert choice in (marks[place], marks[place].strip(".)"))
        assert not asked.text.endswith((" ", "\n"))
        for source in wording.inputs.values():
            assert render(source, {**document.fields, "words": task.words}) in asked.text
        seen.add(
            (
                document.id,
                template.description,
                asked.text,
                template.target_delimiter,
                *asked.choices,
            )
        )
    assert len(seen) == len(sample) * len(rows), "two formats give the same prompt"


def test_instructions_say_what_is_scored_and_fit_in_both_places() -> None:
    """None points at what stands above or below it, since it may stand on either side."""
    pointing = re.compile(
        r"以下|次の|上の|下の|上記|下記|\b(below|above|following|preceding)\b", re.I
    )
    for name in EXAMINED:
        for wording in require_grammar(REGISTRY.task(*name.rsplit("-", 1))).wordings.values():
            for labels in wording.labels.values():
                for one in labels.instructions:
                    assert not pointing.search(f"{one.letter} {one.number} {one.text}")
                    assert one.letter != one.text
                    assert one.number not in (None, one.letter, one.text)


def test_languages_without_shared_words_have_english_formats() -> None:
    for name, languages in {
        "xnli_ur-1.1": ["english"], "xnli_de-1.1": ["native", "english"], "xnli_en-1.1": ["native"],
    }.items():  # fmt: skip
        task = REGISTRY.task(*name.rsplit("-", 1))
        assert list(require_grammar(task).wordings) == languages
        assert ("language" in sample_formats(task, 1, 1)[0].levels) == (len(languages) == 2)
    with pytest.raises(TaskError, match="declared-language"):
        read_format(REGISTRY.task("xnli_ur", "1.1"), "f-000000000000000000")
    with pytest.raises(TaskError, match="declared-language"):
        read_format(REGISTRY.task("xnli_en", "1.1"), "f-100000000000000000")


def test_options_that_may_be_numbers_are_not_numbered() -> None:
    task = REGISTRY.task("jmmlu_anatomy", "1.1")
    styles = {one.levels["option_style"] for one in sample_formats(task, 40, 2)}
    assert styles == {"A.", "(A)", "A)", "native", "-"}
    with pytest.raises(TaskError, match="numbers-beside-numbers"):
        read_format(task, changed(task, option_style="①"))


@pytest.mark.parametrize("name", ["xcopa_it-1.1", "xnli_de-1.1", "mlogiqa_mcq_ja-1.0"])
def test_no_comma_stands_behind_a_full_stop(name: str) -> None:
    task = REGISTRY.task(*name.rsplit("-", 1))
    for _, template, document in worded(task, sample_formats(task, 60, 19)):
        assert not re.search(r"[.。][,;、]", word(task, template, document, None).text)


def test_sentences_are_apart_by_lines_or_blanks() -> None:
    task = REGISTRY.task("xcopa_it", "1.1")
    listed = {one.levels["between_options"] for one in sample_formats(task, 40, 2)}
    assert listed == {"newline", "space"}
    with pytest.raises(TaskError, match="sentences-end-once"):
        read_format(task, changed(task, between_options="semicolon"))
    claims = REGISTRY.task("xnli_de", "1.1")
    short = changed(claims, instruction="1", between_options="comma")
    assert read_format(claims, short).levels["label_words"] == "yes-no"
    with pytest.raises(TaskError, match="sentences-end-once"):
        read_format(claims, changed(claims, label_words="statements", between_options="comma"))


def test_a_later_rule_leaves_the_others_their_places(questions: Task) -> None:
    """Samples that were published keep what they may keep."""
    grammar = require_grammar(questions)
    sequence = [one for one, _ in zip(_sequence(grammar, 1234, []), range(120), strict=False)]
    broken = {one.id for one in sequence if broken_rule(grammar, one.choices)}
    assert broken
    kept = [one.id for one in sequence if one.id not in broken]
    assert [one.id for one in sample_formats(questions, len(kept), 1234)] == kept


def test_greek_capitals_have_no_accents() -> None:
    assert cased("Ερώτηση", "upper", "el") == "ΕΡΩΤΗΣΗ"
    assert cased("Προϊόν", "upper", "el") == "ΠΡΟΪΟΝ"
    assert cased("Où", "upper", "fr") == "OÙ"


def test_an_instruction_that_knows_letters_only(inferences: Task) -> None:
    grammar = require_grammar(inferences)
    wording = grammar.wordings["native"]
    terms = wording.labels["terms"]
    lettered = tuple(replace(one, number=None) for one in terms.instructions)
    alone = {**wording.labels, "terms": replace(terms, instructions=lettered)}
    lacking = replace(
        grammar, wordings={**grammar.wordings, "native": replace(wording, labels=alone)}
    )
    first = {one.name: one.levels(grammar)[0] for one in DIMENSIONS}
    numbered = first | {"instruction": "1", "option_style": "①"}
    assert broken_rule(grammar, numbered) is None
    broken = broken_rule(lacking, numbered)
    assert broken is not None and broken.name == "numbers-by-their-name"
    assert broken_rule(lacking, numbered | {"scored": "text"}) is None
    assert broken_rule(lacking, numbered | {"instruction": "none"}) is None


def test_a_format_is_selected_by_its_id(registry: Registry) -> None:
    (chosen,) = registry.select(["jnli-1.1-f-020001117031110001"])
    assert chosen.full_id == "jnli-1.1-f-020001117031110001"
    assert chosen.named
    assert chosen.task.templates[chosen.template].format is not None
    assert "f-020001117031110001" not in registry.task("jnli", "1.1").templates
    (same,) = registry.select(["jnli"], "f-020001117031110001")
    assert same.template == "f-020001117031110001"
    with pytest.raises(TaskError, match="has its rotation in its id"):
        registry.select(["jnli-1.1-f-020001117031110001~1"])
    with pytest.raises(TaskError, match="declares no prompt formats"):
        registry.select(["jsquad"], "f-020001117031110001")


def test_ids_rest_on_an_order_that_only_grows() -> None:
    assert [one.name for one in DIMENSIONS][:18] == [
        "language", "instruction", "instruction_place", "part_names", "casing", "marks",
        "after_labels", "between_parts", "option_style", "options_place", "between_options",
        "scored", "label_words", "answer_cue", "example_order", "between_examples", "chat",
        "rotation",
    ]  # fmt: skip
    grammar = require_grammar(REGISTRY.task("jnli", "1.3"))
    assert BY_NAME["option_style"].levels(grammar)[:9] == (
        "A.", "(A)", "1.", "①", "native", "-", "A)", "(1)", "unlisted",
    )  # fmt: skip
    assert BY_NAME["label_words"].levels(grammar)[:3] == ("terms", "yes-no", "truth")


def test_the_page_lists_every_dimension_and_rule() -> None:
    page = (ROOT / "docs" / "prompt-formats.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([\w-]+)` \| (.*) \|$", page, re.M)
    names = [name for name, _ in rows]
    assert names[: len(DIMENSIONS)] == [one.name for one in DIMENSIONS]
    rules = [(rule.name, rule.reason) for rule in RULES]
    listed = [(name, text.replace("`", "")) for name, text in rows]
    assert [row for row in listed if row[0] in dict(rules)] == rules
