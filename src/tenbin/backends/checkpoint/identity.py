"""What a model's files are, in the words of a fingerprint: names that change with any byte.

Joins locations and hashes; knows no weights and no request.
"""

from __future__ import annotations

from pathlib import Path

from tenbin.backends.checkpoint.arguments import HfArguments
from tenbin.backends.checkpoint.digests import Digests
from tenbin.backends.checkpoint.fingerprint import folder_digest, texts_digest
from tenbin.backends.checkpoint.gguf import CONVERSION_VERSION
from tenbin.backends.checkpoint.location import Location, locate
from tenbin.backends.checkpoint.remote_code import foreign_code


def identify(location: Location, arguments: HfArguments, digests: Digests) -> dict[str, str]:
    """What the bytes of a model are: its files, its tokenizer's and those of code from elsewhere.

    Args:
        location: Where the model is.
        arguments: Name its subfolder, and perhaps another tokenizer.
        digests: Knows the hashes of large files.

    Returns:
        Parts of the fingerprint.

    Raises:
        BackendError: A file cannot be read.
    """
    parts = {"model": identify_place(location, digests, arguments.subfolder), "tokenizer": ""}
    folders = [location.folder] if location.folder else []
    if arguments.tokenizer is not None:
        other = locate(arguments.tokenizer, HfArguments(""), "tokenizer_config.json")
        folder = other.folder or Path(other.source)
        # Of a whole model that is named here, the weights do not count.
        parts["tokenizer"] = _published(other) or texts_digest(folder)
        folders.append(folder)
    if arguments.trust_remote_code and (code := foreign_code(folders)):
        parts["code"] = code
    return parts


def identify_place(location: Location, digests: Digests, subfolder: str | None = None) -> str:
    """What a model or an adapter holds.

    Raises:
        BackendError: A file cannot be read.
    """
    if location.gguf is not None:
        return f"gguf:{digests.of([location.gguf])[0]}:{CONVERSION_VERSION}"
    folder = location.folder or Path(location.source)
    return _published(location, subfolder) or folder_digest(folder, digests)


def _published(location: Location, subfolder: str | None = None) -> str | None:
    """A commit of the hub names all its files by their hashes, also those not fetched yet."""
    if not location.commit:
        return None
    return f"hub:{location.given}:{location.commit}:{subfolder or ''}"
