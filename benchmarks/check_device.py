"""Checks the hf backend on a device against plain single-row forwards and transformers' generate.

Needs torch, transformers and tokenizers alone: models have random weights (`tiny_models.py`),
nothing is fetched.

    python benchmarks/check_device.py --device cuda --dtype bfloat16 --output RESULT.json
    python benchmarks/check_device.py --device cpu --tiny

Always, for tiny models of several architectures in float32: scores by every rung that serves them
within 1e-4 of single forwards, texts equal to those of transformers' generate; for one of them
drawn texts and budgets of thought that are the same in any batch, and whole texts rolled. For
three: a token that overflows fails the texts that hold it, by every engine, and spoils no other.
With a checkpoint folder: device_map=auto and an adapter, where their libraries are there. On CUDA:
the tree's kernel against a softmax in double precision, compiled layers, and full memory. Unless
--tiny: a Llama of 1B shape in --dtype, scores within NOISE times what single rows themselves
change when they are run in a padded batch. One line a check; exit code 1 when one fails.
"""

from __future__ import annotations

import argparse
import copy
import importlib.metadata
import importlib.util
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent))
if importlib.util.find_spec("tenbin") is None:
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from tiny_models import FAMILIES, WORDS, make_larger, make_prompts, make_tiny, make_tokenizer

from tenbin.backends.base import BackendSettings
from tenbin.backends.finite import NotFiniteError
from tenbin.backends.hf.backend import HfBackend, open_hf
from tenbin.backends.hf.generation.decode import DecodeStepper
from tenbin.backends.hf.model.tensor_digest import model_digest
from tenbin.backends.hf.model.weight_transfer import send_weights
from tenbin.errors import BackendError
from tenbin.records import (
    Failure,
    Generate,
    Rolled,
    Rolling,
    Sampling,
    Score,
    Scores,
    Text,
    Thinking,
)

EXACT = 1e-4
NOISE = 4.0
"""How many times the noise of batching a score may lie from its single-row value."""
FLOOR = 0.02
"""Noise is never taken for smaller than this: a lucky batch must not fail an honest backend."""
NEW_TOKENS = 12


def encode(tokenizer: Any, prompt: str, text: str) -> tuple[list[int], list[int]]:
    context = tokenizer(prompt.rstrip())["input_ids"]
    return context, tokenizer(prompt + text)["input_ids"][len(context) :]


@torch.inference_mode()
def single(model: Any, context: Sequence[int], answer: Sequence[int], filler: int = 0) -> float:
    """One row's log-likelihood; with a filler, as the shorter row of a padded batch of four."""
    ids = [*context, *answer][:-1]
    rows = [ids] if not filler else [ids + [5] * filler, *[[7] * (len(ids) + filler)] * 3]
    output = model(input_ids=torch.tensor(rows).to(model.device), use_cache=False)
    head = output.logits[0, len(context) - 1 : len(ids)].float()
    target = torch.tensor(list(answer)).to(head.device)
    return float(head.log_softmax(-1).gather(1, target[:, None]).double().sum())


class Report:
    """Prints a line a check and remembers them."""

    def __init__(self) -> None:
        self.lines: list[dict[str, str]] = []

    @property
    def failed(self) -> bool:
        return any(line["outcome"] == "FAIL" for line in self.lines)

    def line(self, name: str, good: bool, said: str) -> None:
        self._add("PASS" if good else "FAIL", name, said)

    def skip(self, name: str, why: str) -> None:
        self._add("SKIP", name, why)

    def guard(self, name: str, check: Callable[[], None]) -> None:
        """A check that breaks has failed; the others go on."""
        try:
            check()
        except Exception as error:
            self.line(name, False, f"{type(error).__name__}: {str(error).splitlines()[:1]}")

    def _add(self, outcome: str, name: str, said: str) -> None:
        self.lines.append({"outcome": outcome, "check": name, "said": said})
        print(f"{outcome}  {name}: {said}", flush=True)


