"""Runs in Weights & Biases, through its own client."""

from __future__ import annotations

import netrc
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tenbin.errors import ConfigError
from tenbin.report.tracking.content import TrackedResult, TrackedRun
from tenbin.report.tracking.names import part_name
from tenbin.report.tracking.samples import READ, sample_tables
from tenbin.report.tracking.settings import TrackingSettings
from tenbin.report.tracking.tracker import Ending, Notify, import_client, report_files

_STEP = "progress/answered"
_KEYS = ("WANDB_API_KEY", "WANDB_IDENTITY_TOKEN_FILE")
_QUIET = {
    "silent": True,
    "console": "off",
    # Command lines, host names, file names and the machine's load are not part of a result.
    "disable_git": True,
    "disable_code": True,
    "x_disable_meta": True,
    "x_disable_machine_info": True,
    "x_disable_stats": True,
    "host": "",
    "x_save_requirements": False,
}
_EXIT_CODES = {"failed": 1, "stopped": 130}


def check_key(settings: TrackingSettings) -> None:
    """See that there is a key where one is needed: the client would ask for one in the middle.

    Raises:
        ConfigError: There is none.
    """
    if _mode(settings) != "online" or any(os.environ.get(name) for name in _KEYS):
        return
    host = urlsplit(os.environ.get("WANDB_BASE_URL") or "https://api.wandb.ai").hostname or ""
    try:
        known = netrc.netrc(os.environ.get("NETRC")).authenticators(host)
    except (OSError, netrc.NetrcParseError):
        known = None
    if known is None:
        raise ConfigError(
            "export to wandb: there is no key for it",
            "`wandb login` or WANDB_API_KEY; or --export_args mode=offline, and `wandb sync` later",
        )


def _mode(settings: TrackingSettings) -> str:
    return settings.mode or os.environ.get("WANDB_MODE") or "online"


class WandbTracker:
    """One run in Weights & Biases."""

    def __init__(self, settings: TrackingSettings, notify: Notify) -> None:
        """Nothing is sent yet."""
        # Faults of the client are reported to its makers unless it is told not to.
        os.environ.setdefault("WANDB_ERROR_REPORTING", "false")
        self._wandb = import_client("wandb")
        self._settings, self._notify = settings, notify
        self._run: Any = None

    def begin(self, run: TrackedRun) -> None:
        """Make the run, or take up the one with the same id."""
        mode = _mode(self._settings)
        # Absolute: the client's own process stays in the folder that it was started in.
        place = Path(self._settings.dir or os.environ.get("WANDB_DIR") or ".").absolute()
        before = sorted(place.glob(f"wandb/offline-run-*-{run.id}"))
        self._run = self._wandb.init(
            project=self._settings.project or os.environ.get("WANDB_PROJECT") or "tenbin",
            entity=self._settings.entity,
            id=run.id,
            name=run.model,
            config=dict(run.settings),
            mode=mode,
            dir=str(place),
            # Offline there is nothing to take up: runs of one id become one when they are synced.
            resume="allow" if mode == "online" else None,
            reinit="create_new",
            settings=self._wandb.Settings(**_QUIET),
        )
        self._run.define_metric(_STEP, hidden=True)
        self._run.define_metric("*", step_metric=_STEP)
        if mode == "online":
            there = "this run is there already and is updated: " if self._run.resumed else ""
            self._notify(f"wandb: {there}{self._run.url}")
        else:
            again = f"; {before[-1].name} has the same id: they are one run there" if before else ""
            self._notify(f"wandb: offline, to be sent with `wandb sync {self._folder()}`{again}")

    def _folder(self) -> str:
        return os.path.relpath(Path(self._run.dir).parent)

    def progress(self, values: Mapping[str, float], answered: int) -> None:
        """Add a point to curves."""
        self._run.log({**values, _STEP: answered})

    def complete(self, result: TrackedResult) -> None:
        """Write everything; what an earlier export wrote is replaced."""
        run = self._run
        run.config.update(dict(result.run.settings), allow_val_change=True)
        run.tags = ("tenbin", *(mark[:64] for mark in result.marks))
        run.notes = result.table
        run.summary.update({**result.scores, "state": result.state})
        samples = result.stored.samples(READ) if result.stored else result.samples()
        for table in sample_tables(samples, self._settings.samples):
            shown = self._wandb.Table(
                columns=list(table.columns), data=table.rows, allow_mixed_types=True
            )
            run.log({f"samples/{part_name(table.id)}": shown})
        with report_files(result, self._notify) as files:
            if files:
                artifact = self._wandb.Artifact(f"report-{result.run.id}", type="report")
                for file in files:
                    if file.is_dir():
                        artifact.add_dir(str(file), name=file.name)
                    else:
                        artifact.add_file(str(file), name=file.name)
                run.log_artifact(artifact)
            run.finish(exit_code=0)

    def abort(self, ending: Ending, reason: str) -> None:
        """Show the run as one without a result."""
        self._run.summary.update({"state": ending, "reason": reason})
        self._run.finish(exit_code=_EXIT_CODES[ending])
