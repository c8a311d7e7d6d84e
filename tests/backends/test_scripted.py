from __future__ import annotations

import pytest

from tenbin.backends.base import BackendSettings, Tokenizer
from tenbin.backends.registry import open_backend
from tenbin.backends.scripted import CharacterTokenizer, ScriptedBackend, hashed_score
from tenbin.errors import BackendError, ConfigError
from tenbin.records import Failure, Generate, Rolled, Rolling, Score, Scores, Text, Thinking


def test_scores_are_given_or_hashed_and_the_best_is_greedy() -> None:
    request = Score("k", "空は", ("青い", "赤い"))
    given = ScriptedBackend(score=lambda prompt, text: -1.0 if text == "赤い" else -2.0)
    assert dict(given.run([request])) == {"k": Scores((-2.0, -1.0), (2, 2), (False, True))}
    (hashed,) = dict(ScriptedBackend().run([request])).values()
    assert isinstance(hashed, Scores)
    assert hashed.logprobs[0] == hashed_score("空は", "青い") < 0


def test_texts_stop_and_end_like_a_model() -> None:
    backend = ScriptedBackend(texts={"問": "答え\n次の行"})
    answers = dict(
        backend.run(
            [
                Generate("stop", "問", ("\n",), 10),
                Generate("length", "問", (), 2),
                Generate("end", "問", (), 99),
                Rolling("roll", "全文"),
            ]
        )
    )
    assert answers["stop"] == Text("答え", "stop", 2)
    assert answers["length"] == Text("答え", "length", 2)
    assert answers["end"] == Text("答え\n次の行", "end", 6)
    assert isinstance(answers["roll"], Rolled)


def test_failures_and_crashes_come_when_told() -> None:
    requests = [Score(str(number), "p", ("a",)) for number in range(4)]
    backend = ScriptedBackend(failures={"1": "no"}, raise_after=3)
    seen = {}
    with pytest.raises(BackendError, match="after 3"):
        for key, answer in backend.run(requests):
            seen[key] = answer
    assert list(seen) == ["0", "1", "2"]
    assert seen["1"] == Failure("scripted", "no")
    assert backend.asked == requests


def test_character_tokenizer_keeps_the_protocol() -> None:
    tokenizer = CharacterTokenizer(max_length=4)
    assert isinstance(tokenizer, Tokenizer)
    assert tokenizer.prompt_lengths(["abc"]) == [4]
    boundary = tokenizer.examine("abc", ["de"], 0)
    assert (boundary.prompt_tokens, boundary.continuation_tokens, boundary.overflow) == (4, (2,), 1)
    assert tokenizer.chat([{"role": "user", "content": "hi"}]) == "<user>hi</user><assistant>"


def test_registry_knows_its_names() -> None:
    backend = open_backend(BackendSettings("scripted", {"max_length": "7", "text": "x"}))
    assert backend.tokenizer is not None and backend.tokenizer.max_length == 7
    with pytest.raises(ConfigError, match="unknown model backend") as caught:
        open_backend(BackendSettings("hf-casual"))
    assert "hf-causal" in caught.value.hint
    with pytest.raises(ConfigError, match="unknown model argument"):
        open_backend(BackendSettings("scripted", {"pretrained": "x"}))


@pytest.mark.parametrize(
    ("written", "budget", "expected"),
    [
        # A character is a token; the mark's white space counts on neither side of it.
        ("<a>so</a> B", 9, Text("B", "end", 1, 0, "so", 9, "closed")),
        ("<a>so</a> B", 8, Text("B", "end", 1, 0, "so</a", 8, "budget")),
        ("<a>so</a> B", 4, Text("B", "end", 1, 0, "s", 4, "budget")),
        ("<a>so</a> B", 2, Text("B", "end", 1, 0, "", 2, "budget")),
        (" <a>so</a>\n<a>on</a> B", 99, Text("B", "end", 1, 0, "so\n\non", 20, "closed")),
        ("<a>so and ", 99, Text("", "end", 0, 0, "so and", 10, "open")),
        ("<a>so and ", 5, Text("", "end", 0, 0, "so", 5, "budget")),
        ("B", 0, Text("B", "end", 1)),
    ],
)
def test_thoughts_are_counted_with_their_marks(written: str, budget: int, expected: Text) -> None:
    request = Generate("k", "Q", (), 9, thinking=Thinking("<a>", "</a>", budget))
    ((_, found),) = ScriptedBackend(texts={"Q": written}).run([request])
    assert found == expected
