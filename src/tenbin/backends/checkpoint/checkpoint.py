"""Opens a model's files as far as they are needed before the weights: configuration and tokenizer.

The same for every engine that will run the weights, and for commands that need the tokenizer alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tenbin.backends.base import BackendSettings
from tenbin.backends.checkpoint.arguments import HfArguments, read_arguments
from tenbin.backends.checkpoint.file_hashes import FileHashes
from tenbin.backends.checkpoint.gguf import (
    check_contents,
    converted_folder,
    gguf_config,
    known_folder,
)
from tenbin.backends.checkpoint.integrity import check_folder
from tenbin.backends.checkpoint.loading import load_config, load_tokenizer
from tenbin.backends.checkpoint.location import Location, cache_root, locate, locate_model
from tenbin.backends.text.tokenizer import HfTokenizer, window_of
from tenbin.files.home import expanded

if TYPE_CHECKING:
    from tenbin.backends.text.inspection import HfInspector


@dataclass(frozen=True, slots=True)
class Source:
    """Where transformers reads a model from."""

    name: str
    options: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CheckpointFiles:
    """What is opened of a model before its weights, whichever engine will run them."""

    location: Location
    source: Source
    config: Any
    tokenizer: HfTokenizer
    hashes: FileHashes
    """Hashes of its files."""


def open_files(arguments: HfArguments, settings: BackendSettings) -> CheckpointFiles:
    """Find a model's files and open its configuration and tokenizer.

    Raises:
        BackendError: The model or its tokenizer is not there.
    """
    location = locate_model(arguments)
    if location.folder is not None:
        check_folder(location.folder)
    hashes = _file_hashes(settings)
    source = _source(location, arguments, settings, hashes)
    config = load_config(source.name, **source.options)
    inner = _tokenizer(source, arguments)
    window = arguments.max_length or window_of(config, inner)
    tokenizer = HfTokenizer(inner, window, arguments.add_bos_token)
    return CheckpointFiles(location, source, config, tokenizer, hashes)


def open_tokenizer(settings: BackendSettings) -> HfTokenizer:
    """Open the tokenizer of a model, or of a folder that holds nothing else; no weights, no device.

    Raises:
        ConfigError: A model argument is wrong.
        BackendError: The tokenizer is not there.
    """
    return _named_tokenizer(settings)[0]


def open_inspector(settings: BackendSettings) -> HfInspector:
    """Open the tokenizer of the model that the settings name for `tenbin doctor`.

    Raises:
        ConfigError: A model argument is wrong.
        BackendError: The tokenizer is not there.
    """
    # Imported here: a run needs neither the inspection nor what it imports.
    from tenbin.backends.text.inspection import HfInspector

    tokenizer, names = _named_tokenizer(settings)
    return HfInspector(tokenizer, settings.encoding, names)


def _named_tokenizer(settings: BackendSettings) -> tuple[HfTokenizer, list[str]]:
    """The tokenizer, and the names that its model goes by."""
    arguments = read_arguments(settings)
    folder = expanded(arguments.pretrained)
    names = [arguments.pretrained]
    if folder.is_dir() and not (folder / "config.json").is_file() and arguments.gguf_file is None:
        inner, config = load_tokenizer(str(folder)), None
    else:
        location = locate_model(arguments)
        source, config = _without_weights(location, arguments, settings)
        inner = _tokenizer(source, arguments)
        names += [location.gguf.name] if location.gguf is not None else []
    window = arguments.max_length or window_of(config, inner)
    return HfTokenizer(inner, window, arguments.add_bos_token), names


def _without_weights(
    location: Location, arguments: HfArguments, settings: BackendSettings
) -> tuple[Source, Any]:
    """Return where the tokenizer is loaded from, and the model's configuration.

    A GGUF file that no run has converted yet is read as it is: converting its weights would be
    wasted here.
    """
    hashes = _file_hashes(settings)
    if location.gguf is None:
        source = _source(location, arguments, settings, hashes)
        return source, load_config(source.name, **source.options)
    known = known_folder(hashes.of([location.gguf])[0], settings.cache_dir)
    if known is not None:
        return Source(str(known), {}), load_config(str(known))
    source = Source(str(location.gguf.parent), {"gguf_file": location.gguf.name})
    return source, gguf_config(location.gguf)


def _file_hashes(settings: BackendSettings) -> FileHashes:
    return FileHashes(cache_root(settings.cache_dir) / "digests", settings.notify)


def _source(
    location: Location, arguments: HfArguments, settings: BackendSettings, hashes: FileHashes
) -> Source:
    if location.gguf is not None:
        digest = hashes.of([location.gguf])[0]
        folder = converted_folder(location.gguf, digest, settings.cache_dir, settings.notify)
        check_contents(folder, location.gguf, hashes)
        return Source(str(folder), {})
    options: dict[str, Any] = {"trust_remote_code": arguments.trust_remote_code}
    for name in ("subfolder", "cache_dir"):
        if value := getattr(arguments, name):
            options[name] = value
    if location.commit:
        # The commit, not the branch: weights read later must be those of the fingerprint.
        options["revision"] = location.commit
    elif arguments.revision:
        options["revision"] = arguments.revision
    return Source(location.source, options)


def _tokenizer(source: Source, arguments: HfArguments) -> Any:
    """Load the model's own tokenizer, or the one that is named."""
    options = {**source.options, "use_fast": arguments.use_fast_tokenizer}
    if arguments.tokenizer is None:
        return load_tokenizer(source.name, **options)
    location = locate(arguments.tokenizer, HfArguments(""), "tokenizer_config.json")
    other: dict[str, Any] = {
        "trust_remote_code": arguments.trust_remote_code,
        "use_fast": options["use_fast"],
    }
    if location.commit:
        other["revision"] = location.commit
    return load_tokenizer(location.source, **other)
