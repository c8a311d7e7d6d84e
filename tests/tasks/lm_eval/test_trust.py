"""Functions of task files run only where the user trusts them, and each failure is one error."""

from __future__ import annotations

import hashlib
import pickle
from pathlib import Path
from typing import Any

import pytest

from tenbin.errors import TaskError
from tenbin.records import Task, TaskFunction
from tenbin.tasks.lm_eval.functions import named_functions
from tenbin.tasks.lm_eval.python_imports import packages_of
from tenbin.tasks.lm_eval.translate import translate
from tenbin.tasks.lm_eval.trust import Trust, trusted

CANARY = "import pathlib\npathlib.Path(__file__).with_suffix('.ran').touch()\n"
ALL = Trust(everything=True)


def made(
    folder: Path, code: str, name: str = "process", file: str = "utils.py", **keys: Any
) -> Task:
    """A task whose documents are processed by a function of a file with this code."""
    folder.mkdir(exist_ok=True)
    (folder / file).write_text(code)
    mapping = {
        "task": "quiz",
        "dataset_path": "some/quiz",
        "test_split": "test",
        "doc_to_text": "{{question}}",
        "doc_to_target": "{{answer}}",
        "process_docs": TaskFunction(str(folder / "utils.py"), "process"),
        **keys,
    }
    return translate(mapping, folder / "quiz.yaml").require()


def loaded(task: Task) -> TaskFunction:
    function = task.dataset.process_docs
    assert function is not None and function.call is not None
    return function


def test_nothing_runs_without_trust(tmp_path: Path) -> None:
    task = made(tmp_path, f"{CANARY}def process(docs): return docs\n")
    other = TaskFunction(str(tmp_path / "utils.py"), "judge")
    task = translate(
        {"task": "quiz", "dataset_path": "x", "test_split": "t", "doc_to_text": "a",
         "doc_to_target": "b", "process_docs": task.dataset.process_docs,
         "process_results": other},
        tmp_path / "quiz.yaml",
    ).require()  # fmt: skip
    with pytest.raises(TaskError) as caught:
        trusted(task, Trust(settings="/home/me/config.yaml"))
    message, hint = caught.value.message, caught.value.hint
    assert f"process_docs: {tmp_path / 'utils.py'}: process" in message
    assert f"process_results: {tmp_path / 'utils.py'}: judge" in message
    assert "--trust_tasks" in hint
    assert str(tmp_path) in hint
    assert "/home/me/config.yaml" in hint
    assert not (tmp_path / "utils.ran").exists(), "reading, translating and refusing run nothing"
    with pytest.raises(RuntimeError, match="trusted"):
        other([])


def test_trust_loads_every_function_with_its_hash(tmp_path: Path) -> None:
    code = f"{CANARY}def process(docs): return docs[::-1]\nclass Keep: ...\n"
    task = made(
        tmp_path,
        code,
        filter_list=[
            {
                "name": "f",
                "filter": [{"function": TaskFunction(str(tmp_path / "utils.py"), "Keep")}],
            }
        ],
    )
    task = trusted(task, ALL)
    assert (tmp_path / "utils.ran").exists()
    function = loaded(task)
    assert function([1, 2]) == [2, 1]
    assert function.sha256 == hashlib.sha256(code.encode()).hexdigest()
    step, _ = task.filters[0].steps[0]
    assert isinstance(step, TaskFunction) and isinstance(step.call, type)
    assert task.origin is not None
    assert {one.sha256 for one in task.origin.functions} == {function.sha256}
    assert [key for key, _ in named_functions(task)] == ["process_docs", "filter_list.f"]


def test_a_task_without_functions_stays_as_it_is(tmp_path: Path) -> None:
    task = made(tmp_path, "", process_docs=None)
    assert trusted(task, Trust()) is task


def test_trusted_folders(tmp_path: Path) -> None:
    task = made(tmp_path / "mine", "def process(docs): return docs\n")
    trusted(task, Trust(folders=(str(tmp_path),)))
    trusted(task, Trust(folders=("no_such_package_b", str(tmp_path / "mine"))))
    with pytest.raises(TaskError, match="trust"):
        trusted(task, Trust(folders=(str(tmp_path / "other"), f"{tmp_path}/min")))
    # A link out of a trusted folder leads to code that nobody has trusted.
    (tmp_path / "safe").mkdir()
    (tmp_path / "safe" / "utils.py").symlink_to(tmp_path / "mine" / "utils.py")
    linked = made(tmp_path / "mine", "def process(docs): return docs\n", process_docs=TaskFunction(
        str(tmp_path / "safe" / "utils.py"), "process"))  # fmt: skip
    with pytest.raises(TaskError, match="trust"):
        trusted(linked, Trust(folders=(str(tmp_path / "safe"),)))


def test_files_of_one_name_do_not_meet_and_are_imported_once(tmp_path: Path) -> None:
    first = trusted(made(tmp_path / "a", "def process(docs): return 'a'\n"), ALL)
    second = trusted(made(tmp_path / "b", "def process(docs): return 'b'\n"), ALL)
    assert (loaded(first)([]), loaded(second)([])) == ("a", "b")
    again = trusted(made(tmp_path / "a", "def process(docs): return 'a'\n"), ALL)
    assert loaded(again).call is loaded(first).call


