"""What lm-eval's own metrics, aggregations and filters say of made-up answers.

Writes tests/golden/lm_eval_metrics.json, which tenbin's tests compare with. Run it with a Python
that has lm-eval and scikit-learn:

    python benchmarks/oracle_lm_eval_metrics.py tests/golden/lm_eval_metrics.json
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import lm_eval.filters  # noqa: F401
from lm_eval.api.metrics import aggregate_subtask_metrics
from lm_eval.api.registry import get_aggregation, get_filter, get_metric, get_metric_aggregation
from lm_eval.api.task import ConfigurableTask

CHOICES: list[dict[str, Any]] = [
    {"choices": ["yes", "no"], "logprobs": [-1.25, -2.5], "greedy": [True, False], "gold": 0},
    {"choices": ["yes", "no"], "logprobs": [-3.5, -3.25], "greedy": [False, False], "gold": 1},
    {"choices": ["はい", "いいえ"], "logprobs": [-6.5, -7.0], "greedy": [False, False], "gold": 1},
    {"choices": ["да", "no"], "logprobs": [-4.0, -2.25], "greedy": [False, True], "gold": 1},
    {"choices": ["ab", "c"], "logprobs": [-2.0, -2.0], "greedy": [False, False], "gold": 0},
    {
        "choices": ["a longer one", "b"],
        "logprobs": [-9.0, -1.5],
        "greedy": [False, True],
        "gold": 0,
    },
    {"choices": ["무엇", "who"], "logprobs": [-5.0, -4.5], "greedy": [False, False], "gold": 0},
]
SEVERAL_GOLDS: list[dict[str, Any]] = [
    {"choices": ["a", "bb", "ccc"], "logprobs": [-3, -1, -2], "greedy": [False, True, False],
     "gold": [1, 2]},
    {"choices": ["a", "bb", "ccc"], "logprobs": [-1, -1.5, -2], "greedy": [True, False, False],
     "gold": [1]},
    {"choices": ["あ", "い", "うえ"], "logprobs": [-3, -2.5, -1], "greedy": [False, False, False],
     "gold": [0, 2]},
]  # fmt: skip
CHOICE_METRICS = ["acc", "acc_norm", "acc_bytes", "f1", "mcc", "exact_match", "brier_score"]

TEXTS: list[dict[str, Any]] = [
    {"answer": "The cat sat on the mat.", "target": "The cat sat on the mat today."},
    {"answer": "the CAT, sat on a mat", "target": "The cat sat on a mat."},
    {"answer": "Das ist ein kleines Haus am See.", "target": "Das ist das kleine Haus am See."},
    {"answer": "東京は日本の首都です。", "target": "日本の首都は東京です。"},
    {"answer": "", "target": "nothing was said"},
    {"answer": "1,024", "target": "1024"},
    {"answer": "$5.00!", "target": "5.00"},
    {"answer": "Ответ: сорок два", "target": "Ответ — сорок два"},
    {"answer": "same words here exactly so", "target": "same words here exactly so"},
    {"answer": "¿Qué hora es ahora mismo?", "target": "¿Qué hora es?"},
]
EXACT_OPTIONS: list[dict[str, Any]] = [
    {},
    {"ignore_case": True, "ignore_punctuation": True},
    {"ignore_punctuation": True, "ignore_numbers": True},
    {"regexes_to_ignore": [",", r"\$", "(?s).*#### ", r"\.$"], "ignore_case": True},
    {"regexes_to_ignore": [",", "[!.]"], "ignore_punctuation": True},
]
SEVERAL_TARGETS: list[dict[str, Any]] = [
    {"answer": "Paris", "target": ["paris", "Paris", "City of Light"]},
    {"answer": "Rome", "target": ["Milan"]},
    {"answer": "東京都", "target": ["東京", "東京都"]},
]
GIVEN: list[tuple[float, bool]] = [(-0.5, True), (-2.25, False), (-7.5, False), (-0.125, True)]

DOC = {"choices": ["Guilty", "Guilty of Romance", "Not guilty", "東京", "a.b"]}
ANSWERS = [
    "The answer is (B).", "#### 1,234", "#### 7 then #### -8.5", "Guilty of Romance, surely",
    "GUILTY!", "I think: C", "answer :   D", "東京です", "a.b", "", "   spaced \n", "[invalid]",
    "[('Der', 'DET'), ('Hund', 'NOUN')]", "person: Anna, Ben $$ location: Berlin",
    "PER: none\nLOC: Kenya, Uganda\nDate: 5 May$$", "A", "B.", "no match", "ÄÖÜ straße", "x" * 50,
]  # fmt: skip
CHAINS: list[list[dict[str, Any]]] = [
    [{"function": "regex"}, {"function": "take_first"}],
    [{"function": "regex", "group_select": -1}],
    [{"function": "regex", "regex_pattern": r"(\d+)|([A-D])\b", "group_select": -1}],
    [{"function": "regex", "regex_pattern": r"(z*)(q*)"}],
    [{"function": "regex", "regex_pattern": r"\(([A-D])\)", "fallback": "none"}],
    [{"function": "regex", "regex_pattern": "(?<=is )(.*)(?=.)"}, {"function": "remove_whitespace"},
     {"function": "regex", "regex_pattern": r"([A-Za-z])"}, {"function": "take_first"}],
    [{"function": "remove_whitespace"}],
    [{"function": "lowercase"}],
    [{"function": "uppercase"}],
    [{"function": "map", "mapping_dict": {"A": 0, "B.": "b"}, "default_value": -1}],
    [{"function": "regex", "regex_pattern": r"(\b[AB]\b)"},
     {"function": "map", "mapping_dict": {"A": 0, "B": 1}, "default_value": -1}],
    [{"function": "multi_choice_regex", "regex_pattern": r"(\([A-Z]\))"}],
    [{"function": "multi_choice_regex", "regex_pattern": r"(\([A-Z]\))", "ignore_case": True,
      "ignore_punctuation": True, "group_select": -1}],
    [{"function": "multi_choice_regex", "regex_pattern": r"(\([A-Z]\))",
      "regexes_to_ignore": ["l"]}],
    [{"function": "regex_pos"}],
    [{"function": "format_span"}],
]  # fmt: skip
SAMPLED = [["5", "7", "5", "#### 5"], ["a", "b", "b", "a"], ["[invalid]", "1", "[invalid]", "1"]]
SELECTORS: list[list[dict[str, Any]]] = [
    [{"function": "take_first"}],
    [{"function": "take_first_k", "k": 2}],
    [{"function": "majority_vote"}],
    [
        {"function": "take_first_k", "k": 3},
        {"function": "majority_vote"},
        {"function": "take_first"},
    ],
]
SUBTASKS = [(0.25, 40), (0.5, 10), (0.875, 150)]


def aggregated(name: str, items: list[Any]) -> float:
    return float(get_aggregation(name)(items))


def choice_scores(rows: list[dict[str, Any]], several: bool) -> dict[str, Any]:
    """Values of documents and the score, as lm-eval's task computes them."""
    metrics = [m for m in CHOICE_METRICS if not several or m not in ("f1", "mcc", "brier_score")]
    collected = defaultdict(list)
    for row in rows:
        task = SimpleNamespace(
            config=SimpleNamespace(process_results=None),
            OUTPUT_TYPE="multiple_choice",
            _metric_fn_list=dict.fromkeys(metrics),
            doc_to_choice=lambda doc: doc["choices"],
            doc_to_target=lambda doc: doc["gold"],
            multiple_input=0,
            multiple_target=int(several),
        )
        results = list(zip(row["logprobs"], row["greedy"], strict=True))
        for metric, value in ConfigurableTask.process_results(task, row, results).items():
            collected[metric].append(value)
    found = {}
    for metric, items in collected.items():
        found[metric] = {"score": float(get_metric_aggregation(metric)(items))}
        if not isinstance(items[0], tuple):
            found[metric]["values"] = [float(item) for item in items]
    return found


