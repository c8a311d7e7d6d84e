"""Tasks with what the user and the profile change of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tenbin.config import build_config
from tenbin.errors import ConfigError
from tenbin.pipeline.cells.choose import choose_cells
from tenbin.pipeline.cells.per_task import number_notices
from tenbin.records import Sampling

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
    assert number_notices(own, [setup]) == []
    (notice,) = number_notices(theirs, [there])
    assert "whose files say num_fewshot: 0, whatever --num_fewshot says: made" in notice
    (repeated,) = choose_cells(build_config({**given, "profile": "lm-eval", "repeats": 2}))
    assert repeated.task.repeats == 2
    (tmp_path / "made.yaml").write_text(LM_EVAL_FILE, encoding="utf-8")
    assert choose_cells(theirs)[0].cell.shots == 3
    for stated, expected in {"0": Sampling(0.5), "7": Sampling(0.5, top_k=7)}.items():
        text = LM_EVAL_FILE.replace("temperature: 0.5,", f"temperature: 0.5, top_k: {stated},")
        (tmp_path / "made.yaml").write_text(text, encoding="utf-8")
        assert choose_cells(theirs)[0].task.sampling == expected, "what a file says stands"


def test_the_profile_lm_eval_takes_examples_from_all_rows(tmp_path: Path) -> None:
    text = LM_EVAL_FILE + "fewshot_config: {fewshot_indices: [2, 0]}\n"
    (tmp_path / "made.yaml").write_text(text, encoding="utf-8")
    given = {"tasks": "made", "include_path": str(tmp_path)}
    (own,) = choose_cells(build_config(given))
    (theirs,) = choose_cells(build_config({**given, "profile": "lm-eval"}))
    assert (own.task.fewshot.indices, theirs.task.fewshot.indices) == ((2, 0), None)


def test_whole_texts_in_a_group_are_asked_without_examples(tmp_path: Path) -> None:
    whole = LM_EVAL_FILE.replace("task: made", "task: whole") + "output_type: loglikelihood_rolling"
    whole = whole.replace("repeats: 4\n", "")
    files = {"made": LM_EVAL_FILE, "whole": whole, "both": "group: both\ntask: [made, whole]\n"}
    for name, text in files.items():
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
    given = {"tasks": "both", "include_path": str(tmp_path), "num_fewshot": 3}
    config = build_config({**given, "apply_chat_template": True})
    setups = choose_cells(config)
    assert [(s.task.name, s.cell.shots) for s in setups] == [("made", 3), ("whole", 0)]
    (notice,) = number_notices(config, setups)
    assert notice == "whole: whole texts, without --num_fewshot and --apply_chat_template"
    with pytest.raises(ConfigError, match="takes no examples, but 3 were asked for"):
        choose_cells(build_config({**given, "tasks": "made,whole"}))
    theirs = build_config({**given, "tasks": "made,whole", "profile": "lm-eval"})
    assert [s.cell.shots for s in choose_cells(theirs)] == [3, 0]
