"""Profiles: named settings that reproduce published numbers, or the way in which some are made."""

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
    sampler: Literal["document", "running", "lm-eval"] = "document"
    """Examples by each document's own seed, or by one generator: `running` shuffles the documents
    too, `lm-eval` takes them as they are."""
    fit_examples: bool = True
    """Leave examples out when the window is too short, before any text is cut."""
    cap_by_references: bool = False
    """Limit a generation to the longest reference's tokens. Leaks the gold length."""
    encoding: Literal["joint", "separate"] | None = None
    add_bos: bool | None = None
    seed: int | None = None
    first_answer: bool = False
    """Of several sampled answers judge the first alone, where the task's filters name no other."""
    top_k: int = 0
    """Likeliest tokens that sampled answers are taken from where nobody names a number; 0: all."""
    multiturn_chat: bool = False
    """Whether a chat template makes turns of the examples unless the user says otherwise."""
    keeps_zero_shots: bool = False
    """Whether a task whose file says `num_fewshot: 0` ignores the number of the command line."""
    apply_chat_template: bool = False
    """Whether prompts go through the model's chat template unless the user says otherwise."""
    shots: int | None = None
    """Examples where the user names no number, whatever groups, suites and task files say."""
    default_shots: int | None = None
    """Examples where neither the user nor a group or suite names a number; None: the task's."""
    templates: tuple[str, ...] = ()
    """Templates that are taken where the user names none: the first that a task has."""
    generated: bool = False
    """Whether groups and suites take the form of a task whose answers are generated and read."""


PROFILES = {
    DEFAULT_PROFILE: Profile(),
    "jp-stable": Profile(
        name="jp-stable",
        pairing="sorted",
        sampler="running",
        fit_examples=False,
        cap_by_references=True,
        encoding="separate",
        add_bos=False,
        seed=42,
    ),
    "lm-eval": Profile(
        name="lm-eval",
        sampler="lm-eval",
        fit_examples=False,
        encoding="joint",
        first_answer=True,
        top_k=50,  # transformers' default, which lm-eval leaves as it is
        multiturn_chat=True,
        keeps_zero_shots=True,
    ),
    # How leaderboards of chat models ask: one user message in the language of the item.
    "zero-shot-chat": Profile(
        name="zero-shot-chat",
        apply_chat_template=True,
        shots=0,
        templates=("chat", "native"),
        generated=True,
    ),
    # How base models are asked: examples as plain text, choices by their log-likelihoods.
    "few-shot-likelihood": Profile(name="few-shot-likelihood", default_shots=4),
}


def find_profile(name: str | None) -> Profile:
    """The profile of that name; None: tenbin's own settings."""
    if name is None:
        return PROFILES[DEFAULT_PROFILE]
    if name not in PROFILES:
        raise ConfigError(f"unknown profile {name!r}", f"profiles: {', '.join(PROFILES)}")
    return PROFILES[name]
