"""Differences between servers: which fields each one needs and accepts.

A server fills in fields that a call leaves out from its own defaults (llama.cpp samples from the 40
likeliest tokens, vLLM applies a model's own penalties), so these are switched off explicitly where
a server is known to accept the field.
"""

from __future__ import annotations

from typing import Any, Literal

from tenbin.records import Generate

Dialect = Literal["vllm", "sglang", "llama.cpp", "plain"]

_SEED_BITS = 0x7FFFFFFF
"""llama.cpp accepts 32 bits, of which the highest number means `no seed`."""


def dialect_of(server: str, owner: str) -> Dialect:
    """Which server this is, by its `Server` header and the owner of its models."""
    if "llama.cpp" in server.lower() or owner == "llamacpp":
        return "llama.cpp"
    if owner == "vllm":
        return "vllm"
    return "sglang" if owner == "sglang" else "plain"


def takes_variables(dialect: Dialect) -> bool:
    """Whether a chat call may carry variables of the chat template."""
    return dialect != "plain"


def cannot_sample(dialect: Dialect, request: Generate) -> str | None:
    """Why a request cannot be sampled as it asks, or None."""
    if request.sampling is not None and request.sampling.top_k and dialect == "plain":
        return (
            f"top_k {request.sampling.top_k} is not part of the protocol, and this server is not"
            " known to accept it; leave top_k out"
        )
    return None


def decoding_fields(dialect: Dialect, request: Generate | None) -> dict[str, Any]:
    """Fields for decoding: greedy, or sampled as the request says."""
    sampling = request.sampling if request is not None else None
    fields: dict[str, Any] = {"temperature": sampling.temperature if sampling else 0}
    if dialect in ("vllm", "sglang"):
        # A model's own settings may hold penalties, which would apply to greedy decoding too.
        fields["repetition_penalty"] = 1.0
    if dialect == "llama.cpp":
        fields["repeat_penalty"] = 1.0
    if sampling is None or request is None:
        return fields
    fields["seed"] = request.seed & _SEED_BITS
    if dialect == "plain":
        return {**fields, **({"top_p": sampling.top_p} if sampling.top_p < 1 else {})}
    fields |= {"top_p": sampling.top_p, "min_p": 0.0}
    if dialect == "llama.cpp":
        # Its default order applies the temperature last.
        steps = ["temperature", "top_k", "top_p"]
        return {**fields, "top_k": sampling.top_k, "samplers": steps}
    return {**fields, "top_k": sampling.top_k or -1}
