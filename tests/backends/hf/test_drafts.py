"""Drafted tokens: the texts of generate in fewer steps, and no draft where none is likely."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch

from tenbin.backends.hf.generation import drafts
from tenbin.backends.hf.generation import generator as generation
from tenbin.backends.hf.generation.drafts import Drafter
from tenbin.backends.hf.generation.generator import Generator
from tenbin.backends.hf.generation.model_runner import ModelRunner
from tenbin.backends.hf.generation.probe import GenerationProbe
from tenbin.backends.text.encoding import EncodedPrompt
from tenbin.backends.text.stop_criteria import Job, StopCriteria
from tenbin.records import Sampling
from tests.backends.hf.test_generation_rows import drawn_jobs, plain
from tests.backends.text.test_completion import by_hand, thoughtful_jobs
from tests.backends.tiny import make_model

WINDOW = 64


def test_what_followed_the_last_tokens_is_drafted() -> None:
    drafter = Drafter([1, 2, 3, 4, 5, 6, 7, 1, 2, 3])
    assert drafter.draft(8, rows=30) == [4]
    # Fewer rows share a step: less likely tokens are worth a try.
    assert drafter.draft(8, rows=10) == [4, 5]
    for token in (4, 5, 6):
        drafter.add(token)
    # Right guesses make longer drafts.
    assert drafter.draft(8, rows=30) == [7, 1]
    assert drafter.draft(1, rows=30) == [7]
    assert drafter.draft(0, rows=30) == []


def test_a_loop_is_drafted_round_and_round() -> None:
    drafter = Drafter([8, 9] * 12)
    for _ in range(12):
        drafter.add(8)
        drafter.add(9)
    # Beyond the end of the row, a draft goes on with itself.
    assert drafter.draft(99, rows=24) == [8, 9, 8, 9, 8, 9]


def test_wrong_guesses_end_drafts_until_guesses_are_right_again() -> None:
    drafter = Drafter([1, 2, 3, 1, 2])
    assert drafter.draft(8, rows=24) == [3]
    for token in (4, 1, 2, 5, 1, 2, 6, 1, 2):
        drafter.add(token)
    assert drafter.draft(8, rows=24) == []
    for token in (6, 1, 2) * 4:
        drafter.add(token)
    assert drafter.draft(8, rows=24)


@pytest.mark.parametrize("prompt", [[], [5], [5, 6], [1, 2, 3, 4]])
def test_nothing_known_nothing_drafted(prompt: list[int]) -> None:
    assert Drafter(prompt).draft(8, rows=1) == []


@pytest.fixture
def eager_drafts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Long drafts at every match, however unlikely; the lengths of steps with drafts."""
    monkeypatch.setattr(drafts, "_FIXED", 1e9)
    monkeypatch.setattr(drafts, "_SHARES", {2: 0.9, 1: 0.9})
    steps: list[int] = []
    honest = ModelRunner.decode_drafts

    def counting(self: Any, cache: Any, tokens: Any, *arguments: Any) -> Any:
        steps.append(len(tokens))
        return honest(self, cache, tokens, *arguments)

    monkeypatch.setattr(ModelRunner, "decode_drafts", counting)
    return steps


@pytest.mark.parametrize("family", ["llama", "mistral", "gemma2", "gpt2", "gpt_neox", "qwen3"])
def test_texts_are_those_of_generate(family: str, tokenizer: Any, eager_drafts: list[int]) -> None:
    model = make_model(family, len(tokenizer))
    made = Generator(model, tokenizer, WINDOW, "auto", 256)
    # gemma2 caps its scores, which the attention over drafts does not.
    assert made.support.drafts == (family != "gemma2")
    assert made.mode.endswith(", drafts") == made.support.drafts
    eager_drafts.clear()
    criteria = StopCriteria(model, tokenizer)
    stops = ((), ("a",), ("e", "\n"))
    jobs = [job for seed in range(3) for job in drawn_jobs(seed, len(tokenizer), stops)]
    for at, answer in made.generate(jobs):
        assert answer == plain(model, criteria, jobs[at])
    assert bool(eager_drafts) == made.support.drafts


