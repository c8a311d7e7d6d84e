"""`tenbin data`: what is listed and fetched for tasks, without running code of their files."""

import json

import pytest

from tenbin.cli import main
from tests.data.written_rows import write_rows

ROWS = [{"id": f"q{n}", "text": f"t{n}", "gold": n % 2} for n in range(4)]
TASK = """task: words
dataset_path: owner/words
dataset_name: ja
output_type: multiple_choice
test_split: test
fewshot_split: train
doc_to_text: "{{text}}"
doc_to_choice: ["a", "b"]
doc_to_target: gold
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name in ("HF_HUB_OFFLINE", "TENBIN_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks/words.yaml").write_text(TASK)
    (tmp_path / "data").mkdir()
    return tmp_path


def said(capsys, *arguments):
    code = main(list(arguments))
    told = capsys.readouterr()
    return code, told.out, told.err


FLAGS = ("words", "--include_path", "tasks", "--data_dir", "data")


def test_list_names_what_a_run_looks_for(folder, capsys):
    write_rows(folder / "data/owner/words/ja/test.jsonl.gz", ROWS)
    code, out, _ = said(capsys, "data", "list", *FLAGS, "--json")
    assert code == 0
    common = {"task": "words", "dataset": "owner/words", "config": "ja", "origin": "hub"}
    assert json.loads(out) == [
        {
            **common,
            "role": "score",
            "split": "test",
            "places": ["data/owner/words/ja/test.jsonl"],
            "found": ["data/owner/words/ja/test.jsonl.gz"],
            "problem": None,
        },
        {
            **common,
            "role": "fewshot",
            "split": "train",
            "places": ["data/owner/words/ja/train.jsonl"],
            "found": [],
            "problem": None,
        },
    ]
    code, out, _ = said(capsys, "data", "list", *FLAGS)
    assert "✓" in out and "✗" in out
    assert "1 of 2 splits are here. " in out


def test_list_of_the_catalogue_and_of_unknown_names(folder, capsys):
    code, out, _ = said(
        capsys, "data", "list", "jnli,mlogiqa_mcq", "--cache_dir", "cache", "--json"
    )
    assert code == 0
    entries = json.loads(out)
    assert {entry["origin"] for entry in entries} == {"catalogue"}
    assert {"jnli", "mlogiqa_mcq_ja"} <= {entry["task"] for entry in entries}
    code, _, err = said(capsys, "data", "list", "no_such_task")
    assert code == 1 and "no_such_task" in err


def test_fetch_writes_what_a_run_reads(folder, capsys, monkeypatch):
    datasets = pytest.importorskip("datasets")
    asked = []

    def load_dataset(name, config, *, split, **options):
        asked.append((name, config, split))
        return datasets.Dataset.from_list(ROWS)

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    code, out, err = said(capsys, "data", "fetch", *FLAGS)
    assert code == 0
    assert asked == [("owner/words", "ja", "test"), ("owner/words", "ja", "train")]
    assert "fetching owner/words ja test (1 of 2)" in err
    assert "fetching owner/words ja train (2 of 2, about 0 s left)" in err
    assert "fetched owner/words ja test: 4 rows in data/owner/words/ja/test.parquet" in out
    code, out, _ = said(capsys, "data", "fetch", *FLAGS, "--offline", "--json")
    assert [entry["state"] for entry in json.loads(out)] == ["kept", "kept"]
    assert len(asked) == 2
    run = ("run", "--model", "scripted", "--tasks", *FLAGS, "--num_fewshot", "1", "--offline")
    code, _, err = said(capsys, *run, "--output_path", "out.json", "--no_cache")
    assert code == 0, err
    data = json.loads((folder / "out.json").read_text())["data"]["words"]
    assert [data["test"][0]["rows"], data["train"][0]["rows"]] == [4, 4]


def test_fetch_needs_a_folder_and_a_network(folder, capsys):
    code, _, err = said(capsys, "data", "fetch", "words", "--include_path", "tasks")
    assert code == 1 and "give --data_dir DIR" in err
    code, _, err = said(capsys, "data", "fetch", *FLAGS, "--offline")
    assert code == 1 and "tenbin is offline" in err


def test_neither_list_nor_fetch_runs_code_of_task_files(folder, capsys):
    (folder / "tasks/utils.py").write_text("open('canary', 'w')\n")
    functions = "process_docs: !function utils.clean\n"
    (folder / "tasks/words.yaml").write_text(TASK + functions)
    own = TASK.replace("task: words", "task: made") + "custom_dataset: !function utils.make\n"
    (folder / "tasks/made.yaml").write_text(own)
    for split in ("test", "train"):
        write_rows(folder / f"data/owner/words/ja/{split}.jsonl", ROWS)
    for action in ("list", "fetch"):
        code, out, _ = said(capsys, "data", action, "words,made", *FLAGS[1:], "--json")
        assert code == 0, out
    assert [entry["state"] for entry in json.loads(out)] == ["kept", "kept", "made", "made"]
    assert not (folder / "canary").exists()


def test_one_split_that_fails_does_not_stop_the_others(folder, capsys, monkeypatch):
    datasets = pytest.importorskip("datasets")

    def load_dataset(name, config, *, split, **options):
        if split == "test":
            raise failure
        return datasets.Dataset.from_list(ROWS)

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    failure = ValueError('Unknown split "test"')
    code, out, _ = said(capsys, "data", "fetch", *FLAGS)
    assert code == 1
    assert "failed  owner/words ja test: `owner/words` (ja) test could not be loaded" in out
    assert "fetched owner/words ja train: 4 rows" in out
    # Without a network every other one would be tried in vain, each several times.
    failure = ConnectionError("no route")
    code, out, err = said(capsys, "data", "fetch", *FLAGS)
    assert code == 1 and "no route" in err and not out
