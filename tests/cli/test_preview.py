"""What `tenbin preview` shows of prompts that lm-eval's task files make."""

from __future__ import annotations

import pytest

from tenbin.backends.scripted import CharacterTokenizer
from tenbin.cli.preview import _print_text, preview_row
from tests.prompts.test_lm_eval import WINOGRANDE, prompts_of, row, task_of


def test_several_inputs_are_all_shown(capsys: pytest.CaptureFixture[str]) -> None:
    (prompt,) = prompts_of(task_of(**WINOGRANDE), row(question="who", answer=1, rest="came."))
    shown = preview_row(prompt, CharacterTokenizer(8))
    assert shown["contexts"] == ["who a", "who b"]
    assert shown["continuations"] == [" came."]
    assert shown["tokens"]["overflow"] == 3
    _print_text(prompt, CharacterTokenizer(8))
    text = capsys.readouterr().out
    assert "who a" in text and "who b" in text and "behind input 2 it is right" in text


def test_every_right_choice_is_marked(capsys: pytest.CaptureFixture[str]) -> None:
    task = task_of(choices=("a", "b", "c"), target="golds")
    (prompt,) = prompts_of(task, row(question="which", golds=[0, 2]))
    _print_text(prompt, None)
    marked = [line for line in capsys.readouterr().out.splitlines() if "→" in line]
    assert marked == ["scored → ' a'", "scored → ' c'"]


def test_one_given_answer_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    task = task_of("loglikelihood", target="{{' ' + answer}}")
    (prompt,) = prompts_of(task, row(question="the", answer="end"))
    _print_text(prompt, CharacterTokenizer())
    assert "scored → ' end'" in capsys.readouterr().out
