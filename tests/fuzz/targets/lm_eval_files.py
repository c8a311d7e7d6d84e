"""lm-eval's task files: read, translated and checked on rows, their functions never run."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import yaml

from tenbin.data import DataChoice
from tenbin.errors import TenbinError
from tenbin.metrics.registry import metric_names
from tenbin.pipeline.validate import validate_task
from tenbin.tasks.lm_eval.reading import read_task_file
from tenbin.tasks.lm_eval.translate import translate
from tests.fuzz.mutation import damage_bytes, damage_tree
from tests.fuzz.target import PropertyError, Target
from tests.fuzz.verdict import LONGEST_MESSAGE

_DATA = {
    "dataset_path": "json",
    "dataset_kwargs": {"data_files": {"test": "rows.jsonl", "train": "rows.jsonl"}},
    "test_split": "test",
}
_FUNCTION = "!function utils.run"
_FILES: tuple[dict[str, Any], ...] = (
    {
        **_DATA,
        "task": "choice",
        "output_type": "multiple_choice",
        "doc_to_text": "{{question}}",
        "doc_to_target": "label",
        "doc_to_choice": ["a", "b"],
        "fewshot_config": {"sampler": "first_n", "samples": [{"question": "q", "label": 0}]},
        "metric_list": [{"metric": "acc", "aggregation": "mean", "higher_is_better": True}],
        "tag": ["one", "two"],
        "metadata": {"version": 1.0},
    },
    {
        **_DATA,
        "task": "generate",
        "doc_to_text": "{{question}}",
        "doc_to_target": "{{answers}}",
        "gen_prefix": "A:",
        "generation_kwargs": {"until": ["\n"], "temperature": 0.5, "do_sample": True, "top_p": 0.9},
        "repeats": 3,
        "filter_list": [{"name": "f", "filter": [{"function": "take_first"}]}],
        "metric_list": [{"metric": "exact_match", "ignore_case": True}],
    },
    {
        **_DATA,
        "task": "functions",
        "process_docs": _FUNCTION,
        "doc_to_text": _FUNCTION,
        "doc_to_target": _FUNCTION,
        "process_results": _FUNCTION,
        "metric_list": [{"metric": "own", "aggregation": _FUNCTION}],
        "fewshot_config": {"doc_to_text": _FUNCTION, "samples": _FUNCTION},
    },
    {
        **_DATA,
        "task": "rolling",
        "output_type": "loglikelihood_rolling",
        "doc_to_target": "question",
    },
)
_WORDS = (
    "test", "train", "acc", "f1", "bleu", "mean", "regex", "loglikelihood", "{{ question }}",
    "{% if", "first_n", "question", "label", "class", "doc_to_image", "unsafe_code", "num_beams",
    _FUNCTION, "!function x", "include", "task.yaml",
)  # fmt: skip
_PIECES = (
    b"!function utils.run", b"!function ", b"include: task.yaml\n", b"&a ", b"*a", b"<<: *a\n",
    b": ", b"\n  ", b"- ", b"[[[[", b"\x00", b"\xff", b"? ",
)  # fmt: skip
_CANARY = "import pathlib\npathlib.Path(__file__).with_name('ran').touch()\ndef run(*a): return a\n"
_ROW = {"question": "どれ?", "label": 1, "answers": ["a", "b"]}


def _written(tree: dict[str, Any]) -> bytes:
    text = yaml.safe_dump(tree, allow_unicode=True, width=1000)
    return text.replace(f"'{_FUNCTION}'", _FUNCTION).encode("utf-8", "surrogatepass")


def _make(rng: Random) -> bytes:
    tree = json.loads(json.dumps(rng.choice(_FILES)))
    if rng.randrange(4) == 0:
        return damage_bytes(rng, _written(tree), _PIECES)
    return _written(damage_tree(rng, tree, _WORDS))


def _check(data: bytes, folder: Path) -> None:
    path = folder / "task.yaml"
    path.write_bytes(data)
    (folder / "rows.jsonl").write_text(f"{json.dumps(_ROW)}\n{json.dumps(_ROW)}\n")
    (folder / "utils.py").write_text(_CANARY)
    try:
        translation = translate(read_task_file(path).mapping, path)
        task = translation.require()
        metric_names(task)
        if task.origin is None or task.origin.functions:
            return
        choice = DataChoice(data_dir=folder, cache_dir=folder / "cache", offline=True)
        for finding in validate_task(task, choice).findings:
            if finding.severity == "error":
                raise TenbinError(finding.message)
            assert len(finding.message) < LONGEST_MESSAGE
    finally:
        if (folder / "ran").exists():
            raise PropertyError("a function's file was run")


TARGETS = (
    Target(
        "lm_eval_file", _make, _check, lambda: [_written(tree) for tree in _FILES], seconds=15.0
    ),
)
