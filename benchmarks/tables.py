"""Puts the tables of benchmarks/README.md together from the files in benchmarks/results.

    python benchmarks/tables.py

Only what stands between the two marks of the README is written; a result that is not there has no
row.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
README = HERE / "README.md"
BEGIN, END = "<!-- tables: begin -->", "<!-- tables: end -->"
PARITY_BEGIN, PARITY_END = "<!-- parity: begin -->", "<!-- parity: end -->"


def read(name: str) -> dict[str, Any] | None:
    path = HERE / "results" / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def table(head: Iterable[str], rows: list[Iterable[Any]]) -> list[str]:
    titles = list(head)
    lines = [titles, ["---"] * len(titles), *rows]
    return ["| " + " | ".join(str(cell) for cell in line) + " |" for line in lines] + [""]


def beside_peers() -> list[str]:
    rows: list[Iterable[Any]] = []
    for name in (
        "cpu_scoring_random",
        "cpu_scoring_fixed",
        "cpu_scoring_vllm",
        "cpu_scoring_vllm_all_cores",
        "cpu_generation",
        "lm_eval_tasks_mmlu",
        "lm_eval_tasks_mmlu_letters",
        "lm_eval_tasks_xnli",
        "lm_eval_tasks_mgsm",
        "lm_eval_tasks_mgsm_cot",
        "lm_eval_tasks_mgsm_fewshot",
    ):
        if (found := read(name)) is None:
            continue
        if "texts_that_differ" in found:
            agree = f"{found['documents'] - len(found['texts_that_differ'])} texts equal"
        elif "scores" in found:
            mine, other = found["scores"]["tenbin"], found["scores"]["lm_eval"]
            agree = f"score {mine:.4f}" + ("" if mine == other else f", its {other:.4f}")
        else:
            agree = f"{found['largest_difference']:.0e}"
        # Processor time stands where other processes disturbed the clock.
        wall, cpu = f"{found['speedup_wall']:.1f}", f"{found['speedup_cpu']:.1f}"
        speed = f"**{wall}** ({cpu})" if found["quiet"] else f"{wall} (**{cpu}**)"
        rows.append(
            [
                found["what"],
                found["documents"],
                found["against"],
                f"{found['peer_wall']:.1f}",
                f"{found['tenbin_wall']:.1f}",
                speed,
                f"≥ {found['target_speedup']:g}",
                agree,
                "yes" if found["quiet"] else "no",
            ]
        )
    head = [
        *("work", "documents", "against", "its seconds", "tenbin's seconds"),
        *("times as fast (processor time)", "wanted", "largest difference", "quiet"),
    ]
    return table(head, rows)


def starting() -> list[str]:
    found = read("startup")
    if found is None:
        return []
    first, dry, book = found["first_answer_median"], found["dry_median"], found["bookkeeping"]
    rows: list[Iterable[Any]] = [
        *(
            [
                f"start to first scored document, {words}",
                f"{first['lm_eval']:.1f} s",
                f"{first[name]:.1f} s",
                f"{found['start_ratios'][name]:.2f} of lm-eval's",
                "≤ 0.25",
            ]
            for name, words in (
                ("tenbin, first", "first start with a model: the probe is made"),
                ("tenbin, later", "later starts: its verdict is remembered"),
            )
        ),
        [
            "1,119 documents dry, whole process",
            f"{dry['lm_eval']:.1f} s",
            f"{dry['tenbin']:.2f} s",
            f"{dry['tenbin'] / dry['lm_eval']:.2f} of lm-eval's",
            "",
        ],
        [
            "planning and bookkeeping a document",
            "",
            f"{book['milliseconds_a_document']:.2f} ms",
            "",
            "≤ 1 ms",
        ],
    ]
    shares = sorted(book["share_of_profile"].items(), key=lambda item: -item[1])
    return [
        *table(["what", "lm-eval", "tenbin", "ratio", "wanted"], rows),
        "Where a dry run's time goes: "
        + ", ".join(f"{stage} {share:.0%}" for stage, share in shares)
        + ".",
        "",
    ]


def growing() -> list[str]:
    found = read("growth")
    if found is None:
        return []
    rows = [
        [
            name,
            f"{one['documents']:,}",
            f"{one['seconds']:.2f}",
            f"{one['milliseconds_a_document']:.2f}",
            f"{one['peak_mib']:.0f}",
        ]
        for name in ("scripted", "tiny hf")
        for one in found[name]
    ]
    return table(["backend", "documents", "seconds", "ms a document", "peak MiB"], rows)


PARITY = {
    "prompts": "prompts byte for byte",
    "answers": "predictions and extracted answers",
    "metrics": "metrics, to 1e-9",
    "loglikelihood": "log-likelihoods, a token",
    "float64": "the same beside float64",
    "greedy": "greedy",
    "predictions": "predictions",
    "texts": "texts",
}


def parity() -> list[str]:
    """One table of tasks on given answers, one of models with weights."""
    found = read("parity")
    if found is None:
        return []
    lines: list[str] = []
    for kinds in (("prompts", "answers", "metrics"), tuple(PARITY)[3:]):
        rows: list[Iterable[Any]] = [
            [name, *(_agreement(checks[kind]) for kind in kinds)]
            for name, checks in found["tasks"].items()
            if set(checks) == set(kinds)
        ]
        if rows:
            first = "task" if kinds[0] == "prompts" else "model"
            lines += table([first, *(PARITY[kind] for kind in kinds)], rows)
    return lines


def _agreement(check: dict[str, Any]) -> str:
    if not check["n"]:
        return ""
    largest = f", {check['largest_difference']:.0e}" if check["largest_difference"] else ""
    if "relative_difference" in check:
        largest += f"; all together {check['relative_difference']:.0e}, relative"
    equal = "equal" if check["equal"] else f"**{check['differing']} differ**"
    return f"{equal} ({check['n']:,}{largest})"


def main() -> None:
    setup = next(
        found["setup"]
        for name in ("cpu_scoring_random", "startup", "growth", "cpu_generation")
        if (found := read(name)) is not None
    )
    libraries = ", ".join(f"{name} {at}" for name, at in setup["libraries"].items())
    body = [
        BEGIN,
        "",
        f"{setup['cpu']}, {setup['cores']} cores, Python {setup['python']}, {libraries}.",
        "",
        *beside_peers(),
        *starting(),
        *growing(),
        END,
    ]
    _replace(BEGIN, END, body)
    _replace(PARITY_BEGIN, PARITY_END, [PARITY_BEGIN, "", *parity(), PARITY_END])


def _replace(begin: str, end: str, body: list[str]) -> None:
    """Put lines in place of what stands between two marks of the README."""
    before, _, rest = README.read_text(encoding="utf-8").partition(begin)
    _, _, after = rest.partition(end)
    README.write_text(before + "\n".join(body) + after, encoding="utf-8")


if __name__ == "__main__":
    main()
