"""MGSM's prompts beside the published strings, rendered by jinja2 and plain replacement."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import jinja2
import pytest
import yaml

from tests.conftest import SHARED
from tests.oracle.rendering import Row, read_rows
from tests.oracle.test_published_prompts import preview, same

pytestmark = pytest.mark.real_data

LANGUAGES = ("bn", "de", "en", "es", "fr", "ja", "ru", "sw", "te", "th", "zh")
ROWS = 25
JINJA = jinja2.Environment(keep_trailing_newline=True)


@pytest.fixture(scope="module")
def published() -> Row:
    path = SHARED / "suites.yaml"
    if not path.is_file():
        pytest.skip("no published wordings at shared/suites.yaml")
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def wording(published: Row, who: str) -> Row:
    return next(one for one in published["mgsm"]["wordings"] if one["who"].startswith(who))


def filled(text: str, words: Row) -> str:
    """A published string with the words of a language in place of their names."""
    return re.sub(r"(?<!\{)\{(\w+)\}(?!\})", lambda found: str(words[found[1]]), text)


def render(text: str, row: Row) -> str:
    return JINJA.from_string(text).render(**row)


def rows_of(data: Path, language: str) -> tuple[list[Row], list[Row]]:
    train = read_rows(data / "mgsm" / language / "train.jsonl.gz")
    return train, read_rows(data / "mgsm" / language / "test.jsonl.gz")[:ROWS]


LM_EVAL = {
    "mgsm_direct": "lm-eval mgsm_direct",
    "mgsm_native_cot": "lm-eval mgsm_native_cot",
    "mgsm_en_cot": "lm-eval mgsm_en_cot",
}
ENDINGS = {
    "mgsm_direct": "\n{lm_eval_direct}",
    "mgsm_native_cot": "\n{lm_eval_native}",
    "mgsm_en_cot": "\nStep-by-Step Answer:",
}


def lm_eval_text(published: Row, task: str, words: Row) -> str:
    direct = wording(published, LM_EVAL["mgsm_direct"])["doc_to_text"]
    return filled(direct.removesuffix(ENDINGS["mgsm_direct"]) + ENDINGS[task], words)


@pytest.mark.parametrize("task", LM_EVAL)
def test_prompts_of_lm_eval(
    task: str, published: Row, real_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ",".join(f"{task}_{language}-1.0-lm-eval" for language in LANGUAGES)
    got = preview(capsys, real_data, "--tasks", names, "--limit", str(ROWS))
    expected: list[dict[str, Any]] = []
    for language in LANGUAGES:
        words = published["mgsm"]["words"][language]
        text = lm_eval_text(published, task, words)
        until = [filled(one, words) for one in wording(published, LM_EVAL["mgsm_direct"])["until"]]
        expected += [
            {"prompt": render(text, row), "target": str(row["answer_number"]), "stop": until}
            for row in rows_of(real_data, language)[1]
        ]
    same(got, expected)


@pytest.mark.parametrize("task", LM_EVAL)
def test_examples_of_lm_eval(
    task: str, published: Row, real_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ",".join(f"{task}_{language}-1.0-lm-eval" for language in LANGUAGES)
    options = ("--tasks", names, "--num_fewshot", "8", "--limit", "1")
    got = preview(capsys, real_data, *options)
    for language, ours in zip(LANGUAGES, got, strict=True):
        words = published["mgsm"]["words"][language]
        text = lm_eval_text(published, task, words)
        train, test = rows_of(real_data, language)
        cut = words["lm_eval_answer_slice"]
        blocks = [
            render(text, row)
            + (str(row["answer_number"]) if task == "mgsm_direct" else " " + row["answer"][cut:])
            for row in train
        ]
        ending = render(text, test[0])
        # The order is the sampler's; each example is there once, whole.
        examples = ours["prompt"].removesuffix(ending).removesuffix("\n\n").split("\n\n")
        assert ours["prompt"].endswith("\n\n" + ending), language
        assert sorted(examples) == sorted(blocks), language


JP_STABLE = {
    "0.0": "jp-stable mgsm-1.0-0.0",
    "0.3": "jp-stable mgsm-1.0-0.3",
    "0.6": "jp-stable mgsm-1.0-0.6",
    "ja-leaderboard": "lm-eval ja_leaderboard_mgsm",
}


def prompt_of(parts: Row, train: list[Row], row: Row, defaults: Row) -> str:
    parts = {**defaults, **parts}
    examples = [
        render(parts["doc_to_text"], one)
        + parts["target_delimiter"]
        + render(parts["doc_to_target"], one)
        for one in train
    ]
    texts = [*examples, render(parts["doc_to_text"], row)]
    return parts.get("description", "") + parts["fewshot_delimiter"].join(texts)


# The examples of 1.0 are sampled; 1.1 takes the first ones.
@pytest.mark.parametrize(("version", "shots"), [("1.0", 0), ("1.1", 5)])
def test_japanese_prompts(
    version: str,
    shots: int,
    published: Row,
    real_data: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    train, test = rows_of(real_data, "ja")
    defaults = {"fewshot_delimiter": "\n\n", **wording(published, JP_STABLE["0.0"])}
    wordings = {name: wording(published, who) for name, who in JP_STABLE.items()}
    four = wording(published, "jp-stable mgsm-1.0-0.4")
    described = re.search(r"0\.4: (.*?) ; 0\.5", four["description"])
    assert described is not None
    for name, mark in {"0.4": "<NL>", "0.5": "\n"}.items():
        wordings[name] = {
            "description": described[1].replace("<NL>", mark),
            "doc_to_text": four["doc_to_text"],
            "fewshot_delimiter": mark,
        }
    for name, parts in wordings.items():
        arguments = ("--tasks", f"mgsm_native_cot_ja-{version}-{name}", "--num_fewshot", str(shots))
        got = preview(capsys, real_data, *arguments, "--limit", str(ROWS))
        until = {**defaults, **parts}["until"]
        same(
            got,
            [
                {"prompt": prompt_of(parts, train[:shots], row, defaults), "stop": until}
                for row in test
            ],
        )


def test_prompts_of_flexeval(
    published: Row, real_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train, test = rows_of(real_data, "ja")
    parts = wording(published, "flexeval")
    got = preview(
        capsys,
        real_data,
        *("--tasks", "mgsm_native_cot_ja-1.1-flexeval", "--num_fewshot", "4"),
        *("--limit", str(ROWS)),
    )
    expected = [
        {
            "prompt": render(parts["doc_to_text"], {**row, "few_shot_data": train[:4]}),
            "stop": parts["until"],
        }
        for row in test
    ]
    same(got, expected)


@pytest.mark.parametrize(
    ("name", "key"), [("llm-jp-eval", "instruction"), ("llm-jp-eval-number", "instruction_later")]
)
def test_prompts_of_llm_jp_eval(
    name: str,
    key: str,
    published: Row,
    real_data: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    train, test = rows_of(real_data, "ja")
    frame = published["about"]["llm_jp_eval_frame"]["text"]
    instruction = wording(published, "llm-jp-eval")[key]
    examples = [
        {"input": row["question"].replace("問題：", ""), "output": row["answer_number"]}
        for row in train[:4]
    ]
    arguments = ("--tasks", f"mgsm_direct_ja-1.1-{name}", "--num_fewshot", "4")
    got = preview(capsys, real_data, *arguments, "--limit", str(ROWS))
    expected = [
        {
            "prompt": render(
                frame,
                {"instruction": instruction, "examples": examples, "input": row["question"]},
            )
        }
        for row in test
    ]
    same(got, expected)


def test_prompts_of_simple_evals(
    published: Row, real_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ",".join(f"mgsm_native_cot_{language}-1.0-simple-evals" for language in LANGUAGES)
    got = preview(capsys, real_data, "--tasks", names, "--limit", str(ROWS))
    expected = [
        {"prompt": render(published["mgsm"]["words"][language]["simple_evals"], row), "stop": []}
        for language in LANGUAGES
        for row in rows_of(real_data, language)[1]
    ]
    same(got, expected)


def test_mended_examples_are_whole(
    published: Row, real_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ",".join(f"mgsm_native_cot_{language}-1.1-lm-eval" for language in LANGUAGES)
    got = preview(capsys, real_data, "--tasks", names, "--num_fewshot", "8", "--limit", "1")
    for language, ours in zip(LANGUAGES, got, strict=True):
        words = published["mgsm"]["words"][language]
        train, test = rows_of(real_data, language)
        places = []
        for row in train:
            block = f"{row['question']}\n{row['answer']}"
            if language != "te":
                assert block in ours["prompt"]
                places.append(ours["prompt"].index(block))
        assert all(one < other for one, other in pairwise(places)), "in the paper's order"
        assert ours["prompt"].endswith(
            f"{words['exemplar_question']}{test[0]['question']}\n{words['exemplar_answer'].rstrip()}"
        )
        if language == "te":
            assert "సమాధానం 39.\n" in ours["prompt"]
            assert "ఉన్నాయి?\n" in ours["prompt"]
