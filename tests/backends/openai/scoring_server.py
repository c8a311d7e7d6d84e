"""A server that scores prompts with a real tiny model, one plain forward pass per call.

It speaks `echo` as OpenAI's completions do and `prompt_logprobs` as vLLM does; what it shows is
worked out here by other means than tenbin's engine.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import torch

from tests.backends.openai.misbehaving import Answer


class ScoringServer:
    """Answers completions of one model; switches turn parts of the protocol off."""

    def __init__(self, model: Any, tokenizer: Any, echo: bool = True, listed: bool = True) -> None:
        self.model, self.tokenizer = model, tokenizer
        self.echo, self.listed = echo, listed
        self.lose = 0
        """Log-probabilities that are left out at the end."""
        self.window = 64
        self._lock = threading.Lock()

    def __call__(self, before: int, body: Mapping[str, Any]) -> Answer:
        prompt = body["prompt"]
        ids = self.tokenizer(prompt)["input_ids"] if isinstance(prompt, str) else prompt
        if len(ids) + body["max_tokens"] > self.window:
            words = f"This model's maximum context length is {self.window} tokens"
            return Answer({"error": {"message": words}}, 400)
        with self._lock, torch.no_grad():
            logits = self.model(torch.tensor([ids])).logits[0].float().log_softmax(-1)
        written = int(logits[-1].argmax())
        whole = [*ids, written]
        texts = [self.tokenizer.decode([token]) for token in whole]
        choice: dict[str, Any] = {"index": 0, "text": texts[-1], "finish_reason": "length"}
        shown = [None, *(self._entry(logits[at], whole[at + 1]) for at in range(len(ids)))]
        if body.get("echo") and self.echo:
            choice["text"] = "".join(texts)
            choice["logprobs"] = self._echoed(texts, shown)
        elif body.get("logprobs"):
            choice["logprobs"] = self._echoed(texts[-1:], shown[-1:])
        if body.get("prompt_logprobs") and self.listed:
            listed = [None if entry is None else dict(entry) for entry in shown[: len(ids)]]
            choice["prompt_logprobs"] = listed[: len(listed) - self.lose]
        usage = {"prompt_tokens": len(ids), "completion_tokens": 1}
        return Answer({"choices": [choice], "usage": usage})

    def _entry(self, values: Any, own: int) -> dict[str, Any]:
        top = int(values.argmax())
        return {
            str(token): {
                "logprob": float(values[token]),
                "rank": int((values > values[token]).sum()) + 1,
                "decoded_token": self.tokenizer.decode([token]),
            }
            for token in (own, top)
        }

    def _echoed(self, texts: list[str], shown: list[Any]) -> dict[str, Any]:
        values = [None if entry is None else next(iter(entry.values()))["logprob"]
                  for entry in shown]  # fmt: skip
        tops = [
            None
            if entry is None
            else {one["decoded_token"]: one["logprob"] for one in entry.values()}
            for entry in shown
        ]
        kept = len(texts) - self.lose
        return {
            "tokens": texts[:kept],
            "token_logprobs": values[:kept],
            "top_logprobs": tops[:kept],
        }
