"""Read the choice or the number that a generated answer gives, by the phrases of its language.

Choices: `strict` reads the form that a prompt asks for. `flexible` reads free text: `clean` brings
it into a plain form, `sections` divides it, `mention` finds the letters, and `stance` says how each
stands.

Numbers: `numbers` reads free text: `number_form` brings it into a plain form, `numerals` finds the
numbers and their values, `number_mentions` says what each is there for, and `number_statements`
finds the one that is called the answer.
"""

from tenbin.metrics.extraction.flexible import MOST_CHOICES, read_flexible
from tenbin.metrics.extraction.numbers import read_number
from tenbin.metrics.extraction.strict import read_strict

__all__ = ["MOST_CHOICES", "read_flexible", "read_number", "read_strict"]
