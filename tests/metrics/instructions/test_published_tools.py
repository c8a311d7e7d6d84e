"""The published tools where they are installed: NLTK's punkt here with parameters written below."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tenbin.errors import TaskError
from tenbin.metrics.instructions import Rules, check_asked, tools, tools_of

PARAMETERS = {
    "abbrev_types.txt": "dr\nmr\n",
    "sent_starters.txt": "however\n",
    "collocations.tab": "",
    "ortho_context.tab": "",
}


@pytest.fixture
def punkt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    data = pytest.importorskip("nltk.data")
    for language in ("english", "french"):
        folder = tmp_path / "tokenizers" / "punkt_tab" / language
        folder.mkdir(parents=True)
        for name, text in PARAMETERS.items():
            (folder / name).write_text(text, encoding="utf-8")
    monkeypatch.setattr(data, "path", [str(tmp_path)])
    tools._punkt.cache_clear()
    yield
    tools._punkt.cache_clear()


def _rules(language: str) -> Rules:
    return Rules(language, "published", published_tools=True)


@pytest.mark.usefixtures("punkt")
@pytest.mark.parametrize(
    ("language", "text", "count"),
    [
        ("en", "Dr. Smith came. He left!", 2),
        ("en", "It rained. then it stopped.", 2),
        ("fr", "Elle arrive env. à midi. Il part.", 2),
        ("fr", "Mme. Durand et M. Dupont partent c.-à-d. demain.", 1),
    ],
)
def test_sentences_of_punkt(language: str, text: str, count: int) -> None:
    assert tools.punkt_sentences(text, language) == count
    relation = {"en": "at least", "fr": "au moins"}[language]
    for asked, passes in ((count, True), (count + 1, False)):
        kwargs = {"num_sentences": asked, "relation": relation}
        one = check_asked(f"{language}:length_constraints:number_sentences", kwargs, "case")
        assert one.passes(text, _rules(language)) == passes


@pytest.mark.usefixtures("punkt")
def test_tokens_of_nltk() -> None:
    kwargs = {"capital_frequency": 3, "capital_relation": "at least"}
    one = check_asked("en:change_case:capital_word_frequency", kwargs, "case")
    assert one.passes("I'M in the USA.", _rules("en"))
    assert not one.passes("I am in the USA.", _rules("en"))


@pytest.mark.usefixtures("punkt")
def test_their_names_have_versions() -> None:
    found = tools_of.__wrapped__(_rules("fr"))
    assert found["sentences"] == f"{tools.package('nltk')} (punkt_tab french)"
    assert found["words"] == f"{tools.package('nltk')} (word_tokenize)"
    assert any(one.isdigit() for one in found["words"])


def test_nltk_without_its_data_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pytest.importorskip("nltk.data"), "path", [str(tmp_path)])
    tools._punkt.cache_clear()
    with pytest.raises(TaskError, match="punkt_tab") as error:
        tools.require_punkt()
    tools._punkt.cache_clear()
    assert "python -m nltk.downloader punkt_tab" in error.value.hint


def test_spanish_words_of_spacy() -> None:
    pytest.importorskip("es_core_news_sm", reason="spaCy's Spanish model is not installed")
    assert tools.spacy_words("Los EE.UU., ¿no?  Sí.") == ["Los", "EE.UU.", "no", " ", "Sí"]
    assert tools.spacy_sentences("Hola a todos. Me voy a casa.", spanish=True) == 2
