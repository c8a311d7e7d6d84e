"""Rows through functions of task files; the library is imported once for all of these tests."""

import random
import sys

import pytest

from tenbin.data import DataChoice, load_documents, load_samples, made_splits, process_docs
from tenbin.data.process_docs import as_dataset
from tenbin.data.readers.formats import RowFile
from tenbin.errors import DataError
from tenbin.records import Dataset, FewshotPlan, TaskFunction
from tests.data.written_rows import write_rows

datasets = pytest.importorskip("datasets")

ROWS = [{"id": f"q{n}", "text": f"t{n}", "gold": n} for n in range(4)]


def function(call, name="process_docs"):
    return TaskFunction("tasks/utils.py", name, "5e" * 32, call)


def load(tmp_path, call, split="test", rows=ROWS, suffix=".jsonl"):
    write_rows(tmp_path / f"owner/set/{split}{suffix}", rows)
    dataset = Dataset("owner/set", pinned=False, process_docs=function(call))
    return load_documents(dataset, split, DataChoice(data_dir=tmp_path))


def test_the_function_gets_a_dataset_and_its_rows_become_documents(tmp_path):
    seen = []

    def process_docs(rows):
        seen.append(rows)
        return rows.map(lambda row: {"text": row["text"].upper()})

    loaded = load(tmp_path, process_docs)
    assert [type(rows) for rows in seen] == [datasets.Dataset]
    assert [document.fields["text"] for document in loaded.documents] == ["T0", "T1", "T2", "T3"]
    assert [document.id for document in loaded.documents] == ["q0", "q1", "q2", "q3"]
    path = tmp_path / "owner/set/test.jsonl"
    assert loaded.documents[2].origin == f"row 3 after process_docs of {path}"
    assert loaded.documents[2].row == 2
    assert loaded.notices == ()
    file, made_by = loaded.files
    assert (file.path, file.rows, file.source) == (str(path), 4, "data_dir")
    assert (made_by.path, made_by.sha256) == ("tasks/utils.py: process_docs", "5e" * 32)
    assert (made_by.rows, made_by.source) == (4, "process_docs")


@pytest.mark.parametrize(
    "give",
    [
        lambda rows: rows.filter(lambda row: row["gold"] % 2),
        lambda rows: [row for row in rows if row["gold"] % 2],
        lambda rows: (row for row in rows if row["gold"] % 2),
        lambda rows: filter(lambda row: row["gold"] % 2, rows),
    ],
)
def test_rows_in_any_form_and_a_notice_of_their_number(tmp_path, give):
    loaded = load(tmp_path, give)
    assert [document.id for document in loaded.documents] == ["q1", "q3"]
    assert loaded.notices == ("owner/set test: process_docs made 2 rows of 4",)
    assert loaded.files[1].rows == 2


@pytest.mark.parametrize("part", [1, 2, 10_000])
def test_rows_are_as_the_library_reads_json(tmp_path, monkeypatch, part):
    """Whatever the number of rows whose types are inferred together."""
    monkeypatch.setattr(process_docs, "_PART", part)
    rows = [
        {"id": "a", "n": 1, "mix": 1, "empty": [], "structs": [{"a": 1}, {"b": "x"}], "none": None},
        {"id": "b", "n": 1.5, "mix": "z", "empty": ["q"], "structs": [], "extra": [1, 2.5]},
        {"id": "c", "nested": {"x": {"y": [1]}}, "structs": [{"a": 2, "b": "y"}]},
    ]
    path = write_rows(tmp_path / "rows.jsonl", rows)
    ours = as_dataset([RowFile(path)], [], "a test")
    cache = str(tmp_path / "cache")
    theirs = datasets.load_dataset(
        "json", data_files={"test": str(path)}, split="test", cache_dir=cache
    )
    assert sorted(ours.features) == sorted(theirs.features)
    assert {name: ours.features[name] for name in theirs.features} == dict(theirs.features)
    assert list(ours) == list(theirs)
    assert ours[0]["extra"] is None


