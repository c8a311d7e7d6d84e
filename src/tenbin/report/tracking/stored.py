"""Stored runs, sent to a tracker afterwards: `tenbin export --to wandb`."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from tenbin.errors import StorageError, TenbinError
from tenbin.report.tracking.content import tracked_result
from tenbin.report.tracking.settings import TrackingSettings
from tenbin.report.tracking.tracker import Notify, check_trackers, open_tracker
from tenbin.results.read import StoredRun
from tenbin.sandbox.printable import brief

_SECRETS = ("WANDB_API_KEY", "MLFLOW_TRACKING_PASSWORD", "MLFLOW_TRACKING_TOKEN")


def track_stored(
    runs: Sequence[StoredRun], to: str, settings: TrackingSettings, notify: Notify
) -> None:
    """Send stored runs to a tracker, one after the other; one that it has is updated.

    Raises:
        ConfigError: The client is missing, or has no key.
        ResultError: The samples of a run cannot be read.
        StorageError: The tracker did not take a run.
    """
    check_trackers([to], settings)
    for stored in runs:
        stored.check_samples()
    for stored in runs:
        try:
            tracker = open_tracker(to, settings, notify)
            result = tracked_result(stored.result, stored.samples, stored)
            tracker.begin(result.run)
            tracker.complete(result)
        except TenbinError:
            raise
        except Exception as error:
            # Whatever a client raises: its errors have no base class of their own.
            raise StorageError(
                f"{stored.path}: {to} did not take it: {failure_text(error)}",
                "the stored run is as it was: run the same command again when this is mended",
            ) from error


def failure_text(error: BaseException) -> str:
    """An error of a client in one short line, without keys and passwords."""
    text = " ".join(f"{type(error).__name__}: {error}".split())
    for name in _SECRETS:
        if secret := os.environ.get(name):
            text = text.replace(secret, "…")
    return brief(re.sub(r"//[^/@\s]*@", "//", text), 300)
