"""Commands for before a run: `tasks`, `preview`, `validate` and `doctor`."""

from __future__ import annotations

from tenbin.cli.arguments.answering import add_model
from tenbin.cli.arguments.asking import add_data, add_generation, add_prompt, add_selection
from tenbin.cli.arguments.command import Command, add_format

_PREVIEW_EXAMPLES = """examples:
  tenbin preview --tasks jcommonsenseqa-1.1-0.3 --num_fewshot 3 --limit 2 \\
      --sample_data
  tenbin preview --tasks mlogiqa_gen --template native --limit 1 \\
      --sample_data --format jsonl
  tenbin preview --tasks jnli-1.3-0.2 --num_fewshot 3 --sample_data \\
      --tokenizer smollm2-135m
"""
_DOCTOR_EXAMPLES = """Looks at every template of each task with this model's tokenizer; no
weights are loaded. Shows tokens that merge where the answer begins, BOS,
special tokens that the model does not know (<NL>, [INST]), prompts that are
too long, label lengths, unknown characters and cost, and which templates look
meant for this model. It takes 100 documents a task, spread evenly, unless
--limit says otherwise; --limit all takes every one. Flags of `tenbin run` mean
the same here, so that what is diagnosed is what would be asked.

ok       nothing to say
note     good to know when reading the scores
warning  scores under this template are to be doubted
problem  documents fail, or the score means nothing

examples:
  tenbin doctor --model hf --model_args pretrained=smollm2-135m \\
      --tasks jnli --sample_data
  tenbin doctor --model hf --model_args pretrained=PATH --tasks jsquad,jnli \\
      --num_fewshot 3
  tenbin doctor --model hf --model_args pretrained=PATH --tasks jnli \\
      --templates 0.2,0.3 --limit all
  tenbin doctor --model hf --model_args pretrained=PATH --tasks mlogiqa_mcq \\
      --templates 'native*' --apply_chat_template --format json
  tenbin doctor --config run.yaml --strict
"""
_DOCTOR_SELECTION = {
    "template": "look at this template of bare names and groups only (default: all of a task's)",
    "limit": "documents a task: a number, a fraction below 1, one per entry of --tasks, or all "
    "(default: 100)",
}


def add_tasks(command: Command) -> None:
    """`tenbin tasks`."""
    parser = command("tasks", "list tasks, templates, groups and their data")
    parser.add_argument(
        "pattern", nargs="?", metavar="PATTERN", help="part of a name, or a pattern"
    )
    parser.add_argument("--include_path", metavar="PATHS", help="task files of your own")


def add_preview(command: Command) -> None:
    """`tenbin preview --tasks …`."""
    parser = command("preview", "show exact prompts, without a model", _PREVIEW_EXAMPLES)
    add_selection(parser)
    add_prompt(parser)
    add_data(parser)
    group = parser.add_argument_group("preview")
    add_format(group, "jsonl")
    group.add_argument(
        "--tokenizer",
        metavar="PATH",
        help="also show token counts, BOS, merged boundaries and overflow with this tokenizer",
    )
    group.add_argument("--max_length", metavar="N", help="window to check against")
    group.add_argument("--encoding", metavar="MODE", help="joint (default) or separate")
    group.add_argument("--cache_dir", metavar="DIR", help="downloads and converted models")
    group.add_argument("--config", metavar="FILE", help="YAML with these same names as keys")


def add_validate(command: Command) -> None:
    """`tenbin validate TASK…`."""
    parser = command("validate", "check tasks: schema, fields, labels, leaks, every template")
    parser.add_argument(
        "names", nargs="+", metavar="TASK_OR_FILE", help="names as in --tasks, or files"
    )
    parser.add_argument("--include_path", metavar="PATHS", help="task files of your own")
    add_data(parser)


def add_doctor(command: Command) -> None:
    """`tenbin doctor --model … --tasks …`."""
    parser = command(
        "doctor",
        "diagnose tasks and templates with a model's tokenizer, before loading it",
        _DOCTOR_EXAMPLES,
    )
    add_selection(parser, _DOCTOR_SELECTION)
    add_model(parser)
    add_prompt(parser)
    add_generation(parser)
    add_data(parser)
    group = parser.add_argument_group("doctor")
    group.add_argument(
        "--templates",
        metavar="NAMES",
        help="templates of bare names and groups: all (default), or names and patterns (0.2,0.3)",
    )
    add_format(group, "json")
    group.add_argument("--strict", action="store_true", help="exit with 1 when a problem was found")
    group.add_argument("--config", metavar="FILE", help="YAML with these same names as keys")
