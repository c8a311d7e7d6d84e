"""Assembles the HTML of a page, under a content security policy that allows our script only.

The policy names script and style by their hashes, forbids connections, and makes the browser refuse
any text that would be parsed as HTML (trusted types). Data are embedded as JSON and as base64 in
inert elements.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

from tenbin.analysis.document import to_json
from tenbin.report.html.messages import messages
from tenbin.report.html.model import PageSummary
from tenbin.report.html.sample_blocks import Blocks

_STYLES = (
    "page.css",
    "tables.css",
    "scores.css",
    "samples.css",
    "compare.css",
    "curve.css",
    "leaderboard.css",
)
_IMPORT = re.compile(r'^import [^;]*"\./([\w.]+)";', re.M)
_MODULE_KEYWORDS = re.compile(r"^import [^;]*;\n|^export (?=function|class|const|async|let)", re.M)


@dataclass(frozen=True, slots=True)
class Page:
    """A page that is not written yet."""

    title: str
    summary: PageSummary
    blocks: Blocks
    language: str = "en"


@dataclass(frozen=True, slots=True)
class Place:
    """Where the page finds its blocks: in itself, in a folder beside it, or on a server."""

    kind: str = "inside"
    """`inside`, `folder` or `server`."""
    path: str = ""
    """The folder's name, or the address before a block's number."""
    nonce: str = ""
    """Allows the scripts in the folder, which hold one block each; new for each page."""


@lru_cache
def _asset(name: str) -> str:
    return (files("tenbin.report.html") / "assets" / name).read_text(encoding="utf-8")


@lru_cache
def script() -> str:
    """Return our JavaScript modules, concatenated in one scope."""
    bodies = [_MODULE_KEYWORDS.sub("", _asset(name)) for name in _modules("main.js", {})]
    return '"use strict";\n(() => {\n' + "\n".join(bodies) + "\n})();\n"


def _modules(name: str, found: dict[str, None]) -> dict[str, None]:
    """A module after all that it imports; a value at the top of one may use another's."""
    found[name] = None
    for imported in _IMPORT.findall(_asset(name)):
        if imported not in found:
            _modules(imported, found)
    found[name] = found.pop(name)
    return found


@lru_cache
def style() -> str:
    """Return our style sheets, concatenated."""
    return "\n".join(_asset(name) for name in _STYLES)


def content_policy(place: Place) -> str:
    """Return the content security policy: only our script, our style and our images."""
    scripts = f"'sha256-{_digest(script())}'"
    types = "'none'"
    if place.kind == "folder":
        # A policy in our script names the folder's files, from block numbers only.
        scripts, types = f"{scripts} 'nonce-{place.nonce}'", "tenbin-blocks"
    connections = "'self'" if place.kind == "server" else "'none'"
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {scripts}",
            f"style-src 'sha256-{_digest(style())}'",
            "img-src data:",
            f"connect-src {connections}",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            f"trusted-types {types}",
        )
    )


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def page_text(page: Page, place: Place) -> Iterator[str]:
    """Yield the HTML in pieces, so that a large page is not held in memory twice."""
    known = messages(page.language)
    settings = {"kind": place.kind, "path": place.path, "nonce": place.nonce}
    yield (
        f'<!doctype html>\n<html lang="{html.escape(page.language)}">\n<head>\n'
        '<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{content_policy(place)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{html.escape(page.title)}</title>\n"
        f"<style>{style()}</style>\n</head>\n<body>\n"
        f'<div id="page"><p class="waiting">{html.escape(known["opening"])}</p></div>\n'
        f"<noscript><p>{html.escape(known['needs_script'])}</p></noscript>\n"
    )
    yield _inert("messages", "application/json", _safe_json(known))
    yield _inert("place", "application/json", _safe_json(settings))
    yield _inert("summary", "application/json", _safe_json(to_json(page.summary)))
    if place.kind == "inside":
        for number in range(len(page.blocks)):
            text = base64.b64encode(page.blocks[number]).decode()
            yield _inert(f"block-{number}", "application/octet-stream", text)
    yield f"<script>{script()}</script>\n</body>\n</html>\n"


def _inert(id: str, kind: str, text: str) -> str:
    """Return data in an element that browsers neither run nor show."""
    return f'<script type="{kind}" id="{id}">{text}</script>\n'


def _safe_json(value: Any) -> str:
    """Return JSON without characters that HTML could read as markup."""
    written = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for mark in "<>&\u2028\u2029":
        written = written.replace(mark, f"\\u{ord(mark):04x}")
    return written
