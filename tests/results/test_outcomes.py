"""Samples read back give the outcomes that were written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from tenbin.records import Cell, Failure, Outcome, Prompt, Rolled, Sampling, Scores, Text
from tenbin.results.read import read_samples
from tenbin.results.samples import make_sample, outcomes_of
from tenbin.results.write import write_samples


def test_outcomes_survive_the_samples_file(tmp_path: Path) -> None:
    cell = Cell("jnli", "1.1", "0.2", 3, 1235, "@3shot@seed1235")
    answers = ((" a", " b"), ("a", "b"), 1, (), "b", (), 16, ("e1",))
    prompt = Prompt(cell, "d1", "ja", "p", "choice", "Q:", *answers)
    outcome = Outcome(cell, "d1", "acc", 1.0, "b", 1, 1, "p")
    row = make_sample(prompt, Scores((-2.0, -1.0), (1, 1), (False, True)), None, (outcome,))
    write_samples(tmp_path / "samples.parquet", [row])
    found = outcomes_of(read_samples(tmp_path / "samples.parquet"))
    assert found == {("jnli-1.1-0.2@3shot@seed1235", "acc"): [outcome]}


def test_outcomes_of_whole_texts_keep_their_length(tmp_path: Path) -> None:
    cell = Cell("pages", "1.0", "default", 0, 1234)
    prompt = Prompt(cell, "d1", "en", None, "perplexity", "a b", None, None, None, (), None, (), 0)
    outcome = Outcome(cell, "d1", "word_perplexity", -7.5, weight=2.0)
    row = make_sample(prompt, Rolled(-7.5, 3), None, (outcome,))
    assert (row.logprobs, row.token_counts) == ([-7.5], [3])
    write_samples(tmp_path / "samples.parquet", [row])
    found = outcomes_of(read_samples(tmp_path / "samples.parquet"))
    assert found == {("pages", "word_perplexity"): [outcome]}


def test_outcomes_of_drawn_answers_keep_each(tmp_path: Path) -> None:
    cell = Cell("riddles", "1.0", "default", 0, 1234)
    answers = (None, None, None, ("7",), "7", (), 8)
    prompt = Prompt(
        cell, "d1", "en", None, "generate", "Q", *answers, sampling=Sampling(0.8), repeats=2
    )
    outcome = Outcome(cell, "d1", "exact_match", 0.5, "7", values=(1.0, 0.0), answers=("7", None))
    drawn = (Text("7", "end", 1), Text("?", "stop", 2))
    row = make_sample(prompt, drawn[0], None, (outcome,), drawn[1:])
    assert [one.text for one in row.samples or ()] == ["7", "?"]
    write_samples(tmp_path / "samples.parquet", [row])
    found = outcomes_of(read_samples(tmp_path / "samples.parquet"))
    assert found == {("riddles", "exact_match"): [outcome]}


def test_several_contexts_and_right_choices_are_stored(tmp_path: Path) -> None:
    cell = Cell("wino", "1.0", "default", 0, 0)
    common: Any = {
        "cell": cell, "language": "en", "group": None, "kind": "choice", "references": (),
        "stop": (), "max_gen_toks": 1,
    }  # fmt: skip
    contexts = ("who a", "who b")
    several = Prompt(
        document="1", text="who a", continuations=(" came.",), choices=contexts, gold=1,
        target="came.", contexts=contexts, **common,
    )  # fmt: skip
    golds = Prompt(
        document="2", text="which", continuations=(" a", " b"), choices=("a", "b"), gold=0,
        golds=(0, 1), target="a", **common,
    )  # fmt: skip
    one, two = Scores((-1.5,), (2,), (True,)), Scores((-2.5,), (3,), (False,))
    outcome = [Outcome(cell, "1", "acc", 1.0)]
    path = tmp_path / "samples.parquet"
    made = [
        make_sample(several, one, None, outcome, (two,)),
        make_sample(golds, Scores((-1.0, -2.0), (1, 1), (True, False)), None, outcome),
        make_sample(several, Failure("lost", "no answer"), None, [], (two,)),
    ]
    write_samples(path, made)
    first, second, failed = read_samples(path)
    assert [first, second, failed] == made
    assert (first.contexts, first.golds) == (list(contexts), None)
    assert (first.logprobs, first.token_counts, first.greedy) == (
        [-1.5, -2.5],
        [2, 3],
        [True, False],
    )
    assert (second.contexts, second.golds) == (None, [0, 1])
    assert failed.logprobs is None and failed.failure_kind == "lost"
    table = pq.read_table(path).drop_columns(["contexts", "golds"])
    pq.write_table(table, path)
    assert [row.contexts for row in read_samples(path)] == [None] * 3, (
        "as earlier versions wrote it"
    )
