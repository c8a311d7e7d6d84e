import hashlib
import json
import random
from pathlib import Path

import pytest

from tenbin.data import DataChoice, cache_directory, describe_dataset, load_documents
from tenbin.data.readers.data_file import Identity, identify
from tenbin.errors import ConfigError, DataError
from tenbin.records import Dataset
from tests.data.written_rows import (
    JCQA,
    JNLI,
    MARC,
    MLOGIQA,
    SQUAD,
    as_lines,
    git_blob_id,
    write_rows,
)

SUFFIXES = [".jsonl.gz", ".jsonl", ".json", ".json.gz", ".parquet"]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(
    ("name", "config", "path", "rows"),
    [
        ("jglue/jcommonsenseqa", None, "jglue_v1.1/jcommonsenseqa/validation", JCQA),
        ("jglue/jnli", None, "jglue_v1.1/jnli/validation", JNLI),
        ("jglue/marc_ja", None, "jglue_v1.1/marc_ja/validation", MARC),
        ("jglue/jsquad", None, "jglue_v1.1/jsquad/validation", SQUAD),
        ("jaquad", None, "jaquad/validation", SQUAD),
        ("mlogiqa", "ko", "mlogiqa/ko/test", MLOGIQA),
    ],
)
def test_own_layout_in_every_format(tmp_path, load, name, config, path, rows, suffix):
    file = write_rows(tmp_path / f"{path}{suffix}", rows)
    loaded = load(name, file.name.split(".")[0], config)
    assert len(loaded.documents) == len(rows)
    assert loaded.files[0].path == str(file)
    assert loaded.files[0].sha256 == hashlib.sha256(file.read_bytes()).hexdigest()
    assert loaded.files[0].rows == len(rows)
    assert (loaded.files[0].source, loaded.files[0].verified) == ("data_dir", False)
    assert any(f"has {len(rows)} rows, the published file" in notice for notice in loaded.notices)


@pytest.mark.parametrize(
    "prefix", ["datasets/", "", "JGLUE/datasets/", "JGLUE/"], ids=["root", "bare", "clone", "both"]
)
def test_published_layout_of_jglue(tmp_path, load, prefix):
    write_rows(tmp_path / prefix / "jcommonsenseqa-v1.1" / "valid-v1.1.json", JCQA)
    loaded = load("jglue/jcommonsenseqa")
    assert [document.id for document in loaded.documents] == ["7", "8", "9"]
    assert any("content differs" in notice for notice in loaded.notices)


def test_published_layout_of_jsquad_is_nested(tmp_path, load):
    write_rows(tmp_path / "datasets/jsquad-v1.1/valid-v1.1.json", SQUAD, squad=True)
    document = load("jglue/jsquad").documents[1]
    assert document.id == "a1"
    assert document.fields["context"] == "梅雨は雨季。"
    assert document.fields["answers"] == {"text": ["雨季", "雨"], "answer_start": [12, 12]}
    assert document.origin.endswith("valid-v1.1.json, record 1, paragraph 1, question 2")


@pytest.mark.parametrize("prefix", ["", "JaQuAD/"])
def test_published_layout_of_jaquad_has_many_files(tmp_path, load, prefix):
    folder = tmp_path / prefix / "data" / "dev"
    write_rows(folder / "jaquad_dev_0001.json", SQUAD[2:], squad=True)
    write_rows(folder / "jaquad_dev_0000.json", SQUAD[:2], squad=True)
    loaded = load("jaquad")
    assert [document.id for document in loaded.documents] == ["a0", "a1", "a2"]
    assert [file.rows for file in loaded.files] == [2, 1]


@pytest.mark.parametrize("prefix", ["", "P-MMEval/"])
def test_published_layout_of_mlogiqa(tmp_path, load, prefix):
    write_rows(tmp_path / prefix / "mlogiqa/test/ja.jsonl", MLOGIQA)
    assert len(load("mlogiqa", "test", "ja").documents) == 4


def test_own_copy_of_marc_ja_as_jglue_wrote_it(tmp_path, load):
    rows = [{"review_id": "R1", "sentence": "良い", "label": "positive"}]
    write_rows(tmp_path / "datasets/marc_ja-v1.1/valid-v1.0.json", rows)
    assert load("jglue/marc_ja").documents[0].id == "R1"


