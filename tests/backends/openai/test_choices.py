"""Choices named by letter: what is asked, what is read, and what is kept of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pytest

from tenbin.backends.finite import NotFiniteError
from tenbin.backends.openai.choices import (
    first_tokens,
    label_logprobs,
    letter_question,
    own_labels,
    wording_for,
)
from tenbin.backends.openai.conversation import read_conversation, write_conversation
from tenbin.records import Failure, Picked, Response, Rolling, Score
from tests.backends.openai.misbehaving import Answer, chat, completion, misbehaving, opened

TEXTS = Score("k", "植物が養分を作るはたらきは？\n回答：", ("蒸散", "光合成", "受粉"))
LETTERS = Score("k", "Which?\nA. stone\nB. apple\nAnswer:", (" A. stone", " B. apple"))


def shown(**tokens: Any) -> dict[str, Any]:
    """Log-probabilities of first tokens, as chats show them."""
    top = [{"token": name.replace("_", " "), "logprob": value} for name, value in tokens.items()]
    return {"content": [{**top[0], "top_logprobs": top}]}


def asked(
    request: Score, answer: Any, is_chat: bool = True, **arguments: Any
) -> tuple[Response, list[Mapping[str, Any]]]:
    with misbehaving(lambda before, body: answer(body), None) as server:
        ((_, response),) = opened(server, is_chat, **arguments).run([request])
        return response, server.calls


def lettered(body: Any) -> Answer:
    answer = chat("B, I think")
    if body.get("logprobs"):
        answer["choices"][0]["logprobs"] = shown(The=-0.1, B=-3.0, _B=-4.0, A=-5.0)
    return Answer(answer)


def test_the_likeliest_letter_among_the_first_tokens() -> None:
    response, calls = asked(LETTERS, lettered)
    assert isinstance(response, Picked)
    assert (response.choice, response.way, response.text) == (1, "letter_logprobs", "B, I think")
    assert response.logprobs[1] == pytest.approx(math.log(math.exp(-3.0) + math.exp(-4.0)))
    assert response.logprobs[0] == -5.0
    assert (response.labels, response.added) == (("A", "B"), "")
    # One call to find out what the server shows, then the document.
    assert [call["top_logprobs"] for call in calls] == [20, 20]
    assert calls[1]["messages"] == [{"role": "user", "content": LETTERS.prompt}]


def test_choices_without_labels_get_letters_and_an_instruction() -> None:
    response, calls = asked(TEXTS, lettered)
    assert isinstance(response, Picked)
    added = (
        "\n\nA. 蒸散\nB. 光合成\nC. 受粉\n\n"
        "上の選択肢から最も適切なものを一つ選び、その記号だけを答えてください。"
    )
    assert response.added == added
    assert calls[1]["messages"][0]["content"] == TEXTS.prompt + added
    assert response.logprobs[2] is None
    response, _ = asked(TEXTS, lettered, instruction="記号で")
    assert isinstance(response, Picked)
    assert response.added.endswith("C. 受粉\n\n記号で")


def test_a_conversation_goes_on_in_its_last_message() -> None:
    turns = [{"role": "system", "content": "s"}, {"role": "user", "content": TEXTS.prompt}]
    question = letter_question(
        Score("k", write_conversation(turns), TEXTS.continuations), None, True
    )
    assert not isinstance(question, Failure)
    messages = read_conversation(question.prompt)
    assert messages[0] == turns[0]
    assert messages[1]["content"] == TEXTS.prompt + question.added


@pytest.mark.parametrize("refusal", [400, None], ids=["refused", "left out"])
def test_without_first_tokens_the_text_is_kept_for_reading(refusal: int | None) -> None:
    def answer(body: Any) -> Answer:
        if body.get("logprobs") and refusal:
            return Answer({"error": {"message": "logprobs are not supported"}}, refusal)
        return Answer(chat("The answer is B."))

    response, calls = asked(LETTERS, answer)
    assert isinstance(response, Picked)
    assert (response.choice, response.way) == (None, "generated")
    assert response.text == "The answer is B."
    assert "logprobs" not in calls[-1]
    # Tried with 20 and with 5, or once where the server says nothing against it.
    assert len(calls) == (3 if refusal else 2)


def test_logprobs_never_asks_for_none() -> None:
    response, calls = asked(LETTERS, lettered, logprobs="never", choice_tokens=4)
    assert isinstance(response, Picked)
    assert response.way == "generated"
    assert [call.get("logprobs") for call in calls] == [None]
    assert calls[0]["max_tokens"] == 4


def test_a_thought_says_nothing_of_the_letters() -> None:
    def answer(body: Any) -> Answer:
        found = chat("B", reasoning_content="A or B?")
        found["choices"][0]["logprobs"] = shown(A=-0.1, B=-2.0)
        return Answer(found)

    response, _ = asked(LETTERS, answer)
    assert isinstance(response, Picked)
    assert (response.way, response.choice, response.text) == ("generated", None, "B")


def test_completions_name_letters_where_asked_to() -> None:
    def answer(body: Any) -> Answer:
        if body["logprobs"] > 5:
            return Answer({"error": {"message": "at most 5 logprobs"}}, 400)
        tops = {"tokens": [" B"], "top_logprobs": [{" B": -0.5, " A": -1.5}]}
        return Answer(completion(" B", logprobs=tops))

    response, calls = asked(TEXTS, answer, is_chat=False, choices="letters")
    assert isinstance(response, Picked)
    assert (response.choice, response.logprobs) == (1, (-1.5, -0.5, None))
    assert response.added.endswith("答えてください。\n回答:")
    assert calls[-1]["prompt"] == TEXTS.prompt + response.added


def test_what_cannot_be_named() -> None:
    with misbehaving(lambda before, body: lettered(body)) as server:
        backend = opened(server, True)
        found = dict(backend.run([Rolling("r", "text"), Score("e", "", ("a", "b"))]))
        assert not backend.capabilities.likelihoods
    assert {type(one) for one in found.values()} == {Failure}


@pytest.mark.parametrize(
    ("choices", "prompt", "labels"),
    [
        (("A", "B"), "A. x\nB. y", ("A", "B")),
        (("0", "1"), "選択肢:0.蒸散,1.発芽", ("0", "1")),
        (("A. x", "B. y"), "A. x\nB. y", ("A", "B")),
        (("A", "B"), "nothing is shown", None),
        (("A. x", "A. y"), "A. x\nA. y", None),
        (("Apple", "Bread"), "A. Apple B. Bread", None),
        (("positive", "negative"), "positive or negative?", None),
        (("A",), "A", None),
    ],
)
def test_labels_that_a_prompt_shows(
    choices: tuple[str, ...], prompt: str, labels: tuple[str, ...] | None
) -> None:
    assert own_labels(choices, prompt) == labels


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("日本の首都はどこですか", "kana"),
        ("中国的首都是哪里", "han"),
        ("한국의 수도는 어디입니까", "hangul"),
        ("เมืองหลวงของไทยคือ", "thai"),
        ("ما هي عاصمة مصر", "arabic"),
        ("Quelle est la capitale de la France", "latin"),
        ("A long English sentence that mentions 東京 once and goes on for a good while", "latin"),
        ("Passage: ある自転車レースに、佐藤さんが参加しました。Question: どれですか。", "kana"),
    ],
)
def test_the_script_of_a_prompt(text: str, script: str) -> None:
    assert wording_for(text).script == script


def test_first_tokens_of_either_shape() -> None:
    def body(logprobs: Any) -> dict[str, Any]:
        return {"choices": [{"logprobs": logprobs}]}

    assert first_tokens(body(shown(A=-1.0, B=-2.0))) == [("A", -1.0), ("B", -2.0)]
    assert first_tokens(body({"top_logprobs": [{"A": -1.0}]})) == [("A", -1.0)]
    for nothing in (None, {}, {"content": []}, {"top_logprobs": [None]}):
        assert first_tokens(body(nothing)) is None
    assert first_tokens({"choices": []}) is None
    assert label_logprobs([("Ａ", -1.0), ("b", -2.0)], ("A", "B")) == (-1.0, None)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, None, 10**400])
def test_a_letter_whose_log_probability_is_not_finite_is_no_choice(value: Any) -> None:
    def answer(body: Any) -> Answer:
        found = chat("B")
        is_probe = "colour" in body["messages"][0]["content"]
        found["choices"][0]["logprobs"] = shown(A=-5.0, B=-3.0 if is_probe else value)
        return Answer(found)

    response, _ = asked(LETTERS, answer)
    assert isinstance(response, Failure) and response.kind == "not_finite", response


def test_what_cannot_come_first_may_have_minus_infinity() -> None:
    def answer(body: Any) -> Answer:
        found = chat("B")
        found["choices"][0]["logprobs"] = shown(A=-5.0, B=-3.0, The=-math.inf, Q=None)
        return Answer(found)

    response, _ = asked(LETTERS, answer)
    assert isinstance(response, Picked) and response.choice == 1


def test_a_server_whose_model_is_broken_is_asked_no_document() -> None:
    def answer(body: Any) -> Answer:
        found = chat("!!!!")
        found["choices"][0]["logprobs"] = shown(A=math.nan, B=math.nan)
        return Answer(found)

    with pytest.raises(NotFiniteError, match="gives nan for the first token"):
        asked(LETTERS, answer)


def test_letters_beyond_what_can_be_exponentiated() -> None:
    assert label_logprobs([("A", -800.0), (" A", -900.0)], ("A",)) == (-800.0,)
