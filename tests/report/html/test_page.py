"""The page's text: what data can do to it, and what its policy says."""

from __future__ import annotations

import base64
import hashlib
import inspect
import json
import re
from collections import Counter
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from typing import get_args

import pytest

from tenbin.errors import ConfigError, StorageError
from tenbin.metrics.extraction import explain
from tenbin.metrics.extraction.number_mentions import Role
from tenbin.metrics.extraction.numbers import FoundBy
from tenbin.metrics.extraction.stance import Stance
from tenbin.metrics.steps import FILTERS
from tenbin.report.html.messages import LANGUAGES, messages
from tenbin.report.html.model import PageSummary
from tenbin.report.html.page import Page, Place, content_policy, page_text, script, style
from tenbin.report.html.sample_blocks import Blocks
from tenbin.report.html.write import write_page

HOSTILE = "</script><script>alert(1)</script><!--<img src=x onerror=alert(2)>\u2028&lt;"


class _Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, str] = {}
        self._inside: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self._inside = dict(attrs).get("id") or tag

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.texts[self._inside] = self.texts.get(self._inside, "") + data

    def handle_endtag(self, tag: str) -> None:
        self._inside = None


def parse(page: Page, place: Place | None = None) -> _Elements:
    parser = _Elements()
    parser.feed("".join(page_text(page, place or Place())))
    return parser


def hostile_page() -> Page:
    blocks = Blocks()
    blocks.add([HOSTILE])
    return Page(HOSTILE, PageSummary("1", HOSTILE, comparison={HOSTILE: [HOSTILE]}), blocks)


def test_data_never_become_markup() -> None:
    found = parse(hostile_page())
    scripts = [attributes for tag, attributes in found.found if tag == "script"]
    assert [one.get("id") for one in scripts] == ["messages", "place", "summary", "block-0", None]
    assert not [tag for tag, _ in found.found if tag == "img"]
    assert found.texts["title"] == HOSTILE
    assert json.loads(found.texts["summary"])["title"] == HOSTILE


def test_the_policy_names_what_may_run() -> None:
    text = "".join(page_text(hostile_page(), Place()))
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy
    body = re.search(r"<script>(.*?)</script>\n</body>", text, re.DOTALL)
    sheet = re.search(r"<style>(.*?)</style>", text, re.DOTALL)
    assert body and sheet
    for content, directive in ((body[1], "script-src"), (sheet[1], "style-src")):
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}'" in policy[1]
    assert "default-src 'none'" in policy[1] and "connect-src 'none'" in policy[1]
    assert "unsafe" not in policy[1]


def test_only_a_server_is_asked_and_only_a_folder_is_loaded() -> None:
    assert "connect-src 'self'" in content_policy(Place("server", "/blocks/"))
    folder = content_policy(Place("folder", "report.blocks", "abc"))
    assert "'nonce-abc'" in folder and "connect-src 'none'" in folder


def test_our_script_uses_no_way_from_text_to_markup() -> None:
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
        assert word not in script().replace("Nothing in this program assigns innerHTML.", "")
    assert "</script" not in script() and "<!--" not in script()
    assert not re.search(r"^(import|export) ", script(), re.MULTILINE)
    assert "url(" not in style() and "@import" not in style()


def test_languages_say_the_same_things() -> None:
    english, japanese = (messages(language) for language in LANGUAGES)
    assert set(english) == set(japanese)
    for key in english:
        names = [set(re.findall(r"\{(\w+)\}", said[key])) for said in (english, japanese)]
        assert names[0] == names[1], key
    with pytest.raises(ConfigError, match="en and ja"):
        messages("fr")


def test_every_text_of_the_interface_is_known() -> None:
    used = set(re.findall(r'\bsay\(\s*"(\w+)"', script()))
    used |= {f"state_{name}" for name in ("right", "wrong", "partly", "failed", "measured")}
    used |= {f"view_{name}" for name in re.findall(r'\["(\w+)", \w+View\]', script())}
    read_in_parts = {"choice_letter_flexible"}
    used |= {f"step_{name}" for name in FILTERS if name not in read_in_parts}
    told = re.findall(r'ReadingStep\("([\w ]+)"', inspect.getsource(explain))
    told += [f"numbers by {way}" for way in get_args(FoundBy)]
    used |= {f"step_{name.replace(' ', '_')}" for name in told}
    used |= {f"standing_{one.name.lower()}" for one in (*Stance, *Role)}
    assert used > {"reveal", "view_overview"}
    assert not used - set(messages("en"))


def test_scripts_define_every_name_once() -> None:
    """They are joined into one: the later of two functions of one name would serve both callers."""
    folder = files("tenbin.report.html") / "assets"
    scripts = [
        one.read_text(encoding="utf-8") for one in folder.iterdir() if one.name.endswith(".js")
    ]
    names = [
        name
        for script in scripts
        for name in re.findall(
            r"^(?:export )?(?:async )?(?:function|const|let|class) (\w+)", script, re.M
        )
    ]
    assert names
    assert sorted(names) == sorted(set(names))


def test_assets_travel_with_the_package() -> None:
    names = {one.name for one in (files("tenbin.report.html") / "assets").iterdir()}
    assert {"main.js", "page.css", "messages.en.json", "messages.ja.json"} <= names


def test_large_pages_keep_their_blocks_beside_them(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    assert write_page(hostile_page(), path) is None
    inside = path.read_text(encoding="utf-8")
    folder = write_page(hostile_page(), path, largest=0)
    assert folder == tmp_path / "a.blocks"
    assert re.fullmatch(r'tenbinBlock\(0,"[\w+/=]+"\)\n', (folder / "0.js").read_text())
    beside = path.read_text(encoding="utf-8")
    assert 'id="block-0"' in inside and 'id="block-0"' not in beside
    assert not list(tmp_path.glob(".*")), "no partial file stays"


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot be written"):
        write_page(hostile_page(), tmp_path / "file" / "a.html")


def test_scripts_share_no_name() -> None:
    """All scripts are one scope: of two functions of one name, the first would be lost."""
    defined = re.findall(r"^(?:async )?(?:const|let|class|function) (\w+)", script(), re.M)
    assert len(defined) > 100
    assert [name for name, times in Counter(defined).items() if times > 1] == []
