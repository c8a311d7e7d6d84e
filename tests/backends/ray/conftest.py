"""A real Ray cluster of two nodes on this machine's loopback, started once for all tests here."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.backends.tiny import make_model, make_tokenizer

pytest.importorskip("ray", reason="Ray is not installed: pip install 'tenbin[ray]'")

# Nodes take this over as they start. Ray binds to loopback alone where it is told that there are no
# other machines, as it is by default on some systems.
os.environ.update(
    RAY_USAGE_STATS_ENABLED="0",
    RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER="0",
    OMP_NUM_THREADS="1",
    OMP_WAIT_POLICY="PASSIVE",
    # Ray puts workers behind everything else that a machine does, tests included.
    RAY_worker_niceness="0",
)


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    """Two nodes, of two and of three logical CPUs."""
    import ray
    from ray.cluster_utils import Cluster

    options = {"object_store_memory": 100 << 20, "include_dashboard": False}
    options["include_log_monitor"] = False
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, **options})
    made.add_node(num_cpus=3, **options)
    made.wait_for_nodes()
    yield made
    ray.shutdown()
    made.shutdown()


@pytest.fixture(scope="session")
def small_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of random weights with a window that holds the sample prompts."""
    folder = tmp_path_factory.mktemp("model")
    tokenizer = make_tokenizer(add_bos=True)
    model = make_model("llama", len(tokenizer))
    model.config.max_position_embeddings = 4096
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
