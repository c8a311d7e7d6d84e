"""What a command's exit code says; docs/exit-codes.md has the table. Imports nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tenbin.results.schema import RunResult

OK = 0
ERROR = 1
"""An error the user can mend, or a check that found one."""
USAGE = 2
"""The command line itself is wrong; argparse gives it too."""
NOTHING_SCORED = 3
"""The run is complete, but in some task no document could be scored."""
SOME_FAILED = 4
"""Of several models some have a result, and others have none."""
NOT_MET = 5
"""`compare --require`: the requirement is shown not to hold."""
INCONCLUSIVE = 6
"""`compare --require`: the documents decide neither way."""
SIGNAL = 128
"""And the signal's number: 130 for SIGINT (Ctrl-C), 143 for SIGTERM, 129 for SIGHUP."""

HELP = """exit codes:
  0    complete, every task has a score
  1    an error that you can mend; the message says how
  2    wrong usage of the command line
  3    complete, but in some task no document could be scored
  4    of several models or checkpoints some failed; the others have results
  5    compare --require: not met
  6    compare --require: inconclusive
  129, 130, 143
       stopped by SIGHUP, Ctrl-C or SIGTERM; what was answered is kept
"""


def code_of_run(result: RunResult) -> int:
    """The code of a run that is complete."""
    scored = all(any(one.n for one in found.values()) for found in result.details.values())
    return OK if scored else NOTHING_SCORED
