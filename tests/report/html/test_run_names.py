"""What runs of a page are called."""

from __future__ import annotations

from pathlib import Path

import pytest

from tenbin.report.html.run_names import differing_settings, name_page_runs
from tenbin.results.read import StoredRun, read_run
from tests.report.made_run import choice_run


def run(folder: Path, model: str, **changes: object) -> StoredRun:
    return read_run(choice_run(folder, 3, model={"model": model, "dtype": "float32"}, **changes))


def test_a_run_is_called_by_its_model(tmp_path: Path) -> None:
    runs = [run(tmp_path / "one", "llm-jp/small"), run(tmp_path / "two", "/models/other")]
    assert name_page_runs(runs) == ["llm-jp/small", "other"]


@pytest.mark.parametrize(
    ("folders", "names"),
    [
        (("one.run", "two.run"), ["small (one)", "small (two)"]),
        (("small-3shot.run", "two.run"), ["small-3shot", "small (two)"]),
        (("a/x.run", "b/x.run"), ["a/small (x)", "b/small (x)"]),
        (("one.run", "one.run"), ["(1)", "(2)"]),
    ],
)
def test_runs_of_one_model_are_told_apart_by_what_the_user_called_them(
    tmp_path: Path, folders: tuple[str, ...], names: list[str]
) -> None:
    runs = [run(tmp_path / folder, "small") for folder in dict.fromkeys(folders)]
    found = name_page_runs(runs if len(runs) == 2 else runs * 2)
    assert len(set(found)) == 2
    assert all(name.endswith(end) for name, end in zip(found, names, strict=True))


def test_a_scripted_run_is_called_by_its_file(tmp_path: Path) -> None:
    runs = [run(tmp_path / "yama.run", "scripted"), run(tmp_path / "kawa.run", "scripted")]
    assert name_page_runs(runs) == ["yama", "kawa"]
    assert name_page_runs(runs[:1]) == ["scripted"], "alone it needs no other name"


def test_settings_that_differ_are_named(tmp_path: Path) -> None:
    options = {"tasks": ["made"], "model": "hf", "seed": 1}
    made = [
        run(tmp_path / name, name, config={**options, "num_fewshot": [shots]})
        for name, shots in (("a", 0), ("b", 3))
    ]
    found = {row.name: row.values for row in differing_settings(made)}
    assert found == {"num_fewshot": ("0", "3")}
    assert differing_settings(made[:1]) == []
