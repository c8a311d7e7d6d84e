"""Scoring on a CPU, beside lm-eval and vLLM, on the same prompts and continuations.

jcommonsenseqa-1.1-0.1 with three examples, on real documents: once with examples drawn for each
document, once with the same examples for all. SmolLM2-135M in float32 against lm-eval's hf model at
its best batch size, and in bfloat16 against vLLM's prompt_logprobs. tenbin writes the requests
into a file, the peer scores them in its own interpreter; both take turns within one run. Models are
loaded and warm before any time is taken.

    python benchmarks/cpu_scoring.py --data_dir DATA --lm_eval_python PY [--vllm_python PY]
"""

from __future__ import annotations

import os
from typing import Any

from common import (
    Peer,
    best_batch_size,
    embedded_model,
    interleave,
    open_model,
    parser,
    portions,
    prompts_for,
    requests_for,
    say,
    setup_facts,
    timed,
    write_result,
)

from tenbin.backends.base import Backend
from tenbin.records import Score, Scores

_CORES = {"own": "as it chooses its cores", "all": "told to use all cores"}
TARGETS = {"random": 6.5, "fixed": 18.0, "vllm": 10.0}
TOLERANCE = 1e-4
"""Of a float32 log-likelihood, or of its size where that is above 1."""


def requests_of(backend: Backend, data_dir: str, fewshot: str, documents: int) -> list[Score]:
    prompts = prompts_for(
        backend,
        tasks="jcommonsenseqa-1.1-0.1",
        num_fewshot=3,
        limit=documents,
        fewshot=fewshot,
        data_dir=data_dir,
    )
    return [request for request in requests_for(prompts) if isinstance(request, Score)]


def pairs_of(requests: list[Score]) -> list[tuple[str, str]]:
    return [(request.prompt, text) for request in requests for text in request.continuations]


def values_of(requests: list[Score], answers: dict[str, Any]) -> list[float]:
    found = []
    for request in requests:
        answer = answers[request.key]
        assert isinstance(answer, Scores), answer
        found += answer.logprobs
    return found


def differences(mine: list[float], theirs: list[float]) -> dict[str, Any]:
    gaps = [abs(a - b) for a, b in zip(mine, theirs, strict=True)]
    scaled = [gap / max(1.0, abs(b)) for gap, b in zip(gaps, theirs, strict=True)]
    return {
        "largest_difference": max(gaps),
        "largest_relative_difference": max(scaled),
        "mean_difference": sum(gaps) / len(gaps),
        "mean_value": sum(theirs) / len(theirs),
    }


def read_by_peer(backend: Backend, requests: list[Score]) -> int:
    """The tokens of these requests when each continuation is read with its whole prompt."""
    tokenizer = backend.capabilities.tokenizer
    assert tokenizer is not None
    lengths = tokenizer.prompt_lengths([request.prompt for request in requests])
    return sum(n * len(r.continuations) for n, r in zip(lengths, requests, strict=True))


def measure(
    backend: Backend, peer: Peer, requests: list[Score], options: Any, batch_size: int
) -> dict[str, Any]:
    given = requests[: options.peer_documents]
    share = read_by_peer(backend, given) / read_by_peer(backend, requests)
    mine: list[float] = []
    others: dict[str, list[float]] = {}

    def ours() -> dict[str, float]:
        times, answers = timed(backend, requests)
        mine[:] = values_of(requests, answers)
        return times

    def theirs(part: list[Score]) -> dict[str, float]:
        answer = peer.ask("loglikelihood", pairs_of(part), batch_size=batch_size)
        others[part[0].key] = answer.pop("values")
        return answer

    measured = interleave(
        peer,
        portions(given, options.parts),
        ours,
        theirs,
        attempts=options.attempts,
        peer_share=share,
    )
    found = [value for part in others.values() for value in part]
    return {
        "documents": len(requests),
        "continuations": len(mine),
        "peer_batch_size": batch_size or None,
        **measured,
        **differences(mine[: len(found)], found),
        "engine": backend.describe()["engine"],
    }


