"""Runs in MLflow, through its own client."""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from tenbin.report.tracking.content import TrackedResult, TrackedRun
from tenbin.report.tracking.names import part_name
from tenbin.report.tracking.samples import READ, SampleTable, sample_tables
from tenbin.report.tracking.settings import TrackingSettings
from tenbin.report.tracking.tracker import Ending, Notify, import_client, report_files

_ID = "tenbin.run_id"
_STATE = "tenbin.state"
_TABLES = "mlflow.loggedArtifacts"
"""The tag by which MLflow's pages know tables; its value is a list in JSON."""
_NOTE = "mlflow.note.content"
_METRICS, _PARAMS = 1_000, 100
"""What MLflow takes at a time."""
_LONGEST_NOTE = 7_900
_ENDED = {"failed": "FAILED", "stopped": "KILLED"}


class MlflowTracker:
    """One run in MLflow."""

    def __init__(self, settings: TrackingSettings, notify: Notify) -> None:
        """Nothing is sent yet."""
        # MLflow reports its use to its makers unless it is told not to.
        os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
        # Its default, seven times, would be four minutes of waiting for a server that is gone.
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "3")
        self._mlflow = import_client("mlflow")
        for noisy in ("mlflow", "alembic"):
            logging.getLogger(noisy).setLevel(logging.ERROR)
        self._settings, self._notify = settings, notify
        uri = settings.tracking_uri
        self._client = self._mlflow.MlflowClient(tracking_uri=uri)
        self._uri = uri or self._mlflow.get_tracking_uri()
        self._run_id = ""
        self._known: Mapping[str, str] = {}
        """Parameters that the run has: MLflow lets nobody change them."""

    def begin(self, run: TrackedRun) -> None:
        """Make the run, or take up the one with the same id."""
        experiment = self._experiment()
        found = self._client.search_runs(
            [experiment], f"tags.`{_ID}` = '{run.id}'", max_results=1,
            order_by=["attributes.start_time DESC"],
        )  # fmt: skip
        if found:
            self._run_id, self._known = found[0].info.run_id, dict(found[0].data.params)
            self._client.update_run(self._run_id, status="RUNNING", name=run.model)
            self._notify(f"mlflow: this run is there already and is updated: {self._run_id}")
        else:
            made = self._client.create_run(experiment, tags={_ID: run.id}, run_name=run.model)
            self._run_id = made.info.run_id
            place = re.sub(r"//[^/@]*@", "//", self._uri)
            self._notify(f"mlflow: run {self._run_id} at {place}")
        self._tag("tenbin.model", run.model)
        self._tag(_STATE, "running")
        self._set_params(run)

    def _experiment(self) -> str:
        name = self._settings.experiment or os.environ.get("MLFLOW_EXPERIMENT_NAME") or "tenbin"
        found = self._client.get_experiment_by_name(name)
        return str(found.experiment_id if found else self._client.create_experiment(name))

    def progress(self, values: Mapping[str, float], answered: int) -> None:
        """Add a point to curves."""
        self._log(values, step=answered)

    def complete(self, result: TrackedResult) -> None:
        """Write everything; what an earlier export wrote is replaced."""
        self._set_params(result.run)
        # The date of the run, not of the export: the same scores are not a second point.
        moment = round(_moment(result.result.date) * 1000)
        self._log(result.scores, step=0, moment=moment)
        tables = sample_tables(
            result.stored.samples(READ) if result.stored else result.samples(),
            self._settings.samples,
        )
        self._write_tables(tables)
        with report_files(result, self._notify) as files:
            for file in files:
                log = self._client.log_artifacts if file.is_dir() else self._client.log_artifact
                log(self._run_id, str(file), *([file.name] if file.is_dir() else []))
        for name, value in _tags(result).items():
            self._tag(name, value)
        self._client.set_terminated(self._run_id, status="FINISHED")

    def abort(self, ending: Ending, reason: str) -> None:
        """Show the run as one without a result."""
        self._tag(_STATE, ending)
        self._tag("tenbin.reason", reason)
        self._client.set_terminated(self._run_id, status=_ENDED[ending])

    def _tag(self, name: str, value: str) -> None:
        self._client.set_tag(self._run_id, name, value)

    def _set_params(self, run: TrackedRun) -> None:
        from mlflow.entities import Param

        wanted = {_param_name(name): str(value) for name, value in run.settings.items()}
        changed = [n for n, v in wanted.items() if n in self._known and self._known[n] != v]
        if changed:
            self._notify(
                f"mlflow: {', '.join(changed)}: another value stands in this run, and MLflow keeps "
                "the first"
            )
        new = [Param(name, value) for name, value in wanted.items() if name not in self._known]
        for start in range(0, len(new), _PARAMS):
            self._client.log_batch(self._run_id, params=new[start : start + _PARAMS])
        self._known = {**wanted, **self._known}

    def _log(self, values: Mapping[str, float], step: int, moment: int | None = None) -> None:
        from time import time

        from mlflow.entities import Metric

        stamp = moment if moment is not None else round(time() * 1000)
        metrics = [Metric(name, value, stamp, step) for name, value in values.items()]
        for start in range(0, len(metrics), _METRICS):
            self._client.log_batch(self._run_id, metrics=metrics[start : start + _METRICS])

    def _write_tables(self, tables: Any) -> None:
        """Write tables as MLflow's own `log_table` does, which would append to those there are."""
        listed = []
        for table in tables:
            path = f"samples/{part_name(table.id)}.json"
            self._client.log_text(self._run_id, _split_json(table), path)
            listed.append({"path": path, "type": "table"})
        if listed:
            self._tag(_TABLES, json.dumps(listed))


def _split_json(table: SampleTable) -> str:
    return json.dumps({"columns": list(table.columns), "data": table.rows}, ensure_ascii=False)


def _param_name(name: str) -> str:
    return ".".join(part_name(part) for part in name.split("."))


def _tags(result: TrackedResult) -> dict[str, str]:
    written = result.result
    found = {
        _STATE: result.state,
        "tenbin.version": written.tenbin_version or "",
        "tenbin.fingerprint": written.fingerprint,
        "tenbin.profile": written.profile or "",
        "tenbin.marks": ", ".join(result.marks),
        "tenbin.date": written.date,
        _NOTE: _shortened(result.table),
    }
    return {name: value for name, value in found.items() if value}


def _shortened(text: str) -> str:
    if len(text.encode()) <= _LONGEST_NOTE:
        return text
    cut = text.encode()[:_LONGEST_NOTE].decode(errors="ignore")
    return cut[: cut.rfind("\n") + 1] + "\n… (the report has all scores)\n"


def _moment(date: str) -> float:
    try:
        return datetime.fromisoformat(date).timestamp()
    except ValueError:
        return 0.0
