"""All parts → one HTML page, under a policy that lets nothing but our own script run.

The policy names the script and the style by their hashes, forbids every connection, and asks the
browser to refuse any text that would be parsed as HTML (trusted types). Data travel as JSON and as
base64 inside inert elements. Knows nothing of scores.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

from tenbin.report.html.messages import messages
from tenbin.report.html.sample_blocks import Blocks

_SCRIPTS = (
    "elements.js",
    "numbers.js",
    "blocks.js",
    "cells.js",
    "table.js",
    "figure.js",
    "rows.js",
    "prompt.js",
    "answer.js",
    "choices.js",
    "overview.js",
    "templates.js",
    "languages.js",
    "compare.js",
    "samples.js",
    "details.js",
    "live.js",
    "main.js",
)
_STYLES = ("page.css", "tables.css", "samples.css")
_MODULE_WORDS = re.compile(r"^import [^;]*;\n|^export (?=function|class|const|async|let)", re.M)


@dataclass(frozen=True, slots=True)
class Page:
    """What a page is made of."""

    title: str
    summary: Mapping[str, Any]
    blocks: Blocks
    language: str = "en"


@dataclass(frozen=True, slots=True)
class Place:
    """Where the page finds its blocks: in itself, in a folder beside it, or at a server."""

    kind: str = "inside"
    """`inside`, `folder` or `server`."""
    path: str = ""
    """The folder's name, or the address before a block's number."""
    nonce: str = ""
    """Lets scripts of the folder run, which hold a block each; made anew for each page."""


@lru_cache
def _asset(name: str) -> str:
    return (files("tenbin.report.html") / "assets" / name).read_text(encoding="utf-8")


@lru_cache
def script() -> str:
    """Our modules, one after the other in one scope."""
    bodies = [_MODULE_WORDS.sub("", _asset(name)) for name in _SCRIPTS]
    return '"use strict";\n(() => {\n' + "\n".join(bodies) + "\n})();\n"


@lru_cache
def style() -> str:
    """Our style sheets, one after the other."""
    return "\n".join(_asset(name) for name in _STYLES)


def content_policy(place: Place) -> str:
    """What the browser may do for a page: run our script, use our style, show our pictures."""
    scripts = f"'sha256-{_digest(script())}'"
    types = "'none'"
    if place.kind == "folder":
        # Files of the folder are named by a policy in our script that takes block numbers only.
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
    """The page, a piece at a time, so that a large one need not be held twice."""
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
    yield _inert("summary", "application/json", _safe_json(page.summary))
    if place.kind == "inside":
        for number in range(len(page.blocks)):
            text = base64.b64encode(page.blocks[number]).decode()
            yield _inert(f"block-{number}", "application/octet-stream", text)
    yield f"<script>{script()}</script>\n</body>\n</html>\n"


def _inert(id: str, kind: str, text: str) -> str:
    """Data in an element that browsers neither run nor show."""
    return f'<script type="{kind}" id="{id}">{text}</script>\n'


def _safe_json(value: Any) -> str:
    """JSON without a character that HTML could read as markup."""
    written = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for mark in "<>&\u2028\u2029":
        written = written.replace(mark, f"\\u{ord(mark):04x}")
    return written
