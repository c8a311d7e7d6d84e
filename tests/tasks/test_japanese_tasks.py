"""The Japanese tasks as a whole: groups, and answers of every kind judged as they should be."""

from __future__ import annotations

from functools import cache

import pytest

from tenbin.config import build_config
from tenbin.metrics.judge import judge
from tenbin.pipeline.cells.choose import choose_cells
from tenbin.pipeline.prepare import load_data, prompt_settings, prompts_of
from tenbin.records import Prompt, Task, Text
from tenbin.tasks.registry import load_registry


@cache
def asked(name: str, number: int = 0) -> tuple[Task, Prompt]:
    config = build_config({"tasks": name, "num_fewshot": 0, "sample_data": True})
    (setup,) = choose_cells(config)
    prompts = list(prompts_of(setup, load_data(config, [setup]), prompt_settings(config), None))
    return setup.task, prompts[number]


def values(name: str, answer: str, number: int = 0) -> dict[str, float]:
    task, prompt = asked(name, number)
    return {
        outcome.metric: outcome.value for outcome in judge(task, prompt, Text(answer, "stop", 1))
    }


# The first sample row of each: its answer in the form that was asked for, in a sentence, and wrong.
GENERATED = [
    ("jcola_gen-1.0-llm-jp-eval", "1", "答えは1です。", "0"),
    ("jcola_gen-1.1-chat", "はい", "はい、文法的に正しい文です。", "いいえ"),
    ("jcola_gen_ood-1.1-chat", "はい", "この文は文法的です。", "文法的ではありません。"),
    ("jcommonsensemorality_gen-1.0-llm-jp-eval", "1", "出力：１", "0"),
    ("jcommonsensemorality_gen-1.1-chat", "許されない", "この行いは許されません。", "許される"),
    ("janli_gen-1.0-llm-jp-eval", "entailment", "関係は含意です。", "non-entailment"),
    ("janli_gen-1.1-chat", "はい", "はい、言えます。", "いいえ"),
    ("jnli_gen-1.0-chat", "含意", "矛盾ではなく、含意です。", "中立"),
    ("jnli_neg_gen-1.0-chat", "中立", "**中立**。含意とは言えません。", "矛盾"),
    ("marc_ja_gen-1.0-chat", "ポジティブ", "このレビューは肯定的です。", "ネガティブ"),
    ("jcommonsenseqa_gen-1.0-chat", "C", "正解はCの光合成です。", "A"),
    ("jmmlu_gen_anatomy-1.0-llm-jp-eval", "C", "答えはC（心臓）です。", "A"),
    ("jmmlu_gen_anatomy-1.1-swallow", "心臓です。\n回答: C", "よって、Cが正解です。", "回答: B"),
]


@pytest.mark.parametrize(
    ("name", "form", "said", "wrong"), GENERATED, ids=[g[0] for g in GENERATED]
)
def test_generated_answers(name: str, form: str, said: str, wrong: str) -> None:
    exact = values(name, form)
    assert exact["exact_match,strict-match"] == exact["exact_match,flexible-extract"] == 1.0
    free = values(name, said)
    assert free["exact_match,strict-match"] == 0.0
    assert free["exact_match,flexible-extract"] == 1.0
    assert free["format_failure,flexible-extract"] == 0.0
    assert values(name, wrong)["exact_match,flexible-extract"] == 0.0


def test_jemhopqa_maps_yes_and_no_in_the_corrected_version() -> None:
    assert values("jemhopqa-1.0", "NO", 1)["exact_match,as-written"] == 1.0
    assert values("jemhopqa-1.0", "いいえ", 1)["exact_match,as-written"] == 0.0
    assert values("jemhopqa-1.1-chat", "いいえ", 1)["exact_match,as-written"] == 1.0
    assert (
        values("jemhopqa-1.1-swallow", "回答: $\\boxed{NO}$", 1)["exact_match,short-answer"] == 1.0
    )
    assert values("jemhopqa_derivations", "いいえ。", 1)["exact_match,short-answer"] == 1.0


def test_niilc_counts_joined_answers_and_the_best() -> None:
    got = values("niilc-1.0", "松島", 3)
    # 松島 of 松島 天橋立 宮島 in order: 2·2/(2+9) is 0.36.
    assert got["char_f1,as-written"] == 0.36
    assert got["char_f1_best,as-written"] == got["exact_match,as-written"] == 1.0
    assert values("niilc-1.1-chat", "答えは「琵琶湖」です。")["exact_match,short-answer"] == 1.0


def test_jmmlu_is_grouped_by_field() -> None:
    registry = load_registry()
    groups = registry.groups()
    sizes = {"stem": 19, "humanities": 11, "social_sciences": 10, "other": 13}
    for prefix in ("jmmlu", "jmmlu_gen"):
        assert {field: len(groups[f"{prefix}_{field}"]) for field in sizes} == sizes
    assert "jmmlu_japanese_history" in groups["jmmlu_humanities"]
    config = build_config({"tasks": "jmmlu", "sample_data": True})
    assert len(choose_cells(config)) == 53


def test_examples_of_a_heuristic_come_from_the_whole_split() -> None:
    config = build_config(
        {"tasks": "janli_heuristic_constituent", "num_fewshot": 4, "sample_data": True}
    )
    (setup,) = choose_cells(config)
    data = load_data(config, [setup])
    assert len(data.pool(setup)) == 6
    prompts = list(prompts_of(setup, data, prompt_settings(config), None))
    assert [prompt.document for prompt in prompts] == ["90109", "90110"]


def test_examples_of_a_subject_are_its_other_rows() -> None:
    config = build_config({"tasks": "jmmlu_virology", "num_fewshot": 2, "sample_data": True})
    (setup,) = choose_cells(config)
    data = load_data(config, [setup])
    for prompt in prompts_of(setup, data, prompt_settings(config), None):
        assert {prompt.document, *prompt.examples} == {"row-150", "row-151", "row-152"}
