"""Write the prompts that lm-eval makes of the task files in lm_eval_files/.

Run with the Python of an environment that holds lm-eval 0.4.13:

    python tests/golden/write_lm_eval_files.py

`exported_proverbs.yaml` was written by `tenbin import-task --to lm-eval`, so that this also shows
that lm-eval loads such a file.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

FOLDER = Path(__file__).with_name("lm_eval_files")
NAMES = ("animals_choice_ja", "animals_generate_ja", "animals_texts", "proverbs")
_TENBIN = ("proverbs.yaml", "imported_animals.yaml")
"""Files in tenbin's form, which lm-eval does not read."""


def main() -> None:
    """Write prompts.json beside the task files."""
    with TemporaryDirectory() as place:
        shutil.copytree(FOLDER, place, ignore=shutil.ignore_patterns(*_TENBIN), dirs_exist_ok=True)
        os.chdir(place)
        prompts = {name: {shots: _prompts(name, shots) for shots in (0, 2)} for name in NAMES}
    text = json.dumps(prompts, ensure_ascii=False, indent=1)
    (FOLDER / "prompts.json").write_text(text + "\n", encoding="utf-8")


def _prompts(name: str, shots: int) -> list[dict[str, Any]]:
    """One entry per document: what precedes the answer, and what is scored or ends it."""
    from lm_eval.tasks import TaskManager, get_task_dict  # type: ignore[import-not-found]

    manager = TaskManager(include_path=".", include_defaults=False)
    task = get_task_dict([name], manager)[name]
    task.set_config(key="num_fewshot", value=shots)
    task.set_fewshot_seed(1234)
    task.build_all_requests(limit=None, rank=0, world_size=1)
    found: dict[int, dict[str, Any]] = {}
    for instance in task.instances:
        entry = found.setdefault(instance.doc_id, {"text": instance.args[0], "answers": []})
        assert entry["text"] == instance.args[0]
        if len(instance.args) > 1:
            answer = instance.args[1]
            entry["answers"] += [answer] if isinstance(answer, str) else answer["until"]
    return [found[at] for at in sorted(found)]


if __name__ == "__main__":
    main()
