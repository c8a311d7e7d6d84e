"""A fuzzer for everything that tenbin reads: files, flags, answers of servers, stored runs.

Each target makes inputs out of small valid ones and gives them to the functions that a command
calls. An input is accepted, or refused with a TenbinError that a person can read; anything else is
a finding. `python -m tests.fuzz --help` says how to run it.
"""
