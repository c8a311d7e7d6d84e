"""lm-eval's options, and what to write here for each that tenbin does not have under its name.

Hints of error messages and the table of docs/coming-from-lm-eval.md are made from these
declarations; tests compare them with the arguments of lm-eval 0.4.13 and with tenbin's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tenbin.sandbox.printable import shown


@dataclass(frozen=True, slots=True)
class LmEvalOption:
    """A flag of `lm_eval run`, a key of its YAML files, or a keyword of `simple_evaluate`."""

    name: str
    here: str = ""
    """What to do here: the hint where tenbin lacks it, what differs where tenbin has it."""
    short: str = ""
    """The flag of one letter."""


_SEED = "seed=N seeds examples and sampled answers"
_ELSEWHERE = (
    "--export wandb or mlflow shows a run there; nothing goes to a hub: share result.json, or the "
    "HTML file of --report"
)
_TASK_DESCRIPTION = "the text before the examples is `description` in a task file"

FLAGS = (
    LmEvalOption("config", "a run file with the same keys as the flags", "-C"),
    LmEvalOption("tasks", "separate names by commas, not by spaces", "-t"),
    LmEvalOption("model", "`hf`, `vllm`; a server is `openai` or `openai-chat`", "-M"),
    LmEvalOption("model_args", "separate by commas: `pretrained=PATH,dtype=bfloat16`", "-a"),
    LmEvalOption("apply_chat_template", "true or false; the tokenizer's default template"),
    LmEvalOption("limit", "also one number per entry of --tasks", "-L"),
    LmEvalOption(
        "use_cache",
        "leave it out: every answer is kept in a journal below --cache_dir, and the same command "
        "continues a stopped run; --no_cache turns this off",
        "-c",
    ),
    LmEvalOption("num_fewshot", "also one number per entry of --tasks", "-f"),
    LmEvalOption("batch_size", "default auto, which measures what fits; no `auto:N`", "-b"),
    LmEvalOption(
        "max_batch_size",
        "leave it out: --batch_size auto measures what fits; --batch_size N sets a fixed number",
    ),
    LmEvalOption("device", "the default is the best device there is"),
    LmEvalOption(
        "gen_kwargs",
        "do_sample, temperature, top_p, top_k, max_gen_toks; stop strings belong to the task "
        "(`until` under generation_kwargs)",
    ),
    LmEvalOption("output_path", "a .json file, or a folder for runs", "-o"),
    LmEvalOption(
        "log_samples",
        "leave it out: samples are always stored, in samples.parquet beside the result",
        "-s",
    ),
    LmEvalOption(
        "samples",
        "--limit N takes the first N documents; for certain rows, put them into a file of their "
        "own and name its folder with --data_dir",
        "-E",
    ),
    LmEvalOption(
        "cache_requests",
        "leave it out: prompts are built anew for each run, and answers come from the journal",
    ),
    LmEvalOption("check_integrity", "`tenbin validate TASK` checks task files, rows and prompts"),
    LmEvalOption("system_instruction", "the same"),
    LmEvalOption("fewshot_as_multiturn", "off unless given; lm-eval turns it on with a template"),
    LmEvalOption("include_path", "several paths are separated by commas; `lm_eval` is its package"),
    LmEvalOption(
        "verbosity",
        "--log_level debug, info, warning or error; -v is debug, -q error, neither takes a value",
        "-v",
    ),
    LmEvalOption(
        "write_out",
        "`tenbin preview` prints exact prompts, with the options of `tenbin run` and without "
        "a model",
        "-w",
    ),
    LmEvalOption(
        "show_config", "result.json holds every task as it was asked, under `configs`; leave it out"
    ),
    LmEvalOption(
        "wandb_args",
        "--export wandb, and project, entity, mode (online, offline) and dir under --export_args",
    ),
    LmEvalOption("wandb_config_args", "leave it out: --export wandb sends every option of the run"),
    LmEvalOption("trackio_args", _ELSEWHERE),
    LmEvalOption("hf_hub_log_args", _ELSEWHERE),
    LmEvalOption(
        "predict_only",
        "leave it out: every answer is stored in samples.parquet, and metrics take no model time",
        "-x",
    ),
    LmEvalOption("seed", "one number: it seeds examples and sampled answers"),
    LmEvalOption(
        "trust_remote_code",
        "for code of a model: --model_args trust_remote_code=true; data sets that are programs are "
        "refused; for functions of task files: --trust_tasks",
    ),
    LmEvalOption(
        "confirm_run_unsafe_code", "tasks that execute what a model wrote are refused here"
    ),
    LmEvalOption(
        "metadata", "write `metadata:` in a task file of your own that includes the other one"
    ),
)
"""In the order of lm-eval's help, version 0.4.13."""

