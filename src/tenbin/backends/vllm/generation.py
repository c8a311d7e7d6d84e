"""Generated answers, computed by vLLM.

vLLM gives tokens; where an answer ends and what its text is, is decided here by the same code as in
the hf engine, so that stop strings, end tokens, thinking and whole characters mean the same. An
answer that has reached a stop string is dropped from vLLM's batch; a thinking section that has
spent its budget is dropped too, and continued after its closing mark. Where logits are NaN vLLM
generates token 0 without an error, so an answer that ends with it is checked before it is used.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tenbin.backends.finite import is_finite, not_finite
from tenbin.backends.text.completion import Completion
from tenbin.backends.text.stop_criteria import Job, StopCriteria
from tenbin.backends.vllm.engine import Engine, EngineRequest
from tenbin.backends.vllm.scoring import one_token
from tenbin.records import Failure, Text

_COLDEST = 0.01
"""vLLM silently raises lower temperatures to this one."""
_NAN_TOKEN = 0
"""The argmax of logits that are all NaN. The KV cache of such a row holds NaN too, so that no
other token follows it."""


@dataclass(eq=False, slots=True)
class _Draft:
    """One answer while vLLM generates it."""

    job: Job
    owners: Sequence[int]
    """Numbers of the jobs that get it."""
    completion: Completion
    tokens: list[int] = field(default_factory=list)
    """All tokens after the prompt, forced ones included."""

    def take(self, tokens: Sequence[int]) -> bool:
        """Add new tokens; True if the answer ended or a token is forced next."""
        for token in tokens:
            self.tokens.append(int(token))
            if self.completion.add(int(token)) or self.completion.forced:
                return True
        return False

    def force(self) -> None:
        """Add the forced tokens."""
        while self.completion.forced:
            token = self.completion.forced[0]
            self.tokens.append(token)
            self.completion.add(token)


@dataclass(frozen=True, slots=True)
class _NanCheck:
    """A complete answer whose last token may stand for NaN."""

    draft: _Draft
    text: Text

    @property
    def owners(self) -> Sequence[int]:
        """Numbers of the jobs that get it."""
        return self.draft.owners

    def asked(self) -> EngineRequest:
        """A request for its last token with the log-probability."""
        ids = (*self.draft.job.prompt.ids, *self.draft.tokens[:-1])
        return EngineRequest(ids, one_token(logprobs=0), self)

    def settled(self, output: Any) -> Text | Failure:
        """The answer, or a failure if the number is not finite."""
        generated = output.outputs[0]
        shown = generated.logprobs[0] if generated.logprobs else {}
        value = shown[generated.token_ids[0]].logprob if generated.token_ids[0] in shown else None
        return self.text if is_finite(value) else not_finite(value)


class VllmGeneration:
    """Lets vLLM write answers."""

    mode = "vLLM's batches and prefix cache; draws are vLLM's own and differ from those of hf"

    def __init__(self, engine: Engine, criteria: StopCriteria) -> None:
        """Prepare.

        Args:
            engine: The running engine.
            criteria: The stop criteria of answers.
        """
        self._engine = engine
        self._criteria = criteria

    def generate(self, jobs: Sequence[Job]) -> Iterator[tuple[int, Text | Failure]]:
        """Generate an answer to every prompt and yield each as soon as it is complete.

        Equal jobs are generated once. Jobs are sorted by their tokens, so that prompts with a
        common prefix follow each other and find it in the cache.
        """
        equal: dict[Job, list[int]] = {}
        for at, job in enumerate(jobs):
            prompt = replace(job.prompt, truncated=0)
            equal.setdefault(replace(job, prompt=prompt), []).append(at)
        waiting: deque[EngineRequest] = deque()
        for job in sorted(equal, key=lambda job: job.prompt.ids):
            if refused := _refusal(job):
                yield from ((at, refused) for at in equal[job])
                continue
            draft = _Draft(job, equal[job], self._criteria.begin(job))
            draft.force()
            waiting.append(self._ask(draft))
        for request, output in self._engine.outputs(waiting):
            text = self._take(request, output, waiting)
            if text is not None:
                for at in request.context.owners:
                    yield at, _own(text, jobs[at])

    def _take(
        self, request: EngineRequest, output: Any, waiting: deque[EngineRequest]
    ) -> Text | Failure | None:
        """Add the newest tokens; returns the answer if it is complete."""
        if isinstance(output, Failure):
            return output
        if isinstance(request.context, _NanCheck):
            return request.context.settled(output)
        draft: _Draft = request.context
        halted = draft.take(output.outputs[0].token_ids)
        if halted and not output.finished:
            self._engine.drop(request)
        if halted and draft.completion.finish is None:
            # The thinking section is closed now; the model continues after it.
            draft.force()
            waiting.appendleft(self._ask(draft))
            return None
        if not halted and not output.finished:
            return None
        text = draft.completion.result(0)
        if draft.tokens and draft.tokens[-1] == _NAN_TOKEN:
            waiting.appendleft(_NanCheck(draft, text).asked())
            return None
        return text

    def _ask(self, draft: _Draft) -> EngineRequest:
        ids = (*draft.job.prompt.ids, *draft.tokens)
        return EngineRequest(ids, self._params(draft), draft)

    def _params(self, draft: _Draft) -> Any:
        from vllm import SamplingParams
        from vllm.sampling_params import RequestOutputKind

        job = draft.job
        options: dict[str, Any] = {"temperature": 0.0}
        if job.sampling is not None:
            options = {
                "temperature": job.sampling.temperature,
                "top_p": job.sampling.top_p,
                "top_k": job.sampling.top_k,
                "seed": job.seed,
            }
        return SamplingParams(
            max_tokens=job.room - len(draft.tokens),
            stop_token_ids=list(self._criteria.ends),
            # The end tokens are the checkpoint's and the tokenizer's, given above.
            ignore_eos=True,
            detokenize=False,
            output_kind=RequestOutputKind.DELTA,
            **options,
        )


def _refusal(job: Job) -> Failure | None:
    if job.sampling is not None and job.sampling.temperature < _COLDEST:
        return Failure(
            "unsupported",
            f"vLLM does not sample at a temperature below {_COLDEST}; temperature=0 takes the most"
            " likely token",
        )
    return None


def _own(text: Text | Failure, job: Job) -> Text | Failure:
    return replace(text, truncated=job.prompt.truncated) if isinstance(text, Text) else text
