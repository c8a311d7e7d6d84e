"""Sweeps on a budget through the whole pipeline, with scripted answers."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import tenbin
from tenbin.backends.scripted import ScriptedBackend
from tenbin.cli import main
from tenbin.errors import ConfigError, ResultError
from tenbin.pipeline.cells.setup import Share
from tenbin.pipeline.prepare import _design
from tenbin.records import Document
from tenbin.report.html.build import build_page
from tenbin.report.terminal.console import make_console
from tenbin.report.terminal.distribution import print_distribution
from tenbin.results.read import parse_result, read_run

pytestmark = pytest.mark.usefixtures("cache")
TEMPLATES = ["0.1", "0.2", "0.2.1", "0.3", "0.4", "0.5", "0.6"]


@cache
def plain() -> tenbin.Sweep:
    """A sweep that several tests look at."""
    return swept(no_cache=True)


def swept(**options: Any) -> tenbin.Sweep:
    given: dict[str, Any] = {"tasks": "jcommonsenseqa", "budget": 2, "sample_data": True}
    return tenbin.sweep(ScriptedBackend(), **{**given, **options})


def test_each_document_is_asked_under_as_many_prompts_as_the_budget_pays_for() -> None:
    run = plain().run
    asked = Counter(sample["document"] for sample in run.samples)
    assert set(asked.values()) == {2}
    assert len(asked) == 20
    loads = Counter(sample["id"] for sample in run.samples)
    assert set(loads) == {f"jcommonsenseqa-1.1-{name}@part" for name in TEMPLATES}
    assert max(loads.values()) - min(loads.values()) <= 1


def test_prompts_are_those_of_a_full_sweep() -> None:
    def texts(found: tenbin.Sweep) -> dict[tuple[str, str], Any]:
        return {
            (s["template"], s["document"]): (s["prompt"], s["examples"], s["logprobs"])
            for s in found.run.samples
        }

    part, full = texts(swept(num_fewshot=2)), texts(swept(num_fewshot=2, budget=None))
    assert len(part) == 40 < len(full)
    assert part.items() <= full.items()


def test_no_part_of_the_documents_is_a_score() -> None:
    document = swept(tasks="jcommonsenseqa,jnli-1.1", budget=6).run.document
    roles = {id: config["role"] for id, config in document["configs"].items()}
    # Five templates of JNLI cost no more in full.
    assert {id for id, role in roles.items() if role == "score"} == {
        f"jnli-1.1-{name}" for name in ("0.2", "0.3", "0.4", "0.5", "0.6")
    }
    part = "jcommonsenseqa-1.1-0.3@part"
    assert roles[part] == "part"
    assert document["results"][part]["acc"] is None
    assert document["details"][part]["acc"]["low"] is None
    assert document["details"][part]["acc"]["n"] == document["n-samples"][part]["effective"]
    assert document["results"]["jnli-1.1-0.3"]["acc"] is not None


def test_a_design_depends_on_seed_and_names_alone() -> None:
    def design(found: tenbin.Sweep) -> set[tuple[str, str]]:
        return {(s["template"], s["document"]) for s in found.run.samples}

    again = swept(templates=",".join(TEMPLATES), batch_size=1)
    assert design(again) == design(plain())
    assert design(swept(seed=7)) != design(plain())


def test_questions_of_one_paragraph_are_asked_under_the_same_prompts() -> None:
    documents = [
        Document(f"{at}", {}, None if at < 6 else f"paragraph {at // 3}", "made")
        for at in range(30)
    ]
    share = Share(0, 5, 2, 1)
    design = [set(found) for found in _design(documents, share)]
    assert sum(map(len, design)) == 60
    for start in range(6, 30, 3):
        together = {start, start + 1, start + 2}
        assert all(together <= asked or not together & asked for asked in design)
    turned = [set(found) for found in _design(documents[::-1], share)]
    assert [{29 - at for at in asked} for asked in turned] == design


def test_the_report_is_the_same_from_a_stored_run(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    fresh = swept(output_path=path)
    assert json.loads(json.dumps(fresh.report)) == tenbin.load_run(path).sweep().report
    found = fresh.report["distributions"][0]
    assert found["cost"] == {"asked": 40, "full": 140}
    assert (found["prompts"], found["documents"], found["budget"]) == (7, 20, 2.0)
    assert [round(one["share"], 2) for one in found["quantiles"]] == [
        0,
        0.05,
        0.25,
        0.5,
        0.75,
        0.95,
        1,
    ]
    values = [one["value"] for one in found["quantiles"]]
    assert values == sorted(values)
    assert sorted(place["id"] for place in found["places"]) == [
        f"jcommonsenseqa-1.1-{name}" for name in TEMPLATES
    ]
    assert fresh.report["tasks"] == []
    assert len(fresh.table()) == 7


def test_a_full_sweep_confirms_the_mean_within_its_interval() -> None:
    found = plain().report["distributions"][0]["mean_here"]
    full = swept(budget=None).report["tasks"][0]
    assert found["low"] <= full["spread"]["mean"] <= found["high"]


def test_a_broken_off_sweep_goes_on_from_the_journal(tmp_path: Path) -> None:
    class Stopping(ScriptedBackend):
        def run(self, requests: Any, known: Any = ()) -> Any:
            for number, one in enumerate(super().run(requests, known)):
                if number == 25:
                    raise KeyboardInterrupt
                yield one

    path = tmp_path / "result.json"
    options: dict[str, Any] = {
        "tasks": "jcommonsenseqa", "budget": 2, "sample_data": True, "output_path": path,
    }  # fmt: skip
    with pytest.raises(KeyboardInterrupt):
        tenbin.sweep(Stopping(), **options)
    stopped = tenbin.load_run(path)
    assert stopped.document["partial"]
    again = tenbin.sweep(ScriptedBackend(), **options)
    assert again.run.document["answers_from_journal"] == 25
    assert not again.run.document["partial"]
    assert again.report["distributions"] == plain().report["distributions"]


def test_progress_shows_the_prompts_of_a_task_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tenbin.pipeline import partial_scores

    written: list[dict[str, Any]] = []
    monkeypatch.setattr(partial_scores, "write_progress", lambda _, found: written.append(found))
    swept(output_path=tmp_path / "result.json")
    assert [cell["id"] for cell in written[-1]["cells"]] == ["jcommonsenseqa-1.1, 7 prompts"]
    assert written[-1]["cells"][0]["documents"] == 40
    assert written[-1]["cells"][0]["answered"] == 40


def test_leaders_run_in_full_and_are_scored_where_they_were_not_chosen(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    found = swept(then="best:2", output_path=path)
    document = found.run.document
    leaders = document["leaders"]["jcommonsenseqa-1.1"]
    assert [len(own) for own in leaders] == [2, 2]
    full = {id for id, config in document["configs"].items() if config["role"] == "score"}
    assert full == {id for own in leaders for id in own}
    assert all(document["n-samples"][id]["effective"] == 20 for id in full)
    task = found.report["tasks"][0]
    assert task["leading"] is True
    assert "variance" not in task
    assert "one half of the documents" in task["choice"]["on"]
    assert found.chosen[0] in full
    assert len(found.report["distributions"]) == 1
    assert tenbin.load_run(path).sweep().report == json.loads(json.dumps(found.report))
    stored = tenbin.load_run(path)
    [own, *others] = leaders
    other = {"jcommonsenseqa-1.1": [["jcommonsenseqa-1.1-9.9", *own[1:]], *others]}
    damaged = tenbin.Run(parse_result({**document, "leaders": other}, path), stored.samples)
    with pytest.raises(ResultError, match="does not hold"):
        damaged.sweep()
    # The same command again asks nothing, and replaces its own result.
    again = swept(then="best:2", output_path=path)
    assert again.run.document["leaders"] == document["leaders"]
    assert again.report["tasks"] == found.report["tasks"]


def test_leaders_may_be_chosen_on_another_split() -> None:
    found = swept(then="best:2", select_on="train:10", budget=3)
    document = found.run.document
    assert [len(own) for own in document["leaders"]["jcommonsenseqa-1.1"]] == [2]
    parts = {s["document"] for s in found.run.samples if s["id"].endswith("@train@part")}
    scored = {s["document"] for s in found.run.samples if "@" not in s["id"]}
    assert len(parts) == 10, "all that the sample rows have"
    assert len(scored) == 20
    assert not parts & scored


def test_the_command_prints_the_distribution(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    out = tmp_path / "result.json"
    words = ["sweep", "--model", "scripted", "--tasks", "jcommonsenseqa", "--sample_data"]
    assert main([*words, "--budget", "2x", "--output_path", str(out)]) == 0
    said = capsys.readouterr().out
    assert "7 prompts on 20 documents" in said
    assert "asked 40 of 140 questions (29%): the price of 2 full runs" in said
    assert "where the published templates lie" in said
    assert "a distribution, not a choice" in said
    assert main(["sweep", str(out)]) == 0
    assert capsys.readouterr().out == said
    stored = json.loads((tmp_path / "result.run" / "sweep.json").read_text())
    assert stored["distributions"][0]["metric"] == "acc"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"budget": 1}, "from 2 to"),
        ({"budget": "many"}, "such as 4x"),
        ({"budget": 7}, "7 full runs cost no more"),
        ({"budget": 2, "select_on": "train:4"}, "chooses nothing"),
        ({"budget": None, "then": "best:3"}, "follows a sweep on a budget"),
        ({"until": "±2"}, "give one of them"),
        ({"then": "worst:3"}, "best:3"),
        ({"then": "best:2", "no_cache": True}, "journal"),
        ({"profile": "jp-stable"}, "leaves documents out"),
        ({"limit": 5}, "are needed"),
        ({"tasks": "jcommonsenseqa,jnli-1.1", "budget": 6, "then": "best:2"}, "runs in full"),
    ],
)
def test_what_a_budget_cannot_mean_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        swept(**options)


@pytest.mark.parametrize(
    ("metric", "budget", "words"),
    [
        ("balanced_acc", 2, "no mean over documents"),
        ("colour", 2, "no task of the sweep has it"),
        ("colour", None, "no task of the sweep has it"),
    ],
)
def test_a_metric_that_cannot_be_had_is_refused_before_anything_is_asked(
    metric: str, budget: int | None, words: str
) -> None:
    backend = ScriptedBackend()
    with pytest.raises(ConfigError, match=words):
        tenbin.sweep(backend, "jnli-1.1", budget=budget, metric=metric, sample_data=True)
    assert not backend.asked


def test_a_task_named_with_its_template_is_no_sweep() -> None:
    with pytest.raises(ConfigError, match="names its template, and all are asked"):
        swept(tasks="jcommonsenseqa-1.1-0.2")


def test_parts_are_not_compared(tmp_path: Path) -> None:
    swept(output_path=tmp_path / "one.json")
    swept(output_path=tmp_path / "two.json")
    with pytest.raises(ResultError, match="prompts have no scores of their own"):
        tenbin.compare(tmp_path / "one.json", tmp_path / "two.json")


def test_draws_of_examples_are_prompts_too() -> None:
    found = swept(templates="0.2,0.3", num_fewshot=1, seeds=3, seed=1).record.distributions
    assert found is not None
    names = sorted(place.name for place in found[0].places)
    assert names == [f"{name}@seed{seed}" for name in ("0.2", "0.3") for seed in (1, 2, 3)]


def test_formats_are_swept_beside_the_published_templates() -> None:
    found = swept(tasks="jcommonsenseqa", formats=23, budget=6)
    places = found.record.distributions[0].places  # type: ignore[index]
    assert len(places) == 30
    assert sorted(one.template for one in places if one.published) == TEMPLATES
    generated = next(one for one in places if not one.published)
    assert generated.format is not None
    assert generated.format["language"] in ("native", "english")
    assert generated.id == f"jcommonsenseqa-1.1-{generated.template}"
    # Each runs by itself, with the same prompts.
    single = tenbin.evaluate(ScriptedBackend(), generated.id, sample_data=True)
    alone = {s["document"]: s["prompt"] for s in single.samples}
    part = {
        s["document"]: s["prompt"] for s in found.run.samples if s["template"] == generated.template
    }
    assert len(part) == generated.n >= 4
    assert part.items() <= alone.items()


def test_the_page_shows_the_distribution_and_no_part_as_a_score(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    swept(output_path=path)
    page = build_page([read_run(path)], language="ja")
    summary = page.summary
    assert summary.sweeps[0] is not None
    assert summary.sweeps[0].error is None
    assert [found.prompts for found in summary.sweeps[0].distributions] == [7]
    assert summary.charts is not None
    assert list(summary.charts) == ["distribution-1-1"], "no chart of scores"
    assert {cell.role for cell in summary.runs[0].cells} == {"part"}
    assert "jcommonsenseqa 1.1" in summary.charts["distribution-1-1"].title


def test_prompts_without_any_answer_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["sweep", "--model", "scripted", "--tasks", "jcommonsenseqa", "--sample_data"]
    words += ["--budget", "2x", "--no_cache", "--model_args", "not_finite=[INST]"]
    assert main(words) == 3
    said = capsys.readouterr().out
    assert "without any answer, and so in no figure here: 1 prompt" in said


def test_a_gap_is_named_where_estimates_leave_it_empty(capsys: pytest.CaptureFixture[str]) -> None:
    found = plain().record.distributions[0]  # type: ignore[index]
    values = sorted(place.value for place in found.places)
    empty, full = (values[2] + 1e-9, values[3] - 1e-9), (values[0] - 0.1, values[-1] + 0.1)
    said = []
    for gap in (empty, full, None):
        print_distribution(replace(found, gap=gap), make_console())
        said.append("two groups" in capsys.readouterr().out)
    assert said == [True, False, False]
