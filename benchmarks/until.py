"""What `--until` saves on real documents: tokens computed until it stops, and in a full run.

Scores are SmolLM2-135M's, float32 on the CPU. Tokens are counted, not timed: the requests of a
portion are encoded and packed into prefix trees as the engine does it, for the blocks of the run,
for the same documents asked at once, and for all documents. `--blocks 8` counts so many blocks
without asking the model.

    python benchmarks/until.py --data_dir DATA --tasks jnli-1.3-0.2 --until 5 [--blocks 8]
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from tempfile import TemporaryDirectory
from typing import Any

from common import EMBEDDED_MODEL, open_model, parser, say, setup_facts, write_result

from tenbin.backends.hf.model.prefix_tree import make_packs
from tenbin.backends.text.encoding import encode_scores
from tenbin.backends.text.score_collector import ScoreCollector
from tenbin.config import build_config
from tenbin.pipeline.cells.choose import choose_cells
from tenbin.pipeline.cells.setup import CellSetup
from tenbin.pipeline.plan import Plan
from tenbin.pipeline.prepare import load_data, prompt_settings, prompts_of
from tenbin.pipeline.progress import Listener
from tenbin.pipeline.run import execute
from tenbin.pipeline.until.width import width_rules
from tenbin.records import Failure, Request, Score

PORTION = 4_096
"""Requests that the engine packs together, at most."""
PACK = 4_096
"""Tokens of a pack on a CPU."""


def portions(requests: Iterable[Request]) -> Iterator[list[Score]]:
    rest = (one for one in requests if isinstance(one, Score))
    while portion := list(islice(rest, PORTION)):
        yield portion


def tokens_of(requests: Iterable[Request], tokenizer: Any) -> int:
    """Tokens that the tree engine computes for requests that are asked together."""
    total = 0
    for portion in portions(requests):
        encoded = encode_scores(tokenizer, "joint", portion)
        groups = [one.rows for one in encoded if not isinstance(one, Failure)]
        packs = make_packs(ScoreCollector(groups, ()).inputs, PACK)
        total += sum(len(pack) for pack in packs)
    return total


def planned(config: Any, setups: Sequence[CellSetup], tokenizer: Any) -> Plan:
    plan, data = Plan(), load_data(config, setups)
    for setup in setups:
        prompts = prompts_of(setup, data, prompt_settings(config), tokenizer)
        plan.add(setup.cell, prompts, setup.scores_unconditionally)
    return plan


def asked(plan: Plan, blocks: Iterable[Sequence[int]], tokenizer: Any) -> int:
    """Tokens of blocks that are asked one after the other."""
    total = 0
    plan.hold_back()
    for block in blocks:
        plan.release(block)
        requests = list(plan.queue.walk())
        total += tokens_of(requests, tokenizer)
        plan.queue.settle([one.key for one in requests])
    return total


def measured(config: Any, cache_dir: str | None) -> dict[str, Any]:
    """Run until it stops; what it says of its stop, and the seconds it took."""
    began = time.perf_counter()
    with TemporaryDirectory() as folder:
        kept = config.replaced(cache_dir=cache_dir or folder)
        result = execute(kept, Listener(), open_model("float32"), False).result
    assert result.stopping is not None
    (stop,) = result.stopping.widths.values()
    return {"stop": stop.model_dump(mode="json"), "seconds": time.perf_counter() - began}


def main() -> None:
    flags = parser(__doc__ or "")
    flags.add_argument("--tasks", default="jnli-1.3-0.2", help="one task")
    flags.add_argument("--until", default="5")
    flags.add_argument("--num_fewshot", type=int, default=0)
    flags.add_argument("--fewshot", default="random")
    flags.add_argument("--blocks", type=int, help="count so many blocks, without asking the model")
    flags.add_argument("--name", default="until")
    flags.add_argument("--cache_dir", help="keeps answers (default: a temporary folder)")
    options = flags.parse_args()
    config = build_config(
        {
            "model": "hf", "model_args": {"pretrained": EMBEDDED_MODEL}, "device": "cpu",
            "dtype": "float32", "tasks": options.tasks, "num_fewshot": options.num_fewshot,
            "fewshot": options.fewshot, "data_dir": options.data_dir, "until": options.until,
        }
    )  # fmt: skip
    stopped = {} if options.blocks else measured(config, options.cache_dir)
    tokenizer, setups = open_model("float32").capabilities.tokenizer, choose_cells(config)
    (rule,) = width_rules(planned(config, setups, tokenizer), setups, config.seed)
    blocks = rule.blocks[: options.blocks or len(stopped["stop"]["blocks"])]
    together = [number for block in blocks for number in block]
    everything = [number for block in rule.blocks for number in block]
    counts = {
        name: asked(planned(config, setups, tokenizer), parts, tokenizer)
        for name, parts in (
            ("in_blocks", blocks), ("same_documents_at_once", [together]), ("all", [everything]),
        )
    }  # fmt: skip
    say(f"{options.tasks}: {len(together):,} of {len(everything):,} documents, {counts}")
    body = {
        "what": f"{options.tasks}, {options.num_fewshot}-shot ({options.fewshot}), --until "
        f"±{options.until}, SmolLM2-135M",
        "documents": len(together),
        "all_documents": len(everything),
        "blocks": len(blocks),
        "tokens": counts,
        "share_of_full_run": round(counts["in_blocks"] / counts["all"], 3),
        "lost_to_blocks": round(counts["in_blocks"] / counts["same_documents_at_once"] - 1, 3),
        **stopped,
        "setup": setup_facts(),
    }
    write_result(options.output_dir, options.name, body)


if __name__ == "__main__":
    main()
