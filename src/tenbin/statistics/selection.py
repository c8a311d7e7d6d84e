"""Choose among options measured on the same documents, with an unbiased score of the choice.

The best of several scores is biased upwards, because it was also chosen for its luck. Cross-fitting
removes that bias. The documents are divided into folds; each fold is scored by the option that is
best on all other folds, so no document helps to choose the option it is scored by.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tenbin.errors import ResultError
from tenbin.statistics.intervals import Estimate, estimate, t_interval, wilson_interval
from tenbin.statistics.measured import Measured, number_clusters

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Numbers = NDArray[np.intp]

FOLDS = 3
"""With more folds, folds choose on nearly the same documents: where options are equally good, each
fold is then scored by an option that was lucky elsewhere, and so unlucky in it."""
REPEATS = 30
"""Divisions into folds that are averaged, so that the result does not depend on one of them."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The option chosen on all documents, and its naive and unbiased scores."""

    best: int
    """The option with the best score on all documents."""
    naive: float
    """That score: what a table of all options would show."""
    honest: Measured
    """The documents as scored by the option that the others chose; its value is unbiased."""
    shares: tuple[float, ...]
    """How often each option was chosen over all folds."""
    stderr: float | None
    """Of the options' own scores, the mean over how often each was chosen."""

    @property
    def optimism(self) -> float:
        """How far the naive score lies above the honest one (below it where low is good)."""
        return self.naive - self.honest.value


def cross_fitted(
    options: Sequence[Measured],
    seed: int,
    higher_is_better: bool = True,
    folds: int = FOLDS,
    repeats: int = REPEATS,
) -> Choice:
    """Choose by cross-fitting; whole clusters go into one fold.

    Args:
        options: The same documents under each option.
        seed: Makes the cuts repeatable.
        higher_is_better: Which way is better.
        folds: Parts that the documents are cut into; at most as many as there are clusters.
        repeats: Cuts that are averaged.

    Raises:
        ResultError: The options were not measured on the same documents, or on too few.
    """
    import numpy as np

    _check(options)
    numbers = np.array(number_clusters(options[0].clusters), dtype=np.intp)
    clusters = int(numbers.max()) + 1
    if clusters < 2:
        raise ResultError(
            "a choice needs two independent documents at least", "raise --limit or leave it out"
        )
    if len({option.features.shape[1] for option in options}) > 1:
        options = widened(options)
    race = _Race(
        np.stack([option.cluster_sums() for option in options]), options[0].score, higher_is_better
    )
    generator = np.random.default_rng([abs(seed), clusters])
    everyone = np.arange(clusters)
    chosen = np.stack([race.run(everyone, generator, folds) for _ in range(repeats)])
    scores = [option.score(option.features.sum(axis=0)) for option in options]
    best = best_of(scores, higher_is_better)
    shares = np.bincount(chosen.ravel(), minlength=len(options)) / chosen.size
    return Choice(
        best,
        float(scores[best]),
        _averaged(options, chosen[:, numbers]),
        tuple(float(share) for share in shares),
        _mean_stderr(options, shares),
    )


def fold_of(name: str, seed: int, folds: int) -> int:
    """The fold of a cluster, by its name alone, so that it is the same in every analysis."""
    digest = hashlib.blake2b(f"{seed} {name}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") % folds


def chosen_among(
    options: Sequence[Measured],
    candidates: Sequence[Sequence[int]],
    folds: Sequence[int],
    higher_is_better: bool = True,
) -> Choice:
    """Choose among options that were themselves chosen, fold by fold.

    Args:
        options: The same documents under each option.
        candidates: For each fold, the options that the other folds chose: a fold is scored by the
            best of them on the other folds, so that its documents take no part in either choice.
        folds: The fold of each document; whole clusters lie in one.
        higher_is_better: Which way is better.

    Raises:
        ResultError: The options were not measured on the same documents, or a fold is empty.
    """
    import numpy as np

    _check(options)
    if len({option.features.shape[1] for option in options}) > 1:
        options = widened(options)
    of = np.array(folds)
    chosen = np.zeros(len(of), dtype=np.intp)
    for fold, own in enumerate(candidates):
        inside = of == fold
        if not inside.any() or inside.all():
            raise ResultError(
                "too few documents to choose prompts on one part and score them on another",
                "raise --limit or leave it out",
            )
        seen = [options[at].score(options[at].features[~inside].sum(axis=0)) for at in own]
        chosen[inside] = own[best_of(seen, higher_is_better)]
    scores = [option.value for option in options]
    best = best_of(scores, higher_is_better)
    shares = np.bincount(chosen, minlength=len(options)) / len(chosen)
    return Choice(
        best,
        scores[best],
        _averaged(options, chosen[None, :]),
        tuple(float(share) for share in shares),
        _mean_stderr(options, shares),
    )


