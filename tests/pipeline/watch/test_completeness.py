"""Folders that are half written are told from whole ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from tenbin.pipeline.watch.completeness import Listing, missing_part

from .made import weights, write_checkpoint


def test_a_whole_checkpoint_lacks_nothing(tmp_path: Path) -> None:
    assert missing_part(write_checkpoint(tmp_path / "one")) is None
    assert missing_part(write_checkpoint(tmp_path / "three", shards=3)) is None


def test_a_checkpoint_is_incomplete_after_every_file_but_the_last(tmp_path: Path) -> None:
    """Files appear in any order: it is whole with the last of them, and not before."""
    whole = write_checkpoint(tmp_path / "whole", shards=3)
    files = sorted(whole.iterdir())
    for order in (files, files[::-1], [files[1], files[0], *files[2:]]):
        folder = tmp_path / f"growing-{files.index(order[0])}-{files.index(order[1])}"
        folder.mkdir()
        lacked = []
        for file in order:
            (folder / file.name).write_bytes(file.read_bytes())
            lacked.append(missing_part(folder))
        assert all(lacked[:-1]) and lacked[-1] is None, lacked


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99])
def test_weights_that_are_cut_short_are_not_whole(tmp_path: Path, share: float) -> None:
    folder = write_checkpoint(tmp_path / "one")
    content = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(content[: int(share * len(content))])
    lacks = missing_part(folder)
    assert lacks is not None and "model.safetensors" in lacks


def test_words_for_what_is_missing(tmp_path: Path) -> None:
    folder = tmp_path / "one"
    folder.mkdir()
    assert missing_part(folder) == "no config.json yet"
    (folder / "config.json").write_text("{")
    assert missing_part(folder) == "no weights yet"
    (folder / "optimizer.pt").write_bytes(b"state")
    assert missing_part(folder) == "no weights yet"
    (folder / "model.safetensors").write_bytes(weights(1))
    assert str(missing_part(folder)).startswith("config.json is not JSON")
    (folder / "config.json").write_text("{}")
    assert missing_part(folder) is None
    (folder / "model-00002-of-00002.safetensors").write_bytes(weights(1))
    assert missing_part(folder) == (
        "weights are missing: model-00001-of-00002.safetensors, model.safetensors.index.json"
    )
    (folder / "model.safetensors.index.json").write_text('{"weight_map": ')
    assert missing_part(folder) == "its index of weights is not whole yet"


def test_an_adapter_is_whole_without_a_model(tmp_path: Path) -> None:
    folder = tmp_path / "adapter"
    folder.mkdir()
    (folder / "adapter_config.json").write_text('{"base_model_name_or_path": "base"}')
    assert missing_part(folder) == "no weights yet"
    (folder / "adapter_model.safetensors").write_bytes(weights(1))
    assert missing_part(folder) is None


def test_a_folder_that_is_gone_is_no_incomplete_one(tmp_path: Path) -> None:
    for function in (missing_part, Listing.of):
        with pytest.raises(FileNotFoundError):
            function(tmp_path / "gone")
