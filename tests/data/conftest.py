from collections.abc import Callable
from pathlib import Path

import pytest

from tenbin.data import DataChoice, DocumentSet, load_documents
from tenbin.records import Dataset


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HF_HUB_OFFLINE", "TENBIN_OFFLINE", "HF_TOKEN", "HF_ENDPOINT", "TENBIN_CACHE"):
        monkeypatch.delenv(name, raising=False)
    # Nothing may leave the machine: a test that downloads sets its own loopback address.
    monkeypatch.setenv("TENBIN_GITHUB_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")


@pytest.fixture
def load(tmp_path: Path) -> Callable[..., DocumentSet]:
    def load_split(
        name: str, split: str = "validation", config: str | None = None, version: str = "1.1"
    ) -> DocumentSet:
        choice = DataChoice(data_dir=tmp_path, versions={"jglue": version})
        return load_documents(Dataset(name, config), split, choice)

    return load_split
