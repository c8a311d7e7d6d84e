"""A run that is damaged, on purpose or not, is said to be so and touches no other run."""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from tenbin.report.html.model import PageSummary
from tenbin.report.html.page import Page
from tenbin.report.html.sample_blocks import Blocks
from tenbin.report.serve import pages
from tenbin.report.serve.server import Server
from tests.report.made_run import choice_row, choice_run, config, write
from tests.report.made_run import result as result_document
from tests.report.serve.test_server import ask, serve


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("served") / "runs"
    choice_run(place / "first", 12)
    choice_run(place.parent / "outside", 6)
    return place


@pytest.fixture(scope="module")
def server(root: Path) -> Iterator[Server]:
    yield from serve(root)


@pytest.fixture
def victim(root: Path) -> Iterator[Path]:
    """A good run, to be damaged."""
    path = root / "victim"
    shutil.copytree(root / "first", path)
    yield path
    shutil.rmtree(path)


def listed(server: Server) -> dict[str, Any]:
    status, _, body = ask(server, "/runs.json")
    assert status == 200

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is no JSON that a browser takes")

    runs = json.loads(body, parse_constant=refuse)["runs"]
    assert all(isinstance(run["name"], str) for run in runs)
    return {run["name"]: run for run in runs}


def opened(server: Server, *names: str) -> tuple[int, str]:
    status, headers, body = ask(server, "/report?" + urlencode([("run", name) for name in names]))
    assert headers["X-Content-Type-Options"] == "nosniff"
    return status, body.decode()


def assert_first_stands(server: Server) -> None:
    assert listed(server)["first"]["documents"] == 12
    assert opened(server, "first")[0] == 200


def edited(*where: str, value: Any) -> Callable[[Path], None]:
    """A result.json with one entry changed; `...` takes it out."""

    def damage(run: Path) -> None:
        document = json.loads((run / "result.json").read_text())
        place = document
        for name in where[:-1]:
            place = place[name]
        if value is ...:
            del place[where[-1]]
        else:
            place[where[-1]] = value
        (run / "result.json").write_text(json.dumps(document))

    return damage


def result(content: bytes) -> Callable[[Path], None]:
    return lambda run: (run / "result.json").write_bytes(content) and None


def large(run: Path) -> None:
    with (run / "result.json").open("wb") as file:
        file.truncate((64 << 20) + 1)


LISTED_AS_DAMAGED: dict[str, tuple[Callable[[Path], None], str]] = {
    "deep": (result(b"[" * 100_000), "nested too deeply"),
    "deep and whole": (result(b'{"a":' * 50_000 + b"1" + b"}" * 50_000), "nested too deeply"),
    "null": (result(b"null"), "is not an object"),
    "a list": (result(b"[1, 2]"), "is not an object"),
    "NaN": (result(b'{"schema_version": NaN}'), "not valid JSON"),
    "half": (result(b'{"schema_version": 2, "con'), "not valid JSON"),
    "nothing": (result(b""), "not valid JSON"),
    "no UTF-8": (result(b'{"model": "\xff\xfe"}'), "not valid JSON"),
    "5,000 digits": (result(b'{"a": ' + b"9" * 5_000 + b"}"), "not valid JSON"),
    "too large": (large, "larger than 64 MiB"),
    "no version": (edited("schema_version", value=...), "schema_version is None"),
    "a newer version": (edited("schema_version", value=99), "schema version 99"),
    "a version of letters": (edited("schema_version", value="2"), "schema_version is '2'"),
    "no configs": (edited("configs", value=...), "configs is not an object"),
    "configs are null": (edited("configs", value=None), "configs is not an object"),
    "configs are a list": (edited("configs", value=[1]), "configs is not an object"),
    "samples are a number": (edited("n-samples", value=7), "n-samples is not an object"),
    "a count of letters": (edited("n-samples", "made", value={"effective": "12"}), "not a number"),
    "a negative count": (edited("n-samples", "made", value={"effective": -1}), "not a count"),
    "a huge count": (edited("n-samples", "made", value={"effective": 10**30}), "can be shown"),
    "a count of 1e999": (edited("n-samples", "made", value={"effective": 1e999}), "not valid JSON"),
    "a true count": (edited("n-samples", "made", value={"effective": True}), "can be shown"),
    "not a count": (edited("n-samples", "made", value={}), "not a count"),
    "failures of letters": (edited("failures", value={"made": {"x": "many"}}), "can be shown"),
    "failures are a list": (edited("failures", value=[]), "failures is not an object"),
    "a model of parts": (edited("model", value={"model": {"a": 1}}), "model is not a name"),
    "a model that is a text": (edited("model", value="gpt"), "model is not an object"),
    "a date of parts": (edited("date", value=[1]), "date is not a name"),
    "a long date": (edited("date", value="x" * 9_999), "date is not a name"),
    "a time of letters": (edited("total_evaluation_time_seconds", value="x"), "can be shown"),
    "a huge time": (edited("total_evaluation_time_seconds", value=10**20), "can be shown"),
}


