"""Log-likelihoods and texts of models with weights, beside lm-eval's and a pass in float64.

Two models: SmolLM2-135M, and a random Llama of two layers with a window that many prompts exceed,
so that cutting from the left is compared too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from checks import FORWARD_TOLERANCE, TOKEN_TOLERANCE, Check

MAX_GEN_TOKS = 16
"""Of a text: enough to see that greedy decoding takes the same way."""
_SHAPE = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 512,
    # Random weights of the usual size say nearly the same of every token.
    "initializer_range": 0.3,
}


def make_tiny(folder: Path, tokenizer_of: str) -> str:
    """Write a random model with the tokenizer of another one; its folder."""
    import torch
    from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

    tokenizer: Any = AutoTokenizer.from_pretrained(tokenizer_of)
    tokenizer.model_max_length = _SHAPE["max_position_embeddings"]
    ends = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id}
    torch.manual_seed(0)
    model: Any = LlamaForCausalLM(LlamaConfig(vocab_size=len(tokenizer), **ends, **_SHAPE))
    model.to(torch.float32).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


class Double:
    """A model in float64, asked one continuation at a time."""

    def __init__(self, folder: str) -> None:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        self._torch = torch
        self._tokenizer: Any = AutoTokenizer.from_pretrained(folder)
        made: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64)
        self._model = made.eval()
        self._window = int(made.config.max_position_embeddings)

    def tokens(self, context: str, continuation: str) -> tuple[list[int], list[int]]:
        """Both encoded as one text and divided at the context's count of tokens."""
        kept = context.rstrip()
        continuation, context = context[len(kept) :] + continuation, kept
        if not context:
            return [self._tokenizer.bos_token_id], self._encoded(continuation)
        first = self._encoded(context)
        return first, self._encoded(context + continuation)[len(first) :]

    def loglikelihood(self, context: str, continuation: str) -> tuple[float, int]:
        """The log-likelihood, and the tokens of the continuation."""
        first, second = self.tokens(context, continuation)
        row = (first + second)[-(self._window + 1) :]
        with self._torch.inference_mode():
            logits = self._model(self._torch.tensor([row[:-1]])).logits[0, -len(second) :]
            logprobs = self._torch.log_softmax(logits, dim=-1)
        wanted = self._torch.tensor(second)[:, None]
        return float(logprobs.gather(1, wanted).sum()), len(second)

    def _encoded(self, text: str) -> list[int]:
        return list(self._tokenizer.encode(text, add_special_tokens=False))


def compare_weights(
    checks: Mapping[str, Check],
    place: str,
    samples: Sequence[Mapping[str, Any]],
    oracle: Mapping[str, Any],
    double: Double,
) -> None:
    """All answers of one task: log-likelihoods, greediness, texts."""
    for at, (sample, theirs) in enumerate(zip(samples, oracle["documents"], strict=True)):
        where = f"{place}, document {at}"
        if sample["failure_kind"]:
            checks["loglikelihood"].add(False, 0.0, f"{where}: {sample['failure_message']}")
        elif oracle["kind"] == "generate_until":
            text, wanted = sample["generated"], theirs["responses"][0][0]
            if sample["finish"] == "length":
                # The limit may cut a character: tenbin leaves its part out, lm-eval decodes it.
                wanted = wanted.rstrip("\ufffd")
            checks["texts"].add(text == wanted, 0.0, f"{where}: {text!r}, lm-eval {wanted!r}")
        elif oracle["kind"] == "loglikelihood_rolling":
            value, wanted = sample["logprobs"][0], float(theirs["responses"][0][0])
            tokens = sum(sample["token_counts"] or [1])
            _compare_token(checks["loglikelihood"], where, value, wanted, tokens)
        else:
            _compare_scored(checks, where, sample, theirs, double)


def _compare_scored(
    checks: Mapping[str, Check],
    where: str,
    sample: Mapping[str, Any],
    theirs: Mapping[str, Any],
    double: Double,
) -> None:
    asked = zip(theirs["requests"], theirs["responses"], strict=True)
    for at, (request, ((wanted, greedy),)) in enumerate(asked):
        if at >= len(sample["logprobs"]):
            break  # the choices alone, which acc_mutual_info asks besides
        value = sample["logprobs"][at]
        exact, tokens = double.loglikelihood(request["context"], request["continuation"])
        # Where lm-eval itself is far from float64, so is whoever is nearer to it.
        off = abs(wanted - exact) / tokens + TOKEN_TOLERANCE / 2
        _compare_token(checks["loglikelihood"], f"{where}, {at}", value, wanted, tokens, off)
        _compare_token(checks["float64"], f"{where}, {at}, in float64", value, exact, tokens)
        checks["float64"].apart += abs(value - exact)
        checks["float64"].size += abs(exact)
        mine = bool(sample["greedy"][at])
        checks["greedy"].add(mine == bool(greedy), 0.0, f"{where}, {at}: {mine}, lm-eval {greedy}")
    count = len(sample["logprobs"])
    best = max(range(count), key=lambda k: sample["logprobs"][k])
    theirs_best = max(range(count), key=lambda k: theirs["responses"][k][0][0])
    message = f"{where}: takes {best}, lm-eval {theirs_best}"
    checks["predictions"].add(best == theirs_best, 0.0, message)


def compare_sums(check: Check) -> None:
    """All log-likelihoods together beside those in float64."""
    if check.size:
        apart = check.apart / check.size
        message = f"all together are off by {apart:.1e}, relative to float64"
        check.add(apart <= FORWARD_TOLERANCE, 0.0, message)


def _compare_token(
    check: Check, where: str, value: float, wanted: float, tokens: int, allowed: float = 0.0
) -> None:
    apart = abs(value - wanted) / max(1, tokens)
    message = f"{where}: {value!r} beside {wanted!r}: {apart:.1e} a token"
    check.add(apart <= max(TOKEN_TOLERANCE, allowed), apart, message)
