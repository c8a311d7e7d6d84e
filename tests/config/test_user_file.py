"""The user's own configuration file: where it lies, what it may say, and one clear error."""

from __future__ import annotations

from pathlib import Path

import pytest

from tenbin.config.user_file import read_user_settings, user_file
from tenbin.errors import ConfigError


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "config.yaml"
    monkeypatch.setenv("TENBIN_CONFIG", str(path))
    return path


def test_where_it_lies(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TENBIN_CONFIG", raising=False)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    assert user_file() == Path.home() / ".config" / "tenbin" / "config.yaml"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert user_file() == tmp_path / "tenbin" / "config.yaml"
    assert read_user_settings().trust_tasks == ()
    monkeypatch.setenv("TENBIN_CONFIG", "~/x.yaml")
    assert user_file() == Path.home() / "x.yaml"


def test_folders_count_from_the_file_and_names_are_packages(settings: Path) -> None:
    settings.write_text("trust_tasks:\n  - ./mine\n  - /all/of/it\n  - ~/tasks\n  - lm_eval\n")
    assert read_user_settings().trust_tasks == (
        str(settings.parent / "mine"),
        "/all/of/it",
        str(Path.home() / "tasks"),
        "lm_eval",
    )
    settings.write_text("trust_tasks: lm_eval\n")
    assert read_user_settings().trust_tasks == ("lm_eval",)


@pytest.mark.parametrize("text", ["", "trust_tasks:\n", "trust_tasks: []\n"])
def test_an_empty_file_says_nothing(settings: Path, text: str) -> None:
    settings.write_text(text)
    assert read_user_settings().trust_tasks == ()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("- lm_eval\n", "mapping"),
        ("trust_task: lm_eval\n", "trust_task: unknown key"),
        ("trust_tasks: 5\n", "list of folders"),
        ("trust_tasks: [5]\n", "list of folders"),
        ("trust_tasks: {a: b}\n", "list of folders"),
        ("trust_tasks: [\n", "config.yaml"),
    ],
)
def test_malformed_files_are_one_error(settings: Path, text: str, reason: str) -> None:
    settings.write_text(text)
    with pytest.raises(ConfigError, match=reason) as caught:
        read_user_settings()
    assert str(settings) in str(caught.value)


def test_a_named_file_must_be_there(settings: Path) -> None:
    with pytest.raises(ConfigError, match="TENBIN_CONFIG"):
        read_user_settings()
