"""Every instruction by id and language, and what a row says of its instructions, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tenbin.errors import DataError, TaskError, guess_at
from tenbin.metrics.extraction.clean import normalise_unicode
from tenbin.metrics.instructions import (
    characters,
    content,
    keywords,
    language,
    layout,
    length,
    letters,
    start_end,
    tools,
)
from tenbin.metrics.instructions.base import LANGUAGES, Instruction, Rules, declared_in
from tenbin.metrics.instructions.sentences import SPLITTERS
from tenbin.metrics.instructions.words import CAPITALS, SPANISH_WORDS
from tenbin.sandbox.patterns import compile_pattern

_MODULES = (characters, content, keywords, language, layout, length, letters, start_end)
_PATTERNS = ("keywords", "keyword", "forbidden_words", "section_spliter", "postscript_marker")
"""Arguments that the published rules take as regular expressions."""

INSTRUCTIONS: Mapping[str, Instruction] = {
    f"{at}:{found.name}": found
    for module in _MODULES
    for found in declared_in(tuple(vars(module).values()))
    if found.check.__module__ == module.__name__
    for at in found.languages
}
"""By the id that rows have: `ja:letters:kanji`."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One instruction of a row, with its arguments."""

    id: str
    """With the language: `ja:letters:kanji`."""
    kwargs: Mapping[str, Any]

    @property
    def language(self) -> str:
        """Of the prompt."""
        return self.id.partition(":")[0]

    @property
    def type(self) -> str:
        """The id without the language."""
        return self.id.partition(":")[2]

    def passes(self, text: str, rules: Rules) -> bool:
        """Whether one text follows it; a blank one follows nothing.

        Corrected: text and arguments are composed (NFC) first, because accents are looked for as
        single characters.
        """
        if not text.strip():
            return False
        kwargs = self.kwargs
        if rules.corrected:
            text, kwargs = normalise_unicode("NFC", text), _composed(kwargs)
        return INSTRUCTIONS[self.id].check(text, kwargs, rules)


def _composed(value: Any) -> Any:
    """The same with every text in NFC."""
    if isinstance(value, str):
        return normalise_unicode("NFC", value)
    if isinstance(value, Mapping):
        return {_composed(key): _composed(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_composed(one) for one in value]
    return value


def check_asked(id: Any, kwargs: Any, where: str) -> Asked:
    """An instruction as a row names it.

    Args:
        id: As in `instruction_id_list`; ids of the English set may lack the language.
        kwargs: Its arguments; nulls are left out, as some copies write every argument.
        where: The row, for messages.

    Raises:
        DataError: There is no such instruction, or it cannot be checked with these arguments.
    """
    known = id if isinstance(id, str) else repr(id)
    if known.partition(":")[0] not in LANGUAGES:
        known = f"en:{known}"
    found = INSTRUCTIONS.get(known)
    if found is None:
        raise DataError(
            f"{where}: unknown instruction {id!r}",
            f"{guess_at(known, INSTRUCTIONS)}tenbin checks {len(INSTRUCTIONS)} instructions in"
            f" {', '.join(LANGUAGES)}",
        )
    if not isinstance(kwargs, Mapping):
        raise DataError(f"{where}: the arguments of {known} must be a mapping, not {kwargs!r}")
    given = {key: value for key, value in kwargs.items() if value is not None}
    asked = Asked(known, given)
    for key, value in given.items():
        argument = found.arguments.get(key)
        if argument is None:
            taken = ", ".join(found.arguments) or "none"
            raise DataError(f"{where}: {known} has no argument {key!r}", f"it takes: {taken}")
        if not argument.fits(value, asked.language):
            raise DataError(f"{where}: {key} of {known} must be {argument.accepts}, not {value!r}")
    for key, argument in found.arguments.items():
        if argument.required and key not in given:
            raise DataError(f"{where}: {known} needs {key}, {argument.accepts}")
    _check_patterns(asked, where)
    return asked


def _check_patterns(asked: Asked, where: str) -> None:
    """Refuse words that the published rules could not use as patterns."""
    if asked.language == "ja":
        return
    for key in _PATTERNS:
        value = asked.kwargs.get(key, ())
        for source in [value] if isinstance(value, str) else value:
            try:
                compile_pattern(source, f"{key} of {asked.id}")
            except TaskError as error:
                raise DataError(f"{where}: {error.message}", error.hint) from error


_PUBLISHED_TOOLS = {
    ("sentences", "en"): (tools.require_punkt, ("nltk",), " (punkt_tab english)"),
    ("sentences", "fr"): (tools.require_punkt, ("nltk",), " (punkt_tab french)"),
    ("words", "en"): (tools.require_punkt, ("nltk",), " (word_tokenize)"),
    ("words", "fr"): (tools.require_punkt, ("nltk",), " (word_tokenize)"),
    ("sentences", "es"): (
        tools.require_spacy, ("spacy", "es_core_news_sm", "xx_sent_ud_sm"), "",
    ),
    ("words", "es"): (tools.require_spacy, ("spacy", "es_core_news_sm"), ""),
}  # fmt: skip


@lru_cache
def tools_of(rules: Rules) -> Mapping[str, str]:
    """What decides in a language beside patterns: each need with the tool's name and version.

    Raises:
        TaskError: One is not installed; the hint is the command that installs it.
    """
    language = rules.language
    needed = {one.needs for one in INSTRUCTIONS.values() if language in one.languages}
    if language == "ja" and rules.edition == "original":
        needed.add("tokens of keywords")
    return {need: _tool(need, language, rules) for need in sorted(needed - {""})}


def _tool(need: str, language: str, rules: Rules) -> str:
    if need == "language":
        tools.require_langdetect()
        return f"{tools.package('langdetect')} (seed 0)"
    if need in ("nouns", "tokens of keywords"):
        tools.require_janome()
        return tools.package("Janome")
    if rules.published_tools and (need, language) in _PUBLISHED_TOOLS:
        require, packages, note = _PUBLISHED_TOOLS[need, language]
        require()
        return ", ".join(map(tools.package, packages)) + note
    if need == "sentences":
        return SPLITTERS[language]
    return SPANISH_WORDS if language == "es" else CAPITALS
