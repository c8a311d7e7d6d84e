"""`python -m tests.fuzz`: try inputs, print a table, keep what failed and a summary."""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import re
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from tenbin.version import __version__
from tests.fuzz.running import Finding, Outcome, Plan, fuzz
from tests.fuzz.targets import NAMES, find_targets


def main() -> int:
    """Run; the exit code is 1 where there is a finding."""
    options = _parser().parse_args()
    targets = tuple(options.targets.split(",")) if options.targets else NAMES
    shares = sum(target.share for target in find_targets(targets))
    seconds = options.seconds / shares * options.processes if options.seconds else None
    plan = Plan(targets, options.seed, options.inputs, seconds, options.hang, _tell)
    outcome = fuzz(plan, options.processes)
    _print_table(outcome)
    for finding in outcome.findings:
        place = _keep(finding, Path(options.failures))
        print(f"\n{finding.target}: {finding.place}\n  input {finding.index}, kept as {place}")
        print("  " + finding.detail.strip().replace("\n", "\n  ")[-1_500:])
    if options.summary:
        text = json.dumps(_summary(outcome, options), ensure_ascii=False, indent=2)
        Path(options.summary).write_text(text + "\n", encoding="utf-8")
    return 1 if outcome.findings else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--targets", help=f"some of: {', '.join(NAMES)}")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, help="in all; each target gets its share")
    parser.add_argument("--inputs", type=int, help="of each target, by its share")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--hang", type=float, default=120.0, help="seconds an input may take")
    parser.add_argument("--failures", default="fuzz-failures", help="where failing inputs go")
    parser.add_argument("--summary", help="a JSON file of counts and findings")
    return parser


def _tell(finding: Finding) -> None:
    print(f"found {finding.target}: {finding.place}", file=sys.stderr, flush=True)


def _keep(finding: Finding, folder: Path) -> Path:
    words = re.sub(r"[^A-Za-z0-9]+", "-", finding.place).strip("-").lower()
    path = folder / finding.target / f"{words}-{hashlib.sha256(finding.input).hexdigest()[:6]}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(finding.input)
    return path


def _print_table(outcome: Outcome) -> None:
    heads = ("inputs", "accepted", "refused", "findings", "a second")
    print(f"{'target':<22}" + "".join(f"{head:>10}" for head in heads))
    for name, tally in outcome.tallies.items():
        places = sum(one.target == name for one in outcome.findings)
        rate = tally.inputs / tally.seconds if tally.seconds else 0
        print(
            f"{name:<22}{tally.inputs:>10,}{tally.accepted:>10,}{tally.refused:>10,}"
            f"{places:>10}{rate:>10,.0f}"
        )
    total = sum(tally.inputs for tally in outcome.tallies.values())
    print(f"{'all':<22}{total:>10,}{'':>20}{len(outcome.findings):>10}")


def _summary(outcome: Outcome, options: argparse.Namespace) -> dict[str, Any]:
    return {
        "tenbin_version": __version__,
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "seed": options.seed,
        "inputs": sum(tally.inputs for tally in outcome.tallies.values()),
        "targets": {
            name: {
                "inputs": tally.inputs,
                "accepted": tally.accepted,
                "refused": tally.refused,
                "findings": sum(one.target == name for one in outcome.findings),
                "seconds": round(tally.seconds, 1),
            }
            for name, tally in outcome.tallies.items()
        },
        "findings": [
            {"target": one.target, "place": one.place, "index": one.index}
            for one in outcome.findings
        ],
    }


if __name__ == "__main__":
    sys.exit(main())
