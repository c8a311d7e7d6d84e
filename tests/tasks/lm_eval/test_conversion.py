"""Task files from lm-eval's form to tenbin's and back: the prompts stay those of lm-eval."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tenbin.cli import main
from tenbin.errors import TaskError
from tenbin.files.yaml_text import read_yaml, write_yaml
from tenbin.tasks.lm_eval.conversion import to_lm_eval, to_tenbin
from tenbin.tasks.lm_eval.reading import read_task_file
from tenbin.tasks.lm_eval.templates import translate_templates
from tenbin.tasks.lm_eval.translate import translate
from tests.conftest import ROOT

FILES = ROOT / "tests" / "golden" / "lm_eval_files"
PROMPTS: dict[str, Any] = json.loads((FILES / "prompts.json").read_text(encoding="utf-8"))
"""Of lm-eval 0.4.13, written by tests/golden/write_lm_eval_files.py."""
PLAIN = {
    "animals_choice": "animals_choice_ja",
    "animals_generate": "animals_generate_ja",
    "animals_texts": "animals_texts",
}

pytestmark = pytest.mark.usefixtures("cache")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the files, which is the working folder."""
    copy = tmp_path / "files"
    shutil.copytree(FILES, copy)
    monkeypatch.chdir(copy)
    return copy


def previewed(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    assert main(["preview", "--format", "jsonl", *arguments]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return [{"text": row["prompt"], "answers": row["continuations"] or row["stop"]} for row in rows]


def test_a_name_of_two_lines_stays_one_line(folder: Path) -> None:
    plain = (folder / "animals_choice.yaml").rename(folder / "animals\nchoice.yaml")
    first, second, *_ = to_tenbin(read_task_file(plain), "published").splitlines()
    assert r"from 'animals\nchoice.yaml' (sha256" in first and second.startswith("# ")


@pytest.mark.parametrize("shots", ["0", "2"])
@pytest.mark.parametrize("file", PLAIN)
def test_an_imported_file_has_the_prompts_of_lm_eval(
    folder: Path, file: str, shots: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ("import-task", f"{file}.yaml", "--template", "published", "--output", "new.yaml")
    assert main(list(arguments)) == 0
    capsys.readouterr()
    asked = ("--num_fewshot", shots) if file != "animals_texts" else ()
    found = previewed(capsys, "--tasks", "new.yaml", *asked)
    assert found == PROMPTS[PLAIN[file]][shots]


def test_a_task_is_imported_by_its_name_too(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["import-task", "animals_choice.yaml"]) == 0
    by_file = capsys.readouterr().out
    name = read_yaml(folder / "animals_choice.yaml")["task"]
    assert main(["import-task", name, "--include_path", "."]) == 0
    assert capsys.readouterr().out == by_file


def test_a_further_template_changes_what_it_says(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written = read_yaml(folder / "imported_animals.yaml")
    written["templates"]["short"] = {
        "doc_to_text": "{{ question }}",
        "doc_to_target": "{{ options[label] }}",
        "generation_kwargs": {"until": ["。"]},
        "meant_for": "base models",
    }
    (folder / "two.yaml").write_text(write_yaml(written), encoding="utf-8")
    asked = ("--include_path", "two.yaml", "--num_fewshot", "0", "--tasks")
    first = previewed(capsys, *asked, "animals_generate_ja-2.0-published")
    assert first == PROMPTS["animals_generate_ja"]["0"]
    second = previewed(capsys, *asked, "animals_generate_ja-2.0-short")
    assert second[0] == {"text": "吠える動物は？", "answers": ["。"]}


def test_the_exported_file_is_the_one_that_lm_eval_has_loaded(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["import-task", "proverbs.yaml", "--to", "lm-eval", "--template", "asked"]) == 0
    written = capsys.readouterr().out
    assert written == (folder / "exported_proverbs.yaml").read_text(encoding="utf-8")
    asked = ("--tasks", "proverbs.yaml", "--template", "asked", "--num_fewshot", "0")
    assert previewed(capsys, *asked) == PROMPTS["proverbs"]["0"]


def test_what_was_imported_is_the_same_after_the_way_back(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["import-task", "imported_animals.yaml", "--to", "lm-eval"]) == 0
    (folder / "back.yaml").write_text(capsys.readouterr().out, encoding="utf-8")
    before = read_task_file(folder / "animals_generate.yaml").mapping
    assert read_yaml(folder / "back.yaml") == before


def test_keys_that_lm_eval_lacks_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import-task", "jnli-1.3-0.2", "--to", "lm-eval"]) == 1
    said = capsys.readouterr().err
    for part in ("dataset (jglue/jnli", "stratified", "labels in a template", "metric macro_f1"):
        assert part in said


def test_functions_are_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "rows.py").write_text("raise SystemExit('imported')\n")
    path = tmp_path / "task.yaml"
    path.write_text(
        "task: x\ndataset_path: json\ntest_split: test\ndoc_to_text: a\ndoc_to_target: b\n"
        "process_docs: !function rows.clean\n"
    )
    said = r"no plain file.*process_docs \(.*rows\.py: clean\)"
    with pytest.raises(TaskError, match=said):
        to_tenbin(read_task_file(path))
    mapping = read_task_file(path).mapping
    with pytest.raises(TaskError, match=said):
        to_lm_eval(translate(mapping, path).require(), "default", mapping)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("group: g\ntask: [a, b]\n", "describes a group"),
        ("task: x\ntemplates: {a: {}}\n", "in tenbin's form already: it has templates"),
        (
            "task: x\ndataset_path: json\ntest_split: t\ndoc_to_text: a\n",
            "doc_to_target: is mis",
        ),
        ("task: x\nunsafe_code: true\n", "unsafe_code"),
    ],
)
def test_what_cannot_be_imported(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "task.yaml"
    path.write_text(text)
    with pytest.raises(TaskError, match=said):
        to_tenbin(read_task_file(path))


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"rules": "mine"}, "rules"),
        ({"templates": {}}, "templates"),
        ({"templates": {"a": {"metric_list": []}}}, "templates.a.metric_list"),
        ({"templates": {"a": {"generation_kwargs": {"max_gen_toks": 3}}}}, "generation_kwargs"),
        ({"default_template": "b"}, "default_template"),
        ({"templates": {"a": {"doc_to_text": "{{ x"}}}, "templates.a: doc_to_text"),
    ],
)
def test_a_wrong_key_beside_templates_is_named(change: dict[str, Any], key: str) -> None:
    mapping = {
        "rules": "lm-eval", "task": "x", "dataset_path": "json", "test_split": "test",
        "doc_to_target": "y", "templates": {"a": {"doc_to_text": "{{ x }}"}}, **change,
    }  # fmt: skip
    found = translate_templates(mapping, Path("x.yaml"))
    assert found.task is None
    assert key in found.refusals[0].key


def test_an_existing_file_is_not_replaced(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["import-task", "animals_choice.yaml", "--output", "proverbs.yaml"]
    assert main(arguments) == 1
    assert "is there already" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text", ["a\nb", "a\n\nb\n", "x\n", " lead\nb", "a \nb", "\n", "天\t秤\n\n\n"]
)
def test_texts_of_several_lines_are_read_back(tmp_path: Path, text: str) -> None:
    path = tmp_path / "file.yaml"
    path.write_text(write_yaml({"a": {"b": [text]}}, blocks=True), encoding="utf-8")
    assert read_yaml(path) == {"a": {"b": [text]}}