KEYWORDS = (
    LmEvalOption("rewrite_requests_cache", "leave it out: prompts are built anew for each run"),
    LmEvalOption("delete_requests_cache", "leave it out: prompts are built anew for each run"),
    LmEvalOption("bootstrap_iters", "leave it out: the number of resamples is fixed"),
    LmEvalOption("evaluation_tracker", _ELSEWHERE),
    LmEvalOption("task_manager", "include_path names task files and folders of them"),
    LmEvalOption("random_seed", _SEED),
    LmEvalOption("numpy_random_seed", _SEED),
    LmEvalOption("torch_random_seed", _SEED),
    LmEvalOption("fewshot_random_seed", _SEED),
)
"""Of `simple_evaluate`, besides the flags."""

OLDER = (
    LmEvalOption("provide_description", _TASK_DESCRIPTION),
    LmEvalOption("description_dict_path", _TASK_DESCRIPTION),
    LmEvalOption("decontamination_ngrams_path", "tenbin does not look for contamination"),
    LmEvalOption("data_sampling", "--limit takes a number or a fraction of the documents"),
    LmEvalOption("output_base_path", "--output_path names a .json file, or a folder for runs"),
)
"""Flags of versions before 0.4."""

COMMANDS = {"ls": "tasks", "list": "tasks"}
"""lm-eval's commands → the command here, where the names differ."""

MODELS = {
    "local-completions": "openai",
    "openai-completions": "openai",
    "local-chat-completions": "openai-chat",
    "openai-chat-completions": "openai-chat",
    "huggingface": "hf",
    "gguf": "hf",
    "ggml": "hf",
    "dummy": "scripted",
}
"""lm-eval's models → the backend here, where the names differ."""

_WRITTEN_MODELS = """
    anthropic-chat anthropic-chat-completions anthropic-completions habana hf-audiolm-qwen
    hf-mistral3 hf-multimodal ipex litellm litellm-chat litellm-chat-completions mamba_ssm
    megatron_lm nemo_lm neuronx onnxruntime onnxruntime-genai openvino sglang sglang-generate
    steered textsynth trtllm vllm-vlm watsonx_llm winml
"""
_OTHER_MODELS = frozenset(_WRITTEN_MODELS.split())
"""lm-eval's models without a backend here."""

_LISTS = ("list", "list_groups", "list_subtasks", "list_tags")
_NAMED = {one.name: one for one in (*FLAGS, *KEYWORDS, *OLDER)}
_SHORT = {one.short: one for one in FLAGS if one.short}


def hint_for_name(name: str) -> str:
    """What to use instead of another program's option that tenbin does not have; else nothing."""
    from tenbin.config.other_programs import hint_for_foreign

    found = _NAMED.get(name)
    return f"{name} is an option of lm-eval; {found.here}" if found else hint_for_foreign(name)


def hint_for_flag(flag: str) -> str:
    """The same for a flag, `--log_samples` or `-s`; options that tenbin has are named in full."""
    from tenbin.config.run_config import OPTIONS

    short = _SHORT.get(flag)
    name = short.name if short else flag.removeprefix("--")
    if name in OPTIONS or name == "config":
        return f"lm-eval's {flag} is --{name} here" if short else ""
    return hint_for_name(name)


def hint_for_value(name: str, value: object) -> str:
    """What to write instead of a value that lm-eval takes for an option and tenbin does not."""
    written = value if isinstance(value, str) else shown(value)
    if name == "seed" and ("," in written or isinstance(value, Sequence)):
        return (
            "lm-eval's four seeds are one here, which seeds few-shot examples and sampled answers: "
            "give the last"
        )
    if name == "batch_size" and written.startswith("auto"):
        return "auto measures what fits and does not need to be repeated"
    if name == "apply_chat_template":
        return "the tokenizer's default template is used; variables go into --chat_template_args"
    if name == "gen_kwargs" and any(word in written for word in ("until", "stop")):
        return "stop strings belong to the task: `until` under its generation_kwargs"
    if name in ("model_args", "gen_kwargs") and written.startswith("{"):
        return (
            "instead of lm-eval's JSON write name=value,name=value; lists and mappings go into a "
            "run file (--config)"
        )
    return ""


def hint_for_model(name: str) -> str:
    """What to give as `--model` instead of a model of lm-eval's; nothing for other names."""
    if name in MODELS:
        return f"lm-eval's {name} is {MODELS[name]} here; "
    if name in _OTHER_MODELS:
        return (
            f"lm-eval's {name} does not exist here; a server with OpenAI's API is openai or "
            "openai-chat, with base_url=… under --model_args; "
        )
    return ""


def hint_for_tasks(names: Sequence[str]) -> str:
    """What to write instead of `--tasks list`; else nothing."""
    if len(names) == 1 and names[0] in _LISTS:
        return "`tenbin tasks [PATTERN]` lists tasks, groups and their data"
    return ""
