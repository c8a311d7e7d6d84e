"""Samples into blocks and indexes: everything comes back, and the index agrees with it."""

from __future__ import annotations

import json
import zlib

import pytest

from tenbin.report.html.sample import page_sample, prompt_parts, snippet, state_of
from tenbin.report.html.sample_blocks import Blocks, pack_samples
from tenbin.report.html.summary import thinking_facts
from tests.report.made_run import choice_row, config, result


def inflate(blocks: Blocks, number: int) -> object:
    return json.loads(zlib.decompress(blocks[number]))


def test_every_document_comes_back_in_order() -> None:
    rows = [choice_row(id, at) for at in range(1000) for id in ("one", "two")]
    document = result({"one": config("one"), "two": config("two")}, rows)
    blocks = Blocks()
    packed = pack_samples(document, rows, blocks)
    assert list(packed) == ["one", "two"]
    for id, entry in packed.items():
        mine = [row for row in rows if row["id"] == id]
        read = [sample for block, _ in entry["blocks"] for sample in inflate(blocks, block)]  # type: ignore[attr-defined]
        assert [len(inflate(blocks, block)) for block, _ in entry["blocks"]] == [  # type: ignore[arg-type]
            size for _, size in entry["blocks"]
        ]
        assert len(entry["blocks"]) > 2, "several blocks, so that one can be opened alone"
        assert [sample["document"] for sample in read] == [row["document"] for row in mine]
        for sample, row in zip(read, mine, strict=True):
            assert "".join(text for _, text in sample["parts"]) == row["prompt"]
            assert sample.get("logprobs") == row["logprobs"]
            assert sample["outcomes"] == row["outcomes"]
            assert sample["gold"] == 0, "the first choice is not nothing"
        index = inflate(blocks, entry["index"])
        assert index["document"] == [row["document"] for row in mine]  # type: ignore[index]
        values = [row["outcomes"][0]["value"] for row in mine]
        letters = {None: "f", 0.0: "w", 1.0: "r"}
        assert index["states"]["acc"] == "".join(letters[value] for value in values)  # type: ignore[index]
        assert entry["count"] == 1000
        assert entry["chance"] == pytest.approx(1 / 3)
        assert entry["scored_tokens"] == 3 * sum(value is not None for value in values)


@pytest.mark.parametrize(
    ("value", "detail", "letter"),
    [
        (None, {}, "f"),
        (1.0, {"higher_is_better": True}, "r"),
        (0.0, {"higher_is_better": True}, "w"),
        (1.0, {"higher_is_better": False}, "w"),
        (0.0, {"higher_is_better": False}, "r"),
        (0.4, {"higher_is_better": True}, "p"),
        (100.0, {"higher_is_better": True, "unit": "%"}, "r"),
        (1.0, {"higher_is_better": True, "unit": "%"}, "p"),
        (-12.5, {"higher_is_better": False}, "n"),
        (12.5, {"higher_is_better": False}, "n"),
        (0.0, {"higher_is_better": False, "weight": 7.0}, "n"),
    ],
)
def test_states(value: float | None, detail: dict[str, object], letter: str) -> None:
    assert state_of(value, detail) == letter


def test_prompts_are_cut_where_the_run_says() -> None:
    row = choice_row("made", 1)
    parts, exact = prompt_parts(row, config("made"))
    assert exact
    assert [kind for kind, _ in parts] == ["d", "e", "q"]
    assert parts[0][1] == "説明。\n\n"
    assert parts[2][1] == "質問1は何ですか。\n答え: "


def test_older_runs_are_cut_by_a_guess_and_say_so() -> None:
    row = {**choice_row("made", 1), "parts": None}
    parts, exact = prompt_parts(row, config("made"))
    assert not exact
    assert parts[-1] == ("q", "質問1は何ですか。\n答え: ")
    alone = {**row, "examples": [], "prompt": "一つの\n\n質問"}
    assert prompt_parts(alone, config("made")) == ([("q", "一つの\n\n質問")], True)


def test_rows_of_other_versions_are_shown_too() -> None:
    bare = {"id": "made", "document": "d", "outcomes": [], "surprise": 1}
    assert page_sample(bare, {}, None) == {"document": "d", "parts": [("q", "")], "exact": True}


def test_drawn_answers_are_kept() -> None:
    drawn = [{"text": text, "finish": "end", "tokens": 1} for text in "ab"]
    row = choice_row("made", 0, generated="a", samples=drawn)
    row["outcomes"] = [{**row["outcomes"][0], "values": [1.0, 0.0], "weight": None}]
    shown = page_sample(row, {}, None)
    assert shown["drawn"] == drawn
    assert shown["outcomes"][0]["values"] == [1.0, 0.0] and "weight" not in shown["outcomes"][0]
    assert "drawn" not in page_sample({**row, "samples": drawn[:1]}, {}, None)


