"""Prompt formats through the whole pipeline, with scripted answers."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest

import tenbin
from tenbin.backends.scripted import ScriptedBackend
from tenbin.cli import main
from tenbin.tasks.prompt_formats import sample_formats, with_formats
from tenbin.tasks.registry import load_registry

pytestmark = pytest.mark.usefixtures("cache")


def last_option() -> ScriptedBackend:
    """A model that takes the option whose symbol comes last in the list, or the longest text."""
    return ScriptedBackend(score=lambda prompt, continuation: float(prompt.rfind(continuation)))


def test_a_sweep_over_formats_is_stored_with_their_levels(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    fresh = tenbin.sweep(
        ScriptedBackend(), "jnli-1.3,jcommonsenseqa", sample_data=True, formats=5, output_path=path
    )
    stored = json.loads(path.read_text(encoding="utf-8"))
    assert stored["config"]["formats"] == 5
    formats = {id: config["format"] for id, config in stored["configs"].items()}
    assert len(formats) == 10
    registry = load_registry()
    for id, levels in formats.items():
        (chosen,) = registry.select([id])
        assert chosen.task.templates[chosen.template].format == levels
    assert "--formats" not in fresh.report["command"]
    again = tenbin.load_run(path).sweep()
    assert json.loads(json.dumps(again.report)) == json.loads(json.dumps(fresh.report))


def test_a_format_alone_has_the_scores_that_it_has_in_a_sweep() -> None:
    swept = tenbin.sweep(last_option(), "jcommonsenseqa", sample_data=True, formats=6).run
    scores = {id: row["acc"] for id, row in swept.scores.items()}
    assert len(set(scores.values())) > 1, "rotations and symbols must tell formats apart"
    for id, score in list(scores.items())[:3]:
        alone = tenbin.evaluate(last_option(), id, sample_data=True)
        assert alone.scores[id]["acc"] == score


def test_gold_counts_the_options_as_the_row_has_them() -> None:
    """In every rotation: what a document's right answer is does not depend on the format."""
    run = tenbin.sweep(ScriptedBackend(), "jcommonsenseqa", sample_data=True, formats=8).run
    golds: dict[str, set[int]] = {}
    for sample in run.samples:
        golds.setdefault(sample["document"], set()).add(sample["gold"])
    configs = run.document["configs"].values()
    assert len({config["format"]["rotation"] for config in configs}) > 2
    assert all(len(found) == 1 for found in golds.values())


def test_a_preview_says_what_a_format_is(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["preview", "--tasks", "jnli", "--formats", "2", "--limit", "1", "--sample_data"]
    assert main(words) == 0
    assert "label_words=" in capsys.readouterr().out
    assert main([*words, "--format", "jsonl"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [set(row["format"]) >= {"scored", "rotation"} for row in rows] == [True, True]


def test_tasks_with_formats_reach_other_processes() -> None:
    task = load_registry().newest("jcommonsenseqa")
    worded = with_formats(task, sample_formats(task, 3, 1))
    assert pickle.loads(pickle.dumps(worded)) == worded
