"""From a prompt to requests, each with a key that is a hash of what is asked.

Several answers drawn to one prompt are several requests, each with a seed of its own.
"""

from __future__ import annotations

import hashlib
import json

from tenbin.records import Generate, Prompt, Request, Rolling, Sampling, Score, Thinking


def requests_of(prompt: Prompt) -> list[Request]:
    """What a prompt asks: one request, or one for each answer that is drawn."""
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


def roll_request(text: str) -> Rolling:
    """A Rolling with its key."""
    return Rolling(content_key("roll", text), text)


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


def work_of(request: Request) -> float:
    """A rough measure of a request's cost, so that the estimate of the time left is fair."""
    if isinstance(request, Score):
        return float(sum(len(request.prompt) + len(c) for c in request.continuations))
    if isinstance(request, Rolling):
        return float(len(request.text))
    thought = min(request.thinking.budget, 512) if request.thinking else 0
    return float(len(request.prompt) + 20 * (min(request.max_gen_toks, 64) + thought))


def content_key(*content: object) -> str:
    """A hash of what is asked: equal for equal questions, in any process."""
    written = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(written.encode("utf-8", "surrogatepass")).hexdigest()[:32]
