"""Words of a template that look like special tokens, and how a tokenizer encodes them.

`<NL>`, `[INST]`, `<<SYS>>`, `<|im_start|>`, `</s>`: one token for the model they were written for,
several pieces of punctuation for another.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tenbin.analysis.doctor.finding import Example, Finding
from tenbin.records import Template
from tenbin.records.tokenized import Vocabulary

Decode = Callable[[Sequence[int]], str]

_LOWER = "s|unk|pad|bos|eos|sep|cls|mask|start_of_turn|end_of_turn|start|end|user|assistant|system"
_MARKER = re.compile(
    r"<\|[^|<>\s]{1,40}\|>"  # <|im_start|>
    r"|<｜[^｜<>\s]{1,40}｜>"  # the full-width bars of some Chinese models
    r"|<</?[A-Z_]{2,20}>>"  # <<SYS>>
    r"|\[/?[A-Z_]{3,24}\]"  # [INST]
    r"|</?[A-Z][A-Z0-9_]{0,19}>"  # <NL>
    rf"|</?(?:{_LOWER})>"  # </s>
)
_FIELD = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Marker:
    """A word that looks like a special token."""

    text: str
    reading: Literal["special", "added", "one token", "spelled"]
    """Special; cut out of any text as one token; one plain token; several tokens."""
    pieces: tuple[str, ...]
    in_chat_template: bool
    """Whether the model's own chat format writes it too."""
    stops: bool = False
    """Whether a stop string of the template holds it."""

    @property
    def is_known(self) -> bool:
        """Whether the model can be expected to know it: its format may well spell it out."""
        return self.reading != "spelled" or self.in_chat_template


def find_markers(texts: Iterable[str]) -> list[str]:
    """Distinct markers in order of appearance; fields of templates are passed over."""
    found: dict[str, None] = {}
    for text in texts:
        found.update(dict.fromkeys(_MARKER.findall(_FIELD.sub("\0", text))))
    return list(found)


def fixed_texts(template: Template) -> list[str]:
    """Everything that a template itself writes, whatever the document."""
    choices = template.choices
    written = [choices] if isinstance(choices, str) else []
    if isinstance(choices, tuple):
        written = list(choices)
    return [
        template.description,
        # A function's words are known once it has a document.
        template.text if isinstance(template.text, str) else "",
        template.target_delimiter,
        template.fewshot_delimiter,
        *written,
        *template.stop,
    ]


def read_markers(
    markers: Sequence[str],
    encoded: Mapping[str, tuple[int, ...]],
    vocabulary: Vocabulary,
    decode: Decode,
    stop: Sequence[str] = (),
) -> tuple[Marker, ...]:
    """How the tokenizer reads each marker.

    Args:
        markers: From `find_markers`.
        encoded: The tokens of each, on its own.
        vocabulary: Which words are cut out of any text.
        decode: Tokens into text.
        stop: The template's stop strings.
    """
    found = []
    for text in markers:
        # Sentencepiece may put a lone space in front, which is no part of the word.
        pieces = tuple(piece for token in encoded[text] if (piece := decode([token])).strip())
        reading: Literal["special", "added", "one token", "spelled"] = "spelled"
        if text in vocabulary.added:
            reading = "special" if vocabulary.added[text] else "added"
        elif len(pieces) == 1:
            reading = "one token"
        chat = vocabulary.chat_template or ""
        stops = any(text in one for one in stop)
        found.append(Marker(text, reading, pieces, text in chat, stops))
    return tuple(found)


def judge_markers(
    markers: Sequence[Marker], documents: int, stop: Sequence[str], from_chat: bool = False
) -> list[Finding]:
    """The findings.

    Args:
        markers: How each is read.
        documents: How many documents show them: all.
        stop: The template's stop strings; none for choices.
        from_chat: Whether the markers stand in the model's own chat format.
    """
    unknown = [marker for marker in markers if marker.reading == "spelled"]
    if not from_chat:
        unknown = [marker for marker in unknown if not marker.in_chat_template]
    findings = []
    if unknown:
        listed = ", ".join(f"{m.text} ({len(m.pieces)} tokens)" for m in unknown)
        findings.append(
            Finding(
                "specials",
                "spelled_chat_markers" if from_chat else "unknown_markers",
                "warning",
                "the chat format writes special tokens that the vocabulary does not have"
                if from_chat
                else "the template writes special tokens that this model does not know",
                f"read as plain text: {listed}",
                documents,
                documents,
                "look whether the tokenizer belongs to the model"
                if from_chat
                else "choose a template written for this model, or a plain one",
                tuple(Example("template", _shown(marker)) for marker in unknown[:3]),
            )
        )
    unheard = {marker.text for marker in unknown}
    if stop and all(any(text in one for text in unheard) for one in stop):
        findings.append(
            Finding(
                "specials",
                "unreachable_stop",
                "problem",
                "generation stops at a token that this model does not know",
                f"stop strings: {', '.join(map(repr, stop))}",
                documents,
                documents,
                "answers end at the token limit, or where the model ends them by itself: choose "
                "another template",
            )
        )
    return findings


def _shown(marker: Marker) -> str:
    pieces = " · ".join(repr(piece) for piece in marker.pieces)
    return f"{marker.text} is read as {pieces}"
