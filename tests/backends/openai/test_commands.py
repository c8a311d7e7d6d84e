"""Commands over a server of our own: what they print, leave behind and count."""

from __future__ import annotations

from pathlib import Path

import pytest

import tenbin
from tenbin.cli import main
from tests.backends.openai.misbehaving import Answer, Script, chat, misbehaving

PRICES = "price_input=0.001,price_output=0.001,currency=USD"


def always(text: str) -> Script:
    return lambda before, body: Answer(chat(text))


def test_a_sweep_says_what_it_took(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = str(tmp_path / "sweep.json")
    with misbehaving(always("A")) as server:
        code = main(
            ["sweep", "--model", "openai-chat",
             "--model_args", f"base_url={server.base_url},{PRICES}",
             "--tasks", "jnli-1.1", "--templates", "0.2,0.3", "--sample_data", "--limit", "2",
             "--no_cache", "--output_path", place]
        )  # fmt: skip
    shown = capsys.readouterr().out
    assert code == 0
    assert (
        "usage: 28 prompt tokens (0 cached), 12 completion tokens, 4 calls, cost 0.00000004"
        in shown
    )
    assert "letter (read out of generated text)" in shown
    assert main(["sweep", place]) == 0
    assert "usage: 28 prompt tokens" in capsys.readouterr().out
    model = tenbin.load_run(place).document["model"]
    # Whether first tokens are shown was asked by one call more.
    assert model["probe_usage"] == {
        "prompt_tokens": 7, "completion_tokens": 3, "cached_tokens": 0, "calls": 1,
    }  # fmt: skip
    assert model["traffic"]["calls"] == len(server.calls) == 5


def test_choosing_a_template_is_part_of_the_cost() -> None:
    with misbehaving(always("A")) as server:
        run = tenbin.evaluate(
            "openai-chat",
            ["jnli-1.1"],
            model_args={"base_url": server.base_url, "logprobs": "never"},
            template="auto",
            select_on="train:2",
            sample_data=True,
            limit=3,
            no_cache=True,
        )
        usage = run.document["usage"]
        assert usage["calls"] == usage["answers"] == len(server.calls) > 6
        assert usage["prompt_tokens"] == 7 * len(server.calls)
        assert "probe_usage" not in run.document["model"]  # with logprobs=never there is no probe


def test_a_run_that_never_began_leaves_no_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["run", "--model", "openai-chat", "--tasks", "mlogiqa_gen_en", "--sample_data"]
    kept = tmp_path / "kept.run"
    kept.mkdir()
    (kept / "result.json").write_text("{}")
    for place in ("kept.json", "new.json", "runs"):
        arguments = ["--output_path", str(tmp_path / place), "--model_args"]
        assert main([*given, *arguments, "base_url=http://127.0.0.1:9/v1,timeout=1"]) == 1
    assert "no server answers" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["kept.run", "result.json", "runs"]
