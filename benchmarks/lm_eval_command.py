"""lm-eval's own command line, with the rows of a data folder in place of the hub's.

Started by lm_eval_tasks.py with lm-eval's interpreter:

    PYTHON lm_eval_command.py DATA ARGUMENTS...

DATA holds `<dataset_path>/<dataset_name>/<split>.jsonl`, as `--data_dir` of tenbin.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

DATA, *ARGUMENTS = sys.argv[1:]


def main() -> None:
    import datasets
    from lm_eval.__main__ import cli_evaluate

    load = datasets.load_dataset

    def from_folder(path: str, name: str | None = None, **options: Any) -> Any:
        files = sorted((Path(DATA) / path / (name or "")).glob("*.jsonl"))
        return datasets.DatasetDict(
            {file.stem: load("json", data_files=str(file), split="train") for file in files}
        )

    datasets.load_dataset = from_folder
    sys.argv = ["lm_eval", *ARGUMENTS]
    cli_evaluate()


if __name__ == "__main__":
    main()
