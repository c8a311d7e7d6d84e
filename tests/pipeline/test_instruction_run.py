"""M-IFEval from rows to scores: what a run says of instructions, and what it refuses first."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tenbin
from tenbin.backends.scripted import ScriptedBackend
from tenbin.cli import main
from tenbin.errors import ConfigError, DataError, TaskError
from tenbin.metrics.instructions import tools, tools_of
from tenbin.metrics.instructions.sentences import SPLITTERS

pytestmark = pytest.mark.usefixtures("cache")

SAMPLE = {"sample_data": True, "no_cache": True}


def test_a_run_counts_instructions_by_type_and_names_its_tools(tmp_path: Path) -> None:
    backend = ScriptedBackend(texts=lambda prompt: "はい、\nがくえんのはなをみる。\nおわり")
    path = tmp_path / "r.json"
    run = tenbin.evaluate(backend, ["m_ifeval_ja"], output_path=str(path), **SAMPLE)
    (details,) = run.document["details"].values()
    strict, loose = details["inst_level_strict_acc"], details["inst_level_loose_acc"]
    assert strict["parts"]["letters:hiragana_only"] == {"value": 1.0, "n": 1}
    assert strict["parts"]["punctuation:no_comma"] == {"value": 0.0, "n": 1}
    assert loose["parts"]["punctuation:no_comma"] == {"value": 1.0, "n": 1}
    assert sum(part["n"] for part in strict["parts"].values()) == 21
    passed = sum(part["n"] * part["value"] for part in strict["parts"].values())
    (scores,) = run.document["results"].values()
    assert scores["inst_level_strict_acc"] == pytest.approx(passed / 21)
    assert (strict["n"], strict["aggregation"], strict["interval_method"]) == (
        8,
        "pooled",
        "wilson",
    )
    assert "parts" not in details["prompt_level_strict_acc"]
    (config,) = run.document["configs"].values()
    assert set(config["tools"]) == {"language", "nouns", "sentences"}
    outcome = {one["metric"]: one for one in run.samples[1]["outcomes"]}
    assert json.loads(outcome["inst_level_strict_acc"]["item"]) == [
        ["letters:hiragana_only", 1.0],
        ["punctuation:no_comma", 0.0],
    ]


def test_the_summary_shows_groups_and_tools(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "r.json")
    code = main(
        ["run", "--model", "scripted", "--tasks", "m_ifeval_fr", "--sample_data", "--output_path",
         path]
    )  # fmt: skip
    shown = " ".join(capsys.readouterr().out.split())
    assert code == 0
    assert "inst_level_strict_acc: change_case 0/1, detectable_content" in shown
    assert "special_character" in shown
    assert "sentences by tenbin fr sentences 1" in shown


def test_a_comparison_warns_where_other_programs_decided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, splitter in (("a", "tenbin fr sentences 1"), ("b", "tenbin fr sentences 2")):
        monkeypatch.setitem(SPLITTERS, "fr", splitter)
        tools_of.cache_clear()
        tenbin.evaluate(
            ScriptedBackend(), ["m_ifeval_fr"], output_path=str(tmp_path / f"{name}.json"), **SAMPLE
        )
    tools_of.cache_clear()
    assert main(["compare", str(tmp_path / "a.json"), str(tmp_path / "b.json")]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "task: sentences by tenbin fr sentences 1 here, tenbin fr sentences 2 there" in shown


def test_blank_answers_are_answers_and_failures_are_failures() -> None:
    blank = tenbin.evaluate(ScriptedBackend(texts=lambda prompt: " \n"), ["m_ifeval_es"], **SAMPLE)
    (scores,) = blank.document["results"].values()
    assert {v for k, v in scores.items() if k.endswith("acc")} == {0.0}
    assert not blank.document["failures"]


def rows(folder: Path, *rows: dict[str, Any]) -> str:
    path = folder / "m_ifeval" / "en" / "test.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return str(folder)


GOOD = {
    "key": 1, "prompt": "x", "instruction_id_list": ["en:punctuation:no_comma"], "kwargs": [{}],
}  # fmt: skip


@pytest.mark.parametrize(
    ("id", "kwargs", "message"),
    [
        ("en:punctuation:no_commas", {}, "m_ifeval_en-1.1-m-ifeval: document 2: unknown"),
        ("en:startend:end_checker", {}, "document 2: en:startend:end_checker needs end_phrase"),
    ],
)
def test_a_row_that_cannot_be_checked_is_refused_before_anything_is_asked(
    id: str, kwargs: dict[str, Any], message: str, tmp_path: Path
) -> None:
    bad = {**GOOD, "key": 2, "instruction_id_list": [id], "kwargs": [kwargs]}
    backend = ScriptedBackend()
    with pytest.raises(DataError, match=message):
        tenbin.evaluate(backend, ["m_ifeval_en"], data_dir=rows(tmp_path, GOOD, bad), no_cache=True)
    assert not backend.asked


def test_a_tool_that_is_missing_is_refused_before_anything_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tools, "find_spec", lambda name: None)
    tools_of.cache_clear()
    backend = ScriptedBackend()
    try:
        with pytest.raises(TaskError, match=r"m_ifeval_ja: .*langdetect") as error:
            tenbin.evaluate(backend, ["m_ifeval_ja"], **SAMPLE)
    finally:
        tools_of.cache_clear()
    assert "tenbin[instructions]" in error.value.hint
    assert not backend.asked


def test_versions_decide_differently(tmp_path: Path) -> None:
    backend = ScriptedBackend(texts=lambda prompt: "人々（ひとびと）が集（あつ）まる。")
    ids = [f"m_ifeval_ja-{version}-m-ifeval" for version in ("0.9", "1.0", "1.1")]
    run = tenbin.evaluate(backend, ids, **SAMPLE)
    found = {
        id.split("-")[1]: details["inst_level_strict_acc"]["parts"]["letters:furigana"]["value"]
        for id, details in run.document["details"].items()
    }
    assert found == {"0.9": 0.0, "1.0": 0.0, "1.1": 1.0}


def test_answers_are_not_capped_by_the_length_of_instructions() -> None:
    """The profile jp-stable ends an answer at the length of its reference, which is none here."""
    backend = ScriptedBackend()
    tenbin.evaluate(backend, ["m_ifeval_ja"], profile="jp-stable", **SAMPLE)
    assert {request.max_gen_toks for request in backend.asked} == {2048}  # type: ignore[union-attr]


def test_examples_are_refused() -> None:
    with pytest.raises(ConfigError, match="asks each prompt alone and takes no examples"):
        tenbin.evaluate(ScriptedBackend(), ["m_ifeval_ja"], num_fewshot=2, **SAMPLE)
