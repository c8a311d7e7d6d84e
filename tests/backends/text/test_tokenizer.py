"""BOS exactly once, no EOS, and where a prompt ends."""

from __future__ import annotations

from typing import Any

import pytest

from tenbin.backends.base import Tokenizer
from tenbin.backends.text.encoding import EncodedScore, encode_scores
from tenbin.backends.text.tokenizer import HfTokenizer, window_of
from tenbin.errors import BackendError, ConfigError
from tenbin.records import Failure, Score
from tests.backends.tiny import make_tokenizer

BOS = 1


def ids_of(tokenizer: HfTokenizer, text: str) -> tuple[int, ...]:
    return tokenizer.encode_prompts([text])[text]


def rows(tokenizer: HfTokenizer, encoding: Any, prompt: str, *texts: str) -> Any:
    (found,) = encode_scores(tokenizer, encoding, [Score("k", prompt, texts)])
    return found


@pytest.mark.parametrize(
    ("adds", "add_bos", "expected"),
    [
        (True, None, 1),
        (True, True, 1),
        (True, False, 0),
        (False, None, 0),
        (False, True, 1),
        (False, False, 0),
    ],
)
def test_bos_is_there_exactly_once(adds: bool, add_bos: bool | None, expected: int) -> None:
    tokenizer = HfTokenizer(make_tokenizer(add_bos=adds), 64, add_bos)
    assert isinstance(tokenizer, Tokenizer)
    plain = ids_of(tokenizer, "The answer")
    assert plain.count(BOS) == expected
    assert ids_of(tokenizer, "<s>The answer").count(BOS) == 1
    chat = tokenizer.chat([{"role": "user", "content": "a"}])
    assert chat == "<s>[user]a\n[assistant]"
    assert ids_of(tokenizer, chat).count(BOS) == 1
    assert tokenizer.prompt_lengths(["The answer", "a", "The answer"])[0] == len(plain)
    assert tokenizer.examine("The answer", ["!"], 0).bos_count == expected
    joint = rows(tokenizer, "joint", "The answer", " is").rows[0]
    assert joint.ids.count(BOS) == expected
    separate = rows(tokenizer, "separate", "The answer", " is").rows[0]
    assert separate.ids.count(BOS) == expected


def test_an_appended_end_is_left_away() -> None:
    tokenizer = HfTokenizer(make_tokenizer(add_bos=True, add_eos=True), 64)
    assert ids_of(tokenizer, "a b")[0] == BOS
    assert 2 not in ids_of(tokenizer, "a b")
    only_end = HfTokenizer(make_tokenizer(add_eos=True), 64)
    assert not {1, 2} & set(ids_of(only_end, "a b"))


def test_bos_that_is_not_there_cannot_be_added() -> None:
    inner = make_tokenizer()
    inner.bos_token = None
    with pytest.raises(ConfigError, match="no beginning-of-sequence"):
        HfTokenizer(inner, 64, True)
    assert HfTokenizer(inner, 64).start_token == 2


def test_white_space_moves_to_the_answer_in_joint_encoding(tokenizer: Any) -> None:
    wrapped = HfTokenizer(tokenizer, 64)
    joint = rows(wrapped, "joint", "The answer is \n", "a").rows[0]
    context = ids_of(wrapped, "The answer is")
    assert joint.ids[: len(context)] == context
    assert tokenizer.decode(joint.ids[-joint.scored :]) == " \na"
    separate = rows(wrapped, "separate", "The answer is \n", "a").rows[0]
    assert tokenizer.decode(separate.ids[-separate.scored :]) == "a"


@pytest.mark.parametrize(("encoding", "first"), [("joint", 1), ("separate", 2)])
def test_empty_prompts_get_one_token(tokenizer: Any, encoding: Any, first: int) -> None:
    row = rows(HfTokenizer(tokenizer, 64), encoding, "", "東京").rows[0]
    assert row.ids[0] == first
    assert row.scored == len(row.ids) - 1


def test_an_answer_that_brings_bos_meets_no_second(tokenizer: Any) -> None:
    row = rows(HfTokenizer(tokenizer, 64), "joint", "", "<s>a b").rows[0]
    assert row.ids.count(BOS) == 1
    blank = rows(HfTokenizer(tokenizer, 64), "joint", "  ", "a").rows[0]
    assert blank.ids[0] == BOS and blank.scored == len(blank.ids) - 1