def test_impossible_choices_keep_their_meaning() -> None:
    row = choice_row("made", 0, logprobs=[-1.0, float("-inf"), -2.0])
    assert page_sample(row, {}, None)["logprobs"] == [-1.0, "-inf", -2.0]


def test_snippets_stay_on_one_line() -> None:
    assert snippet("a\n\n b\tc") == "a b c"
    assert len(snippet("あ" * 500)) == 140 and snippet("あ" * 500).endswith("…")
    assert snippet(None) == ""


def test_lists_leave_out_what_every_question_begins_with() -> None:
    def question(at: int) -> dict[str, object]:
        text = f"### 指示:\n選んでください。\n質問{at}: 何？"
        return choice_row("made", at, prompt=text, parts=[0])

    for number in (1, 5, 100):
        rows = [question(at) for at in range(number)]
        blocks = Blocks()
        packed = pack_samples(result({"made": config("made")}, rows), rows, blocks)
        shown = inflate(blocks, packed["made"]["index"])["question"]  # type: ignore[index]
        if number == 1:
            assert shown == ["### 指示: 選んでください。 質問0: 何？"]
        else:
            assert shown == [f"質問{at}: 何？" for at in range(number)]


def test_a_text_weighed_whole_shows_its_log_likelihood() -> None:
    row = {
        "id": "pages",
        "document": "d",
        "prompt": "a b",
        "logprobs": [-7.5],
        "token_counts": [3],
        "outcomes": [{"metric": "bits", "value": -7.5, "answer": None, "weight": 3.0}],
    }
    document = result({"pages": config("pages")}, [])
    document["details"]["pages"] = {"bits": {"higher_is_better": False, "weight": 3.0}}
    blocks = Blocks()
    index = inflate(blocks, pack_samples(document, [row], blocks)["pages"]["index"])
    assert index["answer"] == ["-7.50"] and index["states"] == {"bits": "n"}  # type: ignore[index]


def test_thoughts_are_kept_apart_from_answers() -> None:
    thought = {"thinking": "so", "thinking_tokens": 2, "thinking_end": "budget"}
    shown = page_sample(choice_row("made", 0, generated="a", **thought), {}, None)
    assert {name: shown[name] for name in thought} == thought and shown["generated"] == "a"
    # Runs whose thoughts were not kept apart say nothing of them.
    empty = dict.fromkeys(thought)
    assert not thought.keys() & page_sample(choice_row("made", 0, **empty), {}, None).keys()


def test_lengths_of_thoughts_over_all_tasks() -> None:
    ends = {"none": 1, "closed": 0, "budget": 2, "open": 0}
    first = {"answers": 3, "answer_tokens": 2.0, "thinking_tokens": 10.0, "thoughts": ends}
    second = {"answers": 1, "answer_tokens": 6.0, "thinking_tokens": 30.0, "thoughts": ends}
    plain = {"answers": 9, "answer_tokens": 5.0, "thinking_tokens": None, "thoughts": None}
    found = thinking_facts({"lengths": {"a": first, "b": second, "c": plain}})
    assert found == {
        "answers": 4,
        "thinking_tokens": 15.0,
        "answer_tokens": 3.0,
        "none": 2,
        "budget": 4,
        "open": 0,
    }
    assert thinking_facts({"lengths": {"c": plain}}) is thinking_facts({}) is None


def test_a_conversation_is_shown_turn_by_turn() -> None:
    turns = [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "1+1"},
        {"role": "assistant", "content": "2"},
        {"role": "user", "content": "2+2"},
    ]
    shown = [
        ("d", "[system]\nbe brief"),
        ("e", "[user]\n1+1\n\n[assistant]\n2"),
        ("q", "[user]\n2+2"),
    ]
    row = choice_row("made", 0) | {"prompt": json.dumps(turns, separators=(",", ":")), "parts": []}
    assert prompt_parts(row, config("made")) == (shown, True)
    beside = {"messages": turns, "chat_template_kwargs": {"enable_thinking": False}}
    row |= {"prompt": json.dumps(beside, separators=(",", ":"))}
    variables = ("d", '[chat_template_kwargs]\n{"enable_thinking": false}')
    assert prompt_parts(row, config("made")) == ([variables, *shown], True)
    for broken in ('{"messages":[{"role":"user"}]}', '[{"role":1}]', '{"messages":[{"role":'):
        assert prompt_parts(row | {"prompt": broken}, config("made"))[0] == [("q", broken)]
