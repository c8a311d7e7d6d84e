"""The index of a folder: what is in it, that changes are seen, and that no code runs."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path

import pytest

from tenbin.tasks.lm_eval import file_entry, index_cache
from tenbin.tasks.lm_eval.index import FolderIndex, index_folder
from tenbin.tasks.lm_eval.index_cache import Entry

OLD = 1_600_000_000


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("TENBIN_CACHE", str(folder))
    return folder / "task-index"


def write(folder: Path, files: dict[str, str], seconds: int = OLD) -> Path:
    """Write files that were last changed long ago, as most are."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        os.utime(path, (seconds, seconds))
    return folder


def kinds(index: FolderIndex) -> dict[str, str]:
    return {entry.name: entry.kind for entry in index.entries}


def count_reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    read: list[str] = []
    original = file_entry._naming_keys
    monkeypatch.setattr(
        file_entry, "_naming_keys", lambda path: (read.append(Path(path).name), original(path))[1]
    )
    return read


FILES = {
    "a/task.yaml": "include: ../_base_yaml\ntask: xnli_ja\ntag: [nli, japanese]\n",
    "a/_also.yaml": "task: underscored\n",
    "a/base.yaml": "doc_to_text: x\n",
    "a/own.yaml": "task: mine\ntemplates: {a: {doc_to_text: x}}\n",
    "a/_own_base.yaml": "task: base\ngroup: mine\ntitle: x\n",
    "a/own_base.yaml": "group: mine\nfamily: x\n",
    "a/old_base.yaml": "group: old_style\n",
    "a/class.yaml": "task: squadv2\nclass: !function task.SQuAD2\n",
    "b/group.yml": "group: nlis\ntask: [xnli_ja, {task: x, a: 2}, {group: y, task: []}]\n",
    "b/old.yaml": "task: old\ngroup: old_style\n",
    "b/broken.yaml": "task: [\n",
    "b/yes.yaml": "task: yes\n",
    "b/list.yaml": "- a\n",
    "b/nothing.yaml": "include: none.yaml\ntask: nothing\n",
    "b/__pycache__/hidden.yaml": "task: hidden\n",
    "c/run.yaml": "tasks: x\n",
    "c/result.json": "{}",
    "_base_yaml": "tag: base\noutput_type: multiple_choice\n",
}


def test_what_cannot_be_listed_hinders_no_other(tmp_path: Path) -> None:
    folder = write(tmp_path, {"a.yaml": "task: a\n", "closed/b.yaml": "task: b\n"})
    (folder / "loop.yaml").symlink_to("loop.yaml")
    closed = folder / "closed"
    listed = os.scandir

    def refusing(place: str) -> object:
        if place == str(closed):
            raise PermissionError(errno.EACCES, "Permission denied", place)
        return listed(place)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tenbin.tasks.lm_eval.index.os.scandir", refusing)
        index = index_folder(folder)
    assert kinds(index) == {"a": "task", "loop": "refused", "closed": "refused"}
    assert "levels of symbolic links" in index.names["loop"][0].reason


def test_every_kind_of_file(tmp_path: Path) -> None:
    index = index_folder(write(tmp_path, FILES))
    assert kinds(index) == {
        "xnli_ja": "task",
        "underscored": "task",
        "mine": "own",
        "squadv2": "python",
        "nlis": "group",
        "old": "task",
        "broken": "refused",
        "yes": "refused",
        "list": "refused",
        "nothing": "refused",
    }
    assert index.tags == {"japanese": ("xnli_ja",), "nli": ("xnli_ja",), "old_style": ("old",)}
    (group,) = index.names["nlis"]
    assert group.members == ("xnli_ja", "x", "y")
    reasons = {entry.name: entry.reason for entry in index.entries if entry.reason}
    assert "broken.yaml" in reasons["broken"] and "line 2" in reasons["broken"]
    assert "not True" in reasons["yes"]
    assert "nothing.yaml: include: " in reasons["nothing"]
    assert "none.yaml: cannot be read" in reasons["nothing"]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("metric_list: [{metric: acc}, {metric: acc, name: mine}]", "own"),
        ("metric_list: [{<<: {name: mine}, metric: acc}]", "own"),
        ("fewshot_config: {sampler: stratified}", "own"),
        ("fewshot_config: {label: gold}", "own"),
        ("fewshot_config: {sampler: first_n}\nmetric_list: [{metric: acc}]", "task"),
        ("metric_list: {name: x}", "task"),
        ("metric_list: &m [{metric: acc}]\nfewshot_config: *m", "task"),
    ],
)
def test_whose_format_a_file_is_in(tmp_path: Path, text: str, kind: str) -> None:
    index = index_folder(write(tmp_path, {"a.yaml": f"task: a\n{text}\n"}))
    assert kinds(index) == {"a": kind}


def test_what_is_included_counts_and_own_keys_win(tmp_path: Path) -> None:
    files = {"a.yaml": "include: b.yaml\n", "b.yaml": "task: named\ntag: x\ninclude: c.yaml\n"}
    index = index_folder(write(tmp_path, {**files, "c.yaml": "tag: y\n"}))
    assert index.names["named"] == (
        Entry("named", "task", str(tmp_path / "a.yaml"), ("x",)),
        Entry("named", "task", str(tmp_path / "b.yaml"), ("x",)),
    )


