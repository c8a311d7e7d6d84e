"""Requests: how a prompt becomes requests with content keys, and the queue that holds them on disk.

Two prompts that read the same make one request, whatever cells they belong to. A request is open
until it is answered, which happens exactly once.
"""

from __future__ import annotations

import hashlib
import json
import pickle
import sqlite3
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import fields
from operator import attrgetter
from typing import Any

from tenbin.files.disk_list import CHUNK, chunks, marks
from tenbin.records import Generate, Prompt, Request, Rolling, Sampling, Score, Thinking

QUEUE_TABLES = (
    "CREATE TABLE requests (id INTEGER PRIMARY KEY, key TEXT UNIQUE NOT NULL, "
    "kind INTEGER NOT NULL, work REAL NOT NULL, text BLOB NOT NULL, rest BLOB NOT NULL)",
    # Apart from the texts: whoever settles a request must not write its text again. By number and
    # not by key: keys are hashes, and each would be on a page of its own.
    "CREATE TABLE open (id INTEGER PRIMARY KEY, work REAL NOT NULL)",
    # Requests of prompts that are held back: neither open nor answered.
    "CREATE TABLE held (id INTEGER PRIMARY KEY, work REAL NOT NULL)",
    "CREATE TABLE joined (id INTEGER PRIMARY KEY, known INTEGER NOT NULL)",
    "CREATE TABLE walk (id INTEGER PRIMARY KEY, request INTEGER NOT NULL)",
)


def requests_of(prompt: Prompt) -> list[Request]:
    """What a prompt asks: one request, or one for each input or each answer that is sampled."""
    if prompt.kind == "perplexity":
        return [roll_request(prompt.text)]
    if prompt.contexts and prompt.continuations is not None:
        return [score_request(context, prompt.continuations) for context in prompt.contexts]
    if prompt.continuations is not None:
        return [score_request(prompt.text, prompt.continuations)]
    if prompt.sampling is None:
        return [generate_request(prompt.text, prompt.stop, prompt.max_gen_toks, prompt.thinking)]
    return [
        sample_request(
            prompt.text,
            prompt.stop,
            prompt.max_gen_toks,
            prompt.sampling,
            prompt.cell.seed,
            sample,
            prompt.thinking,
        )
        for sample in range(prompt.repeats)
    ]


def unconditional_request(prompt: Prompt) -> Score | None:
    """The prompt's choices without the prompt; None where it has none."""
    if prompt.continuations is None or prompt.choices is None:
        return None
    if not prompt.contexts:
        return score_request("", prompt.continuations)
    # Of several inputs the choices stand before the one continuation, `target`.
    delimiter = prompt.continuations[0].removesuffix(prompt.target or "")
    return score_request("", tuple(delimiter + choice for choice in prompt.choices))


def roll_request(text: str) -> Rolling:
    """A Rolling with its key."""
    return Rolling(content_key("roll", text), text)


def score_request(prompt: str, continuations: tuple[str, ...]) -> Score:
    """A Score with its key."""
    return Score(content_key("score", prompt, continuations), prompt, continuations)


def generate_request(
    prompt: str, stop: tuple[str, ...], max_gen_toks: int, thinking: Thinking | None = None
) -> Generate:
    """A greedy Generate with its key."""
    key = content_key("generate", prompt, stop, max_gen_toks, *_about(thinking))
    return Generate(key, prompt, stop, max_gen_toks, thinking=thinking)


def sample_request(
    prompt: str,
    stop: tuple[str, ...],
    max_gen_toks: int,
    sampling: Sampling,
    run_seed: int,
    sample: int,
    thinking: Thinking | None = None,
) -> Generate:
    """A Generate whose answer is sampled, with its key.

    Its seed rests on the run's seed, the prompt and the answer's number alone: under a longer limit
    the same text goes on, more repeats leave the first ones as they are, and temperatures are
    compared on the same random numbers.
    """
    seed = int(content_key("draw", run_seed, prompt, sample)[:16], 16) >> 1
    settings = [sampling.temperature, sampling.top_p, sampling.top_k]
    key = content_key("generate", prompt, stop, max_gen_toks, settings, seed, *_about(thinking))
    return Generate(key, prompt, stop, max_gen_toks, sampling, seed, sample, thinking)


