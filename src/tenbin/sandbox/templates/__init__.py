"""Jinja for templates of strangers: sandboxed, with limits on work and size that hold.

Task files and models bring templates. `LimitedEnvironment` renders what Jinja's own sandbox does,
to the byte, and raises `TooMuchWork` for a template that would loop, recurse or grow without end.
Knows no task, no model and no message to a user beyond the one sentence of `TooMuchWork`.
"""

from __future__ import annotations

from tenbin.sandbox.templates.budget import TooMuchWork
from tenbin.sandbox.templates.environment import LimitedEnvironment, render_limited

__all__ = ["LimitedEnvironment", "TooMuchWork", "render_limited"]
