"""Conversations as text, by a tokenizer's own chat template and within limits.

A template comes with the model, from whoever published it, and transformers would compile and
render it without any limit. So transformers is asked for its environment and never for the text:
the same settings, filters, functions and tags are put on an environment that counts its work.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

from jinja2 import Environment, Template
from jinja2.filters import FILTERS
from jinja2.tests import TESTS

from tenbin.errors import BackendError, ConfigError
from tenbin.sandbox.templates import LimitedEnvironment, TooMuchWork, render_limited
from tenbin.sandbox.templates.environment import check_source, limited_filter

_THINKING_MARKS = (
    ("<think>", "</think>"),
    ("<seed:think>", "</seed:think>"),
    ("[THINK]", "[/THINK]"),
    ("<thinking>", "</thinking>"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
)
"""Marks of models published so far; others can be named by the user."""


def thinking_marks(tokenizer: Any) -> tuple[str, str] | None:
    """Return the marks around thinking, by the added tokens or the chat template; None without."""
    words = {str(token) for token in tokenizer.added_tokens_decoder.values()}
    template = chat_source(tokenizer)
    for opening, closing in _THINKING_MARKS:
        if {opening, closing} <= words or closing in template:
            return opening, closing
    return None


def chat_source(tokenizer: Any) -> str:
    """Return the source of the chat template, the default one of several; empty for none."""
    template = tokenizer.chat_template
    if isinstance(template, dict):
        template = template.get("default") or next(iter(template.values()), None)
    return str(template) if template else ""


def render_chat(
    tokenizer: Any,
    messages: Sequence[Mapping[str, str]],
    variables: Mapping[str, Any],
    drop_system: bool = False,
) -> tuple[str, bool]:
    """Return the text of a conversation, ending where the assistant's next words go.

    That is where its next turn begins, or the end of the last turn if that is the assistant's.
    A template that refuses the system role, or silently drops it, gets the system text in
    front of the first user turn instead, joined by a blank line.

    Args:
        tokenizer: The transformers tokenizer.
        messages: The turns.
        variables: Further variables of the template, such as enable_thinking.
        drop_system: Leave the system text out where the template refuses it, as lm-eval does.

    Returns:
        The text, and whether the system text was moved.

    Raises:
        BackendError: There is no template, or it refuses the turns.
        ConfigError: The template has no such variable.
    """
    if not tokenizer.chat_template:
        raise BackendError(
            "the tokenizer has no chat template",
            "leave --apply_chat_template out, or name a tokenizer that has one",
        )
    check_variables(chat_source(tokenizer), variables)
    apply = partial(apply_template, tokenizer, variables=variables)
    turns = [dict(message) for message in messages]
    system = [turn["content"] for turn in turns if turn["role"] == "system"]
    if not system:
        return apply(turns), False
    try:
        text = apply(turns)
    except BackendError:
        if drop_system:
            return apply([turn for turn in turns if turn["role"] != "system"]), False
        return apply(_folded(turns)), True
    # Templates strip what they quote, so the comparison does too.
    if drop_system or all(part.strip() in text for part in system):
        return text, False
    return apply(_folded(turns)), True


def check_variables(source: str, variables: Mapping[str, Any]) -> None:
    """Refuse variables that a template would silently ignore.

    Raises:
        ConfigError: The template's source has no such variable.
    """
    for name in variables:
        if not re.search(rf"\b{re.escape(name)}\b", source):
            raise ConfigError(
                f"--chat_template_args {name}: the model's chat template has no such variable",
                "leave it out, or look at the template for what it asks for",
            )


def _folded(turns: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
    system = "\n\n".join(turn["content"] for turn in turns if turn["role"] == "system")
    others = [dict(turn) for turn in turns if turn["role"] != "system"]
    for turn in others:
        if turn["role"] == "user":
            turn["content"] = f"{system}\n\n{turn['content']}"
            return others
    return [{"role": "user", "content": system}, *others]


_OWN_GLOBALS = frozenset({"range", "lipsum"})
"""Functions that the limited environment has replaced already."""


def apply_template(
    tokenizer: Any, turns: Sequence[Mapping[str, str]], variables: Mapping[str, Any]
) -> str:
    """Return the text of a conversation, ending where the assistant's next words go.

    Raises:
        BackendError: The template refuses the turns, is not valid, or does too much work.
    """
    continues = bool(turns) and turns[-1]["role"] == "assistant"
    try:
        if not _uses_template(tokenizer):
            # Its class renders the text itself, in Python: that is code, not a template.
            return str(
                tokenizer.apply_chat_template(
                    list(turns),
                    tokenize=False,
                    add_generation_prompt=not continues,
                    continue_final_message=continues,
                    **variables,
                )
            )
        compiled = _compiled(tokenizer.get_chat_template())
        if continues:
            last = {**turns[-1], "content": turns[-1]["content"] + _CONTINUES}
            turns = [*turns[:-1], last]
        text = render_limited(compiled, _fields(tokenizer, turns, variables, not continues))
        text.encode()
        return _cut(text) if continues else text
    except TooMuchWork as error:
        raise BackendError(
            f"the model's chat template does too much for one conversation: {error}",
            "leave --apply_chat_template out, or mend the template in the tokenizer's files",
        ) from error
    except BackendError:
        raise
    except UnicodeEncodeError as error:
        raise BackendError(
            "the model's chat template gives half of a surrogate pair, which is not a character",
            "leave --apply_chat_template out, or mend the template in the tokenizer's files",
        ) from error
    except Exception as error:
        # Besides Jinja's errors, whatever Python functions and methods in it raise.
        raise BackendError(
            f"the chat template refuses this conversation: {error}",
            "check the order of the turns; many templates want user and assistant in turn",
        ) from error


_CONTINUES = "THE_ANSWER_GOES_ON_HERE "
"""Marks the end of an answer's beginning, since templates write more behind a turn."""


