"""`tenbin watch` with a real model of two layers: runs, curves, kills, restarts, new names."""

from __future__ import annotations

import json
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

import tenbin
from tenbin.cli import main
from tests.stopped import start, stop, wait_for

pytestmark = pytest.mark.model
TASKS = ["--tasks", "jnli-1.3-0.2,plain_text_en", "--num_fewshot", "0", "--sample_data"]
QUICK = [
    "--once",
    "--settle",
    "0",
    "--poll",
    "1",
    "--device",
    "cpu",
    "--model_args",
    "engine=plain",
]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three checkpoints: one model whose weights move."""
    from tests.backends.tiny import make_model, make_tokenizer

    folder = tmp_path_factory.mktemp("made") / "training"
    tokenizer = make_tokenizer()
    for step in (100, 200, 300):
        model = make_model("llama", len(tokenizer), seed=step)
        model.config.max_position_embeddings = 512
        model.save_pretrained(folder / f"checkpoint-{step}")
        tokenizer.save_pretrained(folder / f"checkpoint-{step}")
    return folder


@pytest.fixture
def training(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the training; what is read of the catalogue is shared."""
    shutil.copytree(made, tmp_path / "training")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TENBIN_CACHE", str(made.parent / "cache"))
    return tmp_path / "training"


def watch(*more: str) -> int:
    return main(["watch", "training", *TASKS, *QUICK, *more])


def curve_file(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "curve.json").read_text())
    return found


def states(folder: Path) -> dict[str, str]:
    document = json.loads((folder / "watch.json").read_text())
    return {one["name"]: one["state"] for one in document["checkpoints"]}


