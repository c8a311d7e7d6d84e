"""Keeps what the probes found out about a model, so that a later start need not probe again.

A result is a few plain values stored under everything that it depends on: the model's files, the
device, the dtype, the libraries and the code of the engine itself. A result that does not match in
every part, or whose file is damaged, is ignored and the model is probed again.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tenbin.backends.checkpoint.fingerprint import fingerprint_of
from tenbin.backends.hf.model.forward import Forward, Head
from tenbin.backends.hf.model.memory import input_device
from tenbin.files.atomic import write_atomically

if TYPE_CHECKING:
    from tenbin.backends.hf.generation.generator import GenerationSupport, Generator
    from tenbin.backends.hf.scoring.engine_selection import SelectedEngine, Selection

NOT_RUN = "not run"
_PROBED_NOW = "made at this start"
_PACKAGES = ("hf", "text")
"""Packages of tenbin.backends whose code takes part in a probe."""


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """What a probe found, and when."""

    values: Mapping[str, Any]
    date: str
    """The day on which the model was probed."""


class ProbeCache:
    """The probe results of one model as it runs here."""

    def __init__(
        self, folder: Path | None, depends_on: Mapping[str, Any], *, reuse: bool = True
    ) -> None:
        """Name a folder; nothing is read yet.

        Args:
            folder: Where results are stored; None to store none.
            depends_on: What of the model and its arguments a result depends on.
            reuse: Whether earlier results are used; new ones are stored either way.
        """
        self._folder = folder
        self._depends_on = dict(depends_on)
        self._reuse = reuse

    def get(self, kind: str, device: Any) -> ProbeResult | None:
        """Return the stored result of a kind of probe, or None."""
        if self._folder is None or not self._reuse:
            return None
        depends_on = self._all(kind, device)
        try:
            stored = json.loads(self._file(depends_on).read_text(encoding="utf-8"))
            body = stored["body"]
            if stored["sha256"] != fingerprint_of(body) or body["depends_on"] != depends_on:
                return None
            return ProbeResult(body["values"], body["date"])
        except (OSError, ValueError, KeyError, TypeError):
            # Whatever a damaged file holds: the model is probed again.
            return None

    def store(self, kind: str, device: Any, values: Mapping[str, Any]) -> None:
        """Store a result; if the folder cannot be written, the next start probes again."""
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
        parts = {**self._depends_on, "kind": kind, **_environment(str(device))}
        # As JSON reads it back: tuples become lists.
        found: dict[str, Any] = json.loads(json.dumps(parts, default=str))
        return found

    def _file(self, depends_on: Mapping[str, Any]) -> Path:
        assert self._folder is not None
        return self._folder / f"{fingerprint_of(depends_on)[:32]}.json"


def cached_engine(
    model: Any, probes: ProbeCache, select: Callable[[Forward, Selection | None], SelectedEngine]
) -> tuple[SelectedEngine, str]:
    """Return the scoring engine of a model, and where the probe result comes from.

    Args:
        model: A transformers causal language model in eval mode.
        probes: Stored results.
        select: Selects the engine; given a selection, it does not probe.
    """
    from tenbin.backends.hf.scoring.engine_selection import Selection

    device = input_device(model)
    if stored := probes.get("scoring", device):
        known = stored.values["selection"]
        selection = Selection(**{**known, "passed_over": tuple(known["passed_over"])})
        forward = Forward(model, Head(**stored.values["head"]))
        return select(forward, selection), _remembered(stored)
    forward = Forward(model)
    selected = select(forward, None)
    # A choice that lack of memory had a part in says nothing about the next start.
    if selected.selection.is_settled:
        values = {"head": asdict(forward.head), "selection": asdict(selected.selection)}
        probes.store("scoring", device, values)
    return selected, _PROBED_NOW


def cached_generator(
    model: Any, probes: ProbeCache, make: Callable[[GenerationSupport | None], Generator]
) -> tuple[Generator, str]:
    """Return the generator of a model, and where the probe result comes from.

    Args:
        model: A transformers causal language model in eval mode.
        probes: Stored results.
        make: Makes the generator; given what the model supports, it does not probe.
    """
    from tenbin.backends.hf.generation.generator import GenerationSupport

    device = input_device(model)
    if stored := probes.get("generation", device):
        return make(GenerationSupport(**stored.values)), _remembered(stored)
    generator = make(None)
    probes.store("generation", device, asdict(generator.support))
    return generator, _PROBED_NOW


def _remembered(result: ProbeResult) -> str:
    return f"remembered from {result.date}"


@cache
def _environment(device: str) -> dict[str, str]:
    """Device, libraries and code: all that a result depends on besides the model."""
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
    """Hash the engine's own code: a result proves nothing about a changed probe or engine."""
    backends = Path(__file__).parent.parent
    digest = hashlib.sha256()
    for package in _PACKAGES:
        for file in sorted((backends / package).rglob("*.py")):
            digest.update(f"{file.relative_to(backends).as_posix()}\0".encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()
