"""tenbin (天秤): weigh language models across prompt templates and languages.

    import tenbin
    run = tenbin.evaluate(model="hf", model_args={"pretrained": "smollm2-135m"},
                          tasks=["jnli-1.3-0.2"], num_fewshot=3, sample_data=True)
    run.to_pandas()

Names are imported when used, so that `import tenbin` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tenbin.version import __version__

__all__ = [
    "Comparison",
    "Consistency",
    "Curve",
    "Diagnosis",
    "Leaderboard",
    "Listener",
    "Models",
    "OptionOrder",
    "Plan",
    "Run",
    "RunOptions",
    "Samples",
    "Sweep",
    "TenbinError",
    "__version__",
    "compare",
    "consistency",
    "curve",
    "doctor",
    "evaluate",
    "evaluate_models",
    "export",
    "leaderboard",
    "load_run",
    "merge",
    "plan",
    "sweep",
    "track",
]

if TYPE_CHECKING:
    from tenbin.api import (
        Comparison,
        Consistency,
        Curve,
        Diagnosis,
        Leaderboard,
        Listener,
        Models,
        OptionOrder,
        Plan,
        Run,
        RunOptions,
        Samples,
        Sweep,
        TenbinError,
        compare,
        consistency,
        curve,
        doctor,
        evaluate,
        evaluate_models,
        export,
        leaderboard,
        load_run,
        merge,
        plan,
        sweep,
        track,
    )

_EARLIER = {"Compared": "Comparison"}
"""Names of earlier versions."""


def __getattr__(name: str) -> Any:
    if name in __all__ or name in _EARLIER:
        from tenbin import api

        return getattr(api, _EARLIER.get(name, name))
    raise AttributeError(f"module 'tenbin' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
