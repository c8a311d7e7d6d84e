from pathlib import Path

import pytest

from tenbin.data import DataChoice, load_documents
from tenbin.data.sources.pinned import pinned_sets
from tenbin.records import Dataset

SHARED = Path(__file__).parents[2].parent / "shared" / "data"
LANGUAGES = pinned_sets()["mlogiqa"].configs

real_data = [
    pytest.mark.real_data,
    pytest.mark.skipif(not SHARED.is_dir(), reason=f"no benchmark rows at {SHARED}"),
]


@pytest.mark.parametrize(
    "name", ["jglue/jcommonsenseqa", "jglue/jnli", "jglue/marc_ja", "jglue/jsquad", "jaquad"]
)
def test_japanese_sample_data(name):
    choice = DataChoice(sample_data=True)
    for split, least in (("train", 8), ("validation", 16)):
        loaded = load_documents(Dataset(name), split, choice)
        assert len(loaded.documents) >= least
        assert loaded.files[0].source == "sample_data"
        assert loaded.notices == ()


def test_mlogiqa_sample_data_is_parallel():
    golds = {}
    for language in LANGUAGES:
        loaded = load_documents(Dataset("mlogiqa", language), "test", DataChoice(sample_data=True))
        golds[language] = [(item.group, item.fields["label"]) for item in loaded.documents]
    assert len(golds["ja"]) == 12
    assert all(golds[language] == golds["ja"] for language in LANGUAGES)


def real(name, split, config=None, version="1.1"):
    choice = DataChoice(data_dir=SHARED, versions={"jglue": version})
    return load_documents(Dataset(name, config), split, choice)


class TestRealData:
    pytestmark = real_data

    @pytest.mark.parametrize(
        ("name", "split", "config", "version", "rows"),
        [
            ("jglue/jcommonsenseqa", "train", None, "1.1", 8939),
            ("jglue/jcommonsenseqa", "validation", None, "1.1", 1119),
            ("jglue/jcommonsenseqa", "validation", None, "1.3", 1119),
            ("jglue/jcommonsenseqa", "test", None, "1.3", 1118),
            ("jglue/jsquad", "validation", None, "1.1", 4442),
            ("jglue/jsquad", "test", None, "1.3", 4420),
            ("jglue/jnli", "validation", None, "1.1", 2434),
            ("jglue/jnli", "validation", None, "1.3", 2434),
            ("jglue/jnli", "test", None, "1.3", 2508),
            ("jaquad", "train", None, "1.1", 31748),
            ("jaquad", "validation", None, "1.1", 3939),
            ("mlogiqa", "test", "en", "1.1", 80),
            ("mlogiqa", "test", "ko", "1.1", 80),
            ("mlogiqa", "test", "zh", "1.1", 80),
        ],
    )
    def test_published_counts(self, name, split, config, version, rows):
        loaded = real(name, split, config, version)
        assert len(loaded.documents) == rows
        assert not any("the published file" in notice for notice in loaded.notices)

    @pytest.mark.parametrize(
        ("name", "rows", "published"),
        [("jglue/jnli", "1,334", "20,073"), ("jglue/jsquad", "4", "62,859")],
    )
    def test_partial_train_files_are_announced(self, name, rows, published):
        notice = f"{name} train has {rows} rows, the published file {published}"
        assert notice in real(name, "train").notices

    def test_29_labels_of_jnli_changed(self):
        old, new = (
            {
                item.id: item.fields["label"]
                for item in real("jglue/jnli", "validation", None, version).documents
            }
            for version in ("1.1", "1.3")
        )
        assert old.keys() == new.keys()
        assert sum(old[key] != new[key] for key in old) == 29

    def test_mlogiqa_rows_stay_in_file_order(self):
        golds = {
            language: [d.fields["label"] for d in real("mlogiqa", "test", language).documents]
            for language in ("en", "ko", "zh")
        }
        assert golds["en"] == golds["zh"]
        # The Korean copy has four rows at its end: which item a row is, its number does not tell.
        moved = [19, 27, 33, 40]
        order = [n for n in range(80) if n not in moved] + moved
        assert golds["ko"] == [golds["en"][n] for n in order] != golds["en"]

    def test_jsquad_groups_are_paragraphs(self):
        documents = real("jglue/jsquad", "validation").documents
        assert len({item.group for item in documents}) == len(
            {(item.fields["title"], item.fields["context"]) for item in documents}
        )
        assert all("[SEP]" not in item.fields["context"] for item in documents)
