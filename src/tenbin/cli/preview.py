"""`tenbin preview`: show the exact prompts of tasks, without a model."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from tenbin.errors import ConfigError

if TYPE_CHECKING:
    from tenbin.backends.base import Boundary, Tokenizer
    from tenbin.config import RunConfig
    from tenbin.records import Prompt

EXAMPLES = """examples:
  tenbin preview --tasks jcommonsenseqa-1.1-0.3 --num_fewshot 3 --limit 2 \\
      --sample_data
  tenbin preview --tasks mlogiqa_gen --template native --limit 1 \\
      --sample_data --format jsonl
  tenbin preview --tasks jnli-1.3-0.2 --num_fewshot 3 --sample_data \\
      --tokenizer smollm2-135m
  tenbin preview --tasks jcommonsenseqa --formats 5 --limit 1 --sample_data
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `tenbin preview`."""
    from tenbin.cli.flags import add_options
    from tenbin.cli.parser import add_format
    from tenbin.config.options import MODEL

    group = add_options(parser, "preview", titles={MODEL: "preview"})[MODEL]
    add_format(group, "jsonl")
    group.add_argument(
        "--tokenizer",
        metavar="PATH",
        help="also show token counts, BOS, merged boundaries and overflow with this tokenizer",
    )
    group.add_argument("--max_length", metavar="N", help="context length to check against")
    group.add_argument("--config", metavar="FILE", help="run file: YAML with these options as keys")


def execute(options: argparse.Namespace) -> int:
    """Print every prompt."""
    import json

    from tenbin.cli.flags import config_from
    from tenbin.pipeline.cells.choose import choose_cells
    from tenbin.pipeline.prepare import load_data, prompt_settings, prompts_of
    from tenbin.report.terminal.progress import open_progress

    config = config_from(options)
    setups = choose_cells(config)
    listener = open_progress()
    data = load_data(config, setups, listener.transfer)
    setups = data.kept(setups)
    for notice in data.notices():
        listener.message(notice)
    tokenizer = _open_tokenizer(options, config, listener.message)
    settings = prompt_settings(config)
    for setup in setups:
        for prompt in prompts_of(setup, data, settings, tokenizer):
            if options.format == "jsonl":
                row = preview_row(prompt, tokenizer)
                if setup.template.format is not None:
                    row["format"] = dict(setup.template.format)
                print(json.dumps(row, ensure_ascii=False))
            else:
                _print_text(prompt, tokenizer, setup.template.format)
    return 0


def _open_tokenizer(
    options: argparse.Namespace, config: RunConfig, notify: Callable[[str], None]
) -> Tokenizer | None:
    if options.tokenizer is None:
        if options.max_length is not None:
            raise ConfigError("--max_length counts tokens", "name a tokenizer with --tokenizer")
        return None
    from tenbin.backends.base import BackendSettings
    from tenbin.backends.registry import open_tokenizer
    from tenbin.pipeline.prepare import data_choice

    arguments: dict[str, Any] = {"pretrained": options.tokenizer}
    if options.max_length is not None:
        arguments["max_length"] = options.max_length
    return open_tokenizer(
        BackendSettings(
            model="hf",
            model_args=arguments,
            encoding=config.encoding,
            add_bos=config.profile_settings.add_bos,
            cache_dir=str(data_choice(config).cache_dir),
            notify=notify,
        )
    )


def preview_row(prompt: Prompt, tokenizer: Tokenizer | None) -> dict[str, Any]:
    """One document as a JSON object."""
    row: dict[str, Any] = {
        "task": prompt.cell.id,
        "doc_id": prompt.document,
        "prompt": prompt.text,
        "continuations": None if prompt.continuations is None else list(prompt.continuations),
        "target": prompt.target,
        "stop": list(prompt.stop),
        "num_fewshot": prompt.cell.shots,
        "examples": list(prompt.examples),
    }
    if prompt.contexts:
        row["contexts"] = list(prompt.contexts)
    if prompt.kind == "perplexity":
        row["lengths"] = _lengths(prompt.text, tokenizer)
    elif tokenizer is not None:
        from dataclasses import asdict

        found = _examined(prompt, tokenizer)
        row["tokens"] = {
            **asdict(found),
            "max_length": tokenizer.max_length,
            "overflows": found.overflow > 0,
            "dropped_examples": prompt.dropped_examples,
        }
        if prompt.continuations is None:
            row["max_gen_toks"] = prompt.max_gen_toks
    return row


def _lengths(text: str, tokenizer: Tokenizer | None) -> dict[str, int]:
    """The lengths that a perplexity is divided by, and the windows that a model would read."""
    from tenbin.metrics.perplexity import count_bytes, count_characters, count_words

    lengths = {
        "words": count_words(text),
        "bytes": count_bytes(text),
        "characters": count_characters(text),
    }
    if tokenizer is None:
        return lengths
    tokens = tokenizer.prompt_lengths([text])[0]
    windows = -(-tokens // tokenizer.max_length)
    return {**lengths, "tokens": tokens, "windows": windows, "max_length": tokenizer.max_length}


def _examined(prompt: Prompt, tokenizer: Tokenizer) -> Boundary:
    """How prompt and answers meet; of several inputs in the longest one."""
    inputs = prompt.contexts or (prompt.text,)
    found = [tokenizer.examine(text, prompt.continuations, prompt.room) for text in inputs]
    return max(found, key=lambda one: one.prompt_tokens)


def _print_text(
    prompt: Prompt, tokenizer: Tokenizer | None, format: Mapping[str, str] | None = None
) -> None:
    from rich.text import Text

    from tenbin.report.terminal.console import make_console
    from tenbin.sandbox.printable import visible

    console = make_console()
    console.rule(f"{prompt.cell.id} · shots {prompt.cell.shots} · document {prompt.document}")
    if format is not None:
        levels = ", ".join(f"{name}={level}" for name, level in format.items() if level != "–")
        console.print(Text(levels, style="dim"))
    # As it is, nothing wrapped: what is shown is what the model reads, control characters by name.
    print(visible(prompt.text))
    for context in prompt.contexts[1:]:
        console.rule("another input, asked by itself", style="dim")
        print(visible(context))
    console.print()
    if prompt.kind == "perplexity":
        lengths = _lengths(prompt.text, tokenizer).items()
        shown = ", ".join(f"{count:,} {name}" for name, count in lengths)
        console.print(Text(f"scored as a whole: {shown}", style="dim"))
    elif prompt.continuations is None:
        thinking = prompt.thinking
        thought = f"thinks up to {thinking.budget:,} tokens, " if thinking else ""
        console.print(Text(f"{thought}generates, stops at {list(prompt.stop)!r}", style="dim"))
        console.print(Text(f"target     {prompt.target!r}", style="green"))
    else:
        golds = prompt.golds or (prompt.gold,)
        for position, continuation in enumerate(prompt.continuations):
            right = position in golds and not prompt.contexts
            mark = "→" if right else " "
            console.print(Text(f"scored {mark} {continuation!r}", style="green" if right else ""))
        if prompt.contexts and prompt.gold is not None:
            console.print(Text(f"behind input {prompt.gold + 1} it is right", style="green"))
    if tokenizer is not None and prompt.kind != "perplexity":
        found = _examined(prompt, tokenizer)
        merged = "merged across the boundary" if found.merged else "clean boundary"
        overflow = f"overflows by {found.overflow}" if found.overflow else "fits"
        console.print(
            f"{found.prompt_tokens} prompt tokens, answers {list(found.continuation_tokens)}, "
            f"BOS × {found.bos_count}, {merged}, {overflow} max_length {tokenizer.max_length}",
            style="dim",
            highlight=False,
        )
    sys.stdout.flush()
