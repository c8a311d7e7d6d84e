"""One declaration per option: flags, run files, keywords and documentation agree with it."""

from __future__ import annotations

import argparse
import importlib.util
import inspect
import pickle
from types import ModuleType
from typing import Any, get_type_hints

import pytest

from tenbin.cli.parser import COMMANDS, build_parser
from tenbin.config import (
    OPTIONS,
    RunConfig,
    build_config,
    read_run_file,
    repeating_flags,
    show_in_signature,
)
from tenbin.config.run_options import RunOptions
from tenbin.errors import ConfigError
from tenbin.files.yaml_text import read_yaml, write_yaml
from tenbin.pipeline.record import run_file
from tests.conftest import ROOT

GIVEN: dict[str, str] = {
    "tasks": "jnli,jsquad", "suite": "jp_stable", "model": "scripted",
    "model_args": "pretrained=x,max_length=9",
    "template": "0.3", "templates": "0.1,0.2", "formats": "7", "chat_formats": "true",
    "exclude_formats": "language=english", "num_fewshot_sweep": "0,3", "seeds": "2",
    "rotations": "true", "rotated_share": "0.05", "select_on": "train:20",
    "budget": "4x", "then": "best:3",
    "num_fewshot": "2,3", "limit": "5,0.5", "until": "decided",
    "against": "other.json", "seed": "7",
    "batch_size": "4", "dtype": "float32", "device": "cpu", "encoding": "separate",
    "apply_chat_template": "true", "system_instruction": "短く", "system_prompt": "短く",
    "chat_template_args": "enable_thinking=false", "fewshot_as_multiturn": "true",
    "fewshot": "fixed", "gen_kwargs": "temperature=0.5,top_k=3", "repeats": "2", "thinking": "on",
    "thinking_budget": "100", "extra_metrics": "acc_pmi", "data_dir": "rows",
    "sample_data": "true", "data_versions": "jglue=1.3", "split": "test",
    "skip_missing": "true", "offline": "true",
    "include_path": "a,b", "allow_outside_files": "true", "trust_tasks": "true",
    "profile": "tenbin", "output_path": "r.json", "overwrite": "true", "export": "mlflow",
    "export_args": "experiment=e", "tags": "one,two", "note": "what it is", "cache_dir": "c",
    "no_cache": "true",
    "workers": "2", "ray_address": "auto", "num_gpus": "0.5", "num_cpus": "2", "shard_size": "9",
}  # fmt: skip
"""A value of every option, as a command line has it."""


def flags(command: str) -> dict[str, argparse.Action]:
    parser = build_parser(command)
    chosen = parser._subparsers._group_actions[0].choices[command]  # type: ignore[union-attr, index]
    found = {action.dest: action for action in chosen._actions}
    for action in chosen._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                found |= {one.dest: one for one in below._actions}
    return found


def test_every_field_of_a_run_is_an_option() -> None:
    assert list(OPTIONS) == list(RunConfig.__annotations__) == list(GIVEN)
    assert list(vars(RunConfig())) == list(OPTIONS)
    for option in OPTIONS.values():
        assert option.help and not option.help.endswith("."), option.name
        assert set(option.commands) <= set(COMMANDS), option.name
        assert bool(option.metavar) != option.kind.is_switch, option.name


def test_a_config_is_frozen_and_has_no_other_options() -> None:
    config = RunConfig(tasks=("jnli",), seed=1)
    assert config == RunConfig(tasks=("jnli",), seed=1) != config.replaced(seed=2)
    assert config.replaced(seed=2).tasks == ("jnli",) and config.seed == 1
    assert pickle.loads(pickle.dumps(config)) == config
    assert config.model_args is not RunConfig().model_args, "a mapping of its own"
    with pytest.raises(AttributeError, match="seed: a RunConfig is frozen"):
        config.seed = 3
    with pytest.raises(TypeError, match="no option sed"):
        RunConfig(sed=3)


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_have_the_flags_that_are_declared_for_them(command: str) -> None:
    found = flags(command)
    for option in OPTIONS.values():
        if command in option.commands:
            assert f"--{option.name}" in found[option.name].option_strings
            assert found[option.name].default is None, "only the declaration has a default"


