"""Many models side by side on one cluster: each as it would be alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from tenbin.cli import main
from tests.backends.ray.runs import lasting


def test_models_share_a_cluster(cluster: Any, tmp_path: Path) -> None:
    names = [f"m{number}" for number in range(2)]
    content = {
        "tasks": "jnli-1.3-*",
        "sample_data": True,
        "model": "scripted",
        "workers": 2,
        "shard_size": 8,
        "ray_address": cluster.address,
        "models": [
            {"name": name, "model_args": {"fingerprint": name, "delay": 0.01}} for name in names
        ]
        + [{"name": "broken", "model_args": {"fingerprint": "b", "raise_after": 5}}],
    }
    found: dict[str, dict[str, Any]] = {}
    for way in ("side_by_side", "alone"):
        if way == "alone":
            # In this process, one after the other.
            for key in ("workers", "shard_size", "ray_address"):
                content.pop(key)
        file = tmp_path / f"{way}.yaml"
        places = {"output_path": str(tmp_path / way), "cache_dir": str(tmp_path / f"{way}-cache")}
        file.write_text(yaml.safe_dump({**content, **places}), encoding="utf-8")
        assert main(["run", "--config", str(file)]) == 4, "one of them fails"
        written = {one.stem: one for one in (tmp_path / way).glob("*.json")}
        assert set(written) == set(names)
        found[way] = {name: json.loads(one.read_text()) for name, one in written.items()}
    for name in names:
        shared, alone = (lasting(found[way][name]) for way in ("side_by_side", "alone"))
        shared["config"].pop("shard_size"), alone["config"].pop("shard_size")
        assert shared == alone
        assert found["side_by_side"][name]["scale"]["workers"] == 2
