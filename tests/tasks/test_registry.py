"""What a name on the command line stands for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tenbin.errors import PluginError, TaskError
from tenbin.plugins import installed
from tenbin.records import Parallel
from tenbin.tasks.registry import Registry, load_registry

LANGUAGES = ["ar", "en", "es", "fr", "ja", "ko", "pt", "th", "vi", "zh"]


@pytest.fixture(scope="module")
def registry() -> Registry:
    return load_registry()


def ids(registry: Registry, *entries: str, template: str | None = None) -> list[str]:
    return [chosen.full_id for chosen in registry.select(entries, template)]


def test_every_published_task_and_template_is_there(registry: Registry) -> None:
    expected = {
        "jcommonsenseqa-1.1": ["0.1", "0.2", "0.2.1", "0.3", "0.4", "0.5", "0.6"],
        "jsquad-1.1": ["0.1", "0.2", "0.3", "0.4", "0.5", "0.6"],
        "jsquad-1.2": ["0.1", "0.2", "0.3", "0.4", "0.5", "0.6"],
        "jaquad-0.1": ["0.1", "0.2", "0.3", "0.4", "0.5", "0.6"],
        "jnli-1.1": ["0.2", "0.3", "0.4", "0.5", "0.6"],
        "jnli-1.3": ["0.2", "0.3", "0.4", "0.5", "0.6"],
        "marc_ja-1.1": ["0.2", "0.3", "0.4", "0.5", "0.6"],
        "plain_text_en-1.0": ["default"],
        "plain_text_ja-1.0": ["default"],
    }
    for language in LANGUAGES:
        templates = ["default", "paper", "native"]
        expected[f"mlogiqa_gen_{language}-1.0"] = templates
        expected[f"mlogiqa_mcq_{language}-1.0"] = [
            name + variant for name in templates for variant in ("", "+letter", "+text")
        ]
    found = {f"{task.name}-{task.version}": list(task.templates) for task in registry.all()}
    assert {name: found.get(name) for name in expected} == expected


def test_exact_id(registry: Registry) -> None:
    assert ids(registry, "jnli-1.1-0.3") == ["jnli-1.1-0.3"]


def test_bare_name_takes_the_newest_version_and_the_given_template(registry: Registry) -> None:
    assert ids(registry, "jnli", template="0.4") == ["jnli-1.3-0.4"]
    assert ids(registry, "jsquad") == ["jsquad-1.2-0.2"]


def test_template_in_the_name_wins_over_the_flag(registry: Registry) -> None:
    assert ids(registry, "jnli-1.1-0.3", template="0.5") == ["jnli-1.1-0.3"]


def test_pattern_over_ids(registry: Registry) -> None:
    assert ids(registry, "jcommonsenseqa-1.1-*") == [
        f"jcommonsenseqa-1.1-{t}" for t in ("0.1", "0.2", "0.2.1", "0.3", "0.4", "0.5", "0.6")
    ]


def test_pattern_over_names_takes_one_template_each(registry: Registry) -> None:
    chosen = ids(registry, "mlogiqa_mcq_*", template="native")
    assert chosen == [f"mlogiqa_mcq_{language}-1.0-native" for language in LANGUAGES]


def test_group(registry: Registry) -> None:
    assert ids(registry, "mlogiqa_gen") == [f"mlogiqa_gen_{la}-1.0-default" for la in LANGUAGES]
    assert ids(registry, "mlogiqa_mcq-1.0-paper+letter")[0] == "mlogiqa_mcq_ar-1.0-paper+letter"


def test_jaquad_in_its_usual_spelling(registry: Registry) -> None:
    assert ids(registry, "jaquad-1.1-0.3") == ["jaquad-0.1-0.3"]
    assert ids(registry, "jaquad-1.1-*") == ids(registry, "jaquad-0.1-*")


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("jcomonsenseqa", ["unknown task", "jcommonsenseqa"]),
        ("jnli-1.2-0.3", ["no version '1.2'", "1.1, 1.3"]),
        ("jnli-1.3-0.1", ["no template '0.1'", "0.2, 0.3, 0.4, 0.5, 0.6"]),
        ("nothing*", ["no task matches"]),
        ("mmlu", ["unknown task", "--include_path lm_eval"]),
    ],
)
def test_unknown_names_fail_with_what_is_close(
    registry: Registry, entry: str, words: list[str]
) -> None:
    with pytest.raises(TaskError) as caught:
        ids(registry, entry)
    for word in words:
        assert word in str(caught.value)


PLAIN = """
task: my_quiz
dataset_path: json
dataset_kwargs: {data_files: {test: quiz.jsonl}}
output_type: multiple_choice
test_split: test
doc_to_text: "Q: {{question}}\\nA:"
doc_to_choice: "{{options}}"
doc_to_target: "{{answer}}"
metric_list: [{metric: acc, aggregation: mean, higher_is_better: true}]
metadata: {version: 2.0}
"""


def test_a_plain_lm_eval_file_is_a_task_with_one_template(tmp_path: Path) -> None:
    path = tmp_path / "my_quiz.yaml"
    path.write_text(PLAIN, encoding="utf-8")
    registry = load_registry([path])
    (chosen,) = registry.select(["my_quiz"])
    template = chosen.task.templates["default"]
    assert chosen.task.version == "2.0"
    assert (template.target_delimiter, template.fewshot_delimiter) == (" ", "\n\n")
    (by_path,) = load_registry().select([str(path)])
    assert by_path.task == chosen.task


def test_lm_evals_defaults(tmp_path: Path) -> None:
    path = tmp_path / "my_quiz.yaml"
    text = PLAIN.replace("multiple_choice", "generate_until").replace(
        "metric: acc,", "metric: exact_match,"
    )
    path.write_text(text + "validation_split: dev\n", encoding="utf-8")
    (chosen,) = load_registry([path]).select(["my_quiz"])
    assert chosen.task.templates["default"].stop == ("\n\n",), "where the next example would begin"
    assert (chosen.task.split, chosen.task.fewshot.split) == ("test", "dev")


def test_a_runs_own_folder_is_no_task(tmp_path: Path) -> None:
    (tmp_path / "x.run").mkdir()
    for name in ("run.yaml", "result.json"):
        (tmp_path / "x.run" / name).write_text("model: scripted\n", encoding="utf-8")
    assert load_registry([tmp_path]).tasks.keys() == load_registry().tasks.keys()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("doc_to_textt: x\n", ["doc_to_textt", "unknown key"]),
        ("process_docs: !function utils.process\n", ["process_docs", "!function utils.process"]),
        ("output_type: essay\n", ["output_type"]),
        ("process_docs: utils.f\n", ["process_docs", "Jinja"]),
        ("metric_list: [{metric: acc, aggregation: median}]\n", ["aggregation"]),
        ("templates: {a: {doc_to_tex: 1}}\n", ["templates.a.doc_to_tex"]),
        ("generation_kwargs: {do_sample: true}\n", ["multiple_choice generates no text"]),
        ("generation_kwargs: {temprature: 1}\n", ["generation_kwargs.temprature", "unknown key"]),
        ("generation_kwargs: {top_p: 1.5}\n", ["generation_kwargs.top_p", "less than or equal"]),
        ("repeats: 0\n", ["repeats", "greater than or equal"]),
        ("repeats: 3\n", ["multiple_choice generates no text", "repeats out"]),
        ("include: my_quiz.yaml\n", ["include each other"]),
        ("x: [\n", ["not valid YAML"]),
    ],
)
def test_a_malformed_file_is_refused_by_key(tmp_path: Path, change: str, words: list[str]) -> None:
    path = tmp_path / "my_quiz.yaml"
    keys = change.partition(":")[0]
    kept = "".join(line for line in PLAIN.splitlines(True) if not line.startswith(f"{keys}:"))
    path.write_text(kept + "title: Quiz\n" + change, encoding="utf-8")
    with pytest.raises(TaskError) as caught:
        load_registry([path])
    for word in [*words, "my_quiz.yaml"]:
        assert word in str(caught.value)


def test_a_name_taken_already_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        PLAIN.replace("my_quiz", "jnli").replace("{version: 2.0}", "{version: '1.3'}"), "utf-8"
    )
    with pytest.raises(TaskError, match="known already"):
        load_registry([path])


def test_profile_wordings(registry: Registry) -> None:
    published = load_registry(profile="jp-stable")
    ours = registry.newest("jcommonsenseqa").templates
    theirs = published.newest("jcommonsenseqa").templates
    assert "選んでください。\n\n出力は" in ours["0.3"].text
    assert "選んでください。出力は" in theirs["0.3"].text
    assert theirs["0.2"].choices == "choices"
    assert ours["0.2"].choices == ("0", "1", "2", "3", "4")
    assert {n for n in ours if ours[n] != theirs[n]} == {"0.2", "0.3"}


def test_tasks_that_share_their_items_say_so(registry: Registry, tmp_path: Path) -> None:
    scored, written = registry.newest("mlogiqa_mcq_ja"), registry.newest("mlogiqa_gen_th")
    assert scored.parallel == Parallel("id", "mlogiqa", "mlogiqa_mcq")
    assert written.parallel == Parallel("id", "mlogiqa", "mlogiqa_gen")
    assert registry.newest("jnli").parallel is None
    path = tmp_path / "copa_it.yaml"
    text = (
        "task: copa_it\nlanguage: it\nparallel: {key: idx}\ndataset_path: rows\ntest_split: test\n"
        "doc_to_text: '{{ premise }}'\ndoc_to_target: answer\n"
    )
    path.write_text(text, encoding="utf-8")
    (chosen,) = registry.select([str(path)])
    assert chosen.task.parallel == Parallel("idx", "copa", "copa")
    path.write_text(text.replace("key: idx", "keys: idx"), encoding="utf-8")
    with pytest.raises(TaskError, match=r"parallel\.keys: unknown key"):
        registry.select([str(path)])


@pytest.mark.parametrize("odd", ["1.²", "9" * 900, "1..x", ""])
def test_odd_versions_have_an_order_too(tmp_path: Path, odd: str) -> None:
    path = tmp_path / "quiz.yaml"
    path.write_text(
        "task: quiz\ndataset_path: json\ndataset_kwargs: {data_files: rows.jsonl}\n"
        "test_split: train\ndoc_to_text: q\ndoc_to_target: a\n"
        f'versions: {{"1.0": {{}}, "{odd}": {{}}}}\n',
        encoding="utf-8",
    )
    assert load_registry([path]).newest("quiz").version in ("1.0", odd)


TASK = """
task: {name}
dataset_path: json
dataset_kwargs: {{data_files: {{test: rows.jsonl}}}}
test_split: test
output_type: multiple_choice
doc_to_text: "{{{{ q }}}}"
doc_to_choice: ["a", "b"]
doc_to_target: 0
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Path]]:
    """Makes a package with task files and its metadata, as pip would leave them."""

    def made(package: str, value: str | None = None, **files: str) -> Path:
        folder = tmp_path / package
        folder.mkdir()
        (folder / "__init__.py").write_text("raise RuntimeError('imported')", encoding="utf-8")
        for name, text in files.items():
            (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
        info = tmp_path / f"{package}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Name: {package}\nVersion: 1.0\n", encoding="utf-8")
        (info / "entry_points.txt").write_text(
            f"[tenbin.tasks]\n{package} = {value or package}\n", encoding="utf-8"
        )
        monkeypatch.syspath_prepend(tmp_path)
        installed.cache_clear()
        return folder

    yield made
    installed.cache_clear()


