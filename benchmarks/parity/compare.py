"""Compares tenbin with lm-eval 0.4.13, task by task, on the same rows and the same answers.

    make parity                       (an environment of its own; about ten minutes)
    PYTHON benchmarks/parity/compare.py [--quick] [--only NAME ...] [--shared FOLDER] [--no_weights]

PYTHON has lm-eval and tenbin. For each task and number of shots: prompts byte for byte, settings of
generation, predictions and extracted answers, every metric to 1e-9 on answers that both are given
(groups too); for some, with the weights of SmolLM2-135M and of a tiny model: log-likelihoods,
greediness and texts. Ends with 1 if anything differs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import squad_metrics  # noqa: E402
from cases import CASES, Case  # noqa: E402
from checks import (  # noqa: E402
    Check,
    compare_answers,
    compare_prompts,
    compare_scores,
    never_nonzero,
)
from common import embedded_model, say, setup_facts, write_result  # noqa: E402
from ours import Answered, Ours, requests_of  # noqa: E402
from rows import write_rows  # noqa: E402
from weights import MAX_GEN_TOKS, Double, compare_sums, compare_weights, make_tiny  # noqa: E402

from tenbin.errors import TenbinError  # noqa: E402

SHARED = HERE.parents[1].parent / "shared" / "data"
SCRIPTED = ("prompts", "answers", "metrics")
WEIGHTED = ("loglikelihood", "float64", "greedy", "predictions", "texts")
MODELS = {"SmolLM2-135M": 2, "tiny, window 512": 6}
"""Documents of each task that a model with weights is asked."""
WEIGHTED_SHOTS = 2


class Parity:
    """One comparison in a temporary folder."""

    def __init__(self, folder: Path, shared: Path | None, python: str) -> None:
        self.folder, self.python = folder, python
        self.data = folder / "data"
        write_rows(self.data, shared)
        self.ours = Ours(self.data, ("lm_eval", str(HERE / "tasks")), folder / "cache")
        self.table: dict[str, dict[str, Check]] = {}
        self.versions: dict[str, str] = {}

    def oracle(self, **job: Any) -> list[dict[str, Any]]:
        """Let lm-eval run in its own process."""
        asked, found = self.folder / "job.json", self.folder / "oracle.json"
        body = {"data": str(self.data), "include": str(HERE / "tasks"), **job}
        asked.write_text(json.dumps(body), encoding="utf-8")
        offline = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_CACHE": str(self.folder / "datasets")}
        done = subprocess.run(
            [self.python, str(HERE / "oracle.py"), str(asked), str(found)],
            env={**os.environ, **offline},
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
        )
        if done.returncode:
            raise SystemExit(f"lm-eval failed:\n{done.stderr[-4000:]}")
        answer = json.loads(found.read_text(encoding="utf-8"))
        self.versions = answer["versions"]
        return list(answer["runs"])

    def checks(self, name: str, kinds: Sequence[str]) -> dict[str, Check]:
        return self.table.setdefault(name, {kind: Check(kind) for kind in kinds})

    def scripted(self, cases: Sequence[Case]) -> None:
        """Prompts, answers and metrics on the answers that the oracle made up."""
        for found in self.oracle(runs=[(case.name, n) for case in cases for n in case.shots]):
            name, shots = found["name"], found["shots"]
            checks = self.checks(name, SCRIPTED)
            with _told(checks["prompts"], f"{name}, {shots} shots"):
                self._compare_prompts(checks["prompts"], found)
            with _told(checks["metrics"], f"{name}, {shots} shots"):
                self._compare_run(checks, found)
        for name, checks in self.table.items():
            for metric in never_nonzero(checks["metrics"]):
                checks["metrics"].differing.append(f"{name}: {metric} is zero at all shots")

    def _compare_prompts(self, check: Check, found: dict[str, Any]) -> None:
        mine = self.ours.prompts(found["name"], found["shots"])
        for task, oracle in found["tasks"].items():
            place = f"{task}, {found['shots']} shots"
            if task not in mine:
                check.add(False, 0.0, f"{place}: not among tenbin's {sorted(mine)[:5]}")
                continue
            asked = [requests_of(prompt) for prompt in mine[task]]
            compare_prompts(check, place, asked, oracle)

    def _compare_run(self, checks: dict[str, Check], found: dict[str, Any]) -> None:
        name, shots = found["name"], found["shots"]
        run = self.ours.run(name, shots, Answered(found["table"]), cache_dir=self._empty())
        scores = {**run.scores, **run.groups}
        compare_scores(checks["metrics"], f"{name}, {shots} shots", scores, found["results"])
        samples = list(run.samples)
        for task, oracle in found["tasks"].items():
            of_task = [one for one in samples if one["task"] == task]
            of_task.sort(key=lambda one: one["row"] or 0)
            compare_answers(checks["answers"], f"{task}, {shots} shots", of_task, oracle)

    def weighted(self, cases: Sequence[Case], model: str, folder: str, documents: int) -> None:
        """Log-likelihoods and texts with a model's weights."""
        runs = self.oracle(
            runs=[(case.name, min(WEIGHTED_SHOTS, max(case.shots))) for case in cases],
            model=folder,
            limit=documents,
            gen_kwargs=f"max_gen_toks={MAX_GEN_TOKS}",
        )
        double = Double(folder)
        checks = self.checks(model, WEIGHTED)
        for found in runs:
            name, shots = found["name"], found["shots"]
            kinds = {oracle["kind"] for oracle in found["tasks"].values()}
            limits = {"gen_kwargs": {"max_gen_toks": MAX_GEN_TOKS}}
            with _told(checks["loglikelihood"], f"{name}, {shots} shots"):
                run = self.ours.run(
                    name,
                    shots,
                    "hf",
                    model_args={"pretrained": folder},
                    dtype="float32",
                    device="cpu",
                    limit=documents,
                    **(limits if "generate_until" in kinds else {}),
                )
                samples = sorted(run.samples, key=lambda one: one["row"] or 0)
                for task, oracle in found["tasks"].items():
                    of_task = [one for one in samples if one["task"] == task]
                    compare_weights(checks, f"{task}, {shots} shots", of_task, oracle, double)
        if len(runs) > 1:  # single letters of one task alone are small values
            compare_sums(checks["float64"])

    def _empty(self) -> str:
        """A cache folder without answers: the same request has another answer in each run."""
        return tempfile.mkdtemp(dir=self.folder)


