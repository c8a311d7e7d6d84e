"""Which cells a sweep runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tenbin.backends.scripted import CharacterTokenizer
from tenbin.config import build_config
from tenbin.errors import BackendError, ConfigError, TaskError
from tenbin.pipeline.cell_record import cell_config
from tenbin.pipeline.cells import choose_cells, profile_notices, selecting_cells
from tenbin.pipeline.prepare import load_data, prompt_settings, prompts_of
from tenbin.pipeline.requests import content_key
from tenbin.records import Sampling


def cells(**given: Any) -> list[str]:
    return [setup.cell.id for setup in choose_cells(build_config({"sample_data": True, **given}))]


def test_all_templates_of_every_task() -> None:
    found = cells(tasks="jnli,jcommonsenseqa", templates="all")
    assert found[:2] == ["jnli-1.3-0.2", "jnli-1.3-0.3"]
    assert {id.rsplit("-", 1)[1] for id in found if id.startswith("jcom")} >= {
        "0.1", "0.2", "0.3", "0.4", "0.5", "0.6"
    }  # fmt: skip


def test_named_templates_and_a_named_version() -> None:
    assert cells(tasks="jnli-1.1", templates="0.2,0.4") == ["jnli-1.1-0.2", "jnli-1.1-0.4"]


def test_patterns_of_templates() -> None:
    assert cells(tasks="mlogiqa_mcq_ja", templates="native*") == [
        "mlogiqa_mcq_ja-1.0-native",
        "mlogiqa_mcq_ja-1.0-native+letter",
        "mlogiqa_mcq_ja-1.0-native+text",
    ]
    assert cells(tasks="jnli", templates="0.[34],0.3") == ["jnli-1.3-0.3", "jnli-1.3-0.4"]


def test_every_template_unless_the_user_names_some() -> None:
    def chosen(**given: Any) -> list[str]:
        config = build_config({"sample_data": True, **given})
        return [setup.cell.id for setup in choose_cells(config, every_template=True)]

    assert len(chosen(tasks="jnli")) == 5
    assert chosen(tasks="jnli-1.1-0.3,marc_ja-1.1-0.2") == ["jnli-1.1-0.3", "marc_ja-1.1-0.2"]
    assert chosen(tasks="jnli", template="0.3") == ["jnli-1.3-0.3"]
    assert chosen(tasks="jnli", templates="0.3,0.2") == ["jnli-1.3-0.3", "jnli-1.3-0.2"]


def test_shots_and_draws_are_marked_in_ids() -> None:
    found = cells(tasks="jnli-1.1-0.2", num_fewshot_sweep="0,2", seeds=2)
    assert found == [
        "jnli-1.1-0.2@0shot",
        "jnli-1.1-0.2@2shot@seed1234",
        "jnli-1.1-0.2@2shot@seed1235",
    ]


def test_a_run_without_a_sweep_keeps_its_ids() -> None:
    assert cells(tasks="jnli-1.1-0.2", num_fewshot=2) == ["jnli-1.1-0.2"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"tasks": "jnli-1.1-0.2", "templates": "all"}, "names its template"),
        ({"tasks": "jnli", "templates": "0.2,9.9"}, "no template '9.9'"),
        ({"tasks": "jnli", "templates": "0.2,0.2"}, "twice"),
        ({"tasks": "jnli", "templates": "all", "template": "0.2"}, "names one template"),
        ({"tasks": "jnli", "num_fewshot": 1, "num_fewshot_sweep": "1,2"}, "both set the shots"),
        ({"tasks": "jnli", "seeds": 2, "num_fewshot": 0}, "no task has shots"),
        ({"tasks": "jnli", "seeds": 0}, "above 0"),
        ({"tasks": "jnli", "select_on": "train:10"}, "nothing to choose from"),
        ({"tasks": "jnli", "templates": "all", "select_on": "train"}, "SPLIT:N"),
        ({"tasks": "jnli", "templates": "all", "select_on": "train:0"}, "SPLIT:N"),
    ],
)
def test_contradictions_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        cells(**given)


def test_documents_that_choose_come_from_another_split_and_are_the_same_for_all() -> None:
    config = build_config(
        {
            "tasks": "jnli-1.1",
            "templates": "all",
            "select_on": "train:3",
            "num_fewshot": 1,
            "sample_data": True,
        }
    )
    scored = choose_cells(config)
    choosing = selecting_cells(config, scored)
    assert [setup.cell.id for setup in choosing] == [f"{s.cell.id}@train" for s in scored]
    data = load_data(config, choosing)
    drawn = [
        [prompt.document for prompt in prompts_of(setup, data, prompt_settings(config), None)]
        for setup in choosing
    ]
    assert len(drawn[0]) == 3
    assert all(documents == drawn[0] for documents in drawn)
    # By lot, not the first of the file; another seed draws others.
    first = [document.id for document in data.for_cell(choosing[0])[0].documents[:3]]
    assert drawn[0] != first
    ids = [document.id for document in data.for_cell(choosing[0])[0].documents]
    lots = sorted(ids, key=lambda id: content_key(config.seed, id))[:3]
    assert drawn[0] == [id for id in ids if id in lots]


def test_choosing_on_the_scored_split_is_refused() -> None:
    config = build_config(
        {"tasks": "jnli", "templates": "all", "select_on": "validation:5", "sample_data": True}
    )
    with pytest.raises(ConfigError, match="scored on 'validation' itself"):
        selecting_cells(config, choose_cells(config))


LM_EVAL_FILE = """
task: made
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl}}
test_split: test
output_type: generate_until
doc_to_text: "{{question}}"
doc_to_target: "{{answer}}"
generation_kwargs: {do_sample: true, temperature: 0.5, until: ["."]}
repeats: 4
"""


def test_the_profile_lm_eval_keeps_zero_shots_and_takes_the_first_answer(tmp_path: Path) -> None:
    (tmp_path / "made.yaml").write_text(LM_EVAL_FILE + "num_fewshot: 0\n", encoding="utf-8")
    given = {"tasks": "made", "include_path": str(tmp_path), "num_fewshot": 3}
    own, theirs = build_config(given), build_config({**given, "profile": "lm-eval"})
    ((setup,), (there,)) = choose_cells(own), choose_cells(theirs)
    assert (setup.cell.shots, setup.task.repeats) == (3, 4)
    assert (there.cell.shots, there.task.repeats) == (0, 1)
    assert (setup.task.sampling, there.task.sampling) == (Sampling(0.5), Sampling(0.5, top_k=50))
    unlimited = {**given, "profile": "lm-eval", "gen_kwargs": "top_k=0"}
    assert choose_cells(build_config(unlimited))[0].task.sampling == Sampling(0.5)
    assert profile_notices(own, [setup]) == []
    (notice,) = profile_notices(theirs, [there])
    assert "whose files say num_fewshot: 0, whatever --num_fewshot says: made" in notice
    (repeated,) = choose_cells(build_config({**given, "profile": "lm-eval", "repeats": 2}))
    assert repeated.task.repeats == 2
    (tmp_path / "made.yaml").write_text(LM_EVAL_FILE, encoding="utf-8")
    assert choose_cells(theirs)[0].cell.shots == 3
    for stated, expected in {"0": Sampling(0.5), "7": Sampling(0.5, top_k=7)}.items():
        text = LM_EVAL_FILE.replace("temperature: 0.5,", f"temperature: 0.5, top_k: {stated},")
        (tmp_path / "made.yaml").write_text(text, encoding="utf-8")
        assert choose_cells(theirs)[0].task.sampling == expected, "what a file says stands"


def test_formats_stand_in_place_of_the_template_or_beside_those_named() -> None:
    found = cells(tasks="jnli-1.1,jcommonsenseqa", formats=3, seed=5)
    assert len(found) == 6
    assert all("-f-" in id for id in found)
    beside = cells(tasks="jnli-1.1", formats=3, seed=5, templates="0.2,0.3~1")
    assert set(beside) == {*found[:3], "jnli-1.1-0.2", "jnli-1.1-0.3~1"}
    vetoed = cells(tasks="jnli-1.1", formats=3, seed=5, exclude_formats=found[0])
    assert vetoed[:2] == found[1:3]
    assert len(vetoed) == 3


def test_formats_know_whether_examples_are_shown() -> None:
    for options in ({"num_fewshot": 3}, {"num_fewshot_sweep": "0,3"}):
        setups = choose_cells(
            build_config({"tasks": "jnli", "formats": 8, "sample_data": True, **options})
        )
        assert {bool(setup.template.reverses_examples) for setup in setups} == {True, False}


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


def test_formats_that_cannot_be_asked() -> None:
    with pytest.raises(ConfigError, match="names its template, and --formats"):
        cells(tasks="jnli-1.1-0.2", formats=3)
    with pytest.raises(ConfigError, match="--template names one"):
        cells(tasks="jnli", formats=3, template="0.2")
    for option in ({"exclude_formats": "scored=text"}, {"chat_formats": True}):
        with pytest.raises(ConfigError, match="none were asked for"):
            cells(tasks="jnli", **option)
    with pytest.raises(ConfigError, match="--chat_formats some"):
        cells(tasks="jnli", formats=3, chat_formats=True, apply_chat_template=True)
    with pytest.raises(ConfigError, match="among its dimensions"):
        cells(tasks="jnli", formats=3, rotations=True)
    with pytest.raises(TaskError, match="no level 'bold'"):
        cells(
            tasks="jnli,jcommonsenseqa", formats=3, exclude_formats="label_words=truth,marks=bold"
        )
    with pytest.raises(TaskError, match=r"jsquad .* declares no prompt formats"):
        cells(tasks="jsquad", formats=3)


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
