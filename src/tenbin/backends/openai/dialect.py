"""Servers that say the same thing in different words: what each needs to be told.

A server fills in what a call leaves out from settings of its own (llama.cpp draws from the 40
likeliest tokens, vLLM takes a model's own penalties), so what must not be there is said, where a
server is known to understand it. Knows no address.
"""

from __future__ import annotations

from typing import Any, Literal

from tenbin.records import Generate

Dialect = Literal["vllm", "sglang", "llama.cpp", "plain"]

_SEED_BITS = 0x7FFFFFFF
"""llama.cpp takes 32 bits, and the highest number of all for `no seed`."""


def dialect_of(server: str, owner: str) -> Dialect:
    """Which server this is, by its header and by who owns its models."""
    if "llama.cpp" in server.lower() or owner == "llamacpp":
        return "llama.cpp"
    if owner == "vllm":
        return "vllm"
    return "sglang" if owner == "sglang" else "plain"


def takes_variables(dialect: Dialect) -> bool:
    """Whether a call for a chat may carry variables of the chat template."""
    return dialect != "plain"


def cannot_draw(dialect: Dialect, request: Generate) -> str | None:
    """Why a request cannot be drawn as it asks, or None."""
    if request.sampling is not None and request.sampling.top_k and dialect == "plain":
        return (
            f"top_k {request.sampling.top_k} is no part of the protocol, and this server is not"
            " known to take it; leave top_k out"
        )
    return None


def decoding_fields(dialect: Dialect, request: Generate | None) -> dict[str, Any]:
    """How the next token is chosen: greedily, or drawn as the request says."""
    sampling = request.sampling if request is not None else None
    fields: dict[str, Any] = {"temperature": sampling.temperature if sampling else 0}
    if dialect in ("vllm", "sglang"):
        # A model's own settings may hold penalties, which greedy decoding would follow too.
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
        # Its own order puts the temperature last.
        steps = ["temperature", "top_k", "top_p"]
        return {**fields, "top_k": sampling.top_k, "samplers": steps}
    return {**fields, "top_k": sampling.top_k or -1}
