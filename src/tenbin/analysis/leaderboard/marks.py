"""What cells of one column do not have in common, and which of them are ranked together."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from tenbin.analysis.compare.comparability import (
    WARNED,
    Difference,
    StoredCell,
    differences,
    prompt_causes,
)
from tenbin.analysis.leaderboard.columns import Place, documents_of, task_key

_ENOUGH = 0.9
"""Of the documents of a column's reference, the share that a cell needs to be ranked."""


def reference_of(places: Sequence[Place]) -> Place:
    """The cell that the others are compared with: one of the largest set that agrees.

    Interrupted runs are none, unless there is nothing else.
    """
    complete = [place for place in places if not place.result.partial] or list(places)
    # The most documents first: what has more than a class's first cell would pass for its like.
    complete.sort(key=documents_of, reverse=True)
    classes: list[list[Place]] = []
    for place in complete:
        for known in classes:
            if is_comparable(marks(place, known[0]), ()):
                known.append(place)
                break
        else:
            classes.append([place])
    return max(classes, key=lambda own: (len(own), documents_of(own[0])))[0]


def is_comparable(found: Sequence[Difference], allow: Collection[str]) -> bool:
    """Whether nothing differs that a comparison rests on."""
    return all(one.kind in (*allow, *WARNED) for one in found)


def marks(place: Place, reference: Place) -> tuple[Difference, ...]:
    """What a cell (here) does not have in common with the reference of its column (there)."""
    found: dict[Difference, None] = {}
    for id, other in _members(place, reference):
        mine, theirs = StoredCell(place.result, id, {}), StoredCell(reference.result, other, {})
        # Stops and interruptions are marked where they are, not in all other cells.
        found |= dict.fromkeys(
            one for one in differences(mine, theirs) if "the run there" not in one.text
        )
        found |= dict.fromkeys(_prompts(mine, theirs))
        found |= dict.fromkeys(_fewer(mine, theirs, f"{id}: " if place.group else ""))
    return tuple(found)


def _fewer(mine: StoredCell, theirs: StoredCell, name: str) -> Iterator[Difference]:
    """A cell of fewer documents would take the others away from all models."""
    asked, usual = (cell.result.n_samples[cell.id].effective for cell in (mine, theirs))
    if asked < _ENOUGH * usual and not mine.result.partial:
        yield Difference("partial", f"{name}{asked:,} documents here, {usual:,} there")


def _members(place: Place, reference: Place) -> list[tuple[str, str]]:
    """Ids of the same tasks in both runs."""
    if not place.group:
        return [(place.id, reference.id)]
    known = {task_key(reference.result, id): id for id in reference.tasks}
    return [(id, known[task_key(place.result, id)]) for id in place.tasks]


def _prompts(mine: StoredCell, theirs: StoredCell) -> list[Difference]:
    """Whether prompts differ, by their common hash; of unequal numbers of documents, by options."""
    hashes = [cell.result.prompts[cell.id].prompts_hash for cell in (mine, theirs)]
    counts = [cell.result.n_samples[cell.id].effective for cell in (mine, theirs)]
    if hashes[0] == hashes[1] and hashes[0] is not None:
        return []
    causes = "; ".join(prompt_causes(mine, theirs))
    same_documents = counts[0] == counts[1] and None not in hashes
    if not causes and (not same_documents or _settled(mine, theirs)):
        return []
    return [Difference("prompts", f"other prompts: {causes}" if causes else "other prompts")]


def _settled(mine: StoredCell, theirs: StoredCell) -> bool:
    """Whether another difference explains prompts that are not the same."""
    shots = mine.config.num_fewshot
    return bool(shots) and mine.config.seed != theirs.config.seed
