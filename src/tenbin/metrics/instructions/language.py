"""Instructions about the language and the case of the whole answer."""

from __future__ import annotations

from tenbin.metrics.instructions.base import (
    COUNT,
    RELATION,
    TEXT,
    Kwargs,
    Rules,
    compare,
    instruction,
    without_accents,
)
from tenbin.metrics.instructions.tools import detect_language
from tenbin.metrics.instructions.words import capital_tokens


@instruction("language:response_language", "ja en es fr", needs="language", language=TEXT)
def response_language(text: str, kwargs: Kwargs, rules: Rules) -> bool:
    """The answer is in one language."""
    return is_in(text, kwargs["language"], rules)


@instruction(
    "change_case:capital_word_frequency",
    "en es fr",
    needs="words",
    capital_frequency=COUNT,
    capital_relation=RELATION,
)
def capital_word_frequency(text: str, kwargs: Kwargs, rules: Rules) -> bool:
    """Enough or few enough words are in capitals."""
    count = capital_tokens(text, rules)
    return compare(count, kwargs["capital_relation"], kwargs["capital_frequency"], rules.language)


@instruction("change_case:english_capital", "en", needs="language")
def english_capital(text: str, kwargs: Kwargs, rules: Rules) -> bool:
    """English in capitals; the language is looked for in the text as it is."""
    return text.isupper() and is_in(text, "en", rules)


@instruction("change_case:french_capital", "fr", needs="language")
def french_capital(text: str, kwargs: Kwargs, rules: Rules) -> bool:
    """French in capitals."""
    return text.isupper() and is_in(text.lower(), "fr", rules)


@instruction("change_case:spanish_capital", "es", needs="language")
def spanish_capital(text: str, kwargs: Kwargs, rules: Rules) -> bool:
    """Spanish in capitals, accents apart."""
    plain = without_accents(text)
    capitals = all(one.isupper() or not one.isalpha() for one in plain)
    return capitals and is_in(text.lower(), "es", rules)


@instruction("change_case:english_lowercase", "en", needs="language")
@instruction("change_case:spanish_lowercase", "es", needs="language")
@instruction("change_case:french_lowercase", "fr", needs="language")
def lowercase(text: str, kwargs: Kwargs, rules: Rules) -> bool:
    """The prompt's language in small letters."""
    return text.islower() and is_in(text, rules.language, rules)


def is_in(text: str, language: str, rules: Rules) -> bool:
    """Whether langdetect's first guess is a language.

    Corrected: `zh` is any Chinese, and a text without a recognisable language is in none. As
    published, such a text is in every language.
    """
    found = detect_language(text)
    if found is None:
        return not rules.corrected
    if rules.corrected:
        return found.partition("-")[0] == language.partition("-")[0]
    return found == language
