"""Runs that are killed and started again end with the same bits and leave nothing behind.

A short form; `make soak` kills more than a hundred runs, on servers and workers too.
"""

from __future__ import annotations

import random
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.cases import MODULES, download_case, hf_cases, scripted_cases, small_model
from tests.crash.chains import Chain, Moments, Nursery, profile, run_chain, stage_of
from tests.data.test_document_downloads import MLOGIQA_PATH, Site
from tests.data.written_rows import MLOGIQA, as_lines

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/environ").exists(), reason="finds its processes in /proc"
)


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    with Nursery(*MODULES["hf"]) as made:
        yield made


def assert_sound(chains: list[Chain], least: int) -> None:
    assert [fault for chain in chains for fault in chain.faults] == []
    assert sum(len(chain.kills) for chain in chains) >= least


def test_kills_between_all_files_of_a_result(nursery: Nursery, tmp_path: Path) -> None:
    case = scripted_cases()[1]
    known = profile(nursery, case, tmp_path / "undisturbed")
    renames = sorted(label for label in known.steps if label.startswith("os.rename out/"))
    assert len(renames) >= 5, "samples, run.yaml, result.json twice, progress.json"
    chain = run_chain(nursery, case, known, tmp_path / "killed", [(one, 1) for one in renames])
    assert_sound([chain], len(renames))


def test_kills_around_journal_and_judging(nursery: Nursery, tmp_path: Path) -> None:
    case = scripted_cases()[0]
    moments = [
        *(("planning", 1), ("sql BEGIN IMMEDIATE", 1), ("sql COMMIT", 4), ("judging", 5)),
        ("samples", 2),
    ]
    known = profile(nursery, case, tmp_path / "undisturbed")
    chain = run_chain(nursery, case, known, tmp_path / "killed", moments)
    assert_sound([chain], 5)


def test_a_model_s_run_at_random_moments(nursery: Nursery, tmp_path: Path) -> None:
    case = hf_cases(small_model(tmp_path / "model"))[0]
    known = profile(nursery, case, tmp_path / "undisturbed")
    # In the middle of answers the rest must be batched as it was.
    chains = [run_chain(nursery, case, known, tmp_path / "middle", [("answering", 8)])]
    drawn = Moments(random.Random(12), known, by_clock=0.2).draw()
    chains.append(run_chain(nursery, case, known, tmp_path / "random", [drawn]))
    assert_sound(chains, 1)


def test_kills_during_a_download(nursery: Nursery, tmp_path: Path) -> None:
    server = Site()
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    server.files[MLOGIQA_PATH] = as_lines(MLOGIQA)
    case = download_case(server.address)
    try:
        known = profile(nursery, case, tmp_path / "undisturbed")
        steps = sorted(label for label in known.steps if stage_of(label) == "download")
        assert any(label.startswith("os.rename") for label in steps)
        moments = [(one, 1) for one in steps if re.match(r"os\.re(name|move)|open .*part$", one)]
        chain = run_chain(nursery, case, known, tmp_path / "killed", moments)
    finally:
        server.shutdown()
        server.server_close()
    assert_sound([chain], 3)
