"""The user's own configuration file: what holds for every run on this machine.

`$TENBIN_CONFIG`, else `tenbin/config.yaml` in `$XDG_CONFIG_HOME` or `~/.config`. It has one key:

    trust_tasks:              # folders whose task files may run the functions that they name
      - ~/my-tasks
      - lm_eval               # the task files of the installed package lm_eval
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from tenbin.errors import ConfigError
from tenbin.files.home import expanded
from tenbin.files.yaml_text import YamlError, read_yaml, why_unread

VARIABLE = "TENBIN_CONFIG"
TRUST = "trust_tasks"


@dataclass(frozen=True, slots=True)
class UserSettings:
    """What the file says; without a file nothing."""

    path: Path
    """The file, whether or not it exists."""
    trust_tasks: tuple[str, ...] = ()
    """Folders, absolute where the file names paths, and names of installed packages."""


def user_file() -> Path:
    """Where the user's configuration lies, or would lie."""
    named = os.environ.get(VARIABLE)
    if named:
        return expanded(named)
    base = os.environ.get("XDG_CONFIG_HOME")
    return (expanded(base) if base else expanded("~/.config")) / "tenbin" / "config.yaml"


def read_user_settings() -> UserSettings:
    """The user's settings.

    Raises:
        ConfigError: The file cannot be read, has unknown keys, or values of the wrong kind.
    """
    path = user_file()
    try:
        loaded = read_yaml(path)
    except FileNotFoundError:
        if os.environ.get(VARIABLE):
            raise ConfigError(
                f"{VARIABLE}={path}: no such file", f"create it, or unset {VARIABLE}"
            ) from None
        return UserSettings(path)
    except (OSError, YamlError) as error:
        raise ConfigError(f"{path}: {why_unread(error)}") from error
    if loaded is None:
        return UserSettings(path)
    if not isinstance(loaded, dict):
        raise ConfigError(f"{path}: is a mapping of keys", f"the one key is {TRUST}")
    unknown = [str(key) for key in loaded if key != TRUST]
    if unknown:
        raise ConfigError(f"{path}: {unknown[0]}: unknown key", f"the one key is {TRUST}")
    return UserSettings(path, _folders(path, loaded.get(TRUST)))


def _folders(path: Path, written: object) -> tuple[str, ...]:
    listed = [] if written is None else [written] if isinstance(written, str) else written
    if not isinstance(listed, list) or not all(isinstance(one, str) and one for one in listed):
        raise ConfigError(
            f"{path}: {TRUST} takes a list of folders", "write one folder a line, after `- `"
        )
    return tuple(_folder(path, one) for one in listed)


def _folder(path: Path, written: str) -> str:
    """A name without a slash is an installed package's; paths count from the file's own folder."""
    if "/" not in written and os.sep not in written and written not in (".", "..", "~"):
        return written
    return str(path.parent / expanded(written))
