"""Prompt formats through the whole pipeline, with scripted answers."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

import tenbin
from tenbin.backends.scripted import CharacterTokenizer, ScriptedBackend
from tenbin.cli import main
from tenbin.config import build_config
from tenbin.errors import BackendError, ConfigError
from tenbin.pipeline.cell_record import cell_config
from tenbin.pipeline.cells.choose import choose_cells
from tenbin.pipeline.prepare import load_data, prompt_settings, prompts_of
from tenbin.tasks.prompt_formats import sample_formats, with_formats
from tenbin.tasks.registry import load_registry
from tests.pipeline.cells.chosen import cells

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


def test_chat_is_a_dimension_where_it_is_asked_for() -> None:
    """Half of the formats are in the model's chat format, and nothing else of them changes."""
    plain = cells(tasks="jnli", formats=10)
    some = cells(tasks="jnli", formats=10, chat_formats=True)
    assert [id[:-2] + "0" + id[-1] for id in some] == plain
    assert {id[-2] for id in some} == {"0", "1"}
    id = next(id for id in some if id[-2] == "1")
    config = build_config({"tasks": id, "sample_data": True, "limit": 1})
    (setup,) = choose_cells(config)
    data, settings = load_data(config, [setup]), prompt_settings(config)
    with pytest.raises(ConfigError, match=r"-f-.* needs the model's tokenizer"):
        list(prompts_of(setup, data, settings, None))
    (prompt,) = prompts_of(setup, data, settings, CharacterTokenizer())
    assert prompt.text.startswith("<system>" if setup.template.description else "<user>")

    class WithoutChat(CharacterTokenizer):
        def chat(self, *given: Any, **more: Any) -> str:
            raise BackendError("the tokenizer has no chat template")

    with pytest.raises(ConfigError, match="in the model's chat format: the tokenizer has no"):
        list(prompts_of(setup, data, settings, WithoutChat()))


def test_examples_are_reversed_where_the_format_says_so() -> None:
    """The same examples before the same question, in the other order."""
    drawn, reversed_ = "f-000000000000000000", "f-000000000000001000"
    config = build_config(
        {
            "tasks": f"jnli-1.3-{drawn},jnli-1.3-{reversed_}",
            "num_fewshot": 3,
            "sample_data": True,
            "limit": 2,
        }
    )
    setups = choose_cells(config)
    data = load_data(config, setups)
    first, second = (list(prompts_of(one, data, prompt_settings(config), None)) for one in setups)
    for one, other in zip(first, second, strict=True):
        assert other.examples == one.examples[::-1]
        assert other.continuations == one.continuations
        assert other.text != one.text
        assert sorted(other.text.split("\n\n")) == sorted(one.text.split("\n\n"))


def test_results_record_the_levels_of_a_format() -> None:
    ids = "jnli-1.3-f-000000000000000000,jnli-1.3-0.2"
    format, published = map(
        cell_config, choose_cells(build_config({"tasks": ids, "sample_data": True}))
    )
    assert format.format is not None
    assert format.format["option_style"] == "A."
    assert format.format["casing"] == "–"
    assert published.format is None
    assert "format" not in published.model_fields_set
