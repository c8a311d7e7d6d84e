"""Judge 10,000 answers of models that have lost their way.

An answer is one token over and over, 20,000 characters of it: a letter, a word or phrase of one of
ten languages, a mark, a special token, a mixture of two; half of them after the beginning of a
sensible answer. No two answers are the same. They go to four tasks in turn, which together have
every filter and every metric of generated text; each is also split into thought and answer and cut
at stop strings first, as backends do. Patterns are compiled and dictionaries read before the clock
starts. One thread judges: on a quiet machine seconds and processor seconds are the same.

    python benchmarks/degenerate_answers.py
"""

from __future__ import annotations

import argparse
import os
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tenbin.backends.text.thinking import cut_at_stops, split_thinking
from tenbin.metrics.extraction.phrases import LANGUAGES, load_literals
from tenbin.metrics.judge import judge
from tenbin.metrics.registry import metric_names
from tenbin.records import (
    Cell,
    Dataset,
    FewshotPlan,
    FilterUse,
    MetricUse,
    Prompt,
    Task,
    Text,
    Thinking,
)

LENGTH = 20_000
ANSWERS = 10_000
WANTED_SECONDS = 30.0
_NUMBER = r"(-?[$0-9.,]{2,})|(-?[0-9]+)"
_MARKS = (*"ABCD.,:;!?()[]{}*_#~-=+/|<>&%$@0123456789", "。", "、", "「", "ー", "…", "😀", "ｱ", "①")
_SPECIAL = ("<think>", "</think>", "<|endoftext|>", "[INST]", "\\boxed{", "{'answer': ", "**", "\n",
            "A. ", "(B) ", "C\n", "Answer: D\n", "#### 7 ", "\t", "\u3000", "a\u0301")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Answer:
    """A text, and the language of the question that it answers."""

    text: str
    language: str


