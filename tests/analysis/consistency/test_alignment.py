"""The file that says which rows hold the same item."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tenbin.analysis.consistency.alignment import read_alignment
from tenbin.errors import ConfigError


def test_rows_names_null_and_notes(tmp_path: Path) -> None:
    path = tmp_path / "alignment.json"
    path.write_text(json.dumps({"note": "for people", "en": [0, 1], "ko": ["row-1", None]}))
    assert read_alignment(path) == {"en": ("row-0", "row-1"), "ko": ("row-1", None)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not valid JSON"),
        ("[]", "not an object of languages"),
        ('{"en": {"0": 1}}', "en is neither a list nor a note"),
        ('{"en": [0, true]}', "en, entry 1: True is no row number"),
        ('{"en": [0.5]}', "en, entry 0: 0.5 is no row number"),
        ('{"en": [0, -1]}', "rows are counted from 0, -1 is none"),
        ('{"en": [""]}', "'' is no row number, name or null"),
    ],
)
def test_what_is_not_of_that_shape_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "alignment.json"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message):
        read_alignment(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        read_alignment(tmp_path / "none.json")


@pytest.mark.real_data
def test_the_published_form_is_read(real_data: Path) -> None:
    found = read_alignment(real_data / "mlogiqa" / "alignment.json")
    assert set(found) == {"en", "ko", "zh"}
    assert found["ko"][-4:] == ("row-19", "row-27", "row-33", "row-40")