def check_scores(
    report: Report,
    name: str,
    model: Any,
    tokenizer: Any,
    exact: bool = True,
    backend: HfBackend | None = None,
) -> None:
    requests = [
        Score(str(at), text, (" a", "東京", " is blue. a b"))
        for at, text in enumerate(make_prompts(24, 12 if exact else 120))
    ]
    backend = backend or HfBackend.from_model(model, tokenizer)
    began = time.perf_counter()
    try:
        answers = dict(backend.run(requests))
    except BackendError as error:
        # A rung that was asked for and does not suit the model says so, before any number.
        report.skip(name, str(error).splitlines()[0])
        return
    took = time.perf_counter() - began
    worst = noise = 0.0
    good = set(answers) == {request.key for request in requests}
    for request in requests:
        answer = answers[request.key]
        if not isinstance(answer, Scores):
            report.line(name, False, f"{answer}")
            return
        for text, found in zip(request.continuations, answer.logprobs, strict=True):
            pair = encode(tokenizer, request.prompt, text)
            expected = single(model, *pair)
            worst = max(worst, abs(found - expected))
            if not exact:
                noise = max(noise, abs(single(model, *pair, filler=9) - expected))
    allowed = EXACT if exact else NOISE * max(noise, FLOOR)
    engine = backend.describe()["engine"]
    said = f"{engine['mode']}; largest difference {worst:.2e}"
    said += f", allowed {allowed:.2e}"
    said += "" if exact else f" = {NOISE:g} x noise {max(noise, FLOOR):.2e} (seen {noise:.2e})"
    said += f"; {len(requests)} prompts in {took:.2f} s"
    report.line(name, good and worst <= allowed, "; ".join([said, *engine["passed_over"]]))


def check_texts(
    report: Report, name: str, model: Any, tokenizer: Any, backend: HfBackend | None = None
) -> None:
    prompts = make_prompts(10, 12)
    requests = [Generate(str(at), text, (), NEW_TOKENS) for at, text in enumerate(prompts)]
    backend = backend or HfBackend.from_model(model, tokenizer)
    captured: list[tuple[int, int]] = []
    honest = DecodeStepper._capture

    def counting(self: DecodeStepper, shape: tuple[int, int]) -> torch.Tensor | None:
        new = honest(self, shape)
        captured.extend([shape] if new is not None else [])
        return new

    DecodeStepper._capture = counting  # type: ignore[method-assign]
    try:
        answers = dict(backend.run(requests))
    finally:
        DecodeStepper._capture = honest  # type: ignore[method-assign]
    wrong = 0
    for request in requests:
        ids = torch.tensor([tokenizer(request.prompt)["input_ids"]]).to(model.device)
        mask = torch.ones_like(ids)
        whole = model.generate(
            input_ids=ids,
            attention_mask=mask,
            do_sample=False,
            max_new_tokens=NEW_TOKENS,
            pad_token_id=1,
        )[0].tolist()
        new = [token for token in whole[ids.shape[1] :] if token != 1]
        expected = tokenizer.decode(new, skip_special_tokens=True).rstrip("\ufffd")
        answer = answers[request.key]
        wrong += not isinstance(answer, Text) or (answer.text, answer.token_count) != (
            expected,
            len(new),
        )
    mode = backend.describe()["engine"]["generation"]
    said = f"{mode}; {wrong} of {len(requests)} texts differ from generate's"
    if ids.is_cuda:
        said += f"; {len(captured)} shapes of steps captured"
    report.line(name, wrong == 0, said)


def check_drawn(report: Report, name: str, model: Any, tokenizer: Any) -> None:
    """What is drawn rests on a request's seed and not on its batch."""
    sampling = Sampling(0.8, top_p=0.9)
    requests = [
        Generate(str(at), text, (), NEW_TOKENS, sampling, seed=at * 7919 + 1)
        for at, text in enumerate(make_prompts(10, 12))
    ]
    alone = dict(HfBackend.from_model(model, tokenizer, batch_size=1).run(requests))
    together = dict(HfBackend.from_model(model, tokenizer).run(requests))
    greedy = [replace(request, sampling=None) for request in requests]
    likely = dict(HfBackend.from_model(model, tokenizer).run(greedy))
    same = sum(alone[request.key] == together[request.key] for request in requests)
    drawn = sum(together[request.key] != likely[request.key] for request in requests)
    said = f"{same} of {len(requests)} the same one by one and together, {drawn} not the likeliest"
    report.line(name, same == len(requests) and drawn > 0, said)