def test_tasks_of_an_installed_package(install: Callable[..., Path]) -> None:
    folder = install("their_tasks", weather=TASK.format(name="weather"), _shared="no: task")
    registry = load_registry()
    assert "weather" not in registry.tasks, "packages are looked for when they are needed"
    assert ids(registry, "jnli-1.1-0.3") == ["jnli-1.1-0.3"] and "weather" not in registry.tasks
    assert ids(registry, "weather") == ["weather-1.0-default"]
    assert registry.task("weather", "1.0").dataset.folder == str(folder)
    assert ids(load_registry(), "weath*") == ["weather-1.0-default"]
    assert "weather" in {task.name for task in load_registry().all()}
    assert "their_tasks" not in sys.modules, "its code is not run"
    with pytest.raises(TaskError, match=r"unknown task 'wether'\n.*did you mean weather"):
        ids(load_registry(), "wether")


@pytest.mark.parametrize("name", ["jnli", "mlogiqa_mcq"])
def test_an_installed_task_needs_a_name_of_its_own(name: str, install: Callable[..., Path]) -> None:
    install("their_tasks", one=TASK.format(name=name))
    with pytest.raises(TaskError, match=f"one.yaml: the name '{name}' is taken .* their_tasks"):
        load_registry().all()
    assert ids(load_registry(), "jnli-1.1-0.3") == ["jnli-1.1-0.3"]


