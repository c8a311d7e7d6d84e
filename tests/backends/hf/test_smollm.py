"""The real small model, from its GGUF file, against plain forwards and against lm-eval."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tenbin.backends.hf.backend import HfBackend
from tenbin.records import Generate, Rolled, Rolling, Score, Scores, Text, Thinking
from tests.backends.reference import plain_score

pytestmark = pytest.mark.model

GOLDEN = Path(__file__).parents[2] / "golden" / "lm_eval_loglikelihoods.json"


@pytest.fixture(scope="module")
def golden() -> Any:
    return json.loads(GOLDEN.read_text(encoding="utf-8"))


def test_description_and_template(smollm: HfBackend) -> None:
    described = smollm.describe()
    assert described["model"] == "smollm2-135m"
    assert "dequantised" in described["gguf"]
    assert smollm.tokenizer.has_chat_template
    chat = smollm.tokenizer.chat([{"role": "user", "content": "こんにちは"}])
    assert chat.endswith("<|im_start|>assistant\n")
    assert smollm.tokenizer.examine(chat, ["はい"], 0).bos_count == 1


def test_scores_equal_plain_forwards(smollm: HfBackend) -> None:
    prompts = [
        "質問：電車に乗る場所はどこですか？\n選択肢：駅、海、山、森、空\n回答：",
        "質問：夜空に光るものはどれですか？\n選択肢：星、靴、机、本、水\n回答：",
    ]
    choices = ("駅", "海", "山", "星", "水 ")
    answers = dict(smollm.run([Score(prompt, prompt, choices) for prompt in prompts]))
    model, tokenizer = smollm._model, smollm.tokenizer.inner
    for prompt in prompts:
        answer = answers[prompt]
        assert isinstance(answer, Scores)
        for at, choice in enumerate(choices):
            expected = plain_score(model, tokenizer, prompt, choice, 8192)
            assert answer.logprobs[at] == pytest.approx(expected[0], abs=1e-4)
            assert (answer.greedy[at], answer.token_counts[at]) == expected[1:]


def test_scores_equal_lm_eval(smollm: HfBackend, golden: Any) -> None:
    items = golden["loglikelihood"]
    by_prompt: dict[str, list[Any]] = {}
    for item in items:
        by_prompt.setdefault(item["prompt"], []).append(item)
    requests = [
        Score(prompt, prompt, tuple(item["continuation"] for item in group))
        for prompt, group in by_prompt.items()
    ]
    answers = dict(smollm.run(requests))
    assert len(items) >= 40
    for prompt, group in by_prompt.items():
        answer = answers[prompt]
        assert isinstance(answer, Scores)
        # The golden numbers themselves lie up to 1.1e-4 from double precision, at -24.7.
        expected = pytest.approx([item["logprob"] for item in group], abs=1e-4, rel=1e-5)
        assert answer.logprobs == expected
        assert list(answer.greedy) == [item["greedy"] for item in group]


def test_texts_equal_lm_eval(smollm: HfBackend, golden: Any) -> None:
    items = golden["generate_until"]
    requests = [
        Generate(str(at), item["prompt"], tuple(item["until"]), item["max_gen_toks"])
        for at, item in enumerate(items)
    ]
    answers = dict(smollm.run(requests))
    for at, item in enumerate(items):
        answer = answers[str(at)]
        assert isinstance(answer, Text)
        # lm-eval leaves the first bytes of an unfinished character as U+FFFD.
        assert answer.text == item["text"].rstrip("\ufffd")


def test_rolling_equals_lm_eval(smollm: HfBackend, golden: Any) -> None:
    items = golden["loglikelihood_rolling"]
    answers = dict(smollm.run([Rolling(item["text"], item["text"]) for item in items]))
    for item in items:
        answer = answers[item["text"]]
        assert isinstance(answer, Rolled)
        # As above: the golden sums themselves lie about 1e-4 from double precision.
        assert answer.logprob == pytest.approx(item["logprob"], abs=1e-4, rel=1e-5)


def test_a_budget_of_thought(smollm: HfBackend) -> None:
    """What is forced is what a prompt with the same tokens before the answer would have given."""
    thinking = Thinking("Thought:", "Answer:", 12)
    prompts = [f"Question: {name}?\nThought:" for name in ("What is 2 + 3", "Who wrote Hamlet")]
    asked = [Generate(prompt, prompt, ("\n",), 6, thinking=thinking) for prompt in prompts]
    answers = dict(smollm.run(asked))
    for prompt in prompts:
        answer = answers[prompt]
        assert isinstance(answer, Text)
        (thought,) = dict(smollm.run([Generate("k", prompt, (), 12)])).values()
        assert isinstance(thought, Text) and thought.finish == "length"
        assert (answer.thinking, answer.thinking_tokens) == (thought.text.strip(), 12)
        assert answer.thinking_end == "budget"
        closed = prompt + thought.text + thinking.closing_text
        (after,) = dict(smollm.run([Generate("k", closed, (), 6)])).values()
        assert isinstance(after, Text)
        assert answer.text == after.text.lstrip().partition("\n")[0]
