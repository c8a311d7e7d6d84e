"""What a run depends on: one frozen RunConfig.

Knows fields and what follows from them; checks nothing, for values come here checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from tenbin.config.profiles import Profile, find_profile
from tenbin.records import Thinking

DEFAULT_SEED = 1234
SCALE = ("workers", "ray_address", "num_gpus", "num_cpus")
"""Settings that say where a run is worked out and not what comes out."""
AUTO = "auto"
CROSSFIT = "crossfit"


@dataclass(frozen=True, slots=True)
class RunConfig:
    """Everything a run depends on, as the user wrote it."""

    tasks: tuple[str, ...]
    """Ids, patterns, groups, bare names or task files."""
    model: str = "hf"
    model_args: Mapping[str, Any] = field(default_factory=dict)
    template: str | None = None
    """Template for bare names and groups; `auto` chooses it on documents held out."""
    templates: tuple[str, ...] = ()
    """Templates to sweep over; `all` stands for every one that a task has."""
    num_fewshot_sweep: tuple[int, ...] = ()
    """Numbers of shots to sweep over."""
    seeds: int = 1
    """Draws of examples to sweep over, from `seed` upwards."""
    select_on: str | None = None
    """Where templates are chosen: `crossfit`, or `SPLIT:N` for documents of another split."""
    num_fewshot: tuple[int, ...] = ()
    """None given: each task's own; one: for all; else one per entry of `tasks`."""
    limit: tuple[float, ...] = ()
    """Like num_fewshot; a value below 1 is a fraction."""
    seed: int = DEFAULT_SEED
    batch_size: int | Literal["auto"] = "auto"
    dtype: str | None = None
    device: str | None = None
    encoding: Literal["joint", "separate"] = "joint"
    apply_chat_template: bool = False
    system_instruction: str | None = None
    system_prompt: str | None = None
    """Fills templates that write their own system part; SYSTEM_PROMPT in the environment."""
    chat_template_args: Mapping[str, Any] = field(default_factory=dict)
    """Variables of the model's chat template, such as enable_thinking."""
    fewshot_as_multiturn: bool = False
    fewshot: Literal["random", "fixed"] = "random"
    gen_kwargs: Mapping[str, Any] = field(default_factory=dict)
    """Laid over each generation task's own settings: do_sample, temperature, top_p, top_k,
    max_gen_toks."""
    repeats: int | None = None
    """Answers drawn to each document of a generation task; None: the task's own number."""
    thinking: tuple[str, ...] = ()
    """The two marks around a reasoning model's thoughts; none: all that is written is answer."""
    thinking_budget: int | None = None
    """Tokens of thought before an answer; None: the usual number."""
    extra_metrics: tuple[str, ...] = ()
    """Metrics beyond a task's own: `acc_pmi`, or `PATTERN:acc_pmi` for some tasks only."""
    data_dir: str | None = None
    sample_data: bool = False
    data_versions: Mapping[str, str] = field(default_factory=dict)
    """Suite of data sets → version to read; by default the first version of each."""
    split: str | None = None
    """Score this split instead of the task's own."""
    offline: bool = False
    include_path: tuple[str, ...] = ()
    allow_outside_files: bool = False
    """Whether task files may name files anywhere; no run file can set it."""
    profile: str | None = None
    output_path: str | None = None
    overwrite: bool = False
    """Whether a result of other settings at `output_path` may be replaced."""
    cache_dir: str | None = None
    no_cache: bool = False
    workers: int | None = None
    """Workers that answer, each with a model of its own; None: this process alone, or with
    `ray_address` as many as the cluster has room for."""
    ray_address: str | None = None
    """A Ray cluster: `auto`, HOST:PORT or ray://HOST:PORT; None: one of this machine's own."""
    num_gpus: float | None = None
    """GPUs a worker, a fraction where several share one; None: what the model asks for."""
    num_cpus: float | None = None
    """CPUs a worker, and so its threads; None: one."""
    shard_size: int | None = None
    """Requests that are handed to a worker at a time, at most; None: 256."""

    @property
    def way(self) -> Profile:
        """The profile's settings."""
        return find_profile(self.profile)

    @property
    def reasoning(self) -> Thinking | None:
        """How generation tasks let the model think; None: not at all."""
        if not self.thinking:
            return None
        opening, closing = self.thinking
        if self.thinking_budget is None:
            return Thinking(opening, closing)
        return Thinking(opening, closing, self.thinking_budget)

    @property
    def held_out(self) -> tuple[str, int] | None:
        """The split and number of documents that templates are chosen on; None: the scored ones."""
        if self.select_on is None or self.select_on == CROSSFIT:
            return None
        split, _, count = self.select_on.rpartition(":")
        return split, int(count)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for results and for a file that runs it again."""
        plain: dict[str, Any] = {}
        for one in fields(self):
            value = getattr(self, one.name)
            plain[one.name] = list(value) if isinstance(value, tuple) else value
        plain["model_args"] = dict(self.model_args)
        plain["data_versions"] = dict(self.data_versions)
        plain["gen_kwargs"] = dict(self.gen_kwargs)
        plain["chat_template_args"] = dict(self.chat_template_args)
        return plain
