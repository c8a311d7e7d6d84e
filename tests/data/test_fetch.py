"""Where splits lie, and what fetching writes: read again, it is what the library gave."""

import json

import pytest

from tenbin.data import DataChoice, load_documents
from tenbin.data.fetch import fetch
from tenbin.data.inventory import locate
from tenbin.errors import ConfigError, DataError, DownloadError
from tenbin.records import Dataset, TaskFunction
from tests.data.written_rows import JNLI, write_rows

ROWS = [{"id": f"q{n}", "text": f"t{n}", "gold": n} for n in range(3)]


def hub_set(**more):
    return Dataset("owner/set", pinned=False, **more)


def test_places_without_reading(tmp_path):
    choice = DataChoice(data_dir=tmp_path)
    with_part = hub_set(config="ja")
    missing = locate(with_part, "test", choice)
    assert (missing.origin, missing.found) == ("hub", ())
    assert missing.places == (tmp_path / "owner/set/ja/test.jsonl",)
    path = write_rows(tmp_path / "owner/set/ja/test.parquet", ROWS)
    assert locate(with_part, "test", choice).found == (path,)
    nowhere = locate(with_part, "test", DataChoice())
    assert str(nowhere.places[0]) == "DIR/owner/set/ja/test.jsonl"
    published = hub_set(options={"data_files": {"test": ["a/1.csv", "a/2.csv"]}})
    assert locate(published, "test", choice).places == (
        tmp_path / "owner/set/a/1.csv",
        tmp_path / "owner/set/a/2.csv",
    )
    made = hub_set(custom_dataset=TaskFunction("utils.py", "make"))
    assert locate(made, "test", choice).origin == "function"


def test_places_of_named_files(tmp_path):
    choice = DataChoice(data_dir=tmp_path)
    named = Dataset("json", pinned=False, options={"data_files": {"test": "rows.jsonl"}})
    missing = locate(named, "test", choice)
    assert missing.places == (tmp_path / "rows.jsonl",)
    assert "no file matches `rows.jsonl`" in missing.problem
    with pytest.raises(DataError, match="no file matches"):
        fetch(missing, choice)
    path = write_rows(tmp_path / "rows.jsonl", ROWS)
    there = locate(named, "test", choice)
    assert there.found == (path,)
    assert fetch(there, choice).state == "kept"
    assert "names no file for split `train`" in locate(named, "train", choice).problem


def test_places_of_the_catalogue(tmp_path):
    choice = DataChoice(cache_dir=tmp_path / "cache")
    missing = locate(Dataset("jglue/jnli"), "validation", choice)
    assert missing.origin == "catalogue"
    assert missing.places[0].is_relative_to(tmp_path / "cache")
    in_folder = DataChoice(data_dir=tmp_path)
    missing = locate(Dataset("jglue/jnli"), "validation", in_folder)
    assert missing.places == (tmp_path / "jglue_v1.1/jnli/validation.json",)
    path = write_rows(tmp_path / "jglue_v1.1/jnli/validation.jsonl", JNLI)
    assert locate(Dataset("jglue/jnli"), "validation", in_folder).found == (path,)
    assert "has no nowhere split" in locate(Dataset("jglue/jnli"), "nowhere", choice).problem


@pytest.fixture
def library(monkeypatch):
    """The library, with a hub of its own: what `load_dataset` gives for each set of options."""
    datasets = pytest.importorskip("datasets")
    hub = {}

    def load_dataset(name, config, *, split, **options):
        given = hub[name, config, json.dumps(options), split]
        return given if isinstance(given, datasets.Dataset) else datasets.Dataset.from_list(given)

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    datasets.hub = hub
    return datasets


def fetched(dataset, choice, split="test"):
    return fetch(locate(dataset, split, choice), choice)


def test_what_is_fetched_is_read_as_the_library_gave_it(tmp_path, library):
    kinds = library.Features(
        {
            "id": library.Value("string"),
            "label": library.ClassLabel(names=["no", "yes"]),
            "share": library.Value("float32"),
            "day": library.Value("timestamp[us]"),
            "answers": library.Sequence({"text": library.Value("string")}),
            "turns": [{"who": library.Value("string")}],
        }
    )
    row = {"id": "a", "label": 1, "share": 0.1, "day": 86400, "answers": {"text": ["x"]}}
    rows = [{**row, "turns": [{"who": "me"}]}, {**row, "id": "b", "turns": [], "share": None}]
    given = library.Dataset.from_list(rows, features=kinds)
    library.hub["owner/set", "ja", "{}", "test"] = given
    dataset, choice = hub_set(config="ja"), DataChoice(data_dir=tmp_path)
    straight = load_documents(dataset, "test", DataChoice())
    done = fetched(dataset, choice)
    path = tmp_path / "owner/set/ja/test.parquet"
    assert (done.state, done.files, done.rows) == ("fetched", (path,), 2)
    library.hub.clear()
    again = load_documents(dataset, "test", choice)
    assert [d.fields for d in again.documents] == [d.fields for d in straight.documents]
    seen = []
    processed = hub_set(
        config="ja",
        process_docs=TaskFunction("u.py", "f", "", lambda rows: seen.append(rows) or rows),
    )
    load_documents(processed, "test", choice)
    assert seen[0].features == given.features
    assert list(seen[0]) == list(given)
    kept = fetched(dataset, choice)
    assert (kept.state, kept.files, kept.rows) == ("kept", (path,), 2)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataError, match=r"test.parquet is not a complete Parquet file"):
        fetched(dataset, choice)


