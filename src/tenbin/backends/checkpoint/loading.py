"""Loads what a model has besides its weights: configuration, tokenizer and dtype.

Shared by every backend that loads checkpoints, so that all of them see the same tokens of the same
model.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tenbin.backends.checkpoint.arguments import HfArguments
from tenbin.backends.checkpoint.integrity import TOKENIZER_FILES, damaged_file
from tenbin.backends.checkpoint.quiet import quiet_libraries
from tenbin.backends.text.tokenizer import first_words
from tenbin.errors import BackendError

_COUNTS = ("vocab_size", "hidden_size", "num_hidden_layers")
"""Whole numbers of a configuration that must be above 0; other faults the library finds."""


def choose_dtype(arguments: HfArguments, config: Any, device: str) -> str:
    """Return the dtype of the weights; `auto` is the checkpoint's own, and float32 on a CPU."""
    if arguments.dtype != "auto":
        return arguments.dtype
    if device == "cpu":
        return "float32"
    inner = config.get_text_config()
    own = getattr(config, "dtype", None) or getattr(inner, "dtype", None)
    return str(own or "float32").removeprefix("torch.")


def load_config(source: str, **options: Any) -> Any:
    """Load a model's configuration.

    Raises:
        BackendError: It cannot be read, or it needs code that is not trusted.
    """
    from transformers import AutoConfig

    try:
        with quiet_libraries():
            config = AutoConfig.from_pretrained(source, **options)
            inner = config.get_text_config()
    except Exception as error:
        # Any kind: values of a wrong type break the reader wherever it happens to stand.
        raise cannot_load(source, error) from error
    for name in _COUNTS:
        value = getattr(inner, name, None)
        if isinstance(value, int) and value < 1:
            raise BackendError(
                f"the model at {source} cannot be loaded: {name} is {value!r} in config.json",
                "it must be a whole number above 0: check the model's files",
            )
    return config


def cannot_load(source: str, error: Exception, hint: str | None = None) -> BackendError:
    """Return the error of a model that cannot be loaded.

    Args:
        source: Folder or hub id.
        error: What the library raised.
        hint: What to do, where that is known.
    """
    if "trust_remote_code" in str(error):
        hint = "the model brings its own code: read it, then add trust_remote_code=True"
    return BackendError(
        f"the model at {source} cannot be loaded: {first_words(error)}",
        hint or "check the model's files and the version of transformers",
    )


def load_tokenizer(source: str, **options: Any) -> Any:
    """Load a transformers tokenizer.

    Args:
        source: Folder or hub id.
        **options: Passed on to AutoTokenizer.

    Raises:
        BackendError: It cannot be loaded.
    """
    from transformers import AutoTokenizer

    hint = "name another one with the model argument tokenizer=…"
    try:
        with quiet_libraries():
            found = AutoTokenizer.from_pretrained(source, **options)
            blank, word = _is_blank(found), _false_unknown(found)
    except BaseException as error:
        # Any kind: damaged vocabularies break the reader wherever it happens to stand.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        reason = _reason(error, Path(source))
        if "trust_remote_code" in str(error):
            hint = "it brings its own code: read it, then add trust_remote_code=True"
        raise BackendError(f"no tokenizer can be loaded from {source}: {reason}", hint) from error
    if blank:
        raise BackendError(f"there is no vocabulary in {source}", hint)
    if word:
        raise BackendError(
            f"the tokenizer of {source} reads unknown characters as {word}, a token of another"
            " meaning: this version of transformers mistakes its vocabulary",
            "save it as tokenizer.json with an older transformers and name that as tokenizer=…",
        )
    return found


def _reason(error: BaseException, folder: Path) -> str:
    """Say why a tokenizer cannot be loaded: a file that is not JSON, or the library's message."""
    if fault := damaged_file(folder, TOKENIZER_FILES):
        return fault
    reason = (str(error).strip() or type(error).__name__).splitlines()[0]
    return "its files are missing or unknown" if reason.endswith(":") else reason


def _is_blank(tokenizer: Any) -> bool:
    """Whether plain words have no tokens: transformers makes such tokenizers of missing files."""
    found = set(tokenizer("a b c 1 2 3 の 。", add_special_tokens=False)["input_ids"])
    return found <= {tokenizer.unk_token_id, *tokenizer.all_special_ids}


def _false_unknown(tokenizer: Any) -> str | None:
    """Return the special token, such as EOS, that wrongly stands for unknown characters, or None.

    T5's tokenizer takes the third entry of a sentencepiece vocabulary for the unknown token,
    which in others is BOS or EOS.
    """
    others = set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}
    rare = tokenizer("\U00013000", add_special_tokens=False)["input_ids"]
    found = [token for token in rare if token in others]
    return str(tokenizer.convert_ids_to_tokens(found[0])) if found else None
