"""The JSON Schema of result.json and of a row of samples.parquet, generated from their types."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter

from tenbin.results.schema.result import RunResult
from tenbin.results.schema.sample import Sample

_TYPES: dict[str, Any] = {"result": RunResult, "samples": Sample}
SCHEMAS = tuple(_TYPES)
_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def json_schema(name: str) -> dict[str, Any]:
    """The JSON Schema of one of `SCHEMAS`, without the titles that only repeat names of fields."""
    found = TypeAdapter(_TYPES[name]).json_schema(by_alias=True)
    return {"$schema": _DIALECT, **_untitled(found), "title": _TYPES[name].__name__}


def _untitled(schema: Any, of_properties: bool = False) -> Any:
    """Without titles; a property that is called `title` stays."""
    if isinstance(schema, list):
        return [_untitled(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: _untitled(one, name in ("properties", "$defs") and not of_properties)
        for name, one in schema.items()
        if of_properties or name != "title"
    }
