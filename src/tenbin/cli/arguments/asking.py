"""Flags that say what is asked: tasks, prompts, generation, data."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from types import MappingProxyType

from tenbin.cli.arguments.command import add_switch


def add_selection(
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


def add_prompt(parser: argparse.ArgumentParser) -> None:
    """How prompts are put together."""
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
    add_switch(group, "--apply_chat_template", "put prompts into the model's chat format")
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
    add_switch(group, "--fewshot_as_multiturn", "examples as turns of the conversation")


def add_generation(parser: argparse.ArgumentParser) -> None:
    """How tasks that write are answered."""
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


def add_data(parser: argparse.ArgumentParser) -> None:
    """Where rows come from."""
    group = parser.add_argument_group("data")
    group.add_argument(
        "--data_dir",
        metavar="DIR",
        help="read data sets from this folder (jglue_v1.1/jnli/validation.jsonl.gz, …)",
    )
    add_switch(
        group,
        "--sample_data",
        "use the few rows shipped with tenbin: for trying things out, not for scores",
    )
    group.add_argument(
        "--data_versions",
        action="append",
        metavar="SUITE=V[,…]",
        help="version of a suite of data sets, such as jglue=1.3 (default: 1.1; 29 JNLI labels "
        "differ); --jglue_version 1.3 is short for it",
    )
    add_switch(group, "--offline", "never download, use the cache")
    add_switch(
        group,
        "--allow_outside_files",
        "let task files read files outside of their folders, --include_path and --data_dir",
    )
