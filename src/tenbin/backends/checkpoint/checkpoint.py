"""A model as the user named it, with everything known of it before its weights are loaded.

Joins arguments, location, conversion, tokenizer and fingerprint; knows no request.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tenbin.backends.base import BackendSettings
from tenbin.backends.checkpoint.arguments import HfArguments, read_arguments
from tenbin.backends.checkpoint.completeness import check_folder
from tenbin.backends.checkpoint.digests import Digests
from tenbin.backends.checkpoint.fingerprint import ENGINE_VERSION, fingerprint_of, library_version
from tenbin.backends.checkpoint.gguf import (
    cache_root,
    check_contents,
    converted_folder,
    gguf_config,
    known_folder,
)
from tenbin.backends.checkpoint.identity import identify, identify_place
from tenbin.backends.checkpoint.location import Location, locate, locate_model
from tenbin.backends.hf.model.loading import choose_dtype, device_of, load_config, load_model
from tenbin.backends.hf.probe_cache import Verdicts
from tenbin.backends.text.tokenizer import HfTokenizer, load_tokenizer, window_of
from tenbin.errors import BackendError
from tenbin.files.home import expanded
from tenbin.version import __version__


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What a backend needs of a model."""

    tokenizer: HfTokenizer
    fingerprint: str
    load: Callable[[], Any]
    facts: Mapping[str, Any]
    """What results record."""
    engine: str = "auto"
    compiling: str = "auto"
    verdicts: Verdicts = field(default_factory=lambda: Verdicts(None, {}))
    """What is known of the model from earlier runs."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where transformers reads a model from."""

    name: str
    options: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Files:
    """What is read of a model before its weights, whatever engine will run them."""

    location: Location
    source: Source
    config: Any
    tokenizer: HfTokenizer
    digests: Digests
    """Hashes of its files."""


def open_files(arguments: HfArguments, settings: BackendSettings) -> Files:
    """Find a model's files and open its configuration and tokenizer.

    Raises:
        BackendError: The model or its tokenizer is not there.
    """
    location = locate_model(arguments)
    if location.folder is not None:
        check_folder(location.folder)
    digests = _digests(settings)
    source = _source(location, arguments, settings, digests)
    config = load_config(source.name, **source.options)
    inner = _tokenizer(source, arguments)
    window = arguments.max_length or window_of(config, inner)
    tokenizer = HfTokenizer(inner, window, arguments.add_bos_token)
    return Files(location, source, config, tokenizer, digests)


def open_checkpoint(settings: BackendSettings) -> Checkpoint:
    """Find a model, its tokenizer and its fingerprint.

    Raises:
        ConfigError: A model argument is wrong.
        BackendError: The model, the device or a library is not there.
    """
    arguments = read_arguments(settings)
    device = device_of(arguments, settings.loads_elsewhere)
    files = open_files(arguments, settings)
    tokenizer = files.tokenizer
    dtype = choose_dtype(arguments, files.config, device)
    adapter = _adapter(arguments)
    answers_depend_on = {
        **identify(files.location, arguments, files.digests),
        "adapter": "" if adapter is None else identify_place(adapter, files.digests),
        "dtype": dtype,
        "encoding": settings.encoding,
        "add_bos": arguments.add_bos_token,
        "max_length": tokenizer.max_length,
        "quantisation": _quantisation(arguments),
        "attention": arguments.attn_implementation,
        "engine": ENGINE_VERSION,
        "rung": arguments.engine,
        "transformers": library_version(),
    }
    return Checkpoint(
        tokenizer,
        fingerprint_of(answers_depend_on),
        lambda: _loaded(files, arguments, answers_depend_on["model"], dtype, device, adapter),
        _facts(files.location, arguments, dtype, device),
        arguments.engine,
        arguments.compile,
        _verdicts(arguments, settings, answers_depend_on),
    )


def _loaded(
    files: Files,
    arguments: HfArguments,
    digest: Any,
    dtype: str,
    device: str,
    adapter: Location | None,
) -> Any:
    """The model, whose files must be those that the fingerprint was made of."""
    source = files.source
    model = load_model(source.name, arguments, dtype, device, adapter, **source.options)
    if identify_place(files.location, files.digests, arguments.subfolder) != digest:
        raise BackendError(
            f"the files of {files.location.given} changed after the run began",
            "run again: no answer was kept under the name of the other model",
        )
    return model


