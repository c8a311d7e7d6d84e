"""Every flag of every command. Imports little but argparse, so that help is instant."""

from tenbin.cli.arguments.parser import build_parser, explain_unknown, normalise_flags

__all__ = ["build_parser", "explain_unknown", "normalise_flags"]
