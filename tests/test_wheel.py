"""The wheel: everything that a checkout has under src/tenbin, and nothing else."""

from __future__ import annotations

import email
import subprocess
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """Built as pip builds it, with the hatchling that is installed here."""
    from hatchling.builders.wheel import WheelBuilder

    folder = tmp_path_factory.mktemp("wheel")
    (built,) = WheelBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"])
    return zipfile.ZipFile(built)


def test_the_wheel_holds_what_the_checkout_holds(wheel: zipfile.ZipFile) -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "src/tenbin"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.split("\0")  # fmt: skip
    expected = {name.removeprefix("src/") for name in listed if name and (ROOT / name).exists()}
    found = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert found == expected
    assert {"tenbin/py.typed", "tenbin/catalog/tasks/jnli.yaml"} < found
    for folder in ("tenbin/catalog/sample_data/", "tenbin/report/html/assets/"):
        assert any(name.startswith(folder) for name in found)


def test_the_metadata_names_the_command_the_licence_and_the_extras(wheel: zipfile.ZipFile) -> None:
    (info,) = {name.partition("/")[0] for name in wheel.namelist() if ".dist-info/" in name}
    metadata = email.message_from_bytes(wheel.read(f"{info}/METADATA"))
    assert metadata["Name"] == "tenbin" and metadata["License-Expression"] == "Apache-2.0"
    assert {"hf", "vllm", "ray", "report", "wandb", "mlflow"} <= set(
        metadata.get_all("Provides-Extra") or ()
    )
    assert b"tenbin = tenbin.cli.process:run" in wheel.read(f"{info}/entry_points.txt")
    assert f"{info}/licenses/LICENSE" in wheel.namelist()


def test_a_light_install_wants_no_torch(wheel: zipfile.ZipFile) -> None:
    (name,) = (one for one in wheel.namelist() if one.endswith(".dist-info/METADATA"))
    wanted = email.message_from_bytes(wheel.read(name)).get_all("Requires-Dist") or []
    light = [one for one in wanted if "extra ==" not in one]
    assert light and not any(one.startswith(("torch", "transformers", "vllm")) for one in light)
