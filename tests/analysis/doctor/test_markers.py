"""Words that look like special tokens: found in templates, and read by tokenizers that differ."""

from __future__ import annotations

from typing import Any

import pytest

from tenbin.analysis.doctor.markers import (
    Marker,
    find_markers,
    fixed_texts,
    judge_markers,
    read_markers,
)
from tenbin.records import Template
from tests.analysis.doctor.written import reader


def read(*words: str, stop: tuple[str, ...] = (), **options: Any) -> tuple[Marker, ...]:
    opened = reader(**options)
    encoded = dict(zip(words, opened.encode(words), strict=True))
    return read_markers(words, encoded, opened.vocabulary, opened.decode, stop)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ユーザー: 前提<NL>仮説<NL>システム: ", ["<NL>"]),
        ("<s>[INST] <<SYS>>\n{{ a }}\n<</SYS>>\n\n", ["<s>", "[INST]", "<<SYS>>", "<</SYS>>"]),
        (" [/INST] ", ["[/INST]"]),
        (" </s><s>[INST] ", ["</s>", "<s>", "[INST]"]),
        ("<|im_start|>user\na<|im_end|>", ["<|im_start|>", "<|im_end|>"]),
        ("<start_of_turn>user", ["<start_of_turn>"]),
        ("<｜User｜>", ["<｜User｜>"]),
        # Headings, options and JSON of the catalog are no special tokens.
        ("[問題]に対する[答え]を[選択肢]の中から", []),
        ("{'answer': '[choice]'} where [choice] must be A", []),
        ("a < b > c, 1 << 2, <b>bold</b>, [A], [1]", []),
        ("{{ '<NL>' if a else '[INST]' }}", []),
    ],
)  # fmt: skip
def test_what_looks_like_a_special_token(text: str, expected: list[str]) -> None:
    assert find_markers([text]) == expected


def test_a_template_is_searched_in_all_its_parts() -> None:
    template = Template("0", "<A1>", "{{ a }}<B1>", ("<C1>", "x"), 0, "<D1>", "<E1>", ("<F1>",))
    assert find_markers(fixed_texts(template)) == ["<A1>", "<B1>", "<D1>", "<E1>", "<C1>", "<F1>"]


def test_how_a_tokenizer_reads_them() -> None:
    found = read("<NL>", "[INST]", "</s>", special=["<NL>"], added=["[INST]"])
    assert [marker.reading for marker in found] == ["special", "added", "special"]
    (spelled,) = read("<NL>")
    assert spelled.reading == "spelled" and spelled.pieces == ("<", "N", "L", ">")
    assert not spelled.is_known
    (merged,) = read("<>", merges=["<>"])
    assert merged.reading == "one token"


def test_known_ones_are_nothing_to_speak_of() -> None:
    assert judge_markers(read("<NL>", "</s>", special=["<NL>"]), 3, ("<NL>",)) == []


def test_unknown_ones_are_a_warning() -> None:
    (finding,) = judge_markers(read("<NL>", "</s>"), 3, ())
    assert (finding.code, finding.severity) == ("unknown_markers", "warning")
    assert finding.message == "read as plain text: <NL> (4 tokens)"
    assert finding.examples[0].seen == "<NL> is read as '<' · 'N' · 'L' · '>'"


def test_what_the_chat_template_spells_too_is_the_model_s_own_format() -> None:
    chat = "{{ bos_token }}[INST] {{ messages[0].content }} [/INST]"
    markers = read("[INST]", "[/INST]", "<<SYS>>", chat_template=chat)
    assert [marker.is_known for marker in markers] == [True, True, False]
    (finding,) = judge_markers(markers, 3, ())
    assert "<<SYS>>" in finding.message and "[INST]" not in finding.message


def test_a_chat_format_of_unknown_tokens_is_a_warning() -> None:
    (finding,) = judge_markers(read("[INST]", chat_template="[INST]"), 3, (), from_chat=True)
    assert finding.code == "spelled_chat_markers"


def test_an_unknown_stop_string_never_comes() -> None:
    codes = [finding.code for finding in judge_markers(read("<NL>"), 3, ("<NL>",))]
    assert codes == ["unknown_markers", "unreachable_stop"]
    assert judge_markers(read("<NL>"), 3, ("<NL>",))[1].severity == "problem"
    # Another stop string that can come ends the answer.
    assert [f.code for f in judge_markers(read("<NL>"), 3, ("<NL>", "\n"))] == ["unknown_markers"]
