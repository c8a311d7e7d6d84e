# ruff: noqa: E501  (templates stand as they would in a file)
"""Templates render to the byte as Jinja renders them, and end when they do too much."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from jinja2 import StrictUndefined
from jinja2.sandbox import ImmutableSandboxedEnvironment

import tenbin.sandbox.templates.budget
from tenbin.errors import TaskError
from tenbin.prompts.environment import render
from tenbin.sandbox.templates import LimitedEnvironment, TooMuchWork, render_limited
from tests.sandbox.bad_templates import BAD_TEMPLATES

FIELDS = {
    "question": "日本の首都は？",
    "choices": ["東京", "大阪", "京都"],
    "label": 1,
    "score": 2.5,
    "empty": "",
    "nothing": None,
    "html": "<b>&</b>",
    "context": "長い文。\n二行目",
    "answers": {"text": ["x", "y"], "answer_start": [0, 1]},
    "rows": [{"a": 1, "b": "u"}, {"a": 2, "b": "v"}, {"a": 1, "b": "w"}],
}
GOOD = (
    "質問:{{question}}\n選択肢:{{choices|join(',')}}\n回答:\n",
    "{% for c in choices %}{{loop.index}}/{{loop.length}}{{ ',' if not loop.last }}{{c}}{% endfor %}",
    "{% for c in choices recursive %}{{ c }}{% if loop.depth < 3 %}"
    "{{ loop(['a', 'b']) }}{% endif %}{% endfor %}",
    "{% for k, v in answers.items() %}{{ k }}={{ v }};{% else %}none{% endfor %}",
    "{% for c in choices if c != '大阪' %}{{ c }}{{ loop.previtem is defined }}{% endfor %}",
    "{{ choices[label] }} {{ choices[0:2] }} {{ choices[::-1] }} {{ (1, label) }}",
    "{{ ['A. ' + choices[0], 'B. ' ~ choices[1]] }} {{ {'a': label, 'b': [label]} }}",
    "{{ 2 ** 10 }} {{ 7 % 3 }} {{ '%s-%05.1f' % (question, score) }} {{ 'ab' * 3 }} {{ 3 * [1] }}",
    "{{ '%s and %s'|format(label, score) }} {{ '{:>8}|{!r}'.format(label, html) }}",
    "{{ '{a}'.format_map({'a': 1}) }} {{ 'x'.join(choices) }} {{ question.replace('首', 'x', 1) }}",
    "{{ context|indent(4) }}|{{ context|indent('> ', true) }}|{{ html|e }}|{{ html|safe }}",
    "{{ 'a'|center(9) }}|{{ 'a b c d'|wordwrap(3) }}|{{ 'long text here'|truncate(8) }}",
    "{{ rows|groupby('a')|list }} {{ rows|map(attribute='b')|join('-') }} {{ rows|sum('a') }}",
    "{{ rows|selectattr('a', 'equalto', 1)|map(attribute='b')|list }} {{ rows|tojson }}",
    "{{ rows|sort(attribute='b', reverse=true)|first }} {{ choices|batch(2, '-')|list }}",
    "{{ choices|slice(2)|list }} {{ [3, 1, 2]|sort }} {{ [1, 1, 2]|unique|list }} {{ score|round }}",
    "{{ [[1], [2, 3]]|sum(start=[]) }} {{ rows|map(attribute='b')|map('upper')|list }}",
    "{% macro f(x, y='d') %}<{{ x }}{{ y }}{{ varargs }}{{ kwargs }}>{% endmacro %}"
    "{{ f(1) }}{{ f(1, 2, 3, z=4) }}",
    "{% macro w() %}[{{ caller(5) }}]{% endmacro %}{% call(n) w() %}n={{ n }}{% endcall %}",
    "{% macro d(n) %}{{ n }}{% if n %}{{ d(n - 1) }}{% endif %}{% endmacro %}{{ d(20) }}",
    "{% set ns = namespace(s='') %}{% for c in choices %}{% set ns.s = ns.s ~ c ~ '、' %}{% endfor %}"
    "{{ ns.s }}",
    "{% set x %}block {{ label }}{% endset %}{{ x|upper }} {{ x ~ nothing ~ score ~ true }}",
    "{% set a, b = [label, score] %}{{ a }}{{ b }}{% if a in [1, 2] and b not in (3,) %}!{% endif %}",
    "{% autoescape true %}{{ html }}{{ html ~ '<i>' }}{% endautoescape %}",
    "{% filter upper %}abc {{ label }}{% endfilter %}{% raw %}{{ x }}{% endraw %}{# no #}",
    "{% block body %}in {{ label }}{% endblock %}{{ self.body() }}{% with z = 3 %}{{ z }}{% endwith %}",
    "{{ cycler('a', 'b').next() }}{{ joiner('x')() }}{{ dict(a=1) }}{{ range(3)|list }}",
    "{{ label if label > 0 else '' }}{{ 1.0 }}{{ -label }}{{ true }}{{ none }}{{ 10 // 3 / 2 - 1 }}",
    "{{ question is string }}{{ nope is defined }}{{ nope|default('d') }}{{ 'a' ~ ['b'] }}",
    "{{ question|length }}{{ question[::-1] }}{{ ' x '|trim }}{{ context.split('\n')|last }}",
    "{{ 'abc'.center(7, '*') }}{{ '7'.zfill(3) }}{{ 'a\tb'.expandtabs(4) }}{{ 'x'.upper().lower() }}",
)


def _environments() -> tuple[LimitedEnvironment, ImmutableSandboxedEnvironment]:
    options = {"undefined": StrictUndefined, "keep_trailing_newline": True, "autoescape": False}
    return LimitedEnvironment(**options), ImmutableSandboxedEnvironment(**options)


@pytest.mark.parametrize("source", GOOD)
def test_templates_render_as_jinja_renders_them(source: str) -> None:
    ours, theirs = _environments()
    expected = theirs.from_string(source).render(FIELDS)
    assert render_limited(ours.from_string(source), FIELDS) == expected


@pytest.mark.parametrize("name", BAD_TEMPLATES)
def test_a_template_that_does_too_much_is_refused(name: str) -> None:
    source, reason = BAD_TEMPLATES[name]
    with pytest.raises(TaskError) as caught:
        render(source, {"a": "x"})
    assert re.search(reason, caught.value.message)
    assert len(caught.value.message) < 600


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("{{ '\\ud800' }}", "surrogate"),
        ("{{ 'a'|regex_replace('(', '') }}", "regular expression"),
        ("{{ 'a'|regex_replace('a', '\\\\9') }}", "group reference"),
        ("{{ ('a' * 9000)|regex_replace('', 'x' * 1000) }}", "characters"),
        ("{{ ('a' * 3000)|regex_replace('(?=(.*))', '\\\\1') }}", "characters"),
        ("{% include 'x' %}", "loader"),
        ("{{ (1).__class__ }}", "unsafe"),
        ("{{ 1 // 0 }}", "zero"),
    ],
)
def test_other_faults_of_a_template_are_one_error(source: str, reason: str) -> None:
    with pytest.raises(TaskError, match=reason):
        render(source, {})


def test_a_slow_pattern_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tenbin.sandbox.patterns.SECONDS", 0.05)
    with pytest.raises(TaskError, match=r"\(a\+\)\+\$"):
        render("{{ text|regex_replace('(a+)+$', '') }}", {"text": "a" * 4000 + "!"})


def test_slow_operations_end_by_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tenbin.sandbox.templates.budget.SECONDS", 0.05)
    source = "{% for i in range(99999) %}{{ 1 if a == b }}{% endfor %}"
    with pytest.raises(TaskError, match="more than 0 s"):
        render(source, {"a": "x" * 3_000_000, "b": "x" * 2_999_999 + "x"})


def test_long_fields_may_give_long_prompts() -> None:
    text = "あ" * (tenbin.sandbox.templates.budget.SIZE + 1)
    assert render("{{ text }}\n{{ text|upper }}", {"text": text}) == f"{text}\n{text}"
    with pytest.raises(TaskError, match="characters"):
        render("{% for i in range(9) %}{{ text }}{% endfor %}", {"text": text})


def test_budgets_of_threads_are_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tenbin.sandbox.templates.budget.STEPS", 3000)
    source = "{% for i in range(2000) %}{{ i }}{% endfor %}"
    texts: list[str] = []
    threads = [threading.Thread(target=lambda: texts.append(render(source, {}))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert texts == ["".join(map(str, range(2000)))] * 4


def test_a_rendering_leaves_no_budget_behind() -> None:
    ours, _ = _environments()
    template = ours.from_string("{% for i in range(99999) %}{{ 'x' * 100 }}{% endfor %}")
    for _ in range(2):
        with pytest.raises(TooMuchWork):
            render_limited(template, {})
    assert tenbin.sandbox.templates.budget.ACTIVE.get(None) is None


def test_the_worst_templates_stay_small() -> None:
    """All of them in one process of 800 MB of address space, which Jinja alone does not survive."""
    program = """
import resource
import tenbin.prompts.environment as environment
from tenbin.errors import TaskError
from tests.sandbox.bad_templates import BAD_TEMPLATES
resource.setrlimit(resource.RLIMIT_AS, (800 << 20, 800 << 20))
for name, (source, _) in BAD_TEMPLATES.items():
    try:
        environment.render(source, {"a": "x"})
    except TaskError as error:
        assert "too large" not in error.message, name
    else:
        raise AssertionError(name)
print("refused", len(BAD_TEMPLATES))
"""
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=root, capture_output=True, text=True, timeout=300
    )
    assert done.stdout.strip() == f"refused {len(BAD_TEMPLATES)}", done.stderr
