"""Checks that a model's files are complete before anything is loaded from them.

transformers silently ignores generation settings that it cannot read, and notices a truncated file
of weights only when everything else is ready.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from tenbin.backends.text.stop_criteria import end_ids
from tenbin.errors import BackendError

TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
)
_MODEL_FILES = ("config.json", "generation_config.json", "adapter_config.json")
_LENGTH = 8
"""Bytes of the field that holds the length of a safetensors header."""
_LARGEST_HEADER = 100_000_000
_HINT = "fetch or save it again"


def check_folder(folder: Path) -> None:
    """Check that small files can be read and that weights have the length in their header.

    Raises:
        BackendError: One is damaged; the message names the file.
    """
    if fault := damaged_file(folder, _MODEL_FILES):
        raise BackendError(f"{folder}: {fault}", _HINT)
    for file in sorted(folder.glob("*.safetensors")):
        if fault := _damaged_weights(file):
            raise BackendError(f"{file} cannot be loaded: {fault}", _HINT)
    settings = folder / "generation_config.json"
    if settings.is_file():
        end_ids(json.loads(settings.read_bytes()).get("eos_token_id"), str(settings))


def damaged_file(folder: Path, names: Sequence[str]) -> str | None:
    """Return what is wrong with the first of these files that holds no JSON object, or None."""
    for name in names:
        file = folder / name
        if not file.is_file():
            continue
        try:
            found = json.loads(file.read_bytes().decode("utf-8"))
        except OSError as error:
            return f"{name} cannot be read: {error}"
        except UnicodeDecodeError as error:
            return f"{name} is not UTF-8: byte {error.start} cannot be read"
        except ValueError as error:
            return f"{name} is not JSON: {error}"
        except (RecursionError, MemoryError):
            return f"{name} is nested too deeply"
        if not isinstance(found, Mapping):
            return f"{name} holds {type(found).__name__}, not an object of names and values"
    return None


def _damaged_weights(file: Path) -> str | None:
    """Return what is wrong with the header of a safetensors file, or None."""
    size = file.stat().st_size
    try:
        with file.open("rb") as stream:
            length = int.from_bytes(stream.read(_LENGTH), "little")
            if size < _LENGTH or length > min(size - _LENGTH, _LARGEST_HEADER):
                return f"its header is damaged or cut short ({size:,} bytes)"
            header = json.loads(stream.read(length))
        ends = [entry["data_offsets"][1] for name, entry in header.items() if name[:2] != "__"]
        wanted = _LENGTH + length + max(ends, default=0)
    except OSError as error:
        return str(error)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        return "its header is damaged"
    if size != wanted:
        return f"it has {size:,} bytes instead of {wanted:,}"
    return None
