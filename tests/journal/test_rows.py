"""Who gave the answers: noted with them, and told by a run that loads no model."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from tenbin.journal.store import Journal
from tenbin.records.model_info import Given, engine_notices, engines_of, model_entries
from tests.journal.made import (
    COUNT,
    DESCRIPTION,
    FINGERPRINT,
    answer_to,
    journal_file,
    make_queue,
    run_on,
)

KEYS = [one.key for one in make_queue().open()]
NOT_LOADED = {"engine": {"name": "made", "mode": "not run"}}


def described(given: list[Given]) -> list[tuple[int, Any]]:
    return [(one.answers, one.description) for one in given]


def test_a_run_from_the_journal_tells_who_answered(tmp_path: Path) -> None:
    _, _, first = run_on(tmp_path)
    assert described(first) == [(COUNT, DESCRIPTION)]
    _, model, second = run_on(tmp_path, description=NOT_LOADED)
    assert model.asked == 0 and second == first
    assert model_entries(engines_of(second), NOT_LOADED)["model"] == DESCRIPTION


def test_answers_of_several_runs_and_engines(tmp_path: Path) -> None:
    run_on(tmp_path)
    path = journal_file(tmp_path)
    with closing(sqlite3.connect(path)) as connection, connection:
        keep = sorted(KEYS)[:-12]
        connection.execute(f"DELETE FROM answers WHERE key > '{keep[-1]}'")
    other = {**DESCRIPTION, "engine": {"name": "made", "mode": "another"}}
    _, model, given = run_on(tmp_path, description=other)
    assert model.asked == 12
    assert described(given) == [(COUNT - 12, DESCRIPTION), (12, other)]
    engines = engines_of(given)
    assert [one.answers for one in engines] == [COUNT - 12, 12]
    assert engine_notices(engines) == [
        "the answers come from several engines: 28 by made tests, 12 by made another"
    ]
    entries = model_entries(engines, NOT_LOADED)
    assert [one["engine"]["mode"] for one in entries["answered_by"]] == ["tests", "another"]
    _, _, again = run_on(tmp_path, description=NOT_LOADED)
    assert model_entries(engines_of(again), NOT_LOADED) == entries


def test_runs_that_say_the_same_are_one_engine() -> None:
    scored = {"engine": {"name": "hf", "mode": "tree", "generation": "not run", "probe": "x"}}
    wrote = {
        "engine": {"name": "hf", "mode": "not run", "generation": "slots", "probe": "remembered"},
        "parameters": 5,
    }
    (engine,) = engines_of([Given(3, scored), Given(4, wrote)])
    assert engine.answers == 7 and engine.description is not None
    assert engine.description["parameters"] == 5
    assert engine.description["engine"]["mode"] == "tree"
    assert engine.description["engine"]["generation"] == "slots"
    assert engine_notices([engine]) == []


def test_what_belongs_to_one_run_is_not_noted(tmp_path: Path) -> None:
    now = {**DESCRIPTION, "scale": {"workers": 2}, "traffic": {"calls": 3}, "prices": {"input": 1}}
    _, _, given = run_on(tmp_path, description=now)
    assert described(given) == [(COUNT, DESCRIPTION)]
    entries = model_entries(engines_of(given), {**NOT_LOADED, "traffic": {"calls": 0}})
    assert entries["model"] == {**DESCRIPTION, "traffic": {"calls": 0}}


def test_a_damaged_description_is_unknown_and_said(tmp_path: Path) -> None:
    run_on(tmp_path)
    with closing(sqlite3.connect(journal_file(tmp_path))) as connection, connection:
        connection.execute("UPDATE sources SET description = replace(description, '12', '13')")
    _, model, given = run_on(tmp_path, description=NOT_LOADED)
    assert model.asked == 0 and described(given) == [(COUNT, None)]
    assert "which engine gave them" in engine_notices(engines_of(given))[0]
    assert model_entries(engines_of(given), NOT_LOADED)["model"] == NOT_LOADED


def test_the_faster_of_two_runs_is_named(tmp_path: Path) -> None:
    first, second = Journal(tmp_path, FINGERPRINT), Journal(tmp_path, FINGERPRINT)
    one, two = first.add_source(DESCRIPTION), second.add_source(NOT_LOADED)
    portion = [(key, answer_to(key)) for key in KEYS[:6]]
    assert first.write(portion[:4], one) == {one: 4}
    assert second.write(portion, two) == {one: 4, two: 2}
    first.close()
    second.close()
