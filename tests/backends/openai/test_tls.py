"""Connections that are not safe: said once, and never with the advice to give safety up."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tenbin.backends.base import BackendSettings
from tenbin.backends.openai import identity
from tenbin.backends.openai.backend import _open
from tenbin.errors import BackendError
from tests.backends.openai.hostile import MODELS, framed, json_bytes

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl to make keys")


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identity, "_WAIT", 0.01)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of this machine that no authority knows, and its key, in one file."""
    folder = tmp_path_factory.mktemp("certificate")
    key, file = folder / "key.pem", folder / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
         "-keyout", str(key), "-out", str(file)],
        check=True, capture_output=True,
    )  # fmt: skip
    file.write_text(file.read_text() + key.read_text())
    return file


@contextmanager
def speaking(certificate: Path, breaks: bool = False) -> Iterator[str]:
    """A server that lists a model over TLS, or breaks off amid the handshake."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            connection, _ = listener.accept()
            with suppress(OSError), connection:
                if breaks:
                    connection.recv(100)
                    connection.sendall(b"\x16\x03\x03\x00\x7a" + b"\x00" * 20)
                    continue
                with context.wrap_socket(connection, server_side=True) as safe:
                    safe.recv(65_536)
                    safe.sendall(framed(json_bytes(MODELS)))

    def until_closed() -> None:
        with suppress(OSError):
            serve()

    thread = threading.Thread(target=until_closed, daemon=True)
    thread.start()
    yield f"https://127.0.0.1:{listener.getsockname()[1]}/v1"
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join(10)


def test_a_certificate_that_nobody_vouches_for_is_refused(certificate: Path) -> None:
    with speaking(certificate) as address, pytest.raises(BackendError) as raised:
        _open(BackendSettings("openai", {"base_url": address}), False)
    assert "no safe connection" in raised.value.message
    assert "SSL_CERT_FILE" in raised.value.hint and "http://" not in raised.value.hint


def test_an_authority_of_the_users_own_is_taken(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with speaking(certificate) as address:
        backend = _open(BackendSettings("openai", {"base_url": address}), False)
    assert backend.describe()["model"] == "made-up"


def test_a_handshake_that_breaks_off_is_one_error(certificate: Path) -> None:
    with speaking(certificate, breaks=True) as address, pytest.raises(BackendError) as raised:
        _open(BackendSettings("openai", {"base_url": address}), False)
    assert raised.value.message.isprintable()


@pytest.mark.parametrize("content", [None, "", "no certificate"])
def test_certificates_that_cannot_be_read_are_named(
    tmp_path: Path, content: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "own.pem"
    if content is not None:
        file.write_text(content)
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    with pytest.raises(BackendError, match="certificates") as raised:
        _open(BackendSettings("openai", {"base_url": "https://127.0.0.1:9/v1"}), False)
    assert str(file) in raised.value.hint


@pytest.mark.parametrize("proxy", ["nonsense://127.0.0.1:9", "socks9://user:hidden@127.0.0.1:9"])
def test_a_proxy_that_cannot_be_used_is_said(proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", proxy)
    with pytest.raises(BackendError, match="a proxy that the environment names") as raised:
        _open(BackendSettings("openai", {"base_url": "http://example.invalid/v1"}), False)
    assert "hidden" not in str(raised.value) and "ALL_PROXY" in raised.value.hint
