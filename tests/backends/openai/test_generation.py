"""What is sent for a text, and what is made of the server's words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tenbin.backends.openai.conversation import (
    read_conversation,
    variables_of,
    with_text,
    write_conversation,
)
from tenbin.errors import ConfigError
from tenbin.records import Failure, Generate, Response, Sampling, Text, Thinking, Usage
from tests.backends.openai.misbehaving import Answer, chat, completion, misbehaving, opened

LLAMA = {"data": [{"id": "made-up", "owned_by": "llamacpp"}]}
VLLM = {"data": [{"id": "made-up", "owned_by": "vllm", "max_model_len": 99}]}


def one(
    request: Generate, answer: Any, is_chat: bool = False, models: Any = None, **arguments: Any
) -> tuple[Response, Mapping[str, Any]]:
    """The response to one request, and the body that was sent."""
    with misbehaving(lambda before, body: Answer(answer), models) as server:
        (_, response), *others = opened(server, is_chat, **arguments).run([request])
        assert not others
        assert server.paths == ["/v1/chat/completions" if is_chat else "/v1/completions"]
        return response, server.calls[0]


def test_a_greedy_text() -> None:
    body = completion("seven", "length")
    body["usage"]["prompt_tokens_details"] = {"cached_tokens": 5}
    response, sent = one(Generate("k", "three and four", ("\n",), 9), body)
    assert response == Text("seven", "length", 3, usage=Usage(7, 3, 5, 1))
    assert sent == {
        "model": "made-up",
        "prompt": "three and four",
        "max_tokens": 9,
        "temperature": 0,
        "stop": ["\n"],
    }


@pytest.mark.parametrize(
    ("told", "finish"),
    [({"stop_reason": "。"}, "stop"), ({"stop_reason": None}, "end"), ({}, "stop")],
)
def test_what_ended_a_text_as_far_as_the_server_tells(told: Any, finish: str) -> None:
    response, _ = one(Generate("k", "p", ("。",), 9), completion("駅", "stop", **told))
    assert isinstance(response, Text)
    assert response.finish == finish


def test_without_stops_a_text_can_only_have_ended_by_itself() -> None:
    response, sent = one(Generate("k", "p", (), 9), completion("駅", "stop"))
    assert isinstance(response, Text)
    assert response.finish == "end"
    assert "stop" not in sent


def test_stops_beyond_what_the_server_takes_are_cut_here() -> None:
    request = Generate("k", "p", ("1", "2", "3", "4", "5", "6"), 9)
    response, sent = one(request, completion("a6b5c", "length"))
    assert sent["stop"] == ["1", "2", "3", "4"]
    assert isinstance(response, Text)
    assert (response.text, response.finish) == ("a", "stop")


def test_a_drawn_text_says_how_in_each_servers_words() -> None:
    request = Generate("k", "p", (), 9, Sampling(0.7, 0.9, 20), seed=2**62 + 5)
    _, sent = one(request, completion("x"), models=VLLM)
    expected = {"temperature": 0.7, "top_p": 0.9, "top_k": 20, "min_p": 0.0, "seed": 5}
    assert sent | expected == sent
    assert sent["repetition_penalty"] == 1.0
    _, sent = one(request, completion("x"), models=LLAMA)
    assert sent | expected == sent
    assert sent["samplers"] == ["temperature", "top_k", "top_p"]
    _, sent = one(Generate("k", "p", (), 9, Sampling(0.7, 0.9), 5), completion("x"))
    assert sent | {"temperature": 0.7, "top_p": 0.9, "seed": 5} == sent
    assert "top_k" not in sent


def test_top_k_0_means_all_tokens_where_the_server_would_choose_by_itself() -> None:
    request = Generate("k", "p", (), 9, Sampling(0.7), seed=5)
    _, sent = one(request, completion("x"), models=VLLM)
    assert sent["top_k"] == -1
    _, sent = one(request, completion("x"), models=LLAMA)
    assert sent["top_k"] == 0


def test_top_k_is_refused_where_the_server_may_not_know_it() -> None:
    with misbehaving(lambda before, body: Answer(completion("x"))) as server:
        found = dict(opened(server).run([Generate("k", "p", (), 9, Sampling(0.7, 1.0, 20))]))
        assert server.calls == []
    response = found["k"]
    assert isinstance(response, Failure)
    assert "top_k 20" in response.message


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"choices": []}, "malformed"),
        ({"usage": {}}, "malformed"),
        ({"choices": [{"message": {"content": None}, "finish_reason": "stop"}]}, "malformed"),
        ({"choices": [{"message": {"content": "x"}, "finish_reason": "content_filter"}]},
         "content_filter"),
    ],
)  # fmt: skip
def test_no_text_is_a_failure_never_an_empty_answer(body: Any, kind: str) -> None:
    response, _ = one(Generate("k", "p", (), 9), body, is_chat=True)
    assert isinstance(response, Failure)
    assert response.kind == kind


def test_a_server_that_does_not_count_leaves_usage_unknown() -> None:
    response, _ = one(Generate("k", "p", (), 9), {"choices": [{"text": "x"}]})
    assert response == Text("x", "end", 0)


def test_conversations_arrive_as_messages() -> None:
    turns = [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": '「"引用"」\n'},
        {"role": "assistant", "content": "A"},
        {"role": "user", "content": "次"},
    ]
    request = Generate("k", write_conversation(turns), ("\n",), 9)
    response, sent = one(request, chat("はい"), is_chat=True, limit_field="max_completion_tokens")
    assert isinstance(response, Text)
    assert response.text == "はい"
    assert sent["messages"] == turns
    assert sent["max_completion_tokens"] == 9


def test_a_plain_prompt_is_one_message() -> None:
    _, sent = one(Generate("k", "三と四", (), 9), chat("七"), is_chat=True)
    assert sent["messages"] == [{"role": "user", "content": "三と四"}]


@pytest.mark.parametrize(
    "text",
    [
        '[{"role":"user", "content":"a"}]',
        '[{"role":1}]',
        '[{"role":',
        "",
        "[1]",
        '{"messages":[{"role":"user","content":"a"}]}',
        '{"messages":[{"role":"user","content":"a"}],"chat_template_kwargs":{}}',
        '{"messages":[{"role":"user","content":"a"}],"chat_template_kwargs":[1]}',
    ],
)
def test_a_document_that_looks_like_a_conversation_stays_a_text(text: str) -> None:
    assert read_conversation(text) == [{"role": "user", "content": text}]
    assert with_text(text, "!") == text + "!"


def test_variables_of_the_chat_template_are_part_of_the_prompt_and_of_the_call() -> None:
    turns = [{"role": "user", "content": "u"}]
    prompt = write_conversation(turns, {"enable_thinking": False, "depth": 2})
    assert prompt == write_conversation(turns, {"depth": 2, "enable_thinking": False})
    assert prompt != write_conversation(turns)
    _, sent = one(Generate("k", prompt, (), 9), chat("x"), is_chat=True, models=VLLM)
    assert sent["messages"] == turns
    assert sent["chat_template_kwargs"] == {"enable_thinking": False, "depth": 2}
    longer = with_text(prompt, " more")
    assert read_conversation(longer) == [{"role": "user", "content": "u more"}]
    assert variables_of(longer) == variables_of(prompt)
    _, sent = one(Generate("k", write_conversation(turns), (), 9), chat("x"), is_chat=True)
    assert "chat_template_kwargs" not in sent


def test_a_server_that_may_not_take_variables_is_not_asked() -> None:
    turns, variables = [{"role": "user", "content": "u"}], {"enable_thinking": False}
    with misbehaving(lambda before, body: Answer(chat("x"))) as server:
        format = opened(server, is_chat=True).capabilities.chat_format
        assert format is not None
        with pytest.raises(ConfigError, match="not known to accept variables") as raised:
            format.chat(turns, variables)
    assert "tokenizer=PATH" in raised.value.hint
    with misbehaving(lambda before, body: Answer(chat("x")), VLLM) as server:
        format = opened(server, is_chat=True).capabilities.chat_format
        assert format is not None
        assert variables_of(format.chat(turns, variables)) == variables


def test_a_conversation_goes_on_in_its_last_message() -> None:
    turns = [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]
    longer = read_conversation(with_text(write_conversation(turns), " more"))
    assert longer == [turns[0], {"role": "user", "content": "u more"}]


THINKING = Thinking(budget=100)


@pytest.mark.parametrize(
    "message",
    [
        {"text": "<think>one\n\ntwo</think>\n\nB\n\nC"},
        {"text": "\n\nB\n\nC", "reasoning_content": "one\n\ntwo\n"},
        {"text": "B\n\nC", "reasoning": "one\n\ntwo"},
        {"text": "one\n\ntwo</think>B\n\nC"},
    ],
    ids=["marks", "reasoning_content", "reasoning", "opened-by-the-prompt"],
)
def test_thoughts_are_kept_apart_and_stops_hold_for_the_answer(message: dict[str, str]) -> None:
    body = chat(message.pop("text"), "stop", **message)
    body["usage"] = {
        "prompt_tokens": 7,
        "completion_tokens": 30,
        "completion_tokens_details": {"reasoning_tokens": 26},
    }
    request = Generate("k", "p", ("\n\n",), 9, thinking=THINKING)
    response, sent = one(request, body, is_chat=True)
    assert "stop" not in sent
    assert sent["max_tokens"] == 109
    assert response == Text(
        "B", "stop", 4, thinking="one\n\ntwo", thinking_tokens=26, thinking_end="closed",
        usage=Usage(7, 30),
    )  # fmt: skip


def test_a_thought_without_an_end_has_no_answer() -> None:
    request = Generate("k", "p", (), 9, thinking=THINKING)
    for body in (
        chat("<think>and then", "length"),
        chat(None, "length", reasoning_content="and then"),
    ):
        response, _ = one(request, body, is_chat=True)
        assert isinstance(response, Text)
        assert (response.text, response.thinking) == ("", "and then")
        assert (response.thinking_end, response.finish) == ("open", "length")


def test_thoughts_are_counted_by_the_tokenizer_where_the_server_does_not(
    llama_folder: Any, bos_tokenizer: Any
) -> None:
    body = completion("<think>The lazy dog</think>blue", "stop")
    body["usage"]["completion_tokens"] = 40
    request = Generate("k", "p", (), 9, thinking=Thinking(budget=20))
    response, _ = one(request, body, tokenizer=str(llama_folder))
    assert isinstance(response, Text)
    before = "<think>The lazy dog</think>"
    expected = len(bos_tokenizer(before, add_special_tokens=False)["input_ids"])
    assert (response.thinking_tokens, response.token_count) == (expected, 40 - expected)
