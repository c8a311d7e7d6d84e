"""Every flag of every command. Imports little but argparse, so that help is instant."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType

from tenbin.cli.report_arguments import add_report, add_report_flag, add_serve
from tenbin.version import __version__

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
_CONSISTENCY_EXAMPLES = """examples:
  tenbin consistency result.json
  tenbin consistency runs/en runs/ko --alignment alignment.json \\
      --tasks mlogiqa_mcq
  tenbin consistency result.json --reference ja \\
      --format json -o consistency.json
"""
_PREVIEW_EXAMPLES = """examples:
  tenbin preview --tasks jcommonsenseqa-1.1-0.3 --num_fewshot 3 --limit 2 \\
      --sample_data
  tenbin preview --tasks mlogiqa_gen --template native --limit 1 \\
      --sample_data --format jsonl
  tenbin preview --tasks jnli-1.3-0.2 --num_fewshot 3 --sample_data \\
      --tokenizer smollm2-135m
"""
_COMPARE_EXAMPLES = """examples:
  tenbin compare before.json after.json
  tenbin compare small.json medium.json large.json --all_pairs --metrics all
  tenbin compare run.json --cells jnli-1.3-0.2 jnli-1.3-0.3
  tenbin compare a.json b.json --map jnli-1.3-0.2=jnli-1.3-0.3 \\
      --format json -o difference.json
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


def normalise_flags(argv: Sequence[str]) -> list[str]:
    """`--num-fewshot=3` as `--num_fewshot=3`: hyphens and underscores are both accepted."""
    normalised = []
    for argument in argv:
        if argument.startswith("--") and len(argument) > 2:
            name, equals, value = argument.partition("=")
            argument = "--" + name[2:].replace("-", "_") + equals + value
        normalised.append(argument)
    return normalised


