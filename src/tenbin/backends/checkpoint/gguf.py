"""Converts a GGUF file, once, into a folder that transformers loads quickly.

Loading a GGUF file unpacks every weight in Python and rebuilds the tokenizer, which takes many
times as long as loading a plain folder. So the float32 weights and the tokenizer are kept in the
cache folder under the file's own hash.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, redirect_stderr, suppress
from pathlib import Path
from typing import Any

from tenbin.backends.checkpoint.file_hashes import FileHashes
from tenbin.backends.checkpoint.fingerprint import CONVERSION_VERSION, folder_digest
from tenbin.backends.checkpoint.location import cache_root
from tenbin.backends.checkpoint.quiet import quiet_libraries
from tenbin.errors import BackendError
from tenbin.files.atomic import work_folder, write_atomically

_CONTENTS = "contents.json"
_PROBES = (
    "Hello, world! 12345  two  spaces",
    "日本の首都は東京です。\n質問：どれですか？\n回答：",
    "Ünïcödé 안녕하세요 🙂\t\n\n",
)


def converted_folder(
    gguf: Path, digest: str, cache_dir: str | None, notify: Callable[[str], None] | None = None
) -> Path:
    """Return the folder of a GGUF file's weights; convert the file if it is not there.

    Args:
        gguf: The file.
        digest: Its hash.
        cache_dir: The user's cache folder; None for the default.
        notify: Called when a conversion begins.

    Raises:
        BackendError: The file cannot be read, or its tokenizer does not survive saving.
    """
    target = _target(digest, cache_dir)
    if known := known_folder(digest, cache_dir):
        return known
    if notify is not None:
        notify(f"converting {gguf.name} to float32, once; later starts read {target}")
    target.parent.mkdir(parents=True, exist_ok=True)
    with work_folder(target.parent, "converting-") as work:
        try:
            with quiet_libraries(), _no_bars():
                _convert(gguf, work)
            check_contents(work, gguf, FileHashes())
            _publish(work, target)
        except BackendError:
            raise
        except Exception as error:
            # Any kind: a damaged file breaks the parser at any point.
            raise _unreadable(gguf, error) from error
    return target


def known_folder(digest: str, cache_dir: str | None) -> Path | None:
    """Return the folder of a GGUF file's weights if an earlier run made it, else None."""
    target = _target(digest, cache_dir)
    return target if (target / "config.json").is_file() else None


def check_contents(folder: Path, gguf: Path, hashes: FileHashes) -> None:
    """Check that a folder still holds what a GGUF file was converted to, or record what it holds.

    The fingerprint is that of the GGUF file, while the weights are loaded from the folder: if these
    were changed, another model would answer under the same name.

    Raises:
        BackendError: It holds something else.
    """
    note = folder / _CONTENTS
    found = folder_digest(folder, hashes)
    try:
        noted = json.loads(note.read_bytes())["contents"]
    except FileNotFoundError:
        # Just converted, or converted by a version that recorded nothing.
        with suppress(OSError):
            write_atomically(note, json.dumps({"contents": found}) + "\n")
        return
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        noted = None
    if noted != found:
        raise BackendError(
            f"the weights in {folder} are not those that were made of {gguf.name}",
            "delete that folder: the next run makes it anew",
        )


def gguf_config(gguf: Path) -> Any:
    """Load a model's configuration from a GGUF file; its weights are not read.

    Raises:
        BackendError: The file cannot be read.
    """
    from transformers import AutoConfig

    try:
        with quiet_libraries(), _no_bars():
            return AutoConfig.from_pretrained(str(gguf.parent), gguf_file=gguf.name)
    except Exception as error:
        # Any kind, as above.
        raise _unreadable(gguf, error) from error


def _unreadable(gguf: Path, error: Exception) -> BackendError:
    reason = (str(error).strip() or type(error).__name__).splitlines()[0]
    return BackendError(
        f"{gguf.name} cannot be read as a GGUF model: {reason}",
        "transformers reads only some GGUF architectures; use the original weights instead",
    )


def _target(digest: str, cache_dir: str | None) -> Path:
    return cache_root(cache_dir) / "models" / f"{digest[:32]}-v{CONVERSION_VERSION}"


def _no_bars() -> AbstractContextManager[Any]:
    """The GGUF reader shows a progress bar that no setting turns off."""
    return nullcontext() if sys.stderr.isatty() else redirect_stderr(io.StringIO())


def _convert(gguf: Path, work: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer: Any = AutoTokenizer.from_pretrained(str(gguf.parent), gguf_file=gguf.name)
    tokenizer.save_pretrained(work)
    _compare_tokenizers(tokenizer, AutoTokenizer.from_pretrained(str(work)), gguf)
    model: Any = AutoModelForCausalLM.from_pretrained(
        str(gguf.parent), gguf_file=gguf.name, dtype=torch.float32, **_dequantised()
    )
    # The weights are plain by now; a quantisation config would forbid saving them.
    model.hf_quantizer = None
    model.config.__dict__.pop("quantization_config", None)
    model.save_pretrained(work, safe_serialization=True)


def _dequantised() -> dict[str, Any]:
    """Newer versions of transformers may keep the blocks packed, which cannot be saved."""
    import transformers

    packing = getattr(transformers, "GgufConfig", None)
    return {"quantization_config": packing(dequantize=True)} if packing else {}


def _compare_tokenizers(original: Any, saved: Any, gguf: Path) -> None:
    same = original.chat_template == saved.chat_template and all(
        original(text)["input_ids"] == saved(text)["input_ids"] for text in _probes(original)
    )
    if not same:
        raise BackendError(
            f"the tokenizer of {gguf.name} changes when it is saved",
            "name another one with the model argument tokenizer=…",
        )


def _probes(tokenizer: Any) -> list[str]:
    return [*_PROBES, *(f"{word}a {word}\n" for word in tokenizer.all_special_tokens)]


def _publish(work: Path, target: Path) -> None:
    """Rename atomically, so that a folder under its final name is always complete."""
    try:
        work.rename(target)
    except OSError:
        if not (target / "config.json").is_file():
            raise
        # Another process was faster; its folder holds the same weights.
