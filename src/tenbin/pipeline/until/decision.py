"""`--until decided`: a task stops as soon as its difference to another run is decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tenbin.pipeline.cells.setup import CellSetup
from tenbin.pipeline.judge import JudgedDocuments
from tenbin.pipeline.score import measured_metrics
from tenbin.records import Cell
from tenbin.results.schema import DecidedStop, LookEntry
from tenbin.statistics.measured import Measured, number_clusters
from tenbin.statistics.sequential import LEVEL, LOOKS, Look, boundaries, look_at

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


@dataclass(slots=True)
class DecisionRule:
    """Stops a task as soon as its difference to another run is decided, at one of five looks."""

    setup: CellSetup
    blocks: Sequence[Sequence[int]]
    metric: str
    higher_is_better: bool
    top: float
    """The highest value of a document."""
    others: Mapping[str, float]
    """Document → its value in the other run."""
    level: float
    documents: int
    """Documents there are."""
    cell: Cell = field(init=False)
    looks: list[tuple[int, Look]] = field(default_factory=list)
    """Documents asked so far, and what they showed."""
    _looked: int = 0

    def __post_init__(self) -> None:
        self.cell = self.setup.cell

    def look(self, judged: JudgedDocuments, asked: int) -> tuple[bool, str]:
        """Look at the difference on the documents that both runs scored."""
        _, documents = measured_metrics(self.setup, judged)[self.metric]
        steps, sizes = _differences(documents, self.others)
        boundary = boundaries(LOOKS, self.level)[self._looked]
        self._looked += 1
        if len(steps) < 2:
            return False, f"look {self._looked} of {LOOKS}: nearly all answers failed"
        found = look_at(steps, sizes, boundary, self.top)
        self.looks.append((asked, found))
        scale = 100 / self.top
        message = (
            f"look {self._looked} of {LOOKS}, {asked:,} of {self.shared:,} documents: "
            f"{self.metric} {scale * found.difference:+.1f} points "
            f"[{scale * found.low:+.1f}, {scale * found.high:+.1f}], "
            f"z {found.z:+.2f}, boundary {boundary:.2f}"
        )
        return found.decides, f"{message}: {self.decision}" if found.decides else message

    @property
    def shared(self) -> int:
        """Documents that the other run has scored too."""
        return sum(map(len, self.blocks))

    @property
    def decision(self) -> str:
        """`better`, `worse` or `undecided`."""
        if not self.looks or not self.looks[-1][1].decides:
            return "undecided"
        return "better" if (self.looks[-1][1].difference > 0) == self.higher_is_better else "worse"

    def entry(self) -> DecidedStop:
        """What result.json says of it."""
        return DecidedStop.model_validate(
            {
                "metric": self.metric,
                "level": self.level,
                "decision": self.decision,
                "stopped_at": self.looks[-1][0] if self.looks else self.shared,
                "shared": self.shared,
                "documents": self.documents,
                "looks": [
                    LookEntry(
                        documents=asked,
                        n=look.n,
                        clusters=look.clusters,
                        difference=look.difference,
                        stderr=look.stderr,
                        z=look.z,
                        boundary=look.boundary,
                        low=look.low,
                        high=look.high,
                    )
                    for asked, look in self.looks
                ],
            }
        )


def _differences(documents: Measured, others: Mapping[str, float]) -> tuple[Array, Array]:
    """Summed differences and sizes of clusters, of the documents that both runs scored."""
    import numpy as np

    kept, theirs = [], []
    for at, name in enumerate(documents.documents):
        if name in others:
            kept.append(at)
            theirs.append(others[name])
    numbers = number_clusters([documents.clusters[at] for at in kept])
    sums = np.zeros((2, max(numbers, default=-1) + 1))
    np.add.at(sums[0], numbers, documents.values[kept] - np.array(theirs))
    np.add.at(sums[1], numbers, 1.0)
    return sums[0], sums[1]


def shared_level(setups: Sequence[CellSetup]) -> float:
    """The level of each comparison: 5 % for all of them together."""
    return LEVEL / max(1, sum(setup.until == "decided" for setup in setups))
