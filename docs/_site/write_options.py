"""Write what is made from the declarations of options: docs/options.md, the keyword types, and the
table of lm-eval's flags in docs/coming-from-lm-eval.md.

`make options` runs it; tests/config/test_options.py fails when a file is out of date.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from textwrap import wrap

from tenbin.config import OPTIONS
from tenbin.config.lm_eval_options import FLAGS
from tenbin.config.options import GROUPS, Option

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "options.md"
KEYWORDS = ROOT / "src" / "tenbin" / "config" / "run_options.py"
LM_EVAL_PAGE = ROOT / "docs" / "coming-from-lm-eval.md"
PARAMETERS = ("model", "tasks")
"""Options that `tenbin.evaluate` takes as parameters of their own."""
_WIDTH = 100
_FLAGS_BEGIN = "<!-- flags: written by `make options` -->\n"
_FLAGS_END = "<!-- end of flags -->\n"

_PAGE_HEAD = (
    "# Options\n\n"
    "Every option of a run has one name: it is a flag (`--num_fewshot 3`; hyphens work too), a key "
    "of run files (`num_fewshot: 3`, read with `--config`) and a keyword in Python "
    "(`tenbin.evaluate(num_fewshot=3)`). Flags override a run file.\n\n"
    "Run files have two more keys: `models`, a list of models with options of their own, and "
    "`models_at_once`, how many of them run at the same time ([many models](scale.md)).\n\n"
    "`tenbin COMMAND --help` also lists the arguments that only one command has. "
    "This page is written by `make options`.\n"
)
_KEYWORDS_HEAD = '''"""Keywords of the Python functions that take the options of a run.

Written by `make options` from the declarations in `run_config`: change those instead.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict


class RunOptions(TypedDict, total=False):
    """Options of a run; None stands for the default."""

'''


def options_page() -> str:
    """The text of docs/options.md."""
    return _PAGE_HEAD + "".join(_sections())


def _sections() -> Iterator[str]:
    for group in GROUPS:
        title, _, remark = group.title.partition(" (")
        yield f"\n## {title[0].upper()}{title[1:]}\n\n"
        if remark:
            yield f"{remark[0].upper()}{remark[1:].removesuffix(')')}.\n\n"
        yield "| option | value | default | commands | what it does |\n|---|---|---|---|---|\n"
        for one in OPTIONS.values():
            if one.group is group:
                yield _row(one)


def _row(option: Option) -> str:
    value = "true\\|false" if option.kind.is_switch else option.metavar.replace("|", "\\|")
    commands = ", ".join(option.commands) if option.is_flag else "run files and Python only"
    notes = "" if option.in_files else "; not in run files"
    text = option.help.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")
    default = "" if option.default in (None, (), {}) else f"`{_written(option.default)}`"
    return f"| `{option.name}` | {value} | {default} | {commands}{notes} | {text} |\n"


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def keyword_types() -> str:
    """The text of src/tenbin/config/run_options.py."""
    parts = [_KEYWORDS_HEAD]
    for one in OPTIONS.values():
        if one.name not in PARAMETERS:
            parts.append(f"    {one.name}: {one.python_type}\n{_docstring(one.help)}")
    return "".join(parts)


def _docstring(help: str) -> str:
    lines = wrap(f'"""{help}"""', _WIDTH - 4, break_long_words=False, break_on_hyphens=False)
    return "".join(f"    {line}\n" for line in lines)


def lm_eval_page() -> str:
    """The text of docs/coming-from-lm-eval.md, with its table of flags as declared."""
    before, _, rest = LM_EVAL_PAGE.read_text(encoding="utf-8").partition(_FLAGS_BEGIN)
    after = rest.partition(_FLAGS_END)[2]
    rows = ["| lm-eval | tenbin | |\n|---|---|---|\n"]
    for one in FLAGS:
        short = f", `{one.short}`" if one.short else ""
        known = one.name in OPTIONS or one.name == "config"
        rows.append(
            f"| `--{one.name}`{short} | {f'`--{one.name}`' if known else '–'} | {one.here} |\n"
        )
    return f"{before}{_FLAGS_BEGIN}\n{''.join(rows)}\n{_FLAGS_END}{after}"


if __name__ == "__main__":
    PAGE.write_text(options_page(), encoding="utf-8")
    KEYWORDS.write_text(keyword_types(), encoding="utf-8")
    LM_EVAL_PAGE.write_text(lm_eval_page(), encoding="utf-8")