def test_parts_of_one_type_are_one_data_set(tmp_path, monkeypatch):
    monkeypatch.setattr(process_docs, "_PART", 2)
    paths = [write_rows(tmp_path / f"{n}.jsonl", ROWS[n : n + 3]) for n in (0, 1)]
    recorded = []
    given = as_dataset([RowFile(path) for path in paths], recorded, "a test")
    assert list(given) == [*ROWS[:3], *ROWS[1:]]
    assert [file.rows for file in recorded] == [3, 3]


def test_a_date_stays_a_text(tmp_path):
    loaded = load(tmp_path, lambda rows: rows, rows=[{"day": "2020-01-01"}])
    assert loaded.documents[0].fields == {"day": "2020-01-01"}


def test_parquet_keeps_its_types(tmp_path):
    kinds = datasets.Features(
        {
            "label": datasets.ClassLabel(names=["no", "yes"]),
            "share": datasets.Value("float32"),
            "answers": datasets.Sequence({"text": datasets.Value("string")}),
        }
    )
    rows = {"label": [1, 0], "share": [0.1, 2], "answers": [{"text": ["a"]}, {"text": []}]}
    given = datasets.Dataset.from_dict(rows, features=kinds)
    folder = tmp_path / "owner/set/data"
    folder.mkdir(parents=True)
    given.select([0]).to_parquet(str(folder / "test-00000-of-00002.parquet"))
    given.select([1]).to_parquet(str(folder / "test-00001-of-00002.parquet"))
    seen = []
    dataset = Dataset("owner/set", pinned=False, process_docs=function(seen.append))
    with pytest.raises(DataError, match="gave NoneType"):
        load_documents(dataset, "test", DataChoice(data_dir=tmp_path))
    assert seen[0].features == given.features
    assert list(seen[0]) == list(given)


def fails(rows):
    return rows.map(lambda row: {"x": row["no such column"]})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (fails, r"utils.py: process_docs, split `test`: KeyError: 'no such column'"),
        (lambda rows: None, "gave NoneType; accepted: a Dataset or a list of rows"),
        (lambda rows: {"test": rows}, "gave dict; accepted"),
        (lambda rows: ["text"], 'gave "text" as row 1; accepted: a mapping'),
        (lambda rows: rows.select([]), "gave no rows"),
        (lambda rows: (1 / 0 for _ in rows), "ZeroDivisionError"),
    ],
)
def test_faults_name_function_split_and_reason(tmp_path, call, message):
    with pytest.raises(DataError, match=message) as caught:
        load(tmp_path, call)
    assert caught.value.message.startswith("tasks/utils.py: process_docs, split `test`: ")


def test_rows_that_are_no_table(tmp_path):
    rows = [{"id": "a", 'n"': "x"}]
    path = tmp_path / "owner/set/test.jsonl"
    with pytest.raises(DataError, match=r"test.jsonl: its rows are no table of the datasets"):
        load(tmp_path, lambda rows: rows, rows=[*rows, {"n": 2**70}])
    assert path.is_file()


def test_shuffles_are_repeatable_and_leave_the_generators_alone(tmp_path):
    import numpy

    def shuffled(rows):
        order = list(rows)
        random.shuffle(order)
        return [{**row, "draw": numpy.random.random()} for row in order]

    def without_seed(rows):
        return rows.shuffle()

    random.seed(5)
    before = random.getstate()
    once, again = load(tmp_path, shuffled), load(tmp_path, shuffled)
    assert random.getstate() == before
    assert [d.fields for d in once.documents] == [d.fields for d in again.documents]
    expected = random.Random(0)
    order = list(ROWS)
    expected.shuffle(order)
    assert [d.id for d in once.documents] == [row["id"] for row in order]
    first, second = load(tmp_path, without_seed), load(tmp_path, without_seed)
    assert [d.id for d in first.documents] == [d.id for d in second.documents]


