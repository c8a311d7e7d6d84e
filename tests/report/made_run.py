"""Runs written by hand, so that a test can put any text anywhere."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tenbin.results.folder import RunFolder
from tenbin.results.read import parse_result
from tenbin.results.schema import CellConfig, RunResult, Sample
from tenbin.results.write import write_run


def config(task: str, **changes: Any) -> dict[str, Any]:
    return {
        "task": task,
        "version": "1.0",
        "template": "default",
        "language": "ja",
        "family": task,
        "output_type": "choice",
        "split": "validation",
        "role": "score",
        "num_fewshot": 2,
        "seed": 1234,
        "fewshot_split": "train",
        "fewshot_delimiter": "\n\n",
        "metrics": ["acc"],
        "filters": {},
        **changes,
    }


def choice_row(id: str, at: int, **changes: Any) -> dict[str, Any]:
    """A scored document; every third is wrong, every seventeenth failed."""
    failed, wrong = at % 17 == 16, at % 3 == 2
    before, question = "説明。\n\n例の質問\n答え: い\n\n", f"質問{at}は何ですか。\n答え: "
    choices = ["あ", "い", "う"]
    predicted = 1 if wrong else 0
    logprobs = [-3.0, -4.0, -5.5]
    logprobs[predicted] = -0.5
    value = None if failed else float(not wrong)
    row = {
        "id": id,
        "task": id,
        "version": "1.0",
        "template": "default",
        "language": "ja",
        "shots": 1,
        "seed": 1234,
        "document": f"d{at:06}",
        "group": None,
        "prompt": before + question,
        "continuations": choices,
        "choices": choices,
        "logprobs": None if failed else logprobs,
        "token_counts": None if failed else [1, 1, 1],
        "greedy": None if failed else [False] * 3,
        "truncated_tokens": 0,
        "stop": [],
        "gold": 0,
        "target": "あ",
        "references": ["あ"],
        "examples": ["e1"],
        "dropped_examples": 0,
        "parts": [5, len(before)],
        "outcomes": [
            {
                "metric": "acc",
                "value": value,
                "answer": None if failed else choices[predicted],
                "predicted": None if failed else predicted,
            }
        ],
        "failure_kind": "memory" if failed else None,
        "failure_message": "no room for it" if failed else None,
    }
    return {**row, **changes}


def result(
    configs: Mapping[str, Mapping[str, Any]], rows: Sequence[Mapping[str, Any]], **changes: Any
) -> dict[str, Any]:
    """The document of a run with these rows."""
    details, results = {}, {}
    for id in configs:
        mine = [row for row in rows if row["id"] == id]
        names = list(dict.fromkeys(o["metric"] for row in mine for o in row["outcomes"]))
        results[id], details[id] = {"alias": id}, {}
        for name in names:
            values = [
                o["value"]
                for row in mine
                for o in row["outcomes"]
                if o["metric"] == name and o["value"] is not None
            ]
            mean = sum(values) / len(values) if values else None
            spread = None if mean is None else math.sqrt(mean * (1 - mean) / max(1, len(values)))
            metric, comma, filter_name = name.partition(",")
            results[id][name] = mean
            results[id][f"{metric}_stderr{comma}{filter_name}"] = spread
            details[id][name] = {
                "n": len(values),
                "failed": len(mine) - len(values),
                "stderr_method": "analytic",
                "higher_is_better": not name.startswith("format_failure"),
                "unit": "",
            }
    return {
        "tenbin_version": "0.1.0",
        "schema_version": 1,
        "results": results,
        "details": details,
        "configs": dict(configs),
        "n-samples": {
            id: {"original": len(rows), "effective": sum(row["id"] == id for row in rows)}
            for id in configs
        },
        "data": {id: {} for id in configs},
        "prompts": {
            id: {
                "template_hash": "a" * 32,
                "prompts_hash": "b" * 32,
                "documents_with_dropped_examples": 0,
                "dropped_examples": 0,
                "truncated_documents": 0,
            }
            for id in configs
        },
        "groups": {},
        "group_subtasks": {},
        "group_details": {},
        "failures": {},
        "warnings": [],
        "config": {"tasks": list(configs), "model": "scripted", "model_args": {}, "seed": 1234},
        "profile": "tenbin",
        "libraries": {"python": "3.11"},
        "git_hash": None,
        "model": {"model": "made by hand", "dtype": "float32", "device": "cpu"},
        "engine": {"name": "scripted", "mode": "hash"},
        "fingerprint": "made",
        "date": "2026-01-02T03:04:05+00:00",
        "answers_from_journal": 0,
        "total_evaluation_time_seconds": 12.5,
        **changes,
    }


def record(
    configs: Mapping[str, Mapping[str, Any]], rows: Sequence[Mapping[str, Any]], **changes: Any
) -> RunResult:
    """The result of a run with these rows."""
    return parse_result(result(configs, rows, **changes), Path("result.json"))


def cell_config(task: str, **changes: Any) -> CellConfig:
    return CellConfig.model_validate(config(task, **changes))


def choice_sample(id: str, at: int, **changes: Any) -> Sample:
    """`choice_row` as a record."""
    return Sample.from_json(choice_row(id, at, **changes))


def write(folder: Path, document: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    result, samples = RunResult.model_validate(document), map(Sample.from_json, rows)
    write_run(RunFolder(folder, folder / "result.json"), result, samples, document["config"])
    return folder


def choice_run(folder: Path, number: int, **changes: Any) -> Path:
    """A run of one task with so many scored documents."""
    rows = [choice_row("made", at) for at in range(number)]
    return write(folder, result({"made": config("made")}, rows, **changes), rows)


def many_rows(number: int) -> Iterator[dict[str, Any]]:
    """Documents of a realistic size, each different, without holding them all."""
    filler = "天秤は重さを比べる道具である。左右の皿が釣り合うとき、二つの重さは等しい。"
    for at in range(number):
        row = choice_row("made", at)
        words = " ".join(f"{(at * 7919 + k * 104729) % 1000003:06}" for k in range(60))
        question = f"{filler * 3}{words}\n{row['prompt']}"
        yield {**row, "prompt": question, "parts": [5, len(question) - 20]}
