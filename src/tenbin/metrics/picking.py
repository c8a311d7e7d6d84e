"""Which choice a model named that shows no likelihoods: by its first token, or in its words.

Knows labels and texts; knows no gold answer and no server.
"""

from __future__ import annotations

import re
import string
from collections.abc import Sequence

from tenbin.metrics.composition import normalise_unicode
from tenbin.metrics.extraction import MOST_CHOICES, read_flexible
from tenbin.records import Picked, Prompt


def read_named(prompt: Prompt, picked: Picked) -> int | None:
    """The index of the choice that was named; None where none was.

    A first token needs no reading. A text is read as the answers of generation tasks are, where
    choices have letters; other labels count where one of them opens the text or stands alone in it.
    """
    if picked.way == "letter_logprobs":
        return picked.choice
    labels, letters = picked.labels, string.ascii_uppercase
    if len(labels) <= MOST_CHOICES and "".join(labels) == letters[: len(labels)]:
        found = read_flexible(picked.text, prompt.language, len(labels))
        return None if found is None else letters.index(found)
    return read_label(picked.text, labels)


def read_label(text: str, labels: Sequence[str]) -> int | None:
    """The label that opens a text, or the only one that stands in it; None where neither is."""
    plain = normalise_unicode("NFKC", text).strip()
    names = [normalise_unicode("NFKC", label) for label in labels]
    opening = [at for at, name in enumerate(names) if re.match(rf"{_alone(name)}(?!\w)", plain)]
    if len(opening) == 1:
        return opening[0]
    standing = [at for at, name in enumerate(names) if re.search(_alone(name), plain)]
    return standing[0] if len(standing) == 1 else None


def _alone(name: str) -> str:
    """A label without Latin letters or digits at its ends: 「答えは2です」 holds one, `12` none."""
    return rf"(?<![0-9A-Za-z.]){re.escape(name)}(?![0-9A-Za-z]|\.[0-9])"
