"""The model half of a journal key: what an answer depends on besides the request.

Known before the weights are loaded. Every byte counts of every file that answers depend on:
weights, configuration, tokenizer, chat templates, generation settings, adapter and code. Where
they lie does not. The device is left out: its answers differ by rounding noise alone.
Knows no tokenizer and no model.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tenbin.backends.checkpoint.digests import Digests
from tenbin.errors import BackendError

ENGINE_VERSION = "3"
"""Raise it when answers change for the same model and request."""

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
"""What may be weights where nothing else is; beside them it is a trainer's state."""


def fingerprint_of(parts: Mapping[str, Any]) -> str:
    """One hash of everything that was gathered; the order of the parts does not matter."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def folder_digest(folder: Path, digests: Digests | None = None) -> str:
    """A hash of a model or adapter folder, wherever it lies: names and all bytes of its files.

    Args:
        folder: The folder.
        digests: Knows the hashes of weight files; by default they are read.

    Raises:
        BackendError: A file cannot be read.
    """
    weights = weight_files(folder)
    known = zip(weights, (digests or Digests()).of(weights), strict=True)
    return _digest(folder, {**_texts(folder), **dict(known)})


def texts_digest(folder: Path) -> str:
    """The same of all files but weights: a tokenizer, or code."""
    return _digest(folder, _texts(folder))


def weight_files(folder: Path) -> list[Path]:
    """The files that weights are read from."""
    named = [folder / name for name in _indexed(folder)]
    found = {file for file in (*_matching(folder, _WEIGHTS), *named) if file.is_file()}
    return sorted(found or _matching(folder, _OTHER_WEIGHTS))


def tokenizer_digest(tokenizer: Any) -> str:
    """A hash of a tokenizer that is already in memory."""
    parts = {
        "vocabulary": tokenizer.get_vocab(),
        "template": tokenizer.chat_template,
        "special": tokenizer.all_special_tokens,
    }
    backend = getattr(tokenizer, "backend_tokenizer", None)
    return fingerprint_of({**parts, "rules": backend.to_str() if backend is not None else ""})


def library_version() -> str:
    """transformers' major.minor: its model code is part of the answer."""
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
    """Python files at any depth; nothing hidden, such as an environment that lies there."""
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
            # Damaged: the loading of weights says so.
            continue
    return names


def _matching(folder: Path, patterns: Iterable[str]) -> list[Path]:
    return [file for pattern in patterns for file in folder.glob(pattern) if file.is_file()]
