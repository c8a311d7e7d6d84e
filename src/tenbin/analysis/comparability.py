"""Whether two stored cells asked the same thing: what differs, in words.

Reads what runs recorded: files and their checksums, prompts, shots, seed, decoding, profile. Does
not know scores, and does not decide whether a difference matters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

Kind = Literal["data", "prompts", "shots", "seed", "decoding", "profile", "partial"]
KINDS: tuple[str, ...] = get_args(Kind)
"""What may differ, as users name it."""

_USUAL_CHOICE = "likelihoods of their texts"
_ASKED = ("prompt", "continuations", "stop", "max_gen_toks")
_SETTINGS = (
    "apply_chat_template",
    "chat_template_args",
    "fewshot_as_multiturn",
    "system_instruction",
    "system_prompt",
    "fewshot",
)


@dataclass(frozen=True, slots=True)
class StoredCell:
    """One cell of a stored run."""

    document: Mapping[str, Any]
    """result.json of its run."""
    id: str
    samples: Mapping[str, Mapping[str, Any]]
    """Its documents by id."""

    @property
    def config(self) -> Mapping[str, Any]:
        """The task as it was asked."""
        entry: Mapping[str, Any] = self.document["configs"][self.id]
        return entry

    def files(self, split: str | None) -> list[Mapping[str, Any]]:
        """The files that a split was read from."""
        return list(self.document["data"][self.id].get(split, ()))


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that two cells do not have in common."""

    kind: Kind
    text: str


def differences(first: StoredCell, second: StoredCell) -> list[Difference]:
    """What two cells do not have in common, as far as it bears on a comparison.

    Cells of different ids differ in template, shots, version or draw by design, so only their
    data and profile are looked at. How many documents were asked is no difference: those that both
    have are compared.
    """
    found = [*_partial(first, second), *_data(first, second)]
    profiles = [cell.document.get("profile") for cell in (first, second)]
    if profiles[0] != profiles[1]:
        found.append(Difference("profile", f"{profiles[0]} here, {profiles[1]} there"))
    if first.id != second.id:
        return found
    ways = [_decoding(cell.config) for cell in (first, second)]
    if ways[0] != ways[1]:
        found.append(Difference("decoding", f"{ways[0]} here, {ways[1]} there"))
    shots = [cell.config["num_fewshot"] for cell in (first, second)]
    seeds = [cell.config["seed"] for cell in (first, second)]
    if shots[0] != shots[1]:
        found.append(Difference("shots", f"{shots[0]} here, {shots[1]} there"))
    elif shots[0] and seeds[0] != seeds[1]:
        found.append(Difference("seed", f"examples drawn with {seeds[0]} here, {seeds[1]} there"))
    else:
        found += _prompts(first, second)
    return found


def _partial(first: StoredCell, second: StoredCell) -> Iterator[Difference]:
    for cell, where in ((first, "here"), (second, "there")):
        if cell.document.get("partial"):
            counts = cell.document["n-samples"][cell.id]
            answered, asked = counts["effective"], counts["asked"]
            yield Difference(
                "partial",
                f"the run {where} was stopped after {answered:,} of {asked:,} documents, "
                "which are no random choice among them",
            )


def _data(first: StoredCell, second: StoredCell) -> Iterator[Difference]:
    splits = [cell.config["split"] for cell in (first, second)]
    names = [_set_name(cell.config) for cell in (first, second)]
    if names[0] != names[1]:
        yield Difference("data", f"{names[0]} here, {names[1]} there")
    if splits[0] != splits[1]:
        yield Difference("data", f"split {splits[0]} here, {splits[1]} there")
    yield from _files("", first.files(splits[0]), second.files(splits[1]))
    if first.id == second.id and first.config["num_fewshot"]:
        pools = [cell.config["fewshot_split"] for cell in (first, second)]
        if pools[0] != splits[0]:
            yield from _files("examples: ", first.files(pools[0]), second.files(pools[1]))
    other = [
        document
        for document in first.samples.keys() & second.samples.keys()
        if _answer(first.samples[document]) != _answer(second.samples[document])
    ]
    # Templates put the same answer into other words; under one id only the data can.
    if other and first.id == second.id:
        named = ", ".join(sorted(other)[:3]) + (", …" if len(other) > 3 else "")
        yield Difference(
            "data", f"{len(other):,} shared documents have another right answer ({named})"
        )


def _decoding(config: Mapping[str, Any]) -> str:
    """How answers were chosen; runs of earlier versions know likelihoods and greedy decoding."""
    if config.get("output_type") == "choice":
        return f"choices by {config.get('choices_by') or _USUAL_CHOICE}"
    thinking = config.get("thinking")
    thought = f", thoughts of up to {thinking['budget']:,} tokens" if thinking else ""
    if not config.get("do_sample"):
        return f"greedy{thought}"
    named = (f"{name} {config[name]:g}" for name in ("temperature", "top_p", "top_k"))
    return f"drawn with {', '.join(named)}{thought}"


def _set_name(config: Mapping[str, Any]) -> str:
    return " ".join(str(config[key]) for key in ("dataset", "dataset_config") if config.get(key))


def _files(
    what: str, first: Sequence[Mapping[str, Any]], second: Sequence[Mapping[str, Any]]
) -> Iterator[Difference]:
    if [file["sha256"] for file in first] != [file["sha256"] for file in second]:
        yield Difference("data", f"{what}{_described(first)} here, {_described(second)} there")


def _described(files: Sequence[Mapping[str, Any]]) -> str:
    if not files:
        return "no file"
    return " and ".join(
        f"{file['path']} ({_version(file)}{file['rows']:,} rows, sha256 {file['sha256'][:12]})"
        for file in files
    )


def _version(file: Mapping[str, Any]) -> str:
    return f"version {file['version']}, " if file.get("version") else ""


def _answer(sample: Mapping[str, Any]) -> tuple[Any, ...]:
    return sample["gold"], sample["target"], tuple(sample["references"] or ())


def _prompts(first: StoredCell, second: StoredCell) -> Iterator[Difference]:
    shared = first.samples.keys() & second.samples.keys()
    other = sorted(
        document
        for document in shared
        if _asked(first.samples[document]) != _asked(second.samples[document])
    )
    if not other:
        return
    text = f"{len(other):,} of {len(shared):,} shared documents were put in other words"
    text += f" (document {other[0]} for one)"
    causes = [
        f"{name} {one!r} here, {two!r} there"
        for name in _SETTINGS
        if (one := _setting(first, name)) != (two := _setting(second, name))
    ]
    words = [cell.document["prompts"][cell.id]["template_hash"] for cell in (first, second)]
    if words[0] != words[1]:
        causes.append("the template's own words")
    dropped = [
        sum(cell.samples[d]["dropped_examples"] or 0 for d in shared) for cell in (first, second)
    ]
    if dropped[0] != dropped[1]:
        causes.append(
            f"{dropped[0]:,} examples left out to fit the window here, {dropped[1]:,} there"
        )
    yield Difference("prompts", f"{text}: {'; '.join(causes)}" if causes else text)


def _asked(sample: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(sample[name] for name in _ASKED)


def _setting(cell: StoredCell, name: str) -> Any:
    value = cell.document["config"].get(name)
    # Runs of earlier versions do not name what they could not set.
    return None if value == {} else value
