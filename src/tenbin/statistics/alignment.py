"""Finds which rows of several languages hold the same item, from the data alone.

A key of the data decides. Without one, row numbers are used if the gold answers agree row for row,
which is evidence and no proof; its strength is computed. Otherwise the user has to state it.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tenbin.errors import ResultError

Method = Literal["id", "row", "file"]
_SHOWN = 10
"""Rows that a message lists; further ones are only counted."""


@dataclass(frozen=True, slots=True)
class AskedRow:
    """One row of a language's file."""

    row: int
    item: str | None
    """What the parallel key says, where the row has it."""
    gold: str
    """The right answer, in a form that languages share: a letter or a number."""


@dataclass(frozen=True, slots=True)
class Source:
    """The rows of one language that were asked, and how many its file has."""

    language: str
    rows: tuple[AskedRow, ...]
    size: int


@dataclass(frozen=True, slots=True)
class Alignment:
    """Which item each row holds."""

    method: Method
    items: Mapping[str, Mapping[int, str]]
    """Language → row → item; rows that were declared to have no counterpart are left out."""
    shared: tuple[str, ...]
    """The items that every language was asked, in their natural order."""
    partial: int
    """How many items only some languages were asked."""
    gold: Mapping[str, str]
    """Item → right answer."""

    @property
    def chance_of_agreement(self) -> float:
        """How likely all gold answers agree row for row when rows stand in random order."""
        counts = Counter(self.gold[item] for item in self.shared).values()
        same = sum(math.lgamma(count + 1) for count in counts)
        return math.exp(same - math.lgamma(len(self.shared) + 1))

    @property
    def unseen_swaps(self) -> float:
        """The share of row pairs with one gold answer: such rows could be swapped unnoticed."""
        counts = Counter(self.gold[item] for item in self.shared).values()
        pairs = math.comb(len(self.shared), 2)
        return sum(math.comb(count, 2) for count in counts) / pairs if pairs else 1.0


def align(
    sources: Sequence[Source],
    key: str,
    given: Mapping[str, Sequence[str | None]] | None = None,
    reference: str | None = None,
) -> Alignment:
    """Decide which rows hold the same item.

    Args:
        sources: One a language.
        key: The name of the field that would say it, for messages.
        given: Language → the item of each row of its file, None for a row without counterpart.
        reference: The language whose items `given` must name; by default the first source's.

    Raises:
        ResultError: Nothing shows it, or what shows it contradicts itself; the rows are listed.
    """
    if given is not None:
        items = _items_from_file(sources, given, reference or sources[0].language)
        return _checked("file", sources, items, key)
    if all(row.item is not None for source in sources for row in source.rows):
        return _checked("id", sources, _items_from_keys(sources, key), key)
    sizes = {source.language: source.size for source in sources}
    if len(set(sizes.values())) > 1:
        listed = ", ".join(f"{language} {size:,}" for language, size in sizes.items())
        raise ResultError(
            f"rows have no `{key}`, and row numbers cannot stand in: the files differ in length"
            f" ({listed} rows)",
            alignment_help(sources),
        )
    numbered = {s.language: {row.row: f"row-{row.row}" for row in s.rows} for s in sources}
    return _checked("row", sources, numbered, key)


def alignment_help(sources: Sequence[Source]) -> str:
    """The hint on how to state which rows belong together."""
    names = [source.language for source in sources[:2]]
    return (
        f'say it with --alignment FILE: {{"{names[0]}": [0, 1, 2, …], "{names[-1]}": [0, 2, 1, …]}}'
        f" gives, for each row of a language's file, the {names[0]} row with the same item, or null"
        " where there is none (docs/consistency.md)"
    )


def natural_order(name: str) -> list[str | tuple[int, str]]:
    """A sort key that puts `row-9` before `row-10`."""
    parts = re.split(r"([0-9]+)", name)
    # By length, then by digits: Python refuses to read numbers of thousands of digits.
    digits = [part.lstrip("0") for part in parts]
    return [(len(digits[at]), digits[at]) if at % 2 else part for at, part in enumerate(parts)]


def _items_from_keys(sources: Sequence[Source], key: str) -> dict[str, dict[int, str]]:
    items: dict[str, dict[int, str]] = {}
    for source in sources:
        mine = {row.row: row.item for row in source.rows if row.item is not None}
        doubled = [item for item, count in Counter(mine.values()).items() if count > 1]
        if doubled:
            raise ResultError(
                f"{source.language}: {len(doubled)} values of `{key}` stand in more than one row:"
                f" {_listed(doubled)}",
                f"name each item once, or leave `{key}` out and use --alignment",
            )
        items[source.language] = mine
    return items


