import json
import sys
from types import SimpleNamespace

import pytest

from tenbin.data import DataChoice, load_documents
from tenbin.data.sources import places
from tenbin.errors import DataError
from tenbin.records import Dataset
from tests.data.written_rows import JNLI, write_rows

ROWS = [{"id": f"q{n}", "text": f"t{n}", "gold": n} for n in range(3)]


def load(name, split="test", config=None, data_dir=None, **options):
    dataset = Dataset(name, config, pinned=False, options=options)
    return load_documents(dataset, split, DataChoice(data_dir=data_dir))


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz", ".json", ".parquet"])
def test_named_files(tmp_path, suffix):
    path = write_rows(tmp_path / f"rows{suffix}", ROWS)
    name = "parquet" if suffix == ".parquet" else "json"
    loaded = load(name, data_files={"test": str(path)})
    assert [document.id for document in loaded.documents] == ["q0", "q1", "q2"]
    assert loaded.documents[1].fields == ROWS[1]
    assert loaded.files[0].rows == 3
    assert loaded.notices == ()


def test_csv_numbers_become_numbers(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text('text,gold,share,code\n"a,\nb",1,0.5,x1\nc,2,,7\n')
    documents = load("csv", data_files={"test": str(path)}).documents
    assert documents[0].fields == {"text": "a,\nb", "gold": 1, "share": 0.5, "code": "x1"}
    assert documents[1].fields == {"text": "c", "gold": 2, "share": None, "code": "7"}
    path.write_text("a;b\n1;2\n")
    assert load("csv", data_files=str(path), sep=";").documents[0].fields == {"a": 1, "b": 2}
    path.write_text("a,b\n1,2,3\n")
    with pytest.raises(DataError, match="line 2: 3 columns, but the heading has 2"):
        load("csv", data_files=str(path))


def test_several_files_patterns_and_relative_paths(tmp_path, monkeypatch):
    write_rows(tmp_path / "a/part-1.jsonl", ROWS[:2])
    write_rows(tmp_path / "a/part-2.jsonl", ROWS[2:])
    names = ["a/part-1.jsonl", "a/part-2.jsonl"]
    assert len(load("json", data_dir=tmp_path, data_files={"test": names}).documents) == 3
    monkeypatch.chdir(tmp_path)
    assert len(load("json", data_files={"test": "*/part-*.jsonl"}).documents) == 3
    plain = load("json", data_files=names)
    assert "names no splits" in plain.notices[0]
    assert load("json", "train", data_files=names).notices == ()
    absolute = load("json", "train", data_files=str(tmp_path / "a" / "part-*.jsonl"))
    assert len(absolute.files) == 2


def test_rows_under_a_field(tmp_path):
    path = tmp_path / "rows.json"
    path.write_text(json.dumps({"version": 1, "items": ROWS}))
    assert len(load("json", data_files=str(path), field="items").documents) == 3
    with pytest.raises(DataError, match="no field `rows`"):
        load("json", data_files=str(path), field="rows")


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(DataError, match="no file matches `no"):
        load("json", data_files={"test": "no-such.jsonl"})
    with pytest.raises(DataError, match="names no file for split `test`"):
        load("json", data_files={"train": "x.jsonl"})
    with pytest.raises(DataError, match="needs its files named"):
        load("json")
    with pytest.raises(DataError, match="neither a path"):
        load("json", data_files={"test": 5})


@pytest.mark.parametrize(
    "path",
    ["set/test.jsonl", "set/ja/test.csv", "set/data/test-00000-of-00001.parquet", "set/test.tsv"],
)
def test_folder(tmp_path, path):
    file = tmp_path / path
    if file.suffix in (".csv", ".tsv"):
        file.parent.mkdir(parents=True)
        file.write_text("a\n1\n2\n3\n")
    else:
        write_rows(file, ROWS)
    assert len(load(str(tmp_path / "set"), config="ja").documents) == 3
    assert len(load("set", config="ja", data_dir=tmp_path).documents) == 3


@pytest.mark.parametrize(
    ("name", "file", "place"),
    [
        ("owner/set", "dev/physics.csv", "owner/set/dev/physics.csv"),
        ("owner/set", "dev/physics.csv", "owner/set/dev/physics.parquet"),
        ("json", "hf://datasets/owner/set@main/a/b.jsonl", "owner/set/a/b.jsonl"),
        ("json", "https://host.example/a/b.jsonl.gz?raw=1", "host.example/a/b.jsonl.gz"),
        ("json", "https://host.example/a/b.jsonl.gz", "host.example/a/b.parquet"),
    ],
)
def test_published_files_below_a_data_folder(tmp_path, name, file, place):
    """Tasks of one set that differ in `data_files` alone do not read one another's rows."""
    write_rows(tmp_path / "owner/set/test.jsonl", ROWS[:1])
    path = tmp_path / place
    if path.suffix == ".csv":
        path.parent.mkdir()
        path.write_text("id\nq0\nq1\nq2\n")
    else:
        write_rows(path, ROWS)
    loaded = load(name, data_dir=tmp_path, data_files={"test": file})
    assert [file.path for file in loaded.files] == [str(path)]
    assert (len(loaded.documents), loaded.notices) == (3, ())


@pytest.mark.parametrize("name", ["file:///etc/hosts", "https:///etc/hosts", "hf:///etc/hosts"])
def test_an_address_is_no_file_of_this_machine(tmp_path, name):
    dataset = Dataset("json", pinned=False, options={"data_files": {"test": name}})
    assert all(not path.is_absolute() for path in places.published_paths(dataset, "test").values())


def test_a_split_file_stands_in_for_a_published_one(tmp_path):
    write_rows(tmp_path / "owner/set/test.jsonl", ROWS)
    loaded = load("owner/set", data_dir=tmp_path, data_files={"test": "dev/physics.csv"})
    assert len(loaded.documents) == 3
    assert "test.jsonl is read in place of owner/set/dev/physics.csv" in loaded.notices[0]


def test_csv_without_a_heading(tmp_path):
    path = tmp_path / "owner/set/dev/physics.csv"
    path.parent.mkdir(parents=True)
    path.write_text("why?,1,2\nhow?,3,4\n")
    options = {"data_files": {"test": "dev/physics.csv"}, "header": None}
    names = ["question", "a", "b"]
    loaded = load("owner/set", data_dir=tmp_path, **options, column_names=names)
    assert [d.fields for d in loaded.documents] == [
        {"question": "why?", "a": 1, "b": 2},
        {"question": "how?", "a": 3, "b": 4},
    ]
    with pytest.raises(DataError, match="line 1: 3 columns, but column_names names 2"):
        load("owner/set", data_dir=tmp_path, **options, column_names=names[:2])
    with pytest.raises(DataError, match="header is null, and column_names null; accepted"):
        load("owner/set", data_dir=tmp_path, **options)


def test_a_subfolder_of_the_set(tmp_path):
    write_rows(tmp_path / "owner/set/sub/test.jsonl", ROWS)
    assert (
        len(
            load_documents(
                Dataset("owner/set", pinned=False, options={"data_dir": "sub"}),
                "test",
                DataChoice(data_dir=tmp_path),
            ).documents
        )
        == 3
    )


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([{"idx": 4}, {"idx": 5}], ["4", "5"]),
        ([{"id": 1, "q_id": 8}, {"id": 1, "q_id": 9}], ["8", "9"]),
        ([{"id": 1}, {"id": 1}], ["row-0", "row-1"]),
        ([{"id": None}, {"id": 1}], ["row-0", "row-1"]),
        (JNLI[:2], ["row-0", "row-1"]),
    ],
)
def test_identifiers(tmp_path, rows, expected):
    write_rows(tmp_path / "set/test.jsonl", rows)
    loaded = load("set", data_dir=tmp_path)
    assert [document.id for document in loaded.documents] == expected


