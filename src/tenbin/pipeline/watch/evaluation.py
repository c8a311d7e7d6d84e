"""One checkpoint: from its files to its stored run."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tenbin.backends.registry import check_arguments, find_backend, open_backend
from tenbin.config import AUTO, RunConfig
from tenbin.errors import ConfigError
from tenbin.pipeline.cells.choose import choose_cells
from tenbin.pipeline.prepare import load_data
from tenbin.pipeline.progress import Listener
from tenbin.pipeline.run import backend_settings, execute_cells
from tenbin.pipeline.watch.store import RunStore
from tenbin.pipeline.watch.training import Checkpoint
from tenbin.results.schema import RunResult
from tenbin.timing import timed

GOLD_BITS = "gold_bits_per_byte"
_OTHER_DOCUMENTS = "every checkpoint is asked the same documents, and all of them"
_NOT_WATCHED = {
    **dict.fromkeys(("until", "against", "budget", "then", "select_on"), _OTHER_DOCUMENTS),
    "export": "`tenbin export --to` sends the stored runs of checkpoints",
}
"""Keys of run files that mean nothing here → why."""


@dataclass(frozen=True, slots=True)
class Evaluated:
    """A checkpoint that has a run."""

    file: Path
    """Its result."""
    fingerprint: str
    result: RunResult | None
    """What it found; None if a run of these weights was there already."""


class Evaluator(Protocol):
    """Evaluates checkpoints."""

    def evaluate(self, checkpoint: Checkpoint) -> Evaluated:
        """Run a checkpoint, unless the same weights were run before."""
        ...


class RunEvaluator:
    """Evaluates checkpoints in this process, one after the other."""

    def __init__(self, config: RunConfig, store: RunStore, listener: Listener) -> None:
        """Check everything that does not depend on a checkpoint, and read all rows.

        Raises:
            TenbinError: A task, a template, rows or a model argument cannot be used.
        """
        self._config, self._store, self._listener = config, store, listener
        check_watchable(config)
        self._setups = choose_cells(config)
        self._data = load_data(config, self._setups, listener.transfer)

    def evaluate(self, checkpoint: Checkpoint) -> Evaluated:
        """Run a checkpoint, unless the same weights were run before.

        Raises:
            TenbinError: It cannot be loaded or evaluated.
        """
        given = {**self._config.model_args, **checkpoint.arguments}
        config = self._config.replaced(model_args=given)
        # Opening reads the tokenizer and all bytes of the weights for their hash, and loads none.
        backend = open_backend(backend_settings(config, self._listener.message))
        with closing(backend):
            fingerprint = backend.fingerprint
            if (known := self._store.known(fingerprint)) is not None:
                return Evaluated(known, fingerprint, None)
            place = self._store.place(checkpoint.name, checkpoint.step, fingerprint)
            with timed():
                run = execute_cells(
                    config.replaced(output_path=str(place)),
                    self._setups,
                    self._listener,
                    backend,
                    data=self._reusable(given),
                )
        self._store.add(fingerprint, place)
        return Evaluated(place, fingerprint, run.result)

    def _reusable(self, arguments: Mapping[str, Any]) -> Any:
        """The rows, which are the same for all checkpoints, unless a task makes them itself."""
        made = any(setup.task.dataset.custom_dataset is not None for setup in self._setups)
        return None if made else self._data


def with_gold_bits(config: RunConfig) -> RunConfig:
    """The same with the bits of the gold answer, if a task has choices and nobody chose metrics."""
    if config.extra_metrics or not any(one.task.kind == "choice" for one in choose_cells(config)):
        return config
    return config.replaced(extra_metrics=(GOLD_BITS,))


def check_watchable(config: RunConfig) -> None:
    """Refuse what makes no curve, and model arguments that are wrong.

    Raises:
        ConfigError: The backend loads no weights, or the template would be chosen anew each time.
        TenbinError: A model argument is wrong.
    """
    if config.template == AUTO:
        raise ConfigError(
            "--template auto would choose a template for each checkpoint: scores under different"
            " prompts make no curve",
            "name one; `tenbin sweep` on one checkpoint finds it",
        )
    for name, why in _NOT_WATCHED.items():
        if getattr(config, name):
            raise ConfigError(f"{name}: {why}", "take it out of the run file")
    if not find_backend(config.model).on_gpus:
        raise ConfigError(
            f"--model {config.model} loads no weights, and a checkpoint is a folder of them",
            "use --model hf or --model vllm",
        )
    # A hub id is not looked up: the arguments are checked before there is any checkpoint.
    named = {"pretrained": "checkpoint", **config.model_args}
    check_arguments(backend_settings(config.replaced(model_args=named)))
