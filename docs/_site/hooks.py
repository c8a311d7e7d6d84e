"""MkDocs hooks: the pages at the repository's root become pages of the site.

The files stay where GitHub and pip look for them. Links between them and the pages in docs/ are
written for the repository and rewritten here, so that every link works in both places.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
PAGES = {
    "README.md": "index.md",
    "README.ja.md": "index.ja.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "benchmarks/README.md": "benchmarks.md",
}
"""Path in the repository → path in the site."""
_LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)\s#]+)(#[^)\s]*)?(?=\))")


def on_files(files: Files, config: Any, **_: Any) -> Files:
    """Add the root pages, and list every decision and every task in the navigation."""
    for source, target in PAGES.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, target, content=_rewrite(text, source)))
    decisions = sorted(path.name for path in (ROOT / "docs" / "decisions").glob("0*.md"))
    tasks = sorted(path.name for path in (ROOT / "docs" / "tasks").glob("*.md"))
    expanded = {
        "decisions/": ["decisions/README.md", *(f"decisions/{name}" for name in decisions)],
        "tasks/": [f"tasks/{name}" for name in tasks],
    }
    _expand(config.nav, expanded)
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Rewrite links that lead out of docs/."""
    source = page.file.src_uri
    if source in PAGES.values():
        return markdown
    return _rewrite(markdown, f"docs/{source}")


def _expand(nav: list[Any], pages: dict[str, list[str]]) -> None:
    """Replace entries such as `Decisions: decisions/` by one entry per page."""
    for entry in nav:
        for title, value in entry.items() if isinstance(entry, dict) else ():
            if isinstance(value, str) and value in pages:
                entry[title] = pages[value]
            elif isinstance(value, list):
                _expand(value, pages)


def _rewrite(text: str, source: str) -> str:
    """Turn links relative to a file of the repository into links relative to its page."""
    page = PAGES.get(source, source.removeprefix("docs/"))

    def target(match: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), match.group(1)))
        anchor = match.group(2) or ""
        if path in PAGES:
            found = PAGES[path]
        elif path == "docs/decisions":
            found = "decisions/README.md"
        elif path.startswith("docs/"):
            found = path.removeprefix("docs/")
        else:
            return match.group(0)
        return posixpath.relpath(found, posixpath.dirname(page) or ".") + anchor

    plain = _unlink(text, source)
    return _LINK.sub(target, plain)


def _unlink(text: str, source: str) -> str:
    """Keep the words of links to files outside the site, such as source files, without the link."""

    def words(match: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), match.group(2)))
        known = path in PAGES or path.startswith("docs/")
        return match.group(0) if known else match.group(1)

    return re.sub(r"(?<!!)\[([^\]]+)\]\((?![a-z]+:|#)([^)\s#]+)(?:#[^)\s]*)?\)", words, text)