@pytest.mark.parametrize("name", GIVEN)
def test_a_value_means_the_same_in_flags_run_files_and_python(name: str, tmp_path: Any) -> None:
    """What a run records of an option can be written to a run file and read back as it was."""
    parsed = OPTIONS[name].kind.parse(GIVEN[name])
    assert parsed != OPTIONS[name].default
    assert OPTIONS[name].kind.parse(parsed) == parsed, "values that are checked already stay"
    path = tmp_path / "run.yaml"
    plain = list(parsed) if isinstance(parsed, tuple) else parsed
    path.write_text(write_yaml({name: plain}), encoding="utf-8")
    assert OPTIONS[name].kind.parse(read_yaml(path)[name]) == parsed


def test_defaults_are_what_a_config_has_when_nothing_is_given() -> None:
    config = build_config({"tasks": "jnli"})
    for option in list(OPTIONS.values())[1:]:
        assert getattr(config, option.name) == option.default, option.name


def test_flags_repeat_a_recorded_config() -> None:
    given = {"tasks": "jnli,jsquad", "limit": "5,0.5", "seed": 0, "model_args": "a=1,b=x y",
             "sample_data": True, "system_prompt": "短く", "workers": 2}  # fmt: skip
    config = build_config(given)
    recorded = config.recorded()
    assert "workers" not in recorded and recorded["system_prompt"] == "短く"
    words = repeating_flags(recorded, without=("tasks",), always=("encoding",))
    assert words == [
        "--model_args", "a=1,b=x y", "--limit", "5,0.5", "--seed", "0", "--encoding", "joint",
        "--sample_data",
    ]  # fmt: skip
    assert repeating_flags({"jglue_version": "1.3", "seed": 1234}) == ["--jglue_version", "1.3"]


def test_trust_is_recorded_where_it_is_given_and_no_file_can_give_it(tmp_path: Any) -> None:
    assert "trust_tasks" not in build_config({"tasks": "jnli"}).recorded()
    config = build_config({"tasks": "jnli", "trust_tasks": True})
    assert config.recorded()["trust_tasks"] is True
    assert repeating_flags(config.recorded())[-1] == "--trust_tasks"
    assert "trust_tasks" not in run_file(config)
    path = tmp_path / "run.yaml"
    path.write_text("tasks: jnli\ntrust_tasks: true\n")
    with pytest.raises(ConfigError, match="trust_tasks cannot be set in a file"):
        read_run_file(path)


@pytest.fixture(scope="module")
def writer() -> ModuleType:
    place = ROOT / "docs" / "_site" / "write_options.py"
    spec = importlib.util.spec_from_file_location("write_options", place)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_written_files_are_current(writer: ModuleType) -> None:
    assert writer.PAGE.read_text(encoding="utf-8") == writer.options_page(), "run `make options`"
    assert writer.KEYWORDS.read_text(encoding="utf-8") == writer.keyword_types(), (
        "run `make options`"
    )
    assert writer.LM_EVAL_PAGE.read_text(encoding="utf-8") == writer.lm_eval_page(), (
        "run `make options`"
    )


def test_keyword_types_agree_with_the_declarations(writer: ModuleType) -> None:
    hints = get_type_hints(RunOptions)
    assert list(hints) == [name for name in OPTIONS if name not in writer.PARAMETERS]
    for name, hint in hints.items():
        assert type(None) in hint.__args__, f"{name} takes None for its default"


def test_signatures_show_the_options() -> None:
    @show_in_signature(OPTIONS)
    def evaluate(model: str = "hf", tasks: str = "", *, write: bool = False, **options: Any) -> int:
        return len(options)

    shown = inspect.signature(evaluate).parameters
    assert list(shown)[:3] == ["model", "tasks", "write"]
    assert set(shown) == {"write", *OPTIONS}
    assert shown["seed"].default == 1234 and shown["seed"].annotation == "int | None"
    assert shown["limit"].kind is inspect.Parameter.KEYWORD_ONLY
    assert evaluate(limit=3, seed=1) == 2
