"""Prompts of a cell: assembly, windows, chats, limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from tenbin.backends.scripted import CharacterTokenizer
from tenbin.errors import ConfigError, DataError, TaskError
from tenbin.files.disk_list import DiskList
from tenbin.prompts import build as building
from tenbin.prompts.build import PromptSettings, build_prompts
from tenbin.prompts.example_pool import Pool
from tenbin.prompts.fewshot import SamplerKind
from tenbin.records import Cell, Document, Parallel, Prompt, Task, Thinking
from tenbin.tasks.registry import load_registry


def row(id: str, **changes: object) -> Document:
    fields = {
        "question": f"質問{id}？",
        "choices": ["あ", "い", "う", "え", "お"],
        **{f"choice{i}": c for i, c in enumerate("あいうえお")},
        "label": 1,
    }
    return Document(id, {**fields, **changes}, None, f"rows.jsonl:{id}")


POOL = [row(f"t{i}", label=i % 5) for i in range(9)]
ASKED = [row(f"v{i}", label=i % 5) for i in range(7)]


@pytest.fixture(scope="module")
def task() -> Task:
    return load_registry().newest("jcommonsenseqa")


def build(
    task: Task,
    template: str,
    shots: int = 0,
    limit: float | None = None,
    tokenizer: CharacterTokenizer | None = None,
    documents: Sequence[Document] = ASKED,
    **settings: object,
) -> list[Prompt]:
    cell = Cell(task.name, task.version, template, shots, 1)
    prepared = PromptSettings(**settings)  # type: ignore[arg-type]
    return list(build_prompts(task, cell, documents, Pool(POOL), limit, prepared, tokenizer))


def test_parts_are_joined_without_anything_between(task: Task) -> None:
    prompt = build(task, "0.4", shots=2)[0]
    examples = [next(d for d in POOL if d.id == id) for id in prompt.examples]
    text = "ユーザー: 質問：{}<NL>選択肢：<NL>- あ<NL>- い<NL>- う<NL>- え<NL>- お<NL>システム: "
    shown = [
        text.format(e.fields["question"]) + e.fields["choices"][e.fields["label"]] for e in examples
    ]
    assert prompt.text == (
        "ユーザー: 与えられた選択肢の中から、最適な答えを選んでください。<NL>"
        "システム: 分かりました。<NL>" + "<NL>".join([*shown, text.format("質問v0？")])
    )
    assert prompt.continuations == prompt.choices == ("あ", "い", "う", "え", "お")
    assert (prompt.gold, prompt.target, prompt.stop) == (0, "あ", ())


@pytest.mark.parametrize(
    "chat",
    [
        {},
        {"apply_chat_template": True},
        {"apply_chat_template": True, "fewshot_as_multiturn": True},
    ],
)
def test_examples_and_question_can_be_found_again(task: Task, chat: dict[str, bool]) -> None:
    tokenizer = CharacterTokenizer()
    for prompt in build(task, "0.3", shots=2, tokenizer=tokenizer, **chat):
        first, second, question = prompt.parts
        shown = [
            prompt.text[first:second],
            prompt.text[second:question],
            prompt.text[question:],
        ]
        for text, id in zip(shown, [*prompt.examples, prompt.document], strict=True):
            assert text.startswith("### 指示:") and f"質問{id}？" in text
            assert text.count("質問：") == shown[0].count("質問：")


def test_numbers_are_scored_in_0_2(task: Task) -> None:
    prompt = build(task, "0.2", shots=1)[3]
    assert prompt.continuations == ("0", "1", "2", "3", "4")
    assert prompt.target == "3"
    example = next(d for d in POOL if d.id == prompt.examples[0])
    assert f"回答:{example.fields['label']}\n\n質問:" in prompt.text


def test_system_prompt_of_template_0_6(task: Task) -> None:
    assert "<<SYS>>\nあなたは役立つアシスタントです。\n<</SYS>>" in build(task, "0.6")[0].text
    given = build(task, "0.6", system_instruction="短く。", system_prompt="短く。")[0].text
    assert given.startswith("<s>[INST] <<SYS>>\n短く。\n<</SYS>>\n\n与えられた")


def test_a_template_without_a_system_prompt_of_its_own_needs_one(task: Task) -> None:
    bare = replace(task.templates["0.6"], system_prompt=None)
    task = replace(task, templates={"0.6": bare})
    with pytest.raises(TaskError, match="'system_prompt' is undefined") as caught:
        build(task, "0.6")
    assert "--system_instruction" in caught.value.hint
    assert "短く。" in build(task, "0.6", system_prompt="短く。")[0].text


def test_system_instruction_goes_before_other_descriptions(task: Task) -> None:
    plain, told = build(task, "0.1")[0], build(task, "0.1", system_instruction="短く。")[0]
    assert told.text == "短く。\n\n" + plain.text


@pytest.mark.parametrize(("limit", "count"), [(None, 7), (3, 3), (100, 7), (0.5, 4), (0.01, 1)])
def test_limit_by_number_or_fraction(task: Task, limit: float | None, count: int) -> None:
    assert [p.document for p in build(task, "0.1", limit=limit)] == [f"v{i}" for i in range(count)]


def test_limit_does_not_change_prompts(task: Task) -> None:
    assert build(task, "0.3", shots=3, limit=4) == build(task, "0.3", shots=3)[:4]


def test_examples_that_do_not_fit_are_left_out_and_counted(task: Task) -> None:
    whole = build(task, "0.1", shots=3)[0]
    # One character is one token, and one more begins the sequence; one-character answers are
    # predicted, never read.
    fits = CharacterTokenizer(max_length=len(whole.text) + 1)
    assert build(task, "0.1", shots=3, tokenizer=fits)[0] == whole
    tight = CharacterTokenizer(max_length=len(whole.text))
    shorter = build(task, "0.1", shots=3, tokenizer=tight)[0]
    assert shorter.dropped_examples == 1
    assert shorter.examples == whole.examples[1:], "the farthest example goes first"
    tiny = build(task, "0.1", shots=3, tokenizer=CharacterTokenizer(max_length=10))[0]
    assert tiny.dropped_examples == 3
    assert tiny.text == build(task, "0.1")[0].text, "the question itself is never shortened here"


def test_generation_needs_room_for_its_answer() -> None:
    task = load_registry().newest("jsquad")
    fields = {"title": "題", "context": "文", "question": "問", "answers": {"text": ["答え", "答"]}}
    documents = [Document(f"d{i}", fields, None, "x:1") for i in range(2)]
    cell = Cell(task.name, task.version, "0.1", 0, 1)
    whole = next(build_prompts(task, cell, documents, Pool([]), None, PromptSettings(), None))
    assert whole.references == ("答え", "答")
    assert whole.max_gen_toks == task.max_gen_toks
    settings = PromptSettings(cap_by_references=True)
    tokenizer = CharacterTokenizer()
    capped = next(build_prompts(task, cell, documents, Pool([]), None, settings, tokenizer))
    assert capped.max_gen_toks == 2, "the longest reference, in tokens"


def test_chat_format(task: Task) -> None:
    tokenizer = CharacterTokenizer()
    prompt = build(task, "0.3", shots=1, tokenizer=tokenizer, apply_chat_template=True)[0]
    description = task.templates["0.3"].description.strip()
    assert prompt.text.startswith(f"<system>{description}</system><user>### 指示:")
    assert prompt.text.endswith("### 応答:\n</user><assistant>")
    turns = build(
        task,
        "0.3",
        shots=1,
        tokenizer=tokenizer,
        apply_chat_template=True,
        fewshot_as_multiturn=True,
        system_instruction="短く。",
    )[0]
    assert turns.text.startswith(f"<system>短く。\n\n{description}</system><user>")
    assert turns.text.count("<user>") == 2 and turns.text.count("</assistant>") == 1


def test_a_chat_turn_begins_without_the_delimiter() -> None:
    task = load_registry().newest("mlogiqa_mcq_en")
    fields = {"context": "c", "question": "q", "options": list("wxyz"), "label": 0}
    documents = [Document("d", fields, "d", "x:1")]
    cell = Cell(task.name, task.version, "default", 0, 1)
    plain = next(build_prompts(task, cell, documents, Pool([]), None, PromptSettings(), None))
    settings = PromptSettings(apply_chat_template=True)
    tokenizer = CharacterTokenizer()
    chat = next(build_prompts(task, cell, documents, Pool([]), None, settings, tokenizer))
    assert plain.continuations == (" A. w", " B. x", " C. y", " D. z")
    assert chat.continuations == chat.choices == ("A. w", "B. x", "C. y", "D. z")


def test_contradictions_are_refused(task: Task) -> None:
    with pytest.raises(ConfigError, match="writes a chat format itself"):
        build(task, "0.6", tokenizer=CharacterTokenizer(), apply_chat_template=True)
    with pytest.raises(ConfigError, match="add --apply_chat_template"):
        build(task, "0.3", fewshot_as_multiturn=True)
    with pytest.raises(ConfigError, match="tokenizer"):
        build(task, "0.3", apply_chat_template=True)


def test_bad_rows_are_named(task: Task) -> None:
    with pytest.raises(DataError, match=r"rows.jsonl:v9.*gold answer 7"):
        build(task, "0.1", documents=[row("v9", label=7)])
    fields: Mapping[str, object] = {"question": "x", "choices": ["a", "b"], "label": 0}
    with pytest.raises(TaskError, match=r"template 0.1.*x:1.*choice0"):
        build(task, "0.1", documents=[Document("d", fields, None, "x:1")])


def test_a_list_as_target_is_several_references(task: Task) -> None:
    wording = replace(task.templates["0.1"], text="{{ question }}", target="accepted", choices=None)
    asked = replace(task, kind="generate", references=None, templates={"x": wording})
    prompt = build(asked, "x", documents=[row("v0", accepted=["3", "three"])])[0]
    assert prompt.references == ("3", "three") and prompt.target == "3"
    listed = replace(asked.templates["x"], target="{{ accepted }}")
    again = build(
        replace(asked, templates={"x": listed}), "x", documents=[row("v0", accepted=["3", "three"])]
    )[0]
    assert again.references == ("3", "three")


def test_templates_are_sandboxed(task: Task) -> None:
    evil = replace(task.templates["0.1"], text="{{ question.__class__.__mro__ }}")
    with pytest.raises(TaskError, match=r"could not be rendered|not there"):
        build(replace(task, templates={"0.1": evil}), "0.1")


def test_fields_are_never_templates(task: Task) -> None:
    prompt = build(task, "0.1", documents=[row("v0", question="{{ 7*7 }}{% raw %}")])[0]
    assert "{{ 7*7 }}{% raw %}" in prompt.text


def test_prompts_know_their_row_and_the_item_that_the_key_names(task: Task) -> None:
    rows = [replace(row("v0", idx=7), row=3), replace(row("v1"), row=4), row("v2", idx="")]
    parallel = replace(task, parallel=Parallel("idx", "family", "columns"))
    named = [(p.row, p.item) for p in build(parallel, "0.1", documents=rows)]
    assert named == [(3, "7"), (4, None), (None, None)], "nothing stands in for a missing key"
    assert [p.item for p in build(task, "0.1", documents=rows)] == [None] * 3


class Watched(DiskList[Document]):
    """Says which of its records was the last to be read."""

    last = -1

    def _read(self, at: int) -> Document:
        self.last = at
        return super()._read(at)


def test_prompts_are_made_as_they_are_asked_for(
    task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(building, "_BATCH", 10)
    documents = Watched(row(f"v{at}", label=at % 5) for at in range(95))
    cell = Cell(task.name, task.version, "0.1", 3, 1)
    made = build_prompts(task, cell, documents, Pool(POOL), None, PromptSettings(), None)
    assert documents.last == -1
    next(made)
    assert documents.last == 9
    assert len(list(made)) == 94 and documents.last == 94


@pytest.mark.parametrize("draw", ["document", "running", "lm-eval"])
def test_prompts_do_not_depend_on_what_is_made_together_or_kept(
    task: Task, draw: SamplerKind, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = [row(f"v{at}", question="長" * (at % 23), label=at % 5) for at in range(45)]
    # A shelf makes its records anew, often where the last one was: only an id tells them apart.
    pool = Pool(DiskList(row(f"t{at}", question=f"{at}" * (at % 7 + 1)) for at in range(30)))
    cell = Cell(task.name, task.version, "0.1", 3, 1)
    settings = PromptSettings(sampler=draw)

    def made() -> list[Prompt]:
        tokenizer = CharacterTokenizer(max_length=200)
        return list(build_prompts(task, cell, documents, pool, None, settings, tokenizer))

    whole = made()
    assert {prompt.dropped_examples for prompt in whole} >= {0, 1}
    for prompt in whole:
        for example in prompt.examples:
            at = int(example.removeprefix("t"))
            assert f"[問題]:{f'{at}' * (at % 7 + 1)}\n" in prompt.text
    monkeypatch.setattr(building, "_BATCH", 7)
    monkeypatch.setattr(building, "_KEPT", 2)
    assert made() == whole


def test_settings_are_refused_before_the_first_prompt_is_asked_for(task: Task) -> None:
    def opened(template: str, shots: int, task: Task = task, **settings: bool) -> object:
        cell = Cell(task.name, task.version, template, shots, 1)
        prepared = PromptSettings(**settings)  # type: ignore[arg-type]
        tokenizer = CharacterTokenizer(max_length=2000)
        return build_prompts(task, cell, ASKED, Pool(POOL), None, prepared, tokenizer)

    with pytest.raises(ConfigError, match="20 examples were asked for"):
        opened("0.1", 20)
    with pytest.raises(ConfigError, match="writes a chat format itself"):
        opened("0.6", 0, apply_chat_template=True)
    with pytest.raises(ConfigError, match="leave no room for a prompt"):
        opened("0.1", 0, replace(task, thinking=Thinking(budget=2048)))
