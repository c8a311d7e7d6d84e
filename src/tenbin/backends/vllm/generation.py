"""Prompts into answers, through vLLM.

vLLM gives tokens; where an answer ends and what it says is decided here, by the same code as in the
hf engine: stop strings, end tokens, thoughts and whole characters then mean the same. An answer
that has reached a stop string is dropped from vLLM's batch; a thought that has spent its budget is
dropped too, and asked for again with its closing behind it. Where logits are NaN vLLM writes token
0 and says nothing, so an answer that ends with it is looked at once more before it is believed.
Knows how vLLM is asked; knows no request.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tenbin.backends.finite import is_finite, not_finite
from tenbin.backends.text.completion import Completion
from tenbin.backends.text.stop_criteria import Job, StopCriteria
from tenbin.backends.vllm.engine import Asked, Engine
from tenbin.backends.vllm.scoring import one_token
from tenbin.records import Failure, Text

_COLDEST = 0.01
"""vLLM raises lower temperatures to this one without a word."""


_OF_NAN = 0
"""The token that argmax takes of logits that are all NaN. The cache of such a row holds NaN too,
so that no other token follows it."""


@dataclass(eq=False, slots=True)
class _Draft:
    """One answer while vLLM writes it."""

    job: Job
    owners: Sequence[int]
    """Who gets it."""
    writing: Completion
    tokens: list[int] = field(default_factory=list)
    """All that follows the prompt, forced tokens included."""

    def take(self, tokens: Sequence[int]) -> bool:
        """Take new tokens; True when the model may not go on from them by itself."""
        for token in tokens:
            self.tokens.append(int(token))
            if self.writing.add(int(token)) or self.writing.forced:
                return True
        return False

    def force(self) -> None:
        """Take what has to come next."""
        while self.writing.forced:
            token = self.writing.forced[0]
            self.tokens.append(token)
            self.writing.add(token)


@dataclass(frozen=True, slots=True)
class _Doubt:
    """A complete answer whose last token may stand for NaN."""

    draft: _Draft
    text: Text

    @property
    def owners(self) -> Sequence[int]:
        """Who gets it."""
        return self.draft.owners

    def asked(self) -> Asked:
        """Its last token once more, with its log-probability."""
        ids = (*self.draft.job.prompt.ids, *self.draft.tokens[:-1])
        return Asked(ids, one_token(logprobs=0), self)

    def settled(self, output: Any) -> Text | Failure:
        """The answer, or why there is none."""
        written = output.outputs[0]
        shown = written.logprobs[0] if written.logprobs else {}
        value = shown[written.token_ids[0]].logprob if written.token_ids[0] in shown else None
        return self.text if is_finite(value) else not_finite(value)


class VllmWriter:
    """Lets vLLM write answers."""

    mode = "vLLM's batches and prefix cache; draws are vLLM's own and differ from those of hf"

    def __init__(self, engine: Engine, pens: StopCriteria) -> None:
        """Prepare.

        Args:
            engine: The running engine.
            pens: Begins answers.
        """
        self._engine = engine
        self._pens = pens

    def write(self, jobs: Sequence[Job]) -> Iterator[tuple[int, Text | Failure]]:
        """Write an answer to every prompt, each given as soon as it is complete.

        Equal jobs are written once. Sorted by their tokens, prompts that begin alike follow each
        other, and meet their common beginning in the cache.
        """
        equal: dict[Job, list[int]] = {}
        for at, job in enumerate(jobs):
            prompt = replace(job.prompt, truncated=0)
            equal.setdefault(replace(job, prompt=prompt), []).append(at)
        waiting: deque[Asked] = deque()
        for job in sorted(equal, key=lambda job: job.prompt.ids):
            if refused := _refusal(job):
                yield from ((at, refused) for at in equal[job])
                continue
            draft = _Draft(job, equal[job], self._pens.begin(job))
            draft.force()
            waiting.append(self._ask(draft))
        for asked, output in self._engine.outputs(waiting):
            text = self._heard(asked, output, waiting)
            if text is not None:
                for at in asked.purpose.owners:
                    yield at, _own(text, jobs[at])

    def _heard(self, asked: Asked, output: Any, waiting: deque[Asked]) -> Text | Failure | None:
        """Take the newest tokens; the answer when it is complete, else None."""
        if isinstance(output, Failure):
            return output
        if isinstance(asked.purpose, _Doubt):
            return asked.purpose.settled(output)
        draft: _Draft = asked.purpose
        halted = draft.take(output.outputs[0].token_ids)
        if halted and not output.finished:
            self._engine.drop(asked)
        if halted and draft.writing.finish is None:
            # The closing of a thought stands there now; what follows is the model's again.
            draft.force()
            waiting.appendleft(self._ask(draft))
            return None
        if not halted and not output.finished:
            return None
        text = draft.writing.result(0)
        if draft.tokens and draft.tokens[-1] == _OF_NAN:
            waiting.appendleft(_Doubt(draft, text).asked())
            return None
        return text

    def _ask(self, draft: _Draft) -> Asked:
        ids = (*draft.job.prompt.ids, *draft.tokens)
        return Asked(ids, self._params(draft), draft)

    def _params(self, draft: _Draft) -> Any:
        from vllm import SamplingParams
        from vllm.sampling_params import RequestOutputKind

        job = draft.job
        drawn: dict[str, Any] = {"temperature": 0.0}
        if job.sampling is not None:
            drawn = {
                "temperature": job.sampling.temperature,
                "top_p": job.sampling.top_p,
                "top_k": job.sampling.top_k,
                "seed": job.seed,
            }
        return SamplingParams(
            max_tokens=job.room - len(draft.tokens),
            stop_token_ids=list(self._pens.ends),
            # The end tokens are those above, the checkpoint's and the tokenizer's.
            ignore_eos=True,
            detokenize=False,
            output_kind=RequestOutputKind.DELTA,
            **drawn,
        )


def _refusal(job: Job) -> Failure | None:
    if job.sampling is not None and job.sampling.temperature < _COLDEST:
        return Failure(
            "unsupported",
            f"vLLM draws at no temperature below {_COLDEST}; temperature=0 takes the most likely"
            " token",
        )
    return None


def _own(text: Text | Failure, job: Job) -> Text | Failure:
    return replace(text, truncated=job.prompt.truncated) if isinstance(text, Text) else text
