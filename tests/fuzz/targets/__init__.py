"""The targets, by name. Each is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module

from tests.fuzz.target import Target

_MODULES = {
    "task_file": "templates",
    "template": "templates",
    "filters": "templates",
    "lm_eval_file": "lm_eval_files",
    "chat_template": "chats",
    "run_file": "configs",
    "model_args": "configs",
    "rows_jsonl": "rows",
    "rows_json": "rows",
    "rows_csv": "rows",
    "rows_xml": "rows",
    "rows_text": "rows",
    "rows_gzip": "rows",
    "rows_parquet": "rows",
    "result_compare": "stored",
    "result_consistency": "stored",
    "result_table": "stored",
    "samples": "stored",
    "result_listing": "pages",
    "progress": "pages",
    "report": "pages",
    "alignment": "alignments",
    "journal": "journals",
    "server_answer": "servers",
}
NAMES = tuple(_MODULES)
_ALL = {**_MODULES, "planted": "planted"}


def find_targets(names: Iterable[str]) -> list[Target]:
    """The targets of these names.

    Raises:
        SystemExit: There is no such target.
    """
    found = []
    for name in names:
        if name not in _ALL:
            raise SystemExit(f"no target {name!r}; there are {', '.join(NAMES)}")
        module = import_module(f"tests.fuzz.targets.{_ALL[name]}")
        found.append(next(one for one in module.TARGETS if one.name == name))
    return found