class Library(SimpleNamespace):
    """Stands in for the `datasets` library."""

    def DownloadConfig(self, **options):
        return options

    def load_dataset(self, name, config, *, split, **options):
        self.called = (name, config, split, options)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def test_keys_that_some_rows_lack(tmp_path):
    """lm-eval's tasks find None there, as the datasets library gives it; others find nothing."""
    rows = [{"id": "a", "x": 1}, {"id": "b", "hint": "h"}, {"id": "c", "x": 2, "hint": None}]
    write_rows(tmp_path / "owner/set/test.jsonl", rows)
    choice = DataChoice(data_dir=tmp_path)

    def fields(**more):
        dataset = Dataset("owner/set", pinned=False, **more)
        return [document.fields for document in load_documents(dataset, "test", choice).documents]

    assert fields() == rows
    assert fields(equal_keys=True) == [
        {"id": "a", "x": 1, "hint": None},
        {"id": "b", "x": None, "hint": "h"},
        {"id": "c", "x": 2, "hint": None},
    ]


def test_hub_set_through_the_library(monkeypatch):
    library = Library(answer=ROWS)
    monkeypatch.setitem(sys.modules, "datasets", library)
    loaded = load("owner/set", config="ja", trust_remote_code=True, revision="abc", streaming=True)
    assert library.called == ("owner/set", "ja", "test", {"revision": "abc"})
    assert [document.id for document in loaded.documents] == ["q0", "q1", "q2"]
    assert loaded.notices == (
        "dataset_kwargs: trust_remote_code is ignored: tenbin runs no code of data sets",
    )
    file = loaded.files[0]
    assert (file.source, file.version, file.rows) == ("datasets", "abc", 3)
    assert file.sha256 == load("owner/set", config="ja").files[0].sha256
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    load("owner/set")
    assert library.called[3] == {"download_config": {"local_files_only": True}}


def test_hub_scripts_are_refused(monkeypatch):
    error = RuntimeError("Dataset scripts are no longer supported, but found set.py")
    monkeypatch.setitem(sys.modules, "datasets", Library(answer=error))
    with pytest.raises(DataError, match="does not run code from the hub") as caught:
        load("owner/set")
    assert "refs/convert/parquet" in caught.value.hint


def test_hub_failure_names_set_and_reason(monkeypatch):
    library = Library(answer=ConnectionError("no route\nmore"))
    monkeypatch.setitem(sys.modules, "datasets", library)
    with pytest.raises(
        DataError, match=r"`owner/set` test could not be loaded: .*no route"
    ) as caught:
        load("owner/set")
    assert "--data_dir" in caught.value.hint
    library.answer = []
    with pytest.raises(DataError, match="has no rows"):
        load("owner/set")


def test_missing_library_gives_an_install_hint(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(DataError) as caught:
        load("owner/set")
    assert "tenbin[datasets]" in caught.value.hint


def test_every_format_of_the_library_is_read_by_us_or_refused() -> None:
    modules = pytest.importorskip("datasets.packaged_modules")
    known = set(modules._PACKAGED_DATASETS_MODULES)
    assert known <= places._BUILDERS | set(places.FORMATS)
