"""Write down the requests that lm-eval makes of small task files, for tests/golden.

Runs in an environment with lm-eval 0.4.13, which tenbin itself never imports:

    python benchmarks/oracle_lm_eval_prompts.py tests/golden/lm_eval_prompts

The folder holds task files and their rows; `requests.json` is written into it. Only lm-eval's own
classes make the requests: they are written down as they come.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from lm_eval.api.task import ConfigurableTask
from lm_eval.models.huggingface import HFLM
from lm_eval.tasks._yaml_loader import load_yaml
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from transformers import PreTrainedTokenizerFast

TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}</s>\n"
    "{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
LIMIT = 6
SEEDS = {"plain": 1234, "chat": 1234, "turns": 7}
"""Examples are drawn with another seed in one way."""
SYSTEM = "Be brief."
SHOTS = {"plain": (0, 2, 5), "chat": (0, 2), "turns": (2,)}
ZERO_ONLY = frozenset({"several_golds", "whole_text"})
"""Tasks without examples, or whose examples lm-eval cannot show."""


def chat_format() -> Callable[..., str]:
    """What HFLM does with the messages, on a tokenizer that has nothing but a template."""
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(WordLevel({"a": 0}, "a")))
    tokenizer.chat_template = TEMPLATE
    model = SimpleNamespace(tokenizer=tokenizer, chat_template_args={})
    return partial(HFLM.apply_chat_template, model)


def made(path: Path, way: str, shots: int) -> list[list[list[str]]]:
    """The first documents of one task: for each its contexts, with what is scored behind them."""
    task = ConfigurableTask(config=load_yaml(path, resolve_func=True))
    task.set_config("num_fewshot", shots)
    task.set_fewshot_seed(SEEDS[way])
    task.build_all_requests(
        limit=LIMIT,
        system_instruction=None if way == "plain" else SYSTEM,
        apply_chat_template=way != "plain",
        fewshot_as_multiturn=way == "turns",
        chat_template=None if way == "plain" else chat_format(),
    )
    documents: dict[int, list[list[str]]] = {}
    for instance in task.instances:
        context, *rest = [one for one in instance.arguments if isinstance(one, str)]
        requests = documents.setdefault(instance.metadata[1], [])
        if not requests or requests[-1][0] != context:
            requests.append([context])
        requests[-1] += rest
    return [requests for _, requests in sorted(documents.items())]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    os.chdir(options.folder)
    tasks: dict[str, Any] = {}
    for path in sorted(Path().glob("*.yaml")):
        for way, numbers in SHOTS.items():
            for shots in numbers:
                if shots and path.stem in ZERO_ONLY:
                    continue
                tasks[f"{path.stem} {way} {shots}"] = made(path.resolve(), way, shots)
    golden = {
        "lm_eval": version("lm_eval"),
        "chat_template": TEMPLATE,
        "system_instruction": SYSTEM,
        "limit": LIMIT,
        "seeds": SEEDS,
        "tasks": tasks,
    }
    written = json.dumps(golden, ensure_ascii=False, indent=1) + "\n"
    Path("requests.json").write_text(written, encoding="utf-8")


if __name__ == "__main__":
    main()
