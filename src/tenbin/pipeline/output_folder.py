"""Takes the folder of a run, and sees that no other run's result there is replaced unasked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

from tenbin.config import RunConfig
from tenbin.errors import ConfigError, ResultError
from tenbin.pipeline.cells.setup import CellSetup
from tenbin.pipeline.prepare import Data
from tenbin.pipeline.progress import Listener
from tenbin.pipeline.record import identify
from tenbin.results.folder import RESULT, RunFolder, choose_folder, leave_folder
from tenbin.results.identity import RunIdentity, differing
from tenbin.results.read import read_result
from tenbin.results.schema import RunResult

_REMEDY = "--overwrite replaces it; or name another --output_path"


def model_name(config: RunConfig) -> str:
    """What the user calls the model."""
    named = config.model_args.get("pretrained") or config.model_args.get("model")
    return str(named or config.model)


@contextmanager
def taken_place(config: RunConfig, stamp: datetime, listener: Listener) -> Iterator[RunFolder]:
    """The folder of a run, which no other run writes into meanwhile.

    Raises:
        ConfigError: It cannot be written, or another run writes there.
    """
    moment = stamp.strftime("%Y%m%d-%H%M%S")
    folder = choose_folder(config.output_path, model_name(config), moment)
    try:
        if folder.lock is not None and not folder.lock.supported:
            listener.message(
                f"{folder.path}: files cannot be locked there; see that no other run writes into it"
            )
        yield folder
    finally:
        leave_folder(folder)


def check_place(
    folder: RunFolder,
    config: RunConfig,
    setups: Sequence[CellSetup],
    data: Data,
    fingerprint: str | None,
) -> bool:
    """See that nothing is replaced but an earlier result of the same run.

    Args:
        folder: Where the run goes.
        config: What it is; `overwrite` allows everything.
        setups: Its cells; with `--template auto` all that can be chosen.
        data: Their rows.
        fingerprint: The model's; None where it is not known yet.

    Returns:
        Whether there is a result of another run, which is to be replaced.

    Raises:
        ConfigError: There is one, and nobody said that it may be replaced.
    """
    try:
        before = _stored(folder)
    except ResultError as error:
        if config.overwrite:
            return True
        raise ConfigError(f"--output_path: {error.message}", _REMEDY) from error
    if before is None:
        return False
    lines = differing(RunIdentity.of(before), identify(config, setups, data, fingerprint))
    if lines and not config.overwrite:
        raise ConfigError(
            f"--output_path: {folder.result_file} holds a result of other settings:\n"
            + "\n".join(f"  {line}" for line in lines),
            _REMEDY,
        )
    return bool(lines)


def _stored(folder: RunFolder) -> RunResult | None:
    """The result that is there; None where there is none."""
    for file in (folder.path / RESULT, folder.result_file):
        if file.exists():
            return read_result(file)
    return None


def stored_result(folder: RunFolder) -> RunResult | None:
    """The same, and None also where it cannot be read."""
    try:
        return _stored(folder)
    except ResultError:
        return None