def test_accepted_drafts_save_steps(llama: tuple[Any, Any], monkeypatch: Any) -> None:
    """A model that writes one token for ever needs fewer steps than tokens."""
    model, tokenizer = llama
    criteria = StopCriteria(model, tokenizer)
    made = Generator(model, tokenizer, WINDOW, "auto", 256)
    steps = []

    def looping(self: Any, cache: Any, tokens: Any, *arguments: Any) -> Any:
        steps.append(len(tokens))
        return torch.zeros(len(tokens), len(tokenizer)).index_fill(1, torch.tensor([9]), 1.0)

    monkeypatch.setattr(ModelRunner, "decode", looping)
    monkeypatch.setattr(ModelRunner, "decode_drafts", looping)
    jobs = [Job(EncodedPrompt((5, 6, 7 + at), 0), (), limit) for at, limit in enumerate((40, 7, 1))]
    answers = dict(made.generate(jobs))
    for at, job in enumerate(jobs):
        completion = criteria.begin(job)
        while not completion.add(9):
            pass
        assert answers[at] == completion.result(0)
    assert len(steps) < 20


def test_sampling_is_not_drafted(llama: tuple[Any, Any], eager_drafts: list[int]) -> None:
    model, tokenizer = llama
    made = Generator(model, tokenizer, WINDOW, "auto", 256)
    eager_drafts.clear()
    jobs = [Job(EncodedPrompt((5, 6, 5, 6), 0), (), 20, Sampling(1.0), seed=3)]
    assert len(list(made.generate(jobs))) == 1
    assert not eager_drafts


def test_the_probe_refuses_wrong_attention(
    llama: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tokens that see the draft after them give other logits."""
    from tenbin.backends.hf.kernels import decode_attention

    honest = decode_attention._RowAttention._bias

    def open_mask(self: Any, mask: torch.Tensor, groups: int, dtype: torch.dtype) -> Any:
        return honest(self, torch.ones_like(mask), groups, dtype)

    probe = GenerationProbe(llama[0], WINDOW)
    assert probe.cache(packed=False) is not None
    assert probe.takes_drafts()
    monkeypatch.setattr(decode_attention._RowAttention, "_bias", open_mask)
    assert not probe.takes_drafts()


def test_thinking_ends_by_its_budget_inside_a_draft(
    llama: tuple[Any, Any], eager_drafts: list[int]
) -> None:
    model, tokenizer = llama
    jobs = thoughtful_jobs(model, tokenizer, None)
    wanted = [by_hand(model, tokenizer, job) for job in jobs]
    assert "budget" in {text.thinking_end for text in wanted}
    made = Generator(model, tokenizer, WINDOW, "auto", 4096)
    eager_drafts.clear()
    answers = dict(made.generate(jobs))
    assert [answers[at] for at in range(len(jobs))] == wanted
    assert eager_drafts


def test_rows_in_many_orders_and_sizes(llama: tuple[Any, Any], eager_drafts: list[int]) -> None:
    model, tokenizer = llama
    criteria = StopCriteria(model, tokenizer)
    jobs = drawn_jobs(11, 12, ((), ("a",)))
    wanted = [plain(model, criteria, job) for job in jobs]
    for size in (1, 2, 3, "auto"):
        made = Generator(
            model,
            tokenizer,
            WINDOW,
            size,  # type: ignore[arg-type]
            256,
            known=generation.GenerationSupport(64, packs=False, drafts=True),
        )
        order = random.Random(str(size)).sample(range(len(jobs)), len(jobs))
        for at, answer in made.generate([jobs[at] for at in order]):
            assert answer == wanted[order[at]]
    assert eager_drafts