def test_missing_file_lists_every_place(load, tmp_path):
    with pytest.raises(DataError) as caught:
        load("jglue/jnli")
    for place in (
        "jglue_v1.1/jnli/validation.jsonl.gz",
        "jglue_v1.1/jnli/validation.parquet",
        "datasets/jnli-v1.1/valid-v1.1.json",
        "JGLUE/jnli-v1.1/valid-v1.1.json",
    ):
        assert str(tmp_path / place) in caught.value.message
    assert "--data_dir" in caught.value.hint
    assert "--sample_data" in caught.value.hint


def test_marc_ja_says_that_it_was_withdrawn(load, tmp_path):
    with pytest.raises(DataError) as caught:
        load("jglue/marc_ja")
    assert "withdrawn by its source" in caught.value.hint
    assert str(tmp_path / "jglue_v1.1/marc_ja/validation.parquet") in caught.value.hint


def test_data_folder_must_exist(tmp_path):
    with pytest.raises(DataError, match="does not exist"):
        load_documents(Dataset("jaquad"), "train", DataChoice(data_dir=tmp_path / "none"))


def test_equal_files_of_v1_1_serve_for_v1_3(tmp_path, load):
    write_rows(tmp_path / "jglue_v1.1/jcommonsenseqa/train.jsonl", JCQA)
    write_rows(tmp_path / "jglue_v1.1/jcommonsenseqa/validation.jsonl", JCQA)
    write_rows(tmp_path / "datasets/jnli-v1.1/train-v1.1.json", JNLI)
    write_rows(tmp_path / "jglue_v1.1/jsquad/validation.jsonl", SQUAD)
    for name, split in [
        ("jglue/jcommonsenseqa", "train"),
        ("jglue/jcommonsenseqa", "validation"),
        ("jglue/jnli", "train"),
        ("jglue/jsquad", "validation"),
    ]:
        assert load(name, split, version="1.3").files[0].version == "1.3"


@pytest.mark.parametrize(("name", "split"), [("jnli", "validation"), ("jsquad", "train")])
def test_changed_files_of_v1_1_do_not_serve_for_v1_3(tmp_path, load, name, split):
    rows = JNLI if name == "jnli" else SQUAD
    write_rows(tmp_path / f"jglue_v1.1/{name}/{split}.jsonl", rows)
    with pytest.raises(DataError) as caught:
        load(f"jglue/{name}", split, version="1.3")
    assert "jglue_v1.1" not in caught.value.message
    write_rows(tmp_path / f"jglue_v1.3/{name}/{split}.jsonl", rows)
    assert load(f"jglue/{name}", split, version="1.3").documents


def test_test_split_is_new_in_v1_3(tmp_path, load):
    write_rows(tmp_path / "jglue_v1.3/jnli/test.jsonl", JNLI)
    assert load("jglue/jnli", "test", version="1.3").documents
    with pytest.raises(DataError, match=r"no test split in version 1\.1") as caught:
        load("jglue/jnli", "test")
    assert "1.3" in caught.value.hint


def test_marc_ja_under_v1_3_says_which_version_is_used(tmp_path, load):
    write_rows(tmp_path / "jglue_v1.1/marc_ja/validation.jsonl", MARC)
    loaded = load("jglue/marc_ja", version="1.3")
    assert "version 1.1 only" in loaded.notices[0]


def test_choices_that_contradict_themselves(tmp_path):
    with pytest.raises(ConfigError, match="one version"):
        load_documents(
            Dataset("jaquad"), "train", DataChoice(sample_data=True, versions={"jglue": "1.3"})
        )
    with pytest.raises(ConfigError, match="exclude"):
        load_documents(Dataset("jaquad"), "train", DataChoice(sample_data=True, data_dir=tmp_path))
    with pytest.raises(ConfigError, match="no such version"):
        load_documents(Dataset("jaquad"), "train", DataChoice(versions={"jglue": "2"}))
    with pytest.raises(ConfigError, match="no collection of data sets is called 'mlogiqa'"):
        load_documents(Dataset("jaquad"), "train", DataChoice(versions={"mlogiqa": "2"}))


