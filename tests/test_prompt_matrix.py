"""The table of a full sweep, from which benchmarks/prompt_matrix.py draws designs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]


def test_designs_are_drawn_from_a_table_and_compared_with_all_of_it(tmp_path: Path) -> None:
    generator = np.random.default_rng(1)
    chances = generator.uniform(0.1, 0.9, (60, 1)) * np.linspace(0.5, 1.0, 12)
    right = generator.random((60, 12)) < chances
    table = {
        "about": {"task": "made up"},
        "prompts": [f"p{at}" for at in range(12)],
        "levels": {},
        "documents": [f"d{at}" for at in range(60)],
        "clusters": [None] * 50 + ["one"] * 10,
        "rows": [bytes(np.packbits(row)).hex() for row in right],
    }
    file = tmp_path / "made_up.json"
    file.write_text(json.dumps(table), encoding="utf-8")
    subprocess.run(
        [
            sys.executable, "prompt_matrix.py", "--table", str(file), "--designs", "2",
            "--budgets", "3", "12", "--output_dir", str(tmp_path / "out"),
        ],
        check=True,
        cwd=ROOT / "benchmarks",
        capture_output=True,
    )  # fmt: skip
    found = json.loads(
        (tmp_path / "out" / "prompt_matrix_made_up.json").read_text(encoding="utf-8")
    )
    assert found["mean"] == round(float(right.mean()), 4)
    assert (found["documents"], found["prompts"]) == (60, 12)
    part, whole = found["designs"]["3x"], found["designs"]["12x"]
    assert part["cells"] == 0.25
    assert part["quantile_error"] > 0
    # All prompts on all documents are the truth itself.
    assert whole["quantile_error"] == 0
    assert whole["mean_coverage"] == 1
    assert set(whole["coverage"].values()) == {1.0}
