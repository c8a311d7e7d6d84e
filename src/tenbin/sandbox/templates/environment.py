"""Jinja's sandbox with a budget: every loop, call, operator and output is counted.

The tree of a template is rewritten before it is compiled, so that loops and macros count their
rounds, `~` and lists are made by functions of this environment, and no constant expression is
worked out while compiling. All else uses what Jinja offers for it: `call`, `call_binop`,
`finalize`, `concat` and the table of filters.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any

from jinja2 import Template, nodes, pass_context
from jinja2.runtime import Context, LoopContext, markup_join, str_join
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import _PassArg
from jinja2.visitor import NodeTransformer

from tenbin.sandbox.templates.budget import ACTIVE, CALL, SIZE, Budget, TooMuchWork, current
from tenbin.sandbox.templates.operations import (
    FILTERS,
    check_format,
    check_method,
    check_operator,
    refuse_random,
)

LONGEST_SOURCE = 1_000_000
NUMBER_TESTS = ("odd", "even", "divisibleby")
"""Tests by Python's `%`, which formats where it is given a text: `'%999999999d' is odd`."""
_BODIES = (nodes.For, nodes.Macro, nodes.CallBlock)


def _round() -> None:
    """Stands for one round of a loop or one call of a macro; calling it counts it."""


def _made(value: Any) -> Any:
    """Stands for a list or a mapping that a template writes out."""
    return value


def _joined(*values: Any) -> Any:
    """Stands for `~`."""