def _items_from_file(
    sources: Sequence[Source], given: Mapping[str, Sequence[str | None]], reference: str
) -> dict[str, dict[int, str]]:
    languages = [source.language for source in sources]
    missing = [language for language in languages if language not in given]
    if missing:
        raise ResultError(
            f"--alignment says nothing of {', '.join(missing)}",
            f"it has {', '.join(given) or 'no language'}",
        )
    known = {item for item in given.get(reference, given[languages[0]]) if item is not None}
    items: dict[str, dict[int, str]] = {}
    for source in sources:
        mine = given[source.language]
        if len(mine) != source.size:
            raise ResultError(
                f"--alignment: {source.language} has {len(mine):,} entries, its file"
                f" {source.size:,} rows",
                "give one entry for each row of the file, null for a row without counterpart",
            )
        named = [item for item in mine if item is not None]
        doubled = [item for item, count in Counter(named).items() if count > 1]
        if doubled:
            raise ResultError(
                f"--alignment: {source.language} names {len(doubled)} items more than once:"
                f" {_listed(doubled)}"
            )
        unknown = [item for item in named if item not in known]
        if unknown:
            raise ResultError(
                f"--alignment: {source.language} names {len(unknown)} items that {reference} does"
                f" not have: {_listed(unknown)}"
            )
        pairs = ((row.row, mine[row.row]) for row in source.rows)
        items[source.language] = {row: item for row, item in pairs if item is not None}
    return items


def _checked(
    method: Method, sources: Sequence[Source], items: Mapping[str, Mapping[int, str]], key: str
) -> Alignment:
    """Refuse items whose gold answers differ, and count items that not all languages have."""
    gold: dict[str, dict[str, str]] = {}
    for source in sources:
        for row in source.rows:
            item = items[source.language].get(row.row)
            if item is not None:
                gold.setdefault(item, {})[source.language] = row.gold
    wrong = sorted((i for i, by in gold.items() if len(set(by.values())) > 1), key=natural_order)
    languages = [source.language for source in sources]
    if wrong:
        rows = _table(wrong, gold, languages)
        raise ResultError(
            f"{_disagreement(method, key, len(wrong), len(gold))}\n{rows}",
            _remedy(method, sources, key),
        )
    shared = [item for item, by in gold.items() if len(by) == len(languages)]
    if not shared:
        raise ResultError(
            f"no item was asked in all of {', '.join(languages)}",
            "run the languages on the same items, or choose languages with --tasks",
        )
    right = {item: next(iter(by.values())) for item, by in gold.items()}
    ordered = tuple(sorted(shared, key=natural_order))
    return Alignment(method, items, ordered, len(gold) - len(shared), right)


def _disagreement(method: Method, key: str, wrong: int, total: int) -> str:
    if method == "row":
        return (
            f"rows have no `{key}`, and row numbers do not name the same items: gold answers differ"
            f" in {wrong:,} of {total:,} rows"
        )
    if method == "id":
        return f"gold answers of the same `{key}` differ in {wrong:,} of {total:,} items"
    return f"--alignment: gold answers still differ in {wrong:,} of {total:,} items"


def _remedy(method: Method, sources: Sequence[Source], key: str) -> str:
    if method == "row":
        return alignment_help(sources)
    if method == "id":
        return (
            f"the same `{key}` must mean the same item with its choices in the same order; mend the"
            " rows, or leave these out with --alignment (null for a row)"
        )
    return "mend these entries, or set them to null to leave the rows out"


def _table(wrong: Sequence[str], gold: Mapping[str, Mapping[str, str]], names: list[str]) -> str:
    shown = wrong[:_SHOWN]
    width = max(len(item) for item in [*shown, "item"])
    lines = [f"    {'gold of':<{max(width, 7)}}  " + "  ".join(f"{name:<3}" for name in names)]
    for item in shown:
        cells = "  ".join(f"{gold[item].get(name, '–'):<3}" for name in names)
        lines.append(f"    {item:<{max(width, 7)}}  {cells}".rstrip())
    if len(wrong) > len(shown):
        lines.append(f"    … and {len(wrong) - len(shown):,} more")
    return "\n".join(lines)


def _listed(items: Iterable[str]) -> str:
    ordered = sorted(items, key=natural_order)
    more = f", … and {len(ordered) - _SHOWN:,} more" if len(ordered) > _SHOWN else ""
    return ", ".join(ordered[:_SHOWN]) + more
