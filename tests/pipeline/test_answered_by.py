"""result.json says which engine gave the answers, also where no model was loaded."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from tenbin.backends.scripted import ScriptedBackend
from tenbin.errors import BackendError
from tenbin.records import Request, Response
from tests.pipeline.test_run import Heard, evaluate

pytestmark = pytest.mark.usefixtures("cache")
ENTRIES = ("model", "engine", "answered_by", "fingerprint", "warnings", "results")


class Loading(ScriptedBackend):
    """Knows how it answers, and how large it is, once it has answered."""

    def __init__(self, mode: str = "tree", **options: Any) -> None:
        super().__init__(fingerprint="loading", **options)
        self._mode = mode

    def describe(self) -> Mapping[str, Any]:
        described = dict(super().describe())
        ran = self.answered > 0
        described["engine"] = {"name": "loading", "mode": self._mode if ran else "not run"}
        return {**described, "parameters": 135} if ran else described

    def run(self, requests: Sequence[Request]) -> Iterator[tuple[str, Response]]:
        assert requests, "nothing is left to ask: the model must not be loaded"
        return super().run(requests)


def entries(document: Mapping[str, Any]) -> Any:
    return json.loads(json.dumps({name: document[name] for name in ENTRIES}))


def test_a_run_from_the_journal_names_the_engine_of_the_first() -> None:
    first = evaluate(Loading(), limit=3)
    assert first.document["engine"] == {"name": "loading", "mode": "tree"}
    again = evaluate(Loading(raise_after=0), limit=3)
    assert again.document["answers_from_journal"] > 0
    assert again.document["model"]["parameters"] == 135
    assert entries(again.document) == entries(first.document)
    assert entries(evaluate(Loading(), limit=3, no_cache=True).document) == entries(first.document)


def test_a_run_that_goes_on_ends_with_the_same_entries() -> None:
    whole = evaluate(Loading(), limit=3, no_cache=True)
    with pytest.raises(BackendError):
        evaluate(Loading(raise_after=5), limit=3)
    resumed = evaluate(Loading(), limit=3)
    assert resumed.document["answers_from_journal"] == 5
    assert entries(resumed.document) == entries(whole.document)


def test_several_engines_are_all_named_with_their_answers() -> None:
    with pytest.raises(BackendError):
        evaluate(Loading("plain", raise_after=5), limit=3)
    heard = Heard()
    mixed = evaluate(Loading("tree"), limit=3, listener=heard).document
    counts = {one["engine"]["mode"]: one["answers"] for one in mixed["answered_by"]}
    assert counts["plain"] == 5 and counts["tree"] > 5
    line = next(line for line in heard.messages if "several engines" in line)
    assert "5 by loading plain" in line and line in mixed["warnings"]
    assert entries(evaluate(Loading("rows"), limit=3).document) == entries(mixed)
