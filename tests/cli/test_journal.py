"""`tenbin journal` as a user sees it."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tenbin.cli import main
from tenbin.journal.store import Journal
from tenbin.results.read import read_run
from tests.journal.made import COUNT, answer_all, answer_to, journal_file

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def path(cache: Path) -> Path:
    """A journal in the default cache folder."""
    answer_all(cache / "journal")
    return journal_file(cache / "journal")


def run(capsys: Captured, *arguments: str) -> tuple[int, str, str]:
    code = main(["journal", *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_show_lists_all_or_tells_of_one(path: Path, capsys: Captured) -> None:
    code, out, _ = run(capsys, "show")
    assert code == 0 and path.stem[:8] in out and f"{COUNT}" in out and "made" in out
    code, out, _ = run(capsys, "show", path.stem[:5])
    assert code == 0 and str(path) in out and "12 parameters" in out and "a-model" in out
    code, out, err = run(capsys, "show", "nothing")
    assert code == 1 and "no such journal" in err


def test_show_of_an_empty_cache(cache: Path, capsys: Captured) -> None:
    for action in ("show", "check"):
        code, out, _ = run(capsys, action)
        assert code == 0 and "no journals in" in out


def test_check_repair_and_check_again(path: Path, capsys: Captured) -> None:
    assert run(capsys, "check")[:2] == (0, f"✓ {path.name}: {COUNT} answers are intact\n")
    content = bytearray(path.read_bytes())
    content[2 * 4096 : 2 * 4096 + 50] = bytes(50)
    path.write_bytes(content)
    code, out, err = run(capsys, "check")
    assert code == 1 and out.startswith(f"✗ {path.name}") and "journal repair" in out and not err
    code, out, _ = run(capsys, "show")
    assert code == 0 and "damaged" in out
    code, out, _ = run(capsys, "repair", str(path))
    assert code == 0 and "answers were saved" in out and ".damaged" in out
    assert run(capsys, "check")[0] == 0
    assert "damaged files kept by repairs: 1" in run(capsys, "show")[1]
    assert f"{path}.damaged" in run(capsys, "prune", "--damaged")[1].replace("\n", "")
    assert "removed" in run(capsys, "prune", "--damaged", "--yes")[1]
    assert "nothing to remove" in run(capsys, "prune", "--damaged", "--yes")[1]


def test_prune_removes_nothing_unless_told(path: Path, capsys: Captured) -> None:
    code, out, _ = run(capsys, "prune", "--max_size", "0")
    assert code == 0 and path.stem[:8] in out and "nothing was removed; --yes" in out
    assert "nothing was removed" in run(capsys, "prune", "--max_size", "0", "--dry_run")[1]
    assert path.exists()
    code, out, _ = run(capsys, "prune", "--max-size", "0", "--yes")
    assert code == 0 and f"removed {path}" in out and not path.exists()


@pytest.mark.parametrize(
    "flags", [(), ("--damaged", "--model", "x"), ("--older_than", "soon"), ("--max_size", "-1")]
)
def test_prune_wants_conditions_it_understands(
    path: Path, capsys: Captured, flags: tuple[str, ...]
) -> None:
    code, _, err = run(capsys, "prune", *flags, "--yes")
    assert code == 1 and "→" in err and path.exists()


def test_a_journal_in_use_is_refused(path: Path, capsys: Captured) -> None:
    going_on = Journal(path.parent, "a-model")
    assert "in use now" in run(capsys, "show")[1]
    assert run(capsys, "check")[0] == 0
    code, _, err = run(capsys, "repair", path.stem)
    assert code == 1 and "is used by a run that is going on" in err
    code, out, _ = run(capsys, "prune", "--max_size", "0", "--yes")
    assert code == 0 and "nothing to remove" in out and path.exists()
    going_on.close()


def test_names_out_of_a_file_cannot_move_the_cursor(cache: Path, capsys: Captured) -> None:
    journal = Journal(cache / "journal", "evil \x1b[2J")
    source = journal.add_source({"model": "\x1b]0;title\x07", "engine": {"name": "[red]x"}})
    journal.write([("k", answer_to("00000001"))], source)
    journal.close()
    for arguments in (("show",), ("show", journal.path.stem)):
        out = run(capsys, *arguments)[1]
        assert "\x1b" not in out and "\x07" not in out and "[red]x" in out


def test_unknown_flags_of_an_action_are_guessed_at(capsys: Captured) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["journal", "prune", "--oldr_than", "3d"])
    assert ended.value.code == 2
    assert "did you mean --older_than?" in capsys.readouterr().err


def test_a_run_on_a_journal_with_flipped_bits(tmp_path: Path, capsys: Captured) -> None:
    """The whole command: the same result, or one error and the same result after a repair."""
    output = tmp_path / "result.json"
    arguments = ["run", "--model", "scripted", "--tasks", "marc_ja", "--sample_data", "--limit"]
    arguments += ["6", "--cache_dir", str(tmp_path), "--output_path", str(output)]
    assert main(arguments) == 0
    expected = _result(output)
    path = journal_file(tmp_path / "journal")
    whole, chance = path.read_bytes(), random.Random(12)
    ended: Counter[str] = Counter()
    for _ in range(10):
        content = bytearray(whole)
        content[chance.randrange(len(whole))] ^= 1 << chance.randrange(8)
        path.write_bytes(content)
        capsys.readouterr()
        code = main(arguments)
        said = capsys.readouterr().err
        assert "Traceback" not in said
        if code:
            assert "tenbin journal repair" in said
            assert main(["journal", "repair", str(path), "--cache_dir", str(tmp_path)]) == 0
            assert main(arguments) == 0
        ended["error" if code else "asked again" if "damaged" in said else "same"] += 1
        assert _result(output) == expected
    assert ended["asked again"] and ended["same"], ended


def _result(path: Path) -> Any:
    document = json.loads(path.read_text(encoding="utf-8"))
    names = ("results", "details", "model", "engine", "answered_by", "failures", "prompts")
    return {name: document[name] for name in names}, list(read_run(path).samples())
