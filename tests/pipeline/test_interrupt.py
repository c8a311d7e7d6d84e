"""SIGINT, SIGTERM and SIGHUP at every stage: five seconds, a message, a state, a partial result."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
import yaml

import tenbin
from tenbin.backends.scripted import ScriptedBackend
from tenbin.cli import main
from tenbin.errors import ConfigError, ResultError
from tenbin.pipeline import interrupt as stopping
from tenbin.pipeline.many_models import run as running
from tests.stopped import family, start, stop, wait_for, wait_for_end

SECONDS = 30.0
"""Against a hang: everything here would go on for a minute or more unless it is stopped. Five
seconds are promised, and kept by a clock; how long a busy machine takes is no matter of tests."""
RUN = ["run", "--model", "scripted", "--sample_data", "--output_path", "r.json"]
SLOW = ["--tasks", "jnli,jcommonsenseqa", "--model_args", "delay=0.1"]
ANSWERED = 5
STUCK = f"""
import hashlib
from tenbin.backends.scripted import ScriptedBackend
delay_or_die = ScriptedBackend._delay_or_die
def stuck(self, request):
    if self.answered == {ANSWERED}:
        open("stuck", "w").close()
        # Minutes outside the interpreter, as when a library computes: no signal is heard there.
        hashlib.pbkdf2_hmac("sha256", b"a", b"b", 2_000_000_000)
    delay_or_die(self, request)
ScriptedBackend._delay_or_die = stuck
"""


def slow_at(place: str, name: str, after: int = 0) -> str:
    """Code that makes a function slow from some call on, and leaves a mark when it is."""
    return f"""
import time
import {place} as module
original, calls = module.{name}, 0
def slow(*arguments, **options):
    global calls
    calls += 1
    if calls > {after}:
        open("slow", "w").close()
        time.sleep(0.2)
    return original(*arguments, **options)
