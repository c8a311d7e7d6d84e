"""Which documents a run asks next, and when its tasks have asked enough."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from tenbin.pipeline.judge import JudgedDocuments
from tenbin.pipeline.plan import Plan
from tenbin.pipeline.until.decision import DecisionRule
from tenbin.pipeline.until.width import WidthRule
from tenbin.records import Cell
from tenbin.results.schema import Stopping


class CellStop(Protocol):
    """When one task stops."""

    cell: Cell
    blocks: Sequence[Sequence[int]]
    """Numbers of the prompts of each block, in the order in which they are asked."""

    def look(self, judged: JudgedDocuments, asked: int) -> tuple[bool, str]:
        """Look at the task after a block.

        Args:
            judged: The judged documents, those of the block among them.
            asked: Documents of the task that were asked so far.

        Returns:
            Whether it stops, and a message for the user.
        """
        ...


@dataclass(slots=True)
class StopRule:
    """When the tasks of a run stop; without any stops, all is asked at once."""

    seed: int = 0
    stops: Sequence[CellStop] = ()
    against: str | None = None
    against_run_id: str | None = None

    def portions(
        self, plan: Plan, judged: JudgedDocuments, notify: Callable[[str], None]
    ) -> Iterator[None]:
        """Release one portion of the plan after the other; each is asked and judged in between.

        Args:
            plan: All prompts of the run, held back where there are stops.
            judged: Its judged documents.
            notify: Called with what is known after each block.
        """
        if not self.stops:
            yield
            return
        stopping = {stop.cell for stop in self.stops}
        for cell, span in plan.spans.items():
            if cell not in stopping:
                plan.release(span)
        asked = dict.fromkeys(stopping, 0)
        left, at = list(self.stops), 0
        while left:
            for stop in left:
                plan.release(stop.blocks[at])
                asked[stop.cell] += len(stop.blocks[at])
            yield
            at += 1
            going_on = []
            for stop in left:
                over, message = stop.look(judged, asked[stop.cell])
                notify(f"{stop.cell.id}: {message}")
                if not over and at < len(stop.blocks):
                    going_on.append(stop)
            left = going_on

    def entry(self) -> Stopping | None:
        """The key `stopping` of result.json; None where every task asked all."""
        if not self.stops:
            return None
        entry = Stopping(
            seed=self.seed,
            widths={s.cell.id: s.entry() for s in self.stops if isinstance(s, WidthRule)},
            decisions={s.cell.id: s.entry() for s in self.stops if isinstance(s, DecisionRule)},
        )
        return entry.model_copy(
            update={
                name: value
                for name in ("against", "against_run_id")
                if (value := getattr(self, name)) is not None
            }
        )
