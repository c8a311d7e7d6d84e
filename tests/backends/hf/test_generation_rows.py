"""Rows of one's own: any prompts in any order give what generate gives for each alone."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from typing import Any

import pytest
import torch
import transformers

from tenbin.backends.hf.generation import generator as generation
from tenbin.backends.hf.generation.decode import DecodeBatch
from tenbin.backends.hf.generation.generator import Generator
from tenbin.backends.hf.generation.kv_cache import SlotCache
from tenbin.backends.hf.generation.model_runner import ModelRunner
from tenbin.backends.hf.generation.prefill import PaddedPrefill
from tenbin.backends.hf.generation.probe import GenerationProbe
from tenbin.backends.hf.generation.scheduler import Scheduler
from tenbin.backends.hf.generation.shared_prefixes import padded_batches, prefix_groups
from tenbin.backends.hf.generation.transformers_generate import TransformersGenerate
from tenbin.backends.text.encoding import EncodedPrompt
from tenbin.backends.text.stop_criteria import Job, StopCriteria
from tenbin.records import Text
from tests.backends.tiny import _SHAPE, _SMALL, CONFIGS, make_model

WINDOW = 64
OWN = sorted(set(CONFIGS) - {"mamba"})
_PLAIN = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "eos_token_id": 2}
OTHERS: dict[str, dict[str, Any]] = {
    "falcon": {**_PLAIN, "alibi": False, "max_position_embeddings": 64},
    "gptj": {**_SMALL, "rotary_dim": 4},
    "qwen3_moe": {
        **_SHAPE,
        "num_experts": 4,
        "num_experts_per_tok": 2,
        "moe_intermediate_size": 16,
    },
    "phi3": _SHAPE,
    "gemma3_text": {**_SHAPE, "sliding_window": 8},
    "cohere2": {**_SHAPE, "sliding_window": 8},
}


def generated(model: Any, ids: Sequence[int], limit: int, end: int = 2) -> list[int]:
    """What transformers' generate gives for one prompt, without the end token."""
    row = torch.tensor([list(ids)])
    whole = model.generate(
        row,
        attention_mask=torch.ones_like(row),
        do_sample=False,
        max_new_tokens=limit,
        eos_token_id=end,
        pad_token_id=0,
    )
    new: list[int] = whole[0, len(ids) :].tolist()
    return new[: new.index(end)] if end in new else new


def drawn_jobs(seed: int, vocabulary: int, stops: Sequence[tuple[str, ...]] = ((),)) -> list[Job]:
    """Prompts with shared beginnings, one-token ones and duplicates among them."""
    draw = random.Random(seed)
    beginnings = [
        tuple(draw.randrange(4, vocabulary) for _ in range(draw.randrange(30))) for _ in range(3)
    ]
    jobs: list[Job] = []
    for _ in range(draw.randrange(1, 14)):
        rest = tuple(draw.randrange(4, vocabulary) for _ in range(draw.choice([0, 1, 2, 5, 17])))
        ids = draw.choice(beginnings) + rest or (5,)
        jobs.append(Job(EncodedPrompt(ids, len(jobs)), draw.choice(stops), draw.choice([1, 2, 9])))
    jobs += [draw.choice(jobs) for _ in range(draw.randrange(3))]
    draw.shuffle(jobs)
    return jobs


def plain(model: Any, criteria: StopCriteria, job: Job) -> Text:
    completion = criteria.begin(job)
    for token in [*generated(model, job.prompt.ids, job.limit), 2]:
        if completion.add(token):
            break
    return completion.result(job.prompt.truncated)