def test_runs_curves_and_a_restart(
    training: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "runs" / "training"
    assert watch("--limit", "8", "--report") == 0
    said = capsys.readouterr()
    assert "learning curves · 3 checkpoints, steps 100 to 300" in said.out
    assert "step 300: jnli acc" in said.err and "step 100: jnli acc" in said.err
    assert (output / "report.html").stat().st_size > 50_000

    # Ordinary runs: what `tenbin run` gives is the same to the last bit.
    runs = {step: tenbin.load_run(output / f"checkpoint-{step}.json") for step in (100, 200, 300)}
    alone = tenbin.evaluate(
        model="hf",
        model_args={"pretrained": str(training / "checkpoint-200"), "engine": "plain"},
        tasks=["jnli-1.3-0.2", "plain_text_en"],
        num_fewshot=0,
        limit=8,
        sample_data=True,
        device="cpu",
        extra_metrics="gold_bits_per_byte",
        no_cache=True,
    )
    assert alone.scores == runs[200].scores
    found = curve_file(output)
    assert [one["step"] for one in found["checkpoints"]] == [100, 200, 300]
    curves = {(one["task"], one["metric"]): one for one in found["curves"]}
    assert set(curves) == {
        ("jnli", "acc"),
        ("jnli", "gold_bits_per_byte"),
        ("plain_text_en", "word_perplexity"),
    }
    bits = curves["jnli", "gold_bits_per_byte"]
    assert [point["value"] for point in bits["points"]] == [
        pytest.approx(run.scores["jnli-1.3-0.2"]["gold_bits_per_byte"]) for run in runs.values()
    ]

    # A restart runs nothing again, whatever folders are called now.
    (training / "checkpoint-200").rename(training / "step_200")
    before = {file: file.read_bytes() for file in output.glob("*.json") if "check" in file.name}
    assert watch("--limit", "8") == 0
    said = capsys.readouterr()
    assert said.err.count("it was evaluated before") == 3 and "answered" not in said.err
    assert before == {file: file.read_bytes() for file in before}
    assert states(output)["step_200"] == "evaluated"

    # Other weights under a known name are another run.
    shutil.rmtree(training / "checkpoint-300")
    shutil.copytree(training / "checkpoint-100", training / "checkpoint-300")
    config = json.loads((training / "checkpoint-300" / "config.json").read_text())
    config["rms_norm_eps"] = 1e-3
    (training / "checkpoint-300" / "config.json").write_text(json.dumps(config))
    assert watch("--limit", "8") == 0
    assert len(list(output.glob("checkpoint-300-*.json"))) == 1
    assert curve_file(output)["notes"][0].startswith("step 300: runs of 2 different models")


def test_one_process_imports_once(
    training: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Later checkpoints load their weights, and no module."""
    from tenbin.pipeline.watch.evaluation import RunEvaluator

    seen: list[set[str]] = []
    evaluate = RunEvaluator.evaluate

    def noted(self: RunEvaluator, checkpoint: Any) -> Any:
        found = evaluate(self, checkpoint)
        seen.append(set(sys.modules))
        return found

    monkeypatch.setattr(RunEvaluator, "evaluate", noted)
    assert watch("--limit", "2", "--output_path", "out") == 0
    assert len(seen) == 3 and seen[2] == seen[1]


def test_a_removed_checkpoint_is_no_end(
    training: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Gone between its tokenizer and its weights."""
    from tenbin.pipeline.watch import evaluation

    execute = evaluation.execute_cells

    def removing(config: Any, *rest: Any, **more: Any) -> Any:
        if "checkpoint-300" in str(config.model_args["pretrained"]):
            shutil.rmtree(training / "checkpoint-300")
        return execute(config, *rest, **more)

    monkeypatch.setattr(evaluation, "execute_cells", removing)
    # Without the answers of other tests, which would do without the weights.
    assert watch("--limit", "2", "--output_path", "out", "--no_cache") == 0
    assert "checkpoint-300 was removed while it was read: skipped" in capsys.readouterr().err
    assert states(tmp_path / "out") == {
        "checkpoint-100": "evaluated",
        "checkpoint-200": "evaluated",
        "checkpoint-300": "removed",
    }


SLOW = """
import time
import tenbin.pipeline.partial_scores as partial
partial._SECONDS_BETWEEN = 0.0
from tenbin.backends.hf.backend import HfBackend
take = HfBackend.run
def run(self, *given, **more):
    for one in take(self, *given, **more):
        if "200" in str(self.describe()["model"]):
            time.sleep(0.3)
        yield one
HfBackend.run = run
"""
WATCH = ["watch", "training", *TASKS, *QUICK, "--order", "oldest", "--output_path", "out"]


def answers(folder: Path) -> int:
    """Answers of the second checkpoint that are in its journal."""
    try:
        told = json.loads((folder / "out" / "checkpoint-200.run" / "progress.json").read_text())
    except (OSError, ValueError):
        return 0
    return int(told.get("answered", 0))


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGTERM])
def test_a_stopped_watch_goes_on_where_it_was(
    training: Path,
    tmp_path: Path,
    sent: signal.Signals,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TENBIN_CACHE", str(tmp_path / "cache"))
    process = start(WATCH, tmp_path, SLOW)
    wait_for(lambda: answers(tmp_path) >= 4, process)
    _, said = stop(process, sent)
    assert process.returncode == (143 if sent is signal.SIGTERM else -9)
    if sent is signal.SIGTERM:
        assert "ended by SIGTERM" in said and "the same command continues from here" in said
        assert json.loads((tmp_path / "out" / "checkpoint-200.json").read_text())["partial"]
    assert states(tmp_path / "out")["checkpoint-100"] == "evaluated"
    first = (tmp_path / "out" / "checkpoint-100.json").read_bytes()

    assert main(WATCH) == 0
    said = capsys.readouterr().err
    assert "checkpoint-100: it was evaluated before" in said
    assert (tmp_path / "out" / "checkpoint-100.json").read_bytes() == first
    again = tenbin.load_run(tmp_path / "out" / "checkpoint-200.json")
    assert again.document["answers_from_journal"] >= 4 and not again.document["partial"]
    assert [one["step"] for one in curve_file(tmp_path / "out")["checkpoints"]] == [100, 200, 300]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--model", "openai"], "--model openai loads no weights"),
        (["--template", "auto"], "--template auto would choose a template for each checkpoint"),
        (["--output_path", "out.json"], "every checkpoint has a run of its own"),
        (["--model_args", "pretrained=x,engine=plain"], "checkpoint-100 holds a whole model"),
        (["--model_args", "colour=red"], "colour"),
        (["--tasks", "no_such_task"], "no_such_task"),
        (["--pattern", "nothing-*"], "no checkpoint that could be evaluated"),
    ],
)
def test_what_cannot_work_is_said_before_a_model_loads(
    training: Path, more: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert watch(*more) == 1
    said = capsys.readouterr().err
    assert message in said and "Traceback" not in said


def test_keys_of_a_run_file_that_mean_nothing_here(
    training: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "run.yaml").write_text("until: 2\n")
    assert watch("--config", "run.yaml") == 1
    assert "until: every checkpoint is asked the same documents" in capsys.readouterr().err


def test_a_folder_that_is_not_there(training: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["watch", "trainnig", *TASKS]) == 1
    assert "trainnig: no such folder" in capsys.readouterr().err


def test_a_checkpoint_that_cannot_be_loaded_fails_alone(
    training: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (training / "checkpoint-200" / "tokenizer.json").write_text("{}")
    assert watch("--limit", "2", "--output_path", "out", "--retries", "0") == 4
    assert "checkpoint-200 failed once" in capsys.readouterr().err
    assert states(tmp_path / "out")["checkpoint-200"] == "failed"
    shutil.rmtree(training / "checkpoint-100")
    shutil.rmtree(training / "checkpoint-300")
    assert watch("--limit", "2", "--output_path", "empty", "--retries", "0") == 1


def test_a_revision_on_the_hub_is_a_checkpoint(
    training: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import huggingface_hub
    from huggingface_hub.hf_api import GitRefInfo, GitRefs

    from tenbin.pipeline.watch.training import open_training

    def refs(self: Any, repository: str) -> GitRefs:
        assert repository == "owner/name"
        names = ["main", "step0", "step1000", "step143000"]
        made = [GitRefInfo(name=one, ref=f"refs/{one}", target_commit="c") for one in names]
        return GitRefs(branches=made, converts=[], tags=[])

    monkeypatch.setattr(huggingface_hub.HfApi, "list_repo_refs", refs)
    found = open_training("owner/name", (), 0, None).look()
    assert [(one.name, one.step) for one in found.ready] == [
        ("step0", 0),
        ("step1000", 1000),
        ("step143000", 143_000),
    ]
    assert found.ready[1].arguments == {"pretrained": "owner/name", "revision": "step1000"}
    some = open_training("owner/name", ("step*000",), 0, None).look()
    assert [one.step for one in some.ready] == [1000, 143_000]
