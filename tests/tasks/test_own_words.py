"""Words of a language's own: in its script, complete, and under a version that says so."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from tenbin.errors import TaskError
from tenbin.records import Task
from tenbin.tasks.loader import load_file
from tenbin.tasks.registry import Registry, load_registry

ASKED_IN_ENGLISH = {"bam_Latn", "fuv_Latn", "kac_Latn", "luo_Latn", "shn_Mymr", "wol_Latn"}
HEADINGS_ALONE = {"bod_Tibt", "grn_Latn", "kea_Latn", "lin_Latn", "ssw_Latn"}
SCRIPTS = {
    "Arab": "ARABIC",
    "Armn": "ARMENIAN",
    "Beng": "BENGALI",
    "Cyrl": "CYRILLIC",
    "Deva": "DEVANAGARI",
    "Ethi": "ETHIOPIC",
    "Geor": "GEORGIAN",
    "Grek": "GREEK",
    "Gujr": "GUJARATI",
    "Guru": "GURMUKHI",
    "Hang": "HANGUL",
    "Hans": "CJK",
    "Hant": "CJK",
    "Hebr": "HEBREW",
    "Jpan": "CJK|HIRAGANA|KATAKANA",
    "Khmr": "KHMER",
    "Knda": "KANNADA",
    "Laoo": "LAO",
    "Latn": "LATIN",
    "Mlym": "MALAYALAM",
    "Mymr": "MYANMAR",
    "Orya": "ORIYA",
    "Sinh": "SINHALA",
    "Taml": "TAMIL",
    "Telu": "TELUGU",
    "Thai": "THAI",
    "Tibt": "TIBETAN",
}


@cache
def registry() -> Registry:
    return load_registry()


def newest(group: str) -> dict[str, Task]:
    """The newest version of each task of a group, by language variant."""
    tasks = [
        registry().task(name, version)
        for name, versions in registry().tasks.items()
        for version, summary in versions.items()
        if summary.group == group
    ]
    found: dict[str, Task] = {}
    for task in sorted(tasks, key=lambda one: one.version):
        found[task.name.removeprefix(f"{group}_")] = task
    return found


def test_each_variant_of_belebele_is_asked_in_its_own_words_unless_the_page_names_it() -> None:
    tasks = newest("belebele")
    english = tasks["eng_Latn"].words
    assert len(tasks) == 122
    same = {name for name, task in tasks.items() if task.words == english}
    assert same == {"eng_Latn", *ASKED_IN_ENGLISH}
    headed = {name for name, task in tasks.items() if task.words["letter"] == english["letter"]}
    assert headed - same == HEADINGS_ALONE
    about = tasks["eng_Latn"].about
    assert about is not None
    for name in ASKED_IN_ENGLISH | HEADINGS_ALONE:
        assert any(name in fault for fault in about.faults), name


def test_words_are_in_the_script_of_the_variant() -> None:
    for name, task in newest("belebele").items():
        script = SCRIPTS[name.partition("_")[2]]
        if name in ASKED_IN_ENGLISH:
            continue
        keys = ("passage", "question", "answer")
        for key in keys if name in HEADINGS_ALONE else (*keys, "letter"):
            letters = [one for one in task.words[key] if one.isalpha()]
            other = [one for one in letters if not re.match(script, unicodedata.name(one))]
            assert letters and not other, (name, key, other)


@pytest.mark.parametrize("group", ["belebele", "belebele_gen", "global_mmlu", "global_mmlu_gen"])
def test_instructions_name_the_place_that_the_letter_goes_to(group: str) -> None:
    for name, task in newest(group).items():
        asked, shown = task.words["json"].rsplit("\n", 1)
        place = re.fullmatch(r"\{'answer': '(\[[^\]]+\])'\}", shown)
        assert place and place[1] in asked, name
        assert task.words["question"].endswith((": ", "：", " : ")), name
        assert task.words["answer"].endswith((":", "：")), name
        assert unicodedata.is_normalized("NFC", "".join(task.words.values())), name


def test_the_two_benchmarks_say_the_same_in_a_language() -> None:
    variants = {"am": "amh_Ethi", "fil": "tgl_Latn", "ja": "jpn_Jpan", "mg": "plt_Latn"}
    variants |= {"ne": "npi_Deva", "si": "sin_Sinh", "tr": "tur_Latn", "yo": "yor_Latn"}
    belebele, mmlu = newest("belebele"), newest("global_mmlu")
    assert len(mmlu) == 42
    for code, variant in variants.items():
        words = {key: belebele[variant].words[key] for key in mmlu[code].words}
        assert mmlu[code].words == words


def test_versions_before_words_came_ask_in_english() -> None:
    english = registry().task("belebele_eng_Latn", "1.0")
    for name, version in (("belebele_zul_Latn", "1.0"), ("belebele_kac_Latn", "1.0")):
        task = registry().task(name, version)
        assert (task.words, task.templates) == (english.words, english.templates)
    for name in ("belebele_jpn_Jpan", "belebele_kac_Latn", "global_mmlu_gen_ja"):
        older, newer = registry().task(name, "1.0"), registry().task(name, "1.1")
        assert replace(newer, version="1.0") == older
    newer = registry().task("belebele_gen_zul_Latn", "1.1")
    assert newer.words["answer"] == "Impendulo:"
    assert newer.templates == registry().task("belebele_gen_zul_Latn", "1.0").templates


GREETINGS = """
task: greetings
dataset_path: json
test_split: test
doc_to_text: '{{ words.hello }}'
doc_to_target: x
words: {hello: Hello}
templates: {plain: {meant_for: all}}
versions: {'1.0': {}, '1.1': {words: {hello: Hi}}}
languages:
  en: {}
  ja: {versions: {'1.1': {words: {hello: こんにちは}}}}
"""


def test_a_version_may_change_one_language_alone(tmp_path: Path) -> None:
    path = tmp_path / "greetings.yaml"
    path.write_text(GREETINGS, encoding="utf-8")
    found = {(one.task.name, one.task.version): one.task.words for one in load_file(path)}
    assert found == {
        ("greetings_en", "1.0"): {"hello": "Hello"},
        ("greetings_en", "1.1"): {"hello": "Hi"},
        ("greetings_ja", "1.0"): {"hello": "Hello"},
        ("greetings_ja", "1.1"): {"hello": "こんにちは"},
    }


def test_a_version_that_the_file_lacks_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "greetings.yaml"
    path.write_text(GREETINGS.replace("ja: {versions: {'1.1'", "ja: {versions: {'1.2'"))
    with pytest.raises(TaskError, match=r"languages\.ja\.versions\.1\.2"):
        load_file(path)