def test_two_packages_with_the_same_task(install: Callable[..., Path]) -> None:
    install("first_tasks", weather=TASK.format(name="weather"))
    install("second_tasks", weather=TASK.format(name="weather"))
    with pytest.raises(TaskError, match=r"'weather' is taken .* second_tasks cannot use it"):
        ids(load_registry(), "weather")


def test_a_package_whose_tasks_cannot_be_found(install: Callable[..., Path]) -> None:
    install("their_tasks", "their_tasks.missing")
    with pytest.raises(PluginError, match=r"their_tasks = their_tasks.missing .*Error: imported"):
        load_registry().all()


def test_a_package_without_its_module_or_its_files(install: Callable[..., Path]) -> None:
    install("their_tasks", "no_such_module")
    with pytest.raises(PluginError, match=r"there is no such module\n.*uninstall .*their_tasks"):
        load_registry().all()


def test_a_package_without_task_files(install: Callable[..., Path]) -> None:
    install("their_tasks")
    with pytest.raises(TaskError, match="the installed package their_tasks has no task files"):
        load_registry().all()


def test_no_label_begins_with_another(registry: Registry) -> None:
    """A label that begins with another is never the likelier of the two."""
    for task in registry.all():
        scored = task.kind == "choice" and any(
            t.choices == "labels" for t in task.templates.values()
        )
        for label in task.labels if scored else ():
            others = [other for other in task.labels if other != label]
            assert not any(other.startswith(label) for other in others), (task.name, task.labels)
