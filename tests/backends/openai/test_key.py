"""The key is sent to one address and shown nowhere, however a server writes it."""

from __future__ import annotations

import base64
import html
import json
import re
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pytest

from tenbin.backends.openai import identity
from tenbin.backends.openai.secret import Scrubber, Secret, read_secret
from tenbin.cli import main
from tenbin.errors import ConfigError, TenbinError
from tenbin.records import Failure, Generate, Text
from tests.backends.openai.hostile import Call, framed, hostile, json_bytes
from tests.backends.openai.misbehaving import Answer, chat, completion, misbehaving, opened

KEYS = {
    "plain": "sk-proj-Zx81LmQ0vT7bYc3RkW5d",
    "signs": "abc/DEF&ghi+JKL=mno%PQR~stu",
    "base64": "dGhpcyBpcyBub3QgYSBrZXk+Pz8/Cg==",
    "regex": r"k$^.*+?{9}[x](y)|\d\1-9-a-b-c",
    "quotes": "k\"'<&>`;--key-1234567890",
    "percent": "sk%2Fsk%41%%-0123456789ab",
    "repeats": "aaaaaaaaaaaaaaaaaaaaaaaa",
    "long": "sk-" + "0123456789abcdefghijklmnopqrstuvwxyz" * 4,
}


def escaped(text: str) -> str:
    return "".join(f"\\u{ord(mark):04x}" for mark in text)


WAYS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "twice": lambda key: f"{key}{key}",
    "JSON escapes": escaped,
    "JSON escapes of escapes": lambda key: escaped(key).replace("\\", "\\\\"),
    "JSON string": json.dumps,
    "JSON slashes": lambda key: json.dumps(key).replace("/", "\\/"),
    "Python bytes": lambda key: repr(key.encode()),
    "hexadecimal escapes": lambda key: "".join(f"\\x{ord(mark):02x}" for mark in key),
    "URL": lambda key: quote(key, safe=""),
    "URL in small letters": lambda key: "".join(f"%{ord(mark):02x}" for mark in key),
    "URL in URL": lambda key: quote(quote(key, safe=""), safe=""),
    "HTML": html.escape,
    "HTML numbers": lambda key: "".join(f"&#{ord(mark)};" for mark in key),
    "HTML hexadecimal": lambda key: "".join(f"&#X{ord(mark):X};" for mark in key),
    "base64": lambda key: base64.b64encode(key.encode()).decode(),
    "base64 behind Bearer": lambda key: base64.b64encode(f"Bearer {key}".encode()).decode(),
    "base64 behind user": lambda key: base64.b64encode(f"user:{key}!".encode()).decode(),
    "base64 for URLs": lambda key: base64.urlsafe_b64encode(f"u:{key}".encode()).decode(),
    "hexadecimal": lambda key: key.encode().hex(),
    "halves": lambda key: f"{key[: len(key) // 2]} and {key[len(key) // 2 :]}",
}


def readings(text: str) -> list[str]:
    """A text as somebody would read it who looks for a key: undone by other means than ours."""
    found = [text, html.unescape(text), html.unescape(html.unescape(text))]
    found += [unquote(text), unquote(unquote(text)), text.replace("\\", "")]
    for _ in range(3):
        text = _unescaped(text)
        found.append(text)
    return found


def _unescaped(text: str) -> str:
    found = re.sub(r"\\(?:u00|x)([0-9a-fA-F]{2})", lambda one: chr(int(one[1], 16)), text)
    return re.sub(r"\\(.)", r"\1", found)