class _told:
    """What goes wrong here is a difference of that check, and the others go on."""

    def __init__(self, check: Check, place: str) -> None:
        self.check, self.place = check, place

    def __enter__(self) -> None:
        say(f"{self.check.name}: {self.place}")

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> bool:
        if error is None or not isinstance(error, Exception):
            return False
        told = str(error) if isinstance(error, TenbinError) else traceback.format_exc()[-1500:]
        self.check.add(False, 0.0, f"{self.place}: {type(error).__name__}: {told}")
        return True


def show(table: dict[str, dict[str, Check]]) -> None:
    for kinds in (SCRIPTED, WEIGHTED):
        rows = {name: checks for name, checks in table.items() if set(checks) == set(kinds)}
        if not rows:
            continue
        print(f"\n{'':40}" + "".join(f"{kind:>22}" for kind in kinds))
        for name, checks in rows.items():
            cells = [_cell(checks[kind]) for kind in kinds]
            print(f"{name:40}" + "".join(f"{cell:>22}" for cell in cells))
    for name, checks in table.items():
        for check in checks.values():
            for line in check.summary()["examples"]:
                print(f"\n{name}, {check.name}: {line}")


def _cell(check: Check) -> str:
    if not check.compared:
        return "-"
    largest = f", {check.largest:.0e}" if check.largest else ""
    return f"{'equal' if check.equal else 'DIFFERS'} ({check.compared}{largest})"


def main() -> int:
    flags = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    flags.add_argument("--quick", action="store_true", help="a few tasks, without SmolLM2")
    flags.add_argument("--only", nargs="+", default=[], help="these tasks alone")
    flags.add_argument("--shared", type=Path, default=SHARED, help="folder of published rows")
    flags.add_argument("--no_weights", action="store_true", help="no model with weights")
    flags.add_argument("--model", help="folder of SmolLM2-135M's float32 weights")
    flags.add_argument("--python", default=sys.executable, help="the interpreter with lm-eval")
    flags.add_argument("--output_dir", type=Path, help="write parity.json there")
    options = flags.parse_args()
    shared = options.shared if options.shared.is_dir() else None
    cases = [
        case
        for case in CASES
        if (not options.only or case.name in options.only) and (case.quick or not options.quick)
    ]
    skipped = [case.name for case in cases if case.real and shared is None]
    cases = [case for case in cases if case.name not in skipped]
    if skipped:
        say(f"skipped, since {options.shared} with published rows is absent: {', '.join(skipped)}")
    if squad_metrics.provide():
        say("transformers lacks squad_metrics: both programs get the stand-in of this folder")
    with tempfile.TemporaryDirectory(prefix="parity-") as folder:
        parity = Parity(Path(folder), shared, options.python)
        parity.scripted(cases)
        weighted = [case for case in cases if case.weights]
        if weighted and not options.no_weights:
            small = options.model or embedded_model()
            folders = {
                "SmolLM2-135M": small,
                "tiny, window 512": make_tiny(Path(folder) / "tiny", small),
            }
            for model, documents in MODELS.items():
                asked = [case for case in weighted if case.small or folders[model] != small]
                if asked and not (options.quick and folders[model] == small):
                    parity.weighted(asked, model, folders[model], documents)
    show(parity.table)
    differing = [
        n for n, checks in parity.table.items() if not all(c.equal for c in checks.values())
    ]
    if options.output_dir:
        body = {
            "what": "prompts, answers and metrics beside lm-eval on the same rows and answers",
            "against": f"lm-eval {parity.versions['lm_eval']}",
            "differing": differing,
            "skipped": skipped,
            "tasks": {
                name: {kind: check.summary() for kind, check in checks.items()}
                for name, checks in parity.table.items()
            },
            "setup": setup_facts(lm_eval=parity.versions),
        }
        write_result(options.output_dir, "parity", body)
    print(f"\n{len(parity.table) - len(differing)} of {len(parity.table)} equal")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
