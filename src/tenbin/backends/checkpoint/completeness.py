"""Whether a model's files are whole, before anything is made of them.

transformers passes over generation settings that it cannot read, and finds out about a file of
weights that is cut short when everything else is ready. Knows JSON and the header of safetensors;
knows no model.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tenbin.errors import BackendError

TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
)
_MODEL_FILES = ("config.json", "generation_config.json", "adapter_config.json")
_LENGTH = 8
"""Bytes that say how long a header of safetensors is."""
_LARGEST_HEADER = 100_000_000
_HINT = "fetch or save it again"


def check_folder(folder: Path) -> None:
    """See that small files can be read and that weights have the length that they say.

    Raises:
        BackendError: They do not; the message names the file.
    """
    if fault := damaged_file(folder, _MODEL_FILES):
        raise BackendError(f"{folder}: {fault}", _HINT)
    for file in sorted(folder.glob("*.safetensors")):
        if fault := _damaged_weights(file):
            raise BackendError(f"{file} cannot be loaded: {fault}", _HINT)
    settings = folder / "generation_config.json"
    if settings.is_file():
        end_ids(json.loads(settings.read_bytes()).get("eos_token_id"), str(settings))


def end_ids(value: Any, source: str) -> tuple[int, ...]:
    """The tokens that end an answer: none, one, or a list of them.

    Args:
        value: What a file says.
        source: The file, for the message.

    Raises:
        BackendError: They are no token ids.
    """
    named = value if isinstance(value, (list, tuple)) else [value]
    found = [token for token in named if token is not None]
    for token in found:
        if not isinstance(token, int) or isinstance(token, bool):
            raise BackendError(
                f"{source}: eos_token_id is {value!r}", "it names a token id or a list of them"
            )
    return tuple(found)


def damaged_file(folder: Path, names: Sequence[str]) -> str | None:
    """What is wrong with the first of these files that holds no JSON object; None: all do."""
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
    """What is wrong with the header of a file of safetensors."""
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