def answers(count: int, length: int = LENGTH, seed: int = 12) -> Iterator[Answer]:
    """Distinct degenerate answers, the same ones every time."""
    draw = random.Random(seed)
    words = {
        code: [
            phrase.replace("…", " ")
            for phrases in load_literals(code).values()
            for phrase in phrases
        ]
        for code in LANGUAGES
    }
    seen: set[str] = set()
    while len(seen) < count:
        language = LANGUAGES[len(seen) % len(LANGUAGES)]
        pool = draw.choice([words[language], words[language], _MARKS, _SPECIAL])
        unit = draw.choice(pool) + draw.choice(["", " ", " ", draw.choice(_MARKS)])
        start = " ".join(draw.choice(words[language]) for _ in range(draw.choice([0, 8])))
        text = (start + unit * (length // len(unit) + 1))[:length]
        if text not in seen:
            seen.add(text)
            yield Answer(text, language)


def tasks() -> list[Task]:
    """Every filter and every metric of generated text."""
    return [
        _task(
            "letters",
            [MetricUse("exact_match", "exact_match"), MetricUse("format_failure", "failure")],
            [
                ("strict", [("choice_letter_strict", {})]),
                ("flexible", [("choice_letter_flexible", {})]),
            ],
            num_choices=4,
        ),
        _task(
            "published",
            [MetricUse("exact_match", "exact_match"), MetricUse("format_failure", "failure")],
            [
                ("p-mmeval", [("pmmeval_letter", {})]),
                ("p-mmeval number", [("pmmeval_number", {})]),
            ],
            num_choices=4,
        ),
        _task(
            "numbers", [MetricUse("number_match", "number_match")],
            [("flexible", [("number_flexible", {})])],
        ),
        _task(
            "labels", [MetricUse("exact_match", "exact_match")],
            [
                ("label", [("label_flexible", {"labels": {"含意": ["含意"], "中立": ["中立"]}})]),
                ("short", [("short_answer", {})]),
            ],
        ),
        _task(
            "texts",
            [
                MetricUse(m, m)
                for m in ("squad_exact_match", "squad_f1", "fuzzy_char_f1", "character_f1",
                          "answer_exact_match", "nfkc_exact_match")
            ],
            [],
        ),
        _task("japanese", [MetricUse(m, m) for m in ("japanese_exact_match", "japanese_f1")], []),
        _task(
            "patterns",
            [
                MetricUse(
                    "exact_match",
                    "exact_match",
                    {
                        "ignore_case": True,
                        "ignore_punctuation": True,
                        "ignore_numbers": True,
                        "regexes_to_ignore": [",", r"\$", r"(?s).*#### ", r"\.$"],
                    },
                )
            ],
            [
                ("number", [("regex", {"group_select": -1})]),
                ("last", [("regex", {"regex_pattern": _NUMBER, "group_select": -1})]),
                ("plain", [("strip", {}), ("remove_whitespace", {}), ("lowercase", {})]),
                ("bare", [("regex_strip", {"regex_pattern": r"\s+"}), ("uppercase", {})]),
                ("choice", [("multi_choice_regex", {"ignore_case": True})]),
                ("spans", [("format_span", {}), ("map", {"mapping_dict": {"A": 0}})]),
                ("tags", [("regex_pos", {})]),
            ],
        ),
        _task(
            "drawn",
            [MetricUse("exact_match", "exact_match"), MetricUse("format_failure", "failure")],
            [
                ("first", [("choice_letter_flexible", {}), ("take_first", {})]),
                ("voted", [("take_first_k", {"k": 1}), ("regex", {}), ("majority_vote", {})]),
            ],
            num_choices=4,
        ),
    ]  # fmt: skip


def _task(name: str, metrics: list[MetricUse], chains: list[Any], **more: Any) -> Task:
    task = Task(
        name=name,
        version="1",
        language="en",
        family=name,
        group=None,
        kind="generate",
        dataset=Dataset(name),
        split="test",
        fewshot=FewshotPlan(None),
        templates={},
        default_template="default",
        metrics=tuple(metrics),
        filters=tuple(FilterUse(chain, tuple(steps)) for chain, steps in chains),
        **more,
    )
    metric_names(task)  # its options are in order
    return task


def judge_answer(task: Task, answer: Answer) -> int:
    """Judge one answer as a run does; how many outcomes it has."""
    split = split_thinking(answer.text, Thinking(), "")
    text, _ = cut_at_stops(split.answer or answer.text, ["</s>", "###"])
    prompt = Prompt(
        Cell(task.name, "1", "default", 0, 0), "1", answer.language, None, "generate", "?", None,
        None, None, ("B", "東京都"), "B", (), 8, num_choices=task.num_choices,
        fields={"choices": ["東京都", "大阪", "B", "the"]},
    )  # fmt: skip
    outcomes = judge(task, prompt, Text(text, "length", 1))
    assert all(outcome.value is not None for outcome in outcomes), outcomes
    return len(outcomes)


def measure(count: int, length: int = LENGTH) -> dict[str, Any]:
    """Judge so many answers; seconds in all and by task."""
    chosen = tasks()
    for task in chosen:
        judge_answer(task, Answer("The answer is B. 東京", "ja"))
    given = list(answers(count, length))
    processor: dict[str, float] = dict.fromkeys((task.name for task in chosen), 0.0)
    slowest, outcomes = (0.0, ""), 0
    began, before = time.perf_counter(), time.process_time()
    for at, answer in enumerate(given):
        task = chosen[at // len(LANGUAGES) % len(chosen)]
        start = time.process_time()
        outcomes += judge_answer(task, answer)
        took = time.process_time() - start
        processor[task.name] += took
        slowest = max(slowest, (took, f"{task.name}: …{answer.text[-24:]}"))
    share = count / len(chosen)
    return {
        "answers": len(given),
        "characters": length,
        "outcomes": outcomes,
        "seconds": time.perf_counter() - began,
        "processor_seconds": time.process_time() - before,
        "milliseconds_an_answer": {name: 1e3 * s / share for name, s in processor.items()},
        "slowest_answer": {"milliseconds": 1e3 * slowest[0], "what": slowest[1]},
    }


def main() -> None:
    """Measure, and write the result down."""
    from common import RESULTS, say, setup_facts, versions, write_result

    flags = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    flags.add_argument("--answers", type=int, default=ANSWERS)
    flags.add_argument("--output_dir", type=Path, default=RESULTS)
    options = flags.parse_args()
    found = measure(options.answers)
    body = {
        "what": "answers of degenerate models, each judged by one of four tasks",
        "wanted": {"seconds": WANTED_SECONDS},
        **found,
        "load": [round(one, 1) for one in os.getloadavg()],
        "setup": {**setup_facts(), "judging": versions(("fugashi", "neologdn", "emoji", "regex"))},
    }
    write_result(options.output_dir, "degenerate_answers", body)
    say(f"{found['seconds']:.1f} s ({found['processor_seconds']:.1f} s of processor time)")


if __name__ == "__main__":
    main()
