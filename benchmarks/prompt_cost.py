"""Tokens that a sweep on a budget computes, beside a full sweep over the same prompts.

With every row computed from its first token, and with every shared prefix once, as the prefix tree
computes them. Only the tokenizer of the model is loaded.

    python benchmarks/prompt_cost.py --data_dir DATA --tasks jcommonsenseqa jnli
"""

from __future__ import annotations

from typing import Any

from common import parser, say, setup_facts, write_result

from tenbin.analysis.doctor.cost import count_distinct, pack_rows
from tenbin.backends.base import TokenizerInspector
from tenbin.backends.checkpoint.location import EMBEDDED_MODEL
from tenbin.backends.registry import open_inspector
from tenbin.config import RunConfig, build_config
from tenbin.pipeline.cells.choose import choose_cells
from tenbin.pipeline.cells.documents import part_cells
from tenbin.pipeline.prepare import load_data, prompt_settings, prompts_of
from tenbin.pipeline.run import backend_settings


def tokens_of(config: RunConfig, inspector: TokenizerInspector) -> dict[str, int]:
    """What all cells of a config compute together."""
    setups = part_cells(config, choose_cells(config))
    data = load_data(config, setups)
    rows: list[bytes] = []
    for setup in setups:
        prompts = list(prompts_of(setup, data, prompt_settings(config), None))
        rows += pack_rows(inspector.tokenize(prompts))
    return {"tokens": sum(map(len, rows)) // 4, "shared_once": count_distinct(rows)}


def main() -> None:
    given = parser(__doc__)
    given.add_argument("--tasks", nargs="+", default=["jcommonsenseqa", "jnli"])
    given.add_argument("--formats", type=int, default=100)
    given.add_argument("--limit", type=int, default=300)
    given.add_argument("--budgets", type=int, nargs="+", default=[2, 4, 8])
    options = given.parse_args()
    found: dict[str, Any] = {}
    for task in options.tasks:
        base = {
            "tasks": task, "formats": options.formats, "limit": options.limit,
            "data_dir": options.data_dir, "model": "hf",
            "model_args": {"pretrained": EMBEDDED_MODEL},
        }  # fmt: skip
        configs = {"full": build_config(base)}
        configs |= {f"{n}x": build_config({**base, "budget": n}) for n in options.budgets}
        inspector = open_inspector(backend_settings(configs["full"]))
        found[task] = {name: tokens_of(config, inspector) for name, config in configs.items()}
        for name, counts in found[task].items():
            share = counts["shared_once"] / found[task]["full"]["shared_once"]
            say(f"{task} {name}: {counts['tokens']:,} tokens, {counts['shared_once']:,} with "
                f"shared prefixes once, {share:.1%} of the full sweep")  # fmt: skip
    about = {"formats": options.formats, "documents": options.limit, "tasks": found}
    write_result(options.output_dir, "prompt_cost", {**about, **setup_facts()})


if __name__ == "__main__":
    main()
