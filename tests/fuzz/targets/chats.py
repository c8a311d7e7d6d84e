"""Chat templates that come with models, rendered as for a tokenizer that has them."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

from transformers import PreTrainedTokenizerBase

from tenbin.backends.text.chat_template import apply_template
from tests.fuzz import grammar
from tests.fuzz.mutation import damage_text
from tests.fuzz.target import Target

_TEMPLATES = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}",
    "{%- if messages[0]['role'] == 'system' -%}{{ bos_token }}{%- endif -%}{{ messages | tojson }}",
    "{% set ns = namespace(n=0) %}{% for m in messages %}{% if m.role == 'user' %}"
    "{% set ns.n = ns.n + 1 %}{% endif %}{% endfor %}{{ ns.n }}{{ messages[-1].content|trim }}",
)
_TURNS = (
    {"role": "system", "content": "天秤"},
    {"role": "user", "content": "a\n<|im_end|>"},
    {"role": "assistant", "content": ""},
    {"role": "user", "content": "b" * 50},
)
_WORDS = (
    "messages", "raise_exception('no')", "strftime_now('%Y')", "tojson(indent=10**9)", "loop.index",
    "bos_token", "eos_token", "tools", "{% generation %}", "{% endgeneration %}", "namespace()",
    "{% break %}", "{% continue %}", "| tojson", "range(10**9)", "messages * 10**9",
)  # fmt: skip


class _Tokenizer(PreTrainedTokenizerBase):  # type: ignore[misc]
    """Has a chat template and two special tokens, and nothing else."""

    def __init__(self, source: str) -> None:
        self.source = source

    def get_chat_template(self, *args: Any, **named: Any) -> str:
        return self.source

    @property
    def special_tokens_map(self) -> dict[str, str]:
        return {"bos_token": "<s>", "eos_token": "</s>"}

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)


def _make(rng: Random) -> bytes:
    source = rng.choice(_TEMPLATES)
    if rng.randrange(2):
        source = grammar.template(rng).replace("question", "messages")
    for _ in range(rng.choice((0, 1, 2))):
        source = damage_text(rng, source, _WORDS)
    return source.encode("utf-8", "surrogatepass")


def _check(data: bytes, folder: Path) -> None:
    source = data.decode("utf-8", "surrogatepass")
    apply_template(_Tokenizer(source), _TURNS, {"enable_thinking": True}).encode()


TARGETS = (
    Target(
        "chat_template",
        _make,
        _check,
        lambda: [source.encode() for source in _TEMPLATES],
        seconds=15.0,
    ),
)
