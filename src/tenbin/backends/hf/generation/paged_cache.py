"""The KV cache of fused decode steps: pages that rows are given when they enter.

A row gets as many pages as its prompt and its longest answer need, so that it never has to wait for
one in the middle of an answer, and a short row beside a long one takes no more memory than its own.
Rows that enter together share the pages of their common prefix. Moving a row moves its list of
pages and no keys.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from tenbin.backends.hf.model.prefix_tree import Ids, common_prefix

PAGE = 64
"""Slots per page: what a program of the attention kernel reads at a time."""
_SCRATCH = 0
"""The page of rows without a job: they are computed along, and what they write is never read."""
_REACH_STRIDE = 512


@dataclass(slots=True)
class Pages:
    """Which pages the rows of a step read; tensors of fixed size, filled anew when rows change."""

    table: torch.Tensor
    """Rows × pages per row: the page that holds each stretch of a row."""
    shared: torch.Tensor
    """Per row: leading tokens that it reads with its group; 0 if it has none."""
    groups: torch.Tensor
    """Groups × members: rows that begin with the same pages; -1 where there is none."""


@dataclass(slots=True)
class _Row:
    pages: list[int] = field(default_factory=list)
    group: object | None = None
    """Rows of one group begin with the same pages."""
    shared: int = 0
    """How many tokens these hold."""


class PagedCache:
    """Keys and values of all rows of a batch, in pages."""

    reach_stride = _REACH_STRIDE
    """Steps of similar reach share a captured graph: slots beyond a row's position are not read."""

    def __init__(
        self, rows: int, length: int, pages: int, members: int, device: torch.device
    ) -> None:
        """Prepare a cache; its pages are allocated when a layer first writes.

        Args:
            rows: Rows it holds.
            length: Most tokens per row.
            pages: Pages of all rows together.
            members: Most rows that one program of the kernel reads shared pages for.
            device: Where the model runs.
        """
        self.rows, self.length = rows, length
        self._device, self._members = device, members
        width = pages_of(length)
        self._free = list(range(pages, _SCRATCH, -1))
        self._total = pages + 1
        self._uses: Counter[int] = Counter()
        self._rows = [_Row() for _ in range(rows)]
        self._changed = True
        self._states: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        self.pages = Pages(
            torch.zeros((rows, width), dtype=torch.int32, device=device),
            torch.zeros(rows, dtype=torch.int32, device=device),
            torch.full((max(1, rows // 2), members), -1, dtype=torch.int32, device=device),
        )
        self.has_groups = False
        """Whether rows of the next step share pages."""
        self.reach = 0

    def enter(self, start: int, prompts: Sequence[Ids], lengths: Sequence[int]) -> int:
        """Give pages to as many prompts as there are pages for, in consecutive rows.

        Args:
            start: The first row.
            prompts: Token ids; neighbours share the pages of their common prefix.
            lengths: Tokens of each prompt with its longest answer.

        Returns:
            How many entered.
        """
        for at, (prompt, length) in enumerate(zip(prompts, lengths, strict=True)):
            row, shared = self._rows[start + at], 0
            before = self._rows[start + at - 1] if at else None
            if before is not None:
                # The last token is read by the first decode step, which writes its key.
                known = common_prefix(prompts[at - 1][:-1], prompt[:-1]) // PAGE
                # A group has one length: a row that shares less than its group begins another.
                if known and before.group is not None and known * PAGE >= before.shared:
                    shared = before.shared // PAGE
                elif known and before.group is None:
                    shared = known
            wanted = pages_of(length) - shared
            if wanted > len(self._free):
                return at
            row.pages, row.group, row.shared = [], None, 0
            if shared:
                assert before is not None
                if before.group is None:
                    before.group, before.shared = object(), shared * PAGE
                row.group, row.shared = before.group, before.shared
                row.pages = before.pages[:shared]
            row.pages = row.pages + [self._free.pop() for _ in range(wanted)]
            self._uses.update(row.pages)
            self._changed = True
        return len(prompts)

    def first_slot(self, row: int) -> int:
        """The first slot that a prefill must write: those before are written by another row."""
        entered = self._rows[row]
        if entered.group is None or row == 0 or self._rows[row - 1].group is not entered.group:
            return 0
        return entered.shared

    def release(self, rows: Sequence[int]) -> None:
        """Take back the pages of rows that are complete."""
        for row in rows:
            self._uses.subtract(self._rows[row].pages)
            self._free += [page for page in self._rows[row].pages if not self._uses[page]]
            self._rows[row] = _Row()
            self._changed = True

    def move(self, sources: Sequence[int], targets: Sequence[int]) -> None:
        """Let rows stand in places that are free, and leave their own."""
        moved = [self._rows[source] for source in sources]
        for source in sources:
            self._rows[source] = _Row()
        for target, row in zip(targets, moved, strict=True):
            self._rows[target] = row
        self._changed = True

    def begin_decode(self, positions: torch.Tensor, reach: int) -> None:
        """Prepare a step.

        Args:
            positions: Of each row's token.
            reach: The largest of them plus one.
        """
        self.reach = reach
        self.begin_write()

    def begin_write(self) -> None:
        """Bring the tables up to date if rows have changed."""
        if not self._changed:
            return
        self._changed = False
        width = self.pages.table.shape[1]
        table = [row.pages + [_SCRATCH] * (width - len(row.pages)) for row in self._rows]
        groups, shared = self._groups()
        self.has_groups = bool(groups)
        groups += [[-1] * self._members] * (self.pages.groups.shape[0] - len(groups))
        for target, values in zip(
            (self.pages.table, self.pages.shared, self.pages.groups),
            (table, shared, groups),
            strict=True,
        ):
            target.copy_(torch.tensor(values, dtype=torch.int32), non_blocking=True)

    def _groups(self) -> tuple[list[list[int]], list[int]]:
        """Rows that share pages, as many together as a program takes, and what each row shares."""
        together: dict[int, list[int]] = {}
        for number, row in enumerate(self._rows):
            if row.group is not None:
                together.setdefault(id(row.group), []).append(number)
        groups, shared = [], [0] * self.rows
        for numbers in together.values():
            for at in range(0, len(numbers), self._members):
                part = numbers[at : at + self._members]
                if len(part) < 2:
                    continue
                groups.append(part + [-1] * (self._members - len(part)))
                for number in part:
                    shared[number] = self._rows[number].shared
        return groups, shared

    def states(
        self, layer: int, heads: int, size: int, dtype: torch.dtype
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Keys and values of a layer: pages × key heads × slots × size."""
        if layer not in self._states:
            shape = (self._total, heads, PAGE, size)
            self._states[layer] = (
                torch.zeros(shape, dtype=dtype, device=self._device),
                torch.zeros(shape, dtype=dtype, device=self._device),
            )
        return self._states[layer]

    def write_pack(
        self,
        layer: int,
        keys: torch.Tensor,
        values: torch.Tensor,
        sources: torch.Tensor,
        rows: torch.Tensor,
        slots: torch.Tensor,
    ) -> None:
        """Copy what a layer computed of a pack into the pages of the rows that hold it.

        Args:
            layer: Its number.
            keys: 1 × key heads × tokens × size.
            values: Likewise.
            sources: Which token of the pack is copied, one entry per copy.
            rows: The row it goes to.
            slots: The slot of the row.
        """
        states = self.states(layer, keys.shape[1], keys.shape[3], keys.dtype)
        pages = self.pages.table[rows, slots // PAGE].long()
        for state, new in zip(states, (keys, values), strict=True):
            state[pages, :, slots % PAGE] = new[0].transpose(0, 1)[sources]

    def clear(self, rows: Sequence[int]) -> None:
        """Nothing: no kernel reads a slot before its row has written it."""

    def token_bytes(self) -> int:
        """Return the memory per token in all layers that have written."""
        return sum(
            part.shape[1] * part.shape[3] * part.element_size()
            for pair in self._states.values()
            for part in pair
        )


def pages_of(length: int) -> int:
    """How many pages a row of so many tokens needs."""
    return -(-length // PAGE)
