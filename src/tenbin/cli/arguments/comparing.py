"""Commands about stored runs: `compare`, `consistency` and `schema`."""

from __future__ import annotations

from tenbin.cli.arguments.command import Command, add_format

_COMPARE_EXAMPLES = """examples:
  tenbin compare before.json after.json
  tenbin compare small.json medium.json large.json --all_pairs --metrics all
  tenbin compare run.json --cells jnli-1.3-0.2 jnli-1.3-0.3
  tenbin compare a.json b.json --map jnli-1.3-0.2=jnli-1.3-0.3 \\
      --format json -o difference.json
"""
_CONSISTENCY_EXAMPLES = """examples:
  tenbin consistency result.json
  tenbin consistency runs/en runs/ko --alignment alignment.json \\
      --tasks mlogiqa_mcq
  tenbin consistency result.json --reference ja \\
      --format json -o consistency.json
"""
_SCHEMA_EXAMPLES = """examples:
  tenbin schema
  tenbin schema samples > samples.schema.json
"""


def add_compare(command: Command) -> None:
    """`tenbin compare RUN RUN…`."""
    parser = command("compare", "compare stored runs document by document", _COMPARE_EXAMPLES)
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
        help="compare although these differ: data, prompts, shots, seed, decoding, profile, "
        "partial (a run that was stopped)",
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
    add_format(parser, "json")
    parser.add_argument("-o", "--output", metavar="FILE", help="write the JSON there")


def add_consistency(command: Command) -> None:
    """`tenbin consistency RUN…`."""
    parser = command(
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
    add_format(parser, "json")
    parser.add_argument("-o", "--output", metavar="FILE", help="also write the JSON there")


def add_schema(command: Command) -> None:
    """`tenbin schema [result|samples]`."""
    parser = command("schema", "print the JSON Schema of stored runs", _SCHEMA_EXAMPLES)
    parser.add_argument(
        "file",
        nargs="?",
        choices=("result", "samples"),
        default="result",
        help="result.json, or a row of samples.parquet (default: result)",
    )
