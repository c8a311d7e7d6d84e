"""Templates that would loop, recurse or grow without end, and what the refusal says."""

from __future__ import annotations

_GROWING = "{% set ns = namespace(s='x') %}{% for i in range(100) %}{% set ns.s = ns.s JOIN ns.s %}"

BAD_TEMPLATES: dict[str, tuple[str, str]] = {
    "nested loops": (
        "{% for a in range(99999) %}{% for b in range(99999) %}x{% endfor %}{% endfor %}",
        "steps",
    ),
    "lipsum": ("{{ lipsum(1000000000) }}", "lipsum"),
    "random": ("{{ [1, 2]|random }}", "random"),
    "text times number": ("{{ 'x' * 300000000 }}", "characters"),
    "number times text": ("{{ 300000000 * 'x' }}", "characters"),
    "times in dead code": ("{{ 'x' * 300000000 if messages is none else 1 // 0 }}", "division"),
    "method center": ("{{ 'x'.center(300000000) }}", "columns"),
    "method zfill": ("{{ '1'.zfill(300000000) }}", "columns"),
    "filter center": ("{{ 'x'|center(300000000) }}", "columns"),
    "filter block": ("{% filter center(300000000) %}x{% endfilter %}", "columns"),
    "expandtabs": ("{{ '\\t'.expandtabs(300000000) }}", "columns"),
    "percent": ("{{ '%300000000d' % 1 }}", "columns"),
    "percent star": ("{{ '%*d' % (300000000, 1) }}", "width"),
    "filter format": ("{{ '%300000000d'|format(1) }}", "columns"),
    "format": ("{{ '{:>300000000}'.format(1) }}", "columns"),
    "format of many digits": ("{{ '{:>30000000000000000000000}'.format(1) }}", "digits"),
    "nested format": ("{{ '{:>{w}}'.format(1, w=300000000) }}", "columns"),
    "format_map": ("{{ '{:>{w}}'.format_map({'w': 300000000}) }}", "columns"),
    "many fields": ("{{ ('{0}' * 100000).format('x' * 100000) }}", "characters"),
    "many percents": ("{{ ('%(a)s' * 100000) % {'a': 'x' * 100000} }}", "characters"),
    "method replace": ("{{ ('x' * 100000).replace('x', 'y' * 1000) }}", "characters"),
    "filter replace": ("{{ ('x' * 100000)|replace('x', 'y' * 1000) }}", "characters"),
    "replace nothing": ("{{ ('x' * 100000).replace('', 'y' * 1000) }}", "characters"),
    "translate": ("{{ ('a' * 100).translate({97: 'x' * 300000}) }}", "characters"),
    "filter join": ("{{ [a, a, a, a, a]|join('y' * 1000000) }}", "characters"),
    "method join": ("{{ ('y' * 1000000).join(['1', '2', '3', '4', '5', '6']) }}", "characters"),
    "join of a generator": ("{{ ('y' * 1000000).join('123456'|map('upper')) }}", "characters"),
    "indent": ("{{ ('\\n' * 100000)|indent(100000, true, true) }}", "characters"),
    "indent by text": ("{{ ('\\n' * 100000)|indent('x' * 100000, true, true) }}", "characters"),
    "wordwrap": ("{{ ('x ' * 1000)|wordwrap(1, wrapstring='y' * 40000) }}", "characters"),
    "batch": ("{{ [1]|batch(300000000, 0)|list }}", "columns"),
    "slice": ("{{ [1]|slice(300000000)|list }}", "columns"),
    "tojson indent": ("{{ [1]|tojson(indent=300000000) }}", "JSON"),
    "pprint": ("{{ ('x ' * 1000000)|pprint }}", "pretty-prints"),
    "tilde": (_GROWING.replace("JOIN", "~") + "{% endfor %}{{ ns.s }}", "characters"),
    "plus": (_GROWING.replace("JOIN", "+") + "{% endfor %}{{ ns.s }}", "characters"),
    "output of a loop": (
        "{% for i in range(99999) %}" + "A" * 1000 + "{% endfor %}",
        "characters",
    ),
    "set block": (
        "{% set x %}{% for i in range(99999) %}" + "A" * 1000 + "{% endfor %}{% endset %}",
        "characters",
    ),
    "macro for ever": ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "without end"),
    "block for ever": ("{% block a %}{{ self.a() }}{% endblock %}", "without end"),
    "macro in two": (
        "{% macro f(n) %}{% if n %}{{ f(n-1) }}{{ f(n-1) }}{% endif %}{% endmacro %}{{ f(60) }}",
        "steps",
    ),
    "recursive loop": (
        "{% for x in [[1], [2]] recursive %}{{ loop([[1], [2]]) }}{% endfor %}",
        "without end",
    ),
    "power": ("{{ 9 ** 99999 }}", "digits"),
    "power of power": ("{{ 10 ** (10 ** 10) }}", "digits"),
    "squares": (
        "{% set ns = namespace(n=3) %}{% for i in range(99) %}{% set ns.n = ns.n * ns.n %}"
        "{% endfor %}{{ ns.n }}",
        "digits",
    ),
    "to_bytes": ("{{ (1).to_bytes(300000000, 'big') }}", "columns"),
    "list times number": ("{{ ([1] * 100000000)|length }}", "characters"),
    "lists in lists": ("{{ [[1] * 10000] * 100000 }}", "characters"),
    "alias bomb": (
        "{% set ns = namespace(a=[1]) %}{% for i in range(40) %}{% set ns.a = [ns.a, ns.a] %}"
        "{% endfor %}{{ ns.a }}",
        "characters",
    ),
    "namespace bomb": (
        "{% set ns = namespace(a=namespace(b=1)) %}{% for i in range(40) %}"
        "{% set ns.a = namespace(x=ns.a, y=ns.a) %}{% endfor %}{{ ns.a }}",
        "characters",
    ),
    "deep list": (
        "{% set ns = namespace(a=[1]) %}{% for i in range(4000) %}{% set ns.a = [ns.a] %}"
        "{% endfor %}{{ ns.a }}",
        "deep",
    ),
    "sum of lists": ("{{ ([[1] * 100] * 2000)|sum(start=[])|length }}", "characters"),
    "mapping": ("{{ dict.fromkeys(range(99999), 'x' * 1000) }}", "characters"),
    "padding all": (
        "{{ ('x ' * 10000).split(' ')|map('center', 90000)|list|length }}",
        "characters",
    ),
    "brackets": ("{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}", "nested too deeply"),
    "long sum": ("{{ " + "1 + " * 20000 + "1 }}", "nested too deeply"),
    "blocks in blocks": (
        "{% for x in [1] %}" * 60 + "{% endfor %}" * 60,
        "statically nested|levels|too deeply",
    ),
    "long source": ("{{ 1 }}" + "x" * 1_000_001, "source"),
}