def _about(thinking: Thinking | None) -> tuple[object, ...]:
    """The part of a key about thinking: empty without any, so that older answers are found."""
    if thinking is None:
        return ()
    return ({"thinking": [thinking.opening, thinking.closing, thinking.budget]},)


def work_of(request: Request) -> float:
    """A rough measure of a request's cost, so that the estimate of the time left is fair."""
    if isinstance(request, Score):
        return float(sum(len(request.prompt) + len(c) for c in request.continuations))
    if isinstance(request, Rolling):
        return float(len(request.text))
    thinking = min(request.thinking.budget, 512) if request.thinking else 0
    return float(len(request.prompt) + 20 * (min(request.max_gen_toks, 64) + thinking))


def content_key(*content: object) -> str:
    """A hash of what is asked: equal for equal questions, in any process."""
    written = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(written.encode("utf-8", "surrogatepass")).hexdigest()[:32]


_GENERATE_FIELDS = [one.name for one in fields(Generate) if one.name not in ("key", "prompt")]
_generate_values = attrgetter(*_GENERATE_FIELDS)
_SCORE_KIND = Score("", "", ()).place[0]
_ROLLING_KIND = Rolling("", "").place[0]


def pack_text(text: str) -> bytes:
    """UTF-8 bytes, which sort as the text does; lone surrogates are kept."""
    return text.encode("utf-8", "surrogatepass")


def unpack_text(packed: bytes) -> str:
    """The text of `pack_text`."""
    return packed.decode("utf-8", "surrogatepass")


def _pack(request: Request) -> bytes:
    """Everything of a request but its key and its text, which have columns of their own."""
    rest: Any = None
    if isinstance(request, Score):
        rest = request.continuations
    elif isinstance(request, Generate):
        rest = _generate_values(request)
    return pickle.dumps(rest, pickle.HIGHEST_PROTOCOL)


def _unpack(kind: int, key: str, text: str, packed: bytes) -> Request:
    """The request of a row; `kind` is the first part of its place."""
    rest = pickle.loads(packed)
    if kind == _SCORE_KIND:
        return Score(key, text, rest)
    if kind == _ROLLING_KIND:
        return Rolling(key, text)
    return Generate(key, text, **dict(zip(_GENERATE_FIELDS, rest, strict=True)))


