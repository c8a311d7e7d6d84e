"""The rows of M-IFEval and IFEval: a prompt with instructions that rules can check."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tenbin.data.rows import Row
from tenbin.data.schemas.checks import refuse, take, take_identifier, take_text
from tenbin.records import Document

_IDS, _KWARGS = "instruction_id_list", "kwargs"
_LANGUAGES = ("ja", "en", "es", "fr")


def instructions_document(row: Row, number: int) -> Document:
    """Read a prompt with its instructions, each as the JSON object that the metrics take.

    Ids of the English set may lack their language, and some copies write every argument of every
    instruction, null where it is not used. Which instructions there are is the metrics' to say.
    """
    ids = take(row, _IDS, "a list of instruction ids")
    kwargs = take(row, _KWARGS, "a list of mappings, one for each instruction")
    if not isinstance(ids, list) or not ids or not all(isinstance(one, str) for one in ids):
        refuse(row, _IDS, ids, "a list of at least one instruction id")
    if not isinstance(kwargs, list) or len(kwargs) != len(ids):
        refuse(row, _KWARGS, kwargs, f"a list of {len(ids)} mappings, one for each instruction")
    instructions = [
        _instruction(id, _arguments(row, one)) for id, one in zip(ids, kwargs, strict=True)
    ]
    identifier = take_identifier(row, "key", number)
    fields = {
        "key": identifier,
        "prompt": take_text(row, "prompt"),
        "instruction_id_list": [json.loads(one)["id"] for one in instructions],
        "instructions": instructions,
    }
    return Document(identifier, fields, None, row.origin, number)


def _arguments(row: Row, value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            refuse(row, _KWARGS, value, "mappings, or mappings written as JSON")
    if not isinstance(value, Mapping):
        refuse(row, _KWARGS, value, "mappings, one for each instruction")
    return {key: one for key, one in value.items() if one is not None}


def _instruction(id: str, kwargs: Mapping[str, Any]) -> str:
    known = id if id.partition(":")[0] in _LANGUAGES else f"en:{id}"
    return json.dumps({"id": known, "kwargs": kwargs}, ensure_ascii=False)