def against_lm_eval(options: Any) -> None:
    backend = open_model("float32", options.engine)
    sets = {
        name: requests_of(backend, options.data_dir, name, options.documents)
        for name in ("random", "fixed")
    }
    warm = requests_of(backend, options.data_dir, "random", options.documents + 1)[-1:]
    timed(backend, warm)
    say(f"engine: {backend.describe()['engine']}")
    peer = Peer(options.lm_eval_python, "lm_eval", embedded_model(), "float32")
    peer.ask("loglikelihood", pairs_of(warm), batch_size=1)
    part = pairs_of(sets["random"][: options.tune_documents])
    best, seconds = best_batch_size(peer, "loglikelihood", part, options.batch_sizes)
    for name in options.sets:
        say(f"{name}: lm-eval at batch size {best}")
        measured = measure(backend, peer, sets[name], options, best)
        _say_result(measured, TARGETS[name])
        assert measured["largest_relative_difference"] <= TOLERANCE, measured
        body = {
            "what": f"jcommonsenseqa-1.1-0.1, 3-shot {name}, SmolLM2-135M float32",
            "against": "lm-eval hf",
            "target_speedup": TARGETS[name],
            "peer_seconds_by_batch_size": seconds,
            **measured,
            "setup": setup_facts(lm_eval=peer.versions),
        }
        write_result(options.output_dir, f"cpu_scoring_{name}", body)
    peer.close()
    backend.close()


def against_vllm(options: Any, cores: str) -> None:
    # By itself it keeps one core free for its front end; with two cores that halves its speed.
    everything = f"0-{(os.cpu_count() or 1) - 1}"
    os.environ["VLLM_CPU_OMP_THREADS_BIND"] = everything if cores == "all" else "auto"
    backend = open_model("bfloat16", options.engine)
    requests = requests_of(backend, options.data_dir, "random", options.documents)
    warm = requests_of(backend, options.data_dir, "random", options.documents + 1)[-1:]
    timed(backend, warm)
    say(f"engine: {backend.describe()['engine']}")
    peer = Peer(options.vllm_python, "vllm", embedded_model(), "bfloat16")
    peer.ask("loglikelihood", pairs_of(warm))
    say(f"random, bfloat16: vLLM, {cores} cores")
    measured = measure(backend, peer, requests, options, 0)
    _say_result(measured, TARGETS["vllm"])
    body = {
        "what": "jcommonsenseqa-1.1-0.1, 3-shot random, SmolLM2-135M bfloat16",
        "against": f"vLLM prompt_logprobs, {_CORES[cores]}",
        "target_speedup": TARGETS["vllm"],
        **measured,
        "setup": setup_facts(vllm=peer.versions),
    }
    name = "cpu_scoring_vllm" if cores == "own" else "cpu_scoring_vllm_all_cores"
    write_result(options.output_dir, name, body)
    peer.close()
    backend.close()


def _say_result(measured: dict[str, Any], target: float) -> None:
    say(
        f"  {measured['speedup_wall']} times as fast (processor time {measured['speedup_cpu']}), "
        f"wanted {target}; largest difference {measured['largest_difference']:.1e}"
    )


def main() -> None:
    flags = parser(__doc__ or "")
    flags.add_argument("--lm_eval_python", help="an interpreter with lm-eval; none: left out")
    flags.add_argument("--vllm_python", help="an interpreter with vLLM for CPUs; none: left out")
    flags.add_argument(
        "--vllm_cores",
        nargs="+",
        choices=sorted(_CORES),
        default=sorted(_CORES),
        help="as many cores as vLLM takes by itself, or all",
    )
    flags.add_argument("--documents", type=int, default=40)
    flags.add_argument(
        "--peer_documents",
        type=int,
        help="time the peer on so many only and scale by tokens: its documents share nothing",
    )
    flags.add_argument("--parts", type=int, default=10, help="portions the peer is timed in")
    flags.add_argument("--sets", nargs="+", default=["random", "fixed"])
    flags.add_argument("--batch_sizes", type=int, nargs="+", default=[1, 4, 8, 16])
    flags.add_argument("--tune_documents", type=int, default=4)
    flags.add_argument("--engine", help="tenbin's engine; none: its own choice")
    options = flags.parse_args()
    if options.lm_eval_python:
        against_lm_eval(options)
    if options.vllm_python:
        for cores in options.vllm_cores:
            against_vllm(options, cores)


if __name__ == "__main__":
    main()
