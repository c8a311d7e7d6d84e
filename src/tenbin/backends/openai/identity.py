"""Which model a server has, as far as it says: asked once, before any document.

A server may change behind its name; what it says of its model is all that can be known. Knows
no request. Answers go into the fingerprint and the results, the key taken out.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tenbin.backends.openai.arguments import ServerArguments
from tenbin.backends.openai.dialect import Dialect, dialect_of
from tenbin.backends.openai.lookup import Lookup, Page, open_lookup
from tenbin.backends.openai.parsing import read_count
from tenbin.backends.openai.pump import pumped
from tenbin.backends.openai.secret import Secret
from tenbin.backends.openai.verdict import one_line
from tenbin.errors import BackendError, ConfigError, guess_at

_KEPT = ("id", "root", "parent", "owned_by", "max_model_len", "meta")
"""What is said of a model. Not `created`: vLLM and llama.cpp give the time of asking there."""
_LONGEST_FACT = 10_000
"""Characters of one fact that results repeat; of a longer one they hold the checksum."""
_LONGEST_NAME = 80
_MOST_NAMES = 1_000
"""Models among which a similar name is looked for."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What a server says of itself and of its model."""

    model: str
    dialect: Dialect
    window: int | None = None
    """Tokens that the model takes, where the server says so."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What it says of the model."""
    software: str | None = None
    """The program behind the address, and its version where it is told."""
    chat_template: str | None = None
    """The source of the model's chat template, where the server shows it."""


def identify(arguments: ServerArguments, secret: Secret) -> Identity:
    """Ask a server what it has.

    Raises:
        BackendError: It does not answer, or refuses the key.
        ConfigError: It has no such model, or several and none was named.
    """
    (found,) = pumped([arguments], partial(open_lookup, arguments, secret), _identify, 1)
    return found


async def _identify(lookup: Lookup, arguments: ServerArguments) -> Identity:
    page = await lookup.get(f"{arguments.base_url}/models")
    status = page.received.status
    if status in (401, 403) or 300 <= status < 400:
        raise BackendError(f"{page.address}: {page.refusal.message}", page.refusal.hint)
    listed = _listed(page)
    dialect = dialect_of(page.received.headers.get("server", ""), _owner(listed))
    if not listed and arguments.model is None:
        raise _no_list(page)
    name = _chosen(arguments, listed, dialect)
    said = next((one for one in listed if one["id"] == name), None)
    if said is None and len(listed) == 1 and dialect == "llama.cpp":
        said = listed[0]  # It has one model and answers under any name.
    facts = {key: said[key] for key in _KEPT if said and said.get(key) is not None}
    if said and dialect == "plain" and said.get("created"):
        facts["created"] = said["created"]
    root = arguments.base_url.removesuffix("/v1")
    template = None
    if dialect == "llama.cpp":
        properties = await lookup.read(f"{root}/props")
        facts |= _llama_facts(properties)
        source = properties.get("chat_template")
        template = source if isinstance(source, str) and source else None
    software = await _software(lookup, root, dialect, facts)
    recorded = {key: _recorded(value) for key, value in facts.items()}
    return Identity(name, dialect, _window(facts), recorded, software, template)


def _listed(page: Page) -> list[Mapping[str, Any]]:
    """The models that a server lists; none where it does not list any."""
    found = page.body.get("data") if isinstance(page.body, Mapping) else None
    if not isinstance(found, list):
        return []
    named = (one for one in found if isinstance(one, Mapping))
    return [one for one in named if isinstance(one.get("id"), str) and one["id"]]


def _no_list(page: Page) -> BackendError:
    """Nobody named the model, and what answers lists none: the address is the likely fault."""
    return BackendError(
        f"{page.address} lists no models ({page.summary})",
        "check base_url: the protocol begins there, usually after /v1; where a server lists none,"
        " add model=NAME",
    )


def _owner(listed: list[Mapping[str, Any]]) -> str:
    return str(listed[0].get("owned_by", "")) if listed else ""


def _chosen(arguments: ServerArguments, listed: list[Mapping[str, Any]], dialect: Dialect) -> str:
    names = [str(one["id"]) for one in listed]
    known = ", ".join(one_line(name, _LONGEST_NAME) for name in names[:8])
    if arguments.model is None:
        if len(names) == 1:
            return names[0]
        raise ConfigError(
            "the server has several models, and none is named", f"add model=NAME; it has: {known}"
        )
    if dialect in ("vllm", "sglang") and arguments.model not in names:
        # Comparing names takes long where there are many long ones.
        alike = [name for name in names[:_MOST_NAMES] if len(name) <= _LONGEST_NAME]
        guess = guess_at(arguments.model, alike)
        raise ConfigError(f"the server has no model {arguments.model!r}", f"{guess}it has: {known}")
    return arguments.model


def _llama_facts(properties: Mapping[str, Any]) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    if path := properties.get("model_path"):
        # The name, not the place: results are passed on.
        facts["file"] = short_name(str(path))
    if kind := properties.get("model_ftype"):
        facts["quantisation"] = kind
    if template := properties.get("chat_template"):
        facts["chat_template"] = hashlib.sha256(str(template).encode()).hexdigest()[:16]
    if build := properties.get("build_info"):
        facts["build"] = build
    return facts


async def _software(
    lookup: Lookup, root: str, dialect: Dialect, facts: Mapping[str, Any]
) -> str | None:
    if dialect == "llama.cpp":
        build = facts.get("build")
        return f"llama.cpp {one_line(str(build), _LONGEST_NAME)}" if build else "llama.cpp"
    if dialect == "vllm":
        version = (await lookup.read(f"{root}/version")).get("version")
        return f"vLLM {one_line(str(version), _LONGEST_NAME)}" if version else "vLLM"
    return "SGLang" if dialect == "sglang" else None


def _window(facts: Mapping[str, Any]) -> int | None:
    meta = facts.get("meta")
    for found in (
        facts.get("max_model_len"),
        meta.get("n_ctx") if isinstance(meta, Mapping) else None,
    ):
        if window := read_count(found):
            return window
    return None


def _recorded(fact: Any) -> Any:
    """What is said of a model as results record it: numbers that JSON has, and not too long."""
    kept = _cleaned(fact)
    written = json.dumps(kept, ensure_ascii=False)
    if len(written) <= _LONGEST_FACT:
        return kept
    return f"{len(written):,} characters, sha256 {hashlib.sha256(written.encode()).hexdigest()}"


def _cleaned(fact: Any) -> Any:
    """A fact whose files are without folders, and whose numbers every reader of JSON takes."""
    if isinstance(fact, Mapping):
        return {name: _cleaned(value) for name, value in fact.items()}
    if isinstance(fact, list):
        return [_cleaned(value) for value in fact]
    if isinstance(fact, float) and not math.isfinite(fact):
        return str(fact)
    if isinstance(fact, int) and abs(fact) > 2**53:
        return f"a number of {fact.bit_length():,} bits"
    return short_name(fact) if isinstance(fact, str) else fact


def short_name(model: str) -> str:
    """A model's name; of a file's path the file, since llama.cpp calls its model by it."""
    return model.replace("\\", "/").rsplit("/", 1)[-1] if model.endswith(".gguf") else model
