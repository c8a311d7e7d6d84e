"""`make demo`: a real evaluation of the embedded small model on the sample data.

Runs the program as a user would: every sample row of two Japanese tasks, and of one task in eleven
languages. Two cores without a GPU are done in about a minute.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RESULT = "demo/result.json"
COMMAND = [
    "--model", "hf-causal",
    "--model_args", "pretrained=smollm2-135m",
    "--tasks", "jcommonsenseqa,jnli,xcopa",
    "--num_fewshot", "2,2,0",
    "--device", "cpu",
    "--sample_data",
    "--output_path", RESULT,
    "--report", "demo/report.html",
]  # fmt: skip
GUESSES = {"jcommonsenseqa": 1 / 5, "jnli": 1 / 3, "xcopa": 1 / 2}
"""Task or group → the share that is right by chance."""


def scores(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Accuracy with its interval, by the name of the task or group."""
    found = {}
    for part in ("details", "group_details"):
        for id, metrics in document[part].items():
            name = id.partition("-")[0]
            if name in GUESSES:
                entries = document["results" if part == "details" else "groups"][id]
                found[name] = {**metrics["acc"], "value": entries["acc"]}
    return found


def say_what_it_means(document: dict[str, Any]) -> None:
    """Say of each score whether it differs from guessing, as far as so few rows can tell."""
    print("\nIs it better than guessing?")
    for name, score in scores(document).items():
        guess = GUESSES[name]
        verdict = "cannot be told from it"
        if score["low"] > guess:
            verdict = "better"
        elif score["high"] < guess:
            verdict = "worse"
        print(
            f"  {name:<14} {score['value']:4.0%} right (95% interval {score['low']:.0%} to "
            f"{score['high']:.0%}), guessing {guess:.0%}: {verdict}"
        )


def main() -> int:
    """Run the command that is shown, and say what it means and what to try next."""
    print("$ python main.py " + " ".join(COMMAND), flush=True)
    started = time.monotonic()
    code = subprocess.run([sys.executable, str(HERE / "main.py"), *COMMAND], cwd=HERE).returncode
    if code == 0:
        took = time.monotonic() - started
        say_what_it_means(json.loads((HERE / RESULT).read_text("utf-8")))
        print(f"\nDone in {took:.0f} s. The rows are tenbin's own: no score to quote.")
        print("Open demo/report.html in a browser: every score, prompt and answer.")
        print("Next: your model on real data, first what it would take, then the run:")
        print("  source .venv/bin/activate")
        print(
            "  tenbin run --model hf --model_args pretrained=PATH_OR_HUB_ID "
            "--suite japanese --dry_run"
        )
    return code


if __name__ == "__main__":
    sys.exit(main())
