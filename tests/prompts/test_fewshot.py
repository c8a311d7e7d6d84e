"""The sampling of examples: what it depends on, and what it does not."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from tenbin.errors import ConfigError
from tenbin.prompts.example_pool import Pool
from tenbin.prompts.fewshot import open_sampler
from tenbin.records import Document, FewshotPlan, Task, TaskOrigin
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


def examples_of(task: Task, pool: list[Document], asked: list[Document], **changes: object) -> dict:
    options = {"shots": 3, "seed": 1, "mode": "random", "kind": "document", **changes}
    sampler = open_sampler(task, Pool(pool), **options)
    return {d.id: [e.id for e in sampler.examples(d)] for d in asked}


def test_sampling_belongs_to_the_document(task: Task) -> None:
    pool, asked = documents(50), documents(20, "v")
    every = examples_of(task, pool, asked)
    assert examples_of(task, pool, list(reversed(asked))) == every
    assert examples_of(task, pool, asked[7:9]) == {k: every[k] for k in ("v7", "v8")}
    assert len({tuple(e) for e in every.values()}) > 15, "documents show different examples"
    assert examples_of(task, pool, asked, seed=2) != every


def test_tasks_of_one_family_show_the_same() -> None:
    registry = load_registry()
    pool = documents(12)
    names = ("mlogiqa_mcq_ja", "mlogiqa_mcq_en", "mlogiqa_gen_th")
    japanese, english, thai = (examples_of(registry.newest(n), pool, pool) for n in names)
    assert japanese == english == thai


@pytest.mark.parametrize("mode", ["random", "fixed"])
@pytest.mark.parametrize("count", [4, 5, 12])
def test_a_document_is_never_its_own_example(task: Task, mode: str, count: int) -> None:
    pool = documents(count)
    twin = [Document(f"other-{d.id}", d.fields, None, "y:1") for d in pool]
    for id, examples in examples_of(task, pool, twin, mode=mode).items():
        assert len(examples) == len(set(examples)) == 3
        assert id.removeprefix("other-") not in examples


def test_fixed_shows_one_set_to_all(task: Task) -> None:
    pool, asked = documents(50), documents(20, "v")
    every = examples_of(task, pool, asked, mode="fixed")
    assert len({tuple(e) for e in every.values()}) == 1


def test_fixed_differs_only_for_the_documents_in_the_set(task: Task) -> None:
    pool = documents(30)
    every = examples_of(task, pool, pool, mode="fixed")
    common = max(every.values(), key=list(every.values()).count)
    assert {id for id, examples in every.items() if examples != common} <= set(common)


def test_stratified_by_label(stratified: Task) -> None:
    pool = documents(30)
    label = {d.id: d.fields["label"] for d in pool}
    for shots in (3, 6, 7):
        for examples in examples_of(stratified, pool, documents(10, "v"), shots=shots).values():
            counts = [sum(label[e] == value for e in examples) for value in range(3)]
            assert sum(counts) == shots and max(counts) - min(counts) <= 1


def test_too_few_examples_is_an_error_that_counts_them(task: Task) -> None:
    with pytest.raises(ConfigError, match=r"5 examples were asked for.*can give 4"):
        examples_of(task, documents(4), documents(1, "v"), shots=5)
    shared = load_registry().newest("mlogiqa_mcq_ja")
    assert shared.fewshot == FewshotPlan("test")
    with pytest.raises(ConfigError, match="can give 11"):
        examples_of(shared, documents(12), documents(12), shots=12)


def test_the_running_sampler_is_one_generator_for_order_and_examples(task: Task) -> None:
    pool, asked = documents(50), documents(20, "v")
    sampler = open_sampler(task, Pool(pool), 3, 42, "random", "running")
    first = [asked[at] for at in sampler.order(len(asked))[:5]]
    got = [(d.id, [e.id for e in sampler.examples(d)]) for d in first]
    # The same, spelled out as the published program does it.
    rng = random.Random(42)
    shuffled = list(asked)
    rng.shuffle(shuffled)
    assert got == [(d.id, [e.id for e in rng.sample(pool, 3)]) for d in shuffled[:5]]


def test_the_running_sampler_from_the_scored_split_leaves_the_document_out() -> None:
    shared = load_registry().newest("mlogiqa_mcq_ja")
    pool = documents(6)
    sampler = open_sampler(shared, Pool(pool), 4, 42, "random", "running")
    for document in (pool[at] for at in sampler.order(len(pool))):
        examples = sampler.examples(document)
        assert len(examples) == 4 and document not in examples


def test_stratified_running_sampler_as_published() -> None:
    pool = Pool(documents(31))
    sampled = pool.sample(random.Random(42), 5, "label")
    got = [pool.example(at).document.id for at in sampled]
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


def from_lm_eval(task: Task, **plan: Any) -> Task:
    """A task as an lm-eval file gives it."""
    return replace(task, origin=TaskOrigin("made.yaml", ""), fewshot=FewshotPlan(**plan))


def lm_eval_examples(task: Task, pool: list[Document], asked: list[Document], shots: int) -> list:
    sampler = open_sampler(task, Pool(pool), shots, 1234, "random", "lm-eval")
    return [sampler.examples(asked[at]) for at in sampler.order(len(asked))]


def test_lm_evals_sampler_is_one_generator_over_documents_in_order(task: Task) -> None:
    pool, asked = documents(20), documents(8, "v")
    made = lm_eval_examples(from_lm_eval(task, split="train"), pool, asked, 3)
    rng = random.Random(1234)
    assert made == [rng.sample(pool, 3) for _ in asked]


def test_lm_evals_sampler_removes_rows_that_equal_the_document(task: Task) -> None:
    pool = documents(6)
    own = from_lm_eval(task, split="test", excludes_document=True)
    made = lm_eval_examples(own, pool, pool, 3)
    rng = random.Random(1234)
    expected = [[e for e in rng.sample(pool, 4) if e != d][:3] for d in pool]
    assert made == expected
    # Rows that repeat the document leave too few: all others are sampled from once more.
    repeated = [*pool[:4], *(replace(pool[0], id=f"again{i}") for i in range(9))]
    made = lm_eval_examples(own, repeated, [pool[0]] * 5, 3)
    rng = random.Random(1234)
    again = 0
    for examples in made:
        kept = [e for e in rng.sample(repeated, 4) if e.fields != pool[0].fields][:3]
        if len(kept) < 3:
            again += 1
            kept = rng.sample(pool[1:4], 3)
        assert examples == kept
    assert again


def test_lm_eval_may_show_a_document_itself_where_its_profile_is_followed(task: Task) -> None:
    pool = documents(3)
    own = replace(from_lm_eval(task, split="validation"), split="validation")
    assert pool[0] in lm_eval_examples(own, pool, pool[:1], 3)[0]
    with pytest.raises(ConfigError, match="can give 2"):
        examples_of(own, pool, pool[:1], shots=3)


def test_the_first_examples_pass_over_the_document_where_it_stands_among_them(task: Task) -> None:
    pool = documents(5)
    own = from_lm_eval(task, split="test", sampler="first_n", excludes_document=True)
    for kind in ("document", "lm-eval"):
        sampler = open_sampler(own, Pool(pool), 3, 1, "random", kind)
        assert sampler.examples(pool[1]) == [pool[0], pool[2], pool[3]]
        assert sampler.examples(pool[4]) == pool[:3]
    other = from_lm_eval(task, split="train", sampler="first_n")
    assert open_sampler(other, Pool(pool), 5, 1, "random", "lm-eval").examples(pool[0]) == pool
    few = open_sampler(own, Pool([pool[0], pool[0], pool[1]]), 2, 1, "random", "lm-eval")
    with pytest.raises(ConfigError, match="2 examples were asked for, 1 rows are others"):
        few.examples(pool[0])


def test_the_first_examples_may_have_to_share_a_field_with_the_document(task: Task) -> None:
    subjects = ["law", "art", "law", "art", "law"]
    pool = [
        replace(one, fields={**one.fields, "subject": subject})
        for one, subject in zip(documents(5), subjects, strict=True)
    ]
    plan = FewshotPlan("train", "first_n", "subject")
    asked = replace(task, split="test", fewshot=plan)
    sampler = open_sampler(asked, Pool(pool), 2, 1, "random", "document")
    art = replace(pool[0], id="x", fields={**pool[0].fields, "subject": "art"})
    assert sampler.examples(art) == [pool[1], pool[3]]
    assert sampler.examples(replace(pool[0], id="y")) == [pool[0], pool[2]]
    for subject in ("music", ["art"], None):
        other = replace(art, fields={**art.fields, "subject": subject})
        with pytest.raises(ConfigError, match=r"2 examples .* 0 rows are others with its subject"):
            sampler.examples(other)


def test_samples_of_the_file_are_named_where_they_are_too_few(task: Task) -> None:
    own = from_lm_eval(task, split=None, samples=({"question": "?"},))
    with pytest.raises(ConfigError, match="its file's own samples can give 1"):
        open_sampler(own, Pool(documents(1)), 2, 1, "random", "document")