def test_unknown_names(load):
    with pytest.raises(DataError, match="no data set is called"):
        load("jglue/jcola")
    with pytest.raises(DataError, match="no part called `de`") as caught:
        load("mlogiqa", "test", "de")
    assert "vi, zh" in caught.value.hint
    with pytest.raises(DataError, match="has no dev split"):
        load("jaquad", "dev")


def test_raw_published_file_is_recognised(tmp_path, load, monkeypatch):
    from tenbin.data.sources import pinned

    file = write_rows(tmp_path / "datasets/jnli-v1.1/valid-v1.1.json", JNLI * 2)
    text = (pinned.CATALOG / "datasets/jglue.yaml").read_text()
    real = "fee97af8f0b9325441b35186fcb04b3e0415800d"
    assert real in text
    catalog = tmp_path / "catalog"
    (catalog / "datasets").mkdir(parents=True)
    changed = text.replace(real, git_blob_id(file.read_bytes()))
    (catalog / "datasets/jglue.yaml").write_text(changed)
    monkeypatch.setattr(pinned, "CATALOG", catalog)
    pinned.pinned_sets.cache_clear()
    try:
        loaded = load("jglue/jnli")
    finally:
        pinned.pinned_sets.cache_clear()
    assert loaded.files[0].verified
    # An id that the published file itself repeats is marked, not refused.
    assert [document.id for document in loaded.documents] == ["0", "1", "2", "0#2", "1#2", "2#2"]
    assert any("3 rows repeat an id" in notice for notice in loaded.notices)


def test_checksums_are_those_of_git_and_sha256sum(tmp_path):
    file = tmp_path / "hello"
    file.write_bytes(b"hello\n")
    assert identify(file).blob == "ce013625030ba8dba906f756967f9e9ca394464a"
    many = random.Random(0).randbytes(3_000_000)  # more than is read at a time
    file.write_bytes(many)
    assert identify(file) == Identity(hashlib.sha256(many).hexdigest(), git_blob_id(many))


def test_descriptions_come_from_the_catalog_alone():
    described = describe_dataset(Dataset("jglue/jsquad"))
    assert described.title == "JSQuAD"
    assert described.sizes["1.1"] == {"train": 62859, "validation": 4442}
    assert described.sizes["1.3"]["train"] == 62697
    assert "BY-SA" in described.licence
    assert describe_dataset("mlogiqa").configs[-1] == "zh"
    assert "withdrawn" in describe_dataset("jglue/marc_ja").withdrawn
    assert describe_dataset(Dataset("some/set", pinned=False)).title == "some/set"


def test_cache_directory_follows_the_environment(monkeypatch, tmp_path):
    assert cache_directory() == Path.home() / ".cache" / "tenbin"
    monkeypatch.setenv("TENBIN_CACHE", str(tmp_path))
    assert cache_directory() == tmp_path
    assert DataChoice().cache_dir == tmp_path
    assert not DataChoice().forbids_network
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert DataChoice().forbids_network


def test_start_up_loads_no_heavy_library():
    import subprocess
    import sys

    code = (
        "import sys, tenbin.data; "
        "heavy = {'pyarrow', 'httpx', 'datasets', 'pydantic', 'yaml'} & set(sys.modules); "
        "sys.exit(str(heavy) if heavy else 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_json_may_be_a_list(tmp_path, load):
    path = tmp_path / "jglue_v1.1/jnli/validation.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(JNLI, indent=2))
    assert load("jglue/jnli").documents[2].origin.endswith("validation.json, record 3")


def test_byte_order_mark_blank_lines_and_line_separators_are_no_rows(tmp_path, load):
    path = tmp_path / "jglue_v1.1/jnli/validation.jsonl"
    path.parent.mkdir(parents=True)
    row = {**JNLI[0], "sentence1": "一行\u2028二行"}
    path.write_bytes(b"\xef\xbb\xbf" + as_lines([row]) + b"\r\n\n" + as_lines(JNLI[1:2]))
    first, second = load("jglue/jnli").documents
    assert first.fields["premise"] == "一行\u2028二行"
    assert second.origin.endswith("line 4")
