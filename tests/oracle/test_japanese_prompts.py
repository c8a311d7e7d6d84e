"""`tenbin preview` of the Japanese benchmarks against renderings from the published strings."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tenbin.cli import main
from tests.conftest import SHARED
from tests.oracle import japanese_rendering as oracle
from tests.oracle.rendering import published_draw, read_rows

pytestmark = pytest.mark.real_data

Row = dict[str, Any]
Preview = Callable[..., dict[str, list[Row]]]
LIMIT = 40
JP_STABLE = ("0.0", "0.3", "0.4", "0.5", "0.6")


@pytest.fixture(scope="module")
def facts() -> Row:
    path = SHARED / "suites.yaml"
    if not path.is_file():
        pytest.skip("no published wordings at shared/suites.yaml")
    return yaml.safe_load(path.read_text(encoding="utf-8"))


@pytest.fixture
def preview(real_data: Path, capsys: pytest.CaptureFixture[str]) -> Preview:
    """Prompts by task id; several tasks at a time, since reading the catalogue takes its time."""

    def rendered(tasks: list[str], *options: str) -> dict[str, list[Row]]:
        given = ["--format", "jsonl", "--data_dir", str(real_data), *options]
        code = main(["preview", "--tasks", ",".join(tasks), *given])
        captured = capsys.readouterr()
        assert code == 0, captured.err
        found: dict[str, list[Row]] = {}
        for row in map(json.loads, captured.out.splitlines()):
            found.setdefault(row["task"], []).append(row)
        return found

    return rendered


def same(got: list[Row], expected: list[Row]) -> None:
    assert len(got) == len(expected) > 0
    for ours, theirs in zip(got, expected, strict=True):
        assert {key: ours[key] for key in theirs} == theirs, ours["doc_id"]


@pytest.mark.parametrize(
    ("task", "split"), [("jcola", "validation"), ("jcola_ood", "validation_out_of_domain")]
)
def test_jcola_of_jp_stable(
    task: str, split: str, facts: Row, real_data: Path, preview: Preview
) -> None:
    rows = read_rows(real_data / "jcola" / f"{split}.jsonl.gz")[:LIMIT]
    ids = {template: f"{task}-0.2-{template}" for template in JP_STABLE}
    got = preview(list(ids.values()), "--num_fewshot", "0", "--limit", str(LIMIT))
    for template, name in ids.items():
        same(got[name], [oracle.jcola(facts, template, row, []) for row in rows])


def test_jcola_in_the_published_program(facts: Row, real_data: Path, preview: Preview) -> None:
    folder = real_data / "jcola"
    drawn = published_draw(
        read_rows(folder / "validation.jsonl.gz"), read_rows(folder / "train.jsonl.gz"), 3, True
    )[:LIMIT]
    ids = {template: f"jcola-0.2-{template}" for template in JP_STABLE}
    options = ("--num_fewshot", "3", "--profile", "jp-stable", "--limit", str(LIMIT))
    got = preview(list(ids.values()), *options)
    for template, name in ids.items():
        same(got[name], [oracle.jcola(facts, template, row, shown) for row, shown in drawn])


def _label(row: Row) -> str:
    return str(row["label"])


def _joined(row: Row) -> str:
    return ",".join(answer for answer in row["answers"] if answer)


# Task, suite, files, ids of rows, what an example shows, and how the rows are chosen.
FRAMED: list[tuple[str, str, str, str, str | None, Callable[[Row], str]]] = [
    ("jcola_gen", "jcola", "jcola/validation", "jcola/train", "uid", _label),
    ("jcola_gen_ood", "jcola", "jcola/validation_out_of_domain", "jcola/train", "uid", _label),
    (
        "jcommonsensemorality_gen",
        "jcommonsensemorality",
        "jcommonsensemorality/test",
        "jcommonsensemorality/train",
        None,
        _label,
    ),
    ("janli_gen", "janli", "janli/test", "janli/train", "id", _label),
    ("niilc", "niilc", "niilc/test", "niilc/dev", "id", _joined),
    (
        "jemhopqa",
        "jemhopqa",
        "jemhopqa_v1.2/validation",
        "jemhopqa_v1.2/train",
        "qid",
        lambda row: str(row["answer"]),
    ),
]


@pytest.mark.parametrize("shots", [0, 4])
def test_frame_of_llm_jp_eval(shots: int, facts: Row, real_data: Path, preview: Preview) -> None:
    ids = [f"{case[0]}-{version}-llm-jp-eval" for case in FRAMED for version in ("1.0", "1.1")]
    prompts = preview(ids, "--num_fewshot", str(shots), "--limit", str(LIMIT))
    assert list(prompts) == ids
    for task, suite, scored, pool, key, output in FRAMED:
        rows = [r for r in read_rows(real_data / f"{scored}.jsonl.gz") if r.get("answers") != ["-"]]
        examples = {
            str(row[key]) if key else f"row-{number}": row
            for number, row in enumerate(read_rows(real_data / f"{pool}.jsonl.gz"))
        }
        for version in ("1.0", "1.1"):
            got = prompts[f"{task}-{version}-llm-jp-eval"]
            for ours, row in zip(got, rows[:LIMIT], strict=True):
                shown = [(examples[name], output(examples[name])) for name in ours["examples"]]
                assert len(shown) == shots
                expected = oracle.llm_jp_eval(facts, suite, row, shown)
                assert ours["prompt"] == expected, ours["doc_id"]
                assert (ours["target"], ours["stop"]) == (output(row), ["\n\n"])


def test_the_frame_with_choices(facts: Row, real_data: Path, preview: Preview) -> None:
    tasks = ["janli", "jcommonsensemorality"]
    ids = [f"{task}-1.0-llm-jp-eval" for task in tasks]
    got = preview(ids, "--num_fewshot", "0", "--limit", str(LIMIT))
    for task, name in zip(tasks, ids, strict=True):
        rows = read_rows(real_data / task / "test.jsonl.gz")[:LIMIT]
        for ours, row in zip(got[name], rows, strict=True):
            assert ours["prompt"] == oracle.llm_jp_eval(facts, task, row, [])
            assert ours["target"] == str(row["label"])


@pytest.mark.parametrize("shots", [0, 4])
def test_jmmlu(shots: int, facts: Row, real_data: Path, preview: Preview) -> None:
    subjects = ["abstract_algebra", "japanese_history", "virology"]
    ids = {
        f"{task}_{subject}-{version}-llm-jp-eval": (subject, version, letters)
        for task, letters in (("jmmlu", ["A", "B", "C", "D"]), ("jmmlu_gen", None))
        for subject in subjects
        for version in ("1.0", "1.1")
    }
    prompts = preview(list(ids), "--num_fewshot", str(shots), "--limit", str(LIMIT))
    every = read_rows(real_data / "jmmlu" / "test.jsonl.gz")
    stripped = [{**row, **{at: row[at].strip() for at in "ABCD"}} for row in every]
    for name, (subject, version, letters) in ids.items():
        rows = enumerate(every if version == "1.0" else stripped)
        named = {f"row-{number}": row for number, row in rows if row["subject"] == subject}
        assert [ours["doc_id"] for ours in prompts[name]] == list(named)[:LIMIT]
        for ours in prompts[name]:
            assert ours["doc_id"] not in ours["examples"]
            assert len(ours["examples"]) == shots
            shown = [(named[one], named[one]["answer"]) for one in ours["examples"]]
            row = named[ours["doc_id"]]
            assert ours["prompt"] == oracle.llm_jp_eval(facts, "jmmlu", row, shown)
            assert (ours["continuations"], ours["target"]) == (letters, row["answer"])


def test_swallow_wordings(facts: Row, real_data: Path, preview: Preview) -> None:
    names = {"swallow": "swallow-instruct jemhopqa", "swallow-cot": "swallow-instruct jemhopqa_cot"}
    ids = ["jmmlu_gen_anatomy-1.1-swallow", *(f"jemhopqa-1.1-{one}" for one in names)]
    got = preview(ids, "--num_fewshot", "0")
    rows = [r for r in read_rows(real_data / "jmmlu/test.jsonl.gz") if r["subject"] == "anatomy"]
    text = oracle.wording(facts, "jmmlu", "swallow-instruct")["doc_to_text"]
    for ours, row in zip(got[ids[0]], rows, strict=True):
        stripped = {letter: row[letter].strip() for letter in "ABCD"}
        assert ours["prompt"] == oracle.fill(text, **{**row, **stripped})
    rows = read_rows(real_data / "jemhopqa_v1.2/validation.jsonl.gz")
    for template, who in names.items():
        found = [one for one in facts["jemhopqa"]["wordings"] if one["who"].split(" (")[0] == who]
        for ours, row in zip(got[f"jemhopqa-1.1-{template}"], rows, strict=True):
            assert ours["prompt"] == oracle.fill(found[0]["doc_to_text"], **row)


def test_the_test_sets_are_asked_as_validation(real_data: Path, preview: Preview) -> None:
    tasks = {"jcommonsenseqa": "1.1-0.2", "jnli": "1.3-0.2", "jsquad": "1.2-0.2"}
    ids = [f"{task}{kind}-{form}" for task, form in tasks.items() for kind in ("", "_test")]
    got = preview(ids, "--num_fewshot", "0", "--limit", str(LIMIT))
    for task, form in tasks.items():
        validation, test = got[f"{task}-{form}"], got[f"{task}_test-{form}"]
        rows = read_rows(real_data / f"jglue_v1.3/{task}/test.jsonl.gz")[:LIMIT]
        for ours, row in zip(test, rows, strict=True):
            assert (row.get("question") or row["sentence1"]) in ours["prompt"]
        # The same words around the rows.
        assert validation[0]["prompt"].split("\n")[0] == test[0]["prompt"].split("\n")[0]
