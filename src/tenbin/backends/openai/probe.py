"""Whether a server really shows log-probabilities of prompts: asked before any document is.

Some servers accept `echo` and ignore it (llama.cpp does), and what comes back then looks like an
answer. So both ways are tried on a sentence whose end is known, and what comes back has to add up.
Knows no task.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tenbin.backends.base import Encoding
from tenbin.backends.finite import NOT_FINITE, NotFiniteError, broken_model
from tenbin.backends.openai.prompt_tokens import Way
from tenbin.backends.openai.scoring import Scales
from tenbin.backends.openai.session import Session
from tenbin.errors import BackendError
from tenbin.records import Failure, Score, Scores

if TYPE_CHECKING:
    from tenbin.backends.text.tokenizer import HfTokenizer

_PROMPT = "The capital of France is"
_LIKELY = " Paris"
_NONSENSE = " qvx 7 zzt wug 40 blorf nth"
REMEDIES = (
    "let the model name choices by letter (--model openai-chat, or choices=letters), run generation"
    " tasks, or load the same model with --model hf"
)


async def find_scales(
    session: Session, tokenizer: HfTokenizer | None, encoding: Encoding
) -> Scales:
    """The way by which this server weighs texts.

    Args:
        session: The open server.
        tokenizer: The model's, with the window that is left for rows; None: texts are sent.
        encoding: How prompt and answer meet.

    Raises:
        BackendError: It does not weigh texts; no document was asked.
        NotFiniteError: It weighs them, and its model gives no finite numbers.
    """
    if session.server.arguments.logprobs == "never":
        raise BackendError("logprobs=never: choices and whole texts need them", REMEDIES)
    ways: tuple[Way, ...] = ("echo", "prompt_logprobs")
    if session.server.dialect == "vllm":
        ways = ("prompt_logprobs", "echo")
    reasons = []
    broken: NotFiniteError | None = None
    for way in ways:
        scales = Scales(way, tokenizer, encoding)
        try:
            reason = await _fault(session, scales)
        except NotFiniteError as error:
            # The other way is tried first: servers that do not weigh prompts may say null too.
            broken, reason = error, error.message
        if reason is None:
            return scales
        reasons.append(f"{way}: {reason}")
    if broken is not None:
        raise broken
    raise BackendError(
        "this server shows no log-probabilities of prompts, so it cannot weigh choices or whole"
        f" texts ({'; '.join(reasons)})",
        REMEDIES,
    )


async def _fault(session: Session, scales: Scales) -> str | None:
    """What is wrong with a way; None where it stands."""
    found = await scales.score(session, Score("probe", _PROMPT, (_LIKELY, _NONSENSE, _LIKELY)))
    if isinstance(found, Failure):
        if found.kind == NOT_FINITE:
            raise broken_model(f"{found.message.split(';')[0]}, for {_PROMPT + _LIKELY!r}")
        return found.message
    return _implausible(found)


def _implausible(found: Scores) -> str | None:
    likely, nonsense, again = found.logprobs
    counts: Sequence[int] = found.token_counts
    if not nonsense < likely < 0:
        return f"{_LIKELY!r} has {likely:.2f} and {_NONSENSE!r} {nonsense:.2f}: no likelihoods"
    if counts[0] != counts[2] or counts[1] <= counts[0]:
        return f"{_LIKELY!r} has {counts[0]} tokens and {_NONSENSE!r} {counts[1]}"
    if not math.isclose(likely, again, rel_tol=0.05, abs_tol=0.2):
        return f"the same text has {likely:.3f} and {again:.3f}"
    return None
