"""Metrics of choice tasks: which of the scored continuations is the model's answer.

Also which choice a model named that shows no log-likelihoods, by its first token or in a text.
"""

from __future__ import annotations

import math
import re
import string
from collections.abc import Iterable, Sequence

from tenbin.metrics.base import Choices, metric
from tenbin.metrics.extraction import MOST_CHOICES
from tenbin.metrics.extraction.clean import normalise_unicode
from tenbin.records import Picked


@metric("acc", "choice")
def acc(choices: Choices) -> int:
    """The choice with the highest summed log-likelihood; the first one on a tie."""
    return _argmax(choices.logprobs)


@metric("acc_norm", "choice", needs_likelihoods=True)
def acc_norm(choices: Choices) -> int:
    """The choice with the highest log-likelihood per character of its text."""
    return _argmax(_divide(choices.logprobs, map(len, choices.texts)))


@metric("acc_norm_bytes", "choice", needs_likelihoods=True)
def acc_norm_bytes(choices: Choices) -> int:
    """The choice with the highest log-likelihood per UTF-8 byte of its text."""
    return _argmax(_divide(choices.logprobs, (len(text.encode()) for text in choices.texts)))


@metric("acc_norm_tokens", "choice", needs_likelihoods=True)
def acc_norm_tokens(choices: Choices) -> int:
    """The choice with the highest log-likelihood per token, as the backend counted tokens."""
    return _argmax(_divide(choices.logprobs, choices.token_counts))


@metric("acc_pmi", "choice", needs_likelihoods=True, needs_unconditional=True)
def acc_pmi(choices: Choices) -> int:
    """The choice whose probability the prompt raises by the largest factor."""
    prior = choices.unconditional or ()
    return _argmax([given - alone for given, alone in zip(choices.logprobs, prior, strict=True)])


@metric("balanced_acc", "choice", aggregation="balanced_acc")
def balanced_acc(choices: Choices) -> int:
    """The choice of `acc`; aggregated to the mean recall over the gold classes."""
    return acc(choices)


@metric("mcc", "choice", aggregation="mcc")
def mcc(choices: Choices) -> int:
    """The choice of `acc`; aggregated to Matthews correlation of gold and predicted classes."""
    return acc(choices)


@metric("macro_f1", "choice", aggregation="macro_f1")
def macro_f1(choices: Choices) -> int:
    """The choice of `acc`; aggregated to the mean F1 over classes."""
    return acc(choices)


def _is_missing(predicted: int | None, gold: int) -> float:
    return float(predicted is None)


@metric("no_choice", "choice", higher_is_better=False, value=_is_missing)
def no_choice(choices: Choices) -> int:
    """The choice of `acc`; its value is 1 where a model named no choice, which scores never do."""
    return acc(choices)


@metric(
    "gold_bits_per_byte",
    "choice",
    higher_is_better=False,
    needs_likelihoods=True,
    needs_golds=True,
    highest=math.inf,
)
def gold_bits_per_byte(choices: Choices, golds: Sequence[int]) -> float:
    """Bits that the right choice takes, per UTF-8 byte of its text; of several, the cheapest.

    It moves with every step of a training, where accuracies stand still until choices overtake each
    other.
    """
    right = [choices.logprobs[gold] for gold in golds]
    sizes = (len(choices.texts[gold].encode()) for gold in golds)
    return min(-each / math.log(2) for each in _divide(right, sizes))


def _divide(logprobs: Sequence[float], lengths: Iterable[int]) -> list[float]:
    # An empty choice counts as one unit long: its log-likelihood stands as it is.
    return [logprob / max(1, length) for logprob, length in zip(logprobs, lengths, strict=True)]


def _argmax(values: Sequence[float]) -> int:
    return values.index(max(values))


def named_choice(picked: Picked, language: str) -> int | None:
    """The index of the choice that a model named; None where it named none.

    A first token needs no reading. A text is read as the answers of generation tasks are, where
    choices have letters; other labels count where one of them opens the text or stands alone in it.

    Args:
        picked: The response of a model that shows no log-likelihoods of texts.
        language: The prompt's language.
    """
    if picked.way == "letter_logprobs":
        return picked.choice
    labels, letters = picked.labels, string.ascii_uppercase
    if len(labels) <= MOST_CHOICES and "".join(labels) == letters[: len(labels)]:
        from tenbin.metrics.extraction.flexible import read_flexible

        found = read_flexible(picked.text, language, len(labels))
        return None if found is None else letters.index(found)
    return find_label(picked.text, labels)


def find_label(text: str, labels: Sequence[str]) -> int | None:
    """The label that opens a text, or the only one that stands in it; None where neither is."""
    plain = normalise_unicode("NFKC", text).strip()
    names = [normalise_unicode("NFKC", label) for label in labels]
    opening = [at for at, name in enumerate(names) if re.match(rf"{_alone(name)}(?!\w)", plain)]
    if len(opening) == 1:
        return opening[0]
    standing = [at for at, name in enumerate(names) if re.search(_alone(name), plain)]
    return standing[0] if len(standing) == 1 else None


def _alone(name: str) -> str:
    """A label without Latin letters or digits at its ends: 「答えは2です」 holds one, `12` none."""
    return rf"(?<![0-9A-Za-z.]){re.escape(name)}(?![0-9A-Za-z]|\.[0-9])"
