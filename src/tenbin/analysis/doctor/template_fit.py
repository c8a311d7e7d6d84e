"""Assesses which templates suit a model: a hint with its reason; nothing is chosen by it.

It looks at the model's name, its chat template and its vocabulary. A chat template shows that
somebody wrote one, not that the model was tuned with it; without any sign, that is what the result
says.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tenbin.analysis.doctor.markers import Marker
from tenbin.records import TaskFunction, Template
from tenbin.records.tokenized import Vocabulary

Verdict = Literal["named", "likely", "possible", "no sign", "unlikely"]
VERDICTS: tuple[Verdict, ...] = ("named", "likely", "possible", "no sign", "unlikely")
"""From the model named in the template, to signs that it was written for another."""

_CHAT_KINDS = (
    ("<<SYS>>", "Llama-2"),
    ("[INST]", "Mistral"),
    ("<|im_start|>", "ChatML"),
    ("<|start_header_id|>", "Llama-3"),
    ("<start_of_turn>", "Gemma"),
    ("<|start_of_role|>", "Granite"),
    ("<|START_OF_TURN_TOKEN|>", "Command"),
    ("<｜User｜>", "DeepSeek"),
    ("### 指示", "Japanese Alpaca"),
    ("### Instruction", "Alpaca"),
    ("ユーザー:", "rinna"),
)
_TUNED = re.compile(
    r"(?<![a-z])(?:instruct(?:ion)?|chat|it|sft|dpo|ppo|rlhf|alpaca|vicuna|assistant|tuned)(?![a-z])"
)
_ALPACA = re.compile(r"^### (?:指示|入力|応答|Instruction|Input|Response)", re.MULTILINE)
_ROLES = re.compile(r"(?:^|\n|<NL>)(?:ユーザー|User|Human): ?")
_MODEL_ID = re.compile(r"[A-Za-z][\w.]*(?:[/-][\w.]+)+")


@dataclass(frozen=True, slots=True)
class Fit:
    """How a template and a model go together."""

    verdict: Verdict
    reason: str

    @property
    def rank(self) -> int:
        """0 for the best."""
        return VERDICTS.index(self.verdict)


def chat_kind(chat_template: str | None) -> str | None:
    """The family of a chat template; `its own` if it is none of the known ones."""
    if not chat_template:
        return None
    return next((name for mark, name in _CHAT_KINDS if mark in chat_template), "its own")


def judge_fit(
    template: Template, markers: Sequence[Marker], vocabulary: Vocabulary, chat_applied: bool
) -> Fit:
    """The signs for or against this template with this model.

    Args:
        template: The wording.
        markers: How its special words are read.
        vocabulary: What is known of the model.
        chat_applied: Whether prompts go through the model's chat template.
    """
    if name := _named(template.meant_for, vocabulary.names):
        return Fit("named", f"the template was written for {name}")
    # BOS and EOS are everybody's; the rest distinguishes formats.
    telling = [m for m in markers if m.text not in {"<s>", "</s>"}]
    if telling:
        return _fit_markers(telling, vocabulary)
    if isinstance(template.text, TaskFunction):
        return Fit("no sign", "a function of the task file makes the prompt: no wording to look at")
    text = f"{template.description}\n{template.text}"
    if _ALPACA.search(text):
        return _fit_format("headings like ### 指示:", "Alpaca", vocabulary, chat_applied)
    if _ROLES.search(text):
        return _fit_format("turns like ユーザー: … システム:", "rinna", vocabulary, chat_applied)
    return _fit_plain(template.meant_for, vocabulary, chat_applied)


def _named(meant_for: str, names: Sequence[str]) -> str | None:
    """A model of `meant_for` all of whose parts stand in a name, in any order."""
    parts = [set(_parts(name)) for name in names]
    for match in _MODEL_ID.findall(meant_for):
        wanted = set(_parts(match.rpartition("/")[2]))
        # One part alone would be a word, not a model.
        if len(wanted) > 1 and any(wanted <= have for have in parts):
            return str(match)
    return None


def _parts(name: str) -> list[str]:
    return [part for part in re.split(r"[^a-z0-9.]+", name.lower()) if part]


def _is_tuned(names: Sequence[str]) -> str | None:
    """The name that says so."""
    for name in names:
        if _TUNED.search(name.lower()):
            return name.rstrip("/").rpartition("/")[2]
    return None


def _fit_markers(markers: Sequence[Marker], vocabulary: Vocabulary) -> Fit:
    shared = [m.text for m in markers if m.in_chat_template]
    unknown = [m for m in markers if not m.is_known]
    words = " ".join(m.text for m in markers)
    if not unknown:
        if shared:
            return Fit("likely", f"the model's chat template writes {' '.join(shared)} too")
        each = " each" if len(markers) > 1 else ""
        return Fit("likely", f"{words}: one token of the vocabulary{each}")
    if shared:
        missing = " ".join(m.text for m in unknown)
        return Fit(
            "possible", f"the chat template writes {' '.join(shared)} too, but not {missing}"
        )
    kind = chat_kind(vocabulary.chat_template)
    other = f"; its chat template is of another kind ({kind})" if kind else ""
    missing = " ".join(m.text for m in unknown)
    return Fit("unlikely", f"{missing}: plain text to this tokenizer{other}")


def _fit_format(form: str, family: str, vocabulary: Vocabulary, chat_applied: bool) -> Fit:
    kind = chat_kind(vocabulary.chat_template)
    if kind is not None and family in kind:
        return Fit("likely", f"the model's chat template is of this kind ({kind})")
    if kind is not None:
        inside = ", and would stand inside it" if chat_applied else ""
        return Fit(
            "unlikely", f"{form} are not the format of the model's chat template ({kind}){inside}"
        )
    if any(family.lower() in name.lower() for name in vocabulary.names):
        return Fit("likely", f"the model's name says {family}")
    if name := _is_tuned(vocabulary.names):
        return Fit(
            "possible",
            f"{name} is tuned by its name and has no chat template; {form} are one usual format",
        )
    return Fit("no sign", f"no chat template, and {form} are plain text to any tokenizer")


def _fit_plain(meant_for: str, vocabulary: Vocabulary, chat_applied: bool) -> Fit:
    if vocabulary.chat_template and chat_applied:
        return Fit("likely", "a plain wording, put into the model's own chat format")
    if vocabulary.chat_template and meant_for == "base models":
        return Fit(
            "no sign",
            "a wording for base models, and a chat template, which some base models have too",
        )
    if vocabulary.chat_template:
        return Fit(
            "possible",
            "a plain wording; the model has a chat template, so compare --apply_chat_template",
        )
    if name := _is_tuned(vocabulary.names):
        return Fit("possible", f"a plain wording, but {name} is tuned by its name")
    return Fit("likely", "a plain wording, and no sign of tuning: no chat template")
