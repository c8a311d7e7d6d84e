"""The model half of a journal key: what an answer depends on besides the request.

Known before the weights are loaded. It covers every byte of every file that answers depend on:
weights, configuration, tokenizer, chat templates, generation settings, adapter and code, including
code of other repositories that the model's files name (`owner/name--module.Class`). Paths do not
matter. The device is left out: its answers differ by rounding noise alone.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tenbin.backends.checkpoint.arguments import HfArguments
from tenbin.backends.checkpoint.file_hashes import FileHashes
from tenbin.backends.checkpoint.location import Location, locate
from tenbin.errors import BackendError

ENGINE_VERSION = "3"
"""Raise it when answers change for the same model and request."""

CONVERSION_VERSION = "1"
"""Of the conversion of GGUF files; part of a converted folder's name and of its fingerprint."""

_SMALL = (
    "config.json",
    "generation_config.json",
    "tokenizer*",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab*",
    "merges.txt",
    "*.model",
    "*.tiktoken",
    "*.spm",
    "chat_template*",
    "additional_chat_templates/*",
    "adapter_config.json",
    "*.index.json",
)
_WEIGHTS = ("*.safetensors", "pytorch_model*.bin", "adapter_model*.bin")
_OTHER_WEIGHTS = ("*.bin", "*.pt")
"""Possible weights if there are no others; beside others they are a trainer's state."""
_CLASS_FILES = ("config.json", "tokenizer_config.json")
"""Files whose `auto_map` names classes of other repositories."""
_ELSEWHERE = "--"


def fingerprint_of(parts: Mapping[str, Any]) -> str:
    """Return one hash of all parts; their order does not matter."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def identify(location: Location, arguments: HfArguments, hashes: FileHashes) -> dict[str, str]:
    """Return the identity of a model's files, its tokenizer's and its remote code's.

    Args:
        location: Where the model is.
        arguments: Its subfolder, and perhaps another tokenizer.
        hashes: Hashes of large files.

    Returns:
        Parts of the fingerprint.

    Raises:
        BackendError: A file cannot be read.
    """
    parts = {"model": identify_place(location, hashes, arguments.subfolder), "tokenizer": ""}
    folders = [location.folder] if location.folder else []
    if arguments.tokenizer is not None:
        other = locate(arguments.tokenizer, HfArguments(""), "tokenizer_config.json")
        folder = other.folder or Path(other.source)
        # If this is a whole model, its weights do not count.
        parts["tokenizer"] = _published(other) or texts_digest(folder)
        folders.append(folder)
    if arguments.trust_remote_code and (code := _remote_code(folders)):
        parts["code"] = code
    return parts


def identify_place(location: Location, hashes: FileHashes, subfolder: str | None = None) -> str:
    """Return the identity of a model's or an adapter's files.

    Raises:
        BackendError: A file cannot be read.
    """
    if location.gguf is not None:
        return f"gguf:{hashes.of([location.gguf])[0]}:{CONVERSION_VERSION}"
    folder = location.folder or Path(location.source)
    return _published(location, subfolder) or folder_digest(folder, hashes)


def _published(location: Location, subfolder: str | None = None) -> str | None:
    """Return the hub's commit, which names all its files by hash, even those not fetched yet."""
    if not location.commit:
        return None
    return f"hub:{location.given}:{location.commit}:{subfolder or ''}"


def folder_digest(folder: Path, hashes: FileHashes | None = None) -> str:
    """Return a hash of a model or adapter folder: names and all bytes of its files, not its path.

    Args:
        folder: The folder.
        hashes: Hashes of weight files; by default they are computed.

    Raises:
        BackendError: A file cannot be read.
    """
    weights = weight_files(folder)
    known = zip(weights, (hashes or FileHashes()).of(weights), strict=True)
    return _digest(folder, {**_texts(folder), **dict(known)})


def texts_digest(folder: Path) -> str:
    """Return the same hash of all files except weights: a tokenizer, or code."""
    return _digest(folder, _texts(folder))


def weight_files(folder: Path) -> list[Path]:
    """Return the files that weights are loaded from."""
    named = [folder / name for name in _indexed(folder)]
    found = {file for file in (*_matching(folder, _WEIGHTS), *named) if file.is_file()}
    return sorted(found or _matching(folder, _OTHER_WEIGHTS))


def tokenizer_digest(tokenizer: Any) -> str:
    """Return a hash of a tokenizer that is already in memory."""
    parts = {
        "vocabulary": tokenizer.get_vocab(),
        "template": tokenizer.chat_template,
        "special": tokenizer.all_special_tokens,
    }
    backend = getattr(tokenizer, "backend_tokenizer", None)
    return fingerprint_of({**parts, "rules": backend.to_str() if backend is not None else ""})


def library_version() -> str:
    """Return transformers' major.minor version: its model code is part of the answer."""
    import transformers

    return ".".join(transformers.__version__.split(".")[:2])


def _digest(folder: Path, files: Mapping[Path, str]) -> str:
    names = {Path(os.path.relpath(file, folder)).as_posix(): files[file] for file in files}
    return fingerprint_of(names)


def _texts(folder: Path) -> dict[Path, str]:
    """Hashes of small files, code in subfolders among them."""
    files = [*_matching(folder, _SMALL), *_code(folder)]
    try:
        return {file: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}
    except OSError as error:
        raise BackendError(f"a file of {folder} cannot be read: {error}", "check it") from error


def _code(folder: Path) -> list[Path]:
    """Python files at any depth, except hidden ones such as a virtual environment's."""
    return [
        file
        for file in _matching(folder, ("**/*.py",))
        if not any(part.startswith((".", "__pycache__")) for part in file.relative_to(folder).parts)
    ]


def _indexed(folder: Path) -> set[str]:
    """Files that an index of shards names, whatever they are called."""
    names: set[str] = set()
    for file in folder.glob("*.index.json"):
        try:
            shards = json.loads(file.read_bytes())["weight_map"]
            names.update(name for name in shards.values() if isinstance(name, str))
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            # Damaged: loading the weights will say so.
            continue
    return names


def _matching(folder: Path, patterns: Iterable[str]) -> list[Path]:
    return [file for pattern in patterns for file in folder.glob(pattern) if file.is_file()]


def _remote_code(folders: Sequence[Path]) -> str:
    """Return a hash of code in other repositories that models or tokenizers name; empty for none.

    Args:
        folders: Where their files are.

    Raises:
        BackendError: It is not there.
    """
    found: dict[str, str] = {}
    for repository, module in sorted(set(_named_elsewhere(folders))):
        location = locate(repository, HfArguments(""), f"{module}.py")
        if location.commit:
            found[repository] = f"hub:{repository}:{location.commit}"
        else:
            found[repository] = texts_digest(location.folder or Path(location.source))
    # A folder is identified by its contents, not by its name.
    return fingerprint_of({"code": sorted(found.values())}) if found else ""


def _named_elsewhere(folders: Sequence[Path]) -> Iterator[tuple[str, str]]:
    """Yield repositories and their modules."""
    for file in (folder / name for folder in folders for name in _CLASS_FILES):
        try:
            classes = json.loads(file.read_bytes())["auto_map"].values()
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            # It names none, or the file is damaged, which loading it will say.
            continue
        for value in classes:
            yield from _split(value)


def _split(value: Any) -> Iterator[tuple[str, str]]:
    """A tokenizer names a list, its slow and its fast class."""
    for name in value if isinstance(value, list) else [value]:
        if isinstance(name, str) and _ELSEWHERE in name:
            repository, _, path = name.partition(_ELSEWHERE)
            yield repository, path.rpartition(".")[0] or path
