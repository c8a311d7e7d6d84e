"""Generation jobs, and the stop criteria that end their completions.

A completion ends at a stop string, at an end token or at its limit. Of the checkpoint's generation
settings only the end tokens are used: its sampling and penalties reach no answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tenbin.backends.text.completion import Completion, TextCompletion, ThinkingCompletion
from tenbin.backends.text.detokenizer import Detokenizer
from tenbin.backends.text.encoding import EncodedPrompt
from tenbin.backends.text.thinking import opens_thinking
from tenbin.errors import BackendError
from tenbin.records import Generate, Sampling, Thinking

_WORD = "a"


@dataclass(frozen=True, slots=True)
class Job:
    """One prompt in tokens, how it is sampled and what ends its completion."""

    prompt: EncodedPrompt
    stop: tuple[str, ...]
    limit: int
    """Most tokens of the answer."""
    sampling: Sampling | None = None
    """None: greedy."""
    seed: int = 0
    """Of the sampler."""
    thinking: Thinking | None = None
    """None if the model has no thinking section."""
    opened: bool = False
    """Whether the prompt ends with the mark that opens a thinking section."""

    @property
    def room(self) -> int:
        """Most tokens that are generated, thinking and answer together."""
        return self.limit + (self.thinking.room if self.thinking else 0)

    @property
    def length(self) -> int:
        """Tokens of the prompt plus the most that are generated."""
        return len(self.prompt.ids) + self.room


def job_of(request: Generate, prompt: EncodedPrompt) -> Job:
    """Return the job of a request whose prompt is in tokens."""
    thinking = request.thinking
    return Job(
        prompt,
        request.stop,
        request.max_gen_toks,
        request.sampling,
        request.seed,
        thinking,
        thinking is not None and opens_thinking(request.prompt, thinking),
    )


class StopCriteria:
    """Makes the completion of a job, which knows where it stops."""

    def __init__(self, model: Any, tokenizer: Any, ends: tuple[int, ...] | None = None) -> None:
        """Look up the end tokens.

        Args:
            model: A transformers causal language model; None where `ends` is given.
            tokenizer: Its transformers tokenizer.
            ends: Ids that end an answer, where they are already known.
        """
        self.ends = _model_end_tokens(model, tokenizer) if ends is None else ends
        self._tokenizer = tokenizer
        self._detokenizers: dict[tuple[str, ...], Detokenizer] = {}
        self._encoded: dict[str, tuple[int, ...]] = {}

    def begin(self, job: Job) -> Completion:
        """Return the empty completion of a job."""
        answers = self._detokenizer(job.stop)
        if job.thinking is None:
            return TextCompletion(answers, self.ends, job.limit)
        return ThinkingCompletion(
            self._detokenizer((job.thinking.opening, job.thinking.closing)),
            answers,
            self.ends,
            job.limit,
            job.thinking,
            self._tokens_after_text(job.thinking.closing_text),
            job.opened,
        )

    def _detokenizer(self, stop: tuple[str, ...]) -> Detokenizer:
        if stop not in self._detokenizers:
            self._detokenizers[stop] = Detokenizer(self._tokenizer, stop)
        return self._detokenizers[stop]

    def _tokens_after_text(self, text: str) -> tuple[int, ...]:
        """Encode a text without the space that some tokenizers put before a first word."""
        if text not in self._encoded:
            alone, word, both = (
                tuple(self._tokenizer(some, add_special_tokens=False)["input_ids"])
                for some in (text, _WORD, _WORD + text)
            )
            fits = both[: len(word)] == word
            self._encoded[text] = both[len(word) :] if fits else alone
        return self._encoded[text]


def _model_end_tokens(model: Any, tokenizer: Any) -> tuple[int, ...]:
    base = model.get_base_model() if hasattr(model, "get_base_model") else model
    return end_tokens(getattr(base, "generation_config", None), model.config, tokenizer)


def end_tokens(generation_config: Any, config: Any, tokenizer: Any) -> tuple[int, ...]:
    """Return all ids that end an answer: the checkpoint's, its list included, and the tokenizer's.

    Raises:
        BackendError: One of them is not a token id.
    """
    named = {
        "the generation settings": getattr(generation_config, "eos_token_id", None),
        "the configuration": getattr(config, "eos_token_id", None),
        "the tokenizer": tokenizer.eos_token_id,
    }
    found = (token for source, ids in named.items() for token in end_ids(ids, source))
    return tuple(dict.fromkeys(found))


def end_ids(value: Any, source: str) -> tuple[int, ...]:
    """Check an `eos_token_id` and return it as a tuple: none, one, or a list of ids.

    Args:
        value: The value in the file.
        source: The file, for the message.

    Raises:
        BackendError: It holds something other than token ids.
    """
    named = value if isinstance(value, (list, tuple)) else [value]
    found = [token for token in named if token is not None]
    for token in found:
        if not isinstance(token, int) or isinstance(token, bool):
            raise BackendError(
                f"{source}: eos_token_id is {value!r}", "it names a token id or a list of them"
            )
    return tuple(found)
