"""Completion in real shells: what Tab offers, as the shells themselves compute it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tenbin.cli.completion_scripts import WRITERS
from tenbin.cli.completion_words import all_words, suite_names, task_ids, task_names
from tenbin.cli.parser import COMMANDS
from tests.conftest import ROOT

BASH = """
source "$1"
COMP_WORDS=("${@:2}")
COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))
_tenbin
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def shells(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the scripts, and a `tenbin` that shells can call."""
    folder = tmp_path_factory.mktemp("shells")
    words = all_words()
    for name, write in WRITERS.items():
        (folder / f"completion.{name}").write_text(write(words), encoding="utf-8")
    program = folder / "tenbin"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m tenbin "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return folder


def _called(folder: Path, *command: str) -> list[str]:
    paths = {"PATH": f"{folder}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, env={**os.environ, **paths}
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return [line for line in done.stdout.splitlines() if line]


def _bash(folder: Path, *words: str) -> list[str]:
    script = str(folder / "completion.bash")
    return _called(folder, "bash", "--norc", "-c", BASH, "bash", script, "tenbin", *words)


def _fish(folder: Path, line: str) -> list[str]:
    script = f"source {folder}/completion.fish; complete -C '{line}'"
    return [one.split("\t")[0] for one in _called(folder, "fish", "--no-config", "-c", script)]


needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
needs_fish = pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
needs_zsh = pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")


@needs_bash
def test_bash_completes_commands_and_flags(shells: Path) -> None:
    assert set(COMMANDS) <= set(_bash(shells, ""))
    assert _bash(shells, "lead") == ["leaderboard"]
    assert _bash(shells, "run", "--num_few") == ["--num_fewshot"]
    assert _bash(shells, "sweep", "--num_few") == ["--num_fewshot", "--num_fewshot_sweep"]
    assert _bash(shells, "compare", "--num_few") == []


@needs_bash
def test_bash_completes_what_flags_take(shells: Path) -> None:
    assert "float32" in _bash(shells, "run", "--dtype", "")
    assert _bash(shells, "run", "--dtype", "=", "bf") == ["bfloat16"]
    assert "openai-chat" in _bash(shells, "run", "--model", "open")
    assert "jp-stable" in _bash(shells, "run", "--profile", "jp")
    assert _bash(shells, "leaderboard", "--by", "l") == ["language"]
    assert _bash(shells, "run", "--sample_data", "f") == ["false"]


@needs_bash
def test_bash_completes_tasks_one_after_the_other(shells: Path) -> None:
    offered = _bash(shells, "run", "--tasks", "jcommonsenseq")
    assert offered == [one for one in task_names() if one.startswith("jcommonsenseq")]
    assert "mlogiqa_mcq" in _bash(shells, "run", "--tasks", "mlogiqa_")
    after = _bash(shells, "run", "--tasks", "jnli,jcommonsenseq")
    assert after == [f"jnli,{one}" for one in offered]
    ids = _bash(shells, "run", "--tasks", "jnli-1.3")
    assert ids == [one for one in task_ids() if one.startswith("jnli-1.3")] != []
    assert _bash(shells, "run", "--suite", "")[: len(suite_names())] == suite_names()
    assert "jnli" in _bash(shells, "validate", "jnl")


@needs_bash
def test_bash_completes_actions_and_their_flags(shells: Path) -> None:
    assert _bash(shells, "journal", "") == ["show", "check", "repair", "prune"]
    assert "--older_than" in _bash(shells, "journal", "prune", "--ol")
    assert "jnli" in _bash(shells, "data", "fetch", "jnl")


@needs_fish
def test_fish_completes_commands_flags_and_tasks(shells: Path) -> None:
    assert _fish(shells, "tenbin lead") == ["leaderboard"]
    assert _fish(shells, "tenbin run --num_few") == ["--num_fewshot"]
    assert _fish(shells, "tenbin run --dtype bf") == ["bfloat16"]
    assert "jnli,mlogiqa_mcq" in _fish(shells, "tenbin run --tasks jnli,mlogiqa_m")
    assert {"show", "prune"} <= set(_fish(shells, "tenbin journal "))
    assert _fish(shells, "tenbin journal prune --old") == ["--older_than"]


ZSH = r"""
autoload -U compinit && compinit -u -D
source "$1"
# What the function offers, without a terminal: compadd prints its words.
compadd() { while [[ $1 != -- ]]; do shift; done; shift; print -l -- "$@" }
compset() {
  case "$2" in
    ('*,') PREFIX=${PREFIX##*,} ;;
    ('*=') PREFIX=${PREFIX#*=} ;;
  esac
}
_describe() { print -l -- ${(P)2} }
words=("${@:2}"); CURRENT=$#words; PREFIX=${words[-1]}
_tenbin
"""


def _zsh(folder: Path, *words: str) -> list[str]:
    script = str(folder / "completion.zsh")
    return _called(folder, "zsh", "-f", "-c", ZSH, "zsh", script, "tenbin", *words)


@needs_zsh
def test_zsh_completes_commands_flags_and_tasks(shells: Path) -> None:
    assert "leaderboard" in {one.partition(":")[0] for one in _zsh(shells, "")}
    assert "--num_fewshot" in _zsh(shells, "run", "--num")
    assert "bfloat16" in _zsh(shells, "run", "--dtype", "")
    assert "bfloat16" in _zsh(shells, "run", "--dtype=b")
    assert {"jnli", "mlogiqa_mcq"} <= set(_zsh(shells, "run", "--tasks", "jnli,m"))
    assert "jnli-1.3-0.2" in _zsh(shells, "run", "--tasks", "jnli-1")
    assert _zsh(shells, "journal", "") == ["show", "check", "repair", "prune"]
