"""Sweeps and automatic templates through the whole pipeline, with scripted answers."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import tenbin
from tenbin.backends.scripted import ScriptedBackend
from tenbin.cli import main
from tenbin.config import build_config
from tenbin.errors import ConfigError
from tenbin.pipeline.progress import Listener
from tenbin.pipeline.run import execute
from tenbin.pipeline.sweep import RunOutcomes
from tenbin.results.samples import outcomes_of

pytestmark = pytest.mark.usefixtures("cache")
LABELS = ("含意", "矛盾", "中立", "entailment", "contradiction", "neutral")


def knows_template(marker: str) -> ScriptedBackend:
    """A model that reads the answer off the prompt where its template is used, else guesses."""

    def score(prompt: str, continuation: str) -> float:
        if marker not in prompt:
            return -float(len(continuation))
        # Sample documents of one label say so in no way; a fixed liking tells templates apart.
        return -0.1 if "含意" in continuation or "entailment" in continuation else -5.0

    return ScriptedBackend(score=score)


def test_a_sweep_holds_every_template_and_reports() -> None:
    found = tenbin.sweep(ScriptedBackend(), "jnli-1.1,jcommonsenseqa", sample_data=True, seed=3)
    tasks = [task["task"] for task in found.report["tasks"]]
    assert tasks == ["jnli", "jcommonsenseqa"]
    templates = [option["template"] for option in found.report["tasks"][1]["options"]]
    assert templates == ["0.1", "0.2", "0.2.1", "0.3", "0.4", "0.5", "0.6"]
    assert len(found.chosen) == 2
    assert all(id.count("-") == 2 for id in found.chosen)
    assert found.report["command"].startswith("tenbin run --model ScriptedBackend")


def test_a_stored_sweep_says_the_same_again(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    fresh = tenbin.sweep(
        ScriptedBackend(), "jnli-1.1", sample_data=True, num_fewshot=1, seeds=2, output_path=path
    )
    again = tenbin.load_run(path).sweep()
    assert json.loads(json.dumps(again.report)) == json.loads(json.dumps(fresh.report))
    other = tenbin.load_run(path).sweep("balanced_acc")
    assert other.report["tasks"][0]["metric"] == "balanced_acc"


def test_templates_are_paired_on_the_same_examples() -> None:
    run = tenbin.sweep(ScriptedBackend(), "jnli-1.1", sample_data=True, num_fewshot=2).run
    shown: dict[str, set[tuple[str, ...]]] = {}
    for sample in run.samples:
        shown.setdefault(sample["document"], set()).add(tuple(sample["examples"]))
    assert all(len(examples) == 1 for examples in shown.values())


def test_held_out_documents_choose_and_are_marked() -> None:
    found = tenbin.sweep(
        ScriptedBackend(), "jnli-1.1", sample_data=True, select_on="train:4", num_fewshot=1
    )
    choice = found.report["tasks"][0]["choice"]
    assert "4 documents of 'train'" in choice["on"]
    assert "jnli-1.1-0.2@train" in found.run.scores
    scored = {s["document"] for s in found.run.samples if "@" not in s["id"]}
    choosing = {s["document"] for s in found.run.samples if s["id"].endswith("@train")}
    assert not scored & choosing
    assert len(choosing) == 4


def test_auto_scores_with_the_template_that_held_out_documents_choose() -> None:
    run = tenbin.evaluate(
        knows_template("### 指示"), "jnli-1.1", template="auto", select_on="train:6",
        sample_data=True,
    )  # fmt: skip
    choice = run.document["template_choice"]["tasks"]["jnli-1.1"]
    assert list(run.scores) == [f"jnli-1.1-{choice['template']}"]
    best = max(choice["scores"].values())
    assert choice["scores"][choice["template"]] == best
    assert choice["documents"] == 6
    assert run.document["config"]["template"] == "auto"


def test_auto_needs_documents_apart_from_the_scored_ones() -> None:
    with pytest.raises(ConfigError, match="another split"):
        tenbin.evaluate(
            ScriptedBackend(), "jnli", template="auto", select_on="crossfit", sample_data=True
        )
    with pytest.raises(ConfigError, match="scored on 'validation' itself"):
        tenbin.evaluate(
            ScriptedBackend(), "jnli", template="auto", select_on="validation:4", sample_data=True
        )


def test_nothing_to_sweep_over_is_said() -> None:
    with pytest.raises(ConfigError, match="nothing to sweep over"):
        tenbin.sweep(ScriptedBackend(), "jnli-1.1", templates="0.2", sample_data=True)


def test_the_command_prints_the_honest_score_and_how_to_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "sweep.json"
    words = ["sweep", "--model", "scripted", "--tasks", "jnli-1.1,jcommonsenseqa", "--sample_data"]
    assert main([*words, "--output_path", str(out), "-o", str(tmp_path / "report.json")]) == 0
    said = capsys.readouterr().out
    assert "honest score" in said
    assert "optimism" in said
    assert "tenbin run --model scripted" in said
    stored = json.loads((tmp_path / "sweep.run" / "sweep.json").read_text())
    assert stored == json.loads((tmp_path / "report.json").read_text())
    assert main(["sweep", str(out), "--format", "json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["tasks"] == stored["tasks"]


def test_a_stored_run_takes_no_flags_of_a_new_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sweep", str(tmp_path), "--tasks", "jnli"]) == 1
    assert "--tasks would need a new one" in capsys.readouterr().err


def test_outcomes_of_a_run_are_those_of_its_samples() -> None:
    given = {"model": "scripted", "tasks": "jnli,jsquad", "sample_data": True, "no_cache": True}
    finished = execute(build_config(given), Listener(), write=False)
    read, stored = RunOutcomes(finished), outcomes_of(finished.samples())
    assert len(read) == len(stored) and set(read) == set(stored)
    for key, outcomes in stored.items():
        expected = sorted(outcomes, key=lambda outcome: outcome.document)
        # A stored outcome has the document's gold choice, whatever the metric.
        assert [replace(one, gold=None) for one in read[key]] == [
            replace(one, gold=None) for one in expected
        ]
    with pytest.raises(KeyError):
        read["jnli-1.3-0.2", "no such metric"]


def test_the_chosen_template_is_asked_in_all_rotations() -> None:
    run = tenbin.evaluate(
        model="scripted", tasks="jcommonsenseqa-1.1", template="auto", select_on="train:5",
        rotations=True, sample_data=True, limit=4, no_cache=True, progress=False,
    )  # fmt: skip
    templates = [config.template for config in run.result.configs.values()]
    assert len(templates) == 5
    assert templates == [templates[0], *(f"{templates[0]}~{rotation}" for rotation in range(1, 5))]
