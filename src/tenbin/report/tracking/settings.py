"""`--export_args`: where runs go in the program that tracks them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any
from urllib.parse import urlsplit

from tenbin.errors import ConfigError, guess_at

_SECRETS = ("key", "token", "password", "secret")
_MODES = ("online", "offline")


@dataclass(frozen=True, slots=True)
class TrackingSettings:
    """Where runs go, and how much of them. What is not given comes from the environment."""

    project: str | None = None
    """W&B: project (WANDB_PROJECT, else `tenbin`)."""
    entity: str | None = None
    """W&B: user or team (WANDB_ENTITY)."""
    mode: str | None = None
    """W&B: `online` or `offline` (WANDB_MODE)."""
    dir: str | None = None
    """W&B: folder of offline runs (WANDB_DIR, else the current one)."""
    tracking_uri: str | None = None
    """MLflow: address, folder or database (MLFLOW_TRACKING_URI)."""
    experiment: str | None = None
    """MLflow: experiment (MLFLOW_EXPERIMENT_NAME, else `tenbin`)."""
    samples: int = 1_000
    """Documents of each task, the first ones; 0: none."""


def tracking_settings(given: Mapping[str, Any]) -> TrackingSettings:
    """The settings in `--export_args`.

    Raises:
        ConfigError: A name is unknown, a value is not one that it takes, or a secret is among them:
            arguments are shown in process lists and kept in run files.
    """
    known = [one.name for one in fields(TrackingSettings)]
    for name in given:
        if name not in known and any(word in name.lower() for word in _SECRETS):
            raise ConfigError(
                f"--export_args {name}: keys are not taken from options, which are stored",
                "W&B: `wandb login` or WANDB_API_KEY; MLflow: MLFLOW_TRACKING_TOKEN, or "
                "MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD",
            )
        if name not in known:
            raise ConfigError(
                f"--export_args: nothing is called {name!r}",
                f"{guess_at(name, known)}there are: {', '.join(known)}",
            )
    found = {name: str(value) for name, value in given.items() if name != "samples"}
    settings = TrackingSettings(**found, samples=_count(given.get("samples", 1_000)))
    if settings.mode not in (None, *_MODES):
        raise ConfigError(f"--export_args mode={settings.mode}", f"one of: {', '.join(_MODES)}")
    if _has_password(settings.tracking_uri):
        raise ConfigError(
            "--export_args tracking_uri holds a password, and options are stored",
            "put it into MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, or the whole "
            "address into MLFLOW_TRACKING_URI",
        )
    return settings


def _count(value: object) -> int:
    text = str(value)
    if not text.isdecimal() or len(text) > 9:
        raise ConfigError(
            f"--export_args samples={text}: takes a whole number of 0 or more",
            "documents of each task; 1000 by default",
        )
    return int(text)


def _has_password(uri: str | None) -> bool:
    try:
        return uri is not None and urlsplit(uri).password is not None
    except ValueError:
        return False
