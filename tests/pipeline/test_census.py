"""`tenbin validate --include_path FOLDER`: what a folder of task files holds, nothing run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tenbin.cli import main
from tenbin.files.allowed_paths import Reach
from tenbin.pipeline.census import Refused, take_census

pytestmark = pytest.mark.usefixtures("cache")

CANARY = "import pathlib\npathlib.Path(__file__).with_suffix('.ran').touch()\n"
PLAIN = """
dataset_path: json
test_split: test
doc_to_text: "{{question}}"
doc_to_target: answer
"""
CHOICE = PLAIN + "output_type: multiple_choice\ndoc_to_choice: [a, b]\n"
FILES = {
    "_base.yaml": CHOICE,
    "plain.yaml": "task: plain\ninclude: _base.yaml\ntag: [quiz, all]\n",
    "_hidden.yaml": "task: hidden\ninclude: _base.yaml\ntag: quiz\n",
    "docs.yaml": "task: docs\ninclude: _base.yaml\nprocess_docs: !function utils.process\n",
    "packaged.yaml": "task: packaged\ninclude: _base.yaml\ndoc_to_text: !function other.text\n",
    "image.yaml": "task: image\ninclude: _base.yaml\ndoc_to_image: [image]\n",
    "code.yaml": f"task: code{PLAIN}unsafe_code: true\n",
    "beams.yaml": f"task: beams{PLAIN}generation_kwargs: {{num_beams: 3}}\n",
    "class.yaml": "task: class\nclass: !function utils.Task\n",
    "unknown.yaml": f"task: unknown{PLAIN}metric_list: [{{metric: no_such_metric}}]\n",
    "both.yaml": f"task: both{PLAIN}recipe: x\nuse_prompt: y\n",
    "group.yaml": "group: mine\ntask: [plain, docs]\n",
    "tagged.yaml": f"task: tagged{PLAIN}metadata: !no_such_tag x\n",
    "lost.yaml": "group: lost\ntask: [plain, nowhere]\n",
    "broken.yaml": "task: [unclosed\n",
    "own.yaml": f"task: own\nlanguage: ja{CHOICE}",
    "own_bad.yaml": f"task: own_bad\nlanguage: ja{CHOICE}colour: red\n",
    "utils.py": f"{CANARY}def process(docs): return docs\n",
    "other.py": f"{CANARY}import no_such_package_census\ndef text(doc): return ''\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "tasks"
    place.mkdir()
    for name, text in FILES.items():
        (place / name).write_text(text)
    return place


def test_every_file_is_counted_and_nothing_runs(folder: Path) -> None:
    census = take_census([folder], Reach((folder,)))
    assert (census.groups, census.tags, census.malformed) == (2, 2, 1)
    assert (census.classes, census.media, census.text, census.tasks) == (1, 1, 11, 13)
    # plain, hidden, docs, packaged, unknown and own; of these unknown has a metric of no name.
    assert (census.translated, census.runnable) == (6, 3)
    assert (census.with_trust, census.with_packages) == (4, 5)
    assert census.missing == {"no_such_package_census": 1}
    assert not list(folder.glob("*.ran"))


def test_every_refusal_names_file_key_and_remedy(folder: Path) -> None:
    refused = {one.key: one for one in take_census([folder], Reach((folder,))).refused}
    assert refused["generation_kwargs.num_beams"] == Refused(
        "generation_kwargs.num_beams",
        "beam search with 3 beams does not exist here",
        refused["generation_kwargs.num_beams"].remedy,
        (str(folder / "beams.yaml"),),
    )
    assert {"doc_to_image", "unsafe_code", "class", "recipe", "use_prompt"} < refused.keys()
    assert "nowhere" in refused["the group"].reason
    assert "no_such_metric" in refused["metric_list, filter_list"].reason
    assert all(one.reason and one.remedy for one in refused.values())
    assert all(Path(one.example).is_file() for one in refused.values())


def test_a_file_counts_once_for_each_reason(folder: Path) -> None:
    wrong = f"{PLAIN}fewshot_config: 7\nfilter_list: !function utils.process\n"
    (folder / "first.yaml").write_text(f"task: first{wrong}")
    (folder / "second.yaml").write_text(f"task: second{wrong}")
    refused = {one.key: one for one in take_census([folder], Reach((folder,))).refused}
    both = tuple(str(folder / name) for name in ("first.yaml", "second.yaml"))
    assert refused["fewshot_config"].files == both
    assert refused["fewshot_config"].to_json()["count"] == 2
    assert "not `!function process`" in refused["filter_list"].reason


def test_the_command_informs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "--include_path", str(folder)]) == 0
    out = capsys.readouterr().out
    assert "13 tasks, 2 groups, 2 tags" in out
    assert "54.5 %" in out and "27.2 %" in out
    assert "1 refused: unsafe_code: scoring runs the code that the model writes" in out
    assert f"such as {folder / 'code.yaml'}" in out
    assert "no_such_package_census (1)" in out
    assert "Traceback" not in out


def test_nothing_named_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate"]) == 1
    assert "--include_path" in capsys.readouterr().err


def test_a_folder_that_is_not_there(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["validate", "--include_path", str(tmp_path / "none")]) == 1
    assert str(tmp_path / "none") in capsys.readouterr().err


def test_a_census_and_a_check_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "broken.yaml").write_text("task: [\n")
    (tmp_path / "class.yaml").write_text("task: squad\nclass: !function utils.Squad\n")
    assert main(["validate", "--include_path", str(tmp_path), "--json"]) == 0
    counted = json.loads(capsys.readouterr().out)
    assert (counted["files"], counted["tasks"], counted["malformed"]) == (2, 1, 1)
    assert {one["count"] for one in counted["refused"]} == {1}
    assert main(["validate", "jnli", "--sample_data", "--json"]) == 0
    (checked,) = json.loads(capsys.readouterr().out)["tasks"]
    assert (checked["task"], checked["version"], checked["findings"]) == ("jnli", "1.3", [])
