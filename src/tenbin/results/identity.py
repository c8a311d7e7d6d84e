"""Which run a result document is: what it was asked, of which model, on which data.

Two runs are the same run where all of that is equal, whatever machine worked it out and in
batches of whatever size. Reads result documents, finished or of a run that only begins; knows
no file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

_SETTINGS = (
    "encoding",
    "apply_chat_template",
    "system_instruction",
    "system_prompt",
    "chat_template_args",
    "fewshot_as_multiturn",
    "fewshot",
    "select_on",
)
"""Of `config`: what bears on prompts and is not seen in the tasks as they were asked."""
_MODEL = ("model", "model_args", "dtype", "encoding")
_NOT_ASKED = ("choices_by", "alias", "limit")
"""Of `configs`: known only afterwards, or another word for the documents that were asked."""
_WORDS, _DOCUMENTS = "words of the template", "documents"
_COUNTED = (_WORDS, _DOCUMENTS)
"""Not in `configs` itself: documents of other programs may lack them."""
AUTO = "auto"

Identity = Mapping[str, Mapping[str, Any]]


def identity_of(document: Mapping[str, Any]) -> Identity:
    """What makes a run the run it is, from its result document."""
    config = document.get("config", {})
    tasks = {
        id: {name: value for name, value in asked.items() if name not in _NOT_ASKED}
        for id, asked in document.get("configs", {}).items()
    }
    for id, asked in tasks.items():
        prompts = document.get("prompts", {}).get(id, {})
        counts = document.get("n-samples", {}).get(id, {})
        asked[_WORDS] = prompts.get("template_hash")
        asked[_DOCUMENTS] = counts.get("asked", counts.get("effective"))
    return {
        "model": {"fingerprint": document.get("fingerprint")},
        "settings": {
            **{name: config.get(name) or None for name in _SETTINGS},
            "template": AUTO if config.get("template") == AUTO else None,
            "profile": document.get("profile"),
        },
        "tasks": tasks,
        "data": {
            id: {split: [file.get("sha256") for file in files] for split, files in splits.items()}
            for id, splits in document.get("data", {}).items()
        },
    }


def run_id(document: Mapping[str, Any]) -> str:
    """A name for the run: the same for the same run, also where it went on after a break."""
    written = json.dumps(identity_of(document), sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(written.encode()).hexdigest()[:32]


def differing(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What two runs do not have in common, a line each: the old value → the new one.

    Args:
        before: The document of a stored run; what its shape does not know counts as equal.
        now: The document of a run that begins, as far as it is known. Where the template is
            chosen on the way, all that can be chosen are among its tasks.
    """
    old, new = identity_of(before), identity_of(now)
    return [
        *_model(before, now),
        *(f"{name}: {_shown(one)} → {_shown(two)}" for name, one, two in _settings(old, new)),
        *_tasks(old["tasks"], new["tasks"], chosen=new["settings"]["template"] == AUTO),
        *_data(old["data"], new["data"]),
    ]


def _model(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    one, two = before.get("fingerprint"), now.get("fingerprint")
    if one is None or two is None or one == two:
        return
    causes = [
        f"{name}: {_shown(old)} → {_shown(new)}"
        for name in _MODEL
        if (old := before.get("config", {}).get(name)) != (new := now["config"].get(name))
    ]
    yield from causes or [
        f"model: its files, or what tenbin makes of them, have changed: fingerprint {_shown(one)} "
        f"→ {_shown(two)}"
    ]


def _settings(old: Identity, new: Identity) -> Iterator[tuple[str, Any, Any]]:
    for name, value in new["settings"].items():
        if old["settings"].get(name) != value and name != "encoding":
            yield name, old["settings"].get(name), value


def _tasks(old: Mapping[str, Any], new: Mapping[str, Any], chosen: bool) -> Iterator[str]:
    if chosen:
        # One template of each task was chosen: the others are no tasks that came in addition.
        names = [{f"{asked['task']}-{asked['version']}" for asked in one.values()}
                 for one in (old, new)]  # fmt: skip
    else:
        names = [set(old), set(new)]
    if names[0] != names[1]:
        yield f"tasks: {_named(sorted(names[0]))} → {_named(sorted(names[1]))}"
    changed: dict[tuple[str, str, str], list[str]] = {}
    for id in old.keys() & new.keys():
        for name, value in new[id].items():
            before = old[id].get(name, value)
            if before != value and not (before is None and name in _COUNTED):
                changed.setdefault((name, _shown(before), _shown(value)), []).append(id)
    for (name, before, value), ids in sorted(changed.items()):
        yield f"{name}: {before} → {value} ({_named(sorted(ids))})"


def _data(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    changed: dict[tuple[str, str], list[str]] = {}
    for id in old.keys() & new.keys():
        for split, files in new[id].items():
            if split in old[id] and old[id][split] != files:
                changed.setdefault((_hashes(old[id][split]), _hashes(files)), []).append(
                    f"{id} {split}"
                )
    for (before, now), places in sorted(changed.items()):
        yield f"data: sha256 {before} → {now} ({_named(sorted(places))})"


def _hashes(files: list[str]) -> str:
    return " and ".join(str(one)[:12] for one in files) or "none"


def _named(ids: list[str]) -> str:
    return ", ".join(ids[:3]) + (f" and {len(ids) - 3} more" if len(ids) > 3 else "")


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 80 else f"{text[:77]}…"