@pytest.mark.parametrize("case", LISTED_AS_DAMAGED)
def test_a_damaged_result_is_listed_with_its_reason(
    server: Server, victim: Path, case: str
) -> None:
    damage, reason = LISTED_AS_DAMAGED[case]
    damage(victim)
    row = listed(server)["victim"]
    assert row["state"] == "damaged" and reason in row["reason"]
    assert_first_stands(server)


OPENED_AS_DAMAGED: dict[str, Callable[[Path], None]] = {
    "deep": LISTED_AS_DAMAGED["deep"][0],
    "null": LISTED_AS_DAMAGED["null"][0],
    "a newer version": LISTED_AS_DAMAGED["a newer version"][0],
    "a config that is null": edited("configs", "made", value=None),
    "a config of nothing": edited("configs", "made", value={}),
    "no results": edited("results", value=...),
    "results are a text": edited("results", value="x"),
    "a score of letters": edited("results", "made", value={"acc": "x", "acc_stderr": []}),
    "no samples": lambda run: (run / "samples.parquet").unlink(),
    "empty samples": lambda run: (run / "samples.parquet").write_bytes(b"") and None,
    "garbage samples": lambda run: (run / "samples.parquet").write_bytes(b"PAR1" * 99) and None,
    "half samples": lambda run: os.truncate(run / "samples.parquet", 900),
}


@pytest.mark.parametrize("case", OPENED_AS_DAMAGED)
def test_a_damaged_run_is_not_opened(server: Server, victim: Path, case: str, root: Path) -> None:
    OPENED_AS_DAMAGED[case](victim)
    for names in (["victim"], ["first", "victim"]):
        status, said = opened(server, *names)
        assert status == 422 and "victim" in said, said
        assert len(said) < 500 and "Traceback" not in said and str(root) not in said
    assert_first_stands(server)


@pytest.mark.parametrize(
    ("where", "value"),
    [
        ("date", "\ud800"),
        ("model", {"model": [[[]]]}),
        ("warnings", 10**300),
        ("git_revision", {"a": None}),
        ("groups", True),
    ],
)
def test_whatever_a_result_holds_is_shown_or_refused(
    server: Server, victim: Path, where: str, value: Any
) -> None:
    edited(where, value=value)(victim)
    assert opened(server, "victim")[0] in (200, 422)
    assert_first_stands(server)


def other_columns(run: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"id": [1, 2], "outcomes": ["x", None]}), run / "samples.parquet")


def test_samples_of_another_shape_are_not_shown(server: Server, victim: Path) -> None:
    other_columns(victim)
    edited("samples", value=None)(victim)
    status, said = opened(server, "victim")
    assert status == 422 and "victim" in said
    assert_first_stands(server)


def test_patterns_of_a_stored_run_take_no_more_than_their_time(
    server: Server, victim: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "_LONGEST_READING", 0.0)
    chain = {"mine": [{"function": "regex", "regex_pattern": "(a+)+$"}]}
    rows = [choice_row("made", at, generated="a" * 12 + "!") for at in range(6)]
    asked = {"made": config("made", output_type="generate", filters=chain)}
    write(victim, result_document(asked, rows), rows)
    status, said = opened(server, "victim")
    assert (status, said) == (
        422,
        "victim: explaining its answers takes longer than 0 s: use tenbin report instead\n",
    )
    assert_first_stands(server)


def replaced_by_link(name: str) -> Callable[[Path], None]:
    def damage(run: Path) -> None:
        (run / name).unlink(missing_ok=True)
        (run / name).symlink_to(run.parent.parent / "outside" / name)

    return damage


@pytest.mark.parametrize("name", ["result.json", "samples.parquet"])
def test_a_file_that_is_a_link_is_not_followed(server: Server, victim: Path, name: str) -> None:
    replaced_by_link(name)(victim)
    status, said = opened(server, "victim")
    assert status == 422 and f"{name} is a symbolic link, which is not followed" in said
    if name == "result.json":
        assert "is a symbolic link" in listed(server)["victim"]["reason"]
    assert_first_stands(server)


@pytest.mark.parametrize("kind", ["pipe", "folder", "device", "loop", "nowhere"])
@pytest.mark.parametrize("name", ["result.json", "samples.parquet", "progress.json"])
def test_what_is_no_plain_file_is_not_read(
    server: Server, victim: Path, name: str, kind: str
) -> None:
    file = victim / name
    file.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(file)
    elif kind == "folder":
        file.mkdir()
    else:
        file.symlink_to({"device": "/dev/zero", "loop": name, "nowhere": "nowhere"}[kind])
    row = listed(server)["victim"]
    if name == "result.json":
        assert row["state"] == "damaged"
    if name != "progress.json":
        assert opened(server, "victim")[0] == 422
    else:
        assert row["state"] == "finished"  # the result counts
    assert_first_stands(server)


