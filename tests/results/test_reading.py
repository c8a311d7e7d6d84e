"""Stored runs read back: two files that are not of one run are never read as one."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import tenbin
from tenbin.backends.scripted import ScriptedBackend
from tenbin.errors import ResultError
from tenbin.files.atomic import atomic_file
from tenbin.results import write
from tenbin.results.read import read_run

pytestmark = pytest.mark.usefixtures("cache")


def evaluate(path: Path, backend: ScriptedBackend | None = None, **options: Any) -> tenbin.Run:
    given = {"tasks": ["jnli-1.3-0.2"], "limit": 4, "sample_data": True, **options}
    return tenbin.evaluate(backend or ScriptedBackend(), output_path=str(path), **given)


def test_both_files_say_which_run_they_belong_to(tmp_path: Path) -> None:
    run = evaluate(tmp_path / "r.json")
    samples = tmp_path / "r.run" / "samples.parquet"
    facts = pq.read_schema(samples).metadata
    assert facts[b"tenbin_run_id"].decode() == run.document["run_id"]
    assert facts[b"tenbin_schema_version"] == b"3"
    content = samples.read_bytes()
    assert run.document["samples"] == {
        "sha256": hashlib.sha256(content).hexdigest(),
        "bytes": len(content),
    }
    stored = json.loads((tmp_path / "r.json").read_text())
    assert stored["run_id"] == run.document["run_id"] and stored["partial"] is False


def test_samples_of_another_run_are_refused(tmp_path: Path) -> None:
    ids = [evaluate(tmp_path / f"{n}.json", limit=n).document["run_id"] for n in (2, 3)]
    (tmp_path / "3.run" / "samples.parquet").replace(tmp_path / "2.run" / "samples.parquet")
    stored = read_run(tmp_path / "2.json")  # a listing needs no samples
    assert stored.document["run_id"] == ids[0]
    with pytest.raises(ResultError, match=f"not of one run: result {ids[0]}, samples {ids[1]}"):
        stored.samples()
    with pytest.raises(ResultError, match="not of one run"):
        tenbin.load_run(tmp_path / "2.run")
    with pytest.raises(ResultError, match="the samples are missing"):
        tenbin.load_run(tmp_path / "3.run")
    evaluate(tmp_path / "2.json", limit=2)
    assert len(tenbin.load_run(tmp_path / "2.json").samples) == 2, "repaired by the same command"


def test_a_changed_byte_of_the_samples_is_seen(tmp_path: Path) -> None:
    evaluate(tmp_path / "r.json")
    samples = tmp_path / "r.run" / "samples.parquet"
    content = bytearray(samples.read_bytes())
    content[100] ^= 1
    samples.write_bytes(content)
    with pytest.raises(ResultError, match="one was changed, or the run was killed"):
        tenbin.load_run(tmp_path / "r.json")


class Killed(BaseException):
    """Stands for a process that is gone."""


@pytest.mark.parametrize("done", [1, 2, 3])
def test_a_kill_between_two_names_is_seen_and_repaired(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, done: int
) -> None:
    """The samples get their name first, then run.yaml, result.json and the user's own file."""
    path = tmp_path / "r.json"
    options = {"tasks": ["mlogiqa_gen_ja"], "limit": 2, "no_cache": True}
    evaluate(path, ScriptedBackend(texts=lambda prompt: "A", fingerprint="one"), **options)
    count, rename = 0, Path.replace

    def replace(self: Path, target: Any) -> Path:
        nonlocal count
        if Path(target).name in ("samples.parquet", "run.yaml", "result.json", "r.json"):
            if count == done:
                raise Killed
            count += 1
        return rename(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", replace)
        second = ScriptedBackend(texts=lambda prompt: "B", fingerprint="one")
        with pytest.raises(Killed):
            evaluate(path, second, **options)
    with pytest.raises(ResultError, match="not of one run") as error:
        tenbin.load_run(path)
    assert "run the same command again" in error.value.hint
    third = evaluate(path, ScriptedBackend(texts=lambda p: "B", fingerprint="one"), **options)
    stored = tenbin.load_run(path)
    assert stored.scores == third.scores and stored.samples[0]["generated"] == "B"


def test_a_first_run_that_was_killed_between_two_names(tmp_path: Path) -> None:
    evaluate(tmp_path / "r.json")
    (tmp_path / "r.run" / "result.json").unlink()
    with pytest.raises(ResultError, match=r"samples.parquet is there and result.json is not"):
        read_run(tmp_path / "r.run")
    with pytest.raises(ResultError, match="no stored run there"):
        read_run(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"schema_version": 4}, "has schema version 4, and this tenbin knows those up to 3"),
        ({"schema_version": "3"}, "its schema_version is '3'"),
        ({"schema_version": True}, "its schema_version is True"),
        ({"schema_version": 0}, "its schema_version is 0"),
    ],
)
def test_newer_and_unknown_shapes_are_one_clear_error(
    tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    evaluate(tmp_path / "r.json")
    file = tmp_path / "r.run" / "result.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **change}))
    with pytest.raises(ResultError, match=said):
        tenbin.load_run(tmp_path / "r.run")


@pytest.mark.parametrize("content", ["", "[]", "null", "7", '{"a": ', "[" * 100_000])
def test_what_is_no_result_is_one_clear_error(tmp_path: Path, content: str) -> None:
    (tmp_path / "result.json").write_text(content)
    with pytest.raises(ResultError, match=r"result\.json"):
        read_run(tmp_path)


@pytest.mark.parametrize("shape", [1, 2])
def test_earlier_shapes_are_still_read(tmp_path: Path, shape: int) -> None:
    evaluate(tmp_path / "r.json")
    folder = tmp_path / "r.run"
    document = json.loads((folder / "result.json").read_text())
    for name in ("run_id", "samples", "partial"):
        del document[name]
    document["schema_version"] = shape
    for file in (folder / "result.json", tmp_path / "r.json"):
        file.write_text(json.dumps(document))
    assert len(tenbin.load_run(tmp_path / "r.json").samples) == 4
    evaluate(tmp_path / "r.json")  # the same settings: it is replaced by the same run


def test_listing_reads_no_samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    evaluate(tmp_path / "r.json")

    def fail(*arguments: object) -> str:
        raise AssertionError("the samples were hashed")

    monkeypatch.setattr("tenbin.results.read.samples_digest", fail)
    assert read_run(tmp_path / "r.json").document["results"]


def test_files_get_their_names_in_the_documented_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []

    def noted(path: Path) -> Any:
        order.append(path.name)
        return atomic_file(path)

    monkeypatch.setattr(write, "atomic_file", noted)
    evaluate(tmp_path / "r.json")
    assert order[::-1] == ["samples.parquet", "run.yaml", "result.json", "r.json"]


def test_a_result_alone_has_scores_and_no_samples(tmp_path: Path) -> None:
    """Somebody sent the file without its folder, under a name of its own."""
    evaluate(tmp_path / "r.json")
    alone = tmp_path / "sent.json"
    alone.write_bytes((tmp_path / "r.json").read_bytes())
    found = read_run(alone)
    assert found.result == read_run(tmp_path / "r.json").result
    with pytest.raises(ResultError, match="samples are missing"):
        list(found.samples())
    alone.write_text(alone.read_text()[:200])
    with pytest.raises(ResultError, match=r"sent\.json: cannot be read"):
        read_run(alone)
