"""`make demo`: a real evaluation of the embedded small model on the sample data.

Runs the program as a user would: the five Japanese tasks under template 0.3 and both MLogiQA
groups, a few documents each, so that a laptop without a GPU is done in minutes.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
TASKS = "jcommonsenseqa-1.1-0.3,jnli-1.1-0.3,marc_ja-1.1-0.3,jsquad-1.1-0.3,jaquad-0.1-0.3"
COMMAND = [
    "--model", "hf-causal",
    "--model_args", "pretrained=smollm2-135m",
    "--tasks", f"{TASKS},mlogiqa_mcq,mlogiqa_gen",
    "--num_fewshot", "2,2,2,1,1,0,0",
    "--limit", "6,6,6,3,3,2,1",
    "--device", "cpu",
    "--sample_data",
    "--output_path", "demo/result.json",
    "--report", "demo/report.html",
]  # fmt: skip


def main() -> int:
    """Run the command that is shown, and say what to try next."""
    print("$ python main.py " + " ".join(COMMAND), flush=True)
    started = time.monotonic()
    code = subprocess.run([sys.executable, str(HERE / "main.py"), *COMMAND], cwd=HERE).returncode
    if code == 0:
        took = time.monotonic() - started
        print(f"\nDone in {took:.0f} s. The rows are tenbin's own: no score to quote.")
        print("Open demo/report.html in a browser: every score, prompt and answer.")
        print("Next: your model on real data, under the template it was tuned for:")
        print("  .venv/bin/tenbin tasks")
        print(
            "  .venv/bin/tenbin run --model hf --model_args pretrained=PATH_OR_HUB_ID "
            "--tasks jcommonsenseqa,jnli --template 0.3 --num_fewshot 3"
        )
    return code


if __name__ == "__main__":
    sys.exit(main())
