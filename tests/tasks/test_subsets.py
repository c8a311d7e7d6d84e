"""Subsets, words and facts of task files, and rows that a schema leaves out."""

import json

import pytest

from tenbin.data.load import load_documents
from tenbin.data.schemas import SCHEMAS
from tenbin.data.schemas.checks import Dropped
from tenbin.data.sources.choice import DataChoice
from tenbin.errors import DataError, TaskError
from tenbin.prompts.render import word
from tenbin.records import Dataset, Document
from tenbin.tasks.loader import load_file
from tenbin.tasks.registry import load_registry

FILE = """
task: regions
language: ja
dataset: jglue/jnli
output_type: multiple_choice
test_split: validation
doc_to_text: "{{ premise }}"
doc_to_choice: labels
doc_to_target: label
labels: [a, b, c]
templates:
  plain: {source: somebody 1.0}
"""


def write(tmp_path, text):
    path = tmp_path / "regions.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_each_subset_is_a_task_with_its_rows_title_and_group(tmp_path):
    subsets = """
group: regions
subsets:
  north: {where: {premise: 北}, title: North}
  south: {where: {premise: 南}, group: warm, labels: [x, y, z]}
"""
    north, south = (loaded.task for loaded in load_file(write(tmp_path, FILE + subsets)))
    assert (north.name, north.title, north.group) == ("regions_north", "North", "regions")
    assert (south.name, south.title, south.group) == ("regions_south", "regions", "warm")
    assert north.dataset.where == {"premise": "北"}
    assert south.labels == ("x", "y", "z")
    assert north.language == south.language == "ja"
    assert north.templates["plain"].source == "somebody 1.0"


def test_subsets_beside_languages_are_refused(tmp_path):
    both = "languages: {ja: {}}\nsubsets:\n  north: {where: {premise: 北}}\n"
    with pytest.raises(TaskError, match="exclude each other"):
        load_file(write(tmp_path, FILE + both))


def test_only_rows_of_the_subset_are_read(tmp_path):
    rows = [
        {"sentence_pair_id": str(at), "sentence1": place, "sentence2": "x", "label": "neutral"}
        for at, place in enumerate("北南北")
    ]
    folder = tmp_path / "jglue_v1.1/jnli"
    folder.mkdir(parents=True)
    (folder / "validation.jsonl").write_text("\n".join(map(json.dumps, rows)))
    choice = DataChoice(data_dir=tmp_path)
    north = Dataset("jglue/jnli", where={"premise": "北"})
    assert [d.id for d in load_documents(north, "validation", choice).documents] == ["0", "2"]
    with pytest.raises(DataError, match="no row has premise = 東"):
        load_documents(Dataset("jglue/jnli", where={"premise": "東"}), "validation", choice)


def test_words_of_the_language_reach_templates(tmp_path):
    text = FILE.replace('"{{ premise }}"', '"{{ words.ask }}: {{ premise }}"')
    text += "words: {ask: 前提}\n"
    (loaded,) = load_file(write(tmp_path, text))
    document = Document("1", {"premise": "北", "label": 0}, None, "rows.jsonl, line 1", 0)
    worded = word(loaded.task, loaded.task.templates["plain"], document, None)
    assert worded.text == "前提: 北"


def test_rows_left_out_are_counted_and_keep_the_numbers_of_others(tmp_path, monkeypatch):
    def read(row, number):
        if row.values["sentence1"] == "NS":
            return Dropped("the translators gave up")
        return Document(f"row-{number}", {"premise": row.values["sentence1"]}, None, row.origin)

    monkeypatch.setitem(SCHEMAS, "jnli", read)
    folder = tmp_path / "jglue_v1.1/jnli"
    folder.mkdir(parents=True)
    lines = [json.dumps({"sentence1": text}) for text in ("NS", "山", "NS", "川")]
    (folder / "validation.jsonl").write_text("\n".join(lines))
    loaded = load_documents(Dataset("jglue/jnli"), "validation", DataChoice(data_dir=tmp_path))
    assert [document.id for document in loaded.documents] == ["row-1", "row-3"]
    assert loaded.files[0].rows == 4
    assert "jglue/jnli validation: 2 rows left out: the translators gave up" in loaded.notices


def test_facts_for_readers_are_kept(tmp_path):
    about = """
chance: {acc: 0.333}
about:
  asks: Whether the premise names a region.
  faults: [Row 3 is wrong.]
  citation: {authors: A. Author, year: 2024, title: Regions, venue: Nowhere}
"""
    (loaded,) = load_file(write(tmp_path, FILE + about))
    told = loaded.task.about
    assert told.faults == ("Row 3 is wrong.",)
    assert told.citation.year == 2024
    assert loaded.task.chance == {"acc": 0.333}


def test_a_version_may_read_answers_in_its_own_way(tmp_path):
    text = FILE.replace("multiple_choice", "generate_until")
    text += """
filter_list: [{name: old, filter: [{function: choice_letter_strict}]}]
versions:
  "1.0": {}
  "1.1":
    filter_list: [{name: new, filter: [{function: choice_letter_flexible}]}]
"""
    old, new = (loaded.task for loaded in load_file(write(tmp_path, text)))
    assert [use.name for use in old.filters] == ["old"]
    assert [use.name for use in new.filters] == ["new"]


def test_a_language_may_be_called_otherwise() -> None:
    task = load_registry().newest("belebele_jpn_Jpan")
    assert (task.language, task.dataset.config) == ("ja", "jpn_Jpan")
    assert task.parallel is not None and task.parallel.columns == "belebele"


def test_words_of_the_language_reach_filters_and_the_first_rows_are_examples(tmp_path):
    text = """
task: sums
dataset: mgsm
output_type: generate_until
test_split: test
fewshot_split: train
doc_to_text: "{{ problem }}"
doc_to_target: "{{ answer_number }}"
fewshot_config: {sampler: first_n}
filter_list:
  - {name: strict, filter: [{function: regex, regex_pattern: words.pattern}]}
languages:
  de: {words: {pattern: Antwort (.*)}}
  en: {words: {pattern: answer (.*)}}
"""
    german, english = (loaded.task for loaded in load_file(write(tmp_path, text)))
    assert german.filters[0].steps == (("regex", {"regex_pattern": "Antwort (.*)"}),)
    assert english.filters[0].steps == (("regex", {"regex_pattern": "answer (.*)"}),)
    assert german.fewshot.sampler == "first_n"
    with pytest.raises(TaskError, match=r"words\.pattern: `words` has no 'pattern'"):
        load_file(write(tmp_path, text.replace("{pattern: answer (.*)}", "{other: x}")))