def test_a_warm_index_is_the_same_and_reads_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    cold = index_folder(write(tmp_path, FILES))
    assert len(list(cache.iterdir())) == 1
    read = count_reads(monkeypatch)
    assert index_folder(tmp_path) == cold
    assert read == []


@pytest.mark.parametrize(
    ("change", "again"),
    [
        ({"a/task.yaml": "task: renamed\n"}, {"task.yaml"}),
        ({"a/new.yaml": "task: new\n"}, {"new.yaml"}),
        ({"_base_yaml": "task: based\n"}, {"task.yaml", "_base_yaml"}),
        ({"b/none.yaml": "a: 1\n"}, {"nothing.yaml", "none.yaml"}),
    ],
)
def test_changes_are_seen_and_only_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, str], again: set[str]
) -> None:
    index_folder(write(tmp_path, FILES))
    write(tmp_path, change, OLD + 1)
    read = count_reads(monkeypatch)
    warm = index_folder(tmp_path)
    assert set(read) == again
    monkeypatch.setattr(index_cache, "_FORMAT", 0)  # so that nothing is kept
    assert index_folder(tmp_path) == warm


def test_a_removed_file_is_gone(tmp_path: Path) -> None:
    index_folder(write(tmp_path, FILES))
    (tmp_path / "a" / "task.yaml").unlink()
    assert "xnli_ja" not in index_folder(tmp_path).names
    assert "xnli_ja" not in index_folder(tmp_path).names


def test_a_file_written_twice_within_a_tick_of_the_clock_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "task.yaml"
    path.write_text("task: aa\n", encoding="utf-8")
    stamp = path.stat().st_mtime_ns
    assert list(index_folder(tmp_path).names) == ["aa"]
    path.write_text("task: bb\n", encoding="utf-8")
    os.utime(path, ns=(stamp, stamp))
    assert list(index_folder(tmp_path).names) == ["bb"]


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[]",
        b"0" * 32 + b"\n{}",
        b"[" * 100_000,
    ],
)
def test_a_damaged_cache_is_made_anew(tmp_path: Path, cache: Path, damage: bytes) -> None:
    cold = index_folder(write(tmp_path, FILES))
    (stored,) = cache.iterdir()
    whole = stored.read_bytes()
    for content in (damage, whole[:-9], whole.replace(b"xnli_ja", b"xnli_jb")):
        stored.write_bytes(content)
        assert index_folder(tmp_path) == cold
        assert stored.read_bytes() == whole


def test_without_a_cache_folder_there_is_an_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, {"a.yaml": "task: a\n", "file": ""})
    monkeypatch.setenv("TENBIN_CACHE", str(tmp_path / "file"))
    assert list(index_folder(tmp_path).names) == ["a"]


def test_several_at_once(tmp_path: Path, cache: Path) -> None:
    write(tmp_path, {f"{n}.yaml": f"task: t{n}\n" for n in range(50)})
    found: list[FolderIndex] = []
    threads = [
        threading.Thread(target=lambda: found.append(index_folder(tmp_path))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [found[0]] * 4
    assert index_folder(tmp_path) == found[0]
    assert [path.suffix for path in cache.iterdir()] == [".json"]


def test_links_to_folders_are_not_followed_and_circles_end(tmp_path: Path) -> None:
    write(tmp_path, {"a/task.yaml": "task: a\n", "x.yaml": "include: y.yaml\ntask: x\n"})
    write(tmp_path, {"y.yaml": "include: x.yaml\n"})
    (tmp_path / "a" / "up").symlink_to(tmp_path)
    (tmp_path / "gone.yaml").symlink_to(tmp_path / "nowhere")
    index = index_folder(tmp_path)
    assert kinds(index) == {"a": "task", "gone": "refused", "x": "refused", "y": "refused"}
    assert "include each other" in index.names["x"][0].reason
    assert "gone.yaml: cannot be read: No such file" in index.names["gone"][0].reason
    write(tmp_path, {"nowhere": "task: there_now\n"})
    assert kinds(index_folder(tmp_path))["there_now"] == "task"


def test_paths_are_as_the_user_writes_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"in/task.yaml": "task: a\n", "in/bad.yaml": "["})
    monkeypatch.chdir(tmp_path)
    bad, good = index_folder(Path("in")).entries
    assert good.path == "in/task.yaml"
    assert bad.reason.startswith("in/bad.yaml: ")


def test_no_code_runs(tmp_path: Path) -> None:
    canary = "open(__file__ + '.ran', 'w').close()\n"
    write(tmp_path, {"utils.py": canary, "__init__.py": canary})
    write(
        tmp_path, {"a.yaml": "task: a\nprocess_docs: !function utils.f\nclass: !function utils.C\n"}
    )
    assert kinds(index_folder(tmp_path)) == {"a": "python"}
    assert not list(tmp_path.rglob("*.ran"))
