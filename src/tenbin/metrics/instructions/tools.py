"""The libraries that some rules rest on: loaded on first use, named with their versions.

langdetect and Janome decide in every edition. NLTK's punkt and spaCy decide in the published
editions alone: their data comes from downloaders of their own, and another release of it is another
verdict.
"""

from __future__ import annotations

import re
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

from tenbin.errors import TaskError
from tenbin.metrics.instructions.abbreviations import PUNKT_FRENCH, PUNKT_FRENCH_PHRASES

_EXTRA = "pip install 'tenbin[instructions]'"
_NLTK = "pip install nltk==3.9.1 && python -m nltk.downloader punkt_tab"
_SPACY = (
    "pip install spacy==3.7.5 && python -m spacy download es_core_news_sm"
    " && python -m spacy download xx_sent_ud_sm"
)
_HALVES = re.compile("[\ud800-\udfff]")
_SPANISH, _OTHER = "es_core_news_sm", "xx_sent_ud_sm"


def package(name: str) -> str:
    """A package with its version, as results name it."""
    try:
        return f"{name} {version(name)}"
    except PackageNotFoundError:
        return name


def require_langdetect() -> None:
    """Refuse to detect languages without langdetect.

    Raises:
        TaskError: It is not installed.
    """
    if find_spec("langdetect") is None:
        raise TaskError(
            "the language of an answer is found by langdetect, which is not installed", _EXTRA
        )


def require_janome() -> None:
    """Refuse to cut Japanese into words without Janome.

    Raises:
        TaskError: It is not installed.
    """
    if find_spec("janome") is None:
        raise TaskError("Japanese is cut into words by Janome, which is not installed", _EXTRA)


def require_punkt() -> None:
    """Refuse the published sentences and tokens of English and French without NLTK's data.

    Raises:
        TaskError: NLTK or its data is not installed.
    """
    if find_spec("nltk") is None or _punkt("english") is None:
        raise TaskError(
            "the published rules split sentences with NLTK's punkt_tab, which is not installed",
            _NLTK,
        )


def require_spacy() -> None:
    """Refuse the published sentences and tokens of Spanish without spaCy's models.

    Raises:
        TaskError: spaCy or a model is not installed.
    """
    if not all(find_spec(name) for name in ("spacy", _SPANISH, _OTHER)):
        raise TaskError(
            f"the published rules need spaCy with {_SPANISH} and {_OTHER}, which are not installed",
            _SPACY,
        )


# Variants of an answer are often one text, and several instructions may ask for its language.
@lru_cache(maxsize=64)
def detect_language(text: str) -> str | None:
    """langdetect's first guess; None where it finds no language.

    It draws random numbers, and is seeded with 0 before each text.
    """
    import langdetect

    langdetect.DetectorFactory.seed = 0
    try:
        found: str = langdetect.detect(text)
    except langdetect.LangDetectException:
        return None
    return found


@lru_cache(maxsize=1)
def _janome() -> Any:
    from janome.tokenizer import Tokenizer

    return Tokenizer()


def surfaces(text: str) -> list[str]:
    """The words of a Japanese text, as Janome with its own dictionary cuts it."""
    return [surface for surface, _ in parts_of_speech(text)]


def parts_of_speech(text: str) -> list[tuple[str, str]]:
    """The words of a Japanese text, each with its part of speech."""
    # Its dictionary is looked up in UTF-8, which has no halves of surrogate pairs.
    whole = _HALVES.sub("\ufffd", text)
    return [(token.surface, token.part_of_speech) for token in _janome().tokenize(whole)]


@lru_cache(maxsize=2)
def _punkt(language: str) -> Any:
    """NLTK's sentence splitter; None where its data is not installed."""
    from nltk.tokenize.punkt import PunktTokenizer

    try:
        found = PunktTokenizer(language)
    except LookupError:
        return None
    if language == "french":
        found._params.abbrev_types.update((*PUNKT_FRENCH.split(), *PUNKT_FRENCH_PHRASES))
    return found


def punkt_sentences(text: str, language: str) -> int:
    """Sentences of NLTK's English or French punkt."""
    return len(_punkt({"en": "english", "fr": "french"}[language]).tokenize(text))


def nltk_tokens(text: str) -> list[str]:
    """The tokens of NLTK's word_tokenize, with its rules for English."""
    from nltk.tokenize import word_tokenize

    found: list[str] = word_tokenize(text)
    return found


@lru_cache(maxsize=2)
def _spacy(model: str) -> Any:
    import spacy

    return spacy.load(model)


def spacy_words(text: str) -> list[str]:
    """spaCy's tokens of a Spanish text that are no punctuation, runs of blanks among them."""
    return [token.text for token in _spacy(_SPANISH).make_doc(text) if not token.is_punct]


def spacy_sentences(text: str, spanish: bool) -> int:
    """spaCy's sentences of a text."""
    return sum(1 for _ in _spacy(_SPANISH if spanish else _OTHER)(text).sents)
