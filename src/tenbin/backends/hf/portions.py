"""Portions of requests with their tokens: they are encoded while others are computed.

The same pieces are encoded whichever thread does it, and each request's tokens depend on its own
text alone, so answers are the same with and without a second thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Generic, TypeVar

from tenbin.backends.base import Encoding
from tenbin.backends.text.encoding import (
    EncodedPrompt,
    EncodedScore,
    Row,
    encode_prompts,
    encode_rolling,
    encode_scores,
)
from tenbin.backends.text.tokenizer import HfTokenizer
from tenbin.records import Failure, Generate, Request, Rolling, Score

_PORTION = 4096
"""Requests taken at a time: bounds the memory of their token ids."""
_PIECE = 256
"""Requests encoded at a time: so long one thread may have to wait for the other."""

Asked = TypeVar("Asked", bound=Request)
Found = TypeVar("Found")


class Tokens(Generic[Asked, Found]):
    """The tokens of requests, encoded piece by piece by whichever thread comes first."""

    def __init__(
        self,
        requests: Sequence[Asked],
        encode: Callable[[Sequence[Asked]], Iterable[Found | Failure]],
    ) -> None:
        """Nothing is encoded yet.

        Args:
            requests: The requests.
            encode: Gives the tokens of some of them, in order.
        """
        self.requests = requests
        self._encode = encode
        self._pieces: dict[int, list[Found | Failure]] = {}
        """By the place of their first request."""
        self._lock = threading.Lock()

    def advance(self) -> bool:
        """Encode the first piece that is missing; whether there was one."""
        for start in range(0, len(self.requests), _PIECE):
            if start not in self._pieces:
                self._piece(start)
                return True
        return False

    def between(self, start: int, stop: int) -> list[Found | Failure]:
        """The tokens of these requests; the first is the first of a piece."""
        starts = range(start, min(stop, len(self.requests)), _PIECE)
        return [found for at in starts for found in self._piece(at)][: stop - start]

    def _piece(self, start: int) -> list[Found | Failure]:
        with self._lock:
            if start not in self._pieces:
                some = self.requests[start : start + _PIECE]
                self._pieces[start] = list(self._encode(some))
            return self._pieces[start]


class Portion:
    """Requests that are answered one after the other, by kind."""

    def __init__(
        self,
        requests: Sequence[Request],
        known: Collection[str],
        tokenizer: HfTokenizer,
        encoding: Encoding,
    ) -> None:
        """Sort requests by kind.

        Args:
            requests: All of the portion.
            known: Keys of those that are answered already.
            tokenizer: The model's.
            encoding: How prompt and answer are encoded.
        """
        self.known = known
        self.scores = Tokens[Score, EncodedScore](
            [one for one in requests if isinstance(one, Score)],
            partial(encode_scores, tokenizer, encoding),
        )
        self.rolling = Tokens[Rolling, tuple[Row, ...]](
            [one for one in requests if isinstance(one, Rolling)],
            partial(encode_rolling, tokenizer),
        )
        # A text is made of whole tokens: unlike a sum of logarithms, it does not depend on a
        # batch's last bits unless two tokens are equally likely to the last digits. So known
        # texts are left out, while known scores keep their places in the batches.
        self.texts = Tokens[Generate, EncodedPrompt](
            [one for one in requests if isinstance(one, Generate) and one.key not in known],
            partial(encode_prompts, tokenizer),
        )

    @property
    def is_scored(self) -> bool:
        """Whether anything is to be scored."""
        scored = (one.key for part in (self.scores, self.rolling) for one in part.requests)
        return any(key not in self.known for key in scored)

    def encode_until(self, enough: Callable[[], bool]) -> None:
        """Encode ahead of need until that is enough, or all is there.

        Nothing of a portion that was begun earlier: most of its tokens may not be needed.
        """
        if not self.known:
            for tokens in (self.scores, self.rolling, self.texts):
                while not enough() and tokens.advance():
                    pass


class PortionReader:
    """Reads requests portion by portion, and encodes ahead if asked to."""

    def __init__(
        self,
        requests: Iterable[Request],
        known: Container[str],
        tokenizer: HfTokenizer,
        encoding: Encoding,
    ) -> None:
        """Nothing is read yet; for the arguments see `Portion`."""
        self._portions = _portions(iter(requests), known, tokenizer, encoding)
        self._current: Portion | None = None
        self._next: Portion | None = None
        self._thread: threading.Thread | None = None
        self._stopped = threading.Event()

    def __iter__(self) -> Iterator[Portion]:
        """All portions, each with whatever was encoded of it ahead."""
        while True:
            self.stop()
            portion, self._next = self._next, None
            portion = portion or next(self._portions, None)
            if portion is None:
                return
            self._current = portion
            yield portion

    def encode_ahead(self) -> None:
        """Encode what is left of this portion, and the one after it, in another thread."""
        self._next = self._next or next(self._portions, None)
        if self._thread is None:
            self._stopped.clear()
            ahead = [one for one in (self._current, self._next) if one is not None]
            self._thread = threading.Thread(
                target=self._encode, args=(ahead,), name="tenbin-encode"
            )
            self._thread.start()

    def stop(self) -> None:
        """End the thread, which takes as long as a piece at most."""
        if self._thread is not None:
            self._stopped.set()
            self._thread.join()
            self._thread = None

    def _encode(self, portions: Sequence[Portion]) -> None:
        try:
            for portion in portions:
                portion.encode_until(self._stopped.is_set)
        except BaseException:
            # Of any kind. The piece is missing, so the main thread meets the same error when it
            # comes to it, and raises it in its place.
            return


def _portions(
    requests: Iterator[Request], known: Container[str], tokenizer: HfTokenizer, encoding: Encoding
) -> Iterator[Portion]:
    while some := list(islice(requests, _PORTION)):
        here = frozenset(request.key for request in some if request.key in known)
        yield Portion(some, here, tokenizer, encoding)
