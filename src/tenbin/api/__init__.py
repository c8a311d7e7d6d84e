"""The Python API: the command line's options as keywords, records with tables back."""

from tenbin.api.analyses import (
    Comparison,
    Consistency,
    Diagnosis,
    OptionOrder,
    Sweep,
    compare,
    consistency,
)
from tenbin.api.curves import Curve, curve
from tenbin.api.evaluation import doctor, evaluate, sweep
from tenbin.api.exports import export, track
from tenbin.api.leaderboards import Leaderboard, leaderboard
from tenbin.api.merging import merge
from tenbin.api.models import Models, evaluate_models
from tenbin.api.plans import Plan, plan
from tenbin.api.run import Run, Samples, load_run
from tenbin.config.run_options import RunOptions
from tenbin.errors import TenbinError
from tenbin.pipeline.progress import Listener

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
