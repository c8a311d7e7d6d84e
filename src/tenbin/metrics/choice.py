"""Choose among scored continuations.

Knows a prompt's choices and their log-likelihoods; does not know the gold answer, nor how choices
are counted over documents.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tenbin.errors import TaskError
from tenbin.records import Prompt, Scores


def acc(prompt: Prompt, scores: Scores) -> int:
    """The choice with the highest summed log-likelihood; the first one on a tie."""
    return _argmax(_checked(prompt, scores))


def acc_norm(prompt: Prompt, scores: Scores) -> int:
    """The choice with the highest log-likelihood per character of its text."""
    lengths = (len(choice) for choice in _choices(prompt))
    return _argmax(_divide(_checked(prompt, scores), lengths))


def acc_norm_bytes(prompt: Prompt, scores: Scores) -> int:
    """The choice with the highest log-likelihood per UTF-8 byte of its text."""
    lengths = (len(choice.encode("utf-8")) for choice in _choices(prompt))
    return _argmax(_divide(_checked(prompt, scores), lengths))


def acc_norm_tokens(prompt: Prompt, scores: Scores) -> int:
    """The choice with the highest log-likelihood per token, as the backend counted tokens."""
    return _argmax(_divide(_checked(prompt, scores), scores.token_counts))


def acc_pmi(prompt: Prompt, scores: Scores, unconditional: Scores) -> int:
    """The choice that the prompt makes more likely by the largest factor.

    Args:
        prompt: The document as it was put.
        scores: The choices after the prompt.
        unconditional: The same choices without it, in the same order.
    """
    conditional = _checked(prompt, scores)
    prior = _checked(prompt, unconditional)
    return _argmax([given - alone for given, alone in zip(conditional, prior, strict=True)])


def _choices(prompt: Prompt) -> tuple[str, ...]:
    if not prompt.choices:
        raise TaskError(
            f"{prompt.cell.id}: document {prompt.document} has no choices to choose from",
            "give the template `doc_to_choice`, or use a metric for generated text",
        )
    return prompt.choices


def _checked(prompt: Prompt, scores: Scores) -> tuple[float, ...]:
    choices = _choices(prompt)
    if len(scores.logprobs) != len(choices):
        raise TaskError(
            f"{prompt.cell.id}: document {prompt.document} has {len(choices)} choices"
            f" but {len(scores.logprobs)} scores"
        )
    return scores.logprobs


def _divide(logprobs: Sequence[float], lengths: Iterable[int]) -> list[float]:
    # An empty choice counts as one unit long: its log-likelihood stands as it is.
    return [logprob / max(1, length) for logprob, length in zip(logprobs, lengths, strict=True)]


def _argmax(values: Sequence[float]) -> int:
    return max(range(len(values)), key=values.__getitem__)