def _verdicts(
    arguments: HfArguments, settings: BackendSettings, depends_on: Mapping[str, Any]
) -> Verdicts:
    """The store of what the probe finds; none where code comes from outside the model's files."""
    folder = cache_root(settings.cache_dir) / "verdicts"
    texts = ("tokenizer", "encoding", "add_bos")
    model = {name: part for name, part in depends_on.items() if name not in texts}
    placed = "auto" if arguments.parallelize else arguments.device_map
    return Verdicts(
        None if arguments.trust_remote_code else folder,
        {**model, "device_map": placed, "tenbin": __version__},
        recalls=arguments.probe == "remembered",
    )


@dataclass(frozen=True, slots=True)
class NamedTokenizer:
    """A tokenizer, and what the model that it belongs to goes by."""

    tokenizer: HfTokenizer
    names: tuple[str, ...]


def open_tokenizer(settings: BackendSettings) -> HfTokenizer:
    """The tokenizer alone, of a model or of a folder that holds no model.

    Raises:
        ConfigError: A model argument is wrong.
        BackendError: The tokenizer is not there.
    """
    return open_named_tokenizer(settings).tokenizer


def open_named_tokenizer(settings: BackendSettings) -> NamedTokenizer:
    """The tokenizer and the names of its model; no weights, no device.

    Raises:
        ConfigError: A model argument is wrong.
        BackendError: The tokenizer is not there.
    """
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
    tokenizer = HfTokenizer(inner, window, arguments.add_bos_token)
    return NamedTokenizer(tokenizer, tuple(names))


def _without_weights(
    location: Location, arguments: HfArguments, settings: BackendSettings
) -> tuple[Source, Any]:
    """Where the tokenizer is read from, and the model's configuration.

    A GGUF file that no run has converted yet is read as it is: its weights are of no use here.
    """
    digests = _digests(settings)
    if location.gguf is None:
        source = _source(location, arguments, settings, digests)
        return source, load_config(source.name, **source.options)
    known = known_folder(digests.of([location.gguf])[0], settings.cache_dir)
    if known is not None:
        return Source(str(known), {}), load_config(str(known))
    source = Source(str(location.gguf.parent), {"gguf_file": location.gguf.name})
    return source, gguf_config(location.gguf)


def _digests(settings: BackendSettings) -> Digests:
    return Digests(cache_root(settings.cache_dir) / "digests", settings.notify)


def _source(
    location: Location, arguments: HfArguments, settings: BackendSettings, digests: Digests
) -> Source:
    if location.gguf is not None:
        digest = digests.of([location.gguf])[0]
        folder = converted_folder(location.gguf, digest, settings.cache_dir, settings.notify)
        check_contents(folder, location.gguf, digests)
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
    """The tokenizer: the model's own, or the one that is named."""
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


def _adapter(arguments: HfArguments) -> Location | None:
    if arguments.peft is None:
        return None
    found = locate(arguments.peft, HfArguments(""), "adapter_config.json")
    if found.folder is not None and not (found.folder / "adapter_config.json").is_file():
        raise BackendError(
            f"no adapter_config.json in {found.folder}", "peft names the folder of an adapter"
        )
    if found.folder is not None:
        check_folder(found.folder)
    return found


def _quantisation(arguments: HfArguments) -> str:
    return "4bit" if arguments.load_in_4bit else "8bit" if arguments.load_in_8bit else "none"


def _facts(location: Location, arguments: HfArguments, dtype: str, device: str) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "model": location.given,
        # A folder has no revision: one that was given had no effect.
        "revision": location.commit,
        "dtype": dtype,
        "device": "device map" if arguments.device_map or arguments.parallelize else device,
        "quantisation": _quantisation(arguments),
        "attention": arguments.attn_implementation or "default",
    }
    if arguments.peft:
        facts["adapter"] = arguments.peft
    if arguments.tokenizer:
        facts["tokenizer"] = arguments.tokenizer
    if location.gguf is not None:
        facts["gguf"] = f"{location.gguf.name}, dequantised to float32"
    return facts