class RequestQueue:
    """Requests by key, in order of first use."""

    def __init__(self, database: sqlite3.Connection) -> None:
        """A queue in a database that has its tables."""
        self._database = database

    def put(self, requests: Iterable[Request]) -> dict[str, int]:
        """Add requests; one that is there already is not asked again.

        Returns:
            The number of each by its key.
        """
        numbers: dict[str, int] = {}
        for chunk in chunks(requests):
            last = self._database.execute("SELECT max(id) FROM requests").fetchone()[0]
            self._database.executemany(
                "INSERT OR IGNORE INTO requests (key, kind, work, text, rest) "
                "VALUES (?, ?, ?, ?, ?)",
                ((r.key, r.place[0], work_of(r), pack_text(r.place[1]), _pack(r)) for r in chunk),
            )
            self._database.execute(
                "INSERT INTO open SELECT id, work FROM requests WHERE id > ?", (last or 0,)
            )
            find = "SELECT key, id FROM requests WHERE"
            found = dict(self._database.execute(f"{find} id > ?", (last or 0,)).fetchall())
            # The others were there before. They are looked up by key, which takes longer.
            if earlier := [request.key for request in chunk if request.key not in found]:
                found.update(self._database.execute(f"{find} key IN ({marks(earlier)})", earlier))
            numbers |= found
        return numbers

    def __len__(self) -> int:
        """How many there are, open or not, without those that are held back."""
        return self._count("requests") - self._count("held")

    def hold_back(self) -> None:
        """Hold back all that are open: none is asked until it is released."""
        self._database.execute("INSERT INTO held SELECT id, work FROM open")
        self._database.execute("DELETE FROM open")

    def release(self, requests: str, values: Sequence[Any]) -> None:
        """Open requests that are held back.

        Args:
            requests: A query for their numbers; those that are not held back stay as they are.
            values: What the query's marks stand for.
        """
        held = f"FROM held WHERE id IN ({requests})"
        self._database.execute(f"INSERT INTO open SELECT id, work {held}", values)
        self._database.execute(f"DELETE {held}", values)

    def __contains__(self, key: str) -> bool:
        """Whether such a request was ever put here."""
        found = self._database.execute("SELECT 1 FROM requests WHERE key = ?", (key,))
        return found.fetchone() is not None

    def left(self) -> tuple[int, float]:
        """How many are open, and what they cost together, roughly."""
        count, work = self._database.execute("SELECT count(*), total(work) FROM open").fetchone()
        return count, work

    def _count(self, table: str) -> int:
        count: int = self._database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
        return count

    def numbered_keys(self) -> Iterator[dict[str, int]]:
        """The keys of open requests with their numbers, many at a time, in the order of keys.

        So they stand in a journal too, and whoever looks all of them up reads each of its pages
        once.
        """
        last = ""
        while rows := self._database.execute(
            # A cross join keeps to the order of the keys' index: nothing is sorted.
            "SELECT requests.id, key FROM requests CROSS JOIN open USING (id) WHERE key > ? "
            "ORDER BY key LIMIT ?",
            (last, CHUNK),
        ).fetchall():
            last = rows[-1][1]
            yield {key: number for number, key in rows}

    def open(self, also: Sequence[int] = (), by_prefix: bool = False) -> Iterator[Request]:
        """Those that are open, with those of some numbers, which are known.

        What is settled on the way changes nothing: all are given that were open when it began.

        Args:
            also: Numbers of requests that are settled.
            by_prefix: Give them in the order of their places, a walk through the tree of their
                prefixes; else in order of first use.
        """
        self._database.execute("DELETE FROM joined")
        self._database.executemany("INSERT INTO joined VALUES (?, 1)", ((one,) for one in also))
        self._database.execute("INSERT INTO joined SELECT id, 0 FROM open")
        return self._walk() if by_prefix else self._joined()

    @property
    def known(self) -> Container[str]:
        """Keys of the requests that the last call of `open` gave by their numbers."""
        return _Known(self._database)

    def _joined(self) -> Iterator[Request]:
        last = 0
        while rows := self._database.execute(
            "SELECT id FROM joined WHERE id > ? ORDER BY id LIMIT ?", (last, CHUNK)
        ).fetchall():
            first, last = rows[0][0], rows[-1][0]
            between = "JOIN joined USING (id) WHERE id >= ? AND id <= ? ORDER BY id"
            yield from self._read(between, (first, last))

    def _walk(self) -> Iterator[Request]:
        self._database.execute("DELETE FROM walk")
        self._database.execute(
            "INSERT INTO walk (request) SELECT id FROM requests JOIN joined USING (id) "
            "ORDER BY kind, text, key"
        )
        for start in range(0, self._count("walk"), CHUNK):
            yield from self._read(
                "JOIN walk ON walk.request = requests.id WHERE walk.id > ? AND walk.id <= ? "
                "ORDER BY walk.id",
                (start, start + CHUNK),
            )

    def _read(self, condition: str, values: Sequence[Any]) -> list[Request]:
        rows = self._database.execute(
            f"SELECT kind, requests.key, text, rest FROM requests {condition}", values
        )
        return [_unpack(kind, key, unpack_text(text), rest) for kind, key, text, rest in rows]

    def settle(self, keys: Sequence[str]) -> dict[str, float]:
        """Note that requests are answered.

        Returns:
            The work of each; a key that is not among them was not open.
        """
        settled: dict[str, float] = {}
        for chunk in chunks(keys):
            rows = self._database.execute(
                "SELECT id, key, open.work FROM requests JOIN open USING (id) "
                f"WHERE key IN ({marks(chunk)})",
                chunk,
            ).fetchall()
            settled |= {key: work for _, key, work in rows}
            self.settle_numbers([number for number, _, _ in rows])
        return settled

    def settle_numbers(self, numbers: Sequence[int]) -> None:
        """Note that the requests of these numbers are answered; the more at a time, the better."""
        for chunk in chunks(sorted(numbers)):
            self._database.execute(f"DELETE FROM open WHERE id IN ({marks(chunk)})", chunk)


class _Known(Container[str]):
    """Keys looked up on disk: there may be more of them than memory should hold."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def __contains__(self, key: object) -> bool:
        found = self._database.execute(
            "SELECT 1 FROM requests JOIN joined USING (id) WHERE key = ? AND known", (key,)
        )
        return found.fetchone() is not None
