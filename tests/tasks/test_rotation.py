"""Rotated templates of the catalogue: names, selection, and that nothing but the order changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tenbin.data import DataChoice, load_documents
from tenbin.errors import TaskError
from tenbin.prompts.assembly import open_assembly
from tenbin.prompts.render import word
from tenbin.prompts.rotation import marks_positions, shown_position
from tenbin.records import OptionFields
from tenbin.tasks.loader import load_file
from tenbin.tasks.registry import Registry, load_registry
from tenbin.tasks.rotation import all_templates, rotations_of, split_rotation, with_template


@pytest.fixture(scope="module")
def registry() -> Registry:
    return load_registry()


def ids(registry: Registry, *entries: str, template: str | None = None) -> list[str]:
    return [chosen.full_id for chosen in registry.select(entries, template)]


def test_a_rotated_template_is_selected_by_its_name(registry: Registry) -> None:
    (chosen,) = registry.select(["jcommonsenseqa-1.1-0.3~2"])
    assert chosen.full_id == "jcommonsenseqa-1.1-0.3~2"
    template = chosen.task.templates["0.3~2"]
    assert (template.rotation, template.text) == (2, chosen.task.templates["0.3"].text)
    assert ids(registry, "mlogiqa_mcq_ja", template="native+letter~3") == [
        "mlogiqa_mcq_ja-1.0-native+letter~3"
    ]
    assert ids(registry, "jcommonsenseqa-1.1-0.3~*") == [
        f"jcommonsenseqa-1.1-0.3~{rotation}" for rotation in (1, 2, 3, 4)
    ]
    assert not any("~" in id for id in ids(registry, "jcommonsenseqa-1.1-*"))


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("jcommonsenseqa-1.1-0.3~5", "has no rotation 5"),
        ("jcommonsenseqa-1.1-0.3~0", "has no rotation 0"),
        ("jcommonsenseqa-1.1-0.9~1", "has no template '0.9~1'"),
        ("jnli-1.3-0.2~1", "explains each where it stands"),
        ("xnli_en-1.1-native~1", "does not list the options"),
        ("marc_ja-1.1-0.2~1", "does not say which fields hold its options"),
    ],
)
def test_rotations_that_there_are_not(registry: Registry, entry: str, said: str) -> None:
    with pytest.raises(TaskError) as refused:
        registry.select([entry])
    assert said in refused.value.message


def test_names() -> None:
    assert split_rotation("0.3~12") == ("0.3", 12)
    assert split_rotation("0.3") == ("0.3", 0)
    assert split_rotation("a~b") == ("a~b", 0)
    assert split_rotation("~1") == ("~1", 0)


SEEN = ["jcommonsenseqa", "jcommonsenseqa_gen", "mlogiqa_mcq_ja", "mlogiqa_gen_en",
        "belebele_jpn_Jpan", "belebele_gen_eng_Latn", "global_mmlu_ja", "jmmlu_anatomy",
        "jmmlu_gen_anatomy", "pmmeval_mmmlu_ja", "pmmeval_mhellaswag_en", "pmmeval_xnli_en",
        "xnli_en", "xnli_gen_de", "pawsx_ja", "pawsx_gen_en", "xcopa_et",
        "xcopa_gen_it", "jnli", "janli"]  # fmt: skip


@pytest.mark.parametrize("name", SEEN)
def test_only_the_order_changes(registry: Registry, name: str) -> None:
    """Options move, the right answer stays the right one, all else of a prompt stays."""
    task = registry.newest(name)
    assert task.options is not None
    documents = load_documents(task.dataset, task.split, DataChoice(sample_data=True)).documents
    rotated = [(base, rotations_of(task, base)[1:]) for base in task.templates]
    assert any(names for _, names in rotated), "no template of the task can be rotated"
    for base, names in rotated:
        plain = task.templates[base]
        for rotation, wording in enumerate(names, start=1):
            turned = with_template(task, wording)
            template = turned.templates[wording]
            described = [
                open_assembly(turned, one, None, None, None, False).description
                for one in (plain, template)
            ]
            moved = 0
            for document in documents:
                before = word(task, plain, document, None)
                after = word(turned, template, document, None)
                moved += after.text != before.text or described[0] != described[1]
                assert sorted(after.text) == sorted(before.text)
                assert sorted(described[0]) == sorted(described[1])
                label = document.fields["label"]
                shown = (label - rotation) % task.options.count
                if before.choices is None or after.choices is None:
                    letters = "ABCDE"[: task.options.count]
                    if before.references[0] in letters:
                        assert after.references == (letters[shown],)
                    continue
                assert (before.gold, after.gold) == (label, shown)
                if marks_positions(before.choices):
                    assert after.choices == before.choices
                elif "+" not in base and name.startswith("mlogiqa_mcq"):
                    assert [one[:3] for one in after.choices] == ["A. ", "B. ", "C. ", "D. "]
                    assert after.target[3:] == before.target[3:]
                else:
                    assert after.target == before.target
                    for at, choice in enumerate(before.choices):
                        shown = shown_position(at, rotation, task.options.count)
                        assert choice == after.choices[shown]
            assert moved, f"{wording}: no prompt changed"


def test_templates_that_explain_their_options_stay(registry: Registry) -> None:
    assert rotations_of(registry.newest("jnli"), "0.2") == ("0.2",)
    assert rotations_of(registry.newest("jnli"), "0.3") == ("0.3", "0.3~1", "0.3~2")
    names = all_templates(registry.newest("xcopa_et"))
    assert {"chat", "chat~1"} <= set(names) and "chat~2" not in names


def written(
    folder: Path, options: str, templates: str = "a: {doc_to_text: '{{ choices }}'}"
) -> Path:
    path = folder / "task.yaml"
    path.write_text(
        "task: made\nlanguage: en\ndataset_path: json\ntest_split: test\n"
        "output_type: multiple_choice\ndoc_to_choice: choices\ndoc_to_target: label\n"
        f"options: {options}\ntemplates:\n  {templates}\n",
        encoding="utf-8",
    )
    return path


def test_the_declaration_is_checked(tmp_path: Path) -> None:
    (loaded,) = load_file(written(tmp_path, "{lists: [choices], count: 4, gold: answer}"))
    assert loaded.task.options is not None
    assert (loaded.task.options.count, loaded.task.options.gold) == (4, "answer")
    for options, said in [
        ("{}", "names no field"),
        ("{lists: [choices]}", "the number of options is unknown"),
        ("{lists: [choices], fields: [a, b], count: 3}", "the number of options is 2 or 3"),
        ("{lists: [choices], count: 1}", "options.count"),
        ("{list: [choices]}", "options.list: unknown key"),
        ("{lists: [words.marks]}\nwords: {marks: 5}", "the number of options is unknown"),
    ]:
        with pytest.raises(TaskError, match=said):
            load_file(written(tmp_path, options))
    with pytest.raises(TaskError, match="means rotated options"):
        load_file(written(tmp_path, "{lists: [choices], count: 4}", "a~1: {doc_to_text: x}"))


@pytest.mark.parametrize(
    ("source", "named"),
    [
        ("choices", True),
        ("{{ choices[0] }}", True),
        ("{% for one in choices %}{{ one }}{% endfor %}", True),
        ("Of these choices: {{ question }}", False),
        ("{{ words.choices }}", False),
        ("{{ words.marks[1] }} {{ question }}", True),
        ("{{ words['marks'][1] }}", True),
        ("{{ words.marks_before }}", False),
        ("{{" * 50_000, False),
    ],
)
def test_what_names_the_options(source: str, named: bool) -> None:
    assert OptionFields(2, ("choices", "words.marks")).named_in(source) is named
