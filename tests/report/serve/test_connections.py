"""Clients that send slowly, nothing, too much or nonsense: bounded, and others are answered."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tenbin.report.serve.request_limits import Limits
from tenbin.report.serve.server import Server
from tests.report.made_run import choice_run
from tests.report.serve.test_server import ask, serve

SHORT = Limits(seconds=0.3, connections=8)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("served") / "runs"
    choice_run(place / "first", 6)
    return place


@pytest.fixture
def server(root: Path) -> Iterator[Server]:
    yield from serve(root, limits=SHORT)


@pytest.fixture(scope="module")
def patient(root: Path) -> Iterator[Server]:
    yield from serve(root)


def connected(server: Server) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.access.port), timeout=60)


def rest(connection: socket.socket) -> bytes:
    """All that comes until the server ends the connection."""
    found = b""
    try:
        while piece := connection.recv(65_536):
            found += piece
    except ConnectionResetError:
        pass
    return found


def raw(server: Server, request: bytes) -> tuple[int, bytes]:
    """Status and everything that came, for a request of any bytes."""
    with connected(server) as connection:
        # The server may end the connection before all was sent.
        with suppress(OSError):
            connection.sendall(request)
            connection.shutdown(socket.SHUT_WR)
        found = rest(connection)
    return (int(found.split()[1]) if found else 0), found


def test_the_limits_are_those_that_the_documentation_names() -> None:
    assert Limits() == Limits(
        seconds=10.0, request_bytes=131_072, connections=64, part_bytes=262_144
    )


@pytest.mark.parametrize(
    "beginning",
    [b"", b"G", b"GET / HTTP/1.1\r\n", b"GET / HTTP/1.1\r\nHost: x\r\nX: ",
     b"POST / HTTP/1.1\r\nContent-Length: 99\r\n\r\n"],
    ids=["nothing", "a letter", "no headers", "half a header", "no body"],
)  # fmt: skip
def test_half_open_connections_end(server: Server, beginning: bytes) -> None:
    with connected(server) as connection:
        connection.sendall(beginning)
        rest(connection)  # comes to an end, or the test's own limit of 60 s does


def test_a_client_that_sends_a_byte_now_and_then_is_not_waited_for(server: Server) -> None:
    """Every byte comes before the limit on silence; the request as a whole does not."""
    with connected(server) as connection:
        connection.sendall(b"GET /runs.json HTTP/1.1\r\n")
        sent = 0
        try:
            for sent in range(600):
                connection.sendall(b"X: y\r\n"[sent % 6 : sent % 6 + 1])
                time.sleep(0.05)
        except OSError:
            pass
        assert sent < 599, "the server took 30 s of single bytes"
        assert rest(connection) == b""


def test_a_connection_kept_alive_ends_when_nothing_more_is_asked(server: Server) -> None:
    with connected(server) as connection:
        host = f"Host: 127.0.0.1:{server.access.port}\r\n\r\n".encode()
        for _ in range(3):
            connection.sendall(b"HEAD / HTTP/1.1\r\n" + host)
            assert connection.recv(65_536).startswith(b"HTTP/1.1 200")
        rest(connection)


def test_a_client_that_takes_no_answer_is_not_waited_for(root: Path) -> None:
    ended = threading.Event()

    def log(line: str) -> None:
        if "timed out" in line:
            ended.set()

    for server in serve(root, limits=Limits(seconds=0.3, part_bytes=1 << 20), log=log):
        with connected(server) as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            host = f"Host: 127.0.0.1:{server.access.port}\r\n\r\n".encode()
            # More than the buffers of both sides hold.
            connection.sendall((b"GET /report?run=first HTTP/1.1\r\n" + host) * 60)
            assert ended.wait(60)


def test_there_is_a_limit_on_connections(server: Server) -> None:
    before = threading.active_count()
    idle = [connected(server) for _ in range(SHORT.connections)]
    more = []
    try:
        deadline = time.monotonic() + 30
        while threading.active_count() < before + SHORT.connections:
            assert time.monotonic() < deadline
            time.sleep(0.005)
        for _ in range(20):
            more.append(connected(server))
            found = rest(more[-1])
            # One of the first may have ended meanwhile, and this one has its place.
            assert found == b"" or found.startswith(b"HTTP/1.1 503")
        assert threading.active_count() <= before + SHORT.connections
    finally:
        for connection in (*idle, *more):
            connection.close()
    deadline = time.monotonic() + 60
    while True:
        try:
            assert ask(server, "/runs.json")[0] == 200
            break
        except (OSError, AssertionError):
            assert time.monotonic() < deadline


def test_others_are_answered_while_connections_hang(server: Server) -> None:
    idle = [connected(server) for _ in range(SHORT.connections - 2)]
    try:
        for connection in idle:
            connection.sendall(b"GET / HTTP/1.1\r\nX: ")
        assert ask(server, "/runs.json")[0] == 200
    finally:
        for connection in idle:
            connection.close()


HOST = "Host: 127.0.0.1:%d\r\n"
NONSENSE: dict[str, tuple[bytes, int]] = {
    "a body": (b"GET /runs.json HTTP/1.1\r\n%b Content-Length: 5\r\n\r\nhello", 400),
    "chunks": (b"GET / HTTP/1.1\r\n%bTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", 400),
    "a negative body": (b"GET / HTTP/1.1\r\n%bContent-Length: -1\r\n\r\n", 400),
    "no host": (b"GET / HTTP/1.1\r\n\r\n", 421),
    "an old protocol": (b"GET /\r\n\r\n", 421),
    "HTTP 1.0": (b"GET / HTTP/1.0\r\n\r\n", 421),
    "HTTP 2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
    "HTTP 9": (b"GET / HTTP/9.9.9\r\n%b\r\n", 400),
    "binary": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
    "words": (b"one two three four\r\n\r\n", 400),
    "an address of brackets": (b"GET http://[/ HTTP/1.1\r\n%b\r\n", 400),
    "another server's address": (b"GET http://evil.example/etc HTTP/1.1\r\n%b\r\n", 404),
    "a long address": (b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\n%b\r\n", 414),
    "a long header": (b"GET / HTTP/1.1\r\n%bX: " + b"x" * 70_000 + b"\r\n\r\n", 431),
    "many headers": (b"GET / HTTP/1.1\r\n%b" + b"X: x\r\n" * 500 + b"\r\n", 431),
    "many long headers": (b"GET / HTTP/1.1\r\n%b" + (b"X: " + b"x" * 60_000 + b"\r\n") * 9, 0),
    "CONNECT": (b"CONNECT evil.example:443 HTTP/1.1\r\n%b\r\n", 405),
    "TRACE": (b"TRACE / HTTP/1.1\r\n%b\r\n", 405),
    "a method of ours": (b"_answer / HTTP/1.1\r\n%b\r\n", 405),
    "a method of markup": (b"<script> / HTTP/1.1\r\n%b\r\n", 405),
    "small letters": (b"get / HTTP/1.1\r\n%b\r\n", 405),
}


@pytest.mark.parametrize("case", NONSENSE)
def test_requests_that_are_none_are_refused_in_one_sentence(patient: Server, case: str) -> None:
    request, status = NONSENSE[case]
    host = (HOST % patient.access.port).encode()
    found, answer = raw(patient, request.replace(b"%b ", host).replace(b"%b", host))
    assert found == status, answer[:500]
    if status:
        head, _, body = answer.partition(b"\r\n\r\n")
        for header in (b"X-Content-Type-Options: nosniff", b"X-Frame-Options: DENY",
                       b"Content-Security-Policy: default-src 'none'",
                       b"Content-Type: text/plain"):  # fmt: skip
            assert header in head
        assert b"<" not in body and len(body) < 200 and body.count(b"\n") == 1
    assert ask(patient, "/runs.json")[0] == 200


TRAVERSALS = [
    "..", "%2e%2e", "..%2f..%2fetc", "%252e%252e%252f", "..%5c..%5cetc", "%c0%ae%c0%ae/",
    "%e0%80%ae", "first/../../outside", "first%00", "first%2f", "./first", "/first", "first/.",
    "//first", "first%0d%0aX-Evil:1", "%ff%fe", "~", "$HOME", "first;x", "*", "fir?t",
    "..;/..;/", "%u002e%u002e", "．．／", "first\\..", "C:%5cWindows", "file:///etc/passwd",
]  # fmt: skip


@pytest.mark.parametrize("name", TRAVERSALS)
def test_no_name_leads_out_of_the_folder(patient: Server, root: Path, name: str) -> None:
    if not (root.parent / "outside").exists():
        choice_run(root.parent / "outside", 3)
    host = HOST % patient.access.port
    for target in (f"/report?run={name}", f"/{name}", f"/blocks/{name}/0", f"/report/{name}"):
        request = f"GET {target} HTTP/1.1\r\n{host}\r\n".encode()
        status, answer = raw(patient, request)
        assert status == 404, answer[:300]
        assert b"root:" not in answer and b"X-Evil" not in answer.partition(b"\r\n\r\n")[0]


@pytest.mark.parametrize(
    "number", ["9" * 5_000, "-1", "1e9", "0x1", "01", "%31", "+1", " 1", "٣", ""]
)
def test_numbers_of_blocks_are_small_and_plain(patient: Server, number: str) -> None:
    host = HOST % patient.access.port
    for key in ("0" * 24, "x", ".."):
        request = f"GET /blocks/{key}/{number} HTTP/1.1\r\n{host}\r\n".encode()
        assert raw(patient, request)[0] in (400, 404)


def test_the_log_shows_no_token_and_no_control_characters(root: Path) -> None:
    lines: list[str] = []
    for server in serve(root, token="se/cret &+%41;", log=lines.append):
        assert "?token=se%2Fcret%20%26%2B%2541%3B" in server.address
        status, headers, _ = ask(server, server.address.partition("/?")[2].join(["/?", ""]))
        assert status == 303 and headers["Location"] == "/"
        cookie = headers["Set-Cookie"].split(";")[0]
        assert ask(server, "/runs.json", Cookie=f"other=1; {cookie}; x=y")[0] == 200
        assert ask(server, "/runs.json", Cookie='tenbin_token="' + "\\" * 60_000)[0] == 403
        raw(server, b"GET /\x1b[2J\x9b?token=se%2Fcret HTTP/1.1\r\nHost: x\r\n\r\n")
    assert lines and all(line.isprintable() for line in lines)
    assert not [line for line in lines if "cret" in line]


def test_a_host_is_named_exactly(patient: Server) -> None:
    port = patient.access.port
    for host in (f"localhost:{port}.evil.example", f"evil.example:{port}", f"127.0.0.1:{port}@evil",
                 f"127.0.0.2:{port}", "127.0.0.1", f"[::ffff:127.0.0.1]:{port}", "\t",
                 f"localhost.:{port}", f"127.0.0.1:{port},evil.example"):  # fmt: skip
        assert ask(patient, "/runs.json", Host=host)[0] == 421, host
    status, _, body = ask(patient, "/runs.json", Host=f"LOCALHOST:{port}")
    assert status == 200 and json.loads(body)["runs"]
