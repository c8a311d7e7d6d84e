"""Flags and run files: types, contradictions, and the pairing of numbers with tasks."""

from __future__ import annotations

from pathlib import Path

import pytest

from tenbin.config import build_config, pair_numbers, parse_model_args, read_run_file
from tenbin.errors import ConfigError


def test_the_documented_command() -> None:
    config = build_config(
        {
            "tasks": "jsquad-1.1-0.3,jcommonsenseqa-1.1-0.3,jnli-1.1-0.3,marc_ja-1.1-0.3",
            "num_fewshot": "2,3,3,3",
            "model_args": "pretrained=some/model,dtype=float32",
        }
    )
    assert config.num_fewshot == (2, 3, 3, 3)
    assert config.tasks[3] == "marc_ja-1.1-0.3"
    assert config.model_args == {"pretrained": "some/model", "dtype": "float32"}
    assert config.seed == 1234 and config.batch_size == "auto"


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("num_fewshot", "2,x", "--num_fewshot takes a whole number"),
        ("num_fewshot", "-1", "0 or more"),
        ("num_fewshot", 1.5, "whole number"),
        ("limit", "0", "above 0"),
        ("limit", "2.5", "fractions between 0 and 1"),
        ("limit", "nan", "above 0"),
        ("batch_size", "0", "auto, or a whole number above 0"),
        ("dtype", "float64", "one of: auto, float32, bfloat16, float16"),
        ("fewshot", "balanced", "one of: random, fixed"),
        ("sample_data", "maybe", "true or false"),
        ("model_args", "pretrained", "name=value pairs"),
        ("model_args", "a=1,a=2", "each name once"),
        ("num_fewshots", 3, "did you mean num_fewshot"),
        ("profile", "jp_stable", "unknown profile 'jp_stable'"),
    ],
)
def test_wrong_values_say_what_is_taken(key: str, value: object, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        build_config({"tasks": "jnli", key: value})
    assert message in str(caught.value)


def test_no_tasks() -> None:
    with pytest.raises(ConfigError, match="no tasks were named"):
        build_config({})


def test_model_args_may_hold_equals_signs() -> None:
    assert parse_model_args("pretrained=a=b,revision=main") == {
        "pretrained": "a=b",
        "revision": "main",
    }


def test_run_file_and_unknown_key(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text("tasks: [jnli, jsquad]\nnum-fewshot: [3, 2]\nlimit: 0.1\n", encoding="utf-8")
    assert read_run_file(path) == {
        "tasks": ("jnli", "jsquad"),
        "num_fewshot": (3, 2),
        "limit": (0.1,),
    }
    path.write_text("task: jnli\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"run.yaml: task: unknown key\n.*did you mean tasks"):
        read_run_file(path)
    path.write_text("- jnli\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="a mapping of keys"):
        read_run_file(path)


def test_profile_settles_and_refuses_contradiction() -> None:
    config = build_config({"tasks": "jnli", "profile": "jp-stable"})
    assert (config.seed, config.encoding, config.profile_settings.add_bos) == (
        42,
        "separate",
        False,
    )
    with pytest.raises(ConfigError, match="profile jp-stable sets seed to 42, not 7"):
        build_config({"tasks": "jnli", "profile": "jp-stable", "seed": 7})
    with pytest.raises(ConfigError, match="sets encoding to separate"):
        build_config({"tasks": "jnli", "profile": "jp-stable", "encoding": "joint"})
    with pytest.raises(ConfigError, match="--fewshot fixed is not possible"):
        build_config({"tasks": "jnli", "profile": "jp-stable", "fewshot": "fixed"})


def test_profile_lm_eval_makes_turns_of_examples_and_leaves_the_seed_to_the_user() -> None:
    given = {"tasks": "jnli", "profile": "lm-eval"}
    assert (build_config(given).seed, build_config({**given, "seed": 7}).seed) == (1234, 7)
    assert not build_config(given).fewshot_as_multiturn
    chat = {**given, "apply_chat_template": True}
    assert build_config(chat).fewshot_as_multiturn
    assert not build_config({**chat, "fewshot_as_multiturn": False}).fewshot_as_multiturn
    with pytest.raises(ConfigError, match="profile lm-eval sets encoding to joint"):
        build_config({**given, "encoding": "separate"})
    with pytest.raises(ConfigError, match="--fewshot fixed is not possible"):
        build_config({**given, "fewshot": "fixed"})


def test_numbers_pair_with_entries() -> None:
    assert pair_numbers("limit", (), ["a", "b"]) == [None, None]
    assert pair_numbers("limit", (3,), ["a", "b"]) == [3, 3]
    assert pair_numbers("limit", (3, 4), ["a", "b"]) == [3, 4]
    with pytest.raises(ConfigError) as caught:
        pair_numbers("num_fewshot", (2, 3), ["jsquad-1.1-0.3", "jnli", "marc_ja"])
    message = str(caught.value)
    assert "--num_fewshot gives 2 numbers for 3 entries" in message
    assert "jsquad-1.1-0.3  2\n" in message
    assert "marc_ja         (no number)" in message


def test_a_suites_version_has_a_short_form(tmp_path: Path) -> None:
    assert build_config({"tasks": "jnli"}).data_versions == {}
    for given in ({"data_versions": "jglue=1.3"}, {"jglue_version": 1.3}, {"jglue-version": "1.3"}):
        assert build_config({"tasks": "jnli", **given}).data_versions == {"jglue": "1.3"}
    both = {"data_versions": {"other": "2"}, "jglue_version": "1.3"}
    assert build_config({"tasks": "jnli", **both}).data_versions == {"other": "2", "jglue": "1.3"}
    with pytest.raises(ConfigError, match="each name once"):
        build_config({"tasks": "jnli", "data_versions": "jglue=1.1", "jglue_version": "1.3"})
    path = tmp_path / "run.yaml"
    path.write_text("tasks: jnli\njglue_version: '1.1'\n", encoding="utf-8")
    assert read_run_file(path)["data_versions"] == {"jglue": "1.1"}
