"""What is to be written: prompts in tokens and how their answers end.

Knows the tokenizer and the checkpoint's end tokens; knows no batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tenbin.backends.checkpoint.completeness import end_ids
from tenbin.backends.text.encoding import EncodedPrompt
from tenbin.backends.text.stop_criteria import Decoder, Growing, Writing
from tenbin.backends.text.thinking import opens_thought
from tenbin.backends.text.thinking_budget import ThoughtfulWriting
from tenbin.records import Generate, Sampling, Thinking

_WORD = "a"


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
    thinking: Thinking | None = None
    """None: all that is written is the answer."""
    opened: bool = False
    """Whether the prompt ends with the opening mark of a thought."""

    @property
    def room(self) -> int:
        """Tokens that are written at most, thought and answer."""
        return self.limit + (self.thinking.room if self.thinking else 0)

    @property
    def length(self) -> int:
        """Tokens of the prompt and of what is written at most."""
        return len(self.prompt.ids) + self.room


def job_of(request: Generate, prompt: EncodedPrompt) -> Job:
    """A request whose prompt is in tokens."""
    thinking = request.thinking
    return Job(
        prompt,
        request.stop,
        request.max_gen_toks,
        request.sampling,
        request.seed,
        thinking,
        thinking is not None and opens_thought(request.prompt, thinking),
    )


class Pens:
    """Begins answers."""

    def __init__(self, model: Any, tokenizer: Any, ends: tuple[int, ...] | None = None) -> None:
        """Look up what ends an answer.

        Args:
            model: A transformers causal language model; None where `ends` is given.
            tokenizer: Its transformers tokenizer.
            ends: Ids that end an answer, where they are known already.
        """
        self.ends = _end_tokens(model, tokenizer) if ends is None else ends
        self._tokenizer = tokenizer
        self._decoders: dict[tuple[str, ...], Decoder] = {}
        self._encoded: dict[str, tuple[int, ...]] = {}

    def begin(self, job: Job) -> Growing:
        """An empty answer to a job."""
        answers = self._decoder(job.stop)
        if job.thinking is None:
            return Writing(answers, self.ends, job.limit)
        return ThoughtfulWriting(
            self._decoder((job.thinking.opening, job.thinking.closing)),
            answers,
            self.ends,
            job.limit,
            job.thinking,
            self._tokens_after_text(job.thinking.closing_text),
            job.opened,
        )

    def _decoder(self, stop: tuple[str, ...]) -> Decoder:
        if stop not in self._decoders:
            self._decoders[stop] = Decoder(self._tokenizer, stop)
        return self._decoders[stop]

    def _tokens_after_text(self, text: str) -> tuple[int, ...]:
        """A text in tokens, without the space that some tokenizers put before a first word."""
        if text not in self._encoded:
            alone, word, both = (
                tuple(self._tokenizer(some, add_special_tokens=False)["input_ids"])
                for some in (text, _WORD, _WORD + text)
            )
            fits = both[: len(word)] == word
            self._encoded[text] = both[len(word) :] if fits else alone
        return self._encoded[text]


def _end_tokens(model: Any, tokenizer: Any) -> tuple[int, ...]:
    base = model.get_base_model() if hasattr(model, "get_base_model") else model
    return end_tokens(getattr(base, "generation_config", None), model.config, tokenizer)


def end_tokens(generation_config: Any, config: Any, tokenizer: Any) -> tuple[int, ...]:
    """All ids that end an answer: the checkpoint's, its list included, and the tokenizer's."""
    named = {
        "the generation settings": getattr(generation_config, "eos_token_id", None),
        "the configuration": getattr(config, "eos_token_id", None),
        "the tokenizer": tokenizer.eos_token_id,
    }
    found = (token for source, ids in named.items() for token in end_ids(ids, source))
    return tuple(dict.fromkeys(found))
