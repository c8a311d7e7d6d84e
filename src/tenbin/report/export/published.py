"""Where the data of a task was published, as far as a stored run shows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tenbin.data.sources.pinned import pinned_sets
from tenbin.report.export.remarks import SAMPLE_DATA
from tenbin.results.schema import RunResult

_GITHUB = "https://github.com/"


@dataclass(frozen=True, slots=True)
class DataSource:
    """The data set behind a score."""

    name: str
    """Its title, or its name where it has none; says so if rows are not the published ones."""
    host: Literal["hub", "github", "other"]
    """`other` unless the rows are known to be those that were published there."""
    repository: str
    """`organisation/name` on the host; empty for others."""
    revision: str
    """Empty if it is not known."""
    files: str
    """Checksums of the files that were scored."""

    @property
    def url(self) -> str:
        """Where the repository is, at its revision; empty if it is not on GitHub."""
        return f"{_GITHUB}{self.repository}/tree/{self.revision}" if self.host == "github" else ""


def find_source(result: RunResult, id: str) -> DataSource:
    """The data set of a task, with its repository if the run read the bytes published there."""
    config = result.configs[id]
    files = result.data[id].get(config.split, [])
    digests = " ".join(file.sha256 for file in files)
    name = config.dataset or config.task
    if config.dataset_config:
        name = f"{name} {config.dataset_config}"
    if files and all(file.source == "datasets" for file in files) and config.dataset:
        return DataSource(name, "hub", config.dataset, "", digests)
    if any(file.source == "sample_data" for file in files):
        return DataSource(f"{name} ({SAMPLE_DATA})", "other", "", "", digests)
    pinned = pinned_sets().get(config.dataset or "")
    if pinned is not None:
        part = f" {config.dataset_config}" if config.dataset_config else ""
        name = f"{pinned.title}{part}"
        split = pinned.versions.get(files[0].version or "", {}).get(config.split) if files else None
        if split is not None and all(file.verified for file in files):
            if split.host == "hub":
                return DataSource(name, "hub", split.repository, split.revision, digests)
            if split.host == "github":
                return DataSource(name, "github", split.repository, split.revision, digests)
    return DataSource(f"{name} (a copy of one's own)", "other", "", "", digests)