PROGRESS: dict[str, bytes] = {
    "deep": b"[" * 100_000,
    "null": b"null",
    "NaN": b'{"state": "asking", "cells": [{"scores": {"acc": {"value": NaN}}}]}',
    "infinite": b'{"state": "asking", "cells": [{"scores": {"acc": {"value": 1e999}}}]}',
    "cells of numbers": b'{"state": "asking", "cells": [1, 2]}',
    "cells are a text": b'{"state": "asking", "cells": "abc"}',
    "scores are a list": b'{"state": "asking", "cells": [{"scores": []}]}',
    "requests of letters": b'{"state": "asking", "requests": "9"}',
    "huge requests": b'{"state": "asking", "requests": ' + b"9" * 400 + b"}",
    "negative": b'{"state": "asking", "answered": -1}',
    "a model of parts": b'{"state": "asking", "model": [1]}',
    "half": b'{"state": "ask',
}


@pytest.mark.parametrize("case", PROGRESS)
def test_damaged_progress_is_listed_with_its_reason(server: Server, root: Path, case: str) -> None:
    folder = root / "going"
    folder.mkdir()
    try:
        (folder / "progress.json").write_bytes(PROGRESS[case])
        row = listed(server)["going"]
        assert row["state"] == "damaged" and row["reason"]
        assert_first_stands(server)
    finally:
        shutil.rmtree(folder)


@pytest.mark.parametrize("state", ["no such state", None, 5, "silent", "<b>"])
@pytest.mark.parametrize("updated", ["9999-99-99", None, "9999-12-31T23:59:59-23:59", 7])
def test_progress_that_says_nothing_known_is_silent(
    server: Server, root: Path, state: Any, updated: Any
) -> None:
    folder = root / "going"
    folder.mkdir()
    try:
        told = {"state": state, "updated": updated, "cells": []}
        (folder / "progress.json").write_text(json.dumps(told))
        assert listed(server)["going"]["state"] in ("silent", "damaged")
    finally:
        shutil.rmtree(folder)


def test_names_that_are_no_text_are_listed(server: Server, root: Path) -> None:
    name = os.fsencode(root) + b"/bad-\xff\xfe-\x1b[2J"
    shutil.copytree(root / "first", os.fsdecode(name))
    try:
        found = [row for row in listed(server) if row.startswith("bad-")]
        assert len(found) == 1 and opened(server, found[0])[0] == 422
        assert_first_stands(server)
    finally:
        shutil.rmtree(os.fsdecode(name))


def test_a_run_named_200_times_is_one_run(server: Server) -> None:
    status, body = opened(server, *["first"] * 200)
    assert status == 200
    summary = json.loads(body.split('id="summary">')[1].split("</script>")[0])
    assert [run["folder"] for run in summary["runs"]] == ["first"]
    assert ask(server, "/report?" + "run=first&" * 5_000)[0] == 400
    many = [f"run {number}" for number in range(200)]
    assert opened(server, *many) == (404, "200 runs are more than one report takes (50)\n")


def asked_at_once(
    server: Server, name: str, count: int
) -> tuple[list[tuple[int, str]], list[threading.Thread]]:
    """Several who open the same run; what they were told, and their threads."""
    found: list[tuple[int, str]] = []
    askers = [
        threading.Thread(target=lambda: found.append(opened(server, name))) for _ in range(count)
    ]
    for asker in askers:
        asker.start()
    return found, askers


class Building:
    """A stand-in for building a page that takes until it is let go."""

    def __init__(self) -> None:
        self.build = pages.build_page
        self.begun, self.may_end = threading.Semaphore(0), threading.Event()
        self.count = 0

    def __call__(self, runs: Any, language: str, **more: Any) -> Any:
        self.count += 1
        self.begun.release()
        assert self.may_end.wait(60)
        return self.build(runs, language)


def test_nothing_waits_for_a_report_that_is_being_built(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    building = Building()
    monkeypatch.setattr(pages, "build_page", building)
    for server in serve(root):
        found, askers = asked_at_once(server, "first", 4)
        assert building.begun.acquire(timeout=60)
        # Everything else is answered while the report is being built.
        assert listed(server)["first"]["documents"] == 12
        assert ask(server, "/")[0] == 200
        assert ask(server, f"/blocks/{'0' * 24}/0")[0] == 404
        assert not found
        building.may_end.set()
        for asker in askers:
            asker.join(60)
        assert [status for status, _ in found] == [200] * 4 and building.count == 1


def test_those_who_wait_for_a_damaged_run_are_told(
    root: Path, victim: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    building = Building()
    building.build = lambda runs, language: runs[0].document["no such entry"]
    monkeypatch.setattr(pages, "build_page", building)
    page = Page("t", PageSummary("1", "t"), Blocks(), "en")
    for server in serve(root):
        found, askers = asked_at_once(server, "victim", 3)
        assert building.begun.acquire(timeout=60)
        building.may_end.set()
        for asker in askers:
            asker.join(60)
        assert {status for status, _ in found} == {422}
        assert all("victim: damaged and cannot be shown: KeyError" in said for _, said in found)
        # A failure is not kept: a run that was mended is shown.
        monkeypatch.setattr(pages, "build_page", lambda *runs, **more: page)
        assert opened(server, "victim")[0] == 200
