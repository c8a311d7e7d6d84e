import hashlib
import shutil
import threading
import time
from collections.abc import Iterator
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tenbin.data import DataChoice, load_documents
from tenbin.data.fetch import fetch as fetch_split
from tenbin.data.inventory import locate
from tenbin.data.sources import download, pinned
from tenbin.errors import DataError, DownloadError
from tenbin.records import Dataset
from tests.data.written_rows import (
    JCQA,
    JNLI,
    MARC,
    MLOGIQA,
    SQUAD,
    as_lines,
    as_squad,
    git_blob_id,
    write_rows,
)

JNLI_PATH = "/yahoojapan/JGLUE/v1.1.0/datasets/jnli-v1.1/valid-v1.1.json"
MLOGIQA_PATH = "/datasets/Qwen/P-MMEval/resolve/main/mlogiqa/test/ko.jsonl"
MARC_FOLDER = "/datasets/shunk031/JGLUE/resolve/refs%2Fconvert%2Fparquet/MARC-ja"
BIG_ROWS = [
    {"sentence_pair_id": str(n), "sentence1": "前" * 50, "sentence2": "後", "label": 0}
    for n in range(400)
]


class Site(ThreadingHTTPServer):
    """Serves `files`; each entry of `mishaps` spoils one answer, in order."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.files: dict[str, bytes] = {}
        self.mishaps: list[Any] = []
        self.seen: list[tuple[str, dict[str, str]]] = []
        self.tag = True
        self.slow = 0.0

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Answer(BaseHTTPRequestHandler):
    server: Site

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        self.server.seen.append((self.path, dict(self.headers)))
        threading.Event().wait(self.server.slow)  # time.sleep is counted, not waited
        mishap = self.server.mishaps.pop(0) if self.server.mishaps else None
        content = self.server.files.get(self.path)
        if isinstance(mishap, tuple):
            self.send_response(mishap[0])
            for name, value in mishap[1].items():
                self.send_header(name, value)
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif content is None:
            self.send_error(404)
        else:
            self._send(content, cut=mishap)

    def _send(self, content: bytes, cut: int | None) -> None:
        tag = f'"{hashlib.md5(content).hexdigest()}"'
        wanted = self.headers.get("Range")
        if wanted and self.headers.get("If-Range", tag) == tag:
            start = int(wanted.removeprefix("bytes=").removesuffix("-"))
            if start >= len(content):
                self.send_error(416)
                return
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
            content = content[start:]
        else:
            self.send_response(200)
        if self.server.tag:
            self.send_header("ETag", tag)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content if cut is None else content[:cut])
        self.close_connection = True


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    server = Site()
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    monkeypatch.setenv("TENBIN_GITHUB_URL", server.address)
    monkeypatch.setenv("HF_ENDPOINT", server.address + "/")
    # No flag and no variable allows plain HTTP: only a test that serves its own files does.
    monkeypatch.setattr(download, "SCHEMES", frozenset({"http", "https"}))
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    waited: list[float] = []
    monkeypatch.setattr(download.time, "sleep", waited.append)
    return waited


@pytest.fixture
def publish(site, tmp_path, monkeypatch):
    """Serve a file and pin its blob id in place of the real one."""
    catalog = tmp_path / "catalog"
    shutil.copytree(pinned.CATALOG / "datasets", catalog / "datasets")
    monkeypatch.setattr(pinned, "CATALOG", catalog)
    pinned.pinned_sets.cache_clear()

    def put(path: str, content: bytes) -> None:
        site.files[path] = content
        name = path.split("/", 4)[4]
        for file in (catalog / "datasets").glob("*.yaml"):
            lines = [
                f"            {name}: {git_blob_id(content)}"
                if line.strip().startswith(name)
                else line
                for line in file.read_text().split("\n")
            ]
            file.write_text("\n".join(lines))
        pinned.pinned_sets.cache_clear()

    yield put
    pinned.pinned_sets.cache_clear()


@pytest.fixture
def fetch(tmp_path):
    def load(name="jglue/jnli", split="validation", config=None, **choice: Any):
        progress = choice.pop("progress", None)
        chosen = DataChoice(cache_dir=tmp_path / "cache", **choice)
        return load_documents(Dataset(name, config), split, chosen, progress)

    return load


def test_good_file_is_kept_and_serves_offline(site, publish, fetch, monkeypatch):
    publish(JNLI_PATH, as_lines(JNLI))
    seen: list[tuple[str, int, int | None]] = []
    loaded = fetch(progress=lambda *step: seen.append(step))
    assert len(loaded.documents) == 3
    assert (loaded.files[0].source, loaded.files[0].verified) == ("download", True)
    assert seen[-1] == ("valid-v1.1.json", len(as_lines(JNLI)), len(as_lines(JNLI)))
    site.shutdown()
    site.server_close()
    assert list(fetch().documents) == list(loaded.documents)
    assert list(fetch(offline=True).documents) == list(loaded.documents)
    monkeypatch.setenv("TENBIN_OFFLINE", "1")
    assert list(fetch().documents) == list(loaded.documents)
    assert len(site.seen) == 1


def test_nothing_partial_is_left(publish, fetch, tmp_path):
    publish(JNLI_PATH, as_lines(JNLI))
    fetch()
    names = sorted(path.name for path in (tmp_path / "cache").rglob("*") if path.is_file())
    assert names == ["valid-v1.1.json", "valid-v1.1.json.lock"]


def test_wrong_checksum_names_both_and_deletes_the_file(site, fetch, tmp_path):
    site.files[JNLI_PATH] = as_lines(JNLI)
    with pytest.raises(DownloadError) as caught:
        fetch()
    assert git_blob_id(as_lines(JNLI)) in caught.value.message
    assert "fee97af8f0b9325441b35186fcb04b3e0415800d" in caught.value.message
    left = [path.suffix for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    assert left == [".lock"]


@pytest.mark.parametrize("tag", [True, False])
def test_cut_off_body_is_resumed(site, publish, fetch, waits, tag):
    site.tag = tag
    publish(JNLI_PATH, as_lines(BIG_ROWS))
    site.mishaps = [20_000]
    assert len(fetch().documents) == 400
    assert "Range" not in site.seen[0][1]
    assert site.seen[1][1]["Range"] == "bytes=20000-"
    assert ("If-Range" in site.seen[1][1]) is tag
    assert len(waits) == 1


def test_cut_off_body_of_another_run_is_resumed(site, publish, fetch, waits):
    publish(JNLI_PATH, as_lines(BIG_ROWS))
    site.mishaps = [20_000, *[(503, {})] * 4]
    with pytest.raises(DownloadError, match="gave up after 5 attempts: the server answers 503"):
        fetch()
    assert waits == [0.5, 1.0, 2.0, 4.0]
    assert len(fetch().documents) == 400
    assert site.seen[-1][1]["Range"] == "bytes=20000-"


def test_file_that_changed_between_attempts_is_fetched_anew(site, fetch, waits):
    site.files[MLOGIQA_PATH] = as_lines(MLOGIQA * 300)
    site.mishaps = [20_000, *[(503, {})] * 4]
    with pytest.raises(DownloadError):
        fetch("mlogiqa", "test", "ko")
    site.files[MLOGIQA_PATH] = as_lines(MLOGIQA)
    assert len(fetch("mlogiqa", "test", "ko").documents) == 4


def test_unverifiable_file_without_a_tag_is_not_resumed(site, fetch, waits):
    site.tag = False
    site.files[MLOGIQA_PATH] = as_lines(MLOGIQA * 300)
    site.mishaps = [20_000]
    assert len(fetch("mlogiqa", "test", "ko").documents) == 1200
    assert "Range" not in site.seen[1][1]


def test_range_beyond_the_end_starts_anew(site, publish, fetch, waits, tmp_path):
    publish(JNLI_PATH, as_lines(JNLI))
    folder = tmp_path / "cache/datasets/github" / JNLI_PATH[1:]
    folder.parent.mkdir(parents=True)
    folder.with_name("valid-v1.1.json.part").write_bytes(b"x" * 100_000)
    assert len(fetch().documents) == 3


def test_missing_file(site, fetch):
    with pytest.raises(DownloadError, match="404: there is no such file") as caught:
        fetch()
    assert len(site.seen) == 1
    assert "--data_dir" in caught.value.hint


def test_refused_access_speaks_of_the_token(site, fetch):
    site.mishaps = [(401, {})]
    with pytest.raises(DownloadError, match="access is refused") as caught:
        fetch("mlogiqa", "test", "ko")
    assert "HF_TOKEN" in caught.value.hint


def test_server_fault_passes(site, publish, fetch, waits):
    publish(JNLI_PATH, as_lines(JNLI))
    site.mishaps = [(500, {}), (502, {})]
    assert len(fetch().documents) == 3
    assert waits == [0.5, 1.0]


def test_retry_after_is_honoured(site, publish, fetch, waits):
    publish(JNLI_PATH, as_lines(JNLI))
    soon = formatdate(time.time() + 30, usegmt=True)
    site.mishaps = [(429, {"Retry-After": "7"}), (503, {"Retry-After": soon})]
    fetch()
    assert waits[0] == 7.0
    assert 25 < waits[1] <= 30


def test_retry_after_that_is_too_long_gives_up(site, publish, fetch, waits):
    publish(JNLI_PATH, as_lines(JNLI))
    site.mishaps = [(429, {"Retry-After": "3600"})]
    with pytest.raises(DownloadError, match="asks to wait 3600 s"):
        fetch()
    assert waits == []


def test_no_network(fetch, waits, monkeypatch):
    monkeypatch.setattr(download, "SCHEMES", frozenset({"http", "https"}))
    with pytest.raises(DownloadError, match="gave up after 3 attempts: no connection"):
        fetch()


def test_bad_mirror_address(fetch, monkeypatch):
    monkeypatch.setenv("TENBIN_GITHUB_URL", "mirror.example")
    with pytest.raises(DownloadError, match="is not a web address"):
        fetch()


def test_plain_http_is_never_asked(site, publish, fetch, monkeypatch):
    publish(JNLI_PATH, as_lines(JNLI))
    monkeypatch.setattr(download, "SCHEMES", frozenset({"https"}))
    with pytest.raises(DownloadError, match="http is not https") as caught:
        fetch()
    assert "TENBIN_GITHUB_URL" in caught.value.hint
    assert site.seen == []


@pytest.mark.parametrize("target", ["http://{host}/elsewhere", "file:///etc/hostname", "ftp://x/y"])
def test_a_redirect_to_anything_else_is_not_followed(site, publish, fetch, monkeypatch, target):
    publish(JNLI_PATH, as_lines(JNLI))
    host = site.address.removeprefix("http://")
    site.mishaps = [(302, {"Location": target.format(host=host)})]
    first = []

    def only_the_first(request):
        if first:
            monkeypatch.setattr(download, "SCHEMES", frozenset({"https"}))
        first.append(request.url)
        checked(request)

    checked = download._check_scheme
    monkeypatch.setattr(download, "_check_scheme", only_the_first)
    with pytest.raises(DownloadError, match=r"not https|could not be fetched"):
        fetch()
    assert [path for path, _ in site.seen] == [JNLI_PATH]


def test_a_redirect_over_https_is_followed(site, publish, fetch):
    content = as_lines(JNLI)
    publish(JNLI_PATH, content)
    site.files["/elsewhere"] = content
    site.mishaps = [(302, {"Location": f"{site.address}/elsewhere"})]
    assert len(fetch().documents) == len(JNLI)
    assert [path for path, _ in site.seen] == [JNLI_PATH, "/elsewhere"]


@pytest.mark.parametrize("length", ["announced", "unknown"])
def test_a_file_that_is_too_large_is_not_kept(site, publish, fetch, monkeypatch, tmp_path, length):
    publish(JNLI_PATH, as_lines(BIG_ROWS))
    monkeypatch.setattr(download, "LARGEST", 10_000)
    if length == "unknown":
        monkeypatch.setattr(
            Answer,
            "send_header",
            lambda self, name, value: (
                name == "Content-Length" or BaseHTTPRequestHandler.send_header(self, name, value)
            ),
        )
    with pytest.raises(DownloadError, match="more than 10,000 bytes"):
        fetch()
    assert len(site.seen) == 1
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.stat().st_size > 10_000]


def test_offline_without_a_copy(site, fetch):
    with pytest.raises(DownloadError, match="tenbin is offline") as caught:
        fetch(offline=True)
    assert site.seen == []
    assert "--sample_data" in caught.value.hint


def test_change_since_the_first_download_is_refused(site, fetch, tmp_path):
    site.files[MLOGIQA_PATH] = as_lines(MLOGIQA)
    first = fetch("mlogiqa", "test", "ko")
    assert not first.files[0].verified
    kept = tmp_path / "cache/datasets/hub/Qwen/P-MMEval/main/mlogiqa/test/ko.jsonl"
    kept.unlink()
    site.files[MLOGIQA_PATH] = as_lines(MLOGIQA[:2])
    with pytest.raises(DownloadError, match="has changed since its first download") as caught:
        fetch("mlogiqa", "test", "ko")
    assert first.files[0].sha256 in caught.value.message
    lock = tmp_path / "cache/first_seen/hub/Qwen/P-MMEval/main/mlogiqa/test/ko.jsonl.sha256"
    assert f"delete {lock}" in caught.value.hint
    assert not kept.exists()
    lock.unlink()
    assert len(fetch("mlogiqa", "test", "ko").documents) == 2


@pytest.mark.parametrize("path", [JNLI_PATH, MLOGIQA_PATH])
def test_damaged_copy_is_fetched_anew(site, publish, fetch, tmp_path, path):
    if path == JNLI_PATH:
        publish(path, as_lines(JNLI))
        arguments = ("jglue/jnli", "validation")
    else:
        site.files[path] = as_lines(MLOGIQA)
        arguments = ("mlogiqa", "test", "ko")
    kept = fetch(*arguments).files[0].path
    with Path(kept).open("ab") as file:
        file.write(b"\n")
    with pytest.raises(DownloadError, match="offline"):
        fetch(*arguments, offline=True)
    fetch(*arguments)
    assert len(site.seen) == 2


def test_v1_3_uses_the_cached_file_of_v1_1_where_they_are_equal(site, publish, fetch):
    for version in ("1.1", "1.3"):
        file = f"datasets/jcommonsenseqa-v{version}/valid-v{version}.json"
        publish(f"/yahoojapan/JGLUE/v{version}.0/{file}", as_lines(JCQA))
    fetch("jglue/jcommonsenseqa")
    fetch("jglue/jcommonsenseqa", versions={"jglue": "1.3"})
    assert len(site.seen) == 1


def test_jaquad_has_several_files(site, publish, fetch):
    commit = "23f5d72cc273c49b35e2d9efe0f51757aa1770bd"
    for number in range(4):
        rows = [{**row, "id": f"{row['id']}-{number}"} for row in SQUAD]
        name = f"data/dev/jaquad_dev_000{number}.json"
        publish(f"/SkelterLabsInc/JaQuAD/{commit}/{name}", as_squad(rows))
    loaded = fetch("jaquad")
    assert [file.rows for file in loaded.files] == [3, 3, 3, 3]
    assert all(file.verified for file in loaded.files)


@pytest.mark.parametrize("name", ["jglue-validation.parquet", "validation/0000.parquet"])
def test_marc_ja_from_what_remains(site, fetch, tmp_path, name):
    content = write_rows(tmp_path / "marc.parquet", MARC).read_bytes()
    site.files[f"{MARC_FOLDER}/{name}"] = content
    assert len(fetch("jglue/marc_ja").documents) == 3
    assert len(fetch("jglue/marc_ja", offline=True).documents) == 3


@pytest.mark.parametrize("offline", [False, True])
def test_marc_ja_that_cannot_be_had(site, fetch, offline):
    with pytest.raises(DataError) as caught:
        fetch("jglue/marc_ja", offline=offline)
    assert ("offline" if offline else "404") in caught.value.message
    assert "withdrawn by its source" in caught.value.hint
    assert "<folder>/jglue_v1.1/marc_ja/validation.parquet" in caught.value.hint


def test_token_goes_to_the_hub_alone(site, publish, fetch, monkeypatch, capfd):
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    publish(JNLI_PATH, as_lines(JNLI))
    site.files[MLOGIQA_PATH] = as_lines(MLOGIQA)
    fetch()
    fetch("mlogiqa", "test", "ko")
    with pytest.raises(DownloadError) as caught:
        fetch("mlogiqa", "test", "en")
    headers = dict(site.seen)
    assert "Authorization" not in headers[JNLI_PATH]
    assert headers[MLOGIQA_PATH]["Authorization"] == "Bearer hf_secret"
    assert "hf_secret" not in str(caught.value) + "".join(capfd.readouterr())


def test_password_of_a_mirror_is_not_shown(site, fetch, monkeypatch):
    address = site.address.replace("http://", "http://user:geheim@")
    monkeypatch.setenv("TENBIN_GITHUB_URL", address)
    with pytest.raises(DownloadError) as caught:
        fetch()
    assert "geheim" not in str(caught.value)


def test_cache_that_cannot_be_written(site, publish, tmp_path):
    publish(JNLI_PATH, as_lines(JNLI))
    (tmp_path / "file").write_text("")
    choice = DataChoice(cache_dir=tmp_path / "file")
    with pytest.raises(DownloadError, match="cannot be written") as caught:
        load_documents(Dataset("jglue/jnli"), "validation", choice)
    assert "TENBIN_CACHE" in caught.value.hint


def test_two_at_once_fetch_once(site, publish, fetch):
    publish(JNLI_PATH, as_lines(BIG_ROWS))
    site.slow = 0.2
    counts: list[int] = []
    threads = [
        threading.Thread(target=lambda: counts.append(len(fetch().documents))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [400] * 4
    assert len(site.seen) == 1


def test_two_processes_at_once(site, tmp_path):
    import subprocess
    import sys

    site.files[MLOGIQA_PATH] = as_lines(MLOGIQA * 20)
    site.slow = 0.5
    code = (
        "from pathlib import Path; from tenbin.data import *; from tenbin.records import *;"
        "from tenbin.data.sources import download; download.SCHEMES = {'http'};"
        f"choice = DataChoice(cache_dir=Path({str(tmp_path / 'cache')!r}));"
        "print(len(load_documents(Dataset('mlogiqa', 'ko'), 'test', choice).documents))"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) for _ in range(2)
    ]
    assert [process.communicate()[0] for process in started] == [b"80\n", b"80\n"]
    assert len(site.seen) == 1


def test_a_set_of_the_catalogue_fetched_into_a_data_folder(site, publish, tmp_path):
    """What `tenbin data fetch` puts there is found again, and is still the published file."""
    publish(JNLI_PATH, as_lines(JNLI))
    folder = tmp_path / "data"
    folder.mkdir()
    choice = DataChoice(data_dir=folder, cache_dir=tmp_path / "cache")
    dataset = Dataset("jglue/jnli")
    done = fetch_split(locate(dataset, "validation", choice), choice)
    path = folder / "jglue_v1.1/jnli/validation.json"
    assert (done.state, done.files, done.rows) == ("fetched", (path,), 3)
    site.shutdown()
    loaded = load_documents(dataset, "validation", choice)
    assert (loaded.files[0].path, loaded.files[0].verified) == (str(path), True)
    assert fetch_split(locate(dataset, "validation", choice), choice).state == "kept"
    cached = DataChoice(cache_dir=tmp_path / "cache")
    assert locate(dataset, "validation", cached).found


def test_a_split_of_several_files_fetched_into_a_data_folder(site, publish, tmp_path):
    split = pinned.find_split(pinned.pinned_sets()["jaquad"], "0.1.0", "validation", None)
    for file in split.files:
        publish(f"/{split.repository}/{split.revision}/{file.path}", as_squad(SQUAD))
    choice = DataChoice(data_dir=tmp_path, cache_dir=tmp_path / "cache")
    dataset = Dataset("jaquad")
    done = fetch_split(locate(dataset, "validation", choice), choice)
    assert done.rows == len(split.files) * len(SQUAD)
    assert locate(dataset, "validation", choice).found == tuple(sorted(done.files))
