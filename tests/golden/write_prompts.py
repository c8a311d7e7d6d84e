"""`make golden`: write the golden prompts of new task versions.

A version whose prompts changed is refused: give the task a new version. `--force NAME` rewrites
one all the same, for a change that no score can depend on (new sample rows, for one).
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.golden.prompts import (
    WORDED,
    current,
    stored,
    stored_worded,
    worded,
    write,
    write_rows,
)


def main() -> int:
    forced = sys.argv[2:] if sys.argv[1:2] == ["--force"] else []
    known, changed = stored(), []
    for name, rows in current().items():
        if name not in known or name in forced or "all" in forced:
            write(name, rows)
            print(f"written  {name}")
        elif known[name] != rows:
            changed.append(name)
    kept = {(row["task"], row["template"]): row for row in stored_worded()}
    now = worded()
    for row in now:
        name = row["task"]
        if kept.get((name, row["template"]), row) != row and not {name, "all"} & set(forced):
            changed.append(name)
    if not changed and now != stored_worded():
        write_rows(WORDED, now)
        print(f"written  {WORDED.name}")
    for name in changed:
        print(f"CHANGED  {name}: bump its version, or --force {name}")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
