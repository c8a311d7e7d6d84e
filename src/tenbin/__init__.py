"""tenbin (天秤): weigh language models across prompt templates and languages.

    import tenbin
    run = tenbin.evaluate(model="hf", model_args={"pretrained": "smollm2-135m"},
                          tasks=["jnli-1.3-0.2"], num_fewshot=3, sample_data=True)
    run.table()

Names are imported when used, so that `import tenbin` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tenbin.version import __version__

__all__ = [
    "Compared",
    "Models",
    "Run",
    "Sweep",
    "__version__",
    "compare",
    "consistency",
    "doctor",
    "evaluate",
    "evaluate_models",
    "load_run",
    "sweep",
]

if TYPE_CHECKING:
    from tenbin.api import (
        Compared,
        Run,
        Sweep,
        compare,
        consistency,
        doctor,
        evaluate,
        load_run,
        sweep,
    )
    from tenbin.api_models import Models, evaluate_models

_OF_MANY = ("Models", "evaluate_models")


def __getattr__(name: str) -> Any:
    if name in _OF_MANY:
        from tenbin import api_models

        return getattr(api_models, name)
    if name in __all__:
        from tenbin import api

        return getattr(api, name)
    raise AttributeError(f"module 'tenbin' has no attribute {name!r}")
