"""`tenbin preview` against independent renderings, on every real validation document."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tenbin.cli import main
from tests.oracle.rendering import (
    Reference,
    published_draw,
    read_rows,
    render,
    render_mlogiqa,
)

pytestmark = pytest.mark.real_data

FILES = {
    "jcommonsenseqa": "jglue_v1.1/jcommonsenseqa",
    "jsquad": "jglue_v1.1/jsquad",
    "jnli": "jglue_v1.1/jnli",
    "jaquad": "jaquad",
}
COUNTS = {"jcommonsenseqa": 1119, "jsquad": 4442, "jnli": 2434, "jaquad": 3939}
TEMPLATES = {
    "jcommonsenseqa-1.1": ["0.1", "0.2", "0.2.1", "0.3", "0.4", "0.5", "0.6"],
    "jsquad-1.1": ["0.1", "0.2", "0.3", "0.4", "0.5", "0.6"],
    "jsquad-1.2": ["0.1", "0.2", "0.3", "0.4", "0.5", "0.6"],
    "jaquad-0.1": ["0.1", "0.2", "0.3", "0.4", "0.5", "0.6"],
    "jnli-1.1": ["0.2", "0.3", "0.4", "0.5", "0.6"],
    "jnli-1.3": ["0.2", "0.3", "0.4", "0.5", "0.6"],
}


@pytest.fixture(scope="session")
def reference(reference_prompts: Path) -> Reference:
    return Reference(reference_prompts)


def preview(capsys: pytest.CaptureFixture[str], data: Path, *arguments: str) -> list[dict]:
    code = main(["preview", "--format", "jsonl", "--data_dir", str(data), *arguments])
    captured = capsys.readouterr()
    assert code == 0, captured.err
    return [json.loads(line) for line in captured.out.splitlines()]


def same(got: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    assert len(got) == len(expected)
    for ours, theirs in zip(got, expected, strict=True):
        assert {key: ours[key] for key in theirs} == theirs, ours["doc_id"]


def by_template(rows: list[dict], name: str) -> dict[str, list[dict]]:
    found: dict[str, list[dict]] = {}
    for row in rows:
        found.setdefault(row["task"].removeprefix(f"{name}-"), []).append(row)
    assert list(found) == TEMPLATES[name]
    return found


@pytest.mark.parametrize("name", TEMPLATES)
def test_zero_shot(
    name: str, reference: Reference, real_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    task, version = name.split("-")
    rows = read_rows(real_data / FILES[task] / "validation.jsonl.gz")
    assert len(rows) == COUNTS[task]
    got = preview(capsys, real_data, "--tasks", f"{name}-*", "--num_fewshot", "0")
    for template, ours in by_template(got, name).items():
        same(ours, list(render(reference, task, version, template, [(row, []) for row in rows])))


# 3 shots for all, and 2 where the documented command has them and where draws are stratified.
@pytest.mark.parametrize(
    ("name", "shots"), [*((name, 3) for name in TEMPLATES), ("jsquad-1.1", 2), ("jnli-1.3", 2)]
)
def test_published_program(
    name: str, shots: int, reference: Reference, real_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    task, version = name.split("-")
    folder = real_data / FILES[task]
    drawn = published_draw(
        read_rows(folder / "validation.jsonl.gz"),
        read_rows(folder / "train.jsonl.gz"),
        shots,
        stratify=name == "jnli-1.3",
    )
    got = preview(
        capsys, real_data, "--tasks", f"{name}-*",
        "--num_fewshot", str(shots), "--profile", "jp-stable",
    )  # fmt: skip
    for template, ours in by_template(got, name).items():
        same(ours, list(render(reference, task, version, template, drawn, profile=True)))


@pytest.mark.parametrize("language", ["en", "ko", "zh"])
@pytest.mark.parametrize("mode", ["mcq", "gen"])
@pytest.mark.parametrize("template", ["default", "paper"])
def test_mlogiqa(
    language: str,
    mode: str,
    template: str,
    reference: Reference,
    real_data: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = read_rows(real_data / "mlogiqa" / language / "test.jsonl.gz")
    got = preview(
        capsys, real_data, "--tasks", f"mlogiqa_{mode}_{language}",
        "--template", template, "--num_fewshot", "0",
    )  # fmt: skip
    assert len(rows) == 80
    same(got, [render_mlogiqa(reference, mode, template, row) for row in rows])


@pytest.mark.parametrize("language", ["en", "ko", "zh"])
def test_every_mlogiqa_template_renders(
    language: str, real_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for mode, templates in (("mcq", 9), ("gen", 3)):
        got = preview(capsys, real_data, "--tasks", f"mlogiqa_{mode}_{language}-1.0-*")
        assert len(got) == 80 * templates
