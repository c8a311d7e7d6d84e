"""Runs lm-eval on the parity rows and writes down what it asked, got and made of it.

Started by compare.py with an interpreter that has lm-eval; imports nothing of tenbin:

    PYTHON oracle.py JOB.json OUTPUT.json

The job names the data folder, a folder with further task files, and the runs: a name for `--tasks`
and the shots. Without a model, answers are made up here (right in some documents, wrong in others)
and written down, so that tenbin can be given the same ones. With a model's folder, lm-eval's hf
model answers.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import squad_metrics
from lm_eval import evaluator
from lm_eval.api.model import LM
from lm_eval.models.utils import normalize_gen_kwargs
from lm_eval.tasks import TaskManager

WORDINGS = (
    "{0}",
    "The answer is {0}.",
    "答えは{0}です。",
    " {0} ",
    "So the answer is {0}.",
    "no idea, 17 perhaps",
    "答案是 {0}。",
    "{half} and more",
    "",
    "({0})",
)
"""What a made-up text says, by document: the target in several wordings, parts of it, none."""
PACKAGES = ("lm_eval", "datasets", "transformers", "torch", "numpy", "sacrebleu", "scikit-learn")


def read_rows(data: Path) -> None:
    """Let `load_dataset` give the rows of the data folder under the names of the hub."""
    load = datasets.load_dataset

    def from_folder(path: str, name: str | None = None, **options: Any) -> Any:
        folder = data / path / (name or "")
        files = sorted(folder.glob("*.jsonl"))
        if not files:
            raise FileNotFoundError(f"no rows for {path}, {name}: {folder}")
        return datasets.DatasetDict(
            {file.stem: load("json", data_files=str(file), split="train") for file in files}
        )

    datasets.load_dataset = from_folder


def share(*texts: str) -> float:
    """A number between 0 and 1 from texts."""
    digest = hashlib.sha256("\0".join(texts).encode()).digest()
    return int.from_bytes(digest[:6], "big") / 2**48


class Scripted(LM):
    """Answers that depend on nothing but the texts and the document's number and target."""

    def __init__(self) -> None:
        super().__init__()
        self.tasks: dict[str, Any] = {}
        self.scored: dict[tuple[str, str], tuple[float, bool]] = {}
        self.written: dict[str, str] = {}
        self.rolled: dict[str, float] = {}

    def forget(self) -> None:
        self.scored, self.written, self.rolled = {}, {}, {}

    def loglikelihood(self, requests: Any, **_: Any) -> list[tuple[float, bool]]:
        for request in requests:
            context, continuation = request.args
            right = self._is_right(request) and request.doc_id % 3 != 2
            spread = 24.0 if context else 6.0  # less where acc_mutual_info asks without a prompt
            value = -1.0 - spread * share(context, continuation) + (12.0 if right else 0.0)
            # No probability is above 1.
            value = min(value, -share(continuation, context))
            greedy = share("greedy", context, continuation) < (0.7 if right else 0.2)
            self.scored.setdefault((context, continuation), (value, greedy))
        return [self.scored[request.args] for request in requests]

    def loglikelihood_rolling(self, requests: Any, **_: Any) -> list[float]:
        for request in requests:
            (text,) = request.args
            self.rolled.setdefault(text, -0.7 * len(text) * (0.5 + share(text)))
        return [self.rolled[request.args[0]] for request in requests]

    def generate_until(self, requests: Any, **_: Any) -> list[str]:
        for request in requests:
            context, settings = request.args
            target = self._target(request)
            words = target.split() or [target]
            half = " ".join(words[: (len(words) + 1) // 2])
            text = WORDINGS[request.doc_id % len(WORDINGS)].format(target, half=half)
            stops = normalize_gen_kwargs(settings)["until"]
            self.written.setdefault(context, cut(text, stops))
        return [self.written[request.args[0]] for request in requests]

    def _is_right(self, request: Any) -> bool:
        task, doc = self.tasks[request.task_name], request.doc
        if task.OUTPUT_TYPE != "multiple_choice":
            return True
        gold = task.doc_to_text(doc) if task.multiple_input else task.doc_to_target(doc)
        gold = gold[0] if isinstance(gold, list) else gold
        choices = task.doc_to_choice(doc)
        gold = choices.index(gold) if isinstance(gold, str) and gold in choices else gold
        # Not for requests of the choices alone, which acc_mutual_info asks besides.
        return request.idx == gold

    def _target(self, request: Any) -> str:
        task, doc = self.tasks[request.task_name], request.doc
        if task.config.task == "drop":  # its doc_to_target is not an answer
            return " ".join(doc["answers"][0])
        if task.config.task == "ja_leaderboard_mgsm":  # in test rows it is empty
            return str(doc["answer_number"])
        target = task.doc_to_target(doc)
        if task.config.doc_to_choice is not None:
            target = task.doc_to_choice(doc)[target]
        return str(target[0] if isinstance(target, list) else target)


def cut(text: str, stops: list[str]) -> str:
    """A text up to its first stop string."""
    found = [text.index(stop) for stop in stops if stop and stop in text]
    return text[: min(found)] if found else text


def flat(tasks: Any) -> dict[str, Any]:
    """Tasks by name, out of nested groups."""
    found: dict[str, Any] = {}
    for name, task in tasks.items():
        found.update(flat(task) if isinstance(task, dict) else {str(name): task})
    return found


def request_of(arguments: Any, kind: str) -> dict[str, Any]:
    """One request as plain values; settings of generation as lm-eval's models understand them."""
    if kind == "generate_until":
        context, settings = arguments
        said = normalize_gen_kwargs(settings)
        sampled = bool(said.get("do_sample"))
        return {
            "context": context,
            "until": said["until"],
            "max_gen_toks": said["max_gen_toks"],
            "temperature": said.get("temperature", 1.0) if sampled else 0.0,
        }
    if kind == "loglikelihood_rolling":
        return {"text": arguments[0]}
    return {"context": arguments[0], "continuation": arguments[1]}


def documents_of(samples: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    """What was asked of each document, what came, and what each filter read out of it."""
    documents: dict[int, dict[str, Any]] = {}
    for sample in samples:
        one = documents.setdefault(
            sample["doc_id"],
            {
                "requests": [request_of(arguments, kind) for arguments in sample["arguments"]],
                "responses": sample["resps"],
                "answers": {},
            },
        )
        one["answers"][sample["filter"]] = sample["filtered_resps"]
    return [documents[at] for at in sorted(documents)]


def run(job: dict[str, Any], lm: Any, manager: TaskManager) -> list[dict[str, Any]]:
    runs = []
    known: dict[str, Any] = {}
    evaluate = evaluator.evaluate

    def noting_tasks(lm: Any, task_dict: Any, **options: Any) -> Any:
        known.clear()
        known.update(flat(task_dict))
        if isinstance(lm, Scripted):
            lm.tasks = known
        return evaluate(lm=lm, task_dict=task_dict, **options)

    evaluator.evaluate = noting_tasks
    for name, shots in job["runs"]:
        if isinstance(lm, Scripted):
            lm.forget()
        found = evaluator.simple_evaluate(
            model=lm,
            tasks=[name],
            num_fewshot=shots,
            limit=job.get("limit"),
            gen_kwargs=job.get("gen_kwargs"),
            task_manager=manager,
            bootstrap_iters=0,
            log_samples=True,
        )
        tasks = {
            task: {
                "kind": known[task].OUTPUT_TYPE,
                "shots": found["n-shot"][task],
                "documents": documents_of(samples, known[task].OUTPUT_TYPE),
            }
            for task, samples in found["samples"].items()
        }
        table = {}
        if isinstance(lm, Scripted):
            table = {
                "scored": [[*texts, *answer] for texts, answer in lm.scored.items()],
                "written": list(lm.written.items()),
                "rolled": list(lm.rolled.items()),
            }
        results = {
            row: {key: value for key, value in values.items() if "," in key and "stderr" not in key}
            for row, values in {**found["results"], **found.get("groups", {})}.items()
        }
        runs.append(
            {"name": name, "shots": shots, "tasks": tasks, "table": table, "results": results}
        )
        print(f"lm-eval: {name}, {shots} shots", file=sys.stderr, flush=True)
    return runs


def plain(value: Any) -> Any:
    """What `json` does not know."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (np.ndarray, set, tuple)):
        return list(value)
    return str(value)


def main() -> None:
    job = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    logging.getLogger("lm_eval").setLevel(logging.ERROR)
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    datasets.disable_progress_bars()
    # It lists all installed packages at the end of every run, which takes longer than the run.
    evaluator.add_env_info = lambda results: None
    squad_metrics.provide()
    read_rows(Path(job["data"]))
    lm: Any = Scripted()
    if job.get("model"):
        from lm_eval.models.huggingface import HFLM

        lm = HFLM(pretrained=job["model"], dtype="float32", device="cpu", batch_size=1)
    manager = TaskManager(include_path=job["include"])
    body = {
        "runs": run(job, lm, manager),
        "versions": {name: version(name) for name in PACKAGES},
    }
    Path(sys.argv[2]).write_text(json.dumps(body, default=plain), encoding="utf-8")


if __name__ == "__main__":
    main()
