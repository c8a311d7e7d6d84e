"""Write lm-eval's flags, commands, models and keywords, for the tests of hints about them.

Run with the Python of an environment that holds lm-eval 0.4.13:

    python tests/golden/write_lm_eval_options.py
"""

from __future__ import annotations

import inspect
import json
from importlib.metadata import version
from pathlib import Path


def main() -> None:
    """Write lm_eval_options.json beside this file."""
    from lm_eval import simple_evaluate  # type: ignore[import-not-found]
    from lm_eval._cli.harness import HarnessCLI  # type: ignore[import-not-found]
    from lm_eval.models import MODEL_MAPPING  # type: ignore[import-not-found]

    commands = HarnessCLI()._subparsers.choices
    flags = {}
    for action in commands["run"]._actions:
        spelt = sorted(action.option_strings, key=len, reverse=True)
        flags[spelt[0].removeprefix("--")] = spelt[1] if len(spelt) > 1 else ""
    flags.pop("help")
    written = {
        "version": version("lm_eval"),
        "commands": sorted(commands),
        "flags": flags,
        "models": sorted(MODEL_MAPPING),
        "keywords": list(inspect.signature(simple_evaluate).parameters),
    }
    target = Path(__file__).with_suffix("").with_name("lm_eval_options.json")
    target.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
