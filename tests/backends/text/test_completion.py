"""Thoughts in the engine: worked out by hand, and the same in every way of writing."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from tenbin.backends.hf.backend import HfBackend
from tenbin.backends.hf.generation.generator import GenerationSupport, Generator
from tenbin.backends.hf.generation.scheduler import Scheduler
from tenbin.backends.hf.generation.transformers_generate import TransformersGenerate
from tenbin.backends.text.completion import ThinkingCompletion
from tenbin.backends.text.encoding import EncodedPrompt
from tenbin.backends.text.stop_criteria import Detokenizer, Job, StopCriteria
from tenbin.backends.text.thinking import cut_at_stops, split_thinking
from tenbin.records import Generate, Sampling, Text, Thinking
from tests.backends.chained import chained
from tests.backends.reference import greedy_ids
from tests.backends.tiny import make_model

CLOSED = ["\n", "</think>", "\n\n", "B", ".", "!"]
"""What closes a thought here, and the answer `B.!` after it."""
CHAINS = [
    CLOSED,
    ["Q", "<think>", "x", ".", "!"],
    ["open", "a", "b", "</", "think", ">C", "D"],
    ["endless", "w", "w"],
    ["plain", "p", "q", "p2"],
    ["halt", "<th", "ink>", "z"],
]
THINK = Thinking(budget=6)
Way_ = tuple[str, int | str, bool]
WAYS: list[Way_] = [
    ("own", "auto", False),
    ("own", 1, False),
    ("own", 3, True),
    ("own", "auto", True),
    ("library", "auto", False),
    ("library", 1, False),
]


@pytest.fixture(scope="module")
def model() -> tuple[Any, Any]:
    return chained(CHAINS)


@pytest.fixture(params=WAYS, ids=str)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Way_]:
    """The own loop or generate, batches of every size, steps begun ahead as on a GPU or not."""
    name, _, ahead = request.param
    honest = Scheduler.__init__

    def prepared(self: Scheduler, *given: Any, **named: Any) -> None:
        honest(self, *given, **named)
        self._lookahead = ahead

    monkeypatch.setattr(Scheduler, "__init__", prepared)
    # The proof wants logits that tell prompts apart, which chains of pieces do not.
    proven = GenerationSupport(64 if name == "own" else 0, packs=False)
    monkeypatch.setattr("tenbin.backends.hf.generation.generator._probed", lambda *_: proven)
    yield request.param


def answered(model: tuple[Any, Any], way: Way_, requests: Sequence[Generate]) -> list[Text]:
    backend = HfBackend.from_model(*model, batch_size=way[1])  # type: ignore[arg-type]
    found = dict(backend.run(requests))
    wanted = Scheduler.mode if way[0] == "own" else TransformersGenerate.mode
    assert backend.describe()["engine"]["generation"] == wanted
    texts = [found[request.key] for request in requests]
    assert all(isinstance(text, Text) for text in texts)
    return texts  # type: ignore[return-value]


def asked(prompt: str, thinking: Thinking = THINK, stop: Sequence[str] = (), limit: int = 9) -> Any:
    key = f"{prompt}{thinking}{stop}{limit}"
    return Generate(key, prompt, tuple(stop), limit, thinking=thinking)


CASES = [
    # `<think>x.!` and the end: the model ends inside its thought.
    (asked("Q"), Text("", "end", 0, 0, "x.!", 4, "open")),
    # The mark in two tokens; the thought ends with the model.
    (asked("halt"), Text("", "end", 0, 0, "z", 3, "open")),
    # Three tokens of budget are `<think>`, `x`, `.`; then `\n</think>\n\n` is forced, and `B.!`.
    (asked("Q", Thinking(budget=3)), Text("B.!", "end", 3, 0, "x.", 3, "budget")),
    # Stops hold in the answer and neither in the thought nor in white space after its mark.
    (
        asked("Q", Thinking(budget=3), (".", "\n")),
        Text("B", "stop", 2, 0, "x.", 3, "budget"),
    ),
    (asked("Q", Thinking(budget=3), (), 2), Text("B.", "length", 2, 0, "x.", 3, "budget")),
    # A budget of nothing: the opening mark is written, and the thought is closed at once.
    (asked("Q", Thinking(budget=0)), Text("B.!", "end", 3, 0, "", 1, "budget")),
    (asked("halt", Thinking(budget=0)), Text("B.!", "end", 3, 0, "", 2, "budget")),
    # The prompt opens the thought: `x.!` and the end.
    (asked("<think>"), Text("", "end", 0, 0, "x.!", 3, "open")),
    (asked("<think>", Thinking(budget=2)), Text("B.!", "end", 3, 0, "x.", 2, "budget")),
    (asked("<think>", Thinking(budget=0)), Text("B.!", "end", 3, 0, "", 0, "budget")),
    # The closing mark in three tokens, the last of which begins the answer: `>C`.
    (
        asked("open", Thinking("open", "</think>", 6)),
        Text("CD", "end", 1, 0, "ab", 5, "closed"),
    ),
    # The budget ends where the mark is complete: that is the model's own end.
    (
        asked("open", Thinking("open", "</think>", 5)),
        Text("CD", "end", 1, 0, "ab", 5, "closed"),
    ),
    # One token less, and the mark is not complete.
    (
        asked("open", Thinking("open", "</think>", 4)),
        Text("B.!", "end", 3, 0, "ab</think", 4, "budget"),
    ),
    # `w` without end.
    (
        asked("endless", Thinking("endless", "</think>", 5), ("w",), 1),
        Text("B", "length", 1, 0, "wwwww", 5, "budget"),
    ),
    # No thought: stops and limits hold as they always do.
    (asked("plain"), Text("pqp2", "end", 3, 0, "", 0, "none")),
    (asked("plain", stop=("q",)), Text("p", "stop", 2, 0, "", 0, "none")),
    (asked("plain", limit=1), Text("p", "length", 1, 0, "", 0, "none")),
    (asked("</think>"), Text("\n\nB.!", "end", 4, 0, "", 0, "none")),
    (asked("</think>", stop=("\n",)), Text("", "stop", 1, 0, "", 0, "none")),
    # Thinking that is not asked for.
    (Generate("k", "Q", ("x",), 9), Text("<think>", "stop", 2)),
]


def test_texts_worked_out_by_hand(model: tuple[Any, Any], way: Way_) -> None:
    requests = [request for request, _ in CASES]
    answers = answered(model, way, requests)
    for (request, wanted), answer in zip(CASES, answers, strict=True):
        assert answer == wanted, request
    backwards = answered(model, way, requests[::-1])
    assert backwards[::-1] == answers


def test_marks_that_are_special_tokens() -> None:
    """Special tokens are left out of answers, yet the marks are seen."""
    chains = [["Q", "[T]", "x", "[/T]", "\n", "B", "[S]", "C"]]
    model, tokenizer = chained(chains, special=["[T]", "[/T]", "[S]"])
    backend = HfBackend.from_model(model, tokenizer)
    request = asked("Q", Thinking("[T]", "[/T]", 9))
    answer = dict(backend.run([request]))[request.key]
    assert answer == Text("BC", "end", 4, 0, "x", 3, "closed")
    plain = dict(backend.run([Generate("k", "Q", (), 9)]))["k"]
    assert isinstance(plain, Text) and plain.text == "x\nBC"


def test_a_prompt_leaves_room_for_thought_and_answer(model: tuple[Any, Any]) -> None:
    backend = HfBackend.from_model(*model, max_length=60)
    request = asked("plain" * 50, Thinking(budget=20), limit=10)
    answer = dict(backend.run([request]))[request.key]
    # 60 less 20, 10, and a token a byte of `<think>` and `\n</think>\n\n`.
    assert isinstance(answer, Text) and answer.truncated == 50 - (60 - 20 - 10 - 7 - 11)
    full = asked("plain", Thinking(budget=60))
    refused = dict(backend.run([full]))[full.key]
    assert "max_gen_toks 9 after 60 tokens of thinking leaves no room" in str(refused)


MARKS = Thinking("<o>", "<c>", 30)


def letters(count: int, pieces: Sequence[str]) -> list[str]:
    """Texts of marks and their parts, white space and words, by chance."""
    draw = random.Random(5)
    return ["".join(draw.choices(pieces, k=draw.randrange(1, 12))) for _ in range(count)]


@pytest.mark.parametrize("opened", [False, True])
def test_token_by_token_is_as_the_whole_text(tokenizer: Any, opened: bool) -> None:
    """Any text, cut into any tokens, is told apart as `split_thinking` tells it."""
    thinking = replace(MARKS, budget=999)
    marks, answers = Detokenizer(tokenizer, ("<o>", "<c>")), Detokenizer(tokenizer, ("stop",))
    ends = set()
    for text in letters(400, ["<o>", "<c>", "<o", ">", "<", "\n", " ", "駅", "ab", "stop"]):
        writing = ThinkingCompletion(marks, answers, {2}, 999, thinking, (9,), opened)
        for token in [*tokenizer(text, add_special_tokens=False)["input_ids"], 2]:
            if writing.add(token):
                break
        wanted = split_thinking(text, thinking, "<o>" if opened else "")
        found = writing.result(0)
        assert (found.thinking, found.thinking_end) == (wanted.thinking, wanted.end), text
        answer, stopped = cut_at_stops(wanted.answer, ("stop",))
        assert (found.text, found.finish) == (answer, "stop" if stopped else "end"), text
        ends.add(found.thinking_end)
    assert ends == ({"closed", "open"} if opened else {"none", "closed", "open"})


def thoughtful_jobs(model: Any, tokenizer: Any, sampling: Sampling | None) -> list[Job]:
    """Prompts that open a thought; what closes it is a part of what the model writes anyway."""
    draw = random.Random(3)
    jobs = []
    for number in range(12):
        ids = tuple(draw.randrange(4, len(tokenizer)) for _ in range(draw.randrange(1, 12)))
        text = tokenizer.decode(greedy_ids(model, list(ids), 9, {2}))
        known = [letter for letter in text if letter.isascii() and letter.isalnum()]
        closing = draw.choice(known) if known and number % 3 else "never"
        thinking = Thinking("(", closing, draw.choice([0, 3, 8]))
        stop = ("e", text[-2:]) if number % 2 else ()
        prompt = EncodedPrompt(ids, 0)
        jobs.append(Job(prompt, stop, draw.choice([1, 5, 8]), sampling, number, thinking, True))
    return jobs


def by_hand(model: Any, tokenizer: Any, job: Job) -> Text:
    """One row, one token at a time, the whole text decoded at every step."""
    assert job.thinking is not None
    decoder = Detokenizer(tokenizer, ())
    new = greedy_ids(model, list(job.prompt.ids), job.thinking.budget, {2})
    for count in range(1, len(new) + 1):
        found = split_thinking(decoder.text(new[:count]), job.thinking, "(")
        if found.end == "closed":
            return finished(model, job, decoder, new[:count], found.thinking, "closed", ())
    thought = split_thinking(decoder.whole_characters(new), job.thinking, "(").thinking
    if len(new) < job.thinking.budget:
        return Text("", "end", 0, 0, thought, len(new), "open")
    closing = StopCriteria(model, tokenizer)._tokens_after_text(job.thinking.closing_text)
    return finished(model, job, decoder, new, thought, "budget", closing)


def finished(
    model: Any,
    job: Job,
    decoder: Detokenizer,
    new: list[int],
    thought: str,
    end: Any,
    closing: tuple[int, ...],
) -> Text:
    assert job.thinking is not None
    ids = [*job.prompt.ids, *new, *closing]
    answer = greedy_ids(model, ids, job.limit, {2})
    for count in range(1, len(answer) + 1):
        found = decoder.text(answer[:count]).lstrip()
        if not closing:
            text = decoder.text([*new, *answer[:count]])
            found = split_thinking(text, job.thinking, "(").answer
        cut, stopped = cut_at_stops(found, job.stop)
        if stopped:
            return Text(cut, "stop", count, 0, thought, len(new), end)
    found = decoder.whole_characters(answer).lstrip()
    if not closing:
        text = decoder.whole_characters([*new, *answer])
        found = split_thinking(text, job.thinking, "(").answer
    finish: Any = "length" if len(answer) == job.limit else "end"
    return Text(found, finish, len(answer), 0, thought, len(new), end)


@pytest.mark.parametrize("kind", ["llama", "gpt2", "mistral", "mamba"])
def test_random_models_think_as_one_row_alone(kind: str, tokenizer: Any) -> None:
    model = make_model(kind, len(tokenizer))
    jobs = thoughtful_jobs(model, tokenizer, None)
    wanted = [by_hand(model, tokenizer, job) for job in jobs]
    assert {text.thinking_end for text in wanted} >= {"closed", "budget"}
    for batch, budget in (("auto", 4096), (1, 7), (5, 64)):
        generator = Generator(model, tokenizer, 64, batch, budget)  # type: ignore[arg-type]
        assert (generator.mode.startswith(Scheduler.mode)) == (kind != "mamba")
        answers = dict(generator.generate(jobs))
        assert [answers[at] for at in range(len(jobs))] == wanted


def test_drawn_thoughts_depend_on_their_seed_alone(llama: tuple[Any, Any]) -> None:
    model, tokenizer = llama
    jobs = [
        replace(job, thinking=Thinking("(", "never", 8))
        for job in thoughtful_jobs(model, tokenizer, Sampling(0.7, 0.9, 50))
    ]
    endless = dict(Generator(model, tokenizer, 64, "auto", 4096).generate(jobs))
    for at in range(0, len(jobs), 2):
        # A letter of the thought closes it, since the same tokens are drawn again.
        letters = [one for one in endless[at].thinking if one.isascii() and one.isalnum()]  # type: ignore[union-attr]
        jobs[at] = replace(jobs[at], thinking=Thinking("(", (letters or ["never"])[-1], 8))
    first = dict(Generator(model, tokenizer, 64, "auto", 4096).generate(jobs))
    assert {text.thinking_end for text in first.values() if text} >= {"closed", "budget"}
    for batch, known in (
        (1, None),
        (5, None),
        ("auto", GenerationSupport(0, False)),
        (4, GenerationSupport(0, False)),
    ):
        generator = Generator(model, tokenizer, 64, batch, 512, known=known)  # type: ignore[arg-type]
        assert dict(generator.generate(jobs)) == first
