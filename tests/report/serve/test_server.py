"""The server: what it gives, whom it refuses, and that it changes nothing."""

from __future__ import annotations

import http.client
import json
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from tenbin.errors import ConfigError
from tenbin.report.serve.access import Access, is_loopback
from tenbin.report.serve.server import Server
from tenbin.results.progress import write_progress
from tests.report.made_run import choice_run


def serve(root: Path, **options: object) -> Iterator[Server]:
    settings = {"host": "127.0.0.1", "port": 0, "token": None, **options}
    server = Server(root, **settings)  # type: ignore[arg-type]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    root = tmp_path / "runs"
    choice_run(root / "first", 30)
    choice_run(root / "below" / "second.run", 20)
    (root / "notes").mkdir()
    (root / "broken").mkdir()
    (root / "broken" / "result.json").write_text("{")
    return root


@pytest.fixture
def server(runs: Path) -> Iterator[Server]:
    yield from serve(runs)


def ask(
    server: Server, path: str, method: str = "GET", **headers: str
) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.access.port, timeout=30)
    connection.request(method, path, headers={k.replace("_", "-"): v for k, v in headers.items()})
    response = connection.getresponse()
    found = response.status, dict(response.getheaders()), response.read()
    connection.close()
    return found


def test_runs_are_listed(server: Server, runs: Path) -> None:
    _, headers, body = ask(server, "/runs.json")
    listed = {run["name"]: run for run in json.loads(body)["runs"]}
    assert set(listed) == {"first", "below/second.run", "broken"}
    assert listed["broken"]["state"] == "damaged"
    assert listed["broken"]["reason"] == "result.json is not valid JSON"
    assert listed["first"]["documents"] == 30
    assert headers["Content-Type"] == "application/json"


def test_a_run_that_goes_on_is_listed_with_its_scores(server: Server, runs: Path) -> None:
    folder = runs / "going"
    folder.mkdir()
    progress = {"state": "asking", "model": "m", "started": "2026-01-01T00:00:00+00:00",
                "updated": "2026-01-01T00:00:00+00:00", "requests": 10, "answered": 4,
                "cells": [{"id": "made", "answered": 4, "scores": {}}]}  # fmt: skip
    write_progress(folder, progress)
    listed = {run["name"]: run for run in json.loads(ask(server, "/runs.json")[2])["runs"]}
    assert listed["going"]["answered"] == 4 and listed["going"]["cells"]
    assert listed["going"]["state"] == "silent", "the last news is long ago"


def test_a_report_and_its_blocks(server: Server) -> None:
    status, headers, body = ask(server, f"/report?run={quote('below/second.run')}&run=first")
    assert status == 200
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
    text = body.decode()
    place = json.loads(text.split('id="place">')[1].split("</script>")[0])
    summary = json.loads(text.split('id="summary">')[1].split("</script>")[0])
    assert [run["folder"] for run in summary["runs"]] == ["second", "first"]
    number = summary["runs"][0]["cells"][0]["samples"]["blocks"][0][0]
    status, headers, block = ask(server, f"{place['path']}{number}")
    assert status == 200 and len(json.loads(zlib.decompress(block))) == 20
    assert ask(server, f"{place['path']}99999")[0] == 404
    assert ask(server, "/blocks/unknown/0")[0] == 404


@pytest.mark.parametrize(
    "path",
    [
        "/report", "/report?run=..", "/report?run=../../etc", "/report?run=/etc/passwd",
        "/report?run=first/../first", "/report?run=notes", "/etc/passwd",
        "/../../etc/passwd", "/blocks/../runs.json/1", "/blocks/x/-1", "/blocks/x/１",
    ],
)  # fmt: skip
def test_nothing_else_can_be_reached(server: Server, path: str) -> None:
    status, headers, body = ask(server, quote(path, safe="/?=&."))
    assert status == 404 and b"root:" not in body
    assert headers["X-Content-Type-Options"] == "nosniff"


def test_links_out_of_the_folder_are_not_followed(runs: Path, tmp_path: Path) -> None:
    choice_run(tmp_path / "outside", 3)
    (runs / "link").symlink_to(tmp_path / "outside")
    for server in serve(runs):
        assert b"link" not in ask(server, "/runs.json")[2]
        assert ask(server, "/report?run=link")[0] == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_nothing_can_be_changed(server: Server, method: str) -> None:
    assert ask(server, "/runs.json", method)[0] == 405


def test_every_answer_carries_its_headers(server: Server) -> None:
    for path in ("/", "/runs.json", "/nowhere"):
        _, headers, _ = ask(server, path)
        assert headers["X-Frame-Options"] == "DENY"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert headers["Cache-Control"] == "no-store"
        assert "Access-Control-Allow-Origin" not in headers
    assert ask(server, "/", "HEAD")[2] == b""


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", ""])
def test_a_page_of_another_name_cannot_rebind_to_it(server: Server, host: str) -> None:
    assert ask(server, "/runs.json", Host=host)[0] == 421
    port = server.access.port
    for own in (f"localhost:{port}", f"127.0.0.1:{port}", f"[::1]:{port}"):
        assert ask(server, "/runs.json", Host=own)[0] == 200


def test_a_token_opens_the_server(runs: Path) -> None:
    lines: list[str] = []
    for server in serve(runs, token="secret-token", log=lines.append):
        assert server.address.endswith("?token=secret-token")
        assert ask(server, "/runs.json")[0] == 403
        assert ask(server, "/runs.json?token=wrong")[0] == 403
        status, headers, _ = ask(server, "/?token=secret-token")
        assert status == 303 and headers["Location"] == "/"
        cookie = headers["Set-Cookie"]
        assert "HttpOnly" in cookie and "SameSite=Strict" in cookie
        assert ask(server, "/runs.json", Cookie=cookie.split(";")[0])[0] == 200
        assert ask(server, "/runs.json", Cookie="tenbin_token=other")[0] == 403
    assert lines and not [line for line in lines if "secret-token" in line]


def test_loopback_is_known() -> None:
    assert all(map(is_loopback, ["localhost", "127.0.0.1", "127.1.2.3", "::1"]))
    assert not any(map(is_loopback, ["0.0.0.0", "::", "192.168.1.2", "example.org", ""]))
    assert Access("192.168.1.2", 1, "t").allows_host("anything")


def test_faults_are_told(tmp_path: Path, runs: Path, server: Server) -> None:
    with pytest.raises(ConfigError, match="no such folder"):
        Server(tmp_path / "nowhere", "127.0.0.1", 0, None)
    with pytest.raises(ConfigError, match="cannot serve"):
        Server(runs, "127.0.0.1", server.access.port, None)
    for port in (-1, 65_536):
        with pytest.raises(ConfigError, match="ports are 0 to 65535"):
            Server(runs, "127.0.0.1", port, None)
