"""What answers must equal: one row at a time, nothing padded, nothing shared."""

from __future__ import annotations

from typing import Any

import torch


def joint_ids(tokenizer: Any, prompt: str, text: str) -> tuple[list[int], list[int]]:
    def encode(words: str) -> list[int]:
        own = words.startswith(tokenizer.bos_token)
        return list(tokenizer(words, add_special_tokens=not own)["input_ids"])

    if not prompt:
        return [tokenizer.bos_token_id], tokenizer(text, add_special_tokens=False)["input_ids"]
    kept = prompt.rstrip()
    context = encode(kept)
    return context, encode(prompt + text)[len(context) :]


@torch.no_grad()
def score_ids(model: Any, context: list[int], answer: list[int], window: int) -> tuple[float, bool]:
    whole = (context + answer)[-(window + 1) :]
    logits = model(torch.tensor([whole[:-1]])).logits[0].float()[-len(answer) :]
    target = torch.tensor(answer)
    chosen = logits.log_softmax(-1).gather(1, target[:, None]).double()
    return float(chosen.sum()), bool((logits.argmax(-1) == target).all())


def plain_score(
    model: Any, tokenizer: Any, prompt: str, text: str, window: int
) -> tuple[float, bool, int]:
    context, answer = joint_ids(tokenizer, prompt, text)
    return (*score_ids(model, context, answer, window), len(answer))


@torch.no_grad()
def greedy_ids(model: Any, prompt: list[int], limit: int, ends: set[int]) -> list[int]:
    """Greedy decoding without generate and without a cache."""
    ids = list(prompt)
    for _ in range(limit):
        token = int(model(torch.tensor([ids])).logits[0, -1].argmax())
        if token in ends:
            break
        ids.append(token)
    return ids[len(prompt) :]
