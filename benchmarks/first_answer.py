"""Runs a program's own command line and writes down when its model gave the first answer.

Started by startup.py with the interpreter of the program to be measured:

    PYTHON first_answer.py tenbin|lm_eval OUTPUT ARGUMENTS...

The command line does all it does otherwise; only the hf model's answering is wrapped. OUTPUT gets
the clock's time at the first answer, and the processor time that the process had used by then.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

PROGRAM, OUTPUT, *ARGUMENTS = sys.argv[1:]


def note() -> None:
    path = Path(OUTPUT)
    if not path.exists():
        path.write_text(f"{time.time()} {time.process_time()}", encoding="utf-8")


def run_tenbin() -> None:
    import tenbin.pipeline.run
    from tenbin.cli import main

    opened = tenbin.pipeline.run.open_backend

    def open_backend(settings: Any) -> Any:
        # Wrapped when it is open: how and when its libraries are imported is part of the start.
        backend: Any = opened(settings)
        inner = backend.run

        def run(requests: Any, *known: Any) -> Any:
            for answer in inner(requests, *known):
                note()
                yield answer

        backend.run = run
        return backend

    tenbin.pipeline.run.open_backend = open_backend
    sys.exit(main(ARGUMENTS))


def run_lm_eval() -> None:
    from lm_eval.__main__ import cli_evaluate
    from lm_eval.models.huggingface import HFLM

    inner = HFLM.loglikelihood

    def loglikelihood(self: Any, *arguments: Any, **options: Any) -> Any:
        answers = inner(self, *arguments, **options)
        note()
        return answers

    HFLM.loglikelihood = loglikelihood
    sys.argv = ["lm_eval", *ARGUMENTS]
    cli_evaluate()


if __name__ == "__main__":
    {"tenbin": run_tenbin, "lm_eval": run_lm_eval}[PROGRAM]()