def test_fetched_through_the_library_itself(tmp_path, monkeypatch):
    """From a folder that it knows to read and tenbin does not: parts of splits in folders."""
    datasets = pytest.importorskip("datasets")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.chdir(tmp_path)
    write_rows(tmp_path / "words/test/part.jsonl", ROWS)
    write_rows(tmp_path / "words/train/part.jsonl", ROWS[:1])
    dataset, choice = Dataset("words", pinned=False), DataChoice(data_dir=tmp_path / "data")
    for split, rows in (("test", ROWS), ("train", ROWS[:1])):
        done = fetched(dataset, choice, split)
        assert (done.state, done.rows) == ("fetched", len(rows))
        loaded = load_documents(dataset, split, choice)
        assert loaded.files[0].path == str(tmp_path / f"data/words/{split}.parquet")
        assert [document.fields for document in loaded.documents] == rows
    with pytest.raises(DataError, match="`words` nowhere could not be loaded: ValueError"):
        fetched(dataset, choice, "nowhere")


def test_values_of_several_types_are_kept_as_json(tmp_path, library):
    rows = [{"id": "a", "x": 1}, {"id": "b", "x": {"y": ["z"]}}]
    given = library.Dataset.from_list(rows, on_mixed_types="use_json")
    library.hub["owner/set", None, "{}", "test"] = given
    choice = DataChoice(data_dir=tmp_path)
    assert fetched(hub_set(), choice).files == (tmp_path / "owner/set/test.jsonl",)
    loaded = load_documents(hub_set(), "test", choice)
    assert [dict(d.fields) for d in loaded.documents] == rows


def test_each_published_file_goes_to_a_file_of_its_own(tmp_path, library):
    names = ["dev/physics.csv", "dev/law.csv"]
    for name in names:
        options = json.dumps({"data_files": {"test": [name]}})
        library.hub["owner/set", None, options, "test"] = [{"id": name}]
    choice = DataChoice(data_dir=tmp_path)
    done = fetched(hub_set(options={"data_files": {"test": names}}), choice)
    assert done.files == (
        tmp_path / "owner/set/dev/physics.parquet",
        tmp_path / "owner/set/dev/law.parquet",
    )
    for name in names:
        loaded = load_documents(hub_set(options={"data_files": {"test": name}}), "test", choice)
        assert [d.id for d in loaded.documents] == [name]


def test_the_revision_is_noted(tmp_path, library):
    library.hub["owner/set", None, "{}", "test"] = given = library.Dataset.from_list(ROWS)
    commit = "0123456789abcdef" * 2 + "01234567"
    given.info.download_checksums = {f"hf://datasets/owner/set@{commit}/test.parquet": {}}
    choice = DataChoice(data_dir=tmp_path)
    fetched(hub_set(), choice)
    assert load_documents(hub_set(), "test", choice).files[0].version == commit


def test_what_cannot_be_fetched(tmp_path, library, monkeypatch):
    library.hub["owner/set", None, "{}", "test"] = ROWS
    with pytest.raises(ConfigError, match="written to the folder that --data_dir names"):
        fetched(hub_set(), DataChoice())
    offline = DataChoice(data_dir=tmp_path, offline=True)
    with pytest.raises(DownloadError, match=r"test.jsonl is not there, and tenbin is offline"):
        fetched(hub_set(), offline)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(DownloadError, match="tenbin is offline"):
        fetched(hub_set(), DataChoice(data_dir=tmp_path))
    monkeypatch.delenv("HF_HUB_OFFLINE")
    options = {"data_files": {"test": "https://host.example/../../x.jsonl"}}
    outside = Dataset("json", pinned=False, options=options)
    with pytest.raises(DataError, match="a task file names a place elsewhere"):
        fetched(outside, DataChoice(data_dir=tmp_path / "data"))
    assert list(tmp_path.iterdir()) == []
    library.hub["owner/set", None, "{}", "train"] = library.Dataset.from_list(ROWS).select([])
    with pytest.raises(DataError, match="owner/set train has no rows"):
        fetched(hub_set(), DataChoice(data_dir=tmp_path), "train")
    made = hub_set(custom_dataset=TaskFunction("utils.py", "make"))
    assert fetched(made, DataChoice(data_dir=tmp_path)).state == "made"
