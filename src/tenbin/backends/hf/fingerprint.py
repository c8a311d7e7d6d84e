"""The model half of a journal key: what an answer depends on besides the request.

Known before the weights are loaded. Small files (configuration, tokenizer, adapter, code) are
read whole; of each weight file the name, the size and 64 samples of 64 KiB at even distances
are read, so that 16 GB are told apart in milliseconds. A change between the samples is NOT seen;
retraining, merging or re-quantising changes every region, so in practice only a hand-made edit of
a few bytes can hide. The device is left out: its answers differ by rounding noise alone.
Knows no tokenizer and no model.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

ENGINE_VERSION = "3"
"""Raise it when answers change for the same model and request."""

SAMPLES = 64
SAMPLE_BYTES = 1 << 16

_SMALL = (
    "config.json",
    "generation_config.json",
    "tokenizer*",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab*",
    "merges.txt",
    "*.model",
    "chat_template*",
    "adapter_config.json",
    "*.index.json",
    "*.py",
)
_WEIGHTS = ("*.safetensors", "pytorch_model*.bin", "adapter_model*.bin")


def fingerprint_of(parts: Mapping[str, Any]) -> str:
    """One hash of everything that was gathered; the order of the parts does not matter."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def folder_digest(folder: Path) -> str:
    """A hash of a model, tokenizer or adapter folder, wherever it lies."""
    small = set(_matching(folder, _SMALL))
    weights = set(_matching(folder, _WEIGHTS)) or set(_matching(folder, ("*.bin",)))
    digest = hashlib.sha256()
    for file in sorted(small | weights, key=lambda entry: entry.name):
        digest.update(f"{file.name}\0{file.stat().st_size}\0".encode())
        digest.update(_sampled(file) if file in weights else file.read_bytes())
    return digest.hexdigest()


def model_digest(model: Any) -> str:
    """A hash of a model that is already in memory: its configuration and samples of its tensors."""
    digest = hashlib.sha256(model.config.to_json_string(use_diff=False).encode())
    # Its end tokens end answers.
    settings = getattr(model, "generation_config", None)
    digest.update(str(getattr(settings, "eos_token_id", None)).encode())
    for name, tensor in sorted(model.state_dict().items()):
        flat = tensor.detach().reshape(-1)
        step = max(1, flat.numel() // 1024)
        digest.update(f"{name}\0{tuple(tensor.shape)}\0{tensor.dtype}\0".encode())
        digest.update(flat[::step].float().cpu().numpy().tobytes())
    return digest.hexdigest()


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


def _matching(folder: Path, patterns: Iterable[str]) -> list[Path]:
    return [file for pattern in patterns for file in folder.glob(pattern) if file.is_file()]


def _sampled(file: Path) -> bytes:
    """Evenly spaced samples of a file, its first and last bytes among them."""
    digest = hashlib.sha256()
    size = file.stat().st_size
    with file.open("rb") as stream:
        if size <= SAMPLES * SAMPLE_BYTES:
            digest.update(stream.read())
        else:
            for number in range(SAMPLES):
                stream.seek(number * (size - SAMPLE_BYTES) // (SAMPLES - 1))
                digest.update(stream.read(SAMPLE_BYTES))
    return digest.digest()
