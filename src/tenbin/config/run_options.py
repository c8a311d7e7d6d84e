"""Keywords of the Python functions that take the options of a run.

Written by `make options` from the declarations in `run_config`: change those instead.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict


class RunOptions(TypedDict, total=False):
    """Options of a run; None stands for the default."""

    suite: str | Sequence[str] | None
    """suites of tasks with their averages, such as japanese or parallel; `tenbin tasks --suites`
    lists them. For --num_fewshot and --limit a suite is one entry, after --tasks"""
    model_args: str | Mapping[str, Any] | None
    """hf: pretrained (hub id, folder, .gguf file, or smollm2-135m), revision, tokenizer, dtype,
    max_length, trust_remote_code, gguf_file, peft, device_map, load_in_4bit, …; openai,
    openai-chat: base_url, model, tokenizer, concurrency, timeout, retries, price_input,
    price_output, …; the key comes from OPENAI_API_KEY"""
    template: str | None
    """template for bare names and groups (default: the task's); auto: choose the best one on
    documents that are not scored"""
    templates: str | Sequence[str] | None
    """names or patterns, or all (the default)"""
    formats: int | None
    """ask N prompt formats of each task, sampled by --seed from the grammar that its file declares,
    in place of a template; with --templates, or in a sweep with --budget, besides those
    (docs/prompt-formats.md)"""
    chat_formats: bool | None
    """ask about half of the --formats in the model's chat format"""
    exclude_formats: str | Sequence[str] | None
    """leave prompt formats out of --formats: by id, by dimension=level (language=english), or by a
    file with one of these on each line"""
    num_fewshot_sweep: int | str | Sequence[int] | None
    """numbers of few-shot examples to try, such as 0,1,3,5"""
    seeds: int | None
    """repeat everything with N samples of examples, from --seed upwards: shows mean, spread, and
    how much of the variance is due to prompt, examples and items"""
    rotations: bool | None
    """ask each template with its options in every rotated order too, the right answer moving along
    (0.3~1, 0.3~2, …): how much of a score is the position (docs/option-order.md)"""
    rotated_share: float | str | None
    """with --rotations: ask the rotated orders of this share of the documents only, such as 0.05:
    enough for the prior of the positions, which is removed from the other documents"""
    select_on: str | None
    """where the template is chosen: crossfit (default), each third of the scored documents by what
    is best on the others; or SPLIT:N, such as train:200, documents that are not scored"""
    budget: int | str | None
    """ask each document under N of the prompts, chosen at random, and estimate the distribution of
    scores over all of them for the price of N full runs (docs/prompts-at-scale.md)"""
    then: str | None
    """after --budget: run the leading N prompts in full, chosen on other documents than those that
    score them"""
    num_fewshot: int | str | Sequence[int] | None
    """few-shot examples in the prompt: one number, or one per entry of --tasks in the order written
    (default: the task's)"""
    limit: float | str | Sequence[float] | None
    """documents per task: a number, a fraction below 1, or one per entry of --tasks"""
    until: float | str | Sequence[float] | None
    """stop a task as soon as its 95 % interval is no wider than ±N points (one number, or one per
    entry of --tasks): documents are asked in random order, block by block. decided: stop as soon as
    the difference to --against is decided, at one of five looks"""
    against: str | os.PathLike[str] | None
    """with --until decided: the stored run that this one is compared with"""
    seed: int | None
    """seed for few-shot examples, sampled answers and --until's order of documents (default:
    1234)"""
    batch_size: int | Literal["auto"] | None
    """rows per batch, or auto (default)"""
    dtype: Literal["auto", "float32", "bfloat16", "float16"] | None
    """float32, bfloat16, float16, auto"""
    device: str | None
    """cpu, cuda, cuda:1, mps (default: the best available)"""
    encoding: Literal["joint", "separate"] | None
    """tokenize prompt and answer as one text (joint, default) or each on its own (separate)"""
    apply_chat_template: bool | None
    """put prompts into the model's chat format"""
    system_instruction: str | None
    """system message; also fills templates that write their own system part, such as 0.6 of jnli
    (for these, the environment variable SYSTEM_PROMPT works too)"""
    system_prompt: str | None
    """fills templates that write their own system part; the environment variable SYSTEM_PROMPT sets
    it"""
    chat_template_args: str | Mapping[str, Any] | None
    """variables of the model's chat template, such as enable_thinking=false"""
    fewshot_as_multiturn: bool | None
    """few-shot examples as turns of the conversation"""
    fewshot: Literal["random", "fixed"] | None
    """random: each document has its own examples (default); fixed: the same for all"""
    gen_kwargs: str | Mapping[str, Any] | None
    """override the task's settings: temperature (above 0 samples, 0 is greedy), top_p, top_k,
    do_sample, max_gen_toks"""
    repeats: int | None
    """sampled answers per document, whose mean is its score. The same seed gives the same answers
    at any batch size, and a larger N keeps the first ones"""
    thinking: bool | str | Sequence[str] | None
    """separate a model's thinking from its answer: on for <think> and </think>, else
    OPENING,CLOSING; stop strings and limits then apply to answers only (default: off)"""
    thinking_budget: int | None
    """tokens of thinking, after which the model is made to answer (default: 2048)"""
    extra_metrics: str | Sequence[str] | None
    """further metrics: acc_norm_bytes, acc_norm_tokens, acc_pmi, gold_bits_per_byte; jnli*:acc_pmi
    for some tasks only"""
    data_dir: str | os.PathLike[str] | None
    """read data sets from this folder (jglue_v1.1/jnli/validation.jsonl.gz, …)"""
    sample_data: bool | None
    """use the few rows shipped with tenbin: for trying things out, not for scores"""
    data_versions: str | Mapping[str, str] | None
    """version of a collection of data sets, such as jglue=1.3 (29 JNLI labels differ from 1.1, the
    default); --jglue_version 1.3 is short for it"""
    split: str | None
    """score this split (default: the task's)"""
    skip_missing: bool | None
    """leave out tasks whose data cannot be had, and say so; otherwise that is an error"""
    offline: bool | None
    """never download; use the cache"""
    include_path: str | Sequence[str] | None
    """task files of your own, or folders of them; lm_eval: those of the installed package"""
    allow_outside_files: bool | None
    """let task files read files outside their folders, --include_path and --data_dir"""
    trust_tasks: bool | None
    """run the Python functions that the chosen lm-eval task files name (`!function`); folders you
    always trust stand under trust_tasks: in ~/.config/tenbin/config.yaml
    (docs/coming-from-lm-eval.md)"""
    profile: str | None
    """reproduce published numbers: lm-eval (release 0.4.13: its samples of examples, chats and
    truncation), jp-stable (the usual Japanese leaderboard program); or ask in a usual way:
    zero-shot-chat (chat template, no examples, generated answers), few-shot-likelihood (base
    models: examples as text, log-likelihoods)"""
    output_path: str | os.PathLike[str] | None
    """result.json (samples go to result.run/ beside it), or a folder for runs (default: runs/)"""
    overwrite: bool | None
    """replace a result of other settings at --output_path (otherwise refused)"""
    export: str | Sequence[str] | None
    """show the run in W&B or MLflow while it goes on, with partial scores; at the end its scores,
    samples and report. A failure there leaves the run as it is (docs/export.md)"""
    export_args: str | Mapping[str, Any] | None
    """where --export goes: project, entity, mode (online, offline), dir; tracking_uri, experiment;
    samples (1000 of each task). Keys come from the environment"""
    tags: str | Sequence[str] | None
    """comma-separated names for the run, such as baseline,ablation: leaderboards and lists of runs
    show them and can be filtered by them; they change no score"""
    note: str | None
    """what you want to remember about the run; shown wherever the run is"""
    cache_dir: str | os.PathLike[str] | None
    """folder for downloads, converted models and journals"""
    no_cache: bool | None
    """do without the journal of answers that lets a stopped run continue"""
    workers: int | None
    """answer with N processes, each with the model: `--workers 8` on a machine with 8 GPUs is one
    worker per GPU. Default: this process alone; with --ray_address as many as fit"""
    ray_address: str | None
    """use a running Ray cluster: auto (on one of its machines), HOST:PORT or ray://HOST:10001.
    Every machine needs the model's files and this version of tenbin"""
    num_gpus: float | None
    """GPUs per worker: 0.5 puts two on one GPU. Default: 1 where there are GPUs and the model runs
    here (hf, vllm; all GPUs of a tensor-parallel engine), else 0"""
    num_cpus: float | None
    """CPUs and threads per worker (default: 1); the same number gives the same last digits"""
    shard_size: int | None
    """requests handed to a worker at a time, at most (default: 256): fewer spread a small run
    better, more keep a large GPU busier"""
