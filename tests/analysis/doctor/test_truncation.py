"""Prompts against a window of ten tokens."""

from __future__ import annotations

from tenbin.analysis.doctor.truncation import Overflow, judge_overflow, measure_overflow, needed
from tenbin.records import Prompt
from tests.analysis.doctor.written import prompt, reader

WINDOW = 10


def measured(*prompts: Prompt, add_bos: bool = False) -> Overflow:
    opened = reader(max_length=WINDOW, add_bos=add_bos)
    return measure_overflow(prompts, opened.tokenize(prompts), WINDOW)


def test_what_fits_exactly() -> None:
    # Eight tokens and three of the answer, of which the last is never read.
    found = measured(prompt("abcdefgh", "ab", "abc"))
    assert (found.longest, found.median, found.cut) == (10, 10, 0)
    assert judge_overflow(found) == []


def test_one_token_too_many() -> None:
    found = measured(prompt("abcdefgh", "ab", "abc"), add_bos=True)
    assert (found.longest, found.cut) == (11, 1)
    (finding,) = judge_overflow(found)
    assert (finding.code, finding.severity) == ("cut_prompts", "problem")
    assert finding.examples[0].seen == "1 of 11 tokens are cut"


def test_a_minority_that_is_cut_is_a_warning() -> None:
    found = measured(*(prompt("ab", "c", document=f"d{n}") for n in range(3)),
                     prompt("abcdefghijk", "c", document="d9"))  # fmt: skip
    (finding,) = judge_overflow(found)
    assert (finding.severity, finding.count, finding.n) == ("warning", 1, 4)


def test_generation_needs_room_for_its_answer() -> None:
    # Seven tokens and four to write.
    found = measured(prompt("abcdefg", max_gen_toks=4), prompt("abcdef", max_gen_toks=4))
    assert (found.longest, found.cut) == (11, 1)
    opened = reader(max_length=WINDOW)
    assert [needed(reading) for reading in opened.tokenize([prompt("abc", max_gen_toks=4)])] == [7]


def test_what_can_not_be_asked_at_all() -> None:
    found = measured(prompt("ab", "abcdefghijkl"), prompt("ab", max_gen_toks=WINDOW))
    assert (found.refused, found.cut) == (2, 0)
    (finding,) = judge_overflow(found)
    assert (finding.code, finding.severity) == ("no_room", "problem")
    assert "continuation_too_long" in finding.examples[0].seen


def test_examples_that_were_left_out() -> None:
    shown = prompt("ab", "c", examples=("t0", "t1", "t2"))
    fewer = prompt("ab", "c", document="d1", examples=("t0",), dropped=2)
    found = measured(shown, shown, fewer)
    assert (found.shortened, found.dropped, found.shown) == (1, 2, 7)
    (finding,) = judge_overflow(found)
    assert (finding.code, finding.severity) == ("dropped_examples", "note")
    assert finding.message == "1 of 3 documents lose 2 of 9 examples"
    assert judge_overflow(measured(fewer))[0].severity == "warning"
