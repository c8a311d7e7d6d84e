"""Examples drawn by position from a shelf are those that whole lists of documents give."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from tenbin.errors import DataError
from tenbin.files import disk_list as shelf
from tenbin.files.disk_list import DiskList
from tenbin.prompts import example_pool as pools
from tenbin.prompts.example_pool import Pool
from tenbin.prompts.fewshot import open_sampler
from tenbin.records import Document, FewshotPlan, Task
from tenbin.tasks.registry import load_registry


def says(document: Document) -> str:
    return json.dumps({k: v for k, v in document.fields.items() if k != "id"}, sort_keys=True)


def generator(*identity: object) -> random.Random:
    digest = hashlib.sha256(json.dumps(identity).encode()).digest()
    return random.Random(int.from_bytes(digest[:8], "big"))


def by_label(chance: random.Random, documents: Sequence[Document], shots: int) -> list[Document]:
    strata: dict[object, list[Document]] = {}
    for document in documents:
        strata.setdefault(document.fields["label"], []).append(document)
    counts = {label: int(len(own) / len(documents) * shots) for label, own in strata.items()}
    while sum(counts.values()) < shots:
        counts[min(counts, key=lambda label: counts[label])] += 1
    chosen = [one for label, own in strata.items() for one in chance.sample(own, counts[label])]
    chance.shuffle(chosen)
    return chosen


def expected(
    task: Task, pool: list[Document], document: Document, shots: int, seed: int, fixed: bool
) -> tuple[list[Document], bool]:
    """The draw as it is defined, over lists, and whether it was repeated without the document."""
    identity = (seed, task.family, "fixed" if fixed else document.id)
    stratified = task.fewshot.sampler == "stratified"
    if stratified:
        drawn = by_label(generator(*identity), pool, shots)
    else:
        drawn = generator(*identity).sample(pool, min(len(pool), shots + 4))
    kept = [one for one in drawn if says(one) != says(document)]
    if len(kept) < shots:
        others = [one for one in pool if says(one) != says(document)]
        if stratified:
            return by_label(generator(*identity), others, shots), True
        return generator(*identity).sample(others, min(len(others), shots)), True
    return kept[:shots], False


def made(count: int, contents: int, seed: int) -> list[Document]:
    """Documents of which many say the same, under labels in any order."""
    chance = random.Random(seed)
    said = [chance.randrange(contents) for _ in range(count)]
    return [
        Document(
            f"t{at}", {"id": at, "text": f"文{what}", "label": f"l{what % 3}"}, None, f"x:{at}"
        )
        for at, what in enumerate(said)
    ]


@pytest.fixture(scope="module", params=["default", "stratified"])
def task(request: pytest.FixtureRequest) -> Task:
    task = load_registry().newest("jcommonsenseqa")
    label = "label" if request.param == "stratified" else None
    return replace(task, fewshot=FewshotPlan("train", request.param, label))


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize(("count", "contents"), [(40, 4), (40, 1000), (200, 30), (9, 9)])
def test_draws_are_those_over_lists(
    task: Task, count: int, contents: int, fixed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shelf, "_IN_MEMORY", 1)
    monkeypatch.setattr(pools, "_KEPT", 3)
    repeated = 0
    for seed in range(4):
        documents = made(count, contents, seed)
        sampler = open_sampler(
            task, Pool(DiskList(documents)), 3, seed, "fixed" if fixed else "random", "document"
        )
        for document in documents:
            want, again = expected(task, documents, document, 3, seed, fixed)
            assert sampler.examples(document) == want
            repeated += again
    assert repeated or contents > 4, "both ways are met"


def test_a_document_that_opens_its_label_can_be_left_out() -> None:
    """Labels keep the order of the first documents that are left."""
    said = ["a", "b", "b", "a", "c", "c"]
    documents = [
        Document(str(at), {"text": str(at), "label": label}, None, "x:1")
        for at, label in enumerate(said)
    ]
    pool = Pool(documents)
    for seed in range(20):
        drawn = pool.sample(random.Random(seed), 4, "label", without=[0])
        others = [documents[at] for at in (1, 2, 3, 4, 5)]
        assert [documents[at] for at in drawn] == by_label(random.Random(seed), others, 4)


def test_what_says_the_same_is_found_though_short_hashes_meet(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    documents = made(60, 10, 0)
    wanted = Pool(documents).example(17).signature
    places = [at for at, one in enumerate(documents) if says(one) == says(documents[17])]
    assert len(places) > 1
    assert Pool(DiskList(documents)).saying(wanted) == places
    monkeypatch.setattr(pools, "_short", lambda _: 5)
    assert Pool(documents).saying(wanted) == places
    assert Pool(documents).saying("0" * 64) == []


class Counted(Sequence[Document]):
    """Says how often it was read."""

    def __init__(self, documents: list[Document]) -> None:
        self.documents = documents
        self.reads = 0

    def __len__(self) -> int:
        return len(self.documents)

    def __getitem__(self, at):  # type: ignore[no-untyped-def]
        self.reads += 1
        return self.documents[at]


def test_only_examples_that_are_shown_are_read(task: Task) -> None:
    documents = Counted(made(1000, 100_000, 0))
    sampler = open_sampler(task, Pool(documents), 3, 1, "random", "document")
    before = documents.reads
    for at in range(50):
        sampler.examples(Document(f"v{at}", {"text": "問"}, None, "y:1"))
    assert documents.reads - before <= 150
    fixed = open_sampler(task, Pool(documents), 3, 1, "fixed", "document")
    before = documents.reads
    for at in range(50):
        fixed.examples(Document(f"v{at}", {"text": "問"}, None, "y:1"))
    assert documents.reads - before == 3


def test_a_label_that_is_missing_shows_when_the_draw_is_opened() -> None:
    task = load_registry().newest("jcommonsenseqa")
    task = replace(task, fewshot=FewshotPlan("train", "stratified", "label"))
    documents = [*made(5, 5, 0), Document("z", {"text": "無"}, None, "rows.jsonl, line 6")]
    with pytest.raises(DataError, match=r"rows\.jsonl, line 6: no field 'label' to stratify"):
        open_sampler(task, Pool(DiskList(documents)), 1, 1, "random", "document")
