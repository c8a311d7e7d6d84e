"""`tenbin import-task`: write an lm-eval task file in tenbin's form, or the other way round."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tenbin.config import RunConfig
    from tenbin.tasks.selection import Selected

EXAMPLES = """examples:
  tenbin import-task xnli_ja.yaml --output my_xnli_ja.yaml
  tenbin import-task xnli_sw --include_path lm_eval --template published
  tenbin import-task my_xnli_ja.yaml --to lm-eval --template polite
  tenbin import-task proverbs-1.0-asked --include_path proverbs.yaml \\
      --to lm-eval
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tenbin import-task`."""
    from tenbin.cli.flags import add_options

    parser.add_argument(
        "task", metavar="FILE", help="a task file, or the name of a task below --include_path"
    )
    parser.add_argument(
        "--to",
        choices=("tenbin", "lm-eval"),
        default="tenbin",
        help="the form to write (default: tenbin)",
    )
    parser.add_argument(
        "--template",
        metavar="NAME",
        help="what the wording is to be called (default: default); with --to lm-eval the wording "
        "to write (default: the task's)",
    )
    parser.add_argument(
        "--output", metavar="FILE", help="a file that does not exist yet (default: the terminal)"
    )
    add_options(parser, "import-task")


def execute(options: argparse.Namespace) -> int:
    """Write the file, or print it."""
    from pathlib import Path

    from tenbin.errors import ConfigError
    from tenbin.files.atomic import write_atomically

    target = Path(options.output) if options.output else None
    if target is not None and target.exists():
        raise ConfigError(f"--output {target}: is there already", "name another file")
    text = _to_lm_eval(options) if options.to == "lm-eval" else _to_tenbin(options)
    if target is None:
        print(text, end="")
        return 0
    write_atomically(target, text)
    print(f"written: {target}")
    if "data_files" in text and target.resolve().parent != Path(options.task).resolve().parent:
        print(
            "data files are looked for in the working folder, --data_dir, and beside the task file"
        )
    return 0


def _config(options: argparse.Namespace) -> RunConfig:
    from tenbin.cli.flags import flags_of
    from tenbin.config import build_config

    return build_config({"tasks": [options.task], **flags_of(options, "template")})


def _to_tenbin(options: argparse.Namespace) -> str:
    from pathlib import Path

    from tenbin.pipeline.task_files import reach_of
    from tenbin.records import DEFAULT_TEMPLATE
    from tenbin.tasks.installed import package_label
    from tenbin.tasks.lm_eval.conversion import to_tenbin
    from tenbin.tasks.lm_eval.reading import read_task_file

    config = _config(options)
    path = Path(options.task)
    if not path.exists():
        path = Path(_chosen(options.task, None, config).task.source)
    label = package_label(path.resolve())
    read = read_task_file(path, reach_of(config))
    return to_tenbin(read, options.template or DEFAULT_TEMPLATE, label)


def _to_lm_eval(options: argparse.Namespace) -> str:
    from pathlib import Path

    from tenbin.pipeline.task_files import reach_of
    from tenbin.tasks.lm_eval.conversion import to_lm_eval
    from tenbin.tasks.lm_eval.reading import read_task_file

    config = _config(options)
    one = _chosen(options.task, options.template, config)
    mapping = None
    if one.task.origin is not None:
        mapping = read_task_file(Path(one.task.source), reach_of(config)).mapping
    return to_lm_eval(one.task, one.template, mapping)


def _chosen(name: str, template: str | None, config: RunConfig) -> Selected:
    """The one task that a name, an id or a file stands for."""
    from tenbin.errors import TaskError
    from tenbin.pipeline.task_files import reach_of
    from tenbin.tasks.registry import load_registry

    registry = load_registry(config.include_path, reach=reach_of(config))
    chosen = registry.select([name], template)
    if len(chosen) > 1:
        ids = ", ".join(one.full_id for one in chosen[:10])
        raise TaskError(
            f"{name}: stands for {len(chosen)} tasks",
            f"name one of them, with its file under --include_path: {ids}",
        )
    return chosen[0]
