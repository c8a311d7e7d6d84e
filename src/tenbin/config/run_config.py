"""RunConfig: every option of a run, declared once with its type, default and help.

From these declarations come the command line's flags and their help, the keys of run files and
their checks, the keywords of `tenbin.evaluate` and docs/options.md. After a change, `make options`
writes the last two.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Literal

from tenbin.config import values
from tenbin.config.options import (
    DATA,
    GENERATION,
    MODEL,
    OUTPUT,
    PROMPTS,
    SELECTION,
    SWEEP,
    WORKERS,
    OptionsRecord,
    option,
)
from tenbin.config.values import CROSSFIT

if TYPE_CHECKING:
    from tenbin.config.profiles import Profile
    from tenbin.records import Thinking

AUTO = "auto"


class RunConfig(OptionsRecord):
    """Everything a run depends on, checked and in its types."""

    tasks: tuple[str, ...] = option(
        values.NAMES, (), SELECTION, "NAMES",
        "comma-separated: ids (jnli-1.3-0.2), patterns (jcommonsenseqa-1.1-*), groups "
        "(mlogiqa_mcq), bare names (jnli: newest version), task files; see `tenbin tasks`",
    )  # fmt: skip
    suite: tuple[str, ...] = option(
        values.NAMES, (), SELECTION, "NAMES",
        "suites of tasks with their averages, such as japanese or parallel; `tenbin tasks "
        "--suites` lists them. For --num_fewshot and --limit a suite is one entry, after --tasks",
        recorded="when set",
    )  # fmt: skip
    model: str = option(
        values.TEXT, "hf", MODEL, "NAME",
        "backend: hf (default; also hf-causal, hf-auto); vllm; openai and openai-chat, any "
        "OpenAI-compatible server; scripted, for dry runs (docs/backends.md)",
    )  # fmt: skip
    model_args: Mapping[str, Any] = option(
        values.ARGUMENTS, {}, MODEL, "K=V[,K=V…]",
        "hf: pretrained (hub id, folder, .gguf file, or smollm2-135m), revision, tokenizer, "
        "dtype, max_length, trust_remote_code, gguf_file, peft, device_map, load_in_4bit, …; "
        "openai, openai-chat: base_url, model, tokenizer, concurrency, timeout, retries, "
        "price_input, price_output, …; the key comes from OPENAI_API_KEY",
    )  # fmt: skip
    template: str | None = option(
        values.TEXT, None, SELECTION, "NAME",
        "template for bare names and groups (default: the task's); auto: choose the best one on "
        "documents that are not scored",
    )  # fmt: skip
    templates: tuple[str, ...] = option(
        values.NAMES, (), SWEEP, "NAMES", "names or patterns, or all (the default)",
        also=("doctor",),
    )  # fmt: skip
    formats: int | None = option(
        values.count_up_to("MOST_FORMATS"), None, SELECTION, "N",
        "ask N prompt formats of each task, sampled by --seed from the grammar that its file "
        "declares, in place of a template; with --templates, or in a sweep with --budget, besides "
        "those (docs/prompt-formats.md)",
        recorded="when set",
    )  # fmt: skip
    chat_formats: bool = option(
        values.SWITCH,
        False,
        SELECTION,
        "",
        "ask about half of the --formats in the model's chat format",
        recorded="when set",
    )
    exclude_formats: tuple[str, ...] = option(
        values.NAMES, (), SELECTION, "IDS|LEVELS|FILE",
        "leave prompt formats out of --formats: by id, by dimension=level (language=english), or "
        "by a file with one of these on each line",
        recorded="when set",
    )  # fmt: skip
    num_fewshot_sweep: tuple[int, ...] = option(
        values.SHOTS, (), SWEEP, "N,N…", "numbers of few-shot examples to try, such as 0,1,3,5"
    )
    seeds: int = option(
        values.count_up_to("MOST_SHOTS"), 1, SWEEP, "N",
        "repeat everything with N samples of examples, from --seed upwards: shows mean, spread, "
        "and how much of the variance is due to prompt, examples and items",
    )  # fmt: skip
    rotations: bool = option(
        values.SWITCH, False, SWEEP, "",
        "ask each template with its options in every rotated order too, the right answer moving "
        "along (0.3~1, 0.3~2, …): how much of a score is the position (docs/option-order.md)",
        also=("run", "preview"), recorded="when set",
    )  # fmt: skip
    rotated_share: float | None = option(
        values.FRACTION, None, SWEEP, "F",
        "with --rotations: ask the rotated orders of this share of the documents only, such as "
        "0.05: enough for the prior of the positions, which is removed from the other documents",
        also=("run",), recorded="when set",
    )  # fmt: skip
    select_on: str | None = option(
        values.SELECTION, None, SWEEP, "WHERE",
        "where the template is chosen: crossfit (default), each third of the scored documents "
        "by what is best on the others; or SPLIT:N, such as train:200, documents that are not "
        "scored",
        also=("run",),
    )  # fmt: skip
    budget: int | None = option(
        values.BUDGET, None, SWEEP, "Nx",
        "ask each document under N of the prompts, chosen at random, and estimate the distribution "
        "of scores over all of them for the price of N full runs (docs/prompts-at-scale.md)",
        recorded="when set",
    )  # fmt: skip
    then: str | None = option(
        values.FOLLOW_UP, None, SWEEP, "best:N",
        "after --budget: run the leading N prompts in full, chosen on other documents than those "
        "that score them",
        recorded="when set",
    )  # fmt: skip
    num_fewshot: tuple[int, ...] = option(
        values.SHOTS, (), SELECTION, "N[,N…]",
        "few-shot examples in the prompt: one number, or one per entry of --tasks in the order "
        "written (default: the task's)",
    )  # fmt: skip
    limit: tuple[float, ...] = option(
        values.LIMITS, (), SELECTION, "N[,N…]",
        "documents per task: a number, a fraction below 1, or one per entry of --tasks",
    )  # fmt: skip
    until: tuple[float, ...] | Literal["decided"] = option(
        values.UNTIL, (), SELECTION, "±N[,±N…]",
        "stop a task as soon as its 95 % interval is no wider than ±N points (one number, or one "
        "per entry of --tasks): documents are asked in random order, block by block. decided: stop "
        "as soon as the difference to --against is decided, at one of five looks",
        commands=("run",), recorded="when set",
    )  # fmt: skip
    against: str | None = option(
        values.PATH, None, SELECTION, "RUN",
        "with --until decided: the stored run that this one is compared with",
        commands=("run",), recorded="when set",
    )  # fmt: skip
    seed: int = option(
        values.WHOLE, 1234, PROMPTS, "N",
        "seed for few-shot examples, sampled answers and --until's order of documents (default: "
        "{default})",
    )  # fmt: skip
    batch_size: int | Literal["auto"] = option(
        values.BATCH_SIZE, "auto", MODEL, "N", "rows per batch, or auto (default)"
    )
    dtype: str | None = option(
        values.choice("auto", "float32", "bfloat16", "float16"), None, MODEL, "NAME",
        "float32, bfloat16, float16, auto",
    )  # fmt: skip
    device: str | None = option(
        values.TEXT, None, MODEL, "NAME", "cpu, cuda, cuda:1, mps (default: the best available)"
    )
    encoding: Literal["joint", "separate"] = option(
        values.choice("joint", "separate"), "joint", MODEL, "MODE",
        "tokenize prompt and answer as one text (joint, default) or each on its own (separate)",
        also=("preview",),
    )  # fmt: skip
    apply_chat_template: bool = option(
        values.SWITCH, False, PROMPTS, "", "put prompts into the model's chat format"
    )
    system_instruction: str | None = option(
        values.TEXT, None, PROMPTS, "TEXT",
        "system message; also fills templates that write their own system part, such as 0.6 of "
        "jnli (for these, the environment variable SYSTEM_PROMPT works too)",
    )  # fmt: skip
    system_prompt: str | None = option(
        values.TEXT, None, PROMPTS, "TEXT",
        "fills templates that write their own system part; the environment variable "
        "SYSTEM_PROMPT sets it",
        commands=(),
    )  # fmt: skip
    chat_template_args: Mapping[str, Any] = option(
        values.VARIABLES, {}, PROMPTS, "K=V[,K=V…]",
        "variables of the model's chat template, such as enable_thinking=false",
    )  # fmt: skip
    fewshot_as_multiturn: bool = option(
        values.SWITCH, False, PROMPTS, "", "few-shot examples as turns of the conversation"
    )
    fewshot: Literal["random", "fixed"] = option(
        values.choice("random", "fixed"), "random", PROMPTS, "MODE",
        "random: each document has its own examples (default); fixed: the same for all",
    )  # fmt: skip
    gen_kwargs: Mapping[str, Any] = option(
        values.GENERATION, {}, GENERATION, "K=V[,K=V…]",
        "override the task's settings: temperature (above 0 samples, 0 is greedy), top_p, top_k, "
        "do_sample, max_gen_toks",
    )  # fmt: skip
    repeats: int | None = option(
        values.count_up_to("MOST_REPEATS"), None, GENERATION, "N",
        "sampled answers per document, whose mean is its score. The same seed gives the same "
        "answers at any batch size, and a larger N keeps the first ones",
    )  # fmt: skip
    thinking: tuple[str, ...] = option(
        values.MARKS, (), GENERATION, "on|off|MARKS",
        "separate a model's thinking from its answer: on for <think> and </think>, else "
        "OPENING,CLOSING; stop strings and limits then apply to answers only (default: off)",
    )  # fmt: skip
    thinking_budget: int | None = option(
        values.zero_or_more("MOST_TOKENS"), None, GENERATION, "N",
        "tokens of thinking, after which the model is made to answer (default: 2048)",
    )  # fmt: skip
    extra_metrics: tuple[str, ...] = option(
        values.NAMES, (), SELECTION, "NAMES",
        "further metrics: acc_norm_bytes, acc_norm_tokens, acc_pmi, gold_bits_per_byte; "
        "jnli*:acc_pmi for some tasks only",
    )  # fmt: skip
    data_dir: str | None = option(
        values.PATH, None, DATA, "DIR",
        "read data sets from this folder (jglue_v1.1/jnli/validation.jsonl.gz, …)",
        also=("data",),
    )  # fmt: skip
    sample_data: bool = option(
        values.SWITCH, False, DATA, "",
        "use the few rows shipped with tenbin: for trying things out, not for scores",
    )  # fmt: skip
    data_versions: Mapping[str, str] = option(
        values.VERSIONS, {}, DATA, "COLLECTION=V[,…]",
        "version of a collection of data sets, such as jglue=1.3 (29 JNLI labels differ from 1.1, "
        "the default); --jglue_version 1.3 is short for it",
        repeatable=True, also=("data",),
    )  # fmt: skip
    split: str | None = option(
        values.TEXT, None, SELECTION, "NAME", "score this split (default: the task's)"
    )
    skip_missing: bool = option(
        values.SWITCH, False, DATA, "",
        "leave out tasks whose data cannot be had, and say so; otherwise that is an error",
        commands=("run", "sweep", "watch", "preview", "doctor"), recorded="when set",
    )  # fmt: skip
    offline: bool = option(
        values.SWITCH, False, DATA, "", "never download; use the cache", also=("data",)
    )
    include_path: tuple[str, ...] = option(
        values.NAMES, (), SELECTION, "PATHS",
        "task files of your own, or folders of them; lm_eval: those of the installed package",
        also=("validate", "tasks", "import-task", "data"),
    )  # fmt: skip
    allow_outside_files: bool = option(
        values.SWITCH, False, DATA, "",
        "let task files read files outside their folders, --include_path and --data_dir",
        in_files=False, recorded=False, also=("import-task", "data"),
    )  # fmt: skip
    trust_tasks: bool = option(
        values.SWITCH, False, DATA, "",
        "run the Python functions that the chosen lm-eval task files name (`!function`); folders "
        "you always trust stand under trust_tasks: in ~/.config/tenbin/config.yaml "
        "(docs/coming-from-lm-eval.md)",
        in_files=False, recorded="when set",
    )  # fmt: skip
    profile: str | None = option(
        values.TEXT, None, SELECTION, "NAME",
        "reproduce published numbers: lm-eval (release 0.4.13: its samples of examples, chats and "
        "truncation), jp-stable (the usual Japanese leaderboard program); or ask in a usual way: "
        "zero-shot-chat (chat template, no examples, generated answers), few-shot-likelihood (base "
        "models: examples as text, log-likelihoods)",
        also=("tasks",),
    )  # fmt: skip
    output_path: str | None = option(
        values.PATH, None, OUTPUT, "PATH",
        "result.json (samples go to result.run/ beside it), or a folder for runs (default: runs/)",
    )  # fmt: skip
    overwrite: bool = option(
        values.SWITCH, False, OUTPUT, "",
        "replace a result of other settings at --output_path (otherwise refused)",
        recorded=False, commands=("run", "sweep"),
    )  # fmt: skip
    export: tuple[str, ...] = option(
        values.TRACKERS, (), OUTPUT, "wandb[,mlflow]",
        "show the run in W&B or MLflow while it goes on, with partial scores; at the end its "
        "scores, samples and report. A failure there leaves the run as it is (docs/export.md)",
        recorded=False, commands=("run", "sweep"),
    )  # fmt: skip
    export_args: Mapping[str, Any] = option(
        values.ARGUMENTS, {}, OUTPUT, "K=V[,K=V…]",
        "where --export goes: project, entity, mode (online, offline), dir; tracking_uri, "
        "experiment; samples (1000 of each task). Keys come from the environment",
        recorded=False, commands=("run", "sweep"),
    )  # fmt: skip
    tags: tuple[str, ...] = option(
        values.TAGS, (), OUTPUT, "NAMES",
        "comma-separated names for the run, such as baseline,ablation: leaderboards and lists of "
        "runs show them and can be filtered by them; they change no score",
        recorded=False,
    )  # fmt: skip
    note: str | None = option(
        values.NOTE, None, OUTPUT, "TEXT",
        "what you want to remember about the run; shown wherever the run is",
        recorded=False,
    )  # fmt: skip
    cache_dir: str | None = option(
        values.PATH, None, MODEL, "DIR", "folder for downloads, converted models and journals",
        also=("data", "preview"),
    )  # fmt: skip
    no_cache: bool = option(
        values.SWITCH, False, OUTPUT, "",
        "do without the journal of answers that lets a stopped run continue",
    )  # fmt: skip
    workers: int | None = option(
        values.POSITIVE, None, WORKERS, "N",
        "answer with N processes, each with the model: `--workers 8` on a machine with 8 GPUs is "
        "one worker per GPU. Default: this process alone; with --ray_address as many as fit",
        recorded=False,
    )  # fmt: skip
    ray_address: str | None = option(
        values.TEXT, None, WORKERS, "ADDRESS",
        "use a running Ray cluster: auto (on one of its machines), HOST:PORT or "
        "ray://HOST:10001. Every machine needs the model's files and this version of tenbin",
        recorded=False,
    )  # fmt: skip
    num_gpus: float | None = option(
        values.SHARE, None, WORKERS, "F",
        "GPUs per worker: 0.5 puts two on one GPU. Default: 1 where there are GPUs and the model "
        "runs here (hf, vllm; all GPUs of a tensor-parallel engine), else 0",
        recorded=False,
    )  # fmt: skip
    num_cpus: float | None = option(
        values.NUMBER, None, WORKERS, "N",
        "CPUs and threads per worker (default: 1); the same number gives the same last digits",
        recorded=False,
    )  # fmt: skip
    shard_size: int | None = option(
        values.POSITIVE, None, WORKERS, "N",
        "requests handed to a worker at a time, at most (default: 256): fewer spread a small run "
        "better, more keep a large GPU busier",
    )  # fmt: skip

    @property
    def profile_settings(self) -> Profile:
        """The profile's settings."""
        from tenbin.config.profiles import find_profile

        return find_profile(self.profile)

    @property
    def thinking_settings(self) -> Thinking | None:
        """How generation tasks let the model think; None if they do not."""
        if not self.thinking:
            return None
        from tenbin.records import Thinking

        opening, closing = self.thinking
        if self.thinking_budget is None:
            return Thinking(opening, closing)
        return Thinking(opening, closing, self.thinking_budget)

    @property
    def held_out(self) -> tuple[str, int] | None:
        """Split and number of the documents that templates are chosen on; None: the scored ones."""
        if self.select_on is None or self.select_on == CROSSFIT:
            return None
        split, _, count = self.select_on.rpartition(":")
        return split, int(count)

    @property
    def leaders(self) -> int | None:
        """How many leading prompts of a sweep on a budget are run in full; None: none."""
        return int(self.then.partition(":")[2]) if self.then is not None else None

    def as_dict(self) -> dict[str, Any]:
        """All options as values that JSON and YAML can hold."""
        return {name: _plain(getattr(self, name)) for name in OPTIONS}

    def recorded(self) -> dict[str, Any]:
        """The options that say what a run is, as result.json keeps them."""
        return {
            name: value
            for name, value in self.as_dict().items()
            if OPTIONS[name].recorded is True or (OPTIONS[name].recorded and value)
        }


