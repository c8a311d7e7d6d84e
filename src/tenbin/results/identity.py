"""Which run a result is: what was asked, of which model, on which data.

Two runs are the same run if all of that is equal, whatever machine computed it and in batches of
whatever size.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tenbin.results.schema import CellConfig, RunResult

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
"""Options that affect prompts and are not seen in the tasks as they were asked."""
_RARE = ("until", "against")
_MODEL = ("model", "model_args", "dtype", "encoding")
_NOT_ASKED = ("choices_by", "alias", "limit", "origin")
"""Of a cell's config: known only afterwards, or another word for the number of documents. Of the
origin only the functions count: where a task file lies, and its comments, change nothing."""
_FUNCTIONS = "functions of the task"
_TEMPLATE_TEXT, _DOCUMENTS = "words of the template", "documents"
_COUNTED = (_TEMPLATE_TEXT, _DOCUMENTS)
"""Not in the config itself: results of other programs may lack them."""
AUTO = "auto"

_Fields = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class RunIdentity:
    """What makes a run the run it is, before or after it was executed."""

    config: _Fields
    """The options of the run."""
    profile: str | None
    fingerprint: str | None
    """Of the model; None if it is not known yet."""
    configs: Mapping[str, CellConfig]
    """Task id → the task as it is asked. If the template is chosen on the way, all candidates."""
    template_hashes: Mapping[str, str]
    documents: Mapping[str, int]
    """Task id → documents to be asked."""
    digests: Mapping[str, Mapping[str, list[str]]]
    """Task id → split → checksums of its files."""

    @classmethod
    def of(cls, result: RunResult) -> RunIdentity:
        """The identity of a stored run."""
        return cls(
            config=result.config,
            profile=result.profile,
            fingerprint=result.fingerprint,
            configs=result.configs,
            template_hashes={id: one.template_hash for id, one in result.prompts.items()},
            documents={id: _documents(result, id) for id in result.n_samples},
            digests={
                id: {split: [file.sha256 for file in files] for split, files in splits.items()}
                for id, splits in result.data.items()
            },
        )

    @property
    def chooses_template(self) -> bool:
        """Whether the run chooses among templates (`--template auto`)."""
        return self.config.get("template") == AUTO

    def settings(self) -> dict[str, object]:
        """Options that affect prompts."""
        return {
            **{name: self.config.get(name) or None for name in _SETTINGS},
            "template": AUTO if self.chooses_template else None,
            "profile": self.profile,
            # Only where they are set: runs without them keep the id that they had.
            **{name: value for name in _RARE if (value := self.config.get(name))},
        }

    def tasks(self) -> dict[str, dict[str, object]]:
        """Each task as it is asked; keys that an older file lacks are absent."""
        return {
            id: {
                **{k: value for k, value in config.to_json().items() if k not in _NOT_ASKED},
                _TEMPLATE_TEXT: self.template_hashes.get(id),
                _DOCUMENTS: self.documents.get(id),
                **_functions(config),
            }
            for id, config in self.configs.items()
        }


def _documents(result: RunResult, id: str) -> int:
    """Documents that a task of a stored run was to ask, at most."""
    counts = result.n_samples[id]
    if counts.states("asked"):
        return counts.asked
    stopped = result.stopping.documents(id) if result.stopping is not None else None
    return counts.effective if stopped is None else stopped


def _functions(config: CellConfig) -> dict[str, object]:
    """The functions that take part, by name and content; nothing for tasks without any."""
    found = config.origin.functions if config.origin is not None else []
    return {_FUNCTIONS: sorted((one.name, one.sha256) for one in found)} if found else {}


def run_id(identity: RunIdentity) -> str:
    """A hash that names the run: the same for the same run, also if it was resumed."""
    hashed = {
        "model": {"fingerprint": identity.fingerprint},
        "settings": identity.settings(),
        "tasks": identity.tasks(),
        "data": identity.digests,
    }
    written = json.dumps(hashed, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(written.encode()).hexdigest()[:32]


def differing(before: RunIdentity, now: RunIdentity) -> list[str]:
    """What two runs do not have in common, a line each: the old value → the new one.

    Args:
        before: A stored run; what its file lacks counts as equal.
        now: A run that begins.
    """
    return [
        *model_differences(before, now),
        *_settings(before.settings(), now.settings()),
        *_tasks(before.tasks(), now.tasks(), now.chooses_template),
        *_data(before.digests, now.digests),
    ]


def model_differences(before: RunIdentity, now: RunIdentity) -> Iterator[str]:
    """Why two fingerprints are not the same, a line each; nothing if they are."""
    one, two = before.fingerprint, now.fingerprint
    if one is None or two is None or one == two:
        return
    causes = [
        f"{name}: {_shown(old)} → {_shown(new)}"
        for name in _MODEL
        if (old := before.config.get(name)) != (new := now.config.get(name))
    ]
    yield from causes or [
        f"model: its files, or what tenbin makes of them, have changed: fingerprint {one} → {two}"
    ]


def _settings(old: _Fields, new: _Fields) -> Iterator[str]:
    for name in dict.fromkeys((*new, *old)):
        value = new.get(name)
        if old.get(name) != value and name != "encoding":
            yield f"{name}: {_shown(old.get(name))} → {_shown(value)}"


def _tasks(
    old: Mapping[str, _Fields], new: Mapping[str, _Fields], chooses_template: bool
) -> Iterator[str]:
    if chooses_template:
        # One template of each task was chosen: the others are not additional tasks.
        names = [
            {f"{asked['task']}-{asked['version']}" for asked in one.values()} for one in (old, new)
        ]
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
    for (name, one, two), ids in sorted(changed.items()):
        yield f"{name}: {one} → {two} ({_named(sorted(ids))})"


def _data(
    old: Mapping[str, Mapping[str, list[str]]], new: Mapping[str, Mapping[str, list[str]]]
) -> Iterator[str]:
    changed: dict[tuple[str, str], list[str]] = {}
    for id in old.keys() & new.keys():
        for split, files in new[id].items():
            if split in old[id] and old[id][split] != files:
                changed.setdefault((_hashes(old[id][split]), _hashes(files)), []).append(
                    f"{id} {split}"
                )
    for (before, now), places in sorted(changed.items()):
        yield f"data: sha256 {before} → {now} ({_named(sorted(places))})"


def _hashes(files: Sequence[str]) -> str:
    return " and ".join(one[:12] for one in files) or "none"


def _named(ids: Sequence[str]) -> str:
    return ", ".join(ids[:3]) + (f" and {len(ids) - 3} more" if len(ids) > 3 else "")


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 80 else f"{text[:77]}…"
