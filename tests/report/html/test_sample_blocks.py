"""Samples into blocks and indexes: everything comes back, and the index agrees with it."""

from __future__ import annotations

import json
import zlib
from dataclasses import replace
from typing import Any

import pytest

from tenbin.report.html.model import ThinkingSummary, sample_json
from tenbin.report.html.sample import page_sample, prompt_parts, snippet, state_of
from tenbin.report.html.sample_blocks import Blocks, pack_samples
from tenbin.report.html.summary import thinking_summary
from tenbin.results.schema import GenerationLengths, MetricDetail, Sample, SampleOutcome
from tests.report.made_run import cell_config, choice_row, choice_sample, config, record


def inflate(blocks: Blocks, number: int) -> Any:
    return json.loads(zlib.decompress(blocks[number]))


def shown(sample: Sample) -> dict[str, Any]:
    """A sample as the page gets it."""
    return sample_json(page_sample(sample, cell_config("made"), None))


def test_every_document_comes_back_in_order() -> None:
    rows = [choice_row(id, at) for at in range(1000) for id in ("one", "two")]
    made = record({"one": config("one"), "two": config("two")}, rows)
    blocks = Blocks()
    packed = pack_samples(made, map(Sample.from_json, rows), blocks)
    assert list(packed) == ["one", "two"]
    for id, entry in packed.items():
        mine = [row for row in rows if row["id"] == id]
        read = [sample for block, _ in entry.blocks for sample in inflate(blocks, block)]
        sizes = [len(inflate(blocks, block)) for block, _ in entry.blocks]
        assert sizes == [size for _, size in entry.blocks]
        assert len(entry.blocks) > 2, "several blocks, so that one can be opened alone"
        assert [sample["document"] for sample in read] == [row["document"] for row in mine]
        for sample, row in zip(read, mine, strict=True):
            assert "".join(text for _, text in sample["parts"]) == row["prompt"]
            assert sample.get("logprobs") == row["logprobs"]
            assert sample["outcomes"] == row["outcomes"]
            assert sample["gold"] == 0, "the first choice is not nothing"
        index = inflate(blocks, entry.index)
        assert index["document"] == [row["document"] for row in mine]
        values = [row["outcomes"][0]["value"] for row in mine]
        letters = {None: "f", 0.0: "w", 1.0: "r"}
        assert index["states"]["acc"] == "".join(letters[value] for value in values)
        assert entry.count == 1000
        assert entry.chance == pytest.approx(1 / 3)
        assert entry.scored_tokens == 3 * sum(value is not None for value in values)


@pytest.mark.parametrize(
    ("item", "text"),
    [
        ('[["letters:kanji", 1.0], ["startend:quotation", 0.0]]',
         "✓ letters:kanji  ✗ startend:quotation"),
        ('[["letters:kanji", 0.25]]', "0.25 letters:kanji"),
        ("[1, 2]", "the answer"),
        ("{", "the answer"),
    ],
)  # fmt: skip
def test_parts_that_were_judged_are_shown_with_marks(item: str, text: str) -> None:
    outcome = SampleOutcome("inst", 0.5, "the answer", aggregation="pooled", item=item)
    made = replace(Sample.from_json(choice_row("one", 0)), outcomes=[outcome])
    assert shown(made)["outcomes"][0]["answer"] == text


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
    made = {"n": 1, "failed": 0, "higher_is_better": True, "unit": "", **detail}
    assert state_of(value, MetricDetail.model_validate(made)) == letter


def test_prompts_are_cut_where_the_run_says() -> None:
    parts, exact = prompt_parts(choice_sample("made", 1), "\n\n")
    assert exact
    assert [kind for kind, _ in parts] == ["d", "e", "q"]
    assert parts[0][1] == "説明。\n\n"
    assert parts[2][1] == "質問1は何ですか。\n答え: "


def test_older_runs_are_cut_by_a_guess_and_say_so() -> None:
    sample = choice_sample("made", 1, parts=None)
    parts, exact = prompt_parts(sample, "\n\n")
    assert not exact
    assert parts[-1] == ("q", "質問1は何ですか。\n答え: ")
    alone = replace(sample, examples=[], prompt="一つの\n\n質問")
    assert prompt_parts(alone, "\n\n") == ([("q", "一つの\n\n質問")], True)


def test_rows_of_other_versions_are_shown_too() -> None:
    bare = Sample.from_json({"id": "made", "document": "d", "outcomes": [], "surprise": 1})
    assert shown(bare) == {"document": "d", "parts": [["q", ""]], "exact": True}


def test_sampled_answers_are_kept() -> None:
    sampled = [{"text": text, "finish": "end", "tokens": 1} for text in "ab"]
    row = choice_row("made", 0, generated="a", samples=sampled)
    row["outcomes"] = [{**row["outcomes"][0], "values": [1.0, 0.0], "weight": None}]
    found = shown(Sample.from_json(row))
    assert [one | answer for one, answer in zip(found["sampled"], sampled, strict=True)] == (
        found["sampled"]
    )
    assert found["outcomes"][0]["values"] == [1.0, 0.0] and "weight" not in found["outcomes"][0]
    assert "sampled" not in shown(Sample.from_json({**row, "samples": sampled[:1]}))


