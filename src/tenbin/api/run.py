"""A finished run: its scores, and its documents read when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, overload

from tenbin.api.tables import Row, Tabular
from tenbin.errors import ResultError
from tenbin.results.folder import SAMPLES
from tenbin.results.read import StoredRun, read_run
from tenbin.results.samples import outcomes_of
from tenbin.results.schema import RunResult, Sample
from tenbin.sandbox.printable import counted

if TYPE_CHECKING:
    from tenbin.api.analyses import OptionOrder, Sweep

_BLOCK = 1_000
"""Documents that are held at a time."""


class Samples(Sequence[Row]):
    """The documents of a run as plain values, read a block at a time.

    Going through them in order, by a loop or by index, reads each document once.
    """

    def __init__(
        self,
        read: Callable[[], Iterator[Row]],
        count: Callable[[], int],
        records: Callable[[], Iterator[Sample]] | None = None,
    ) -> None:
        """Nothing is read yet.

        Args:
            read: Starts reading at the first document.
            count: How many documents there are.
            records: Starts reading at the first document, as records.
        """
        self._read, self._count, self._records = read, count, records
        self._length: int | None = None
        self._rest: Iterator[Row] = iter(())
        self._block: list[Row] = []
        self._start = 0
        """The number of the first document in the block."""

    def __len__(self) -> int:
        if self._length is None:
            self._length = self._count()
        return self._length

    def __iter__(self) -> Iterator[Row]:
        return self._read()

    def records(self) -> Iterator[Sample]:
        """The documents as typed records, which the analyses take."""
        return self._records() if self._records else map(Sample.from_json, self._read())

    @overload
    def __getitem__(self, index: int) -> Row: ...

    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...

    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(len(self)))]
        at = index + len(self) if index < 0 else index
        if not 0 <= at < len(self):
            raise IndexError(f"document {index} of {len(self)}")
        if at < self._start or not self._block:
            self._rest, self._block, self._start = self._read(), [], 0
        while at >= self._start + len(self._block):
            self._start += len(self._block)
            self._block = list(islice(self._rest, _BLOCK))
            if not self._block:
                raise ResultError("the samples have changed while they were read")
        return self._block[at - self._start]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(self) == len(other) and all(
            mine == theirs for mine, theirs in zip(self, other, strict=True)
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Callable[[list[Row]], Samples], tuple[list[Row]]]:
        # Another process has neither the temporary files nor, perhaps, the folder.
        return samples_of, (list(self),)

    def __repr__(self) -> str:
        return f"Samples({len(self):,} documents)"


def samples_of(rows: Iterable[Row]) -> Samples:
    """Samples that are in memory."""
    held = list(rows)
    return Samples(lambda: iter(held), lambda: len(held))


def stored_samples(path: Path) -> Samples:
    """The samples of a run folder; nothing is read yet."""

    def read() -> Iterator[Row]:
        return read_run(path).sample_rows()

    def count() -> int:
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            return int(pq.read_metadata(path / SAMPLES).num_rows)
        except (OSError, pa.ArrowException) as error:
            raise ResultError(
                f"{path / SAMPLES}: the samples cannot be read: {error}",
                "run the same command again",
            ) from error

    return Samples(read, count, lambda: read_run(path).samples())


@dataclass(frozen=True, repr=False)
class Run(Tabular):
    """A finished run, fresh or read back: what result.json and the samples hold."""

    result: RunResult
    """What result.json holds, as a typed record."""
    samples: Sequence[Row]
    """Every document: prompt, continuations, log-probabilities, answer, outcomes. Read when asked
    for."""
    path: Path | None = None
    """The run's folder, where it was written."""

    columns: ClassVar[Mapping[str, type]] = {
        **dict.fromkeys(("id", "task", "version", "template", "language"), str),
        "shots": int,
        "metric": str,
        **dict.fromkeys(("value", "stderr", "low", "high"), float),
        **dict.fromkeys(("n", "clusters", "failed"), int),
    }
    shown_columns: ClassVar[tuple[str, ...]] = (
        *("id", "shots", "metric", "value", "stderr", "low", "high", "n", "failed"),
    )

    @cached_property
    def document(self) -> dict[str, Any]:
        """The result as plain values: what result.json holds."""
        return self.result.to_json()

    def sample_records(self) -> list[Sample]:
        """The samples as typed records."""
        if isinstance(self.samples, Samples):
            return list(self.samples.records())
        return [Sample.from_json(row) for row in self.samples]

    @property
    def scores(self) -> dict[str, dict[str, float | None]]:
        """Task id → metric → value."""
        return {
            id: {one.metric: one.value for one in self.result.scores(id)}
            for id in self.result.results
        }

    @property
    def groups(self) -> dict[str, dict[str, float | None]]:
        """Group → metric → value."""
        return {
            id: {one.metric: one.value for one in self.result.group_scores(id)}
            for id in self.result.groups
        }

    def table(self) -> list[Row]:
        """One row for each metric of each task."""
        return [
            {
                "id": id,
                "task": config.task,
                "version": config.version,
                "template": config.template,
                "language": config.language,
                "shots": config.num_fewshot,
                "metric": score.metric,
                "value": score.value,
                "stderr": score.stderr,
                "low": score.detail.low,
                "high": score.detail.high,
                "n": score.detail.n,
                "clusters": score.detail.clusters,
                "failed": score.detail.failed,
            }
            for id, config in self.result.configs.items()
            for score in self.result.scores(id)
        ]

    def compare(
        self,
        other: Run,
        cells: Mapping[str, str] | None = None,
        metrics: Sequence[str] = (),
        allow: Sequence[str] = (),
    ) -> list[Row]:
        """Paired differences, this run less the other, on the documents both have.

        Args:
            other: The baseline; may be this run, to compare two of its tasks.
            cells: Task id here → task id there; by default every id that both runs have.
            metrics: Names, or `all`; by default the first metric of each task.
            allow: What may differ: `data`, `prompts`, `shots`, `seed`, `decoding`, `profile`,
                `partial`.

        Returns:
            One row for each task and metric: difference, interval, wins, losses, p-value, Holm's
            p-value.
        """
        from tenbin.api.analyses import compare

        mapping = {there: here for here, there in (cells or {}).items()}
        return compare(other, self, mapping=mapping, metrics=metrics, allow=allow).table()

    def sweep(self, metric: str | None = None) -> Sweep:
        """The report on a run that holds several templates, shots or samples of its tasks."""
        from tenbin.analysis.sweep.report import sweep_report
        from tenbin.api.analyses import Sweep

        return Sweep(self, sweep_report(self.result, outcomes_of(self.sample_records()), metric))

    def option_order(self) -> OptionOrder:
        """How scores depend on the order of options, for a run with `rotations=True`.

        Raises:
            ResultError: The run asked one order only.
        """
        from tenbin.analysis.option_order.report import has_rotations, option_order_report
        from tenbin.api.analyses import OptionOrder

        if not has_rotations(self.result):
            raise ResultError(
                "the run asked its options in one order only", "run it with rotations=True"
            )
        return OptionOrder(option_order_report(self.result, self.sample_records()))

    def _heading(self) -> str:
        count = len(self.result.configs)
        partial = ", partial" if self.result.partial else ""
        place = f", {self.path}" if self.path else ""
        model = self.result.model.get("model") or self.result.config["model"]
        return f"Run of {model}: {counted(count, 'task')}{partial}{place}"


def open_stored(stored: StoredRun) -> Run:
    """A run of a stored one; its samples are checked now and read when asked for."""
    stored.check_samples()
    return Run(stored.result, stored_samples(stored.path), stored.path)


def load_run(path: str | Path) -> Run:
    """Read a stored run by its folder or its result.json.

    Raises:
        ResultError: There is no run, it is damaged, or its two files are not of one run.
    """
    return open_stored(read_run(path))
