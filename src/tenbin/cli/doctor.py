"""`tenbin doctor`: check tasks and templates with a model's tokenizer, without its weights."""

from __future__ import annotations

import argparse

EXAMPLES = """Examines every template of each task with this model's tokenizer; no weights
are loaded. It reports tokens that merge where the answer begins, BOS, special
tokens that the model does not know (<NL>, [INST]), prompts that are too long,
label lengths, unknown characters and cost, and which templates seem meant for
this model. It takes 100 documents per task, spread evenly, unless --limit
says otherwise; --limit all takes every one. The flags of `tenbin run` have the
same meaning here, so that the prompts examined are those of the run.

ok       nothing to report
note     worth knowing when you read the scores
warning  scores under this template are doubtful
problem  documents fail, or the score is meaningless

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
_HELPS = {
    "template": "examine only this template of bare names and groups (default: all of a task's)",
    "templates": "templates of bare names and groups: all (default), or names and patterns "
    "(0.2,0.3)",
    "limit": "documents per task: a number, a fraction below 1, one per entry of --tasks, or all "
    "(default: 100)",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `tenbin doctor`."""
    from tenbin.cli.flags import add_options
    from tenbin.cli.parser import add_format
    from tenbin.config.options import SWEEP

    group = add_options(parser, "doctor", _HELPS, {SWEEP: "diagnosis"})[SWEEP]
    add_format(group, "json")
    group.add_argument("--strict", action="store_true", help="exit with 1 if a problem was found")
    group.add_argument("--config", metavar="FILE", help="run file: YAML with these options as keys")


def execute(options: argparse.Namespace) -> int:
    """Print the diagnosis; with --strict, the exit code is 1 when there is a problem."""
    from tenbin.cli.flags import given_options
    from tenbin.pipeline.doctor import examination_config, examine, report_of
    from tenbin.report.terminal.progress import open_progress

    # Only here may --limit be `all`.
    given = given_options(options, "limit")
    if options.limit is not None:
        given["limit"] = options.limit
    report = report_of(examine(examination_config(given), open_progress()))
    if options.format == "json":
        import json

        print(json.dumps(report.to_json(), ensure_ascii=False, indent=2))
    else:
        from tenbin.report.terminal.doctor import print_diagnosis

        print_diagnosis(report)
    return 1 if options.strict and report.severity == "problem" else 0