class _Help(argparse.RawDescriptionHelpFormatter):
    """Keeps examples as written and lines within a terminal."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26, width=80)


def explain_unknown(unknown: Sequence[str], command: str | None) -> str:
    """What to say of arguments that no command takes."""
    from difflib import get_close_matches

    known: list[str] = []
    for action in build_parser()._actions:
        if isinstance(action, argparse._SubParsersAction) and command in action.choices:
            known = list(action.choices[command]._option_string_actions)
    written = unknown[0].partition("=")[0]
    close = get_close_matches(written, known, n=1)
    guess = f"did you mean {close[0]}? " if close else ""
    return f"unknown argument {unknown[0]!r}\n  → {guess}`tenbin {command} --help` lists all"


def build_parser() -> argparse.ArgumentParser:
    """The whole command line."""
    parser = argparse.ArgumentParser(
        prog="tenbin",
        description="tenbin (天秤): weigh language models across prompt templates and languages.",
        epilog="start with `make demo`, or:\n"
        "  tenbin run --model hf --model_args pretrained=smollm2-135m --tasks jnli \\\n"
        "      --sample_data",
        formatter_class=_Help,
    )
    parser.add_argument("--version", action="version", version=f"tenbin {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    _add_run(commands)
    _add_sweep(commands)
    add_report(partial(_command, commands))
    add_serve(partial(_command, commands))
    _add_tasks(commands)
    _add_preview(commands)
    _add_validate(commands)
    _add_compare(commands)
    _add_doctor(commands)
    _add_consistency(commands)
    return parser


def _command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    summary: str,
    examples: str = "",
) -> argparse.ArgumentParser:
    return commands.add_parser(
        name,
        help=summary,
        description=summary,
        epilog=examples,
        formatter_class=_Help,
        allow_abbrev=False,
    )


def _add_run(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = _command(commands, "run", "evaluate a model", _RUN_EXAMPLES)
    _add_selection(parser)
    _add_model(parser)
    _add_workers(parser)
    _add_prompt(parser)
    _add_generation(parser)
    _add_data(parser)
    _add_output(parser)
    parser.add_argument_group("choosing a template").add_argument(
        "--select_on",
        metavar="SPLIT:N",
        help="with --template auto: documents that the template is chosen on "
        "(default: train:200); they are not scored",
    )


def _add_output(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    output = parser.add_argument_group("output")
    output.add_argument(
        "--output_path",
        metavar="PATH",
        help="result.json (samples go to result.run/ beside it), or a folder for runs "
        "(default: runs/)",
    )
    output.add_argument(
        "--no_cache",
        nargs="?",
        const=True,
        metavar="true|false",
        default=None,
        help="neither read nor write the journal of answers that lets a run go on",
    )
    add_report_flag(output)
    output.add_argument(
        "--config",
        metavar="FILE",
        help="YAML with these same names as keys; flags override it. `tenbin run` takes a list "
        "`models:` there, each with keys of its own, and runs them all",
    )
    return output


def _add_sweep(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = _command(
        commands,
        "sweep",
        "run all templates of each task, and choose among them without fooling oneself",
        _SWEEP_EXAMPLES,
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
    _add_selection(parser)
    _add_model(parser)
    _add_workers(parser)
    _add_prompt(parser)
    _add_generation(parser)
    _add_data(parser)
    output = _add_output(parser)
    output.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    output.add_argument(
        "-o", dest="report_file", metavar="FILE", help="also write the report as JSON"
    )


def _add_selection(
    parser: argparse.ArgumentParser, own: Mapping[str, str] = MappingProxyType({})
) -> None:
    """The flags that choose tasks; `own` says what some of them mean to this command."""
    group = parser.add_argument_group("what to evaluate")
    group.add_argument(
        "--tasks",
        metavar="NAMES",
        help="comma-separated: ids (jnli-1.3-0.2), patterns (jcommonsenseqa-1.1-*), groups "
        "(mlogiqa_mcq), bare names (jnli: newest version), task files; see `tenbin tasks`",
    )
    group.add_argument(
        "--template",
        metavar="NAME",
        help=own.get(
            "template",
            "template for bare names and groups (default: the task's); auto: choose the best "
            "on documents that are not scored",
        ),
    )
    group.add_argument(
        "--num_fewshot",
        metavar="N[,N…]",
        help="examples in the prompt: one number, or one per entry of --tasks in the order written",
    )
    group.add_argument(
        "--limit",
        metavar="N[,N…]",
        help=own.get(
            "limit",
            "documents a task: a number, a fraction below 1, or one per entry of --tasks",
        ),
    )
    group.add_argument(
        "--extra_metrics",
        metavar="NAMES",
        help="further metrics: acc_norm_bytes, acc_norm_tokens, acc_pmi; jnli*:acc_pmi for some "
        "tasks only",
    )
    group.add_argument("--split", metavar="NAME", help="score this split (default: the task's)")
    group.add_argument(
        "--include_path", metavar="PATHS", help="task files of your own, or folders of them"
    )
    group.add_argument(
        "--profile",
        metavar="NAME",
        help="reproduce published numbers: jp-stable (the usual Japanese leaderboard program)",
    )


def _add_model(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("model")
    group.add_argument(
        "--model",
        metavar="NAME",
        help="backend: hf (default; also hf-causal, hf-auto); vllm; openai and openai-chat, any "
        "OpenAI-compatible server; scripted, for dry runs (docs/backends.md)",
    )
    group.add_argument(
        "--model_args",
        metavar="K=V[,K=V…]",
        help="hf: pretrained (hub id, folder, .gguf file, or smollm2-135m), revision, tokenizer, "
        "dtype, max_length, trust_remote_code, gguf_file, peft, device_map, load_in_4bit, …; "
        "openai, openai-chat: base_url, model, tokenizer, concurrency, timeout, retries, "
        "price_input, price_output, …; the key comes from OPENAI_API_KEY",
    )
    group.add_argument(
        "--device", metavar="NAME", help="cpu, cuda, cuda:1, mps (default: the best)"
    )
    group.add_argument("--dtype", metavar="NAME", help="float32, bfloat16, float16, auto")
    group.add_argument("--batch_size", metavar="N", help="rows a batch, or auto (default)")
    group.add_argument(
        "--encoding",
        metavar="MODE",
        help="prompt and answer encoded as one text (joint, default) or each alone (separate)",
    )
    group.add_argument(
        "--cache_dir", metavar="DIR", help="downloads, converted models and journals"
    )


def _add_workers(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "many workers (needs tenbin[ray]; their number moves no score, docs/scale.md)"
    )
    group.add_argument(
        "--workers",
        metavar="N",
        help="answer with N processes, each with the model: `--workers 8` on a machine with 8 GPUs "
        "is one a GPU. Default: this process alone; with --ray_address as many as fit it",
    )
    group.add_argument(
        "--ray_address",
        metavar="ADDRESS",
        help="on a Ray cluster that is up: auto (on one of its machines), HOST:PORT or "
        "ray://HOST:10001. Every machine must see the model's files and have this tenbin",
    )
    group.add_argument(
        "--num_gpus",
        metavar="F",
        help="GPUs a worker: 0.5 puts two on one GPU. Default: 1 where there are GPUs and the "
        "model runs here (hf, vllm; all of a tensor-parallel engine), else 0",
    )
    group.add_argument(
        "--num_cpus",
        metavar="N",
        help="CPUs and threads a worker (default: 1); keep it, and the last digits stay the same",
    )
    group.add_argument(
        "--shard_size",
        metavar="N",
        help="requests handed to a worker at a time, at most (default: 256): fewer spread a small "
        "run better, more keep a large GPU busier",
    )


def _add_prompt(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("prompts")
    group.add_argument(
        "--fewshot",
        metavar="MODE",
        help="random: each document draws its own examples (default); fixed: one set for all",
    )
    group.add_argument(
        "--seed",
        metavar="N",
        help="seed of the draw of examples and of sampled answers (default: 1234)",
    )
    group.add_argument(
        "--apply_chat_template",
        nargs="?",
        const=True,
        metavar="true|false",
        default=None,
        help="put prompts into the model's chat format",
    )
    group.add_argument(
        "--chat_template_args",
        metavar="K=V[,K=V…]",
        help="variables of the model's chat template, such as enable_thinking=false",
    )
    group.add_argument(
        "--system_instruction",
        metavar="TEXT",
        help="system message; also fills template 0.6 (there the variable SYSTEM_PROMPT works too)",
    )
    group.add_argument(
        "--fewshot_as_multiturn",
        nargs="?",
        const=True,
        metavar="true|false",
        default=None,
        help="examples as turns of the conversation",
    )


def _add_generation(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "generation (tasks that write; greedy unless task or temperature say otherwise)"
    )
    group.add_argument(
        "--gen_kwargs",
        metavar="K=V[,K=V…]",
        help="over the task's own: temperature (above 0 draws answers, 0 is greedy), top_p, top_k, "
        "do_sample, max_gen_toks",
    )
    group.add_argument(
        "--repeats",
        metavar="N",
        help="answers drawn to each document; its score is their mean. The same seed gives the "
        "same answers at any batch size, and a larger N keeps the first ones",
    )
    group.add_argument(
        "--thinking",
        metavar="on|off|MARKS",
        help="keep a reasoning model's thoughts apart from its answers: on for <think> and "
        "</think>, else OPENING,CLOSING; stop strings and limits then hold for answers only "
        "(default: off)",
    )
    group.add_argument(
        "--thinking_budget",
        metavar="N",
        help="tokens of thought, after which the answer is asked for (default: 2048)",
    )


def _add_data(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("data")
    group.add_argument(
        "--data_dir",
        metavar="DIR",
        help="read data sets from this folder (jglue_v1.1/jnli/validation.jsonl.gz, …)",
    )
    group.add_argument(
        "--sample_data",
        nargs="?",
        const=True,
        metavar="true|false",
        default=None,
        help="use the few rows shipped with tenbin: for trying things out, not for scores",
    )
    group.add_argument(
        "--jglue_version", metavar="V", help="1.1 (default) or 1.3 (29 JNLI labels differ)"
    )
    group.add_argument(
        "--offline",
        nargs="?",
        const=True,
        metavar="true|false",
        default=None,
        help="never download, use the cache",
    )


def _add_tasks(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = _command(commands, "tasks", "list tasks, templates, groups and their data")
    parser.add_argument(
        "pattern", nargs="?", metavar="PATTERN", help="part of a name, or a pattern"
    )
    parser.add_argument("--include_path", metavar="PATHS", help="task files of your own")


def _add_preview(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = _command(commands, "preview", "show exact prompts, without a model", _PREVIEW_EXAMPLES)
    _add_selection(parser)
    _add_prompt(parser)
    _add_data(parser)
    group = parser.add_argument_group("preview")
    group.add_argument("--format", choices=("text", "jsonl"), default="text", help="default: text")
    group.add_argument(
        "--tokenizer",
        metavar="PATH",
        help="also show token counts, BOS, merged boundaries and overflow with this tokenizer",
    )
    group.add_argument("--max_length", metavar="N", help="window to check against")
    group.add_argument("--encoding", metavar="MODE", help="joint (default) or separate")
    group.add_argument("--cache_dir", metavar="DIR", help="downloads and converted models")
    group.add_argument("--config", metavar="FILE", help="YAML with these same names as keys")


def _add_validate(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = _command(
        commands, "validate", "check tasks: schema, fields, labels, leaks, every template"
    )
    parser.add_argument(
        "names", nargs="+", metavar="TASK_OR_FILE", help="names as in --tasks, or files"
    )
    parser.add_argument("--include_path", metavar="PATHS", help="task files of your own")
    _add_data(parser)


def _add_compare(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = _command(
        commands, "compare", "compare stored runs document by document", _COMPARE_EXAMPLES
    )
    parser.add_argument(
        "runs", nargs="+", metavar="RUN", help="run folders or their result.json, baseline first"
    )
    parser.add_argument(
        "--cells",
        nargs="+",
        metavar="ID",
        help="one run: compare the first of these with each other; several runs: only these",
    )
    parser.add_argument(
        "--map",
        nargs="+",
        metavar="ID=ID",
        help="id in the first run = id in the others, where they are called differently",
    )
    parser.add_argument(
        "--metrics", metavar="NAMES", help="names or all (default: each task's first metric)"
    )
    parser.add_argument(
        "--allow",
        metavar="KINDS",
        help="compare although these differ: data, prompts, shots, seed, decoding, profile",
    )
    parser.add_argument(
        "--all_pairs", action="store_true", help="every run with every other, not with the first"
    )
    parser.add_argument(
        "--changes",
        type=int,
        default=3,
        metavar="N",
        help="documents that got better or worse to list for each comparison (default: 3)",
    )
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    parser.add_argument("-o", "--output", metavar="FILE", help="write the JSON there")


def _add_doctor(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = _command(
        commands,
        "doctor",
        "diagnose tasks and templates with a model's tokenizer, before loading it",
        _DOCTOR_EXAMPLES,
    )
    _add_selection(parser, _DOCTOR_SELECTION)
    _add_model(parser)
    _add_prompt(parser)
    _add_generation(parser)
    _add_data(parser)
    group = parser.add_argument_group("doctor")
    group.add_argument(
        "--templates",
        metavar="NAMES",
        help="templates of bare names and groups: all (default), or names and patterns (0.2,0.3)",
    )
    group.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    group.add_argument("--strict", action="store_true", help="exit with 1 when a problem was found")
    group.add_argument("--config", metavar="FILE", help="YAML with these same names as keys")


def _add_consistency(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = _command(
        commands,
        "consistency",
        "compare the answers to parallel items, language by language, from stored runs",
        _CONSISTENCY_EXAMPLES,
    )
    parser.add_argument(
        "runs", nargs="+", metavar="RUN", help="result.json or run folder; several of one model"
    )
    parser.add_argument(
        "--tasks", metavar="NAMES", help="ids, tasks or groups to look at, with * (default: all)"
    )
    parser.add_argument(
        "--reference",
        metavar="LANGUAGE",
        help="the language that gaps are measured from (default: en)",
    )
    parser.add_argument(
        "--alignment",
        metavar="FILE",
        help="JSON: for each row of a language's file the row of the reference with the same item; "
        "needed where rows have no key and gold answers do not agree row for row",
    )
    parser.add_argument(
        "--metric",
        metavar="NAME",
        help="whose choice or reading counts (default: a choice task's first; flexible-extract)",
    )
    parser.add_argument(
        "--items", metavar="N", type=int, default=10, help="items to list (default: 10)"
    )
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    parser.add_argument("-o", "--output", metavar="FILE", help="also write the JSON there")
