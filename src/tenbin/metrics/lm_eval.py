"""Metrics of lm-eval's task files that tenbin's own tasks do not use.

Those that lm-eval leaves to its aggregations give a pair here too: the right answer and the
model's, which a function of the task makes a number of.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

from tenbin.metrics.base import OWN_FUNCTION, Choices, metric
from tenbin.metrics.choice import acc, acc_pmi
from tenbin.metrics.options import SWITCH
from tenbin.metrics.translation import TRANSLATION, missing_package

_PACKAGES = {
    **dict.fromkeys(TRANSLATION, ("sacrebleu", "sacrebleu")),
    **dict.fromkeys(("rouge1", "rouge2", "rougeL", "rougeLsum"), ("rouge_score", "rouge-score")),
}


@lru_cache
def check_installed(name: str) -> None:
    """Refuse a metric or an aggregation whose package is not installed.

    Raises:
        TaskError: It is not.
    """
    module, package = _PACKAGES.get(name, ("", ""))
    if module and find_spec(module) is None:
        raise missing_package(name, package)


@metric("acc_bytes", "choice", needs_likelihoods=True)
def acc_bytes(choices: Choices) -> int:
    """The choice with the highest log-likelihood per UTF-8 byte; never an empty one."""
    lengths = [len(text.encode()) for text in choices.texts]
    shares = [
        logprob / length if length else -math.inf
        for logprob, length in zip(choices.logprobs, lengths, strict=True)
    ]
    return max(range(len(shares)), key=shares.__getitem__)


@metric("acc_mutual_info", "choice", needs_likelihoods=True, needs_unconditional=True)
def acc_mutual_info(choices: Choices) -> int:
    """The choice whose probability the prompt raises by the largest factor."""
    return acc_pmi(choices)


@metric("f1", "choice", aggregation="f1")
def f1(choices: Choices) -> int:
    """The choice of `acc`; aggregated to the F1 of the second choice, as scikit-learn's default."""
    return acc(choices)


@metric("exact_match", "choice", needs_likelihoods=True, needs_golds=True)
def exact_match(choices: Choices, golds: Sequence[int]) -> float:
    """1 where greedy decoding would have written a right choice."""
    return float(any(choices.greedy[gold] for gold in golds))


@metric(
    "brier_score",
    "choice",
    higher_is_better=False,
    needs_likelihoods=True,
    needs_golds=True,
    highest=2.0,
)
def brier_score(choices: Choices, golds: Sequence[int]) -> float:
    """Squared distance of the choices' probabilities from the right choice; their mean is Brier's.

    Probabilities are the softmax of the log-likelihoods.
    """
    best = max(choices.logprobs)
    weights = [math.exp(logprob - best) for logprob in choices.logprobs]
    total = math.fsum(weights)
    return math.fsum((weight / total - (at == golds[0])) ** 2 for at, weight in enumerate(weights))


def _gold_and_scores(choices: Choices, golds: Sequence[int]) -> tuple[int, tuple[float, ...]]:
    return golds[0], choices.logprobs


@metric(
    "likelihood",
    "choice",
    aggregation=OWN_FUNCTION,
    needs_likelihoods=True,
    needs_golds=True,
    item=_gold_and_scores,
)
def likelihood(item: tuple[int, tuple[float, ...]]) -> float:
    """The right choice's log-likelihood; a function of the task aggregates all of them."""
    gold, logprobs = item
    return logprobs[gold]


@metric(
    "perplexity",
    "loglikelihood",
    aggregation="perplexity",
    higher_is_better=False,
    needs_likelihoods=True,
)
def perplexity(choices: Choices) -> float:
    """The answer's log-likelihood; aggregated to exp of the mean of its negative."""
    return choices.logprobs[0]


@metric("acc", "loglikelihood", needs_likelihoods=True)
def greedy_acc(choices: Choices) -> float:
    """1 where greedy decoding would have written the answer."""
    return float(choices.greedy[0])


def _answer_pair(answer: Any, references: Sequence[str]) -> tuple[Any, Any]:
    """The right answer, or the list of them, and the model's."""
    return references[0] if len(references) == 1 else list(references), answer


def _no_value(item: tuple[Any, Any]) -> float:
    """0: what the pair is worth is said by the function that aggregates all of them."""
    return 0.0


@metric("acc", "generate", aggregation=OWN_FUNCTION, item=_answer_pair)
def acc_pair(item: tuple[Any, Any]) -> float:
    """The right answer and the model's, for a function of the task."""
    return _no_value(item)


@metric("f1", "generate", aggregation=OWN_FUNCTION, item=_answer_pair)
def f1_pair(item: tuple[Any, Any]) -> float:
    """The right answer and the model's, for a function of the task."""
    return _no_value(item)


@metric("accuracy", "generate")
def accuracy(answer: str, references: Sequence[str]) -> float:
    """1 where the answer is a right one, as `evaluate` has it for a single document."""
    return float(any(answer == reference.strip() for reference in references))


@lru_cache
def _rouge_scorer(use_stemmer: bool) -> Any:
    try:
        from rouge_score.rouge_scorer import RougeScorer
    except ImportError:
        raise missing_package("rouge", "rouge-score") from None
    return RougeScorer(["rouge1", "rouge2", "rougeL", "rougeLsum"], use_stemmer=use_stemmer)


def _rouge(name: str, answer: str, references: Sequence[str], use_stemmer: bool) -> float:
    """The F measure of the best reference."""
    scorer = _rouge_scorer(use_stemmer)
    return float(scorer.score_multi(list(references), answer)[name].fmeasure)


@metric("rouge1", "generate", options={"use_stemmer": SWITCH})
def rouge1(answer: str, references: Sequence[str], *, use_stemmer: bool = False) -> float:
    """F measure of shared words. Its tokenizer keeps Latin letters and digits only."""
    return _rouge("rouge1", answer, references, use_stemmer)


@metric("rouge2", "generate", options={"use_stemmer": SWITCH})
def rouge2(answer: str, references: Sequence[str], *, use_stemmer: bool = False) -> float:
    """F measure of shared pairs of words."""
    return _rouge("rouge2", answer, references, use_stemmer)


@metric("rougeL", "generate", options={"use_stemmer": SWITCH})
def rouge_l(answer: str, references: Sequence[str], *, use_stemmer: bool = False) -> float:
    """F measure of the longest common subsequence."""
    return _rouge("rougeL", answer, references, use_stemmer)


@metric("rougeLsum", "generate", options={"use_stemmer": SWITCH})
def rouge_lsum(answer: str, references: Sequence[str], *, use_stemmer: bool = False) -> float:
    """F measure of the longest common subsequences, line by line."""
    return _rouge("rougeLsum", answer, references, use_stemmer)
