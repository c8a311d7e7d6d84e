"""Which templates look meant for which models: every sign, and none."""

from __future__ import annotations

from typing import Any

import pytest

from tenbin.analysis.doctor.markers import find_markers, fixed_texts, read_markers
from tenbin.analysis.doctor.template_fit import chat_kind, judge_fit
from tenbin.tasks.registry import load_registry
from tests.analysis.doctor.written import reader

JNLI = load_registry().newest("jnli")
CHATML = "{{ '<|im_start|>' }}"
LLAMA_2 = "{{ bos_token }}[INST] <<SYS>>{{ system }}<</SYS>> {{ m }} [/INST]"
MISTRAL = "{{ bos_token }}[INST] {{ m }} [/INST]"


def fit(template: str, chat: bool = False, **options: Any) -> tuple[str, str]:
    opened = reader(**options)
    wording = JNLI.templates[template]
    words = find_markers(fixed_texts(wording))
    encoded = dict(zip(words, opened.encode(words), strict=True))
    markers = read_markers(words, encoded, opened.vocabulary, opened.decode)
    found = judge_fit(wording, markers, opened.vocabulary, chat)
    return found.verdict, found.reason


@pytest.mark.parametrize(
    ("template", "options", "verdict", "reason"),
    [
        # A base model: nothing known but that nothing is known.
        ("0.2", {}, "likely", "no sign of tuning"),
        ("0.3", {}, "no sign", "plain text to any tokenizer"),
        ("0.4", {}, "unlikely", "<NL>: plain text"),
        ("0.5", {}, "no sign", "plain text to any tokenizer"),
        ("0.6", {}, "unlikely", "[INST]"),
        # The vocabulary has the template's newline.
        ("0.4", {"special": ["<NL>"]}, "likely", "<NL>: one token"),
        ("0.4", {"added": ["<NL>"]}, "likely", "<NL>: one token"),
        # Tuned by its name, without a chat template.
        ("0.2", {"names": ["x/some-7b-instruct"]}, "possible", "some-7b-instruct is tuned"),
        ("0.3", {"names": ["x/some-7b-instruct"]}, "possible", "no chat template"),
        ("0.3", {"names": ["x/ja-alpaca-7b"]}, "likely", "name says Alpaca"),
        # A chat model of another format.
        ("0.2", {"chat_template": CHATML}, "possible", "--apply_chat_template"),
        ("0.3", {"chat_template": CHATML}, "unlikely", "(ChatML)"),
        ("0.5", {"chat_template": CHATML}, "unlikely", "(ChatML)"),
        ("0.6", {"chat_template": CHATML}, "unlikely", "another kind (ChatML)"),
        # Llama-2 spells its markers out, and so does its chat template.
        ("0.6", {"chat_template": LLAMA_2}, "likely", "writes [INST] <<SYS>> <</SYS>> [/INST] too"),
        ("0.6", {"chat_template": MISTRAL}, "possible", "but not <<SYS>> <</SYS>>"),
        ("0.3", {"chat_template": "### 指示:\n{{ m }}"}, "likely", "Japanese Alpaca"),
        ("0.5", {"chat_template": "ユーザー: {{ m }}"}, "likely", "rinna"),
        # The model that the template names.
        ("0.4", {"names": ["rinna/japanese-gpt-neox-3.6b-instruction-sft"]}, "named", "rinna/"),
        ("0.5", {"names": ["models/bilingual-gpt-neox-4b-instruction-sft"]}, "named", "rinna/"),
        ("0.4", {"names": ["models/bilingual-gpt-neox-4b-instruction-sft"]}, "unlikely", "<NL>"),
        ("0.6", {"names": ["meta-llama/Llama-2-7b-chat-hf"]}, "named", "Llama-2-chat"),
        ("0.6", {"names": ["meta-llama/Llama-2-7b-hf"]}, "unlikely", "[INST]"),
    ],
)
def test_signs(template: str, options: dict[str, Any], verdict: str, reason: str) -> None:
    found = fit(template, **options)
    assert found[0] == verdict and reason in found[1], found


def test_a_plain_wording_inside_the_chat_format() -> None:
    assert fit("0.2", chat=True, chat_template=CHATML)[0] == "likely"
    verdict, reason = fit("0.3", chat=True, chat_template=CHATML)
    assert verdict == "unlikely" and "inside it" in reason


def test_wordings_for_base_models_beside_a_chat_template() -> None:
    wording = load_registry().newest("jcommonsenseqa").templates["0.1"]
    assert wording.meant_for == "base models"
    chatty = reader(chat_template=CHATML).vocabulary
    assert judge_fit(wording, (), chatty, False).verdict == "no sign"
    assert judge_fit(wording, (), reader().vocabulary, False).verdict == "likely"


def test_kinds_of_chat_templates() -> None:
    assert chat_kind(None) is None
    assert [chat_kind(one) for one in (CHATML, LLAMA_2, MISTRAL)] == [
        "ChatML", "Llama-2", "Mistral",
    ]  # fmt: skip
    assert chat_kind("{{ m }}") == "its own"
