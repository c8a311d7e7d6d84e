"""Commands that ask a model: `run` and `sweep`."""

from __future__ import annotations

from tenbin.cli.arguments.answering import add_model, add_output, add_workers
from tenbin.cli.arguments.asking import add_data, add_generation, add_prompt, add_selection
from tenbin.cli.arguments.command import Command, add_format
from tenbin.cli.exit_codes import HELP

_RUN_EXAMPLES = """examples:
  tenbin run --model hf --model_args pretrained=smollm2-135m --tasks jnli \\
      --sample_data
  tenbin run --model hf-causal --model_args pretrained=PATH \\
    --tasks jsquad-1.1-0.3,jcommonsenseqa-1.1-0.3,jnli-1.1-0.3,marc_ja-1.1-0.3 \\
    --num_fewshot "2,3,3,3" --device cuda --output_path result.json
  tenbin run --model hf --model_args pretrained=PATH --tasks mlogiqa_mcq \\
      --template native
  tenbin run --model hf --model_args pretrained=PATH --tasks mlogiqa_gen_ja \\
      --gen_kwargs temperature=0.8,top_p=0.95 --repeats 4
  tenbin run --model hf --model_args pretrained=PATH --tasks jnli --workers 8
  tenbin run --model openai-chat \\
      --model_args base_url=http://127.0.0.1:8080/v1 \\
      --tasks mlogiqa_gen_ja --apply_chat_template --thinking on
  tenbin run --config run.yaml --limit 100
"""
_SWEEP_EXAMPLES = """examples:
  tenbin sweep --model hf --model_args pretrained=PATH \\
      --tasks jcommonsenseqa,jnli,marc_ja --num_fewshot 3 --select_on train:200
  tenbin sweep --model hf --model_args pretrained=PATH --tasks jnli-1.1 \\
      --templates 0.2,0.3 --num_fewshot_sweep 0,1,3,5
  tenbin sweep --model hf --model_args pretrained=PATH --tasks jnli \\
      --num_fewshot 3 --seeds 5
  tenbin sweep runs/20260101-120000-model --metric balanced_acc  (a stored one)
"""
_SELECT_HELP = (
    "where the template is chosen: crossfit (default), each tenth of the scored documents by what "
    "is best on the others; or SPLIT:N, such as train:200, documents that are not scored"
)


def add_run(command: Command) -> None:
    """`tenbin run --model … --tasks …`."""
    parser = command("run", "evaluate a model", f"{_RUN_EXAMPLES}\n{HELP}")
    add_selection(parser)
    add_model(parser)
    add_workers(parser)
    add_prompt(parser)
    add_generation(parser)
    add_data(parser)
    add_output(parser)
    parser.add_argument_group("choosing a template").add_argument(
        "--select_on",
        metavar="SPLIT:N",
        help="with --template auto: documents that the template is chosen on "
        "(default: train:200); they are not scored",
    )


def add_sweep(command: Command) -> None:
    """`tenbin sweep --model … --tasks …`, or of a stored run."""
    parser = command(
        "sweep",
        "run all templates of each task, and choose among them without fooling oneself",
        f"{_SWEEP_EXAMPLES}\n{HELP}",
    )
    parser.add_argument(
        "run", nargs="?", metavar="RUN", help="a stored sweep to report on again, without a model"
    )
    group = parser.add_argument_group("what to sweep over")
    group.add_argument(
        "--templates", metavar="NAMES", help="names or patterns, or all (the default)"
    )
    group.add_argument(
        "--num_fewshot_sweep", metavar="N,N…", help="numbers of shots to try, such as 0,1,3,5"
    )
    group.add_argument(
        "--seeds",
        metavar="N",
        help="draws of examples to repeat everything with: mean, spread, and how much of the "
        "variance is prompt, examples and items",
    )
    group.add_argument("--select_on", metavar="WHERE", help=_SELECT_HELP)
    group.add_argument(
        "--metric", metavar="NAME", help="choose by this metric (default: each task's first)"
    )
    add_selection(parser)
    add_model(parser)
    add_workers(parser)
    add_prompt(parser)
    add_generation(parser)
    add_data(parser)
    output = add_output(parser)
    add_format(output, "json")
    output.add_argument(
        "-o", dest="report_file", metavar="FILE", help="also write the report as JSON"
    )
