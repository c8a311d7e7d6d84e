"""Reports that between them have every view, from sample data; for `report_axe.py`.

    python benchmarks/report_pages.py FOLDER

A sweep, ten languages as choice and as generation, two models beside each other, three runs under
different templates, eight runs, a leaderboard and thoughts of reasoning models (both in Japanese),
and a chat server that names choices, with tokens and a cost.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

from tests.backends.openai.llama_server import llama_server  # noqa: E402

from tenbin.api import evaluate  # noqa: E402
from tenbin.backends.scripted import ScriptedBackend, hashed_score  # noqa: E402
from tenbin.cli import main  # noqa: E402

THOUGHT = "<think>\nまず選択肢を比べる。{'answer': 'A'} ではない。\n</think>\n\n{'answer': 'B'}"


class Pages:
    """A folder of runs and reports."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(self, name: str, command: str, *arguments: str) -> Path:
        path = self.folder / f"{name}.json"
        given = [command, "--sample_data", "--no_cache", "--output_path", str(path), *arguments]
        call(given)
        return path

    def report(self, name: str, *runs: Path, language: str = "en") -> None:
        page = self.folder / f"{name}.html"
        call(["report", *map(str, runs), "-o", str(page), "--language", language])


def call(arguments: list[str]) -> None:
    if main(arguments) != 0:
        raise SystemExit(f"tenbin {' '.join(arguments)} failed")


def make(pages: Pages) -> None:
    scripted, small = ("--model", "scripted"), ("--model", "hf", "--model_args")
    swept = ("--tasks", "jcommonsenseqa,jnli", "--num_fewshot_sweep", "0,2", "--seeds", "2")
    pages.report("sweep", pages.run("sweep", "sweep", *scripted, *swept))
    parallel = ("--tasks", "mlogiqa_mcq,mlogiqa_gen")
    pages.report("languages", pages.run("languages", "run", *scripted, *parallel))
    both = ("--tasks", "jcommonsenseqa,mlogiqa_gen_ja", "--limit", "6", "--num_fewshot", "1,0")
    first = pages.run("first", "run", *scripted, *both)
    second = pages.run("second", "run", *small, "pretrained=smollm2-135m", *both)
    pages.report("compared", first, second)
    other = ("--tasks", "jcommonsenseqa-1.1-0.3", "--num_fewshot", "1", "--limit", "6")
    pages.report("templates", first, second, pages.run("other", "run", *scripted, *other))
    pages.report("eight", *eight_runs(pages))
    board = ("--tasks", "japanese_nli,jnli-1.3-0.3,mlogiqa_mcq_en,mlogiqa_mcq_ja")
    models = [
        pages.run(name, "run", *scripted, "--model_args", f"fingerprint={name}", *board, *more)
        for name, more in (("plain", ()), ("tagged", ("--tags", "kept", "--note", "a remark")))
    ]
    later = ("--model_args", "fingerprint=plain", "--tasks", "jnli", "--seed", "2")
    models.append(pages.run("later", "run", *scripted, *later))
    pages.report("board", *models, second, language="ja")
    thinks = (*scripted, "--model_args", f"text={THOUGHT}", "--tasks", "mlogiqa_gen_ja")
    drawn = ("--thinking", "on", "--gen_kwargs", "temperature=1", "--repeats", "2")
    whole = pages.run("thought", "run", *thinks, *drawn)
    cut = pages.run("cut", "run", *thinks, *drawn, "--thinking_budget", "12")
    pages.report("thoughts", whole, cut, language="ja")
    with llama_server() as address:
        arguments = f"base_url={address},concurrency=2,price_input=1,price_output=4,currency=USD"
        asked = ("--tasks", "mlogiqa_mcq_en,jcommonsenseqa-1.1-0.3,mlogiqa_gen_en", "--limit", "4")
        named = ("--model", "openai-chat", "--model_args", arguments, *asked)
        pages.report("named", pages.run("named", "run", *named, "--gen_kwargs", "max_gen_toks=24"))


def eight_runs(pages: Pages) -> list[Path]:
    """Runs of one task and a group whose scripts answer differently."""
    tasks = ["jcommonsenseqa", "mlogiqa_mcq"]
    paths = [pages.folder / f"model-{at}.json" for at in range(8)]
    for at, path in enumerate(paths):
        backend = ScriptedBackend(
            score=lambda prompt, text, at=at: hashed_score(f"{at} {prompt}", text),
            fingerprint=str(at),
        )
        evaluate(
            backend, tasks, num_fewshot=[1, 0], limit=6, sample_data=True, no_cache=True,
            progress=False, output_path=path,
        )  # fmt: skip
    return paths


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    place: Path = parser.parse_args().folder
    place.mkdir(parents=True, exist_ok=True)
    make(Pages(place))
