"""Thoughts through the whole pipeline: asked for, kept apart, judged without, recorded, shown."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars
import pytest

import tenbin
from tenbin.backends.scripted import CharacterTokenizer, ScriptedBackend
from tenbin.cli import main
from tenbin.config import build_config
from tenbin.errors import ConfigError, TenbinError
from tenbin.records import Generate, Text, Thinking
from tenbin.report.terminal.scores import print_results
from tenbin.results.schema import RunResult

pytestmark = pytest.mark.usefixtures("cache")

THOUGHT = "<think>\nperhaps {'answer': 'A'}\n\n\nno\n</think>\n\n"


class Marked(CharacterTokenizer):
    """A tokenizer of a model that thinks."""

    thinking_marks = ("<think>", "</think>")  # type: ignore[assignment]


def evaluate(backend: ScriptedBackend | None = None, **options: Any) -> tenbin.Run:
    given = {
        "tasks": ["mlogiqa_gen_ja"],
        "sample_data": True,
        "limit": 4,
        "no_cache": True,
        **options,
    }
    return tenbin.evaluate(backend or ScriptedBackend(), **given)


def answers() -> dict[str, str]:
    """The right answer to each prompt."""
    return {s["prompt"]: f"{{'answer': '{s['references'][0]}'}}" for s in evaluate().samples}


def exact_match(run: tenbin.Run) -> float:
    return float(run.document["results"]["mlogiqa_gen_ja"]["exact_match,strict-match"])


def test_only_the_answer_is_judged() -> None:
    texts = {prompt: THOUGHT + answer for prompt, answer in answers().items()}
    run = evaluate(ScriptedBackend(texts=texts), thinking="on")
    assert exact_match(run) == 1.0
    for sample in run.samples:
        assert sample["generated"] == texts[sample["prompt"]].removeprefix(THOUGHT)
        assert sample["thinking"] == "perhaps {'answer': 'A'}\n\n\nno"
        assert (sample["thinking_tokens"], sample["thinking_end"]) == (45, "closed")
    assert run.document["lengths"]["mlogiqa_gen_ja"] == {
        "answers": 4,
        "answer_tokens": 15.0,
        "cut_answers": 0,
        "thinking_tokens": 45.0,
        "thoughts": {"none": 0, "closed": 4, "budget": 0, "open": 0},
    }
    # As if it did not think, what it thought is read as its answer.
    assert exact_match(evaluate(ScriptedBackend(texts=texts))) < 1.0


def test_a_thought_without_an_end_is_a_wrong_answer_and_no_failure() -> None:
    backend = ScriptedBackend(texts=lambda prompt: "<think>{'answer': 'A'} or B or")
    run = evaluate(backend, thinking="on")
    assert exact_match(run) == 0.0
    assert run.document["details"]["mlogiqa_gen_ja"]["exact_match,strict-match"]["failed"] == 0
    assert run.document["lengths"]["mlogiqa_gen_ja"]["thoughts"]["open"] == 4


def test_a_budget_ends_thoughts() -> None:
    texts = {prompt: THOUGHT + answer for prompt, answer in answers().items()}
    run = evaluate(ScriptedBackend(texts=texts), thinking="on", thinking_budget=15)
    assert exact_match(run) == 1.0
    assert {sample["thinking"] for sample in run.samples} == {"perhaps"}
    assert {sample["thinking_tokens"] for sample in run.samples} == {15}
    assert run.document["lengths"]["mlogiqa_gen_ja"]["thoughts"]["budget"] == 4
    assert run.document["configs"]["mlogiqa_gen_ja"]["thinking"] == {
        "opening": "<think>",
        "closing": "</think>",
        "budget": 15,
    }


def test_drawn_answers_have_a_thought_each(tmp_path: Path) -> None:
    texts = {prompt: [THOUGHT + text, text] for prompt, text in answers().items()}
    run = evaluate(
        ScriptedBackend(texts=texts),
        thinking="on",
        repeats=2,
        gen_kwargs="temperature=1",
        output_path=str(tmp_path / "result.json"),
    )
    stored = polars.read_parquet(tmp_path / "result.run" / "samples.parquet")
    assert stored["thinking"].to_list() == [s["thinking"] for s in run.samples]
    first, second = stored["samples"][0]
    assert (first["thinking_tokens"], first["thinking_end"]) == (45, "closed")
    assert (second["thinking"], second["thinking_end"]) == ("", "none")
    assert run.document["lengths"]["mlogiqa_gen_ja"]["thinking_tokens"] == 22.5


def test_requests_without_thoughts_keep_their_keys() -> None:
    plain, thoughtful = ScriptedBackend(), ScriptedBackend()
    evaluate(plain)
    evaluate(thoughtful, thinking="<a>,</a>", thinking_budget=9)
    for one, other in zip(plain.asked, thoughtful.asked, strict=True):
        assert isinstance(one, Generate) and isinstance(other, Generate)
        assert one.thinking is None and other.thinking == Thinking("<a>", "</a>", 9)
        assert one.prompt == other.prompt and one.key != other.key
    # This key was given out before thoughts were known: old journals still answer.
    assert plain.asked[0].key == "7235592364774939eb0d2c28f5575e50"


class Server(ScriptedBackend):
    """Keeps thoughts apart without being asked, and counts their tokens with the answer's."""

    def generate(self, request: Generate) -> Text:
        return Text("B", "end", 50, thinking="so", thinking_end="closed")


