"""What is to be written: prompts in tokens and how their answers end.

Knows the tokenizer and the checkpoint's end tokens; knows no batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tenbin.backends.hf.encoding import EncodedPrompt
from tenbin.backends.hf.writing import Decoder, Writing
from tenbin.records import Sampling


@dataclass(frozen=True, slots=True)
class Job:
    """One prompt and how its answer ends."""

    prompt: EncodedPrompt
    stop: tuple[str, ...]
    limit: int
    sampling: Sampling | None = None
    """None: greedy."""
    seed: int = 0
    """Decides what is drawn."""

    @property
    def length(self) -> int:
        """Tokens of the prompt and of its answer at most."""
        return len(self.prompt.ids) + self.limit


class Pens:
    """Begins answers."""

    def __init__(self, model: Any, tokenizer: Any) -> None:
        """Look up what ends an answer.

        Args:
            model: A transformers causal language model.
            tokenizer: Its transformers tokenizer.
        """
        self.ends = _end_tokens(model, tokenizer)
        self._tokenizer = tokenizer
        self._decoders: dict[tuple[str, ...], Decoder] = {}

    def begin(self, job: Job) -> Writing:
        """An empty answer to a job."""
        if job.stop not in self._decoders:
            self._decoders[job.stop] = Decoder(self._tokenizer, job.stop)
        return Writing(self._decoders[job.stop], self.ends, job.limit)


def _end_tokens(model: Any, tokenizer: Any) -> tuple[int, ...]:
    """All ids that end an answer: the checkpoint's, its list included, and the tokenizer's."""
    base = model.get_base_model() if hasattr(model, "get_base_model") else model
    named = [
        getattr(getattr(base, "generation_config", None), "eos_token_id", None),
        getattr(model.config, "eos_token_id", None),
        tokenizer.eos_token_id,
    ]
    found: dict[int, None] = {}
    for ids in named:
        for token in ids if isinstance(ids, (list, tuple)) else [ids]:
            if token is not None:
                found[int(token)] = None
    return tuple(found)
