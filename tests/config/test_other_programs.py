"""Flags of lighteval and flexeval: the error names the way here, and it exists."""

from __future__ import annotations

import re

import pytest

from tenbin.cli import main
from tenbin.cli.parser import COMMANDS
from tenbin.config import OPTIONS
from tenbin.config.lm_eval_options import FLAGS
from tenbin.config.other_programs import FOREIGN, hint_for_foreign


@pytest.mark.parametrize("name", FOREIGN)
def test_the_error_names_the_way_here(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["run", f"--{name.replace('_', '-')}", "x"])
    assert stopped.value.code == 2
    assert FOREIGN[name].here in capsys.readouterr().err


def test_flags_and_commands_that_hints_name_exist() -> None:
    for name, one in FOREIGN.items():
        assert name not in OPTIONS and name not in {flag.name for flag in FLAGS}
        for flag in re.findall(r"--([a-z_]+)", one.here):
            assert flag in OPTIONS or flag in {"report", "to"}, flag
        for command in re.findall(r"tenbin ([a-z]+) -?", one.here):
            assert command in COMMANDS or command == "sends", command


def test_keys_below_an_option_belong_to_it() -> None:
    assert "flexeval" in hint_for_foreign("language_model.model_kwargs.torch_dtype")
    assert hint_for_foreign("languages") == ""
