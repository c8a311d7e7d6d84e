"""Read the choice or the number that a generated answer gives, by the phrases of its language.

Choices: `strict` reads the form that a prompt asks for. `flexible` reads free text: `clean` brings
it into a plain form, `sections` divides it, `mention` finds the letters, and `stance` says how each
stands.

Numbers: `numbers` reads free text: `number_form` brings it into a plain form, `numerals` finds the
numbers and their values, `number_mentions` says what each is there for, and `number_statements`
finds the one that is called the answer.

These modules hold hundreds of patterns: they are imported where a text is read.
"""

MOST_CHOICES = 8
"""Letters from I on are words of their own in too many languages to be read as choices."""