def _mean_stderr(options: Sequence[Measured], shares: Array) -> float | None:
    """The root of the options' squared errors, weighted by how often each was chosen."""
    errors = [
        (estimate(option).stderr, float(share))
        for option, share in zip(options, shares, strict=True)
        if share > 0
    ]
    if any(stderr is None for stderr, _ in errors):
        return None
    return math.sqrt(math.fsum(share * (stderr or 0.0) ** 2 for stderr, share in errors))


@dataclass(frozen=True, slots=True)
class _Race:
    """Options that compete for the clusters of a fold."""

    sums: Array
    """Options × clusters × features."""
    score: Callable[[Array], Array]
    higher_is_better: bool

    def run(self, part: Numbers, generator: np.random.Generator, folds: int) -> Numbers:
        """The option that each cluster of a part is scored by, in one cut into folds."""
        import numpy as np

        folds = min(folds, len(part))
        fold_of = generator.permutation(np.arange(len(part)) % folds)
        inside = np.zeros((folds, len(part)))
        inside[fold_of, np.arange(len(part))] = 1.0
        # Sums over each fold, for every option at once; what is left is what the fold may see.
        held_out = np.einsum("fc,ocw->ofw", inside, self.sums[:, part], optimize=True)
        seen = self.score(self.sums[:, part].sum(axis=1)[:, None, :] - held_out)
        picks = seen.argmax(axis=0) if self.higher_is_better else seen.argmin(axis=0)
        chosen: Numbers = picks[fold_of]
        return chosen


def honest_estimate(choice: Choice, seed: int, top: float | None) -> Estimate:
    """The honest score with an error that accounts for the choice.

    Averaged over cuts, a document's value lies between those that the options gave it, and so
    varies less than any option's. The honest score is no more certain than the score of an option
    that was named beforehand: the larger of the two variances is used.
    """
    given = estimate(choice.honest, seed, top)
    if given.stderr is None or choice.stderr is None or given.value is None:
        return given
    stderr = max(given.stderr, choice.stderr)
    degrees = given.clusters - 1
    if given.method == "wilson" and top is not None:
        low, high = wilson_interval(given.value, stderr, given.clusters, degrees, top)
    else:
        low, high = t_interval(given.value, stderr, degrees)
    return replace(given, stderr=stderr, low=low, high=high)


def best_of(scores: Sequence[float | Array], higher_is_better: bool) -> int:
    """The position of the best score; the first of equal ones."""
    values = [float(score) for score in scores]
    return values.index(max(values) if higher_is_better else min(values))


def on_shared_documents(options: Sequence[Measured]) -> list[Measured]:
    """The options cut down to the documents that all of them scored."""
    shared = set(options[0].documents).intersection(*(o.documents for o in options[1:]))
    cut = []
    for option in options:
        rows = [at for at, document in enumerate(option.documents) if document in shared]
        cut.append(
            replace(
                option,
                documents=tuple(option.documents[at] for at in rows),
                clusters=tuple(option.clusters[at] for at in rows),
                features=option.features[rows],
            )
        )
    return cut


def widened(options: Sequence[Measured]) -> list[Measured]:
    """Confusion matrices of unequal size brought to the largest: one option may never predict a
    class that another does."""
    import numpy as np

    sizes = [round(option.features.shape[1] ** 0.5) for option in options]
    largest = max(range(len(options)), key=lambda at: sizes[at])
    size, score = sizes[largest], options[largest].score
    wide = []
    for option, own in zip(options, sizes, strict=True):
        matrices = option.features.reshape(-1, own, own)
        padded = np.pad(matrices, ((0, 0), (0, size - own), (0, size - own)))
        wide.append(replace(option, features=padded.reshape(len(padded), -1), score=score))
    return wide


def _averaged(options: Sequence[Measured], chosen: Numbers) -> Measured:
    """Each document's features under the options chosen for it, averaged over the cuts."""
    import numpy as np

    documents = np.arange(chosen.shape[1])
    features = np.stack([option.features for option in options])
    mean = features[chosen, documents[None, :]].mean(axis=0)
    return replace(options[0], features=mean)


def _check(options: Sequence[Measured]) -> None:
    if not options:
        raise ResultError("there is nothing to choose from")
    for option in options[1:]:
        if option.documents != options[0].documents or option.clusters != options[0].clusters:
            raise ResultError("options to choose from must be measured on the same documents")
    if not options[0].documents:
        raise ResultError("the options share no scored document")
