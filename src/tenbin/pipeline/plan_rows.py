"""Prompts and requests as rows of a table, and back.

A text is most of a prompt, and several prompts may share it: it stands in a column of its own,
which databases can also sort by. Everything else is packed into one value.
"""

from __future__ import annotations

import pickle
from dataclasses import fields
from operator import attrgetter
from typing import Any

from tenbin.records import Cell, Generate, Prompt, Request, Rolling, Score

_REST = [one.name for one in fields(Prompt) if one.name not in ("cell", "text")]
_rest_of_prompt = attrgetter(*_REST)
_REST_OF_GENERATE = [one.name for one in fields(Generate) if one.name not in ("key", "prompt")]
_rest_of_generate = attrgetter(*_REST_OF_GENERATE)


def pack_text(text: str) -> bytes:
    """A text as bytes, which sort as the text does; half a surrogate pair is no reason to fail."""
    return text.encode("utf-8", "surrogatepass")


def unpack_text(packed: bytes) -> str:
    """The text again."""
    return packed.decode("utf-8", "surrogatepass")


def pack_prompt(prompt: Prompt) -> bytes:
    """All of a prompt but its cell and its text."""
    return pickle.dumps(_rest_of_prompt(prompt), pickle.HIGHEST_PROTOCOL)


def unpack_prompt(packed: bytes, cell: Cell, text: str) -> Prompt:
    """The prompt again."""
    rest = dict(zip(_REST, pickle.loads(packed), strict=True))
    return Prompt(cell=cell, text=text, **rest)


def pack_request(request: Request) -> bytes:
    """All of a request but its key and its text."""
    rest: Any = None
    if isinstance(request, Score):
        rest = request.continuations
    elif isinstance(request, Generate):
        rest = _rest_of_generate(request)
    return pickle.dumps(rest, pickle.HIGHEST_PROTOCOL)


def unpack_request(kind: int, key: str, text: str, packed: bytes) -> Request:
    """The request again; its kind is the first part of its place."""
    rest = pickle.loads(packed)
    if kind == _KIND_OF_SCORE:
        return Score(key, text, rest)
    if kind == _KIND_OF_ROLL:
        return Rolling(key, text)
    return Generate(key, text, **dict(zip(_REST_OF_GENERATE, rest, strict=True)))


_KIND_OF_SCORE = Score("", "", ()).place[0]
_KIND_OF_ROLL = Rolling("", "").place[0]
