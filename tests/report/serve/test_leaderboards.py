"""The leaderboard of a served folder: built once, renewed for new runs, kept from damaged ones."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tenbin.report.serve import leaderboards
from tenbin.report.serve.index import list_runs
from tenbin.report.serve.leaderboards import BoardCache
from tests.report.made_run import choice_row, config, result, write


def made(folder: Path, model: str, right: int, **changes: Any) -> Path:
    """A model that answers so many of forty documents correctly."""
    rows = []
    for at in range(40):
        value = float(at < right)
        outcome = {"metric": "acc", "value": value, "answer": "あ", "aggregation": "mean"}
        rows.append(choice_row("made", at, outcomes=[outcome], failure_kind=None, num_choices=3))
    described = {"model": {"model": model}, "fingerprint": model, **changes}
    document = result({"made": config("made")}, rows, **described)
    document["details"]["made"]["acc"]["aggregation"] = "mean"
    return write(folder, document, rows)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made(tmp_path / "good", "good", 38, tags=["kept"], note="the good one")
    made(tmp_path / "bad", "bad", 4)
    return tmp_path


def settled(cache: BoardCache) -> dict[str, Any]:
    """The answer once nothing is being built any more."""
    for _ in range(3_000):
        told: dict[str, Any] = json.loads(cache.answer(""))
        if told["board"] and not told["doing"]:
            return told
        time.sleep(0.02)
    raise AssertionError("it is still being built")


def test_scores_and_ranks(root: Path) -> None:
    cache = BoardCache(root)
    told = settled(cache)
    report = told["board"]["report"]
    assert told["ranked"] and [one["name"] for one in report["models"]] == ["good", "bad"]
    assert report["models"][0]["runs"][0]["tags"] == ["kept"]
    assert report["columns"][0]["chance"] == pytest.approx(1 / 3)
    assert [row[0]["rank_low"] for row in report["cells"]] == [1, 2]
    assert json.loads(cache.answer(told["mark"]))["board"] is None, "the page has it already"


def test_only_new_runs_are_read(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    honest = leaderboards.read_documents
    monkeypatch.setattr(
        leaderboards, "read_documents", lambda source, wanted: read.append(source.name)
        or honest(source, wanted),
    )  # fmt: skip
    cache = BoardCache(root)
    before = settled(cache)
    assert sorted(read) == ["bad", "good"]
    made(root / "third", "third", 20)
    after = json.loads(cache.answer(before["mark"]))
    while after["doing"] or after["mark"] == before["mark"]:
        time.sleep(0.02)
        after = json.loads(cache.answer(before["mark"]))
    assert sorted(read) == ["bad", "good", "third"]
    assert len(after["board"]["report"]["models"]) == 3


def test_damaged_runs_are_named_and_left_out(root: Path) -> None:
    for name in ("cut", "gone"):
        made(root / name, name, 30)
    (root / "cut" / "samples.parquet").write_bytes(b"PAR1 and no more")
    (root / "gone" / "samples.parquet").unlink()
    (root / "worse").mkdir()
    (root / "worse" / "result.json").write_text("{")
    report = settled(BoardCache(root))["board"]["report"]
    assert [one["name"] for one in report["models"]] == ["good", "bad"]
    assert set(report["unread"]) >= {"cut", "gone"}
    assert str(root) not in json.dumps(report), "no folder of this machine is told"


def test_a_folder_without_a_score_says_so(tmp_path: Path) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "result.json").write_text("{")
    told = settled(BoardCache(tmp_path))
    assert "no score" in told["board"]["error"]


def test_the_list_has_headlines_tags_and_notes(root: Path) -> None:
    rows = {row["name"]: row for row in list_runs(root)}
    (score,) = rows["good"]["scores"]
    assert (score["id"], score["name"], score["value"]) == ("made", "acc", 0.95)
    assert rows["good"]["tags"] == ["kept"] and rows["good"]["note"] == "the good one"
    assert rows["bad"]["tags"] == [] and rows["bad"]["note"] == ""
