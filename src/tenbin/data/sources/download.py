"""Download one file over HTTPS: resumed if interrupted, retried where that can help.

Plain HTTP is refused, also after a redirect: not every file has a published checksum, and requests
to the hub carry a token.
"""

from __future__ import annotations

import os
import re
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from tenbin.data.sources.choice import Progress
from tenbin.errors import DownloadError

if TYPE_CHECKING:
    import httpx

ATTEMPTS = 5
CONNECT_ATTEMPTS = 3
"""Fewer than for a connection that was there: a machine without network should soon say so."""
FIRST_WAIT = 0.5
LONGEST_WAIT = 120.0
SCHEMES = frozenset({"https"})
LARGEST = 2 << 30
"""Bytes of one file; the largest pinned one has some tens of millions."""
WORTH_RETRYING = frozenset({408, 425, 429, 500, 502, 503, 504})


class FileGoneError(DownloadError):
    """The server has no such file."""


class _PassingError(Exception):
    """A fault that may pass: another attempt is worth it, after `wait` seconds where known."""

    def __init__(self, message: str, wait: float | None = None, attempts: int = ATTEMPTS) -> None:
        super().__init__(message)
        self.wait = wait
        self.attempts = attempts


def file_address(host: str, repository: str, revision: str, path: str) -> str:
    """Return the address of a published file, on the mirror that the environment may name."""
    if host == "github":
        base = os.environ.get("TENBIN_GITHUB_URL") or "https://raw.githubusercontent.com"
        return f"{base.rstrip('/')}/{repository}/{quote(revision, safe='')}/{quote(path)}"
    base = os.environ.get("HF_ENDPOINT") or "https://huggingface.co"
    revision = quote(revision, safe="")
    return f"{base.rstrip('/')}/datasets/{repository}/resolve/{revision}/{quote(path)}"


def open_client(host: str) -> httpx.Client:
    """Return a client for a host; the hub's token goes to the hub alone."""
    import httpx

    # Compressed bodies would not add up with Content-Length and could not be resumed.
    headers = {"Accept-Encoding": "identity", "User-Agent": "tenbin"}
    token = os.environ.get("HF_TOKEN", "").strip()
    if host == "hub" and token:
        headers["Authorization"] = f"Bearer {token}"
    timeout = httpx.Timeout(60.0, connect=15.0)
    return httpx.Client(
        headers=headers,
        timeout=timeout,
        follow_redirects=True,
        # Called for the first address and again for each that a server redirects to.
        event_hooks={"request": [_check_scheme]},
    )


def _check_scheme(request: httpx.Request) -> None:
    scheme = request.url.scheme
    if scheme and scheme not in SCHEMES:
        raise DownloadError(
            f"{_shown(str(request.url))} is not fetched: {scheme} is not https, and files "
            "may be altered on the way",
            "check TENBIN_GITHUB_URL and HF_ENDPOINT, or give the files with --data_dir",
        )


def download(
    client: httpx.Client,
    url: str,
    part: Path,
    *,
    checked: bool,
    progress: Progress | None = None,
) -> None:
    """Fetch a file into `part`, resuming after what an earlier attempt left there.

    Args:
        client: From `open_client`.
        url: The file's address.
        part: Where to write; complete when this returns.
        checked: Whether the caller knows the content's checksum, so that resuming is safe even
            where the server gives no tag that distinguishes versions.
        progress: Called as bytes arrive.

    Raises:
        DownloadError: The file cannot be fetched.
    """
    attempt = 0
    while True:
        attempt += 1
        try:
            return _attempt(client, url, part, checked, progress)
        except _PassingError as fault:
            wait = FIRST_WAIT * 2 ** (attempt - 1) if fault.wait is None else fault.wait
            if attempt >= fault.attempts or wait > LONGEST_WAIT:
                tries = f"after {attempt} attempts" if attempt > 1 else "at once"
                asked = f"; the server asks to wait {wait:.0f} s" if wait > LONGEST_WAIT else ""
                raise DownloadError(
                    f"{_shown(url)} could not be fetched, gave up {tries}: {fault}{asked}",
                    "try again later (the partial file is kept), or give the files with --data_dir",
                ) from fault
            time.sleep(wait)


