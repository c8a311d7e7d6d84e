"""Sentencepiece tokenizers: the dummy space, byte tokens, `<NL>` and BOS."""

from __future__ import annotations

from typing import Any

import pytest

from tenbin.backends.text.encoding import EncodedScore, encode_scores
from tenbin.backends.text.stop_criteria import Detokenizer, TextCompletion
from tenbin.backends.text.tokenizer import HfTokenizer
from tenbin.records import Failure, Score, Text
from tests.backends.pieces import metaspace_tokenizer, sentencepiece_tokenizer
from tests.backends.tiny import make_tokenizer

KINDS = ["llama", "metaspace-always", "metaspace-first", "byte-level"]


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return {
        "llama": sentencepiece_tokenizer(tmp_path_factory.mktemp("pieces")),
        "metaspace-always": metaspace_tokenizer("always"),
        "metaspace-first": metaspace_tokenizer("first"),
        "byte-level": make_tokenizer(add_bos=True),
    }


@pytest.fixture(params=KINDS)
def inner(request: pytest.FixtureRequest, made: dict[str, Any]) -> Any:
    return made[request.param]


def split_once(tokenizer: Any, prompt: str, answer: str) -> tuple[list[int], list[int]]:
    """The rule in words: white space at the prompt's end belongs to the answer; the whole text is
    encoded once, and the answer is what is left of it after as many tokens as the prompt has."""
    stripped = prompt.rstrip()

    def ids(text: str) -> list[int]:
        special = not text.startswith(tokenizer.bos_token)
        return list(tokenizer.encode(text, add_special_tokens=special))

    context = ids(stripped)
    return context, ids(stripped + prompt[len(stripped) :] + answer)[len(context) :]


PAIRS = [
    ("The answer is", " blue"),
    ("The answer is ", "blue"),
    ("回答：\n", "駅"),
    ("日本の首都", "は東京"),
    ("日本の首都は　", "東京"),
    ("The quick bro", "wn fox"),
    ("a b c", "."),
    ("<s>[INST] a b [/INST]", " c"),
    ("<s>[INST] a </s><s>[INST] b ", "c"),
    ("a<NL>b<NL>", "c"),
    ("鰯🙂", "鯖"),
]


@pytest.mark.parametrize(("prompt", "answer"), PAIRS)
def test_joint_encoding_follows_the_rule(inner: Any, prompt: str, answer: str) -> None:
    tokenizer = HfTokenizer(inner, 128)
    (found,) = encode_scores(tokenizer, "joint", [Score("k", prompt, (answer,))])
    context, rest = split_once(inner, prompt, answer)
    if not rest:
        assert isinstance(found, Failure) and found.kind == "empty_continuation"
        return
    assert isinstance(found, EncodedScore)
    assert list(found.rows[0].ids) == context + rest
    assert found.rows[0].scored == len(rest)
    leading = [*found.rows[0].ids, -1, -1][:2].count(inner.bos_token_id)
    adds = inner("a")["input_ids"][0] == inner.bos_token_id
    assert leading == (1 if adds or prompt.startswith("<s>") else 0)


@pytest.mark.parametrize(("prompt", "answer"), [*PAIRS, ("", "東京")])
def test_separate_encoding_knows_no_special_tokens(inner: Any, prompt: str, answer: str) -> None:
    tokenizer = HfTokenizer(inner, 128, add_bos=False)
    (found,) = encode_scores(tokenizer, "separate", [Score("k", prompt, (answer,))])
    apart = [inner.encode(text, add_special_tokens=False) for text in (prompt, answer)]
    assert isinstance(found, EncodedScore)
    assert list(found.rows[0].ids) == (apart[0] or [inner.eos_token_id]) + apart[1]
    assert found.rows[0].scored == len(apart[1])


def test_delimiters_inside_a_prompt_are_single_tokens(inner: Any) -> None:
    tokenizer = HfTokenizer(inner, 128)
    prompt = "<s>[INST] a [/INST] b </s><s>[INST] c [/INST]"
    ids = tokenizer.encode_prompts([prompt])[prompt]
    assert (ids.count(inner.bos_token_id), ids.count(inner.eos_token_id)) == (2, 1)
    assert ids[0] == inner.bos_token_id != ids[1]
    text = "a<NL>b"
    new_line = inner.convert_tokens_to_ids("<NL>")
    assert tokenizer.encode_prompts([text])[text].count(new_line) == 1


