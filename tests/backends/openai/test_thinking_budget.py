"""Thoughts within their budget over a server that writes word by word."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest

from tenbin.records import Failure, Generate, Text, Thinking, Usage
from tests.backends.openai.misbehaving import Answer, chat, misbehaving, opened

LLAMA = {"data": [{"id": "made-up", "owned_by": "llamacpp"}]}
THOUGHT = "<think> one two three four </think> "


def writer(plan: str, answer: str) -> Any:
    """A server whose tokens are words: it goes on with its plan, or after a closed thought."""

    def script(before: int, body: Mapping[str, Any]) -> Answer:
        prompt = body.get("prompt", "")
        if "messages" in body:
            last = body["messages"][-1]
            prompt = "P:" + (last["content"] if last["role"] == "assistant" else "")
        begun = prompt.partition("P:")[2]
        rest = plan.removeprefix(begun) if plan.startswith(begun) else answer
        words = re.findall(r"\S+\s*|\s+", rest)
        text = "".join(words[: body["max_tokens"]])
        finish = "length" if len(words) > body["max_tokens"] else "stop"
        usage = {
            "prompt_tokens": len(prompt.split()),
            "completion_tokens": min(len(words), body["max_tokens"]),
        }
        if "messages" in body:
            return Answer({**chat(begun + text, finish), "usage": usage})
        choice = {"index": 0, "text": text, "finish_reason": finish}
        return Answer({"choices": [choice], "usage": usage})

    return script


def asked(
    plan: str,
    answer: str,
    budget: int,
    limit: int,
    stop: tuple[str, ...] = (),
    is_chat: bool = False,
    models: Any = None,
    prompt: str = "P:",
) -> tuple[Text, list[Mapping[str, Any]]]:
    request = Generate("k", prompt, stop, limit, thinking=Thinking(budget=budget))
    with misbehaving(writer(plan, answer), models) as server:
        ((_, response),) = opened(server, is_chat).run([request])
        assert isinstance(response, Text), response
        return response, server.calls


def test_one_call_holds_a_short_thought_and_its_answer() -> None:
    found, calls = asked(THOUGHT + "B", "never asked", budget=20, limit=4)
    assert [call["max_tokens"] for call in calls] == [20]
    assert found == Text(
        "B", "end", 7, thinking="one two three four", thinking_end="closed", usage=Usage(1, 7)
    )


def test_a_thought_that_spends_its_budget_is_closed_and_the_answer_has_its_whole_limit() -> None:
    found, calls = asked(THOUGHT + "never reached", "B or\n\nC D", budget=3, limit=4)
    assert [call["max_tokens"] for call in calls] == [3, 4]
    assert calls[1]["prompt"] == "P:<think> one two \n</think>\n\n"
    assert all("stop" not in call for call in calls)
    assert (found.text, found.finish, found.token_count) == ("B or\n\nC D", "end", 4)
    assert (found.thinking, found.thinking_tokens, found.thinking_end) == ("one two", 3, "budget")
    # The second call reads prompt, thought and mark.
    assert found.usage == Usage(1 + 4, 3 + 4, 0, 2)
    found, _ = asked(THOUGHT + "never reached", "\n\nB or\n\nC", 3, 8, stop=("\n\n",))
    assert (found.text, found.finish) == ("B or", "stop")
    found, _ = asked(THOUGHT + "never reached", "a b c d e f", budget=3, limit=4)
    assert (found.text, found.finish, found.token_count) == ("a b c d ", "length", 4)


def test_an_answer_that_the_budget_cut_is_asked_for_again_behind_its_thought() -> None:
    found, calls = asked(THOUGHT + "a b c d e", "", budget=8, limit=4)
    assert [call["max_tokens"] for call in calls] == [8, 4]
    assert calls[1]["prompt"] == "P:" + THOUGHT
    assert (found.text, found.finish, found.thinking_end) == ("a b c d ", "length", "closed")
    assert found.usage is not None
    assert found.usage.calls == 2


def test_an_answer_beyond_its_limit_is_asked_for_again_within_it() -> None:
    found, calls = asked(THOUGHT + "a b c d e", "", budget=50, limit=4)
    assert [call["max_tokens"] for call in calls] == [50, 4]
    assert (found.text, found.finish) == ("a b c d ", "length")
    # A stop string that came first settles it.
    found, calls = asked(THOUGHT + "a\n\nb c d e", "", budget=50, limit=4, stop=("\n\n",))
    assert len(calls) == 1
    assert (found.text, found.finish) == ("a", "stop")


def test_a_model_that_does_not_think_is_asked_for_its_answer() -> None:
    found, calls = asked("a b c d e", "", budget=3, limit=4, stop=("\n\n",))
    assert [call["max_tokens"] for call in calls] == [3, 4]
    assert calls[0]["prompt"] == calls[1]["prompt"] == "P:"
    assert calls[1]["stop"] == ["\n\n"]
    assert (found.text, found.finish, found.thinking_end) == ("a b c d ", "length", "none")
    found, calls = asked("B", "", budget=3, limit=4)
    assert (found.text, len(calls)) == ("B", 1)


def test_a_model_that_ends_inside_its_thought_has_given_no_answer() -> None:
    found, calls = asked("<think> one", "", budget=9, limit=4)
    assert len(calls) == 1
    assert (found.text, found.thinking, found.thinking_end) == ("", "one", "open")


def test_no_budget_asks_for_the_answer_at_once() -> None:
    found, calls = asked("", "B", budget=0, limit=4, prompt="P:<think>\n")
    assert [call["prompt"] for call in calls] == ["P:<think>\n\n</think>\n\n"]
    assert (found.text, found.thinking_end) == ("B", "budget")
    found, calls = asked(THOUGHT, "B", budget=0, limit=4)
    assert [call["prompt"] for call in calls] == ["P:", "P:<think> \n</think>\n\n"]
    assert (found.text, found.thinking_end) == ("B", "budget")


def test_half_a_character_is_not_put_before_an_answer() -> None:
    said = {"": ("<think>駅\ufffd", "length"), "<think>駅\n</think>\n\n": ("B", "stop")}

    def script(before: int, body: Mapping[str, Any]) -> Answer:
        text, finish = said[body["prompt"].removeprefix("P:")]
        return Answer({"choices": [{"text": text, "finish_reason": finish}]})

    request = Generate("k", "P:", (), 4, thinking=Thinking(budget=2))
    with misbehaving(script) as server:
        ((_, response),) = opened(server).run([request])
    assert isinstance(response, Text), response
    assert (response.text, response.thinking) == ("B", "駅")


def test_tokens_go_on_behind_tokens(llama_folder: Any, bos_tokenizer: Any) -> None:
    def script(before: int, body: Mapping[str, Any]) -> Answer:
        text = "<think>The lazy" if len(sent) == 0 else "blue"
        sent.append(body["prompt"])
        finish = "length" if len(sent) == 1 else "stop"
        choice = {"index": 0, "text": text, "finish_reason": finish}
        return Answer({"choices": [choice]})

    sent: list[list[int]] = []
    request = Generate("k", "The dog", (), 9, thinking=Thinking(budget=5))
    with misbehaving(script) as server:
        ((_, response),) = opened(server, tokenizer=str(llama_folder)).run([request])
    assert isinstance(response, Text)
    assert response.text == "blue"
    head = bos_tokenizer("<think>The lazy\n</think>\n\n", add_special_tokens=False)["input_ids"]
    assert sent[1] == [*sent[0], *head]


def test_a_llama_chat_goes_on_in_the_answer_that_has_begun() -> None:
    found, calls = asked(THOUGHT + "never", "B", 3, 4, is_chat=True, models=LLAMA)
    assert [call["max_tokens"] for call in calls] == [3, 4]
    assert all(call["reasoning_format"] == "none" for call in calls)
    assert calls[1]["messages"][-1] == {
        "role": "assistant",
        "content": "<think> one two \n</think>\n\n",
    }
    # Its content repeats what the answer began with.
    assert (found.text, found.thinking, found.thinking_end) == ("B", "one two", "budget")


def test_other_chats_have_one_call_for_both() -> None:
    found, calls = asked(THOUGHT + "B", "", budget=3, limit=4, is_chat=True)
    assert [call["max_tokens"] for call in calls] == [7]
    assert (found.text, found.thinking_end) == ("B", "closed")
    assert "reasoning_format" not in calls[0]


@pytest.mark.parametrize("at", [0, 1])
def test_a_call_that_fails_fails_the_document(at: int) -> None:
    write = writer(THOUGHT + "never", "B")
    calls: list[int] = []

    def script(before: int, body: Mapping[str, Any]) -> Answer:
        calls.append(1)
        return Answer({"error": "no"}, 400) if len(calls) == at + 1 else write(before, body)

    request = Generate("k", "P:", (), 4, thinking=Thinking(budget=3))
    with misbehaving(script) as server:
        ((_, response),) = opened(server).run([request])
    assert isinstance(response, Failure)
    assert response.kind == "refused"
