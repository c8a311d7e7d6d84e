# ruff: noqa: E501  (templates stand as they would in a file)
"""Chat templates: transformers' text to the byte, and an end where a template does too much."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tenbin.backends.text.chat_template import _compiled, render_chat
from tenbin.errors import BackendError
from tests.backends.tiny import TEMPLATE, make_tokenizer
from tests.sandbox.bad_templates import BAD_TEMPLATES

PLAIN = [{"role": "user", "content": "一つ目 <b>&\n"}]
LONG = [
    {"role": "system", "content": "  Be brief. "},
    {"role": "user", "content": "q1"},
    {"role": "assistant", "content": "<think>hm</think>a1"},
    {"role": "user", "content": "q2\n\n"},
]
# Written in the manner of the templates that models are published with.
GOOD = (
    TEMPLATE,
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + "
    "'<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}"
    "{{ '<|im_start|>assistant\n' }}{% endif %}",
    "{{- bos_token }}\n{%- if messages[0]['role'] == 'system' %}\n    {%- set system_message = "
    "messages[0]['content']|trim %}\n    {%- set messages = messages[1:] %}\n{%- else %}\n"
    '    {%- set system_message = "" %}\n{%- endif %}\n{{- "Date: 26 Jul 2024\\n\\n" }}\n'
    "{{- system_message }}\n{%- for message in messages %}\n"
    "    {{- '<|start|>' + message['role'] + '<|end|>\\n\\n'+ message['content'] | trim + '<|eot|>' }}"
    "\n{%- endfor %}\n{%- if add_generation_prompt %}\n    {{- '<|start|>assistant' }}\n{%- endif %}\n",
    "{%- set ns = namespace(multi=true, last=messages|length - 1) %}\n"
    "{%- for message in messages[::-1] %}\n    {%- set index = (messages|length - 1) - loop.index0 %}"
    "\n    {%- if ns.multi and message.role == 'user' and not(message.content.startswith('<t>')) %}\n"
    "        {%- set ns.multi = false %}\n        {%- set ns.last = index %}\n    {%- endif %}\n"
    "{%- endfor %}\n{%- for message in messages %}\n    {%- set content = message.content %}\n"
    "    {%- if '</think>' in content %}\n"
    "        {%- set content = content.split('</think>')[-1].lstrip('\\n') %}\n    {%- endif %}\n"
    "    {{- '<|' + message.role + '|>' ~ content ~ ns.last }}\n{%- endfor %}\n"
    "{%- if add_generation_prompt and enable_thinking is defined and not enable_thinking %}\n"
    "{{- '<think>\\n\\n</think>' }}\n{%- endif %}\n",
    "{% macro turn(m) %}[{{ m.role }}]{{ m.content | tojson }}{{ m | tojson(indent=2) }}{% endmacro %}"
    "{% for m in messages %}{% if m.role == 'system' %}{% continue %}{% endif %}{{ turn(m) }}"
    "{% generation %}gen {{ loop.index }}{% endgeneration %}{% if loop.index > 9 %}{% break %}"
    "{% endif %}{% endfor %}",
    "{% for m in messages %}\n  {% if m.role == 'assistant' %}\n  A: {{ m.content }}{{ eos_token }}\n"
    "  {% else %}\n  {{ m.role }}: {{ m.content }}\n  {% endif %}\n{% endfor %}\n",
    "{{ tools is none }}{{ documents }}{{ missing }}{{ dict(a=1) }}{{ messages[0].nothing }}",
)


def _tokenizer(template: Any) -> Any:
    tokenizer = make_tokenizer()
    tokenizer.chat_template = template
    return tokenizer


@pytest.mark.parametrize("template", GOOD)
@pytest.mark.parametrize("turns", [PLAIN, LONG[1:]])
def test_a_conversation_is_the_text_of_transformers(template: str, turns: Any) -> None:
    tokenizer = _tokenizer(template)
    expected = tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
    assert render_chat(tokenizer, turns, {}) == (expected, False)


@pytest.mark.parametrize("template", GOOD[:4])
@pytest.mark.parametrize("begun", ["The answer is", "So: ", " A "])
def test_an_answer_that_is_begun_goes_on_where_transformers_says(template: str, begun: str) -> None:
    tokenizer = _tokenizer(template)
    turns = [*LONG[1:], {"role": "assistant", "content": begun}]
    expected = tokenizer.apply_chat_template(
        turns, tokenize=False, add_generation_prompt=False, continue_final_message=True
    )
    assert render_chat(tokenizer, turns, {}) == (expected, False)
    assert expected.rstrip().endswith(begun.strip())


def test_a_template_that_leaves_out_the_begun_answer_is_refused() -> None:
    turns = [*PLAIN, {"role": "assistant", "content": "The answer is"}]
    with pytest.raises(BackendError, match="leaves out the beginning of the answer"):
        render_chat(_tokenizer("{{ messages[0].content }}"), turns, {})


def test_a_refused_system_turn_goes_to_the_user_or_is_left_out_as_lm_eval_does() -> None:
    source = (
        "{% if messages[0].role == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
        "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}"
    )
    turns = [{"role": "system", "content": "Be brief."}, *PLAIN]
    folded = "[user]Be brief.\n\n一つ目 <b>&\n"
    assert render_chat(_tokenizer(source), turns, {}) == (folded, True)
    dropped = "[user]一つ目 <b>&\n"
    assert render_chat(_tokenizer(source), turns, {}, drop_system=True) == (dropped, False)


def test_system_turns_variables_and_named_templates_are_those_of_transformers() -> None:
    tokenizer = _tokenizer({"default": GOOD[3], "tool_use": "unused"})
    variables = {"enable_thinking": False}
    expected = tokenizer.apply_chat_template(
        LONG, tokenize=False, add_generation_prompt=True, **variables
    )
    text, moved = render_chat(tokenizer, LONG, variables)
    assert text == expected and text.endswith("</think>") and not moved


@pytest.mark.parametrize("name", BAD_TEMPLATES)
def test_a_chat_template_that_does_too_much_is_one_error(name: str) -> None:
    source, reason = BAD_TEMPLATES[name]
    with pytest.raises(BackendError) as caught:
        render_chat(_tokenizer("{% set a = 'x' %}" + source), PLAIN, {})
    assert re.search(f"{reason}|cannot be compiled", caught.value.message)
    _compiled.cache_clear()


def test_a_template_that_refuses_a_turn_says_why() -> None:
    source = "{% if messages|length > 1 %}{{ raise_exception('one turn only') }}{% endif %}"
    with pytest.raises(BackendError, match="one turn only"):
        render_chat(_tokenizer(source), LONG[1:], {})


def test_a_tokenizer_with_a_format_of_its_own_is_left_to_it() -> None:
    tokenizer = _tokenizer(TEMPLATE)

    class Own(type(tokenizer)):  # type: ignore[misc]
        def apply_chat_template(self, turns: Any, **settings: Any) -> str:
            return f"own {len(turns)} {settings['add_generation_prompt']}"

    tokenizer.__class__ = Own
    assert render_chat(tokenizer, PLAIN, {}) == ("own 1 True", False)
