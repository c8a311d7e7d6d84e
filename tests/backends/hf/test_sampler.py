"""Drawn tokens follow the model's probabilities, and nothing but request and seed decides them."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from scipy import stats
from transformers import TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

from tenbin.backends.hf.backend import HfBackend
from tenbin.backends.hf.generation.generator import Generator
from tenbin.backends.hf.generation.model_runner import ModelRunner
from tenbin.backends.hf.generation.sampler import Sampler, filtered, gumbel, noise_of
from tenbin.backends.hf.generation.scheduler import Scheduler
from tenbin.backends.hf.generation.transformers_generate import TransformersGenerate
from tenbin.backends.text.encoding import EncodedPrompt
from tenbin.backends.text.stop_criteria import Job, StopCriteria
from tenbin.pipeline.requests import sample_request
from tenbin.records import Generate, Sampling, Text
from tests.backends.tiny import make_model

WARM = Sampling(0.9, top_p=0.95)
PROMPTS = [
    "The answer is",
    "日本の首都は",
    "a",
    "質問：電車に乗る場所はどこですか？\n回答：",
    "a b c",
]


def reference_hash(number: int) -> int:
    """SplitMix64 as published, in whole numbers without a sign."""
    whole = (1 << 64) - 1
    number = (number + 0x9E3779B97F4A7C15) & whole
    number = ((number ^ (number >> 30)) * 0xBF58476D1CE4E5B9) & whole
    number = ((number ^ (number >> 27)) * 0x94D049BB133111EB) & whole
    return number ^ (number >> 31)


def reference_shares(seed: int, place: int, vocabulary: int) -> list[float]:
    """The random number of every token, worked out one by one."""
    state = reference_hash((reference_hash(seed) + place * 0x9E3779B97F4A7C15) % (1 << 64))
    low, high = (state ^ (1 << 31)) & 0xFFFFFFFF, state >> 32
    shares = []
    for token in range(vocabulary):
        bits = (token * 0x9E3779B1 + low) % (1 << 32)
        bits = ((bits ^ (bits >> 16)) * 0x21F0AAAD) % (1 << 32) ^ high
        bits = ((bits ^ (bits >> 15)) * 0x735A2D97) % (1 << 32)
        bits = (bits ^ (bits >> 15)) & 0x7FFFFFFF
        shares.append((bits + 0.5) / (1 << 31))
    return shares


def test_the_noise_is_the_hash_it_is_said_to_be() -> None:
    seeds, places = [0, 5, (1 << 63) - 1], [0, 1, 4095]
    found = gumbel(torch.tensor(seeds), torch.tensor(places), 300)
    for row, (seed, place) in enumerate(zip(seeds, places, strict=True)):
        shares = torch.tensor(reference_shares(seed, place, 300), dtype=torch.float64)
        expected = -torch.log(-torch.log1p(-shares))
        assert torch.allclose(found[row].double(), expected, atol=1e-5)


def test_the_noise_is_even_and_neighbours_are_strangers() -> None:
    seeds = torch.arange(120)
    shares = torch.exp(-torch.exp(-gumbel(seeds, torch.zeros_like(seeds), 20_000).double()))
    later = torch.exp(-torch.exp(-gumbel(seeds, torch.ones_like(seeds), 20_000).double()))
    counts = torch.histc(shares, 1000, 0, 1)
    assert stats.chisquare(counts.numpy()).pvalue > 1e-3
    pairs = [
        (shares[:, :-1], shares[:, 1:]),  # the next token
        (shares[:-1], shares[1:]),  # the next seed
        (shares, later),  # the next place
    ]
    for first, second in pairs:
        cells = (first * 30).long() * 30 + (second * 30).long()
        assert stats.chisquare(torch.bincount(cells.flatten(), minlength=900).numpy()).pvalue > 1e-3


def test_draws_follow_the_softmax_of_a_model(llama: tuple[Any, Any]) -> None:
    model, tokenizer = llama
    ids = tuple(tokenizer("The answer is")["input_ids"])
    with torch.no_grad():
        logits = model(torch.tensor([ids])).logits[0, -1]
    draws = 20_000
    seeds = torch.arange(draws)
    places = torch.full((draws,), len(ids) - 1)
    for sampling in (Sampling(1.0), Sampling(0.7), Sampling(1.3, top_k=7), Sampling(1.0, 0.8)):
        found = Sampler(sampling).sample(logits.expand(draws, -1), seeds, places)
        shares = warped(logits[None], sampling)[0].softmax(-1).double()
        counts = torch.bincount(found, minlength=len(shares)).double()
        assert counts[shares == 0].sum() == 0
        usual = shares * draws >= 5
        assert int(usual.sum()) > 3, "a test of one token tells nothing"
        seen = torch.cat([counts[usual], counts[~usual].sum()[None]])
        wanted = torch.cat([shares[usual], shares[~usual].sum()[None]]) * draws
        present = wanted > 0
        wanted *= draws / wanted.sum()
        assert stats.chisquare(seen[present].numpy(), wanted[present].numpy()).pvalue > 1e-3


def test_the_tail_of_the_noise_is_exact() -> None:
    # The largest noises decide. A share that were only near would give too many of them.
    bits = [0, 1, 2, 3, 1000, (1 << 24) + 1, (1 << 30) + 77]
    shares = torch.tensor([(one + 0.5) / (1 << 31) for one in bits], dtype=torch.float64)
    found = noise_of(torch.tensor([*bits, (1 << 31) - 1], dtype=torch.int32)).double()
    assert torch.allclose(found[:-1], -torch.log(-torch.log1p(-shares)), rtol=1e-6, atol=1e-6)
    assert found[-1] == found.min() > -3, "the smallest noise is a number too"


def test_rare_tokens_of_a_large_vocabulary_are_as_rare_as_they_should_be() -> None:
    logits = torch.full((100, 50_000), -15.0)
    logits[:, 0] = 0
    draws = 4000
    expected = draws * (1 - 1 / (1 + 49_999 * math.exp(-15)))
    found = 0
    for start in range(0, draws, 100):
        seeds = torch.arange(start, start + 100)
        found += int((Sampler(Sampling(1.0)).sample(logits, seeds, seeds) != 0).sum())
    assert abs(found - expected) < 3.5 * expected**0.5


def test_rounding_of_logits_hardly_ever_changes_a_draw() -> None:
    torch.manual_seed(3)
    logits = torch.randn(400, 20_000) * 2
    near = logits + torch.randn_like(logits) * 1e-5
    seeds = torch.arange(400)
    for place in range(5):
        places = torch.full((400,), place)
        first = Sampler(Sampling(1.0)).sample(logits, seeds, places)
        assert torch.equal(first, Sampler(Sampling(1.0)).sample(near, seeds, places))


def warped(logits: torch.Tensor, sampling: Sampling) -> torch.Tensor:
    """What transformers' own warpers make of logits, in its order."""
    ids: Any = None
    scores = TemperatureLogitsWarper(sampling.temperature)(ids, logits)
    if sampling.top_k:
        scores = TopKLogitsWarper(sampling.top_k)(ids, scores)
    if sampling.top_p < 1:
        scores = TopPLogitsWarper(sampling.top_p)(ids, scores)
    return scores