def shows(text: str, key: str, part: int) -> bool:
    """Whether a text shows the key, or so many characters of it in a row."""
    coded = [key.encode().hex(), base64.b64encode(key.encode()).decode()[:-4]]
    parts = {key[at : at + part] for at in range(len(key) - part + 1)}
    return any(form in one for one in readings(text) for form in (*parts, *coded))


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
@pytest.mark.parametrize("way", WAYS)
def test_no_way_of_writing_a_key_is_missed(key: str, way: str) -> None:
    scrubber, written = Scrubber(key), WAYS[way](key)
    for text in (written, f"no key {written}, 値", f"{written}{written}", f"100%&\\ {written}/x"):
        assert not shows(scrubber.from_message(text), key, 8)
        assert not shows(scrubber.from_answer(text), key, max(12, (len(key) + 1) // 2))
        assert scrubber.from_message(text) != text
    assert scrubber.from_message(f"before {key} after") == "before [key] after"


@pytest.mark.parametrize("key", [*KEYS.values(), "EMPTY", "x", "1234567", ""])
def test_other_texts_stay_as_they_are(key: str) -> None:
    scrubber = Scrubber(key)
    texts = ["", "The model's answer: 50 % of \\frac{1}{2} & more", "日本語の文。\n改行\t%E3%81%82",
             "sk-proj- begins keys", "&amp;&#38; %%% \\\\ \\u3042 +/=", "A" * 10_000]  # fmt: skip
    for text in texts:
        assert scrubber.from_answer(text) == text
    for text in texts[:3]:
        assert scrubber.from_message(text) == text


def test_a_short_key_shreds_no_text() -> None:
    for key, text, shown in [
        ("x", "Bearer x: no box", "Bearer [key]: no box"),
        ("x", "x is no index of x", "x is no index of x"),
        ("e", "the server refused", "the server refused"),
        ("EMPTY", "the key EMPTY, not EMPTYING", "the key [key], not EMPTYING"),
        ("1234567", "key=1234567, 12345678", "key=[key], 12345678"),
    ]:
        assert Secret(key).scrubbed(text) == shown
        assert Secret(key).scrubbed_answer(text) == text


def test_texts_made_of_keys_take_no_time() -> None:
    """Bounded: places of a key are not gone through one by one for ever."""
    for key in (KEYS["percent"], KEYS["repeats"], KEYS["long"]):
        url = WAYS["URL in small letters"](key)
        for text in (key * 2_000, key[:-1] * 2_000, key[1:9] * 2_000, url * 300, "\\" * 50_000,
                     "%25" * 30_000, "&amp;" * 20_000, "&" * 50_000):  # fmt: skip
            assert not shows(Scrubber(key).from_message(text[:20_000]), key, 8)
            Scrubber(key).from_answer(text)


@pytest.mark.parametrize(
    "key", ["sk-öther-key-1234", "two words-12345", "tab\tkey-123456", "nul\x00key", "k" * 5_000]
)
def test_what_can_be_no_key_is_refused_before_it_is_sent(
    key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.environ", {"MY_KEY": key})
    with pytest.raises(ConfigError, match="MY_KEY holds") as raised:
        read_secret("MY_KEY")
    assert key not in str(raised.value) and "k" * 99 not in str(raised.value)


def everything(value: object) -> str:
    """All that an object, or an error with what led to it, can show."""
    if not isinstance(value, BaseException):
        return repr(value)
    chain, shown = value, [str(value), repr(value), *traceback.format_exception(value)]
    while chain.__cause__ or (chain.__context__ and not chain.__suppress_context__):
        chain = chain.__cause__ or chain.__context__  # type: ignore[assignment]
        shown += [str(chain), repr(chain), repr(vars(chain))]
    return "\n".join(shown)


Place = Callable[[str], bytes]
PLACES: dict[str, Place] = {
    "an error": lambda said: framed(json_bytes({"error": {"message": said}}), status="400 No"),
    "an error of parts": lambda said: framed(
        json_bytes({"error": {"message": {"headers": [{said: said}]}}}), status="422 No"
    ),
    "an error's code": lambda said: framed(json_bytes({"error": {"code": said}}), status="400 No"),
    "a text": lambda said: framed(said.encode(), status="400 No"),
    "half an error": lambda said: framed(b'{"error": "' + said.encode(), status="400 No"),
    "a web page": lambda said: framed(f"<p>{said}</p>".encode(), status="502 No"),
    "a fault inside": lambda said: framed(json_bytes({"error": said})),
    "not allowed": lambda said: framed(json_bytes({"error": {"message": said}}), status="401 No"),
    "no quota": lambda said: framed(json_bytes({"error": {"message": said}}), status="402 No"),
    "a redirect": lambda said: framed(
        b"", f"Location: http://127.0.0.1:9/?{quote(said)}", status="302 Found"
    ),
    "a header": lambda said: framed(json_bytes(completion("x")), f"X-Key: {quote(said)}"),
    "a broken header": lambda said: f"HTTP/1.1 200 OK\r\n{said}\r\n\r\n".encode(),
    "a broken status": lambda said: f"HTTP/1.1 {said}\r\n\r\n".encode(),
    "a wait": lambda said: framed(b"", f"Retry-After: {quote(said)}", status="429 Later"),
    "an answer": lambda said: framed(json_bytes(completion(said))),
    "escapes in an answer": lambda said: framed(
        json_bytes(completion("KEY")).replace(b"KEY", escaped(said).encode())
    ),
    "a thought": lambda said: framed(json_bytes(completion("x", reasoning=said))),
    "an ending": lambda said: framed(json_bytes(completion("x", finish=said))),
    "a wrong choice": lambda said: framed(json_bytes({"choices": [{"text": "x", "index": said}]})),
}


@pytest.mark.parametrize("place", PLACES)
def test_the_key_is_shown_in_no_place(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    key, current = KEYS["signs"], [""]
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with hostile(lambda call: call.send(PLACES[place](current[0]))) as server:
        backend = opened(server, retries=0)  # type: ignore[arg-type]
        for way, write in WAYS.items():
            current[0] = write(key)
            try:
                found: object = dict(backend.run([Generate("k", "hostile", (), 8)]))
            except TenbinError as error:
                found = error
            assert not shows(everything(found), key, 14), way
            assert not shows(repr([backend.describe(), backend._server]), key, 14), way
        assert all(call.headers["authorization"] == f"Bearer {key}" for call in server.calls)


@pytest.mark.parametrize("way", WAYS)
def test_a_server_that_calls_its_model_by_the_key(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = KEYS["signs"]
    monkeypatch.setenv("OPENAI_API_KEY", key)
    monkeypatch.setattr(identity, "_WAIT", 0.0)
    said = WAYS[way](key)
    entry = {"id": said, "owned_by": "llamacpp", "root": said, "meta": {said: [said]}}
    properties = {"model_path": f"/x/{said}.gguf", "build_info": said, "model_ftype": said}
    pages: list[Any] = [
        lambda call: json_bytes(properties if "props" in call.path else {"data": [entry]}),
        lambda call: json_bytes({"data": [entry, {**entry, "id": said + "2"}]}),
        lambda call: said.encode(),
        lambda call: json_bytes({"version": said, "data": [{**entry, "owned_by": "vllm"}]}),
    ]
    current: list[Any] = [None, ""]

    def listed(call: Call) -> None:
        call.send(framed(current[0](call), f"Server: {quote(said)}", status=current[1]))

    with hostile(lambda call: None, listed) as server:
        for current[0] in pages:
            for current[1] in ("200 OK", "401 No", "302 Found", "503 Busy"):
                try:
                    found: object = opened(server, model=None).describe()  # type: ignore[arg-type]
                except TenbinError as error:
                    found = error
                assert not shows(everything(found), key, 8)


def test_no_file_and_no_line_of_a_run_shows_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    key = KEYS["signs"]
    monkeypatch.setenv("OPENAI_API_KEY", key)
    ways = list(WAYS.values())

    def script(before: int, body: Any) -> Answer:
        said = ways[len(server.calls) % len(ways)](key)
        if len(server.calls) % 3 == 0:
            return Answer({"error": {"message": f"no: {said}"}}, 400)
        return Answer(chat(f"A. {said}", reasoning_content=said))

    with misbehaving(script) as server:
        arguments = f"base_url={server.base_url},give_up=99,concurrency=1"
        main(
            ["run", "--model", "openai-chat", "--model_args", arguments, "--sample_data",
             "--tasks", "mlogiqa_gen_en,mlogiqa_gen_ja,mlogiqa_mcq_en",
             "--cache_dir", str(tmp_path / "cache"),
             "--output_path", str(tmp_path / "run" / "result.json")]
        )  # fmt: skip
    shown = capsys.readouterr()
    assert not shows(shown.out + shown.err, key, 14)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    names = {path.name for path in files}
    assert {"result.json", "samples.parquet"} <= names
    assert [path for path in files if "journal" in path.parts], names
    for path in files:
        content = path.read_bytes()
        if path.suffix == ".parquet":
            import pyarrow.parquet

            content = repr(pyarrow.parquet.read_table(path).to_pylist()).encode()
        assert not shows(content.decode("utf-8", "replace"), key, 14), path


def test_the_records_of_a_call_hold_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEYS["plain"])
    with hostile(lambda call: call.send(framed(json_bytes(completion("x"))))) as server:
        backend = opened(server)  # type: ignore[arg-type]
        found = dict(backend.run([Generate("k", "hostile", (), 8)]))["k"]
    assert isinstance(found, Text | Failure)
    assert KEYS["plain"] not in repr(vars(backend))
