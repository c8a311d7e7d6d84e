"""What is counted of a cell, by hand."""

from __future__ import annotations

import math

from tenbin.pipeline.cell_record import choices_by, prompts_hash
from tenbin.pipeline.judge import CellCounts
from tenbin.pipeline.notices import label_notices, window_notices
from tenbin.records import Failure, Picked, Scores, Text
from tests.metrics.samples import CELL, make_prompt

WEIGHED = Scores((-1.0, -2.0), (1, 1), (True, False))
CUT = Scores((-1.0, -2.0), (1, 1), (True, False), truncated=7)
FAILED = Failure("server", "HTTP 500")


def test_windows_and_failures() -> None:
    counts = CellCounts()
    counts.add(make_prompt(), (WEIGHED,), None)
    counts.add(make_prompt(dropped_examples=2), (CUT,), None)
    counts.add(make_prompt(dropped_examples=1), (FAILED,), None)
    counts.add(make_prompt(), (WEIGHED,), FAILED)
    counts.add(make_prompt(), (Text("a", "end", 1), Failure("timeout", "late"), FAILED), None)
    assert (counts.documents, counts.shortened, counts.dropped_examples, counts.truncated) == (
        5, 2, 3, 1,
    )  # fmt: skip
    assert dict(counts.failures) == {"server: HTTP 500": 2, "timeout: late": 1}
    assert window_notices({CELL: counts}) == [
        "sample: 3 examples left out of 2 documents to fit the window",
        "sample: 1 documents were cut from the left to fit the window",
    ]
    assert window_notices({CELL: CellCounts()}) == []


def test_ways_of_choosing() -> None:
    counts = CellCounts()
    assert choices_by(counts) is None and counts.letter_share is None
    counts.add(make_prompt(), (Picked(0, "letter_logprobs", "A", (math.log(0.2), None)),), None)
    counts.add(make_prompt(), (Picked(None, "generated", "?"),), None)
    counts.add(make_prompt(), (Picked(1, "letter_logprobs", "B", (math.log(0.3), -50.0)),), None)
    assert choices_by(counts) == (
        "letter (read out of generated text) and letter (first-token log-probabilities)"
    )
    assert counts.letter_share is not None and math.isclose(counts.letter_share, 0.25)
    (notice,) = label_notices({CELL: counts})
    assert notice.startswith("sample: the labels of the choices hold 25% of the first token's")
    counts.add(make_prompt(), (WEIGHED,), None)
    assert str(choices_by(counts)).startswith("likelihoods of their texts and letter (read")


def test_a_hash_of_what_was_asked_never_changes() -> None:
    """Stored results hold it: sha256 over `document NUL key`, lines joined by line feeds."""
    assert prompts_hash([("a", "1"), ("b", "2")]) == "d9c4a7822ba0d4b2510d72195cd5054c"
    assert prompts_hash([]) == "e3b0c44298fc1c149afbf4c8996fb924"