@pytest.mark.parametrize("vocabulary", [50, 3000])
@pytest.mark.parametrize("spread", [0.5, 6.0])
@pytest.mark.parametrize("top_p", [1.0, 0.97, 0.5, 1e-4])
@pytest.mark.parametrize("top_k", [0, 1, 12, 99_999])
def test_filters_are_those_of_transformers(
    vocabulary: int, spread: float, top_p: float, top_k: int
) -> None:
    # A flat and large vocabulary reaches 0.97 only beyond the head that is looked at first.
    torch.manual_seed(1)
    logits = torch.randn(6, vocabulary) * spread
    sampling = Sampling(0.8, top_p, top_k)
    assert torch.equal(filtered(logits, sampling), warped(logits, sampling))


def test_equally_likely_tokens_stay_or_go_together() -> None:
    logits = torch.tensor([[2.0, 1.0, 1.0, 0.0]])
    kept = filtered(logits, Sampling(1.0, top_k=2)) > -torch.inf
    assert kept.tolist() == [[True, True, True, False]]
    kept = filtered(logits, Sampling(1.0, top_p=0.7)) > -torch.inf
    assert kept.tolist() == [[True, True, True, False]]


def jobs_of(seed: int, vocabulary: int, sampling: Sampling | None = WARM) -> list[Job]:
    """Several draws to each of some prompts, limits and stop strings apart."""
    draw = random.Random(seed)
    jobs = []
    for number in range(5):
        ids = tuple(draw.randrange(4, vocabulary) for _ in range(draw.choice([1, 3, 20, 33])))
        stop = draw.choice([(), ("a",), ("の", "the")])
        for sample in range(4):
            limit = draw.choice([2, 7, 12])
            jobs.append(
                Job(EncodedPrompt(ids, number), stop, limit, sampling, 100 * number + sample)
            )
    return jobs


@torch.no_grad()
def plain(model: Any, criteria: StopCriteria, job: Job) -> Text:
    """One row, the whole text read again for every token, one draw at a time."""
    writing, ids = criteria.begin(job), list(job.prompt.ids)
    while True:
        logits = model(torch.tensor([ids])).logits[:, -1]
        place = torch.tensor([len(ids) - 1])
        token = int(Sampler(job.sampling).sample(logits, torch.tensor([job.seed]), place))
        if writing.add(token):
            return writing.result(job.prompt.truncated)
        ids.append(token)