def check_thoughts(report: Report, name: str, model: Any, tokenizer: Any) -> None:
    """Budgets are forced upon rows where they stand, also in steps that were begun ahead."""
    requests = [
        Generate(str(at), f"{text}<think>", ("e",), NEW_TOKENS, thinking=Thinking(budget=at))
        for at, text in enumerate(make_prompts(10, 12))
    ]
    together = dict(HfBackend.from_model(model, tokenizer).run(requests))
    alone = dict(HfBackend.from_model(model, tokenizer, batch_size=1).run(requests))
    library = HfBackend.from_model(model, tokenizer)
    library._text_generator()._scheduler = None
    written = dict(library.run(requests))
    same = sum(together[r.key] == alone[r.key] == written[r.key] for r in requests)
    texts = [answer for answer in together.values() if isinstance(answer, Text)]
    forced = sum(text.thinking_end == "budget" for text in texts)
    said = f"{same} of {len(requests)} the same alone, together and by generate, {forced} forced"
    report.line(name, same == len(requests) and forced > len(requests) // 2, said)


def check_rolling(report: Report, name: str, model: Any, tokenizer: Any) -> None:
    # The tokenizer adds BOS, so that BOS is part of the text and follows the start token.
    ids = tokenizer(WORDS)["input_ids"]
    backend = HfBackend.from_model(model, tokenizer, max_length=len(ids))
    answer = dict(backend.run([Rolling("k", WORDS)]))["k"]
    if not isinstance(answer, Rolled):
        report.line(name, False, f"{answer}")
        return
    difference = abs(answer.logprob - single(model, [0], ids))
    allowed = 10 * EXACT
    report.line(name, difference <= allowed, f"difference {difference:.2e}, allowed {allowed:.2e}")


def check_finite(report: Report, family: str, tokenizer: Any, device: str) -> None:
    """One token makes the layers overflow: texts with it fail, by every engine, and no others do.

    With as few rows as jobs fill several times, so that later texts take the places of those that
    failed; on CUDA with captured steps, in which nothing may be looked at on the host.
    """
    model = make_tiny(family, len(tokenizer), device)
    sick = tokenizer("🙂", add_special_tokens=False)["input_ids"][0]
    prompts = [text + " 🙂" * (at % 3 == 1) for at, text in enumerate(make_prompts(24, 12))]
    prompts = [text for text in prompts if sick in tokenizer(text)["input_ids"] or "🙂" not in text]
    asked: list[Any] = [Score(f"s{at}", text, (" a", "東京")) for at, text in enumerate(prompts)]
    asked += [Rolling(f"r{at}", text) for at, text in enumerate(prompts)]
    drawn = Sampling(0.8, top_p=0.9)
    asked += [Generate(f"g{at}", text, (), NEW_TOKENS) for at, text in enumerate(prompts)]
    asked += [
        Generate(f"d{at}", text, (), NEW_TOKENS, drawn, seed=at) for at, text in enumerate(prompts)
    ]
    # Made beforehand: a captured step takes nothing from the host.
    column = torch.tensor([sick], device=device)
    fails = {at for at, text in enumerate(prompts) if sick in tokenizer(text)["input_ids"]}

    def leave_out(module: Any, inputs: Any, output: torch.Tensor) -> torch.Tensor:
        """Nobody writes the token, so that only those who read it can fail."""
        return output.index_fill(-1, column, -100.0)

    model.get_output_embeddings().register_forward_hook(leave_out)
    for engine, size in (("tree", "auto"), ("rows", "auto"), ("cache", "auto"), ("plain", 4)):
        name = f"not finite, {family}, engine={engine}"
        weight = model.get_input_embeddings().weight
        whole = weight.data[sick].clone()
        try:
            healthy = dict(_finite_backend(model, tokenizer, engine, size).run(asked))
            backend = _finite_backend(model, tokenizer, engine, size)
            # Settled before: what is checked here are documents, not the probe.
            list(backend.run([Score("k", "a", (" b",)), Generate("t", "a", (), 2)]))
            weight.data[sick] = float("nan")
            found = dict(backend.run(asked))
        except BackendError as error:
            report.skip(name, str(error).splitlines()[0])
            continue
        finally:
            weight.data[sick] = whole
        wrong = [
            request.key
            for request in asked
            if not _as_wanted(
                int(request.key[1:]) in fails, found[request.key], healthy[request.key]
            )
        ]
        modes = backend.describe()["engine"]
        said = f"{modes['mode']}; {modes['generation']}; {len(fails)} of {len(prompts)} overflow"
        report.line(name, not wrong, f"{said}; {len(wrong)} of {len(asked)} answers wrong")


def _finite_backend(model: Any, tokenizer: Any, engine: str, size: Any) -> HfBackend:
    return HfBackend.from_model(model, tokenizer, engine=engine, batch_size=size)


def _as_wanted(fails: bool, found: Any, healthy: Any) -> bool:
    if fails:
        return isinstance(found, Failure) and found.kind == "not_finite"
    if isinstance(found, Text):
        return bool(found == healthy)
    if type(found) is not type(healthy) or isinstance(found, Failure):
        return False
    pairs = zip(_logprobs(found), _logprobs(healthy), strict=True)
    return all(abs(first - second) <= 10 * EXACT for first, second in pairs)


def _logprobs(answer: Any) -> Sequence[float]:
    return (answer.logprob,) if isinstance(answer, Rolled) else answer.logprobs  # type: ignore[no-any-return]


def check_broken(report: Report, tokenizer: Any, device: str) -> None:
    """A model of NaN is asked nothing, and what it is in memory is the same on every device."""
    model = make_tiny("llama", len(tokenizer), device)
    digest = model_digest(model)
    report.line(
        "digest of a model in memory",
        digest == model_digest(copy.deepcopy(model).cpu()),
        f"{digest[:16]}, as on the CPU",
    )
    model.get_output_embeddings().weight.data[3, 3] = float("nan")
    for request in (Score("k", "a", (" b",)), Generate("k", "a", (), 2)):
        said = "answered"
        try:
            list(HfBackend.from_model(model, tokenizer).run([request]))
        except NotFiniteError as error:
            said = error.message
        name = f"a model of NaN, {type(request).__name__.lower()}"
        report.line(name, said != "answered", said)


def check_family(report: Report, family: str, tokenizer: Any, device: str) -> None:
    model = make_tiny(family, len(tokenizer), device)
    for engine in ("auto", "rows", "cache", "plain"):

        def scores(engine: str = engine) -> None:
            backend = HfBackend.from_model(model, tokenizer, engine=engine)
            check_scores(
                report, f"scores, {family}, engine={engine}", model, tokenizer, True, backend
            )

        report.guard(f"scores, {family}, engine={engine}", scores)
    report.guard(
        f"texts, {family}", lambda: check_texts(report, f"texts, {family}", model, tokenizer)
    )


def check_folder(report: Report, tokenizer: Any, device: str) -> None:
    """A checkpoint on disk: a device map, and an adapter on top."""
    missing = [name for name in ("accelerate", "peft") if importlib.util.find_spec(name) is None]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = make_tiny("llama", len(tokenizer), device)
        model.save_pretrained(folder / "model")
        tokenizer.save_pretrained(folder / "model")
        told: dict[str, Any] = {"pretrained": str(folder / "model")}
        if "accelerate" in missing:
            report.skip("device_map=auto", "accelerate is not installed")
        else:
            backend = opened({**told, "device_map": "auto"}, None)
            check_scores(report, "scores, device_map=auto", model, tokenizer, True, backend)
            check_texts(report, "texts, device_map=auto", model, tokenizer, backend)
        if "peft" in missing:
            report.skip("adapter", "peft is not installed")
            return
        import peft

        settings = peft.LoraConfig(r=4, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
        adapted = peft.get_peft_model(model, settings).eval()
        with torch.no_grad():
            for label, weight in adapted.named_parameters():
                if "lora_" in label:
                    weight.normal_(0, 0.3)
        adapted.save_pretrained(folder / "adapter")
        backend = opened({**told, "peft": str(folder / "adapter")}, device)
        check_scores(report, "scores, adapter", adapted, tokenizer, True, backend)
        check_texts(report, "texts, adapter", adapted, tokenizer, backend)


def opened(arguments: dict[str, Any], device: str | None) -> HfBackend:
    backend = open_hf(BackendSettings("hf", arguments, device, "float32"))
    assert isinstance(backend, HfBackend)
    return backend


def check_kernel(report: Report, device: torch.device) -> None:
    """The tree's kernel against a softmax in double precision, for all that it is told."""
    from tenbin.backends.hf.kernels.tiles import plan_tiles
    from tenbin.backends.hf.kernels.tree_attention_triton import KEYS, ROWS, attend
    from tenbin.backends.hf.model.prefix_tree import make_packs

    drawn = random.Random(1)
    torch.manual_seed(1)
    stem = [drawn.randrange(9) for _ in range(200)]
    rows = {
        (
            *stem[: drawn.randint(0, 200)],
            *(drawn.randrange(9) for _ in range(drawn.randint(1, 350))),
        )
        for _ in range(9)
    }
    (pack,) = make_packs(sorted(rows), 1 << 30)
    allowed = {torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 1e-2}
    positions = torch.tensor(pack.positions)
    seen = torch.zeros(len(pack), len(pack), dtype=torch.bool)
    for number in range(len(pack.sequences)):
        places = pack.places(number)
        for at, place in enumerate(places):
            seen[place, places[: at + 1]] = True
    for dtype, size, value_size in (
        (torch.float32, 64, 64),
        (torch.float32, 128, 128),
        (torch.float16, 256, 256),
        (torch.bfloat16, 64, 64),
        (torch.bfloat16, 80, 80),
        (torch.bfloat16, 128, 128),
        (torch.bfloat16, 192, 128),
    ):
        worst = 0.0
        for window, cap, sinking in (
            (None, None, False),
            (40, None, False),
            (None, 5.0, True),
            (70, None, True),
        ):
            query = torch.randn(4, len(pack), size, device=device, dtype=dtype)
            key = torch.randn(2, len(pack), size, device=device, dtype=dtype)
            value = torch.randn(2, len(pack), value_size, device=device, dtype=dtype)
            sinks = torch.randn(4, device=device, dtype=dtype) if sinking else None
            tiles = plan_tiles(pack, window, ROWS, KEYS, device)
            found = attend(tiles, query, key, value, 0.1, window, cap, sinks).double()
            scores = query.double() @ key.double().repeat_interleave(2, 0).transpose(1, 2) * 0.1
            if cap is not None:
                scores = torch.tanh(scores / cap) * cap
            mask = seen.clone()
            if window is not None:
                mask &= positions[:, None] - positions < window
            scores = scores.masked_fill(~mask.to(device), float("-inf"))
            if sinks is not None:
                column = sinks.double()[:, None, None].expand(4, len(pack), 1)
                scores = torch.cat([scores, column], -1)
            weights = scores.softmax(-1)[..., : len(pack)]
            wanted = (weights @ value.double().repeat_interleave(2, 0)).transpose(0, 1)
            worst = max(worst, float((found - wanted).norm() / wanted.norm()))
        name = f"kernel, {str(dtype).removeprefix('torch.')}, heads of {size} and {value_size}"
        report.line(name, worst <= allowed[dtype], f"relative difference {worst:.1e}")


def check_compiled(report: Report, family: str, tokenizer: Any, device: str) -> None:
    model = make_tiny(family, len(tokenizer), device)
    backend = HfBackend.from_model(model, tokenizer, compilation="always")
    check_scores(report, f"scores, {family}, compiled", model, tokenizer, True, backend)
    check_texts(report, f"texts, {family}, compiled", model, tokenizer, backend)


def check_full_memory(report: Report, tokenizer: Any, device: torch.device) -> None:
    """Memory that ends in the middle of the work, which the budget does not know beforehand."""
    model = make_larger(str(device), torch.bfloat16)
    asked = [Score(str(at), f"{at} " + WORDS * 12, (" a", "東京")) for at in range(160)]
    written = [Generate(f"t{at}", f"{at} " + WORDS * 12, (), 4) for at in range(160)]
    free = HfBackend.from_model(model, tokenizer)
    wanted = dict(free.run(asked))
    core = free._engine
    assert core is not None
    before = core.budget
    torch.cuda.empty_cache()
    whole = torch.cuda.get_device_properties(device).total_memory
    # Room for a part of a pack only; what the driver calls free does not tell of it.
    torch.cuda.set_per_process_memory_fraction(
        (torch.cuda.memory_allocated(device) + (1 << 30)) / whole, device
    )
    try:
        found = dict(free.run(asked))
        texts = dict(free.run(written))
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0, device)
    scored = [answer for answer in found.values() if isinstance(answer, Scores)]
    worst = max(
        abs(a - b)
        for key, answer in found.items()
        if isinstance(answer, Scores)
        for a, b in zip(answer.logprobs, wanted[key].logprobs, strict=True)  # type: ignore[union-attr]
    )
    name = "scores in little memory"
    good = len(scored) == len(asked) and core.budget < before and worst <= 0.2
    said = f"{len(scored)} of {len(asked)} answered, budget {before} to {core.budget}"
    report.line(name, good, f"{said}, largest difference {worst:.2e}")
    answered = sum(isinstance(answer, Text) for answer in texts.values())
    report.line(
        "texts in little memory",
        answered == len(written),
        f"{answered} of {len(written)} answered",
    )


def check_weights(report: Report, device: torch.device) -> None:
    """Weights copied from several threads, in pieces that do not fit them, and a tied one."""
    generator = torch.Generator().manual_seed(3)
    model = torch.nn.ModuleList(
        torch.nn.Linear(2048 + n, 3001, dtype=dtype)
        for n, dtype in enumerate((torch.bfloat16, torch.float32, torch.float16))
    )
    for weight in model.parameters():
        weight.data = torch.randn(weight.shape, generator=generator).to(weight.dtype)
    model.append(torch.nn.Linear(2048, 3001, dtype=torch.bfloat16))
    model[3].weight = model[0].weight
    wanted = {name: one.clone() for name, one in model.state_dict().items()}
    send_weights(model, str(device), chunk=1_000_003)
    found = model.state_dict()
    same = sum(torch.equal(found[name].cpu(), one) for name, one in wanted.items())
    moved = sum(one.is_cuda for one in found.values())
    good = same == len(wanted) and moved == 4 and model[3].weight is model[0].weight
    report.line("weights sent", good, f"{same} of {len(wanted)} the same bytes, {moved} moved")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--dtype", default="bfloat16", choices=["float32", "bfloat16", "float16"])
    parser.add_argument("--tiny", action="store_true", help="leave the 1B shape out")
    parser.add_argument("--families", default=",".join(FAMILIES))
    parser.add_argument("--output")
    chosen = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = False
    device = torch.device(chosen.device)
    if device.type == "cuda":
        device = torch.device("cuda", torch.cuda.current_device())
    report, tokenizer = Report(), make_tokenizer()
    for family in chosen.families.split(","):
        check_family(report, family, tokenizer, chosen.device)
    tiny = make_tiny("llama", len(tokenizer), chosen.device)
    check_rolling(report, "rolling, llama", tiny, tokenizer)
    report.guard("drawn", lambda: check_drawn(report, "texts, drawn, llama", tiny, tokenizer))
    report.guard("thoughts", lambda: check_thoughts(report, "thoughts, llama", tiny, tokenizer))
    for family in ("llama", "gpt2", "mamba"):
        if family in chosen.families.split(","):
            report.guard(
                f"not finite, {family}",
                lambda family=family: check_finite(report, family, tokenizer, chosen.device),  # type: ignore[misc]
            )
    report.guard("a model of NaN", lambda: check_broken(report, tokenizer, chosen.device))
    report.guard("checkpoint folder", lambda: check_folder(report, tokenizer, chosen.device))
    if device.type == "cuda":
        report.guard("weights sent", lambda: check_weights(report, device))
        report.guard("kernel", lambda: check_kernel(report, device))
        for family in ("llama", "gemma3"):
            report.guard(
                f"{family}, compiled",
                lambda family=family: check_compiled(report, family, tokenizer, chosen.device),
            )
        report.guard("little memory", lambda: check_full_memory(report, tokenizer, device))
    if not chosen.tiny:
        dtype = getattr(torch, chosen.dtype)
        large = make_larger(chosen.device, dtype)
        check_scores(report, f"scores, 1B, {chosen.dtype}", large, tokenizer, exact=False)
    if chosen.output:
        result = {
            "device": torch.cuda.get_device_name() if device.type == "cuda" else chosen.device,
            "torch": torch.__version__,
            "transformers": importlib.metadata.version("transformers"),
            "checks": report.lines,
        }
        text = json.dumps(result, indent=2, ensure_ascii=False)
        Path(chosen.output).write_text(text + "\n", encoding="utf-8")
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
