"""Command lines, run files and Python calls written for lm-eval: the error names the way here."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

import tenbin
from tenbin.backends.registry import BACKENDS, find_backend
from tenbin.cli import main
from tenbin.cli.parser import COMMANDS, build_parser
from tenbin.config import OPTIONS, build_config, lm_eval_options, read_run_file
from tenbin.errors import ConfigError
from tests.conftest import ROOT

GOLDEN: dict[str, Any] = json.loads(
    (ROOT / "tests" / "golden" / "lm_eval_options.json").read_text(encoding="utf-8")
)
MISSING = [one for one in lm_eval_options.FLAGS if one.name not in {*OPTIONS, "config"}]


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as stopped:
        main(list(arguments))
    assert stopped.value.code == 2
    return capsys.readouterr().err


def test_every_flag_of_lm_eval_is_here_or_has_a_hint() -> None:
    assert GOLDEN["version"] == "0.4.13"
    assert {one.name: one.short for one in lm_eval_options.FLAGS} == GOLDEN["flags"]
    assert all(one.here for one in lm_eval_options.FLAGS)
    known = {*OPTIONS, *GOLDEN["flags"], *(one.name for one in lm_eval_options.KEYWORDS)}
    assert set(GOLDEN["keywords"]) <= known


def test_every_command_and_model_that_a_hint_names_is_here() -> None:
    commands = {lm_eval_options.COMMANDS.get(name, name) for name in GOLDEN["commands"]}
    assert commands <= set(COMMANDS)
    assert set(lm_eval_options.MODELS.values()) <= set(BACKENDS)
    assert not set(lm_eval_options.MODELS) & set(BACKENDS)
    for model in sorted({*GOLDEN["models"]} - set(BACKENDS)):
        assert lm_eval_options.hint_for_model(model), model
    further = (*lm_eval_options.KEYWORDS, *lm_eval_options.OLDER)
    assert not {one.name for one in further} & set(OPTIONS)


def test_trackers_are_named_where_lm_eval_sends_results(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert "--export wandb" in said(capsys, "run", "--wandb_args", "project=x")
    assert "--export wandb or mlflow" in said(capsys, "run", "--trackio_args", "project=x")


def test_stop_strings_are_not_taken_for_another_setting(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["run", "--tasks", "jnli", "--gen_kwargs", 'stop=["x"]']) == 1
    message = capsys.readouterr().err
    assert "stop strings belong to the task" in message
    assert "top_p?" not in message


@pytest.mark.parametrize("flag", MISSING, ids=lambda one: one.name)
def test_a_flag_that_is_missing_here_has_a_hint(
    flag: lm_eval_options.LmEvalOption, capsys: pytest.CaptureFixture[str]
) -> None:
    for written in filter(None, (f"--{flag.name}", flag.short)):
        assert flag.here in said(capsys, "run", written, "x")


def test_flags_that_hints_name_exist() -> None:
    import re

    parser = build_parser("run")
    run = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    flags = set(run.choices["run"]._option_string_actions)
    named = {name for one in MISSING for name in re.findall(r"--[a-z_]+", one.here)}
    assert named <= flags


def test_short_flags_are_named_in_full(capsys: pytest.CaptureFixture[str]) -> None:
    assert "lm-eval's -t is --tasks here" in said(capsys, "run", "-t", "jnli")
    assert "lm-eval's -C is --config here" in said(capsys, "run", "-C", "run.yaml")


def test_an_unknown_flag_keeps_the_guess(capsys: pytest.CaptureFixture[str]) -> None:
    assert "did you mean --sample_data?" in said(capsys, "run", "--smaple_data")


def test_values_separated_by_spaces(capsys: pytest.CaptureFixture[str]) -> None:
    message = said(capsys, "run", "--tasks", "jnli", "jsquad", "marc_ja")
    assert "separate the values of --tasks by commas: jnli,jsquad" in message


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("ls", "tasks"), "lm-eval's `ls` is `tenbin tasks`"),
        (("--model", "hf"), "tenbin run --model …"),
        (("runn",), "did you mean 'run'?"),
        (("validate", "--tasks", "jnli"), "tenbin validate TASK"),
    ],
)
def test_commands(
    arguments: tuple[str, ...], hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert hint in said(capsys, *arguments)


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ({"tasks": "list"}, "`tenbin tasks"),
        ({"tasks": "list_groups"}, "`tenbin tasks"),
        ({"tasks": "jnli", "seed": "0,1234,1234,1234"}, "give the last"),
        ({"tasks": "jnli", "batch_size": "auto:4"}, "auto measures"),
        ({"tasks": "jnli", "apply_chat_template": "tool_use"}, "default template"),
        ({"tasks": "jnli", "gen_kwargs": "until=x"}, "belong to the task"),
        ({"tasks": "jnli", "gen_kwargs": '{"temperature": 0.5}'}, "instead of lm-eval's JSON"),
        ({"tasks": "jnli", "model_args": '{"pretrained": "x"}'}, "instead of lm-eval's JSON"),
        ({"tasks": "jnli", "log_samples": True}, "always stored"),
    ],
)
def test_values(given: dict[str, Any], hint: str) -> None:
    with pytest.raises(ConfigError) as refused:
        build_config(given)
    assert hint in refused.value.hint


def test_a_model_of_lm_eval() -> None:
    with pytest.raises(ConfigError, match="lm-eval's local-chat-completions is openai-chat here"):
        find_backend("local-chat-completions")


def test_a_run_file_of_lm_eval(tmp_path: Path) -> None:
    file = tmp_path / "run.yaml"
    file.write_text("tasks: [jnli]\nwandb_args: {project: x}\n")
    with pytest.raises(ConfigError, match=r"run.yaml: wandb_args: unknown key\n.*--export wandb"):
        read_run_file(file)


def test_a_keyword_of_simple_evaluate() -> None:
    with pytest.raises(ConfigError, match="seed=N seeds examples"):
        tenbin.evaluate("scripted", ["jnli"], numpy_random_seed=3)  # type: ignore[call-arg]
