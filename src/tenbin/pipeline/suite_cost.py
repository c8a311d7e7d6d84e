"""What a suite costs: its documents, its tokens, and the time of a model of a given size.

Prompts are made of the sample rows, at most `SAMPLED` of each task, and multiplied by the published
number of rows. Tokens are counted with a tokenizer, or estimated from characters.
"""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tenbin.config import RunConfig, build_config
from tenbin.errors import TenbinError
from tenbin.pipeline.cells.choose import choose_cells
from tenbin.pipeline.cells.setup import CellSetup
from tenbin.pipeline.prepare import Data, data_choice, prompt_settings, prompts_of
from tenbin.pipeline.progress import Listener
from tenbin.records import Prompt
from tenbin.tasks.summary import catalogue

SAMPLED = 4
SPACED, UNSPACED = 4.0, 1.5
"""Characters of a token: in scripts that put spaces between words, and in others."""
_WITHOUT_SPACES = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "THAI", "IDEOGRAPHIC", "FULLWIDTH")
_SIZE = 1024
_LEAST_SECONDS = 0.3


@dataclass(frozen=True, slots=True)
class TaskCost:
    """The cost of one task of a suite."""

    id: str
    groups: tuple[str, ...]
    """Averages of the suite that it enters."""
    shots: int
    documents: int
    """Published rows of the split that is scored."""
    prompt_tokens: int
    """Tokens that are read, those of choices included; 0 where another task asks the same."""
    answer_tokens: int
    """Tokens that are written at most."""


@dataclass(frozen=True, slots=True)
class Rate:
    """How fast this machine multiplies matrices."""

    flops: float
    """Floating point operations in a second."""
    how: str
    """What was measured."""

    def seconds(self, parameters: float, tokens: int) -> float:
        """The time of a model whose every parameter takes part in every token."""
        return 2 * parameters * tokens / self.flops


def suite_costs(
    suite: str,
    profile: str | None,
    count: Callable[[str], int] | None = None,
    listener: Listener | None = None,
) -> list[TaskCost]:
    """The cost of every task of a suite.

    Args:
        suite: Its name.
        profile: The profile that it is run under.
        count: Counts the tokens of a text; None: they are estimated.
        listener: Receives the progress.
    """
    config = build_config({"suite": suite, "profile": profile, "sample_data": True})
    config = config.replaced(apply_chat_template=False)
    data = Data(data_choice(config))
    rows = _published_rows()
    count, asked = count or estimate_tokens, set[str]()
    costs = []
    setups, listener = choose_cells(config), listener or Listener()
    for done, setup in enumerate(setups, 1):
        prompts = _prompts(config, setup, data)
        documents = rows.get((setup.task.name, setup.task.version), 0)
        key = repr([_texts(one) for one in prompts])
        # Versions that only read answers differently ask the same prompts, which is done once.
        costs.append(_cost(setup, prompts, documents, count, again=key in asked))
        asked.add(key)
        listener.prepare(f"counting tokens of {suite}", done, len(setups), "tasks")
    return costs


def _prompts(config: RunConfig, setup: CellSetup, data: Data) -> list[Prompt]:
    """The prompts of the first sample rows, as long as they would be with all examples."""
    few, settings = replace(setup, limit=float(SAMPLED)), prompt_settings(config)
    try:
        return list(prompts_of(few, data, settings, None))
    except TenbinError:
        # Few sample rows may be too few examples; the others say how long one is.
        few = replace(few, cell=replace(few.cell, shots=0))
        prompts = prompts_of(few, data, settings, None)
        return [replace(one, text=one.text * (setup.cell.shots + 1)) for one in prompts]


def _cost(
    setup: CellSetup,
    prompts: Sequence[Prompt],
    documents: int,
    count: Callable[[str], int],
    again: bool,
) -> TaskCost:
    read = sum(count(text) for one in prompts for text in _texts(one)) / len(prompts)
    written = setup.task.max_gen_toks if setup.task.kind == "generate" else 0
    return TaskCost(
        setup.cell.id,
        tuple(dict.fromkeys(group.name for group in setup.groups)),
        setup.cell.shots,
        documents,
        0 if again else round(read * documents),
        0 if again else written * documents,
    )


def _texts(prompt: Prompt) -> Sequence[str]:
    """What is read: the prompt once, since engines share it, and every choice."""
    return (prompt.text, *(prompt.continuations or ()))


def _published_rows() -> dict[tuple[str, str], int]:
    """Task and version → rows; parts of one data set that no number is known of share its rows."""
    found: dict[tuple[str, str], int] = {}
    unknown: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for one, _ in catalogue():
        key = (one.name, one.version)
        if one.documents is not None:
            found[key] = one.documents
        else:
            unknown.setdefault((one.source, one.version), []).append(key)
    from tenbin.data.sources.pinned import describe_dataset
    from tenbin.tasks.registry import load_registry

    registry = load_registry()
    for keys in unknown.values():
        task = registry.task(*keys[0])
        sizes = describe_dataset(task.dataset).sizes
        rows = next(iter(sizes.values()), {}).get(task.split, 0)
        found |= dict.fromkeys(keys, rows // len(keys))
    return found


def estimate_tokens(text: str) -> int:
    """Tokens of a text in a multilingual vocabulary, from its characters."""
    unspaced = sum(
        not one.isascii() and unicodedata.name(one, "").startswith(_WITHOUT_SPACES) for one in text
    )
    return round((len(text) - unspaced) / SPACED + unspaced / UNSPACED)


def measure_rate() -> Rate:
    """Multiply matrices for a third of a second, on the GPU if there is one."""
    try:
        import torch
    except ImportError:
        torch = None  # type: ignore[assignment]
    if torch is not None and torch.cuda.is_available():
        one = torch.randn(8 * _SIZE, 8 * _SIZE, dtype=torch.bfloat16, device="cuda")

        def multiply() -> None:
            torch.matmul(one, one)
            torch.cuda.synchronize()

        name = torch.cuda.get_device_name()
        return _timed(multiply, 8 * _SIZE, f"bfloat16 matrices on {name}")
    import numpy as np

    matrix = np.ones((_SIZE, _SIZE), dtype=np.float32)
    return _timed(lambda: matrix @ matrix, _SIZE, "float32 matrices on the CPU")


def _timed(multiply: Callable[[], object], size: int, what: str) -> Rate:
    multiply()  # the first call starts threads and chooses kernels
    started, calls = time.perf_counter(), 0
    while time.perf_counter() - started < _LEAST_SECONDS:
        multiply()
        calls += 1
    flops = 2 * size**3 * calls / (time.perf_counter() - started)
    return Rate(flops, f"{flops / 1e9:,.0f} GFLOP/s, measured now with {size} × {size} {what}")
