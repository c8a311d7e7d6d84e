"""The pages beside the code: links lead somewhere, and the two READMEs say the same."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "tenbin"
PAGES = sorted(
    page for pattern in ("*.md", "docs/**/*.md", "benchmarks/*.md") for page in ROOT.glob(pattern)
)


def written(page: Path) -> str:
    """A page without its blocks of code."""
    return re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)


def anchors(page: Path) -> set[str]:
    """What headings are called in links."""
    headings = re.findall(r"^#+ (.*)$", written(page), flags=re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", heading.strip().lower()) for heading in headings)
    return {heading.replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    lost = []
    for link in re.findall(r"\]\(([^)\s]+)\)", written(page)):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            lost.append(link)
    assert lost == []


def test_both_readmes_know_the_same_flags_extras_and_tests() -> None:
    english, japanese = (
        (ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "README.ja.md")
    )
    for pattern in (r"--[a-z_]{3,}", r"\.\[[a-z]+\]", r"docs/[\w-]+\.md", r"`tests/[\w/]+"):
        assert set(re.findall(pattern, english)) == set(re.findall(pattern, japanese))
    headings = [len(re.findall(r"^#+ ", text, flags=re.MULTILINE)) for text in (english, japanese)]
    assert headings[0] == headings[1]


def named_tests() -> list[str]:
    """Tests that the pages on security and reliability rest on."""
    pages = [ROOT / "SECURITY.md", ROOT / "docs" / "reliability.md"]
    found = {name for page in pages for name in re.findall(r"`(tests/[^`]+)`", written(page))}
    return sorted(found)


@pytest.mark.parametrize("name", named_tests())
def test_tests_that_promises_rest_on_are_there(name: str) -> None:
    path, _, function = name.partition("::")
    assert (ROOT / path).exists()
    if function:
        assert f"def {function}(" in (ROOT / path).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["README.md", "README.ja.md"])
def test_a_readme_is_short(name: str) -> None:
    assert len((ROOT / name).read_text(encoding="utf-8").splitlines()) <= 150


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    """Strict: links, anchors, pages outside the navigation, names in the API reference."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    assert "evaluate" in (tmp_path / "api" / "index.html").read_text(encoding="utf-8")


def test_files_that_the_tour_names_are_there() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:[a-z_]+/)+(?:[a-z_0-9]+\.[a-z]+)?)`", text))
    named.discard("site/")  # made by `make docs`
    assert len(named) > 40
    named.discard("site/")  # `make docs` writes it
    lost = [name for name in named if not any((root / name).exists() for root in (ROOT, SOURCE))]
    assert sorted(lost) == []