def _attempt(
    client: httpx.Client, url: str, part: Path, checked: bool, progress: Progress | None
) -> None:
    import httpx

    try:
        _fetch(client, url, part, checked, progress)
    except httpx.UnsupportedProtocol as error:
        raise DownloadError(
            f"{_shown(url)} is not a web address", "check TENBIN_GITHUB_URL and HF_ENDPOINT"
        ) from error
    except (httpx.ConnectError, httpx.ConnectTimeout) as error:
        raise _PassingError(f"no connection ({error})", attempts=CONNECT_ATTEMPTS) from error
    except httpx.TransportError as error:
        detail = str(error) or type(error).__name__
        raise _PassingError(f"the connection was interrupted ({detail})") from error
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise DownloadError(f"{_shown(url)} could not be fetched: {error}") from error


def _fetch(
    client: httpx.Client, url: str, part: Path, checked: bool, progress: Progress | None
) -> None:
    tag_file = part.with_name(part.name + ".etag")
    start = part.stat().st_size if part.exists() else 0
    tag = tag_file.read_text(encoding="utf-8") if tag_file.exists() else ""
    headers = {}
    if start and (tag or checked):
        headers["Range"] = f"bytes={start}-"
        if tag:
            headers["If-Range"] = tag
    with client.stream("GET", url, headers=headers) as response:
        _check_status(response, url)
        if response.status_code == 416 or not _continues(response, start):
            part.unlink(missing_ok=True)
            raise _PassingError("the server cannot resume the download", wait=0.0)
        done = start if response.status_code == 206 else 0
        length = response.headers.get("Content-Length", "")
        encoded = response.headers.get("Content-Encoding", "identity") != "identity"
        total = done + int(length) if _is_number(length) and not encoded else None
        _check_size(total or done, url, part)
        etag = response.headers.get("ETag", "")
        # Only a strong tag promises equal bytes, and only such a one may stand in If-Range.
        tag_file.write_text("" if etag.startswith("W/") else etag, encoding="utf-8")
        with part.open("ab" if done else "wb") as file:
            for chunk in response.iter_bytes():
                file.write(chunk)
                done += len(chunk)
                if done > LARGEST:
                    _check_size(done, url, part)
                if progress is not None:
                    progress(url.rpartition("/")[2], done, total)
    if total is not None and done != total:
        raise _PassingError(f"the response ended after {done:,} of {total:,} bytes")
    tag_file.unlink(missing_ok=True)


def _check_size(size: int, url: str, part: Path) -> None:
    """Refuse a file that would fill the disk; what has arrived of it is deleted."""
    if size > LARGEST:
        part.unlink(missing_ok=True)
        raise DownloadError(
            f"{_shown(url)} has more than {LARGEST:,} bytes, more than any known file",
            "a mirror or proxy may answer with something else: use --data_dir",
        )


def _continues(response: httpx.Response, start: int) -> bool:
    """Whether a partial answer begins where the partial file ends."""
    if response.status_code != 206:
        return True
    return str(response.headers.get("Content-Range", "")).startswith(f"bytes {start}-")


def _check_status(response: httpx.Response, url: str) -> None:
    status = response.status_code
    if status in (200, 206, 416):
        return
    shown = f"{_shown(url)} answers {status}"
    if status in WORTH_RETRYING:
        raise _PassingError(f"the server answers {status}", _asked_wait(response))
    if status in (404, 410):
        raise FileGoneError(f"{shown}: there is no such file", "give the files with --data_dir")
    if status in (401, 403):
        raise DownloadError(
            f"{shown}: access is refused",
            "for a gated data set on the hub, set HF_TOKEN to your token, or use --data_dir",
        )
    raise DownloadError(shown, "give the files with --data_dir")


def _asked_wait(response: httpx.Response) -> float | None:
    """Return the seconds that Retry-After asks for, as a number or a date."""
    asked = response.headers.get("Retry-After", "").strip()
    if not asked:
        return None
    if _is_number(asked):
        return float(asked)
    from email.utils import parsedate_to_datetime

    try:
        moment = parsedate_to_datetime(asked)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)
    return max(0.0, (moment - datetime.now(timezone.utc)).total_seconds())


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 19


def _shown(url: str) -> str:
    """Return an address without the name and password that a mirror's may carry."""
    return re.sub(r"//[^/@]*@", "//", url)
