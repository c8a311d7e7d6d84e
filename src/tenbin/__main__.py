"""`python -m tenbin`: the same as the command `tenbin`."""

from tenbin.cli.process import run

run()