def _cut(text: str) -> str:
    """The text up to the mark; white space before it stays unless the template trims turns."""
    at = text.rfind(_CONTINUES.strip())
    if at < 0:
        raise BackendError(
            "the chat template leaves out the beginning of the answer (gen_prefix)",
            "leave --apply_chat_template out",
        )
    kept = text[:at]
    return kept if text[at:].startswith(_CONTINUES) else kept.rstrip()


def _uses_template(tokenizer: Any) -> bool:
    from transformers import PreTrainedTokenizerBase

    own = getattr(type(tokenizer), "apply_chat_template", None)
    return own is PreTrainedTokenizerBase.apply_chat_template


def _fields(
    tokenizer: Any,
    turns: Sequence[Mapping[str, str]],
    variables: Mapping[str, Any],
    add_generation_prompt: bool,
) -> dict[str, Any]:
    """Return the names that a template of transformers can use."""
    return {
        "messages": [dict(turn) for turn in turns],
        "tools": None,
        "documents": None,
        "add_generation_prompt": add_generation_prompt,
        **tokenizer.special_tokens_map,
        **variables,
    }


@lru_cache(maxsize=16)
def _compiled(source: str) -> Template:
    try:
        check_source(source)
        return _environment().from_string(source)
    except (SyntaxError, RecursionError, MemoryError, OverflowError) as error:
        # From Python's own compiler, for blocks or brackets nested too deeply.
        raise BackendError(
            f"the model's chat template cannot be compiled: {error or type(error).__name__}",
            "leave --apply_chat_template out, or mend the template in the tokenizer's files",
        ) from error


@lru_cache(maxsize=1)
def _environment() -> LimitedEnvironment:
    """Return transformers' environment for chat templates, with limits."""
    reference = _reference()
    limited = LimitedEnvironment(
        trim_blocks=reference.trim_blocks,
        lstrip_blocks=reference.lstrip_blocks,
        keep_trailing_newline=reference.keep_trailing_newline,
        undefined=reference.undefined,
        autoescape=reference.autoescape,
    )
    limited.extensions = {
        name: extension.bind(limited) for name, extension in reference.extensions.items()
    }
    for name, function in reference.filters.items():
        if function is not FILTERS.get(name):
            limited.filters[name] = limited_filter(name, function)
    for name, test in reference.tests.items():
        if test is not TESTS.get(name):
            limited.tests[name] = test
    limited.globals.update(
        {name: one for name, one in reference.globals.items() if name not in _OWN_GLOBALS}
    )
    return limited


def _reference() -> Environment:
    """Return the environment that transformers would use, got by an empty template."""
    try:
        from transformers.utils.chat_template_utils import _compile_jinja_template
    except ImportError as error:
        import transformers

        raise BackendError(
            f"transformers {transformers.__version__} keeps its chat templates where tenbin does "
            "not know them",
            "install a version that tenbin was tested with, or leave --apply_chat_template out",
        ) from error
    environment: Environment = _compile_jinja_template("").environment
    return environment
