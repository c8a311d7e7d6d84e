"""What a run would ask, without asking it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tenbin.cli import main
from tenbin.config import build_config
from tenbin.errors import ConfigError
from tenbin.pipeline.dry_run import DryRun, dry_run
from tenbin.pipeline.progress import Listener
from tenbin.pipeline.run import execute
from tenbin.pipeline.sweep import swept_config


@pytest.fixture(autouse=True)
def _own_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENBIN_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


def config(**options: Any) -> Any:
    return build_config({"model": "scripted", "tasks": "jnli", "sample_data": True, **options})


def found(**options: Any) -> DryRun:
    return dry_run(config(**options), Listener())


def test_documents_and_requests_are_those_of_the_run() -> None:
    one = found(tasks="jnli,mlogiqa_gen_ja", num_fewshot=2, limit=5)
    assert [(task.documents, task.shots) for task in one.tasks] == [(5, 2), (5, 2)]
    assert (one.requests, one.known) == (10, 0)
    # Characters are the tokens of this model; each prompt is longer than its share.
    assert 0 < one.distinct_tokens < one.prompt_tokens
    assert one.counted == "counted with the model's tokenizer"
    assert one.answer_tokens == 5 * 256


def test_nothing_is_written(tmp_path: Path) -> None:
    found()
    assert not (tmp_path / "runs").exists()
    assert not list(tmp_path.rglob("*.sqlite"))


def test_what_the_journal_knows_is_not_asked_again() -> None:
    execute(config(limit=4), Listener())
    one = found(limit=6)
    assert (one.requests, one.known) == (6, 4)
    done = found(limit=4)
    assert (done.known, done.prompt_tokens, done.seconds) == (4, 0, 0.0)
    assert found(limit=6, no_cache=True).known == 0


def test_time_comes_from_an_earlier_run_of_the_same_model() -> None:
    slow = {"delay": 0.02}
    finished = execute(config(limit=4, model_args=slow), Listener())
    one = found(limit=12, model_args=slow)
    assert finished.folder is not None
    assert one.seconds is not None and one.seconds >= 8 * 0.02
    assert str(finished.folder.path.name) in one.rate
    assert found(limit=12, model_args={"delay": 0.5}).known in (0, 4)


def test_shared_beginnings_are_counted_once() -> None:
    fixed = found(num_fewshot=3, fewshot="fixed")
    drawn = found(num_fewshot=3)
    assert fixed.distinct_tokens < drawn.distinct_tokens / 2


def test_a_model_that_is_not_there_leaves_an_estimate() -> None:
    one = found(model="hf", model_args={"pretrained": "/no/such/model-8B"})
    assert one.known is None and one.requests == 18
    assert "estimated" in one.counted
    assert any("/no/such/model-8B" in notice for notice in one.notices)
    assert one.seconds is not None and "8B parameters by its name" in one.rate


def test_prices_give_a_cost_without_a_server() -> None:
    arguments = {
        "base_url": "http://127.0.0.1:9/v1", "model": "x",
        "price_input": 2.0, "price_output": 10.0, "currency": "EUR",
    }  # fmt: skip
    one = found(model="openai-chat", tasks="mlogiqa_gen_ja", limit=2, model_args=arguments)
    assert one.cost == pytest.approx((2 * one.prompt_tokens + 10 * one.answer_tokens) / 1e6)
    assert one.currency == "EUR"


def test_a_sweep_counts_all_templates() -> None:
    one = dry_run(swept_config(config(limit=2)), Listener())
    assert len(one.tasks) == 5 and one.requests == 10


def test_faults_are_those_of_the_run() -> None:
    with pytest.raises(ConfigError, match="--template auto"):
        found(template="auto")


def test_the_command_prints_it_and_exits_with_0(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["run", "--model", "scripted", "--tasks", "jnli", "--sample_data", "--dry_run"]
    assert main(given) == 0
    text = capsys.readouterr().out
    assert "requests 18, none in the journal; 18 to ask" in text
    assert main([*given, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["requests"] == 18
    assert main([*given[:-1], "--json"]) == 1
    assert "--json is about --dry_run" in capsys.readouterr().err
