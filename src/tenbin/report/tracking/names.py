"""Names of scores: the same for what was asked alike, so that runs line up.

`jnli-1.3-0.2/3-shot/acc`: id, shots and metric, and beside it `acc_stderr`, `acc_low`, `acc_high`,
`acc_n` and `acc_failed`. The id alone would put scores with different shots into one curve.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

from tenbin.records import Cell
from tenbin.results.schema import CellConfig, RunResult

_ALLOWED = re.compile(r"[\w.\- ]+")
_LONGEST = 80
"""Characters of each of the three parts: MLflow takes 250 in all."""
_SHOTS = re.compile(r"@\d+shot(?=@|$)")


def cell_place(cell: Cell) -> str:
    """The first two parts of the name of a cell's scores."""
    return _place(cell.id, [cell.shots])


def score_places(result: RunResult) -> dict[str, str]:
    """Id of a task or group → the first two parts of the name of its scores."""
    tasks = {id: _place(id, [config.num_fewshot]) for id, config in result.configs.items()}
    groups = {
        id: _place(id, _shots(result.configs, result.group_subtasks[id])) for id in result.groups
    }
    return {**groups, **tasks}


def _shots(configs: dict[str, CellConfig], members: Iterable[str]) -> list[int | None]:
    return [configs[one].num_fewshot for one in members if one in configs]


def _place(id: str, shots: Iterable[int | None]) -> str:
    # A sweep has the shots in its ids, other runs do not: their scores have one name.
    asked = dict.fromkeys(shots)
    said = f"{next(iter(asked))}-shot" if len(asked) == 1 else "several-shots"
    return f"{part_name(_SHOTS.sub('', id))}/{said}"


def part_name(text: str) -> str:
    """A text as one part of a name, with letters, digits, `_`, `-`, `.` and spaces.

    `exact_match,strict` becomes `exact_match.strict`. Where more has to be replaced, a piece of the
    text's hash keeps names apart.
    """
    plain = text.replace(",", ".").replace("@", ".")
    if _ALLOWED.fullmatch(plain) and len(plain) <= _LONGEST and plain.strip(" .") == plain:
        return plain
    digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:8]
    cleaned = re.sub(r"[^\w.\- ]+", "_", plain)[: _LONGEST - 9].strip(" .")
    return f"{cleaned}_{digest}"
