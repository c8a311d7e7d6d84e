"""Checks the hf backend on a device against plain single-row forwards.

Needs torch, transformers and tokenizers alone: models have random weights, the tokenizer is
trained here on a few sentences, nothing is read from disk and nothing is fetched.

    python benchmarks/check_device.py --device cuda --dtype bfloat16
    python benchmarks/check_device.py --device cpu --tiny

Always: a tiny Llama in float32, scores within 1e-4 of single forwards and texts equal to those of
transformers' generate. Unless --tiny: a Llama of 1B shape in --dtype, scores within NOISE times
what single rows themselves change when they are run in a padded batch. One line a check, with
the largest difference; exit code 1 when one fails.
"""

from __future__ import annotations

import argparse
import importlib.util
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

if importlib.util.find_spec("tenbin") is None:
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from tenbin.backends.hf.backend import HfBackend
from tenbin.records import Generate, Roll, Rolled, Score, Scores, Text

EXACT = 1e-4
NOISE = 4.0
"""How many times the noise of batching a score may lie from its single-row value."""
FLOOR = 0.02
"""Noise is never taken for smaller than this: a lucky batch must not fail an honest backend."""
WORDS = (
    "日本の首都は東京です。 質問：駅はどこですか？\n回答： The quick brown fox is blue. a b c 🙂"
)
SHAPES = {"tiny": (64, 96, 2, 16), "1B": (2048, 8192, 16, 64)}
"""Width, inner width, layers, width of a head."""


def make_tokenizer() -> Any:
    """A byte-level tokenizer that puts BOS in front."""
    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<s>", "</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    inner.train_from_iterator([WORDS] * 4, trainer)
    inner.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", 0)]
    )
    made: Any = PreTrainedTokenizerFast
    return made(tokenizer_object=inner, bos_token="<s>", eos_token="</s>")


def make_model(shape: str, vocabulary: int, device: str, dtype: torch.dtype) -> Any:
    width, inner, layers, head = SHAPES[shape]
    config = LlamaConfig(
        vocab_size=vocabulary if shape == "tiny" else 128256,
        hidden_size=width,
        intermediate_size=inner,
        num_hidden_layers=layers,
        head_dim=head,
        num_attention_heads=width // head,
        num_key_value_heads=width // head // 4,
        max_position_embeddings=2048,
        bos_token_id=0,
        eos_token_id=1,
    )
    torch.manual_seed(3)
    with torch.device(device):
        model: Any = LlamaForCausalLM(config)  # type: ignore[no-untyped-call]
    model = model.to(dtype)
    if shape == "tiny":
        with torch.no_grad():
            # Larger weights than a fresh model's, so that a wrong mask cannot hide.
            for weight in (item for item in model.parameters() if item.ndim == 2):
                weight.normal_(0, 0.2)
    return model.eval()


def make_prompts(count: int, longest: int) -> list[str]:
    rng = random.Random(5)
    words = WORDS.split()
    texts = ["a", "The quick brown fox is ", "回答：\n"]
    while len(texts) < count:
        texts.append(" ".join(rng.choices(words, k=rng.randint(1, longest))))
    return texts


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
    """Prints a line a check and remembers whether one failed."""

    def __init__(self) -> None:
        self.failed = False

    def line(self, name: str, good: bool, said: str) -> None:
        self.failed |= not good
        print(f"{'PASS' if good else 'FAIL'}  {name}: {said}", flush=True)


def check_scores(report: Report, name: str, model: Any, tokenizer: Any, exact: bool) -> None:
    requests = [
        Score(str(at), text, (" a", "東京", " is blue. a b"))
        for at, text in enumerate(make_prompts(24, 12 if exact else 120))
    ]
    backend = HfBackend.from_model(model, tokenizer)
    began = time.perf_counter()
    answers = dict(backend.run(requests))
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
    said = f"largest difference {worst:.2e}, allowed {allowed:.2e}"
    said += "" if exact else f" = {NOISE:g} x noise {max(noise, FLOOR):.2e} (seen {noise:.2e})"
    report.line(name, good and worst <= allowed, f"{said}; {len(requests)} prompts in {took:.2f} s")


def check_texts(report: Report, name: str, model: Any, tokenizer: Any) -> None:
    prompts = make_prompts(10, 12)
    requests = [Generate(str(at), text, (), 12) for at, text in enumerate(prompts)]
    answers = dict(HfBackend.from_model(model, tokenizer).run(requests))
    wrong = 0
    for request in requests:
        ids = torch.tensor([tokenizer(request.prompt)["input_ids"]]).to(model.device)
        mask = torch.ones_like(ids)
        whole = model.generate(
            ids, attention_mask=mask, do_sample=False, max_new_tokens=12, pad_token_id=1
        )[0].tolist()
        new = [token for token in whole[ids.shape[1] :] if token != 1]
        expected = tokenizer.decode(new, skip_special_tokens=True).rstrip("\ufffd")
        answer = answers[request.key]
        wrong += not isinstance(answer, Text) or (answer.text, answer.token_count) != (
            expected,
            len(new),
        )
    report.line(name, wrong == 0, f"{wrong} of {len(requests)} texts differ from generate's")


def check_rolling(report: Report, name: str, model: Any, tokenizer: Any) -> None:
    # The tokenizer adds BOS, so that BOS is part of the text and follows the start token.
    ids = tokenizer(WORDS)["input_ids"]
    backend = HfBackend.from_model(model, tokenizer, max_length=len(ids))
    answer = dict(backend.run([Roll("k", WORDS)]))["k"]
    if not isinstance(answer, Rolled):
        report.line(name, False, f"{answer}")
        return
    difference = abs(answer.logprob - single(model, [0], ids))
    allowed = 10 * EXACT
    report.line(name, difference <= allowed, f"difference {difference:.2e}, allowed {allowed:.2e}")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--dtype", default="bfloat16", choices=["float32", "bfloat16", "float16"])
    parser.add_argument("--tiny", action="store_true", help="leave the 1B shape out")
    chosen = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = False
    report, tokenizer = Report(), make_tokenizer()
    tiny = make_model("tiny", len(tokenizer), chosen.device, torch.float32)
    check_scores(report, "scores, tiny, float32", tiny, tokenizer, exact=True)
    check_texts(report, "texts, tiny, float32", tiny, tokenizer)
    check_rolling(report, "rolling, tiny, float32", tiny, tokenizer)
    dtype = getattr(torch, chosen.dtype)
    shape = "tiny" if chosen.tiny else "1B"
    large = make_model(shape, len(tokenizer), chosen.device, dtype)
    exact = dtype == torch.float32 and chosen.tiny
    check_scores(report, f"scores, {shape}, {chosen.dtype}", large, tokenizer, exact)
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