def test_files_beside_it_can_be_imported_and_count_for_the_hash(tmp_path: Path) -> None:
    (tmp_path / "shared.py").write_text("def reverse(docs): return docs[::-1]\n")
    folder = tmp_path / "v1.0 beta"
    (tmp_path / "common").mkdir()
    (tmp_path / "common" / "deep.py").write_text("ONE = 1\n")
    code = (
        "from .near import NEAR\nfrom ..shared import reverse\nfrom ..common import deep\n"
        "def process(docs): return reverse(docs) + [NEAR, deep.ONE]\n"
    )
    folder.mkdir()
    (folder / "near.py").write_text("NEAR = 0\n")
    task = trusted(made(folder, code), ALL)
    assert loaded(task)([2, 3]) == [3, 2, 0, 1]
    digests = [
        hashlib.sha256(path.read_bytes()).hexdigest()
        for path in (folder / "utils.py", folder / "near.py", tmp_path / "shared.py",
                     tmp_path / "common" / "deep.py")
    ]  # fmt: skip
    assert loaded(task).sha256 == hashlib.sha256("".join(digests).encode()).hexdigest()


def test_a_function_of_an_installed_module(tmp_path: Path) -> None:
    task = made(tmp_path, "", process_docs=TaskFunction("json.decoder", "JSONDecoder"))
    assert loaded(trusted(task, ALL)).call.__name__ == "JSONDecoder"  # type: ignore[union-attr]
    with pytest.raises(TaskError, match="trust"):
        trusted(task, Trust(folders=(str(tmp_path),)))
    trusted(task, Trust(folders=("json",)))


@pytest.mark.parametrize(
    ("code", "reason", "remedy"),
    [
        (
            "import no_such_package_c\ndef process(d): ...\n",
            "no_such_package_c",
            "pip install no_such",
        ),
        ("def process(d):\n    import sklearnish_d\n", "sklearnish_d", "pip install sklearnish_d"),
        ("def other(d): ...\n", "process .* is not there", "name"),
        ("process = 5\n", "process .* is no function", "name"),
        ("1 / 0\n", "ZeroDivisionError: division by zero", "mend"),
        ("import sys\nsys.exit(3)\n", "SystemExit: 3", "mend"),
        ("def process(:\n", "SyntaxError", "mend"),
        ("raise ModuleNotFoundError('get it')\n", "ModuleNotFoundError: get it", "mend"),
        ("import json.nothing\n", "json.nothing", "mend"),
        ("__import__('no_such_package_e')\n", "the package no_such_package_e", "pip install"),
    ],
)
def test_each_failure_names_file_and_reason(
    tmp_path: Path, code: str, reason: str, remedy: str
) -> None:
    with pytest.raises(TaskError, match=reason) as caught:
        trusted(made(tmp_path, code), ALL)
    assert str(tmp_path / "utils.py") in caught.value.message
    assert caught.value.message.startswith("quiz: ")
    assert remedy in caught.value.hint


def test_all_missing_packages_are_named_at_once(tmp_path: Path) -> None:
    code = "import no_such_f, yaml_g.x\nfrom no_such_h import y\ndef process(d): ...\n"
    with pytest.raises(TaskError) as caught:
        trusted(made(tmp_path, code), ALL)
    assert caught.value.hint == "pip install no_such_f no_such_h yaml_g"


def test_a_failed_import_can_be_tried_again(tmp_path: Path) -> None:
    task = made(tmp_path, "1 / 0\n")
    with pytest.raises(TaskError):
        trusted(task, ALL)
    (tmp_path / "utils.py").write_text("def process(docs): return docs\n")
    assert loaded(trusted(task, ALL))([1]) == [1]


def test_functions_do_not_travel_to_other_processes(tmp_path: Path) -> None:
    task = trusted(made(tmp_path, "def process(docs): return docs\n"), ALL)
    travelled = pickle.loads(pickle.dumps(task))
    assert travelled == task
    assert travelled.dataset.process_docs.call is None


CODE = """
import os, a_top
from b_top.inner import x
try:
    import c_optional
except ImportError:
    c_optional = None
try:
    import d_needed
except ImportError:
    raise
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    import e_types
def used():
    import f_used
def unused():
    import g_unused
def process(docs):
    import h_inner
    return helper(docs)
helper = lambda docs: used()
def called():
    import j_called
TABLE = {"unused": unused, "called": called()}
"""


def test_what_a_function_imports_is_read_from_the_source(tmp_path: Path) -> None:
    (tmp_path / "read.py").write_text(CODE)
    found = packages_of(TaskFunction(str(tmp_path / "read.py"), "process"))
    assert sorted(found) == ["a_top", "b_top", "d_needed", "f_used", "h_inner", "j_called"]
    assert sorted(packages_of(TaskFunction(str(tmp_path / "read.py"), "unused"))) == [
        "a_top",
        "b_top",
        "d_needed",
        "g_unused",
        "j_called",
    ]
    assert packages_of(TaskFunction(str(tmp_path / "none.py"), "x")) == frozenset()
    assert packages_of(TaskFunction("no_such_i.tasks", "x")) == {"no_such_i"}
