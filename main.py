"""The documented entry point: `python main.py --model …` is `tenbin run --model …`."""

import sys
from pathlib import Path

# Runs from a clone too, whether or not the package is installed.
sys.path.insert(0, str(Path(__file__).resolve().parent / "src"))

from tenbin.cli.process import run

if __name__ == "__main__":
    sys.argv.insert(1, "run")
    run()
