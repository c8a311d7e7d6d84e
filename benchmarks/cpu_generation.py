"""Generation on a CPU, beside lm-eval, on the same prompts with the same stops.

jsquad-1.1-0.2 with two examples, 24 real documents, 32 new tokens, greedy, SmolLM2-135M in float32,
against lm-eval's hf model at its best batch size. Both take turns within one run; texts are
compared. Models are loaded and warm before any time is taken.

    python benchmarks/cpu_generation.py --data_dir DATA --lm_eval_python PY
"""

from __future__ import annotations

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
    say,
    setup_facts,
    timed,
    write_result,
)

from tenbin.pipeline.requests import generate_request
from tenbin.records import Generate, Text

TARGET = 3.0


def items_of(requests: list[Generate]) -> list[Any]:
    return [
        (
            request.prompt,
            {
                "until": list(request.stop),
                "max_gen_toks": request.max_gen_toks,
                "do_sample": False,
            },
        )
        for request in requests
    ]


def main() -> None:
    flags = parser(__doc__ or "")
    flags.add_argument("--lm_eval_python", required=True, help="an interpreter with lm-eval")
    flags.add_argument("--documents", type=int, default=24)
    flags.add_argument("--new_tokens", type=int, default=32)
    flags.add_argument("--parts", type=int, default=6, help="portions the peer is timed in")
    flags.add_argument("--batch_sizes", type=int, nargs="+", default=[1, 4, 8])
    flags.add_argument("--tune_documents", type=int, default=8)
    flags.add_argument("--engine", help="tenbin's engine; none: its own choice")
    options = flags.parse_args()
    backend = open_model("float32", options.engine)
    prompts = prompts_for(
        backend,
        tasks="jsquad-1.1-0.2",
        num_fewshot=2,
        limit=options.documents + 1,
        data_dir=options.data_dir,
    )
    requests = [generate_request(p.text, p.stop, options.new_tokens) for p in prompts]
    warm, requests = requests[-1:], requests[:-1]
    timed(backend, warm)
    peer = Peer(options.lm_eval_python, "lm_eval", embedded_model(), "float32")
    peer.ask("generate_until", items_of(warm), batch_size=1)
    part = items_of(requests[: options.tune_documents])
    best, seconds = best_batch_size(peer, "generate_until", part, options.batch_sizes)
    texts: list[str] = []
    others: dict[str, list[str]] = {}
    tokens: list[int] = []

    def ours() -> dict[str, float]:
        times, answers = timed(backend, requests)
        found = [answers[request.key] for request in requests]
        assert all(isinstance(one, Text) for one in found), found
        texts[:] = [one.text for one in found]
        tokens[:] = [one.token_count for one in found]
        return times

    def theirs(part: list[Generate]) -> dict[str, float]:
        answer = peer.ask("generate_until", items_of(part), batch_size=best)
        others[part[0].key] = answer.pop("values")
        return answer

    say(f"lm-eval at batch size {best}")
    measured = interleave(
        peer, portions(requests, options.parts), ours, theirs, attempts=options.attempts
    )
    theirs_whole = [text for part in others.values() for text in part]
    different = [
        {"document": prompt.document, "tenbin": mine, "peer": other}
        for prompt, mine, other in zip(prompts, texts, theirs_whole, strict=False)
        # lm-eval leaves half a character where the last token ends inside one; tenbin cuts it off.
        if mine != other.rstrip("\ufffd")
    ]
    say(
        f"  {measured['speedup_wall']} times as fast (processor time {measured['speedup_cpu']}), "
        f"wanted {TARGET}; {len(different)} of {len(requests)} texts differ"
    )
    body = {
        "what": "jsquad-1.1-0.2, 2-shot, greedy, SmolLM2-135M float32",
        "against": "lm-eval hf",
        "target_speedup": TARGET,
        "documents": len(requests),
        "new_tokens_at_most": options.new_tokens,
        "new_tokens": sum(tokens),
        "peer_batch_size": best,
        "peer_seconds_by_batch_size": seconds,
        **measured,
        "texts_that_differ": different,
        "engine": backend.describe()["engine"],
        "setup": setup_facts(lm_eval=peer.versions),
    }
    write_result(options.output_dir, "cpu_generation", body)
    peer.close()
    backend.close()


if __name__ == "__main__":
    main()
