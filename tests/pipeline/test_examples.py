"""Where a cell's examples come from: a split, its rows through a function, or samples."""

from dataclasses import replace

import pytest

from tenbin.data import DataChoice
from tenbin.errors import DataError
from tenbin.pipeline.cells.setup import CellSetup
from tenbin.pipeline.prepare import Data
from tenbin.records import Cell, Dataset, FewshotPlan, Task, TaskFunction, Template
from tests.data.written_rows import write_rows

ROWS = [{"id": f"q{n}", "text": f"t{n}"} for n in range(6)]
TEMPLATE = Template("default", "", "{{text}}", None, "{{text}}", " ", "\n\n", ())


def setup(plan, shots=1, process_docs=None):
    task = Task(
        name="words",
        version="1.0",
        language="en",
        family="words",
        group=None,
        kind="generate",
        dataset=Dataset("owner/set", pinned=False, process_docs=process_docs),
        split="test",
        fewshot=plan,
        templates={"default": TEMPLATE},
        default_template="default",
        metrics=(),
        source="words.yaml",
    )
    return CellSetup(Cell("words", "1.0", "default", shots, 1234), task, None)


@pytest.fixture
def data(tmp_path):
    write_rows(tmp_path / "owner/set/test.jsonl", ROWS[:4])
    write_rows(tmp_path / "owner/set/train.jsonl", ROWS[3:])
    return Data(DataChoice(data_dir=tmp_path))


def ids(pool):
    return [document.id for document in pool.documents]


def counting(calls, name):
    def process_docs(rows):
        calls.append((name, len(rows)))
        return [{**row, "by": name} for row in rows]

    return TaskFunction("utils.py", name, "5e" * 32, process_docs)


def test_samples_are_the_pool(data):
    one = setup(FewshotPlan(None, samples=({"text": "a"}, {"text": "b"})))
    assert ids(data.pool(one)) == ["sample-0", "sample-1"]
    assert list(data.files(one)) == ["test"]
    assert len(data.pool(setup(one.task.fewshot, shots=0))) == 0
    given = TaskFunction("utils.py", "samples", "5e" * 32, lambda: [{"text": "c"}])
    other = setup(FewshotPlan(None, samples=given))
    assert data.pool(other).documents[0].fields == {"text": "c"}
    assert [file.path for file in data.files(other)["samples"]] == ["utils.py: samples"]


def test_a_split_precedes_samples(data):
    one = setup(FewshotPlan("train", samples=({"text": "a"},)))
    assert ids(data.pool(one)) == ["q3", "q4", "q5"]


def test_indices_choose_rows_of_the_split(data):
    assert ids(data.pool(setup(FewshotPlan("train", indices=(2, 0))))) == ["q5", "q3"]
    assert ids(data.pool(setup(FewshotPlan("train")))) == ["q3", "q4", "q5"]
    with pytest.raises(DataError, match=r"names row 3, and split `train` has 3"):
        data.pool(setup(FewshotPlan("train", indices=(3,))))


def test_examples_go_through_the_tasks_function_or_their_own(data):
    pytest.importorskip("datasets")
    calls = []
    scored, own = counting(calls, "process_docs"), counting(calls, "list_fewshot")
    same = setup(FewshotPlan("train"), process_docs=scored)
    other = setup(FewshotPlan("test", process_docs=own), process_docs=scored)
    for _ in range(2):
        assert data.pool(same).documents[0].fields["by"] == "process_docs"
        assert data.pool(other).documents[0].fields["by"] == "list_fewshot"
        assert data.for_cell(other)[0].documents[0].fields["by"] == "process_docs"
    # Each function once for each split.
    assert sorted(calls) == [("list_fewshot", 4), ("process_docs", 3), ("process_docs", 4)]
    names = [file.path.rpartition("/")[2] for file in data.files(other)["test"]]
    assert names == ["test.jsonl", "utils.py: process_docs", "utils.py: list_fewshot"]


def test_a_custom_dataset_is_made_once_with_the_models_arguments():
    datasets = pytest.importorskip("datasets")
    calls = []

    def make(**given):
        calls.append(given)
        rows = datasets.Dataset.from_list(ROWS)
        return {"test": rows, "train": rows.select([0, 1])}

    data = Data(DataChoice(), arguments={"pretrained": "tiny"})
    function = TaskFunction("utils.py", "make", "5e" * 32, make)
    one = setup(FewshotPlan("train"))
    made = Dataset("words", pinned=False, custom_dataset=function, metadata={"length": 8})
    one = replace(one, task=replace(one.task, dataset=made))
    assert len(data.for_cell(one)[0].documents) == 6
    assert ids(data.pool(one)) == ["q0", "q1"]
    assert calls == [{"length": 8, "pretrained": "tiny"}]
    assert [file.path for file in data.files(one)["train"]] == ["utils.py: make, train"]
