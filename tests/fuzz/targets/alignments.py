"""Files that say which rows of several languages hold the same item."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

from tenbin.api import consistency
from tests.fuzz.mutation import damage_bytes, damage_tree, write_json
from tests.fuzz.target import Target
from tests.fuzz.targets.seed_run import seed_run

_FILES: tuple[dict[str, Any], ...] = (
    {"note": "who made it", "en": list(range(12)), "ja": list(range(12))},
    {"en": ["a", "b", "c", "d", *[None] * 8], "ja": ["a", None, "c", "d", *[None] * 8]},
)


def _make(rng: Random) -> bytes:
    tree = damage_tree(rng, json.loads(json.dumps(rng.choice(_FILES))), ("en", "ja", 3, "row-1"))
    written = write_json(rng, tree)
    return damage_bytes(rng, written) if rng.randrange(5) == 0 else written


def _check(data: bytes, folder: Path) -> None:
    path = folder / "alignment.json"
    path.write_bytes(data)
    document = consistency(seed_run().run, tasks=["mlogiqa_mcq"], alignment=path)
    json.dumps(document, ensure_ascii=False, allow_nan=False).encode()


TARGETS = (
    Target("alignment", _make, _check, lambda: [json.dumps(one).encode() for one in _FILES]),
)