def test_impossible_choices_keep_their_meaning() -> None:
    sample = choice_sample("made", 0, logprobs=[-1.0, float("-inf"), -2.0])
    assert shown(sample)["logprobs"] == [-1.0, "-inf", -2.0]


def test_snippets_stay_on_one_line() -> None:
    assert snippet("a\n\n b\tc") == "a b c"
    assert len(snippet("あ" * 500)) == 140 and snippet("あ" * 500).endswith("…")
    assert snippet(None) == ""


def test_lists_leave_out_what_every_question_starts_with() -> None:
    def question(at: int) -> dict[str, object]:
        text = f"### 指示:\n選んでください。\n質問{at}: 何？"
        return choice_row("made", at, prompt=text, parts=[0])

    for number in (1, 5, 100):
        rows = [question(at) for at in range(number)]
        blocks = Blocks()
        made = record({"made": config("made")}, rows)
        packed = pack_samples(made, map(Sample.from_json, rows), blocks)
        listed = inflate(blocks, packed["made"].index)["question"]
        if number == 1:
            assert listed == ["### 指示: 選んでください。 質問0: 何？"]
        else:
            assert listed == [f"質問{at}: 何？" for at in range(number)]


def test_a_rolling_log_likelihood_is_shown_as_the_answer() -> None:
    row = {
        "id": "pages",
        "document": "d",
        "prompt": "a b",
        "logprobs": [-7.5],
        "token_counts": [3],
        "outcomes": [{"metric": "bits", "value": -7.5, "answer": None, "weight": 3.0}],
    }
    scored = {**row, "outcomes": [{"metric": "bits", "value": 1.0}]}
    made = record({"pages": config("pages")}, [scored])
    detail = made.details["pages"]["bits"].model_copy(
        update={"higher_is_better": False, "weight": 3.0}
    )
    made = made.model_copy(update={"details": {"pages": {"bits": detail}}})
    blocks = Blocks()
    packed = pack_samples(made, [Sample.from_json(row)], blocks)
    index = inflate(blocks, packed["pages"].index)
    assert index["answer"] == ["-7.50"] and index["states"] == {"bits": "n"}


def test_thinking_is_separate_from_answers() -> None:
    thinking = {"thinking": "so", "thinking_tokens": 2, "thinking_end": "budget"}
    found = shown(choice_sample("made", 0, generated="a", **thinking))
    assert {name: found[name] for name in thinking} == thinking and found["generated"] == "a"
    # Runs whose thinking was not separated say nothing of it.
    empty = dict.fromkeys(thinking)
    assert not thinking.keys() & shown(choice_sample("made", 0, **empty)).keys()


def test_lengths_of_thinking_over_all_tasks() -> None:
    ends = {"none": 1, "closed": 0, "budget": 2, "open": 0}
    first = {"answers": 3, "answer_tokens": 2.0, "thinking_tokens": 10.0, "thoughts": ends}
    second = {"answers": 1, "answer_tokens": 6.0, "thinking_tokens": 30.0, "thoughts": ends}
    plain = {"answers": 9, "answer_tokens": 5.0, "thinking_tokens": None, "thoughts": None}
    lengths = [GenerationLengths.model_validate(one) for one in (first, second, plain)]
    assert thinking_summary(lengths) == ThinkingSummary(4, 15.0, 3.0, none=2, budget=4, open=0)
    assert thinking_summary(lengths[2:]) is thinking_summary([]) is None


def test_a_conversation_is_shown_turn_by_turn() -> None:
    turns = [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "1+1"},
        {"role": "assistant", "content": "2"},
        {"role": "user", "content": "2+2"},
    ]
    expected = [
        ("d", "[system]\nbe brief"),
        ("e", "[user]\n1+1\n\n[assistant]\n2"),
        ("q", "[user]\n2+2"),
    ]
    sample = choice_sample("made", 0, prompt=json.dumps(turns, separators=(",", ":")), parts=[])
    assert prompt_parts(sample, "\n\n") == (expected, True)
    beside = {"messages": turns, "chat_template_kwargs": {"enable_thinking": False}}
    sample = replace(sample, prompt=json.dumps(beside, separators=(",", ":")))
    variables = ("d", '[chat_template_kwargs]\n{"enable_thinking": false}')
    assert prompt_parts(sample, "\n\n") == ([variables, *expected], True)
    for broken in ('{"messages":[{"role":"user"}]}', '[{"role":1}]', '{"messages":[{"role":'):
        assert prompt_parts(replace(sample, prompt=broken), "\n\n")[0] == [("q", broken)]