def test_hub_rows_are_processed(monkeypatch):
    given = datasets.Dataset.from_list(ROWS)
    monkeypatch.setattr(datasets, "load_dataset", lambda *names, **options: given)
    plain = load_documents(Dataset("owner/set", pinned=False), "test", DataChoice())
    call = function(lambda rows: rows.select([2]))
    dataset = Dataset("owner/set", pinned=False, process_docs=call)
    loaded = load_documents(dataset, "test", DataChoice())
    assert [document.id for document in loaded.documents] == ["q2"]
    assert loaded.files[0] == plain.files[0]
    assert loaded.notices == ("owner/set test: process_docs made 1 rows of 4",)


def test_offline_the_library_asks_nobody(monkeypatch):
    """Its `local_files_only` alone still asks the hub, five times."""
    import huggingface_hub

    modules = (datasets.config, huggingface_hub.constants)
    for module in modules:
        monkeypatch.setattr(module, "HF_HUB_OFFLINE", False)
    seen = []

    def load_dataset(*names, **options):
        seen.append([module.HF_HUB_OFFLINE for module in modules])
        raise ConnectionError("nothing is cached")

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    for offline in (True, False):
        with pytest.raises(DataError, match="nothing is cached"):
            load_documents(Dataset("owner/set", pinned=False), "test", DataChoice(offline=offline))
    assert seen == [[True, True], [False, False]]


def test_custom_dataset_gets_metadata_options_and_model_arguments():
    def make(**given):
        rows = [{"id": key, "value": str(value)} for key, value in sorted(given.items())]
        return datasets.DatasetDict({"test": datasets.Dataset.from_list(rows)})

    dataset = Dataset(
        "",
        pinned=False,
        options={"length": 4096},
        custom_dataset=function(make, "make"),
        metadata={"version": 2, "pretrained": "none"},
        process_docs=function(lambda rows: rows.select(range(2))),
    )
    made = made_splits(dataset, {"pretrained": "tiny"})
    loaded = load_documents(dataset, "test", DataChoice(), made=made)
    assert [d.fields["value"] for d in loaded.documents] == ["4096", "tiny"]
    assert loaded.files[0].path == "tasks/utils.py: make, test"
    assert loaded.files[0].source == "custom_dataset"
    with pytest.raises(DataError, match="made no split `train`") as caught:
        load_documents(dataset, "train", DataChoice(), made=made)
    assert caught.value.hint == "it made test"
    with pytest.raises(DataError, match="`length` is in metadata and in dataset_kwargs"):
        made_splits(dataset, {"length": 1})


def test_custom_dataset_faults():
    dataset = Dataset("", pinned=False, custom_dataset=function(lambda: [], "make"))
    with pytest.raises(DataError, match="make: gave list; accepted: a dict from split"):
        made_splits(dataset, {})
    with pytest.raises(DataError, match=r"make: TypeError: .*unexpected keyword argument"):
        made_splits(dataset, {"pretrained": "tiny"})


def test_samples_of_the_task_file_and_of_a_function():
    plan = FewshotPlan(None, samples=({"text": "a"}, {"text": "b"}))
    held = load_samples(plan, "task.yaml")
    assert [(d.id, d.fields, d.row) for d in held.documents] == [
        ("sample-0", {"text": "a"}, 0),
        ("sample-1", {"text": "b"}, 1),
    ]
    assert held.documents[1].origin == "task.yaml, few-shot sample 1"
    assert held.files == ()
    call = function(lambda: [{"text": "c"}], "list_samples")
    given = load_samples(FewshotPlan(None, samples=call), "task.yaml")
    assert given.documents[0].fields == {"text": "c"}
    assert given.files[0].path == "tasks/utils.py: list_samples"
    bad = FewshotPlan(None, samples=function(lambda: ["c"], "list_samples"))
    with pytest.raises(DataError, match='list_samples, few-shot sample 0: "c" is no mapping'):
        load_samples(bad, "task.yaml")


def test_a_missing_library_names_the_remedy(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(DataError, match="process_docs needs the `datasets` library") as caught:
        load(tmp_path, lambda rows: rows)
    assert "tenbin[datasets]" in caught.value.hint
