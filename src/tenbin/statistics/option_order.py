"""Option order: how much of a score is due to the positions at which options are shown.

The same documents are asked with their options in every rotated order. Each document's right answer
then stands once at each position, so that recalls by position are compared on the same documents,
whatever the data set's own order is.

Two scores without the preference are given. The mean over orders is the score that a random order
has on average. A prior of the positions, from a few documents asked in all orders, can be removed
from the others, which are asked once (Zheng et al., 2024, call it PriDe).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tenbin.statistics.columns import (
    Spread,
    column_means,
    column_spread,
    difference_estimate,
    share_estimate,
)
from tenbin.statistics.intervals import Estimate
from tenbin.statistics.measured import number_clusters

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Numbers = NDArray[np.intp]

PRIOR_SHARE = 0.05
"""Share of the documents that a prior is taken from."""
LEAST_PRIOR = 10
"""Clusters that a prior is taken from, at least; half of them where there are fewer than 20."""
NOT_READ = -1
"""In place of a position: no option could be read out of the answer."""
_LEAST = -100.0
"""Smallest log-probability that is told from others."""


@dataclass(frozen=True, slots=True, eq=False)
class RotatedAnswers:
    """Answers to the same documents in every rotated order."""

    chosen: Numbers
    """Documents × rotations: the position that was chosen, as shown; `NOT_READ` where none was."""
    gold: Numbers
    """The option of the row that is right, for each document."""
    clusters: Sequence[str | None]
    logprobs: Array | None = None
    """Documents × rotations × positions as shown; None where options were not scored."""
    complete: NDArray[np.bool_] | None = None
    """Documents that were asked in all orders; the others only in the row's. None: all were."""

    @property
    def options(self) -> int:
        """How many options, positions and rotations there are."""
        return int(self.chosen.shape[1])

    def taken(self, documents: Numbers) -> RotatedAnswers:
        """Some of the documents."""
        return RotatedAnswers(
            self.chosen[documents],
            self.gold[documents],
            [self.clusters[at] for at in documents],
            None if self.logprobs is None else self.logprobs[documents],
        )

    def originals(self) -> Numbers:
        """Documents × rotations: the option of the row that was chosen; `NOT_READ` where none."""
        import numpy as np

        options = (self.chosen + np.arange(self.options)) % self.options
        return np.where(self.chosen == NOT_READ, NOT_READ, options)

    def right(self) -> Array:
        """Documents × rotations: 1 where the right option was chosen."""
        import numpy as np

        found: Array = (self.originals() == self.gold[:, None]).astype(np.float64)
        return found


@dataclass(frozen=True, slots=True)
class PositionEstimates:
    """What is known of one position."""

    position: int
    recall: Estimate
    """Share of documents that are answered right when the right answer stands here."""
    chosen: Estimate
    """Share of answers that choose this position; without a preference 1 / options."""


@dataclass(frozen=True, slots=True)
class ByPosition:
    """All positions, before or after a prior was removed."""

    positions: tuple[PositionEstimates, ...]
    recall_spread: Spread
    chosen_spread: Spread
    every_order: bool
    """Whether each document counts at every position; otherwise each at its own position only, and
    easy documents may stand at one of them."""


@dataclass(frozen=True, slots=True)
class RemovedPrior:
    """The score in the row's order after a prior of the positions was removed."""

    prior: tuple[float, ...]
    """Probability of each position, whatever stands there: the mean over all priors used."""
    prior_documents: int
    """Documents behind one prior."""
    priors: int
    """Disjoint sets of documents that gave one each; the score is a mean over them."""
    score: Estimate
    """On documents that did not help to estimate the prior."""
    gain: Estimate
    """That score less the score as asked, on the same documents."""
    after: ByPosition


@dataclass(frozen=True, slots=True)
class OptionOrder:
    """How a score depends on the order of the options."""

    options: int
    documents: int
    complete: int
    """Documents that were asked in all orders."""
    as_asked: Estimate
    """The score in the row's own order."""
    rotations: tuple[Estimate, ...]
    """The score at each rotation, of documents asked in all orders; the first is the row's."""
    mean: Estimate
    """The mean over all orders: what a random order scores on average."""
    from_order: Estimate
    """The score in the row's order less that mean, on the same documents."""
    same_option: Estimate
    """How often two orders of one document lead to the same option."""
    same_position: Estimate
    """How often they lead to the same position, which then holds another option."""
    combined: Estimate | None
    """The score of the option whose log-likelihoods, summed over all orders, are highest; None
    where options were not scored."""
    before: ByPosition
    removed: RemovedPrior | None
    """None where options were not scored, or there are too few documents."""


def option_order(answers: RotatedAnswers, seed: int = 0) -> OptionOrder:
    """What the answers in all orders say.

    Args:
        answers: Of one task under one template; two or more documents in all orders.
        seed: Decides which documents give a prior.
    """
    import numpy as np

    count, options = answers.chosen.shape
    complete = np.ones(count, dtype=bool) if answers.complete is None else answers.complete
    every, whole = np.flatnonzero(complete), bool(complete.all())
    all_orders, first = answers.taken(every), answers.chosen[:, 0]
    right = all_orders.right()
    scored = all_orders if whole else answers.taken(np.flatnonzero(~complete))
    orders = options if whole else 1
    return OptionOrder(
        options=options,
        documents=count,
        complete=len(every),
        as_asked=share_estimate((first == answers.gold).astype(float), answers.clusters),
        rotations=tuple(share_estimate(right[:, at], all_orders.clusters) for at in range(options)),
        mean=share_estimate(right.mean(axis=1), all_orders.clusters),
        from_order=difference_estimate(right[:, 0] - right.mean(axis=1), all_orders.clusters),
        same_option=share_estimate(_agreement(all_orders.originals()), all_orders.clusters),
        same_position=share_estimate(_agreement(all_orders.chosen), all_orders.clusters),
        combined=_combined(all_orders),
        before=_by_position(_one_hot(scored.chosen[:, :orders], options), scored),
        removed=_removed(all_orders, scored, orders, seed),
    )


