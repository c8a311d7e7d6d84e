"""Whole runs on a real cluster of two nodes: the number of workers changes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tenbin.errors import BackendError, ConfigError
from tests.backends.ray.runs import lasting, run, samples


def test_one_and_four_workers_give_the_same_result(cluster: Any, tmp_path: Path) -> None:
    found = {}
    for workers in (None, 1, 4):
        folder = tmp_path / f"of-{workers}"
        found[workers] = lasting(run(cluster, folder, model="scripted", workers=workers))
        assert samples(folder) == samples(tmp_path / "of-None")
    assert found[1] == found[4]
    # Without workers too, but for the shards that there are none of.
    assert {k: v for k, v in found[None].items() if k != "config"} == {
        k: v for k, v in found[4].items() if k != "config"
    }


def test_what_is_not_finite_fails_on_workers_too(cluster: Any, tmp_path: Path) -> None:
    found = {}
    for workers in (None, 2):
        folder = tmp_path / f"of-{workers}"
        arguments = {"not_finite": "山"}
        document = run(cluster, folder, model="scripted", model_args=arguments, workers=workers)
        found[workers] = document["failures"]
    kinds = {reason.split(":")[0] for reasons in found[2].values() for reason in reasons}
    assert kinds == {"not_finite"} and found[None] == found[2]


def test_a_model_gives_the_same_bits_on_one_and_four_workers(
    cluster: Any, tmp_path: Path, small_model: Path
) -> None:
    found = {}
    options = {
        "model": "hf",
        "model_args": {"pretrained": str(small_model)},
        "dtype": "float32",
        "num_fewshot": [1, 0, 0],
        "limit": [12, 6, 3],
        "gen_kwargs": "max_gen_toks=8,temperature=0.8",
        "repeats": 2,
    }
    for workers in (1, 4):
        folder = tmp_path / f"of-{workers}"
        document = run(cluster, folder, workers=workers, **options)
        assert document["scale"]["workers"] == workers
        assert document["scale"]["differing"] == []
        assert document["engine"]["mode"] == "packed tree"
        assert document["engine"]["generation"] == "own loop, shared prefix, drafts"
        found[workers] = lasting(document)
    assert found[1] == found[4]
    one, four = (samples(tmp_path / f"of-{workers}") for workers in (1, 4))
    # To the last bit: log-likelihoods are compared as they are.
    assert one == four
    assert any(row["logprobs"] for row in one) and any(row["samples"] for row in one)


def test_nothing_is_asked_where_all_is_known(cluster: Any, tmp_path: Path) -> None:
    first = run(cluster, tmp_path, model="scripted", workers=2)
    again = run(cluster, tmp_path, model="scripted", workers=2)
    assert again["scale"]["shards_answered"] == 0 and again["answers_from_journal"] > 0
    assert lasting(again) == lasting(first)


def test_answers_of_one_process_serve_workers_too(cluster: Any, tmp_path: Path) -> None:
    """The journal is the wrapped backend's: a run that began alone goes on with workers."""
    with pytest.raises(BackendError, match="script ends"):
        run(cluster, tmp_path, model="scripted", model_args="raise_after=20", workers=None)
    document = run(cluster, tmp_path, model="scripted", workers=2)
    assert document["answers_from_journal"] == 20


def test_a_model_that_is_not_there(cluster: Any, tmp_path: Path) -> None:
    with pytest.raises(BackendError, match="nowhere"):
        run(cluster, tmp_path, model="hf", model_args=f"pretrained={tmp_path}/nowhere", workers=2)


def test_no_cluster_at_this_address(tmp_path: Path) -> None:
    from tenbin.backends.ray.cluster import join_cluster

    with pytest.raises(BackendError, match=r"no Ray cluster answers at 127\.0\.0\.1:9"):
        join_cluster("127.0.0.1:9", 1)


def test_a_backend_that_is_open_has_no_workers() -> None:
    import tenbin
    from tenbin.backends.scripted import ScriptedBackend

    with pytest.raises(ConfigError, match="open already"):
        tenbin.evaluate(ScriptedBackend(), ["jnli"], sample_data=True, workers=2)


def test_what_a_worker_takes_needs_workers() -> None:
    import tenbin

    with pytest.raises(ConfigError, match="and there are none"):
        tenbin.evaluate("scripted", ["jnli"], sample_data=True, num_gpus=0.5)