def written(tokenizer: Any, ids: list[int], stop: tuple[str, ...], limit: int = 999) -> Text:
    writing = TextCompletion(Detokenizer(tokenizer, stop), {tokenizer.eos_token_id}, limit)
    for token in [*ids, tokenizer.eos_token_id]:
        if writing.add(token):
            break
    return writing.result(0)


@pytest.mark.parametrize("text", ["The answer is blue.", "日本の首都は東京です。", " a b", "a  b"])
def test_text_neither_gains_nor_loses_a_space(inner: Any, text: str) -> None:
    """What is written after a prompt reads as it does inside the whole text."""
    whole = list(inner.encode("a" + text, add_special_tokens=False))
    for at in range(1, len(whole)):
        before, after = inner.decode(whole[:at]), inner.decode(whole)
        if "\ufffd" not in before:
            assert written(inner, whole[at:], ()).text == after[len(before) :]


def test_a_new_line_token_stops(inner: Any) -> None:
    ids = list(inner.encode("東京です<NL>質問", add_special_tokens=False))
    assert written(inner, ids, ("<NL>",)).text.strip() == "東京です"
    assert written(inner, ids, ("<NL>",)).finish == "stop"
    unstopped = written(inner, ids, ("\n",))
    assert unstopped.finish == "end" and "<NL>" not in unstopped.text


def test_names_of_special_tokens_are_no_text(inner: Any) -> None:
    ids = list(inner.encode("東京", add_special_tokens=False))
    for stop in ("s", ">", "/"):
        answer = written(inner, ids, (stop,))
        assert (answer.text.strip(), answer.finish) == ("東京", "end")


@pytest.mark.parametrize("kind", ["llama", "byte-level"])
def test_bytes_make_whole_characters(made: dict[str, Any], kind: str) -> None:
    text = "鰯鯖🙂鰹鱈" * 8
    ids = list(made[kind].encode(text, add_special_tokens=False))
    for limit in range(1, 30):
        found = written(made[kind], ids, (), limit).text
        assert text.startswith(found.lstrip(" ")) and "\ufffd" not in found
        # At most the unfinished character is wanting.
        decoded = made[kind].decode(ids[: limit + 3]).lstrip(" ").rstrip("\ufffd")
        assert len(found) >= len(decoded) - 2
    for place in range(40):
        stop = text[place : place + 1]
        assert written(made[kind], ids, (stop,)).text.lstrip(" ") == text[: text.find(stop)]


def test_a_stop_far_into_bytes_is_found(made: dict[str, Any]) -> None:
    tokenizer = made["llama"]
    for count in range(1, 24):
        ids = tokenizer.encode("鰯" * count + "\n" + "鯖" * 3, add_special_tokens=False)
        answer = written(tokenizer, list(ids), ("\n",))
        assert (answer.text.lstrip(" "), answer.finish) == ("鰯" * count, "stop")


def test_tokens_that_only_the_vocabulary_calls_special_are_left_out() -> None:
    from tokenizers import AddedToken

    tokenizer = make_tokenizer()
    tokenizer.add_tokens([AddedToken("<|turn|>", special=True)], special_tokens=True)
    tokenizer.add_tokens([AddedToken("<think>", special=False)])
    ids = list(tokenizer.encode("a<|turn|>b<think>c", add_special_tokens=False))
    assert written(tokenizer, ids, ()).text == "ab<think>c"
    assert written(tokenizer, ids, ("<|turn|>",)).text == "a"


@pytest.mark.parametrize("add_bos", [True, False])
def test_bos_is_the_users_choice(made: dict[str, Any], add_bos: bool) -> None:
    for inner in made.values():
        tokenizer = HfTokenizer(inner, 128, add_bos)
        ids = tokenizer.encode_prompts(["The answer", "<s>The answer"])
        assert ids["The answer"].count(inner.bos_token_id) == int(add_bos)
        assert ids["<s>The answer"].count(inner.bos_token_id) == 1
