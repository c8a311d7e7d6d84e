"""What is written is read back as it was: files, arguments, answers, stored runs."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import tempfile
import unicodedata
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tenbin.analysis.consistency.alignment import read_alignment
from tenbin.backends.openai.conversation import (
    read_conversation,
    variables_of,
    write_conversation,
)
from tenbin.config import build_config, parse_model_args, read_run_file
from tenbin.data.readers.formats import RowFile
from tenbin.files.json_text import DEEPEST, JsonError, parse_json
from tenbin.files.yaml_text import read_yaml, write_yaml
from tenbin.journal.payloads import decode, encode
from tenbin.journal.store import Journal
from tenbin.pipeline.record import run_file
from tenbin.records import Picked, Response, Rolled, Scores, Text, Usage
from tenbin.results.migrate import migrate
from tenbin.results.progress import PROGRESS, write_progress
from tenbin.results.read import read_run, read_samples
from tenbin.results.schema import Sample
from tenbin.results.write import write_samples
from tenbin.sandbox.printable import brief, visible
from tenbin.statistics.alignment import natural_order
from tests.report.made_run import choice_row, config, result, write

quick = settings(max_examples=60, deadline=None, derandomize=True)

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
names = st.from_regex(r"[a-z_][a-z0-9_]{0,9}", fullmatch=True)
counts = st.integers(0, 10**9)
numbers = st.floats(allow_nan=False, allow_infinity=False)
shares = st.floats(0, 1)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | numbers | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
usages = st.none() | st.builds(Usage, counts, counts, counts, counts)


@st.composite
def scores(draw: st.DrawFn) -> Scores:
    rows = draw(st.lists(st.tuples(numbers, counts, st.booleans()), min_size=1, max_size=4))
    logprobs, lengths, greedy = zip(*rows, strict=True)
    return Scores(logprobs, lengths, greedy, draw(counts), draw(usages))


answers: st.SearchStrategy[Response] = st.one_of(
    scores(),
    st.builds(Rolled, numbers, counts, usages),
    st.builds(
        Text,
        text=st.text(max_size=30),  # a server's text may hold anything that Python can
        finish=st.sampled_from(["stop", "end", "length"]),
        token_count=counts,
        truncated=counts,
        thinking=texts,
        thinking_tokens=counts,
        thinking_end=st.sampled_from(["none", "closed", "budget", "open"]),
        usage=usages,
    ),
    st.builds(
        Picked,
        choice=st.none() | st.integers(0, 25),
        way=st.sampled_from(["letter_logprobs", "generated"]),
        text=texts,
        logprobs=st.lists(st.none() | numbers, max_size=4).map(tuple),
        usage=usages,
        labels=st.lists(texts, max_size=4).map(tuple),
        added=texts,
    ),
)


@quick
@given(st.dictionaries(names, st.text("abc=./:~ é天", min_size=1).map(str.strip), min_size=1))
def test_model_arguments(arguments: dict[str, str]) -> None:
    written = ",".join(f" {name} = {value} " for name, value in arguments.items())
    assert parse_model_args(written) == arguments


@quick
@given(
    st.fixed_dictionaries(
        {"tasks": st.lists(names, min_size=1, max_size=3)},
        optional={
            "model_args": st.dictionaries(
                names, texts.filter(lambda text: "\0" not in text) | counts | st.booleans()
            ),
            "num_fewshot": st.lists(st.integers(0, 9), min_size=1, max_size=3),
            "limit": st.lists(st.integers(1, 99) | st.floats(0.01, 0.99), min_size=1, max_size=2),
            "seed": st.integers(-(10**9), 10**9),
            "batch_size": st.just("auto") | st.integers(1, 64),
            "gen_kwargs": st.fixed_dictionaries({"temperature": st.floats(0, 2)}),
            "thinking": st.booleans() | st.just(["<a>", "</a>"]),
            "repeats": st.integers(1, 9),
            "sample_data": st.booleans(),
            "system_prompt": texts.filter(lambda text: "\0" not in text),
            "seeds": st.integers(1, 4),
        },
    )
)
def test_a_stored_run_file_is_the_same_run(given_: dict[str, Any]) -> None:
    wanted = build_config(given_)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.yaml"
        path.write_text(write_yaml(run_file(wanted)), encoding="utf-8")
        assert build_config(read_run_file(path)) == wanted.replaced(output_path=None)


@quick
@given(st.dictionaries(texts, values))
def test_json_and_yaml_and_progress(tree: dict[str, Any]) -> None:
    written = json.dumps(tree)
    assert parse_json(written, strict=True) == tree
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file.yaml"
        path.write_text(write_yaml(tree), encoding="utf-8")
        assert read_yaml(path) == tree
        write_progress(Path(folder), tree)
        assert json.loads((Path(folder) / PROGRESS).read_text(encoding="utf-8")) == tree


@quick
@given(st.integers(1, 2 * DEEPEST), st.booleans())
def test_json_is_taken_up_to_a_depth(depth: int, maps: bool) -> None:
    text = '{"a":' * depth + "1" + "}" * depth if maps else "[" * depth + "]" * depth
    try:
        assert json.dumps(parse_json(text), separators=(",", ":")) == text
        taken = True
    except JsonError:
        taken = False
    assert taken == (depth <= DEEPEST)


@quick
@given(answers)
def test_an_answer_in_the_journal(answer: Response) -> None:
    assert decode(*encode(answer)) == answer


@settings(max_examples=15, deadline=None, derandomize=True)
@given(st.dictionaries(st.from_regex(r"[0-9a-f]{32}", fullmatch=True), answers, max_size=8))
def test_a_journal_gives_back_what_it_was_given(given_: dict[str, Response]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        journal = Journal(Path(folder), "model")
        journal.write(given_.items())
        journal.close()
        journal = Journal(Path(folder), "model")
        assert journal.read(given_) == given_
        assert journal.damaged == 0
        journal.close()


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.lists(st.tuples(texts, texts, st.none() | shares), min_size=1, max_size=4), values)
def test_a_stored_run(documents: list[tuple[str, str, float | None]], noted: Any) -> None:
    rows = [
        choice_row("made", at, prompt=prompt, target=target, document=f"d{at}")
        for at, (prompt, target, _) in enumerate(documents)
    ]
    for row, (_, answer, value) in zip(rows, documents, strict=True):
        row["outcomes"][0].update(value=value, answer=answer)
    document = result({"made": config("made")}, rows, model={"model": "made", "noted": noted})
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, document, rows)
        stored = read_run(folder)
        assert stored.result.to_json() == {
            **migrate(json.loads(json.dumps(document)), stored.version),
            "samples": stored.document["samples"],
        }
        for row, found in zip(rows, stored.sample_rows(), strict=True):
            assert {name: found[name] for name in row if name != "outcomes"} == {
                name: value for name, value in row.items() if name != "outcomes"
            }
            first = found["outcomes"][0]
            assert {key: first[key] for key in row["outcomes"][0]} == row["outcomes"][0]


@quick
@given(st.lists(texts, max_size=4), st.none() | numbers, st.lists(numbers, max_size=3))
def test_a_row_of_samples(words: list[str], value: float | None, logprobs: list[float]) -> None:
    row = choice_row("made", 0, choices=words, logprobs=logprobs, generated="".join(words))
    row["outcomes"][0]["value"] = value
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "samples.parquet"
        write_samples(path, [Sample.from_json(row)] * 2)
        first, second = read_samples(path)
    assert first == second
    assert first.choices == words and first.logprobs == logprobs
    assert first.generated == "".join(words) and first.outcomes[0].value == value


@quick
@given(st.lists(st.dictionaries(texts, values, min_size=1), min_size=1, max_size=4))
def test_rows_of_json(rows: list[dict[str, Any]]) -> None:
    lines = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "rows.jsonl").write_text(lines, encoding="utf-8", newline="")
        (folder / "rows.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
        for path in folder.iterdir():
            assert [dict(row.values) for row in RowFile(path).rows()] == rows


cells = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12).filter(
    lambda cell: not re.fullmatch(r"[\s+-]*([\d_.eE+-]+|inf|infinity|nan)\s*", cell, re.IGNORECASE)
)


@quick
@given(st.lists(st.lists(cells, min_size=2, max_size=2), min_size=1, max_size=4))
def test_rows_of_csv(rows: list[list[str]]) -> None:
    file = io.StringIO()
    csv.writer(file, quoting=csv.QUOTE_ALL).writerows([["a", "b"], *rows])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        path.write_text(file.getvalue(), encoding="utf-8", newline="")
        assert [list(row.values.values()) for row in RowFile(path).rows()] == rows


@quick
@given(
    st.lists(st.tuples(st.sampled_from(["user", "assistant", "system"]), texts), min_size=1),
    st.dictionaries(names, st.booleans() | texts | counts),
)
def test_a_conversation(turns: list[tuple[str, str]], variables: dict[str, Any]) -> None:
    messages = [{"role": role, "content": content} for role, content in turns]
    prompt = write_conversation(messages, variables)
    assert read_conversation(prompt) == messages
    assert variables_of(prompt) == variables


@quick
@given(
    st.dictionaries(names, st.lists(st.none() | st.integers(0, 99) | names, max_size=6), max_size=4)
)
def test_an_alignment(rows: dict[str, list[int | str | None]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "alignment.json"
        path.write_text(json.dumps({"note of people": "x", **rows}), encoding="utf-8")
        found = read_alignment(path)
    assert found == {
        language: tuple(f"row-{item}" if isinstance(item, int) else item for item in items)
        for language, items in rows.items()
    }


@quick
@given(st.text())
def test_what_is_shown_can_be_printed(text: str) -> None:
    shown = visible(text)
    shown.encode()
    assert visible(shown) == shown
    assert all(one in "\n\t" or unicodedata.category(one) not in ("Cc", "Cs") for one in shown)
    assert len(brief(text * 9, 20)) < 20 * 10 + 40


@quick
@given(st.lists(st.integers(0, 10**30), max_size=8))
def test_natural_order_is_that_of_numbers(found: list[int]) -> None:
    named = sorted((f"row-{number}" for number in found), key=natural_order)
    assert named == [f"row-{number}" for number in sorted(found)]