def test_thoughts_that_nobody_counted(capsys: pytest.CaptureFixture[str]) -> None:
    run = evaluate(Server())
    assert [s["thinking"] for s in run.samples] == ["so"] * 4
    print_results(RunResult.model_validate(run.document))
    shown = capsys.readouterr().out
    assert "thinking: mlogiqa_gen_ja: thinking was separated from answers, but" in shown


def test_runs_with_other_budgets_are_not_compared_unawares() -> None:
    runs = [evaluate(thinking="on", thinking_budget=budget) for budget in (5, 60)]
    with pytest.raises(TenbinError, match="greedy, thinking of up to 5 tokens here"):
        tenbin.compare(*runs)
    assert tenbin.compare(*runs, allow=["decoding", "prompts"]).table()


def test_without_thinking_nothing_is_said_of_it() -> None:
    run = evaluate()
    assert all(sample["thinking"] is None for sample in run.samples)
    assert run.document["lengths"]["mlogiqa_gen_ja"]["thoughts"] is None
    assert run.document["configs"]["mlogiqa_gen_ja"]["thinking"] is None


def test_a_run_says_what_is_scored_without_a_thought() -> None:
    run = evaluate(tasks=["mlogiqa_gen_ja", "jnli"], thinking="on")
    (notice,) = [text for text in run.document["warnings"] if "thinking" in text]
    assert notice.endswith(": jnli")


def test_a_run_says_that_a_model_which_thinks_is_not_asked_to() -> None:
    backend = ScriptedBackend()
    backend.capabilities = replace(backend.capabilities, tokenizer=Marked())
    (notice,) = evaluate(backend).document["warnings"][-1:]
    assert "without --thinking on" in notice and notice.endswith("(mlogiqa_gen_ja)")
    assert evaluate(backend, thinking="on").document["warnings"] == evaluate().document["warnings"]
    (notice,) = evaluate(backend, thinking="[T],[/T]").document["warnings"][-1:]
    assert "between [T] and [/T], but the model's files show <think> and </think>" in notice


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"thinking": "maybe"}, "on, off, or the two marks"),
        ({"thinking": "a,b,c"}, "on, off, or the two marks"),
        ({"thinking": 3}, "on, off, or the two marks"),
        ({"thinking": "on", "thinking_budget": -1}, "of 0 or more"),
        ({"thinking_budget": 5}, "limits thinking"),
        ({"thinking": "off", "thinking_budget": 5}, "limits thinking"),
        ({"thinking": "on", "tasks": ["jnli"]}, "no chosen task generates"),
        ({"thinking": "on", "thinking_budget": 9999}, "9,999 tokens of thinking and"),
        (
            {"chat_template_args": "enable_thinking=false"},
            "no effect without the model's chat template",
        ),
        ({"chat_template_args": "enable-thinking=1", "apply_chat_template": True}, "is none"),
    ],
)
def test_what_cannot_be_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        evaluate(**options)


def test_ways_to_write_it() -> None:
    def written(value: Any) -> Thinking | None:
        return build_config({"tasks": "jnli", "thinking": value}).thinking_settings

    # YAML gives on and off as truth values.
    assert written("on") == written(True) == written(["<think>", "</think>"]) == Thinking()
    assert written("off") is written(False) is written([]) is written(None) is None
    assert written("[T], [/T]") == Thinking("[T]", "[/T]")


def test_examples_leave_room_for_the_thought() -> None:
    """A window that holds every example, but not with the thought behind them."""
    options = {"num_fewshot": 3, "limit": 1}
    (whole,) = evaluate(**options).samples
    window = len(whole["prompt"]) + 1 + whole["max_gen_toks"]
    fits = evaluate(ScriptedBackend(max_length=window), **options)
    assert fits.samples[0]["dropped_examples"] == 0
    tight = ScriptedBackend(max_length=window)
    assert evaluate(tight, thinking="on", thinking_budget=1, **options).samples[0][
        "dropped_examples"
    ]


def test_variables_reach_the_chat_template() -> None:
    chat = {"apply_chat_template": True, "chat_template_args": "enable_thinking=false,level=2"}
    (sample,) = evaluate(limit=1, **chat).samples
    assert sample["prompt"].endswith("<assistant enable_thinking=False level=2>")


def test_the_command_line_shows_both_lengths(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "result.json"
    given = ["run", "--model", "scripted", "--tasks", "mlogiqa_gen_ja", "--sample_data"]
    given += ["--model_args", "text=<think>ab</think>\n{'answer': 'B'}", "--limit", "3"]
    assert main([*given, "--thinking", "on", "--output_path", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "thinking: mlogiqa_gen_ja: 17 tokens of thinking and 15 of answer on average" in shown
    config = json.loads(path.read_text())["config"]
    assert config["thinking"] == ["<think>", "</think>"]
    # The run file beside it runs the same again.
    again = ["run", "--config", str(tmp_path / "result.run" / "run.yaml")]
    assert main([*again, "--thinking_budget", "1", "--output_path", str(path), "--overwrite"]) == 0
    assert "3 of 3 cut at 1 tokens" in capsys.readouterr().out