@pytest.mark.parametrize("batch_size", [1, 3, "auto"])
def test_answers_do_not_depend_on_batch_order_or_refill(
    llama: tuple[Any, Any], batch_size: Any
) -> None:
    model, tokenizer = llama
    criteria = StopCriteria(model, tokenizer)
    jobs = jobs_of(2, len(tokenizer))
    expected = [plain(model, criteria, job) for job in jobs]
    assert len({answer.text for answer in expected}) > 8
    assert {answer.finish for answer in expected} >= {"stop", "length"}
    generator = Generator(model, tokenizer, 64, batch_size, 4096)
    assert generator.mode.startswith(Scheduler.mode)
    for order in (list(range(len(jobs))), random.Random(5).sample(range(len(jobs)), len(jobs))):
        answers = dict(generator.generate([jobs[at] for at in order]))
        assert [answers[order.index(at)] for at in range(len(jobs))] == expected


@pytest.mark.parametrize("kind", ["llama", "gemma2", "mamba", "bloom"])
@pytest.mark.parametrize("batch_size", [1, 4])
def test_generate_of_transformers_draws_the_same(
    kind: str, batch_size: int, tokenizer: Any
) -> None:
    model = make_model(kind, len(tokenizer))
    criteria = StopCriteria(model, tokenizer)
    jobs = jobs_of(4, len(tokenizer))
    library = TransformersGenerate(model, criteria, 64, batch_size, 4096)
    for at, answer in library.generate(jobs):
        assert answer == plain(model, criteria, jobs[at])


def test_ways_and_settings_mix(llama: tuple[Any, Any]) -> None:
    """Greedy and drawn answers to one prompt, at different temperatures, in one call."""
    model, tokenizer = llama
    criteria = StopCriteria(model, tokenizer)
    jobs = [
        *jobs_of(6, len(tokenizer), None)[::4],
        *jobs_of(6, len(tokenizer)),
        *jobs_of(6, len(tokenizer), Sampling(1.5)),
    ]
    answers = dict(Generator(model, tokenizer, 64, "auto", 4096).generate(jobs))
    assert [answers[at] for at in range(len(jobs))] == [plain(model, criteria, job) for job in jobs]
    greedy = [replace(job, seed=job.seed + 1) for job in jobs[:5]]
    again = dict(Generator(model, tokenizer, 64, "auto", 4096).generate(greedy))
    assert [again[at] for at in range(5)] == [answers[at] for at in range(5)]


def test_a_cold_draw_is_the_greedy_one(llama: tuple[Any, Any]) -> None:
    model, tokenizer = llama
    for sampling in (Sampling(1e-4), Sampling(1.0, top_k=1), Sampling(1.0, top_p=1e-6)):
        drawn = dict(Generator(model, tokenizer, 64, 4, 4096).generate(jobs_of(8, 200, sampling)))
        greedy = dict(Generator(model, tokenizer, 64, 4, 4096).generate(jobs_of(8, 200, None)))
        assert drawn == greedy


def test_a_prompt_is_read_once_for_all_its_draws(
    llama: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, tokenizer = llama
    ids = tuple(range(10, 50))
    jobs = [Job(EncodedPrompt(ids, 0), (), 3, WARM, seed) for seed in range(6)]
    generator = Generator(model, tokenizer, 64, "auto", 4096)
    read: list[int] = []
    honest = ModelRunner.prefill

    def counted(self: Any, cache: Any, rows: Sequence[Sequence[int]], *places: int) -> None:
        read.append(sum(len(row) for row in rows))
        honest(self, cache, rows, *places)

    monkeypatch.setattr(ModelRunner, "prefill", counted)
    assert len(dict(generator.generate(jobs))) == 6
    assert sum(read) == len(ids) - 1


def requests_for(prompts: Sequence[str], repeats: int, limit: int = 10) -> list[Generate]:
    return [
        sample_request(prompt, ("。",), limit, WARM, 1234, sample)
        for prompt in prompts
        for sample in range(repeats)
    ]


def test_a_restart_and_further_repeats_leave_answers_alone(llama: tuple[Any, Any]) -> None:
    model, tokenizer = llama
    requests = requests_for(PROMPTS, 4)
    whole = dict(HfBackend.from_model(model, tokenizer, max_length=64).run(requests))
    assert len({answer.text for answer in whole.values() if isinstance(answer, Text)}) > 10
    rest = dict(HfBackend.from_model(model, tokenizer, max_length=64).run(requests[7:]))
    assert rest == {request.key: whole[request.key] for request in requests[7:]}
    fewer = dict(HfBackend.from_model(model, tokenizer).run(requests_for(PROMPTS, 2)))
    assert fewer.items() <= whole.items()


def test_a_longer_limit_goes_on_with_the_same_text(llama: tuple[Any, Any]) -> None:
    backend = HfBackend.from_model(*llama, max_length=64)
    short, long = requests_for(PROMPTS, 2, 5), requests_for(PROMPTS, 2, 15)
    answers = dict(backend.run([*short, *long]))
    for first, second in zip(short, long, strict=True):
        begun, whole = answers[first.key], answers[second.key]
        assert isinstance(begun, Text) and isinstance(whole, Text)
        assert whole.text.startswith(begun.text) and first.key != second.key
