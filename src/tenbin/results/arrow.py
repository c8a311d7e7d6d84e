"""Columns of records as Arrow arrays.

`pyarrow.array` could make them, but it imports pandas wherever that is installed, which takes
longer than all else that writing a short run does.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from itertools import accumulate, chain
from operator import attrgetter
from typing import Any


def arrow_array(values: Sequence[Any], type: Any) -> Any:
    """Values, None for null, as an array of a type.

    Args:
        values: Strings, numbers, truth values, sequences of such, or records with an attribute for
            each field of a struct (a record is never null). Halves of surrogate pairs, which a
            server may send and no file can hold, become U+FFFD.
        type: string, int64, float64 or bool, or a list or struct of those.
    """
    import pyarrow as pa

    if pa.types.is_struct(type):
        fields = [arrow_array([*map(attrgetter(one.name), values)], one.type) for one in type]
        return pa.Array.from_buffers(type, len(values), [None], children=fields)
    nulls = values.count(None)
    valid = _bits(value is not None for value in values) if nulls else None
    if pa.types.is_list(type):
        filled = [value or () for value in values]
        entries = arrow_array([*chain.from_iterable(filled)], type.value_type)
        buffers = [valid, _offsets(filled)]
        return pa.Array.from_buffers(type, len(values), buffers, nulls, children=[entries])
    if pa.types.is_string(type):
        texts = [_encoded(value) if value is not None else b"" for value in values]
        buffers = [valid, _offsets(texts), pa.py_buffer(b"".join(texts))]
        return pa.Array.from_buffers(type, len(values), buffers, nulls)
    if nulls:
        values = [value if value is not None else 0 for value in values]
    if pa.types.is_boolean(type):
        numbers = _bits(values)
    else:
        # Unlike numpy, `array` refuses a fraction where whole numbers are wanted.
        numbers = pa.py_buffer(array("q" if pa.types.is_int64(type) else "d", values))
    return pa.Array.from_buffers(type, len(values), [valid, numbers], nulls)


def _bits(values: Iterable[bool]) -> Any:
    """Truth values as a buffer, the first in the lowest bit."""
    import numpy as np
    import pyarrow as pa

    return pa.py_buffer(np.packbits(np.frombuffer(bytes(values), np.uint8), bitorder="little"))


def _offsets(parts: Iterable[Sequence[Any]]) -> Any:
    """Where each part begins, and where the last one ends, once they stand in one buffer."""
    import pyarrow as pa

    return pa.py_buffer(array("i", accumulate(map(len, parts), initial=0)))


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
