"""A working model of the answers: how hard a document is, and how good a prompt is.

The logit of a right answer is the document's ability plus the prompt's (Rasch). Abilities of
documents have a free distribution on a grid, those of prompts a normal one, both fitted to the data
(marginal maximum likelihood by EM). Estimates that use the model as a working model stay unbiased
where it is wrong; a good fit makes them sharp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Mask = NDArray[np.bool_]

_NODES = 31
_REACH = 6.0
"""Abilities of documents lie within ± this, on the logit scale."""
_ROUNDS = 40
_CLOSE = 1e-3
"""The fit ends when no prompt moves by more than this, on the logit scale."""


def predict(values: Array, used: Mask) -> Array:
    """The expected value of every cell, documents × prompts, from the cells that may be used.

    Args:
        values: Documents × prompts, from 0 to 1; 0 in cells that are not used.
        used: The cells that the fit may see.
    """
    import numpy as np
    from scipy.sparse import csr_matrix  # type: ignore[import-untyped]

    seen = csr_matrix(used.astype(float))
    right = csr_matrix(np.where(used, values, 0.0))
    nodes = np.linspace(-_REACH, _REACH, _NODES)
    share = np.exp(-0.5 * (nodes / 2) ** 2)
    share /= share.sum()
    asked = np.asarray(seen.sum(axis=0)).ravel()
    gained = np.asarray(right.sum(axis=0)).ravel()
    mean = gained.sum() / max(asked.sum(), 1.0)
    start = (gained + 4 * mean) / (asked + 4)
    start = np.clip(start, 0.01, 0.99)
    prompts = np.log(start / (1 - start))
    nodes = nodes + prompts.mean()
    prompts = prompts - prompts.mean()
    spread = 1.0
    for _ in range(_ROUNDS):
        posterior = _posterior(seen, right, nodes, prompts, share)
        share = posterior.mean(axis=0) + 1e-9
        share /= share.sum()
        chance = _logistic(prompts[:, None] + nodes[None, :])
        weight = seen.T @ posterior
        slope = gained - (weight * chance).sum(axis=1) - prompts / spread
        bend = (weight * chance * (1 - chance)).sum(axis=1) + 1 / spread
        step = np.clip(slope / bend, -1.0, 1.0)
        prompts = prompts + step
        moved = prompts.mean()
        prompts, nodes = prompts - moved, nodes + moved
        spread = max(float((prompts**2 + 1 / bend).mean()), 1e-3)
        if float(np.abs(step).max()) < _CLOSE:
            break
    posterior = _posterior(seen, right, nodes, prompts, share)
    predicted: Array = posterior @ _logistic(prompts[:, None] + nodes[None, :]).T
    return predicted


def _posterior(seen: Array, right: Array, nodes: Array, prompts: Array, share: Array) -> Array:
    """Documents × nodes: how likely each ability is, given the document's answers."""
    import numpy as np

    logits = prompts[:, None] + nodes[None, :]
    # y·log σ(x) + (1−y)·log(1−σ(x)) = y·x − log(1+eˣ)
    scores = right @ logits - seen @ np.logaddexp(0.0, logits) + np.log(share)
    scores -= scores.max(axis=1, keepdims=True)
    likely = np.exp(scores)
    posterior: Array = likely / likely.sum(axis=1, keepdims=True)
    return posterior


def _logistic(logits: Array) -> Array:
    import numpy as np

    result: Array = 1 / (1 + np.exp(-logits))
    return result