class LimitedEnvironment(ImmutableSandboxedEnvironment):
    """Renders as Jinja's sandbox does, within the budget that `render_limited` opens."""

    intercepted_binops = frozenset({"+", "*", "**", "%"})
    round_counted = staticmethod(_round)
    value_made = staticmethod(_made)
    texts_joined = staticmethod(_joined)

    def __init__(self, **options: Any) -> None:
        """Take Jinja's own options."""
        options.setdefault("finalize", counted_output)
        super().__init__(**options)
        self.concat = _concatenated  # type: ignore[assignment,method-assign,unused-ignore]
        for name, function in list(self.filters.items()):
            self.filters[name] = limited_filter(name, function)
        for name in NUMBER_TESTS:
            self.tests[name] = _number_test(name, self.tests[name])
        self.globals["lipsum"] = refuse_random

    def _generate(self, source: nodes.Template, *args: Any, **named: Any) -> str:
        return super()._generate(_Rewriter().visit(source), *args, **named)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Carry out an operator whose result is not too large."""
        budget = current()
        check_operator(budget, operator, left, right)
        return budget.make(super().call_binop(context, operator, left, right))

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        """Check the widths of `str.format`, which Jinja replaces by a function of its own."""
        formatted = super().wrap_str_format(value)
        if formatted is None:
            return None
        form = value.__self__

        @wraps(formatted)
        def checked(*args: Any, **named: Any) -> str:
            given = args
            if value.__name__ == "format_map" and args and isinstance(args[0], Mapping):
                given = tuple(args[0].values())
            check_format(current(), form, [*given, *named.values()])
            return formatted(*args, **named)

        return checked

    def call(__self, __context: Context, __obj: Any, *args: Any, **named: Any) -> Any:
        """Count a call, and check what it is given and what it gives."""
        budget = current()
        if __obj is _made:
            return budget.make(args[0])
        if __obj is _round:
            return budget.step()
        budget.step(CALL)
        if __obj is _joined:
            return _join_texts(budget, __context, args)
        if isinstance(__obj, types.BuiltinMethodType):
            args, named = check_method(budget, __obj, (args, named))
        elif isinstance(__obj, LoopContext):
            args = tuple(_counted(budget, values) for values in args)
            named = {name: _counted(budget, values) for name, values in named.items()}
        return budget.make(super().call(__context, __obj, *args, **named))


def render_limited(template: Template, fields: Mapping[str, Any]) -> str:
    """Render a template of a `LimitedEnvironment`.

    Raises:
        TooMuchWork: It went over a limit.
    """
    token = ACTIVE.set(Budget(fields))
    try:
        return template.render(fields)
    except RecursionError:
        raise TooMuchWork("it calls itself without end") from None
    except (MemoryError, OverflowError) as error:
        raise TooMuchWork(f"it makes a value that is too large: {error}") from None
    finally:
        ACTIVE.reset(token)


def _number_test(name: str, function: Any) -> Callable[..., bool]:
    @wraps(function)
    def limited(value: Any, *args: Any, **named: Any) -> bool:
        if isinstance(value, str | bytes):
            raise TypeError(f"the test {name!r} is for numbers, not for a text")
        return bool(function(value, *args, **named))

    return limited


def limited_filter(
    name: str, function: Callable[..., Any], steps: int = CALL
) -> Callable[..., Any]:
    """Return a filter that counts its calls and what it makes, checked beforehand where needed."""
    check = FILTERS.get(name)
    wanted = _PassArg.from_obj(function)

    # A filter that takes the context is never worked out while a template is compiled.
    @pass_context
    @wraps(function)
    def limited(context: Context, *args: Any, **named: Any) -> Any:
        budget = current()
        budget.step(steps)
        if check is not None:
            args, named = check(budget, *args, **named)
        if wanted is _PassArg.context:
            return budget.make(function(context, *args, **named))
        if wanted is _PassArg.eval_context:
            return budget.make(function(context.eval_ctx, *args, **named))
        if wanted is _PassArg.environment:
            return budget.make(function(context.environment, *args, **named))
        return budget.make(function(*args, **named))

    limited.jinja_pass_arg = _PassArg.context  # type: ignore[attr-defined]
    return limited


def check_source(source: str) -> None:
    """Refuse a source that is too long to compile.

    Raises:
        TooMuchWork: It is.
    """
    if len(source) > LONGEST_SOURCE:
        raise TooMuchWork(f"its source has more than {LONGEST_SOURCE:,} characters")


def counted_output(value: Any) -> Any:
    """Check a value that is about to become text; texts are counted where they are joined."""
    if type(value) is str:
        return value
    return current().make(value)


def _concatenated(pieces: Iterable[str]) -> str:
    budget = current()
    total = 0
    kept = []
    for piece in pieces:
        total += len(piece)
        if total > SIZE:
            budget.check(total)
        kept.append(piece)
    budget.count(total)
    return "".join(kept)


def _join_texts(budget: Budget, context: Context, values: tuple[Any, ...]) -> Any:
    for value in values:
        if type(value) is not str:
            budget.make(value)
    budget.check(sum(len(value) for value in values if isinstance(value, str)))
    join = markup_join if context.eval_ctx.autoescape else str_join
    return budget.make(join(values))


def _counted(budget: Budget, values: Iterable[Any]) -> Iterable[Any]:
    for value in values:
        budget.step()
        yield value


class _Rewriter(NodeTransformer):
    """Puts the functions of the environment where Jinja would use Python's own operations."""

    def visit(self, node: nodes.Node, *args: Any, **named: Any) -> Any:
        self.generic_visit(node)
        if isinstance(node, _BODIES):
            counting = nodes.ExprStmt(_call("round_counted", []))
            node.body.insert(0, counting.set_lineno(node.lineno))
        elif isinstance(node, nodes.Concat):
            return _call("texts_joined", node.nodes).set_lineno(node.lineno)
        elif isinstance(node, nodes.List | nodes.Tuple | nodes.Dict) and _varies(node):
            return _call("value_made", [node]).set_lineno(node.lineno)
        return node


def _call(name: str, arguments: list[nodes.Expr]) -> nodes.Call:
    return nodes.Call(nodes.EnvironmentAttribute(name), arguments, [], None, None)


def _varies(node: nodes.List | nodes.Tuple | nodes.Dict) -> bool:
    """Whether a literal holds more than constants, and is no target of an assignment."""
    if getattr(node, "ctx", "load") != "load":
        return False
    try:
        node.as_const()
    except nodes.Impossible:
        return True
    return False
