"""Random Jinja templates and regular expressions: mostly valid, often unkind."""

from __future__ import annotations

from random import Random

from jinja2.defaults import DEFAULT_FILTERS, DEFAULT_TESTS

FIELDS = ("question", "choices", "label", "answers", "nested", "empty", "number", "missing")
_NAMES = (
    *FIELDS, "loop", "self", "range", "lipsum", "dict", "cycler", "joiner", "namespace", "labels",
    "system_prompt", "x", "__builtins__", "true", "none",
)  # fmt: skip
_LITERALS = (
    "0", "1", "-1", "2", "99999", "10**9", "1.5", "''", "'a'", "' '", "'%s'", "'{0.__class__}'",
    "'%999999999d'", "[]", "[1, 2]", "{}", "{'a': 1}", "()", "'\\n'", "'天秤'", "'\\ud800'",
    "9" * 400,
)  # fmt: skip
_ATTRIBUTES = (
    "text", "__class__", "__mro__", "__globals__", "upper()", "format(1)", "join(choices)", "a",
    "items()", "append(1)", "first", "length", "index0", "replace('a', 'b')", "split()",
    "zfill(99999)",
    "center(10**9)", "ljust(99999999)", "encode()", "maketrans('a')", "expandtabs(99999)",
)  # fmt: skip
_FILTERS = tuple(sorted(set(DEFAULT_FILTERS) | {"regex_replace", "unknown"}))
_TESTS = tuple(sorted(DEFAULT_TESTS))
_OPERATORS = ("+", "-", "*", "/", "//", "%", "**", "~", "==", "<", "and", "or", "in", "not in")


def template(rng: Random, depth: int = 3) -> str:
    """A template of some parts."""
    return "".join(_part(rng, depth) for _ in range(rng.choice((1, 1, 2, 3))))


def _part(rng: Random, depth: int) -> str:
    if depth == 0:
        return rng.choice(("", " ", "text\n", "{{ question }}", "答え:", "{#", "{{", "%}"))
    inner = template(rng, depth - 1)
    choice = rng.randrange(16)
    if choice < 7:
        return f"{{{{ {expression(rng, depth)} }}}}"
    if choice == 7:
        return f"{{% if {expression(rng, depth)} %}}{inner}{{% else %}}{inner}{{% endif %}}"
    if choice in (8, 9):
        recursive = rng.choice(("", "", " recursive"))
        return f"{{% for x in {expression(rng, depth)}{recursive} %}}{inner}{{% endfor %}}"
    if choice == 10:
        return f"{{% set x = {expression(rng, depth)} %}}{inner}"
    if choice == 11:
        given = expression(rng, 1)
        macro = f"{{% macro m(x) %}}{inner}{{{{ m(x) }}}}{{% endmacro %}}"
        return f"{macro}{{{{ m({given}) }}}}"
    if choice == 12:
        return f"{{% filter {rng.choice(_FILTERS)} %}}{inner}{{% endfilter %}}"
    if choice == 13:
        tag = rng.choice(("include", "import", "extends", "do", "raw", "autoescape", "block"))
        return f"{{% {tag} {expression(rng, 1)} %}}{inner}"
    if choice == 14:
        return f"{{%- with x = {expression(rng, 1)} -%}}{inner}{{%- endwith -%}}"
    return rng.choice(
        ("plain {{{", "{# #}", "{% raw %}{{ x }}{% endraw %}", "}}", "\x00", "\u2028")
    )


def expression(rng: Random, depth: int) -> str:
    """An expression over the fields of a document."""
    choice = rng.randrange(12) if depth > 0 else rng.randrange(2)
    if choice == 0:
        return rng.choice(_LITERALS)
    if choice in (1, 2):
        return rng.choice(_NAMES)
    one, two = expression(rng, depth - 1), expression(rng, depth - 1)
    if choice < 5:
        return f"({one} {rng.choice(_OPERATORS)} {two})"
    if choice < 8:
        arguments = rng.choice(("", "", f"({two})", f"({two}, {one})", f"(default={two})"))
        return f"{one}|{rng.choice(_FILTERS)}{arguments}"
    if choice == 8:
        return f"{one}.{rng.choice(_ATTRIBUTES)}"
    if choice == 9:
        return f"{one}[{rng.choice((two, f'{two}:', f':{two}', '::-1', '::0'))}]"
    if choice == 10:
        return f"{one}({rng.choice((two, f'{two}, {two}', f'*{two}', f'**{two}', ''))})"
    return f"({one} if {two} is {rng.choice(_TESTS)} else {two})"


_ATOMS = (
    "a", ".", r"\d", r"\w+", r"\s*", "[a-z]", "[^,]", "あ", r"\b", "^", "$", r"\1", r"(?P<n>a)",
    "(?i)",
    r"(?=a)", r"(?<=a)", r"(?<!a+)", "(a+)+", "(.*)*", "(a|aa)+", "(a?){30}", "[", "(", "\\",
    "(?<n", "{",
    r"\p{L}", "(?>a)", "a++", r"\N{DIGIT ONE}", "(?(1)a|b)", "\x00", "x{65536}", "(?:" * 5, r"\Z",
    "|",
)  # fmt: skip
_COUNTS = (
    "",
    "",
    "*",
    "+",
    "?",
    "*?",
    "{2}",
    "{0,9}",
    "{1000}",
    "{9999999999}",
    "++",
    "{,5}",
    "**",
)


def regex(rng: Random) -> str:
    """A regular expression, or nearly one."""
    parts = [rng.choice(_ATOMS) + rng.choice(_COUNTS) for _ in range(rng.randrange(1, 6))]
    text = "".join(parts)
    return f"({text}){rng.choice(_COUNTS)}" if rng.randrange(3) == 0 else text
