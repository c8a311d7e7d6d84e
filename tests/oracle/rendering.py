"""The published prompts, rendered by the plainest means, straight from the reference strings.

Shares no code with tenbin: str.replace over prompts.yaml, rows from the files themselves. What
both agree on is what the reference says.
"""

from __future__ import annotations

import gzip
import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml

SYSTEM_PROMPT = "あなたは役立つアシスタントです。"
Row = dict[str, Any]


def read_rows(path: Path) -> list[Row]:
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]


class Reference:
    """prompts.yaml, with the templates that are described by another written out."""

    def __init__(self, path: Path) -> None:
        self.strings = yaml.safe_load(path.read_text(encoding="utf-8"))

    def parts(self, task: str, version: str, template: str, profile: bool) -> Row:
        name = "jsquad" if task == "jaquad" else task
        written = self.strings[name][template]
        if isinstance(written, str):
            written = _newlines(self.strings[name]["0.4"])
        parts = dict(written)
        if version == "1.2":
            parts.update(parts.get("version_1_2", {}))
        if profile and task == "jcommonsenseqa" and template == "0.3":
            parts["text"] = parts["text"].replace("。\n\n出力は", "。出力は")
        return parts


def _newlines(value: Any) -> Any:
    if isinstance(value, str):
        return value.replace("<NL>", "\n")
    if isinstance(value, list):
        return [_newlines(item) for item in value]
    if isinstance(value, dict):
        return {key: _newlines(item) for key, item in value.items()}
    return value


def fill(text: str, values: dict[str, str]) -> str:
    """Replace every {name} at once, so that a value holding braces is left alone."""
    return re.sub(r"\{(\w+)\}", lambda found: values[found.group(1)], text)


def values_of(task: str, row: Row, reference: Reference, version: str) -> dict[str, str]:
    values = {"SYSTEM_PROMPT": SYSTEM_PROMPT}
    if task == "jcommonsenseqa":
        values |= {
            "question": row["question"],
            **{f"choice{i}": row[f"choice{i}"] for i in range(5)},
        }
    elif task in ("jsquad", "jaquad"):
        context = row["context"].split("[SEP]")[-1].strip()
        values |= {"title": row["title"], "context": context, "question": row["question"]}
    elif task == "jnli":
        values |= {"premise": row["sentence1"], "hypothesis": row["sentence2"]}
        labels = reference.strings["jnli"]["labels_" + version.replace(".", "_")]
        values |= {f"L{i}": label for i, label in enumerate(labels)}
    return values


def answers_of(
    task: str, template: str, row: Row, values: dict[str, str], profile: bool
) -> tuple[list[str] | None, str]:
    """What is scored (None: generation), and what an example shows."""
    if task == "jcommonsenseqa":
        choices = [row[f"choice{i}"] for i in range(5)]
        if template == "0.2":
            return (choices if profile else list("01234")), str(row["label"])
        return choices, choices[row["label"]]
    if task == "jnli":
        labels = [values[f"L{i}"] for i in range(3)]
        return labels, labels[row["label"]]
    return None, row["answers"]["text"][0]


def render(
    reference: Reference,
    task: str,
    version: str,
    template: str,
    documents: list[tuple[Row, list[Row]]],
    profile: bool = False,
) -> Iterator[Row]:
    """Prompts of documents with their examples."""
    parts = reference.parts(task, version, template, profile)

    def text_of(row: Row) -> tuple[str, list[str] | None, str]:
        values = values_of(task, row, reference, version)
        scored, target = answers_of(task, template, row, values, profile)
        return fill(parts["text"], values), scored, target

    for row, examples in documents:
        text, scored, target = text_of(row)
        values = values_of(task, row, reference, version)
        shown = [example_text + answer for example_text, _, answer in map(text_of, examples)]
        prompt = fill(parts["description"], values)
        if shown:
            prompt += parts["fewshot_sep"].join(shown) + parts["fewshot_sep"]
        yield {
            "prompt": prompt + text,
            "continuations": scored,
            "target": target,
            "stop": parts.get("stop", []),
        }


def published_draw(
    validation: list[Row], train: list[Row], shots: int, stratify: bool
) -> list[tuple[Row, list[Row]]]:
    """Order and examples as jp_stable_profile describes them."""
    rng = random.Random(42)
    order = list(validation)
    rng.shuffle(order)
    draw: Callable[[], list[Row]] = lambda: rng.sample(train, shots)  # noqa: E731
    if stratify:
        draw = lambda: _stratified(rng, train, shots)  # noqa: E731
    return [(row, draw()) for row in order]


def _stratified(rng: random.Random, train: list[Row], shots: int) -> list[Row]:
    labels: list[Any] = []
    for row in train:
        if row["label"] not in labels:
            labels.append(row["label"])
    groups = {label: [row for row in train if row["label"] == label] for label in labels}
    numbers = {label: int(len(groups[label]) / len(train) * shots) for label in labels}
    while sum(numbers.values()) < shots:
        smallest = min(numbers.values())
        first = next(label for label in labels if numbers[label] == smallest)
        numbers[first] += 1
    samples = []
    for label in labels:
        samples += rng.sample(groups[label], numbers[label])
    rng.shuffle(samples)
    return samples


def render_mlogiqa(reference: Reference, mode: str, template: str, row: Row) -> Row:
    """An MLogiQA prompt, default or as the paper prints it."""
    text = reference.strings["mlogiqa"][mode]["text"]
    if template == "paper":
        text = text.replace("D. {option3}", "D.{option3}").replace("C and D as", "C and Das")
    # The JSON form in the prompt has braces of its own, so fields are replaced one by one from
    # markers that no row can hold.
    for name in ("context", "question", "option0", "option1", "option2", "option3"):
        text = text.replace("{" + name + "}", f"\0{name}\0")
    values = {"context": row["context"].strip(), "question": row["question"].strip()}
    values |= {f"option{i}": option for i, option in enumerate(row["options"])}
    prompt = re.sub("\0(\\w+)\0", lambda found: values[found.group(1)], text)
    if mode == "gen":
        return {"prompt": prompt, "continuations": None, "stop": ["\n\n"]}
    scored = [f" {letter}. {option}" for letter, option in zip("ABCD", row["options"], strict=True)]
    return {"prompt": prompt, "continuations": scored, "stop": []}
