"""Options that people bring from lighteval and flexeval, and what to write here instead."""

from __future__ import annotations

from typing import NamedTuple


class ForeignOption(NamedTuple):
    """An option of another program."""

    program: str
    here: str
    """What to write here."""


_LIGHTEVAL: dict[str, str] = {
    "max_samples": "--limit N",
    "override_batch_size": "--batch_size N",
    "use_chat_template": "--apply_chat_template",
    "custom_tasks": "--include_path names task files and folders of them",
    "output_dir": "--output_path",
    "results_path_template": "--output_path names a .json file, or a folder for runs",
    "save_details": "leave it out: samples are always stored, beside the result",
    "load_responses_from_details_date_id": "leave it out: answers come from the journal, so that a "
    "second run asks nothing twice",
    "num_fewshot_seeds": "tenbin sweep --seeds N",
    "fewshot_seed": "--seed N",
    "cot_prompt": "a template of the task: docs/add-a-template.md",
    "remove_reasoning_tags": "--thinking on, or --thinking OPENING,CLOSING",
    "reasoning_tags": "--thinking OPENING,CLOSING",
    "generation_parameters": "--gen_kwargs temperature=0.8,top_p=0.95",
    "dataset_loading_processes": "leave it out: rows are read once, from disk",
    "load_tasks_multilingual": "leave it out: tasks of all languages are always there",
    "push_to_hub": "nothing goes to a hub: share result.json, or the HTML file of --report",
    "push_to_tensorboard": "`tenbin export RUN --to csv`, or --export wandb or mlflow",
    "public_run": "nothing goes to a hub: share result.json, or the HTML file of --report",
    "results_org": "nothing goes to a hub: share result.json, or the HTML file of --report",
    "job_id": "--output_path names the run",
    "model_name": "--model hf --model_args pretrained=NAME",
}
_FLEXEVAL: dict[str, str] = {
    "language_model": "--model hf --model_args pretrained=PATH,KEY=VALUE",
    "eval_setup": "--tasks NAMES; `tenbin tasks` lists them",
    "eval_setups": "--tasks NAMES; `tenbin tasks` lists them",
    "eval_data": "--tasks NAMES; rows of your own: docs/add-a-task.md",
    "save_dir": "--output_path",
    "force": "--overwrite",
    "retry": "--model_args retries=N, for servers; a stopped run continues with the same command",
    "num_repeats": "--repeats N",
    "max_instances": "--limit N",
    "few_shot_generator": "--num_fewshot N",
    "prompt_template": "a template of the task: docs/add-a-template.md",
    "gen_config": "--gen_kwargs",
    "metrics": "--extra_metrics; the others belong to the task",
    "result_recorder": "leave it out: result.json and samples are always written",
    "add_few_shot_messages": "--fewshot_as_multiturn",
    "preset": "--suite NAME, or --profile NAME",
}
FOREIGN: dict[str, ForeignOption] = {
    name: ForeignOption(program, here)
    for program, options in (("lighteval", _LIGHTEVAL), ("flexeval", _FLEXEVAL))
    for name, here in options.items()
}


def hint_for_foreign(name: str) -> str:
    """The hint for an option of another program; nothing for other names.

    Args:
        name: With underscores; `language_model.model` is part of `language_model`.
    """
    found = FOREIGN.get(name) or FOREIGN.get(name.partition(".")[0])
    return f"{name} is an option of {found.program}; here: {found.here}" if found else ""