@pytest.mark.parametrize("kind", OWN)
def test_any_jobs_equal_generate(kind: str, tokenizer: Any) -> None:
    model = make_model(kind, len(tokenizer))
    criteria = StopCriteria(model, tokenizer)
    for seed in range(4):
        batch = ("auto", 1, 3, 5)[seed]
        generator = Generator(model, tokenizer, WINDOW, batch, (4096, 7, 64, 200)[seed])
        assert generator.mode.startswith(Scheduler.mode)
        jobs = drawn_jobs(seed, len(tokenizer))
        answers = list(generator.generate(jobs))
        assert sorted(at for at, _ in answers) == list(range(len(jobs)))
        for at, answer in answers:
            assert answer == plain(model, criteria, jobs[at])


PACKED = sorted({*OWN} - {"gpt_neo", "bloom", "mpt", "gptj"})


@pytest.mark.parametrize("kind", OWN)
def test_prompts_in_packs_equal_generate(
    kind: str, tokenizer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a GPU; a model that packs do not suit says so and reads its prompts side by side."""
    monkeypatch.setattr(generation, "packs_pay_off", lambda device: True)
    model = make_model(kind, len(tokenizer))
    criteria = StopCriteria(model, tokenizer)
    assert (GenerationProbe(model, WINDOW).cache(packed=True) is not None) == (kind in PACKED)
    for seed in range(4):
        batch = ("auto", 1, 3, 5)[seed]
        generator = Generator(model, tokenizer, WINDOW, batch, (4096, 7, 64, 200)[seed])
        jobs = drawn_jobs(seed, len(tokenizer))
        answers = list(generator.generate(jobs))
        assert sorted(at for at, _ in answers) == list(range(len(jobs)))
        for at, answer in answers:
            assert answer == plain(model, criteria, jobs[at])


def test_stop_strings_across_tokens(llama: tuple[Any, Any]) -> None:
    model, tokenizer = llama
    criteria = StopCriteria(model, tokenizer)
    bare = drawn_jobs(3, len(tokenizer))
    texts = [plain(model, criteria, Job(job.prompt, (), 12)).text for job in bare]
    stops = [(text[at : at + 3], "never") for text in texts for at in range(0, len(text) - 3, 4)]
    jobs = [Job(job.prompt, stops[at % len(stops)], 12) for at, job in enumerate(bare * 3)]
    generator = Generator(model, tokenizer, WINDOW, 4, 4096)
    answers = dict(generator.generate(jobs))
    assert len(answers) == len(jobs)
    assert {at: plain(model, criteria, job) for at, job in enumerate(jobs)} == answers
    assert any(answer and answer.finish == "stop" for answer in answers.values())


@pytest.mark.parametrize("kind", sorted(OTHERS))
def test_more_architectures_prove_themselves(kind: str, tokenizer: Any) -> None:
    torch.manual_seed(5)
    sizes = {**OTHERS[kind], "vocab_size": len(tokenizer)}
    config = transformers.AutoConfig.for_model(kind, **sizes)
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()
    with torch.no_grad():
        for weight in model.parameters():
            if weight.ndim == 2:
                weight.normal_(0, 0.3)
    generator = Generator(model, tokenizer, WINDOW, "auto", 4096)
    criteria = StopCriteria(model, tokenizer)
    jobs = drawn_jobs(11, len(tokenizer))
    assert generator.mode.startswith(Scheduler.mode)
    for at, answer in generator.generate(jobs):
        assert answer == plain(model, criteria, jobs[at])


def test_a_recurrent_model_is_left_to_generate(tokenizer: Any) -> None:
    model = make_model("mamba", len(tokenizer))
    generator = Generator(model, tokenizer, WINDOW, "auto", 4096)
    assert generator.mode == TransformersGenerate.mode
    criteria = StopCriteria(model, tokenizer)
    jobs = drawn_jobs(2, len(tokenizer))
    for at, answer in generator.generate(jobs):
        assert answer == plain(model, criteria, jobs[at])


def test_the_probe_sees_a_wrong_mask(
    llama: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from tenbin.backends.hf.kernels import decode_attention

    def all_seeing(positions: torch.Tensor, **options: Any) -> torch.Tensor:
        return torch.ones(len(positions), 1, 1, options["kv_length"], dtype=torch.bool)

    for packed in (False, True):
        assert GenerationProbe(llama[0], WINDOW).cache(packed) is not None
    monkeypatch.setattr(decode_attention, "_mask", all_seeing)
    for packed in (False, True):
        assert GenerationProbe(llama[0], WINDOW).cache(packed) is None


def test_the_probe_sees_a_wrong_pack(
    llama: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def shifted(self: SlotCache, layer: int, keys: Any, values: Any, *places: Any) -> None:
        honest(self, layer, keys, values, places[0].roll(1), *places[1:])

    honest = SlotCache.write_pack
    monkeypatch.setattr(SlotCache, "write_pack", shifted)
    assert GenerationProbe(llama[0], WINDOW).cache(packed=True) is None
    assert GenerationProbe(llama[0], WINDOW).cache(packed=False) is not None


def test_one_prompt_too_large_fails_alone(
    llama: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, tokenizer = llama
    criteria = StopCriteria(model, tokenizer)
    generator = Generator(model, tokenizer, WINDOW, "auto", 4096)
    prompts = [(*range(10, 10 + length), 5) for length in (3, 30, 9, 1, 20)]
    jobs = [Job(EncodedPrompt(ids, 0), (), 4) for ids in prompts]
    honest = ModelRunner.decode

    def cramped(self: Any, cache: Any, tokens: Any, places: Any, reach: int) -> Any:
        if reach > 25:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return honest(self, cache, tokens, places, reach)

    monkeypatch.setattr(ModelRunner, "decode", cramped)
    answers = list(generator.generate(jobs))
    assert len(answers) == len(jobs)
    for at, answer in answers:
        assert answer == (None if at == 1 else plain(model, criteria, jobs[at]))


class Counting:
    """A runner that counts the rows of every decode step and the tokens of every prefill."""

    def __init__(self, runner: ModelRunner) -> None:
        self.device = runner.device
        self.can_capture = False
        self._runner = runner
        self.steps: list[int] = []
        self.read: list[int] = []

    def prefill(self, cache: Any, rows: Any, start: int, past: int) -> None:
        self.read.append(sum(len(row) for row in rows))
        self._runner.prefill(cache, rows, start, past)

    def decode(self, cache: Any, tokens: Any, places: Any, reach: int) -> Any:
        self.steps.append(len(tokens))
        return self._runner.decode(cache, tokens, places, reach)


def decoded(
    model: Any, criteria: StopCriteria, jobs: Sequence[Job], rows: int, lookahead: bool
) -> Counting:
    counting: Any = Counting(ModelRunner(model))
    prompts = [job.prompt.ids for job in jobs]
    completions = [criteria.begin(job) for job in jobs]
    lengths = [job.length for job in jobs]
    cache = SlotCache(rows, max(lengths))
    run = DecodeBatch(
        counting,
        prompts,
        completions,
        prefix_groups(prompts, 4),
        lengths,
        cache,
        PaddedPrefill(counting, cache, prompts, 4096, 4),
    )
    done: Iterator[int] = run.run(lookahead)
    assert sorted(done) == list(range(len(jobs)))
    for job, completion in zip(jobs, completions, strict=True):
        assert completion.result(job.prompt.truncated) == plain(model, criteria, job)
    counted: Counting = counting
    return counted


@pytest.mark.parametrize("lookahead", [False, True])
def test_complete_rows_leave_and_others_enter(llama: tuple[Any, Any], lookahead: bool) -> None:
    model, tokenizer = llama
    criteria = StopCriteria(model, tokenizer)
    begin = tuple(range(10, 30))
    limits = [3, 8, 5, 8, 2, 8, 1, 4, 6, 7]
    jobs = [
        Job(EncodedPrompt((*begin, 40 + at, 50 + at), 0), (), limit)
        for at, limit in enumerate(limits)
    ]
    counting = decoded(model, criteria, jobs, 4, lookahead)
    written = [len(generated(model, job.prompt.ids, job.limit)) for job in jobs]
    ended = sum(count < job.limit for count, job in zip(written, jobs, strict=True))
    # Each row takes part once a token; looking one step late costs each row one step more.
    late = len(jobs) if lookahead else 0
    assert sum(counting.steps) == sum(written) + ended + late
    assert max(counting.steps) == 4
    # The shared beginning is read once, the rest of each prompt once but for its last token.
    assert sum(counting.read) == len(begin) + len(jobs)


def test_prefix_groups_share_what_pays() -> None:
    prompts = [(1, 2, 3, 4, 10 + at, 9) for at in range(6)] + [(7, 7), (8,), (8, 8, 8, 8, 1)]
    prompts += [(1, 2, 3, 4, 5, 6, 6, 6, 6, at) for at in range(3)]
    found = prefix_groups(prompts, 2)
    assert [group.prefix for group in found] == [(), (1, 2, 3, 4), (1, 2, 3, 4, 5, 6, 6, 6, 6)]
    assert [len(group.members) for group in found] == [3, 6, 3]
    assert sorted(at for group in found for at in group.members) == list(range(12))
    assert [group.prefix for group in found[2].ancestry()] == [found[1].prefix, found[2].prefix]
    assert [group.prefix for group in prefix_groups([(1,), (1,)], 0)] == [()]


def test_prefix_groups_compute_no_token_twice_where_forwards_are_free() -> None:
    for seed in range(20):
        prompts = [job.prompt.ids for job in drawn_jobs(seed, 7)]
        nodes = {ids[:end] for ids in prompts for end in range(1, len(ids))}
        read = 0
        for group in prefix_groups(prompts, 0):
            above = len(group.parent.prefix) if group.parent else 0
            read += len(group.prefix) - above
            read += sum(len(prompts[at]) - 1 - len(group.prefix) for at in group.members)
        whole = sum(len(ids) - 1 for ids in prompts)
        assert len(nodes) <= read <= whole
        # A sixteenth of what stands below a branch may be read again rather than apart.
        assert read <= len(nodes) + whole / 4


def test_padded_batches_pad_little() -> None:
    for seed in range(30):
        draw = random.Random(seed)
        lengths = sorted((draw.randrange(40) for _ in range(draw.randrange(20))), reverse=True)
        at = 0
        for count in padded_batches(lengths, 100, 10):
            part = lengths[at : at + count]
            assert count == 1 or (count * part[0] <= 100 and count * part[0] - sum(part) <= 10)
            at += count
        assert at == len(lengths)


def test_keys_are_not_copied_for_each_head_of_a_group(llama: tuple[Any, Any]) -> None:
    """Under a mask the kernel is given as many keys as there are, and the logits stay."""
    from transformers.integrations import sdpa_attention
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    from tenbin.backends.hf.kernels import decode_attention

    model, former = llama[0], ALL_ATTENTION_FUNCTIONS["sdpa"]
    copies: list[int] = []
    repeat = sdpa_attention.repeat_kv
    shown: list[torch.Tensor] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            sdpa_attention,
            "repeat_kv",
            lambda states, count: (copies.append(count), repeat(states, count))[1],
        )
        for context in (nullcontext(), decode_attention.grouped_keys(torch.device("cpu"))):
            cache = SlotCache(1, 32)
            runner = ModelRunner(model)
            with torch.inference_mode():
                runner.prefill(cache, [list(range(3, 12))], 0, 0)
                cache.begin_prefill(0, 1, 9)
                with context:
                    output = model(
                        input_ids=torch.tensor([[20, 21, 22, 23]]),
                        position_ids=torch.arange(9, 13)[None],
                        past_key_values=cache,
                    )
            shown.append(output.logits)
            if len(shown) == 1:
                assert copies and set(copies) == {2}
                copies.clear()
    assert copies == []
    assert ALL_ATTENTION_FUNCTIONS["sdpa"] is former
    assert torch.allclose(shown[0], shown[1], atol=1e-6)