def test_nothing_left_of_an_answer_is_a_failure(tokenizer: Any) -> None:
    wrapped = HfTokenizer(tokenizer, 64)
    prompt, text = "Th", "e"
    assert len(ids_of(wrapped, "Th")) >= len(ids_of(wrapped, "The")) == 1
    failure = rows(wrapped, "joint", prompt, text)
    assert isinstance(failure, Failure)
    assert failure.kind == "empty_continuation"
    assert prompt in failure.message and "--encoding separate" in failure.message
    assert wrapped.examine(prompt, [text], 0).merged
    assert isinstance(rows(wrapped, "separate", prompt, text), EncodedScore)
    assert isinstance(rows(wrapped, "separate", "a", ""), Failure)


def test_truncation_keeps_the_end(tokenizer: Any) -> None:
    wrapped = HfTokenizer(tokenizer, 8)
    found = rows(wrapped, "joint", "a b c d e f g " * 4, "a", "a b c")
    assert [len(row.ids) for row in found.rows] == [9, 9]
    boundary = wrapped.examine("a b c d e f g " * 4, ["a", "a b c"], 0)
    assert found.truncated == boundary.overflow > 0
    too_long = rows(wrapped, "joint", "a", " b" * 20)
    assert isinstance(too_long, Failure) and too_long.kind == "continuation_too_long"
    assert wrapped.examine("a", None, 10).overflow == 3


class Counting:
    """A tokenizer that remembers the batches it was given."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.batches: list[list[str]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def __call__(self, texts: Any, **options: Any) -> Any:
        self.batches.append(list(texts))
        return self._inner(texts, **options)


def test_each_distinct_text_is_encoded_once(tokenizer: Any) -> None:
    counting = Counting(tokenizer)
    wrapped = HfTokenizer(counting, 64)
    counting.batches.clear()
    requests = [Score(str(at), "The answer is", (" a", " b")) for at in range(5)]
    list(encode_scores(wrapped, "joint", requests))
    assert counting.batches == [["The answer is", "The answer is a", "The answer is b"]]


def test_chat_without_template_and_without_system_role() -> None:
    inner = make_tokenizer()
    turns = [{"role": "system", "content": "規則"}, {"role": "user", "content": "問"}]
    plain = HfTokenizer(inner, 64)
    assert plain.chat(turns) == "<s>[system]規則\n[user]問\n[assistant]"
    assert not plain.system_role_folded
    for refusal in ("{{ raise_exception('no system role') }}", ""):
        inner.chat_template = (
            "{% for m in messages %}{% if m['role'] == 'system' %}" + refusal + "{% else %}"
            "[{{ m['role'] }}]{{ m['content'] }}{% endif %}{% endfor %}"
        )
        folding = HfTokenizer(inner, 64)
        assert folding.chat(turns) == "[user]規則\n\n問"
        assert folding.system_role_folded
    inner.chat_template = "{{ raise_exception('never') }}"
    with pytest.raises(BackendError, match="never"):
        HfTokenizer(inner, 64).chat(turns)
    inner.chat_template = None
    without = HfTokenizer(inner, 64)
    assert not without.has_chat_template
    with pytest.raises(BackendError, match="no chat template"):
        without.chat(turns)


def test_the_window_comes_from_config_or_tokenizer(tokenizer: Any) -> None:
    from transformers import GPT2Config, LlamaConfig, MambaConfig

    assert window_of(LlamaConfig(max_position_embeddings=77), tokenizer) == 77
    assert window_of(GPT2Config(n_positions=55), tokenizer) == 55
    assert window_of(MambaConfig(), tokenizer) == 2048
    sane = make_tokenizer()
    sane.model_max_length = 99
    assert window_of(MambaConfig(), sane) == 99


def test_variables_of_a_chat_template() -> None:
    inner = make_tokenizer()
    inner.chat_template = (
        "{% for m in messages %}{{ m['content'] }}{% endfor %}"
        "{% if enable_thinking is defined and enable_thinking is false %}<think></think>{% endif %}"
    )
    tokenizer = HfTokenizer(inner, 64)
    turns = [{"role": "user", "content": "a"}]
    assert tokenizer.chat(turns) == tokenizer.chat(turns, {"enable_thinking": True}) == "a"
    assert tokenizer.chat(turns, {"enable_thinking": False}) == "a<think></think>"
    with pytest.raises(ConfigError, match="thinking: the model's chat template has no such"):
        tokenizer.chat(turns, {"thinking": False})


def test_marks_of_thoughts_show_in_a_template_or_a_vocabulary() -> None:
    inner = make_tokenizer()
    assert HfTokenizer(inner, 64).thinking_marks is None
    inner.chat_template = "{{ content.split('</think>')[-1] }}"
    assert HfTokenizer(inner, 64).thinking_marks == ("<think>", "</think>")
    inner.chat_template = None
    inner.add_tokens(["[THINK]", "[/THINK]"])
    assert HfTokenizer(inner, 64).thinking_marks == ("[THINK]", "[/THINK]")
