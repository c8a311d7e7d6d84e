"""The draw of examples: what it depends on, and what it does not."""

from __future__ import annotations

import random

import pytest

from tenbin.errors import ConfigError
from tenbin.prompts.example_pool import Pool
from tenbin.prompts.fewshot import open_draw
from tenbin.records import Document, FewshotPlan, Task
from tenbin.tasks.registry import load_registry


def documents(count: int, prefix: str = "t") -> list[Document]:
    return [
        Document(
            f"{prefix}{i}", {"question": f"{prefix} question {i}", "label": i % 3}, None, "x:1"
        )
        for i in range(count)
    ]


@pytest.fixture(scope="module")
def task() -> Task:
    return load_registry().newest("jcommonsenseqa")


@pytest.fixture(scope="module")
def stratified() -> Task:
    return load_registry().newest("jnli")


def draws(task: Task, pool: list[Document], asked: list[Document], **changes: object) -> dict:
    options = {"shots": 3, "seed": 1, "mode": "random", "running": False, **changes}
    draw = open_draw(task, Pool(pool), **options)
    return {d.id: [e.id for e in draw.examples(d)] for d in asked}


def test_a_draw_belongs_to_the_document(task: Task) -> None:
    pool, asked = documents(50), documents(20, "v")
    every = draws(task, pool, asked)
    assert draws(task, pool, list(reversed(asked))) == every
    assert draws(task, pool, asked[7:9]) == {k: every[k] for k in ("v7", "v8")}
    assert len({tuple(e) for e in every.values()}) > 15, "documents draw different examples"
    assert draws(task, pool, asked, seed=2) != every


def test_tasks_of_one_family_draw_alike() -> None:
    registry = load_registry()
    pool = documents(12)
    names = ("mlogiqa_mcq_ja", "mlogiqa_mcq_en", "mlogiqa_gen_th")
    japanese, english, thai = (draws(registry.newest(n), pool, pool) for n in names)
    assert japanese == english == thai


@pytest.mark.parametrize("mode", ["random", "fixed"])
@pytest.mark.parametrize("count", [4, 5, 12])
def test_a_document_is_never_its_own_example(task: Task, mode: str, count: int) -> None:
    pool = documents(count)
    twin = [Document(f"other-{d.id}", d.fields, None, "y:1") for d in pool]
    for id, examples in draws(task, pool, twin, mode=mode).items():
        assert len(examples) == len(set(examples)) == 3
        assert id.removeprefix("other-") not in examples


def test_fixed_shows_one_set_to_all(task: Task) -> None:
    pool, asked = documents(50), documents(20, "v")
    every = draws(task, pool, asked, mode="fixed")
    assert len({tuple(e) for e in every.values()}) == 1


def test_fixed_differs_only_for_the_documents_in_the_set(task: Task) -> None:
    pool = documents(30)
    every = draws(task, pool, pool, mode="fixed")
    common = max(every.values(), key=list(every.values()).count)
    assert {id for id, examples in every.items() if examples != common} <= set(common)


def test_stratified_by_label(stratified: Task) -> None:
    pool = documents(30)
    label = {d.id: d.fields["label"] for d in pool}
    for shots in (3, 6, 7):
        for examples in draws(stratified, pool, documents(10, "v"), shots=shots).values():
            counts = [sum(label[e] == value for e in examples) for value in range(3)]
            assert sum(counts) == shots and max(counts) - min(counts) <= 1


def test_too_few_examples_is_an_error_that_counts_them(task: Task) -> None:
    with pytest.raises(ConfigError, match=r"5 examples were asked for.*can give 4"):
        draws(task, documents(4), documents(1, "v"), shots=5)
    shared = load_registry().newest("mlogiqa_mcq_ja")
    assert shared.fewshot == FewshotPlan("test")
    with pytest.raises(ConfigError, match="can give 11"):
        draws(shared, documents(12), documents(12), shots=12)


def test_running_draw_is_one_generator_for_order_and_examples(task: Task) -> None:
    pool, asked = documents(50), documents(20, "v")
    draw = open_draw(task, Pool(pool), 3, 42, "random", True)
    first = [asked[at] for at in draw.order(len(asked))[:5]]
    got = [(d.id, [e.id for e in draw.examples(d)]) for d in first]
    # The same, spelled out as the published program does it.
    rng = random.Random(42)
    shuffled = list(asked)
    rng.shuffle(shuffled)
    assert got == [(d.id, [e.id for e in rng.sample(pool, 3)]) for d in shuffled[:5]]


def test_running_draw_from_the_scored_split_leaves_the_document_out() -> None:
    shared = load_registry().newest("mlogiqa_mcq_ja")
    pool = documents(6)
    draw = open_draw(shared, Pool(pool), 4, 42, "random", True)
    for document in (pool[at] for at in draw.order(len(pool))):
        examples = draw.examples(document)
        assert len(examples) == 4 and document not in examples


def test_stratified_running_draw_as_published() -> None:
    pool = Pool(documents(31))
    drawn = pool.sample(random.Random(42), 5, "label")
    got = [pool.example(at).document.id for at in drawn]
    rng = random.Random(42)
    strata: dict[int, list[Document]] = {}
    for document in documents(31):
        strata.setdefault(document.fields["label"], []).append(document)
    counts = {label: int(len(members) / 31 * 5) for label, members in strata.items()}
    while sum(counts.values()) < 5:
        counts[min(counts, key=counts.__getitem__)] += 1
    chosen = [d for label, members in strata.items() for d in rng.sample(members, counts[label])]
    rng.shuffle(chosen)
    assert got == [d.id for d in chosen]
