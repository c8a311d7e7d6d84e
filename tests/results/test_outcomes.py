"""Samples read back give the outcomes that were written."""

from __future__ import annotations

from pathlib import Path

from tenbin.records import Cell, Outcome, Prompt, Rolled, Sampling, Scores, Text
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