OPTIONS = RunConfig.options
"""Every option by name, in the order of declaration."""


def repeating_flags(
    recorded: Mapping[str, object], without: Collection[str] = (), always: Collection[str] = ()
) -> list[str]:
    """The words of a command line that repeat a recorded config, such as `--device`, `cuda`.

    Args:
        recorded: `config` of a stored run; older runs may have options that are gone.
        without: Options to leave out.
        always: Options that are written although they have their default.
    """
    words: list[str] = []
    for name, value in recorded.items():
        known = OPTIONS.get(name)
        # By identity: 0 is a value and not False.
        if value is None or value is False or value == [] or value == {}:
            continue
        if name in without or (known and not known.is_flag):
            continue
        if known and known.default == value and name not in always:
            continue
        words.append(f"--{name}")
        if value is not True:
            words.append(_written(value))
    return words


def repeating_command(
    command: str,
    recorded: Mapping[str, object],
    without: Collection[str] = (),
    always: Collection[str] = (),
    more: Collection[str] = (),
) -> str:
    """The shell command that repeats a recorded config, such as `tenbin run --device cuda`.

    Args:
        command: `run` or `sweep`.
        recorded: As for `repeating_flags`.
        without: Options to leave out.
        always: Options that are written although they have their default.
        more: Words that follow.
    """
    import shlex

    words = ["tenbin", command, *repeating_flags(recorded, without, always), *more]
    prompt = recorded.get("system_prompt")
    set_before = f"SYSTEM_PROMPT={shlex.quote(str(prompt))} " if prompt else ""
    return set_before + shlex.join(words)


def _written(value: object) -> str:
    if isinstance(value, Mapping):
        return ",".join(f"{name}={content}" for name, content in value.items())
    if isinstance(value, list | tuple):
        return ",".join(_written(one) for one in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    return dict(value) if isinstance(value, Mapping) else value