module.{name} = slow
"""


def state(folder: Path) -> dict[str, Any]:
    found = json.loads((folder / "r.run" / "progress.json").read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


def answered(folder: Path) -> int:
    try:
        return int(state(folder)["answered"])
    except (OSError, ValueError):
        return 0


def partials(folder: Path) -> list[Path]:
    return list(folder.rglob("*.partial"))


def goes_on_to_the_same(folder: Path, tasks: str = "jnli") -> None:
    """The same settings again end as a run that nobody stopped, down to the bytes."""
    given = {"tasks": tasks, "sample_data": True, "cache_dir": str(folder / "cache")}
    path = folder / "r.json"
    again = tenbin.evaluate("scripted", output_path=str(path), **given)
    whole = tenbin.evaluate(
        "scripted", output_path=str(folder / "undisturbed.json"), no_cache=True, **given
    )
    stored = tenbin.load_run(path)
    assert stored.document["partial"] is False and not (folder / "r.run" / "progress.json").exists()
    assert again.document["answers_from_journal"] > 0
    assert stored.scores == whole.scores and stored.samples == whole.samples
    assert stored.document["samples"] == whole.document["samples"], "the same bytes"
    assert not partials(folder), "what was left half written was taken away"


@pytest.mark.parametrize(
    ("sent", "code", "word"),
    [
        (signal.SIGINT, 130, "interrupted"),
        (signal.SIGTERM, 143, "ended by SIGTERM"),
        (signal.SIGHUP, 129, "ended by SIGHUP"),
    ],
)
def test_while_asking(tmp_path: Path, sent: signal.Signals, code: int, word: str) -> None:
    process = start([*RUN, *SLOW], tmp_path, _OFTEN)
    wait_for(lambda: answered(tmp_path) >= ANSWERED, process)
    took, said = stop(process, sent)
    assert process.returncode == code and took < SECONDS
    assert f"tenbin: {word}; a partial result of " in said and "continues from here" in said
    assert "Traceback" not in said
    assert state(tmp_path)["state"] == "stopped" and not partials(tmp_path)
    run = tenbin.load_run(tmp_path / "r.json")
    assert run.document["partial"] is True
    counts = run.document["n-samples"].values()
    assert ANSWERED <= sum(n["effective"] for n in counts) == len(run.samples) < 38
    assert sum(n["asked"] for n in counts) == 38
    assert run.document["warnings"][0].startswith("partial: the run was stopped; scores rest on")
    goes_on_to_the_same(tmp_path, "jnli,jcommonsenseqa")


_OFTEN = "import tenbin.pipeline.partial_scores as module\nmodule._SECONDS_BETWEEN = 0.0\n"


def test_while_a_library_computes(tmp_path: Path) -> None:
    process = start([*RUN, "--tasks", "jnli"], tmp_path, STUCK)
    wait_for((tmp_path / "stuck").exists, process)
    took, said = stop(process, signal.SIGTERM)
    assert process.returncode == 143 and took < SECONDS
    assert f"a partial result of {ANSWERED} documents is at r.json" in said
    assert state(tmp_path)["state"] == "stopped" and not partials(tmp_path)
    run = tenbin.load_run(tmp_path / "r.json")
    assert run.document["partial"] is True and len(run.samples) == ANSWERED
    goes_on_to_the_same(tmp_path)


def test_while_a_model_loads(tmp_path: Path) -> None:
    load = "from tenbin.backends.scripted import ScriptedBackend as B\nimport time\n"
    load += (
        "def run(self, requests):\n    open('slow', 'w').close()\n    time.sleep(60)\n    yield\n"
    )
    process = start([*RUN, "--tasks", "jnli"], tmp_path, f"{load}B.run = run\n")
    wait_for((tmp_path / "slow").exists, process)
    took, said = stop(process, signal.SIGTERM)
    assert process.returncode == 143 and took < SECONDS and "ended by SIGTERM; every" in said
    assert state(tmp_path)["state"] == "stopped" and not (tmp_path / "r.json").exists()


def test_while_judging(tmp_path: Path) -> None:
    process = start(
        [*RUN, "--tasks", "jnli"], tmp_path, slow_at("tenbin.pipeline.judge", "judge", 5)
    )
    wait_for((tmp_path / "slow").exists, process)
    took, _ = stop(process, signal.SIGTERM)
    assert process.returncode == 143 and took < SECONDS
    assert state(tmp_path)["state"] == "stopped"
    goes_on_to_the_same(tmp_path)


def test_while_writing_the_result_is_finished(tmp_path: Path) -> None:
    code = slow_at("tenbin.pipeline.finish", "make_sample", 2)
    process = start([*RUN, "--tasks", "jnli", "--limit", "6"], tmp_path, code)
    wait_for((tmp_path / "slow").exists, process)
    took, _ = stop(process, signal.SIGTERM)
    assert process.returncode == 143 and took < SECONDS
    run = tenbin.load_run(tmp_path / "r.json")
    assert run.document["partial"] is False and len(run.samples) == 6
    assert not (tmp_path / "r.run" / "progress.json").exists() and not partials(tmp_path)


def test_while_writing_for_longer_than_there_is_time(tmp_path: Path) -> None:
    code = slow_at("tenbin.pipeline.finish", "make_sample", 2).replace("sleep(0.2)", "sleep(60)")
    process = start([*RUN, "--tasks", "jnli"], tmp_path, code, patient=False)
    wait_for((tmp_path / "slow").exists, process)
    took, said = stop(process, signal.SIGHUP)
    assert process.returncode == 129 and took < SECONDS and "ended by SIGHUP" in said
    assert not (tmp_path / "r.json").exists()
    goes_on_to_the_same(tmp_path)


def test_a_second_interrupt_ends_at_once(tmp_path: Path) -> None:
    process = start([*RUN, "--tasks", "jnli"], tmp_path, STUCK)
    wait_for((tmp_path / "stuck").exists, process)
    took, said = stop(process, signal.SIGINT, signal.SIGINT)
    assert process.returncode == 130 and took < SECONDS and "interrupted" in said


def test_the_clock_keeps_what_is_promised() -> None:
    assert stopping.TAKE_OVER_SECONDS < stopping.SECONDS_TO_SAVE < stopping.LIMIT_SECONDS < 5.0
    assert running._SECONDS_TO_END < stopping.LIMIT_SECONDS


def test_a_library_that_hides_the_signal_does_not_change_its_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stopping, "_guard", None)
    assert stopping.stopped_by(KeyboardInterrupt()) == signal.SIGINT
    heard = type("Guard", (), {"number": int(signal.SIGTERM)})()
    monkeypatch.setattr(stopping, "_guard", heard)
    assert stopping.stopped_by(KeyboardInterrupt()) == signal.SIGTERM
    assert stopping.stopped_by(stopping.Stopped(signal.SIGHUP)) == signal.SIGHUP


def test_what_is_ignored_stays_ignored(tmp_path: Path) -> None:
    code = f"{_OFTEN}import signal\nsignal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
    process = start([*RUN, *SLOW, "--limit", "8"], tmp_path, code)
    wait_for(lambda: answered(tmp_path) >= 2, process)
    _, said = stop(process, signal.SIGHUP)
    assert process.returncode == 0, said


def test_a_complete_result_is_not_replaced_by_a_part_of_the_same_run(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    tenbin.evaluate(
        "scripted", "jnli,jcommonsenseqa", sample_data=True, output_path=str(path), no_cache=True
    )
    before = path.read_bytes()
    process = start([*RUN, *SLOW], tmp_path, _OFTEN)
    wait_for(lambda: answered(tmp_path) >= ANSWERED, process)
    stop(process, signal.SIGTERM)
    assert process.returncode == 143 and path.read_bytes() == before


def test_other_settings_do_not_replace_a_partial_result(tmp_path: Path) -> None:
    process = start([*RUN, *SLOW], tmp_path, _OFTEN)
    wait_for(lambda: answered(tmp_path) >= ANSWERED, process)
    stop(process, signal.SIGTERM)
    with pytest.raises(ConfigError, match=r"tasks: jcommonsenseqa-1.1-0.2, jnli-1.3-0.2 → jnli"):
        tenbin.evaluate("scripted", "jnli", sample_data=True, output_path=str(tmp_path / "r.json"))


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
def test_many_models_leave_no_process_behind(tmp_path: Path, sent: signal.Signals) -> None:
    models = [{"name": name, "model_args": f"fingerprint={name},delay=0.2"} for name in "abc"]
    file = {"model": "scripted", "tasks": "jnli", "sample_data": True, "models": models}
    (tmp_path / "m.yaml").write_text(yaml.safe_dump({**file, "models_at_once": 2}))
    process = start(["run", "--config", "m.yaml", "--output_path", "out"], tmp_path, _OFTEN)
    going = [tmp_path / "out" / f"{name}.run" / "progress.json" for name in "ab"]
    wait_for(lambda: all(_answers(one) for one in going), process)
    started = family(process)
    assert len(started) >= 3, "two runs in processes of their own"
    if sent == signal.SIGINT:
        os.killpg(process.pid, sent)  # as a terminal does
    took, said = stop(process, *([] if sent == signal.SIGINT else [sent]))
    wait_for_end(started)
    assert process.returncode == (-9 if sent == signal.SIGKILL else 128 + sent)
    assert "Traceback" not in said
    assert took < SECONDS or sent == signal.SIGKILL, "a killed process tells nobody"
    for name in "ab":
        assert tenbin.load_run(tmp_path / "out" / f"{name}.json").document["partial"] is True
    assert not (tmp_path / "out" / "c.run").exists(), "no other model was begun"


def _answers(progress: Path) -> bool:
    try:
        return int(json.loads(progress.read_text())["answered"]) > 0
    except (OSError, ValueError):
        return False


def test_python_s_own_interrupt_leaves_a_partial_result_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    def interrupted(prompt: str, continuation: str) -> float:
        nonlocal asked
        asked += 1
        if asked > 9:
            raise KeyboardInterrupt
        return -1.0

    asked = 0
    with pytest.raises(KeyboardInterrupt):
        tenbin.evaluate(
            ScriptedBackend(score=interrupted), "jnli", sample_data=True,
            output_path=str(tmp_path / "r.json"),
        )  # fmt: skip
    assert tenbin.load_run(tmp_path / "r.json").document["n-samples"]["jnli-1.3-0.2"] == {
        "original": 18,
        "effective": 3,
        "asked": 18,
    }


def test_a_partial_result_is_marked_wherever_it_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], cache: Path
) -> None:
    def stops_in(calls: int) -> ScriptedBackend:
        def score(prompt: str, continuation: str) -> float:
            nonlocal calls
            calls -= 1
            if calls < 0:
                raise KeyboardInterrupt
            return -float(len(continuation))

        return ScriptedBackend(score=score, fingerprint="partial")

    path = tmp_path / "r.json"
    given = {"sample_data": True, "output_path": str(path)}
    with pytest.raises(KeyboardInterrupt):
        tenbin.evaluate(stops_in(3 * 18 + 50), ["jnli", "jcommonsenseqa"], **given)
    assert main(["report", str(path), "-o", str(tmp_path / "report.html")]) == 0
    assert "PARTIAL: 28 of 38 answered" in capsys.readouterr().out
    assert main(["report", str(path), "--scores", "-o", str(tmp_path / "report.html")]) == 0
    shown = capsys.readouterr().out
    assert "PARTIAL: the run was stopped; scores are based on 28 of 38 documents" in shown
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert '"partial":{"answered":28,"asked":38}' in page.replace(" ", "")
    with pytest.raises(ResultError) as error:
        tenbin.compare(path, path)
    assert "partial: the run here was stopped after 10 of 20 documents" in error.value.message
    assert "partial" in error.value.hint
    assert tenbin.compare(path, path, allow=["partial"]).table()
    progress = json.loads((tmp_path / "r.run" / "progress.json").read_text())
    assert progress["state"] == "stopped"
