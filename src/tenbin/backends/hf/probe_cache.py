"""What the probe found out about a model, kept between runs: a later start need not ask again.

A verdict is a few plain values under everything that it depends on: the model's files, the
device, the type, the libraries and the code of this folder itself. One that does not match to the
letter, or whose file is damaged, is no verdict. Knows files; knows no model and no core.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cache
from pathlib import Path
from typing import Any

from tenbin.backends.checkpoint.fingerprint import fingerprint_of
from tenbin.files.atomic import write_atomically


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was found out, and when."""

    values: Mapping[str, Any]
    date: str
    """The day on which the model was asked."""


class Verdicts:
    """The verdicts on one model as it is run here."""

    def __init__(
        self, folder: Path | None, depends_on: Mapping[str, Any], *, recalls: bool = True
    ) -> None:
        """Name a place; nothing is read yet.

        Args:
            folder: Where verdicts lie; None to keep none.
            depends_on: What of the model and its arguments a verdict depends on.
            recalls: Whether earlier verdicts count; new ones are written down either way.
        """
        self._folder = folder
        self._depends_on = dict(depends_on)
        self._recalls = recalls

    def recall(self, kind: str, device: Any) -> Verdict | None:
        """An earlier verdict of a kind; None where there is none that holds."""
        if self._folder is None or not self._recalls:
            return None
        depends_on = self._all(kind, device)
        try:
            kept = json.loads(self._file(depends_on).read_text(encoding="utf-8"))
            body = kept["body"]
            if kept["sha256"] != fingerprint_of(body) or body["depends_on"] != depends_on:
                return None
            return Verdict(body["values"], body["date"])
        except (OSError, ValueError, KeyError, TypeError):
            # Whatever a damaged file holds: the model is asked again.
            return None

    def keep(self, kind: str, device: Any, values: Mapping[str, Any]) -> None:
        """Write a verdict down; where nothing can be written the next start asks again."""
        if self._folder is None:
            return
        depends_on = self._all(kind, device)
        date = datetime.now(timezone.utc).date().isoformat()
        body = {"depends_on": depends_on, "values": dict(values), "date": date}
        file = self._file(depends_on)
        text = json.dumps({"body": body, "sha256": fingerprint_of(body)}, indent=1)
        with suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(file, text + "\n")

    def _all(self, kind: str, device: Any) -> dict[str, Any]:
        parts = {**self._depends_on, "kind": kind, **_surroundings(str(device))}
        # As it will be read back: tuples become lists.
        found: dict[str, Any] = json.loads(json.dumps(parts, default=str))
        return found

    def _file(self, depends_on: Mapping[str, Any]) -> Path:
        assert self._folder is not None
        return self._folder / f"{fingerprint_of(depends_on)[:32]}.json"


@cache
def _surroundings(device: str) -> dict[str, str]:
    """Device, libraries and code: what answers a model's question together with the model."""
    import torch
    import transformers

    name = platform.machine()
    if device.startswith("cuda"):
        name = f"{torch.cuda.get_device_name(device)}, CUDA {torch.version.cuda}"
    elif device == "cpu":
        name = f"{name}, {torch.backends.cpu.get_cpu_capability()}"
    return {
        "device": f"{device.partition(':')[0]}: {name}",
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "code": _code_digest(),
    }


def _code_digest() -> str:
    """A hash of this folder's own code: a probe or a core that was changed has proved nothing."""
    digest = hashlib.sha256()
    for file in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(f"{file.name}\0".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()
