"""Jinja for untrusted templates: sandboxed, with enforced limits on work and size.

Task files and models bring templates. `LimitedEnvironment` renders what Jinja's own sandbox does,
to the byte, and raises `TooMuchWork` for a template that would loop, recurse or grow without end.
"""

from __future__ import annotations

from tenbin.sandbox.templates.budget import TooMuchWork
from tenbin.sandbox.templates.environment import LimitedEnvironment, render_limited

__all__ = ["LimitedEnvironment", "TooMuchWork", "render_limited"]
