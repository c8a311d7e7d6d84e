"""Which item of a parallel set each row is, where a language's file has its own row order.

Languages are compared item by item, so a row must be known by its item. A copy without ids is
ordered by rows alone, and at least one published language stands in another order than the rest.
The gold answers in file order tell the orders apart.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from tenbin.documents.pinned import ItemOrder, PinnedSet
from tenbin.records import Document


def align_documents(
    pinned: PinnedSet, config: str | None, documents: Sequence[Document], published_rows: int
) -> tuple[list[Document], list[str]]:
    """Give rows without ids the ids of their items and put them in item order.

    Args:
        pinned: A parallel set; its documents are returned unchanged when no orders are known.
        config: The language, for the notice.
        documents: The documents in file order.
        published_rows: How many rows the published split has.

    Returns:
        The documents, and what to tell the user.
    """
    numbered = all(document.id == f"row-{row}" for row, document in enumerate(documents))
    if not pinned.items or not numbered or len(documents) != published_rows:
        return list(documents), []
    digest = _gold_digest(documents)
    order = next((known for known in pinned.items if known.golds == digest), None)
    if order is None:
        return list(documents), [
            f"{pinned.name} {config}: the gold answers are in no known order, so rows are taken to "
            "be the same items as the rows of the other languages; comparisons between languages "
            "depend on that"
        ]
    if not order.moved_to_end:
        return list(documents), []
    return _reorder(documents, order), [
        f"{pinned.name} {config}: the file has its own row order; its rows were matched to the "
        "items of the other languages"
    ]


def _reorder(documents: Sequence[Document], order: ItemOrder) -> list[Document]:
    in_place = [item for item in range(len(documents)) if item not in order.moved_to_end]
    by_item = sorted(zip([*in_place, *order.moved_to_end], documents, strict=True), key=_item)
    return [replace(document, id=f"row-{item}", group=f"row-{item}") for item, document in by_item]


def _item(pair: tuple[int, Document]) -> int:
    return pair[0]


def _gold_digest(documents: Sequence[Document]) -> str:
    golds = "".join(str(document.fields["label"]) for document in documents)
    return hashlib.sha256(golds.encode()).hexdigest()[:16]
