"""From prompts to distinct requests, each with a content key.

Two prompts that read the same are asked once, whatever cells they belong to. Several answers drawn
to one prompt are several requests, each with a seed of its own.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field

from tenbin.records import Generate, Prompt, Request, Roll, Sampling, Score, Thinking


@dataclass(frozen=True, slots=True)
class Planned:
    """A prompt and the keys under which its answers will arrive."""

    prompt: Prompt
    key: str
    unconditional_key: str | None = None
    """The same choices without the prompt, where a metric weighs against that."""
    further_keys: tuple[str, ...] = ()
    """Of the second and later answers drawn to the prompt."""


@dataclass(slots=True)
class Plan:
    """Everything that will be asked, and for whom."""

    planned: list[Planned] = field(default_factory=list)
    requests: dict[str, Request] = field(default_factory=dict)
    """Distinct requests by key, in order of first use."""

    def add(self, prompts: Iterable[Prompt], unconditional: bool) -> None:
        """Plan prompts; with `unconditional`, also ask for their choices without the prompt."""
        for prompt in prompts:
            requests = _requests(prompt)
            for request in requests:
                self.requests.setdefault(request.key, request)
            bare_key = None
            if unconditional and prompt.continuations is not None:
                bare = score_request("", prompt.continuations)
                self.requests.setdefault(bare.key, bare)
                bare_key = bare.key
            first, *further = (request.key for request in requests)
            self.planned.append(Planned(prompt, first, bare_key, tuple(further)))


def _requests(prompt: Prompt) -> list[Request]:
    if prompt.kind == "roll":
        return [roll_request(prompt.text)]
    if prompt.continuations is not None:
        return [score_request(prompt.text, prompt.continuations)]
    if prompt.sampling is None:
        return [generate_request(prompt.text, prompt.stop, prompt.max_gen_toks, prompt.thinking)]
    return [
        sample_request(
            prompt.text,
            prompt.stop,
            prompt.max_gen_toks,
            prompt.sampling,
            prompt.cell.seed,
            sample,
            prompt.thinking,
        )
        for sample in range(prompt.repeats)
    ]


def roll_request(text: str) -> Roll:
    """A Roll with its key."""
    return Roll(content_key("roll", text), text)


def score_request(prompt: str, continuations: tuple[str, ...]) -> Score:
    """A Score with its key."""
    return Score(content_key("score", prompt, continuations), prompt, continuations)


def generate_request(
    prompt: str, stop: tuple[str, ...], max_gen_toks: int, thinking: Thinking | None = None
) -> Generate:
    """A greedy Generate with its key."""
    key = content_key("generate", prompt, stop, max_gen_toks, *_thought(thinking))
    return Generate(key, prompt, stop, max_gen_toks, thinking=thinking)


def sample_request(
    prompt: str,
    stop: tuple[str, ...],
    max_gen_toks: int,
    sampling: Sampling,
    run_seed: int,
    sample: int,
    thinking: Thinking | None = None,
) -> Generate:
    """A Generate whose answer is drawn, with its key.

    Its seed rests on the run's seed, the prompt and the answer's number alone: under a longer limit
    the same text goes on, more repeats leave the first ones as they are, and temperatures are
    compared on the same random numbers.
    """
    seed = int(content_key("draw", run_seed, prompt, sample)[:16], 16) >> 1
    settings = [sampling.temperature, sampling.top_p, sampling.top_k]
    key = content_key("generate", prompt, stop, max_gen_toks, settings, seed, *_thought(thinking))
    return Generate(key, prompt, stop, max_gen_toks, sampling, seed, sample, thinking)


def _thought(thinking: Thinking | None) -> tuple[object, ...]:
    """What a key says of thoughts: nothing without any, so that older answers are still found."""
    if thinking is None:
        return ()
    return ({"thinking": [thinking.opening, thinking.closing, thinking.budget]},)


def content_key(*content: object) -> str:
    """A hash of what is asked: equal for equal questions, in any process."""
    written = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(written.encode("utf-8", "surrogatepass")).hexdigest()[:32]
