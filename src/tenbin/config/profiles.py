"""Profiles: named settings that reproduce published numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tenbin.errors import ConfigError

DEFAULT_PROFILE = "tenbin"


@dataclass(frozen=True, slots=True)
class Profile:
    """The settings of a profile. The defaults are tenbin's own."""

    name: str = DEFAULT_PROFILE
    pairing: Literal["written", "sorted"] = "written"
    """Whether per-task numbers belong to the tasks as written or to their sorted names."""
    draw: Literal["document", "running"] = "document"
    """Examples and document order from the document's own seed, or from one running generator."""
    fit_examples: bool = True
    """Leave examples out when the window is too short, before any text is cut."""
    cap_by_references: bool = False
    """Limit a generation to the longest reference's tokens. Leaks the gold length."""
    encoding: Literal["joint", "separate"] | None = None
    add_bos: bool | None = None
    seed: int | None = None


PROFILES = {
    DEFAULT_PROFILE: Profile(),
    "jp-stable": Profile(
        name="jp-stable",
        pairing="sorted",
        draw="running",
        fit_examples=False,
        cap_by_references=True,
        encoding="separate",
        add_bos=False,
        seed=42,
    ),
}


def find_profile(name: str | None) -> Profile:
    """The profile of that name; None: tenbin's own settings."""
    if name is None:
        return PROFILES[DEFAULT_PROFILE]
    if name not in PROFILES:
        raise ConfigError(f"unknown profile {name!r}", f"profiles: {', '.join(PROFILES)}")
    return PROFILES[name]
