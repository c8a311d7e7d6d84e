"""Kills runs with SIGKILL at random moments, starts them again, and compares what they end with.

Scripted runs, runs of a tiny hf model, clients of a llama.cpp server and drivers of two Ray workers
are killed at steps drawn by stage (planning, journal, probe, batches, judging, writing) and by the
clock, once or several times in a row. Every chain of kills ends with an undisturbed run of the same
command; results, samples and files must then equal those of a run that was never killed.

    python benchmarks/soak.py --kills 100 --minutes 15

Exits with 1 where anything differs. `tests/crash` does the work.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common import RESULTS, say, setup_facts, write_result
from tests.backends.openai.llama_server import llama_server, missing
from tests.crash.cases import (
    MODULES,
    hf_cases,
    ray_cases,
    scripted_cases,
    server_cases,
    small_model,
    write_tasks,
)
from tests.crash.chains import (
    OF_THE_MOMENT,
    Case,
    Chain,
    Moments,
    Nursery,
    left_processes,
    profile,
    run_chain,
)

SHARES = {"scripted": 0.3, "hf": 0.3, "llama": 0.2, "ray": 0.2}
_BY_CLOCK = 0.3
_LAST_PROCESS = 180.0
"""Seconds after the last kill in which everything that was started must have ended."""


def family(name: str, folder: Path, held: ExitStack) -> list[Case]:
    """The commands of one kind of backend."""
    if name == "scripted":
        return scripted_cases()
    if name == "llama":
        if lacking := missing():
            say(f"no server: {lacking}")
            return []
        return server_cases(
            held.enter_context(llama_server(exact=True)), write_tasks(folder / "tasks")
        )
    model = small_model(folder / "model")
    if name == "hf":
        return hf_cases(model)
    return ray_cases(model, str(folder / "r"))


def chains_of(
    cases: list[Case], nursery: Nursery, folder: Path, generator: random.Random
) -> Iterator[Chain]:
    """Chains of kills over some commands, in turn, without end."""
    known = [profile(nursery, case, folder / f"undisturbed-{at}") for at, case in enumerate(cases)]
    moments = [Moments(generator, one, _BY_CLOCK) for one in known]
    number = 0
    while True:
        for case, one, drawn in zip(cases, known, moments, strict=True):
            place = folder / f"chain-{number}"
            number += 1
            kills = [drawn.draw() for _ in range(generator.randint(1, 3))]
            chain = run_chain(nursery, case, one, place, kills)
            yield chain
            if not chain.faults:
                shutil.rmtree(place)


def soak(name: str, kills: int, until: float, seed: int) -> list[Chain]:
    """Kill the runs of one family so many times, or until the time is up."""
    done: list[Chain] = []
    folder = Path(tempfile.mkdtemp(prefix="tb"))
    with ExitStack() as held:
        cases = family(name, folder, held)
        if not cases:
            return done
        nursery = held.enter_context(Nursery(*MODULES[name]))
        for chain in chains_of(cases, nursery, folder, random.Random(f"{seed} {name}")):
            done.append(chain)
            for fault in chain.faults:
                say(f"FAULT in {chain.case}, {folder}: {fault}")
            count = sum(len(one.kills) for one in done)
            say(f"{name}: {count} kills in {len(done)} chains, {len(chain.faults)} faults")
            if count >= kills or time.monotonic() > until:
                break
    deadline = time.monotonic() + _LAST_PROCESS
    while (left := left_processes(str(folder))) and time.monotonic() < deadline:
        time.sleep(1.0)
    if left and done:
        done[-1].faults.append(f"processes are left behind: {left}")
    if not any(chain.faults for chain in done):
        shutil.rmtree(folder)
    return done


def summary(chains: list[Chain]) -> dict[str, Any]:
    """Counts of what was done and what was found."""
    kills = [kill for chain in chains for kill in chain.kills]
    again = [chain.computed - chain.undisturbed for chain in chains if chain.kills]
    return {
        "kills": len(kills),
        "chains": len(chains),
        "by_case": dict(Counter(kill.case for kill in kills).most_common()),
        "by_stage": dict(Counter(kill.stage for kill in kills).most_common()),
        "units_computed_again": {"total": sum(again), "most_in_a_chain": max(again, default=0)},
        "faults": [
            {"case": chain.case, "kills": [asdict(kill) for kill in chain.kills], "fault": fault}
            for chain in chains
            for fault in chain.faults
        ],
    }


def main() -> int:
    flags = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    flags.add_argument("--kills", type=int, default=110)
    flags.add_argument("--minutes", type=float, default=15.0, help="no chain begins after that")
    flags.add_argument("--seed", type=int, default=12)
    flags.add_argument("--families", nargs="+", choices=SHARES, default=tuple(SHARES))
    flags.add_argument("--output_dir", type=Path, default=RESULTS)
    options = flags.parse_args()
    began = time.monotonic()
    chains: list[Chain] = []
    whole = sum(SHARES[name] for name in options.families)
    for name in options.families:
        share = SHARES[name] / whole
        left = began + options.minutes * 60 - time.monotonic()
        # Workers come last and take what is left.
        until = time.monotonic() + (left if name == options.families[-1] else left * 0.4)
        chains += soak(name, round(options.kills * share), until, options.seed)
    body = {
        "what": "runs killed with SIGKILL and started again",
        "seed": options.seed,
        "seconds": round(time.monotonic() - began, 1),
        "not_compared_in_result_json": sorted(OF_THE_MOMENT),
        **summary(chains),
        "setup": {**setup_facts(), "load": os.getloadavg()},
    }
    write_result(options.output_dir, "soak", body)
    say(f"{body['kills']} kills, {len(body['faults'])} faults, {body['seconds']} s")
    return 1 if body["faults"] else 0


if __name__ == "__main__":
    sys.exit(main())
