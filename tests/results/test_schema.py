"""The schema of stored runs: what it declares, what is written, and what older files lack."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import tenbin
from tenbin.cli import main
from tenbin.results.folder import RunFolder
from tenbin.results.migrate import migrate
from tenbin.results.read import parse_result, read_run
from tenbin.results.schema import Sample
from tenbin.results.schema.json_schema import SCHEMAS, json_schema
from tenbin.results.write import write_run
from tests.conftest import ROOT
from tests.results.made_result import DETAIL, cell_config, made_result

RESULT = Path("result.json")


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_committed_schema_is_the_one_of_the_code(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["schema", name]) == 0
    printed = capsys.readouterr().out
    committed = (ROOT / "docs" / "schema" / f"{name}.schema.json").read_text(encoding="utf-8")
    assert printed == committed, f"tenbin schema {name} > docs/schema/{name}.schema.json"


def described(schema: Any, where: str = "") -> Iterator[tuple[str, bool]]:
    for part, found in {"": schema, **schema.get("$defs", {})}.items():
        for name, entry in found["properties"].items():
            yield f"{where}{part}.{name}", bool(entry.get("description"))


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_field_is_described(name: str) -> None:
    found = dict(described(json_schema(name)))
    assert len(found) > 40
    assert [field for field, has_text in found.items() if not has_text] == []


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("run") / "result.json"
    tenbin.evaluate(
        "scripted",
        "jnli,mlogiqa_gen",
        sample_data=True,
        limit=2,
        no_cache=True,
        gen_kwargs="temperature=0.5",
        output_path=str(path),
    )
    return path


def test_a_file_is_read_and_written_without_a_change(stored: Path) -> None:
    text = stored.read_text(encoding="utf-8")
    result = read_run(stored).result
    assert json.dumps(result.to_json(), ensure_ascii=False, indent=2) + "\n" == text


def test_samples_have_the_columns_of_the_record(stored: Path) -> None:
    import pyarrow.parquet as pq

    names = pq.read_schema(stored.with_suffix(".run") / "samples.parquet").names
    assert names == [field.name for field in fields(Sample)]
    assert names == list(json_schema("samples")["properties"])


def test_only_the_columns_that_are_asked_for_are_read(stored: Path) -> None:
    (sample, *_) = read_run(stored).samples(["gold"])
    assert sample.gold is not None and sample.outcomes and sample.document
    assert sample.prompt is None and sample.continuations is None


def test_keys_of_a_later_version_are_kept(stored: Path) -> None:
    document = json.loads(stored.read_text(encoding="utf-8"))
    document["later"] = {"a": 1}
    document["configs"]["jnli-1.3-0.2"]["later"] = [1, 2]
    assert parse_result(document, RESULT).to_json() == document


def test_a_key_that_the_schema_does_not_declare_is_not_written(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path, tmp_path / "result.json")
    config = cell_config(colour="red")
    with pytest.raises(AssertionError, match=r"result.configs.jnli.colour"):
        write_run(folder, made_result({"jnli": config}), [], {})
    assert list(tmp_path.iterdir()) == []


def test_an_absent_key_and_null_are_different() -> None:
    result = made_result({"jnli": cell_config(parallel=None)})
    (config,) = result.configs.values()
    assert config.states("parallel") and not config.states("choices_by")
    assert config.parallel is None and config.choices_by is None
    assert "parallel" in config.to_json() and "choices_by" not in config.to_json()


def old_document(**detail: Any) -> dict[str, Any]:
    document = made_result({"jnli": cell_config()}).to_json()
    entry = {name: value for name, value in DETAIL.items() if name != "aggregation"}
    return {**document, "details": {"jnli": {"acc": {**entry, **detail}}}}


def test_version_1_says_its_means_by_their_errors() -> None:
    document = {**old_document(stderr_method="analytic"), "schema_version": 1}
    before = json.dumps(document)
    migrated = migrate(document, 1)
    assert json.dumps(document) == before, "nothing is changed in place"
    assert migrated["schema_version"] == 3 and migrated["partial"] is False
    assert parse_result(document, RESULT).details["jnli"]["acc"].aggregation == "mean"


def test_version_1_names_other_scores_as_their_metric() -> None:
    document = {**old_document(stderr_method="bootstrap"), "schema_version": 1}
    document["details"]["jnli"] = {"mcc": document["details"]["jnli"]["acc"]}
    assert migrate(document, 1)["details"]["jnli"]["mcc"]["aggregation"] == "mcc"


def test_version_2_keeps_what_it_says() -> None:
    document = {**old_document(aggregation="macro_f1"), "schema_version": 2}
    migrated = migrate(document, 2)
    assert migrated["details"] == document["details"]
    assert {name for name in migrated if name not in document} == {"partial"}


@pytest.mark.parametrize("damaged", [None, [], "x", {"jnli": None}, {"jnli": {"acc": 5}}])
def test_a_damaged_document_passes_the_migration(damaged: Any) -> None:
    migrated = migrate({"schema_version": 1, "details": damaged}, 1)
    assert migrated["details"] == damaged
