"""Which model a server has, as far as it says: asked once, before any document.

A server may change behind its name; what it says of its model is all that can be known. Knows
no request. Answers go into the fingerprint and the results, the key taken out.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tenbin.backends.openai.arguments import ServerArguments
from tenbin.backends.openai.dialect import Dialect, dialect_of
from tenbin.backends.openai.secret import Secret
from tenbin.backends.openai.verdict import judge_refusal, read_error
from tenbin.errors import BackendError, ConfigError, guess_at

_TRIES = 3
_SECONDS, _SECONDS_TO_CONNECT = 20.0, 10.0
_SHOWN = 80
"""Characters of a wrong answer that a message repeats."""
_KEPT = ("id", "root", "parent", "owned_by", "max_model_len", "meta")
"""What is said of a model. Not `created`: vLLM and llama.cpp give the time of asking there."""


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
    import httpx

    seconds = min(_SECONDS, arguments.timeout)
    limits = httpx.Timeout(seconds, connect=min(_SECONDS_TO_CONNECT, seconds))
    with httpx.Client(timeout=limits, headers=secret.headers()) as client:
        response = _get(client, f"{arguments.base_url}/models", secret)
        if response.status_code in (401, 403):
            said_no = secret.scrubbed(response.text)
            verdict = judge_refusal(response.status_code, said_no, secret.sent_from)
            raise BackendError(f"{arguments.base_url}/models: {verdict.message}", verdict.hint)
        listed = _listed(response)
        dialect = dialect_of(response.headers.get("server", ""), _owner(listed))
        if not listed and arguments.model is None:
            raise _no_list(response, secret)
        name = _chosen(arguments, listed, dialect)
        said = next((one for one in listed if one.get("id") == name), None)
        if said is None and len(listed) == 1 and dialect == "llama.cpp":
            said = listed[0]  # It has one model and answers under any name.
        facts = {key: said[key] for key in _KEPT if said and said.get(key) is not None}
        if said and dialect == "plain" and said.get("created"):
            facts["created"] = said["created"]
        root = arguments.base_url.removesuffix("/v1")
        template = None
        if dialect == "llama.cpp":
            properties = _read(client, f"{root}/props", secret)
            facts |= _llama_facts(properties)
            template = str(properties.get("chat_template") or "") or None
        software = _software(client, root, dialect, facts, secret)
    return Identity(name, dialect, _window(facts), _cleaned(facts, secret), software, template)


def _get(client: Any, address: str, secret: Secret) -> Any:
    import httpx

    for attempt in range(1, _TRIES + 1):
        try:
            response = client.get(address)
        except httpx.HTTPError as error:
            reason = secret.scrubbed(str(error)) or type(error).__name__
            if "ssl" in reason.lower():
                raise BackendError(
                    f"no safe connection to {address}: {reason}",
                    "a server of your own usually speaks plain http: base_url=http://…",
                ) from None
            if attempt == _TRIES:
                raise BackendError(
                    f"no server answers at {address}: {reason}",
                    "start it, or check base_url; a server that is loading its model needs a while",
                ) from None
        else:
            if response.status_code < 500 or attempt == _TRIES:
                return response
        time.sleep(0.5 * attempt)
    raise AssertionError("the loop above returns or raises")


def _listed(response: Any) -> list[Mapping[str, Any]]:
    """The models that a server lists; none where it does not list any."""
    try:
        found = response.json().get("data") if response.status_code == 200 else None
    except (ValueError, AttributeError):
        return []
    return [one for one in found or () if isinstance(one, Mapping) and one.get("id")]


def _no_list(response: Any, secret: Secret) -> BackendError:
    """Nobody named the model, and what answers lists none: the address is the likely fault."""
    words, _ = read_error(secret.scrubbed(response.text))
    shown = f"HTTP {response.status_code}" + (f": {words[:_SHOWN]}" if words else "")
    return BackendError(
        f"{response.request.url} lists no models ({shown})",
        "check base_url: the protocol begins there, usually after /v1; where a server lists none,"
        " add model=NAME",
    )


def _owner(listed: list[Mapping[str, Any]]) -> str:
    return str(listed[0].get("owned_by", "")) if listed else ""


def _chosen(arguments: ServerArguments, listed: list[Mapping[str, Any]], dialect: Dialect) -> str:
    names = [str(one["id"]) for one in listed]
    if arguments.model is None:
        if len(names) == 1:
            return names[0]
        known = ", ".join(names[:8])
        raise ConfigError(
            "the server has several models, and none is named", f"add model=NAME; it has: {known}"
        )
    if dialect in ("vllm", "sglang") and arguments.model not in names:
        guess = guess_at(arguments.model, names)
        raise ConfigError(
            f"the server has no model {arguments.model!r}", f"{guess}it has: {', '.join(names[:8])}"
        )
    return arguments.model


def _read(client: Any, address: str, secret: Secret) -> Mapping[str, Any]:
    """A page beside the protocol; empty where the server has none."""
    import httpx

    try:
        body = client.get(address).json()
    except (httpx.HTTPError, ValueError):
        return {}
    return body if isinstance(body, Mapping) else {}


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


def _software(
    client: Any, root: str, dialect: Dialect, facts: Mapping[str, Any], secret: Secret
) -> str | None:
    if dialect == "llama.cpp":
        return f"llama.cpp {facts['build']}" if facts.get("build") else "llama.cpp"
    if dialect == "vllm":
        version = _read(client, f"{root}/version", secret).get("version")
        return f"vLLM {version}" if version else "vLLM"
    return "SGLang" if dialect == "sglang" else None


def _window(facts: Mapping[str, Any]) -> int | None:
    meta = facts.get("meta")
    for found in (
        facts.get("max_model_len"),
        meta.get("n_ctx") if isinstance(meta, Mapping) else None,
    ):
        if isinstance(found, int) and found > 0:
            return found
    return None


def _cleaned(facts: Any, secret: Secret) -> Any:
    """What is said of a model as results record it: without the key, and files without folders."""
    if isinstance(facts, Mapping):
        return {str(name): _cleaned(value, secret) for name, value in facts.items()}
    return short_name(secret.scrubbed(facts)) if isinstance(facts, str) else facts


def short_name(model: str) -> str:
    """A model's name; of a file's path the file, since llama.cpp calls its model by it."""
    return model.replace("\\", "/").rsplit("/", 1)[-1] if model.endswith(".gguf") else model