def text_values(rows: list[dict[str, Any]], metric: str, options: dict, several: bool) -> list[Any]:
    values = []
    for row in rows:
        task = SimpleNamespace(
            config=SimpleNamespace(process_results=None, doc_to_choice=None),
            OUTPUT_TYPE="generate_until",
            _metric_fn_list={metric: get_metric(metric)},
            _metric_fn_kwargs={metric: options},
            _aggregation_list={},
            _higher_is_better={},
            doc_to_target=lambda doc: doc["target"],
            multiple_target=int(several),
        )
        value = ConfigurableTask.process_results(task, row, [row["answer"]])[metric]
        values.append(float(value) if metric == "exact_match" else value)
    return values


def filtered(chain: list[dict[str, Any]], responses: list[list[str]]) -> list[Any]:
    docs = [DOC] * len(responses)
    resps: Any = responses
    for step in chain:
        options = {key: value for key, value in step.items() if key != "function"}
        resps = get_filter(step["function"])(**options).apply(resps, docs)
    return list(resps)


def main() -> None:
    texts = {
        "exact_match": [
            {"options": options, "values": text_values(TEXTS, "exact_match", options, False)}
            for options in EXACT_OPTIONS
        ],
        "several": {
            "rows": SEVERAL_TARGETS,
            "exact_match": text_values(SEVERAL_TARGETS, "exact_match", {}, True),
        },
        "corpus": {
            metric: aggregated(metric, text_values(TEXTS, metric, {}, False))
            for metric in ("bleu", "chrf", "chrf++", "ter")
        },
        "half": {
            metric: aggregated(metric, text_values(TEXTS[:5], metric, {}, False))
            for metric in ("bleu", "chrf", "chrf++", "ter")
        },
    }  # fmt: skip
    values = [0.25, 1.0, 0.5, 0.75]
    written = {
        "versions": {name: version(name) for name in ("lm_eval", "sacrebleu", "scikit-learn")},
        "choice": {"rows": CHOICES, "scores": choice_scores(CHOICES, False)},
        "several_golds": {"rows": SEVERAL_GOLDS, "scores": choice_scores(SEVERAL_GOLDS, True)},
        "texts": {"rows": TEXTS, **texts},
        "loglikelihood": {
            "rows": GIVEN,
            "perplexity": aggregated("perplexity", [one for one, _ in GIVEN]),
            "acc": aggregated("mean", [int(greedy) for _, greedy in GIVEN]),
        },
        "aggregations": {
            "values": values,
            **{
                name: aggregated(name, [*values, float("nan")] if name == "nanmean" else values)
                for name in ("mean", "nanmean", "median")
            },
        },
        "filters": [
            {"chain": chain, "given": given, "read": filtered(chain, given)}
            for chains, given in (
                (CHAINS, [[answer] for answer in ANSWERS]),
                (SELECTORS, SAMPLED),
            )
            for chain in chains
        ],
        "row": DOC,
        "groups": {
            "tasks": SUBTASKS,
            **{
                key: aggregate_subtask_metrics(*map(list, zip(*SUBTASKS, strict=True)), weighted)
                for key, weighted in (("by_size", True), ("plain", False))
            },
        },
    }
    parts = (f'"{key}": {json.dumps(part, ensure_ascii=False)}' for key, part in written.items())
    Path(sys.argv[1]).write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
