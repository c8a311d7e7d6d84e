"""Messages: what a terminal shows at each level, and what a file keeps."""

from __future__ import annotations

import logging
import re
from pathlib import Path

import pytest

from tenbin.cli import main
from tenbin.report.terminal.log import LOG, LogSettings, logging_as, terminal_handler

RUN = ["run", "--model", "scripted", "--tasks", "jnli", "--sample_data", "--overwrite"]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENBIN_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


def said(capsys: pytest.CaptureFixture[str], *flags: str) -> tuple[str, str]:
    assert main([*RUN, "--output_path", "r.json", *flags]) == 0
    out, err = capsys.readouterr()
    return out, err


def test_quiet_prints_the_result_alone(capsys: pytest.CaptureFixture[str]) -> None:
    out, err = said(capsys, "--quiet")
    assert "jnli-1.3-0.2" in out and "results  r.json" in out
    assert err == ""


def test_quiet_still_prints_errors(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--model", "scripted", "--tasks", "jnlo", "-q"]) == 1
    assert "tenbin: " in capsys.readouterr().err


def test_verbose_says_stage_file_engine_and_journal(capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, "-q")
    _, err = said(capsys, "-v")
    for what in ("data: validation: ", "fingerprint scripted", "knows 18 of 18", "stages: start "):
        assert what in err
    assert '"name": "scripted"' in err and "prompts: 18, in 18 requests" in err


@pytest.mark.parametrize("command", [["journal", "show"], ["data", "list", "jnli"], ["tasks", "x"]])
def test_every_command_and_action_has_the_flags(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    main([*command, "-v"])
    assert f": {command[0]}" in capsys.readouterr().err.splitlines()[0]
    main([*command, "--log_level", "error"])
    assert capsys.readouterr().err == ""


def test_the_file_has_times_messages_debug_lines_and_the_scores(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, err = said(capsys, "--log_file", "logs/run.log", "--limit", "5000")
    assert "data: validation" not in err and "--limit asks for more" in err
    lines = Path("logs/run.log").read_text(encoding="utf-8").splitlines()
    stamped = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} (DEBUG|INFO|WARNING) +tenbin")
    assert all(stamped.match(line) for line in lines)
    text = "\n".join(lines)
    assert "DEBUG   tenbin.pipeline: data: validation: " in text
    assert "WARNING tenbin: --limit asks for more" in text
    assert "INFO    tenbin.progress: 18 of 18 answered" in text
    assert re.search(r"tenbin.output: jnli-1.3-0.2 .* acc ", text)


def test_two_levels_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*RUN, "-v", "-q"]) == 1
    assert "--verbose and --quiet contradict" in capsys.readouterr().err


def test_a_file_that_cannot_be_written_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    Path("file").write_text("", encoding="utf-8")
    assert main([*RUN, "--log_file", "file/run.log"]) == 1
    assert "cannot be written" in capsys.readouterr().err


def test_a_command_leaves_the_logger_as_it_was() -> None:
    before = LOG.handlers, LOG.level, LOG.propagate
    with logging_as(LogSettings("debug")):
        assert LOG.level == logging.DEBUG and not LOG.propagate
    assert (LOG.handlers, LOG.level, LOG.propagate) == before


def test_a_program_that_handles_messages_itself_gets_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(LOG, "handlers", [own := logging.Handler()])
    monkeypatch.setattr(LOG, "level", logging.INFO)
    LOG.manager._clear_cache()  # type: ignore[attr-defined]
    seen: list[str] = []
    own.emit = lambda record: seen.append(record.getMessage())  # type: ignore[method-assign]
    assert terminal_handler() is None
    LOG.info("hello")
    assert seen == ["hello"] and capsys.readouterr().err == ""
    LOG.manager._clear_cache()  # type: ignore[attr-defined]


def test_control_characters_are_shown_and_not_obeyed(capsys: pytest.CaptureFixture[str]) -> None:
    with logging_as(LogSettings(file="x.log")):
        LOG.info("\x1b[31mred")
    assert r"\x1b[31mred" in capsys.readouterr().err
    assert r"\x1b[31mred" in Path("x.log").read_text(encoding="utf-8")