def _agreement(chosen: Numbers) -> Array:
    """For each document, the share of pairs of orders with the same entry."""
    import numpy as np

    orders = chosen.shape[1]
    same = (chosen[:, :, None] == chosen[:, None, :]) & (chosen != NOT_READ)[:, :, None]
    pairs: Array = (same.sum(axis=(1, 2)) - (chosen != NOT_READ).sum(axis=1)) / np.float64(
        orders * (orders - 1)
    )
    return pairs


def _one_hot(chosen: Numbers, options: int) -> Array:
    """Documents × orders × positions: 1 at the position that was chosen."""
    import numpy as np

    found: Array = (chosen[:, :, None] == np.arange(options)).astype(np.float64)
    return found


def _by_position(hot: Array, answers: RotatedAnswers) -> ByPosition:
    """Recall and share of choices at each position.

    Args:
        hot: Documents × orders × positions: how often each position was chosen, in the row's order
            alone or in all orders.
        answers: Of these documents.
    """
    import numpy as np

    count, orders, options = hot.shape
    positions, gold = np.arange(options), answers.gold[:, None]
    # The order in which the right answer stands at a position.
    order = (gold - positions) % options
    counted = (order < orders).astype(np.float64)
    recall = hot[np.arange(count)[:, None], np.minimum(order, orders - 1), positions]
    chosen = hot.mean(axis=1)
    present = np.flatnonzero(counted.sum(axis=0))
    found = tuple(
        PositionEstimates(
            int(at),
            share_estimate(
                recall[counted[:, at] > 0, at],
                [one for one, used in zip(answers.clusters, counted[:, at], strict=True) if used],
            ),
            share_estimate(chosen[:, at], answers.clusters),
        )
        for at in present
    )
    means, moved = column_means(recall[:, present], counted[:, present], answers.clusters)
    return ByPosition(
        found,
        column_spread(means, moved),
        column_spread(*column_means(chosen, None, answers.clusters)),
        orders == options,
    )


def _log_softmax(logprobs: Array) -> Array:
    """Log-probabilities among the positions of each order."""
    import numpy as np

    # An option that a model rules out would leave nothing to average.
    kept = np.maximum(logprobs - logprobs.max(axis=2, keepdims=True), _LEAST)
    found: Array = kept - np.log(np.exp(kept).sum(axis=2, keepdims=True))
    return found


def _combined(answers: RotatedAnswers) -> Estimate | None:
    """The score of the options that are best in all orders together."""
    import numpy as np

    if answers.logprobs is None:
        return None
    scores, options = _log_softmax(answers.logprobs), answers.options
    at = np.arange(options)
    # Option o of the row stands at position o - r in order r.
    positions = (at[None, :] - at[:, None]) % options
    totals = scores[:, at[:, None], positions].sum(axis=1)
    return share_estimate(
        (totals.argmax(axis=1) == answers.gold).astype(np.float64), answers.clusters
    )


def _removed(
    all_orders: RotatedAnswers, scored: RotatedAnswers, orders: int, seed: int
) -> RemovedPrior | None:
    """Remove priors of the positions from the documents that did not help to estimate them.

    Args:
        all_orders: Documents that were asked in all orders.
        scored: Documents to remove priors from: the same, or all others.
        orders: How many orders these were asked in.
        seed: Decides which documents give a prior together.
    """
    import numpy as np

    if all_orders.logprobs is None or scored.logprobs is None:
        return None
    by_document = _log_softmax(all_orders.logprobs).mean(axis=1)
    weights = np.exp(by_document)
    weights /= weights.sum(axis=1, keepdims=True)
    sets = _prior_sets(all_orders.clusters, seed) if orders > 1 else [np.arange(len(weights))]
    if not sets or not len(scored.gold):
        return None
    logprobs = scored.logprobs[:, :orders]
    hot, used = np.zeros(logprobs.shape), np.zeros(len(logprobs))
    priors = np.stack([weights[one].mean(axis=0) for one in sets])
    for one, prior in zip(sets, priors, strict=True):
        free = np.ones(len(logprobs), dtype=bool)
        if orders > 1:
            free[one] = False
        best = (logprobs[free] - np.log(prior)).argmax(axis=2)
        hot[free] += _one_hot(best, all_orders.options)
        used += free
    hot /= used[:, None, None]
    values = hot[np.arange(len(hot)), 0, scored.gold]
    before = (scored.chosen[:, 0] == scored.gold).astype(np.float64)
    return RemovedPrior(
        tuple(float(one) for one in priors.mean(axis=0)),
        round(sum(map(len, sets)) / len(sets)),
        len(sets),
        share_estimate(values, scored.clusters),
        difference_estimate(values - before, scored.clusters),
        _by_position(hot, scored),
    )


def _prior_sets(clusters: Sequence[str | None], seed: int) -> list[Numbers]:
    """Disjoint random sets of documents, whole clusters; none where there are too few."""
    import numpy as np

    numbers = np.array(number_clusters(clusters), dtype=np.intp)
    count = int(numbers.max()) + 1
    size = max(math.ceil(PRIOR_SHARE * count), min(LEAST_PRIOR, count // 2))
    if size < 1:
        return []
    shuffled = np.random.default_rng([abs(seed), count]).permutation(count)
    groups = [shuffled[at : at + size] for at in range(0, count - size + 1, size)]
    return [np.flatnonzero(np.isin(numbers, group)) for group in groups]
