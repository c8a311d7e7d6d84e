"""Requests of small task files, byte for byte those that lm-eval 0.4.13 makes.

`benchmarks/oracle_lm_eval_prompts.py` wrote them down with lm-eval's own classes.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tenbin.backends.text.tokenizer import HfTokenizer
from tenbin.data import DataChoice
from tenbin.pipeline.cells.setup import CellSetup
from tenbin.pipeline.prepare import Data, prompts_of
from tenbin.pipeline.requests import requests_of, unconditional_request
from tenbin.prompts.build import PromptSettings
from tenbin.records import Cell, Generate, Prompt, Rolling, Task
from tenbin.tasks.lm_eval.functions import replace_functions
from tenbin.tasks.lm_eval.reading import read_task_file
from tenbin.tasks.lm_eval.translate import translate
from tests.backends.tiny import make_tokenizer

FOLDER = Path(__file__).parent / "lm_eval_prompts"
GOLDEN: Mapping[str, Any] = json.loads((FOLDER / "requests.json").read_text(encoding="utf-8"))


@cache
def task_of(name: str) -> Task:
    """The task of a file, its functions loaded: they are this project's own."""
    read = read_task_file(FOLDER / f"{name}.yaml")
    task = translate(read.mapping, read.path, sha256=read.sha256).require()
    spec = importlib.util.spec_from_file_location("lm_eval_prompts_utils", FOLDER / "utils.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    loaded: Task = replace_functions(
        task, lambda function: replace(function, call=getattr(module, function.name))
    )
    return loaded


@cache
def rows() -> Data:
    return Data(DataChoice(offline=True))


@cache
def tokenizer() -> HfTokenizer:
    inner = make_tokenizer()
    inner.chat_template = GOLDEN["chat_template"]
    return HfTokenizer(inner, 4096)


def made(name: str, way: str, shots: int) -> list[Prompt]:
    task = task_of(name)
    cell = Cell(task.name, task.version, "default", shots, GOLDEN["seeds"][way])
    settings = PromptSettings(sampler="lm-eval")
    if way != "plain":
        settings = replace(
            settings,
            apply_chat_template=True,
            fewshot_as_multiturn=way == "turns",
            system_instruction=GOLDEN["system_instruction"],
        )
    setup = CellSetup(cell, task, GOLDEN["limit"])
    return list(prompts_of(setup, rows(), settings, None, tokenizer().chat))


def requests_like_lm_eval(task: Task, prompt: Prompt) -> list[list[str]]:
    """The requests of a prompt as the golden file has them: contexts, each with its answers."""
    asked = [
        [request.text]
        if isinstance(request, Rolling)
        else [request.prompt]
        if isinstance(request, Generate)
        else [request.prompt, *request.continuations]
        for request in requests_of(prompt)
    ]
    if any(use.metric == "acc_mutual_info" for use in task.metrics):
        bare = unconditional_request(prompt)
        assert bare is not None
        asked.append(["", *bare.continuations])
    return asked


@pytest.mark.parametrize("case", GOLDEN["tasks"])
def test_requests_are_those_of_lm_eval(case: str) -> None:
    name, way, shots = case.split()
    task = task_of(name)
    prompts = made(name, way, int(shots))
    got = [requests_like_lm_eval(task, prompt) for prompt in prompts]
    assert got == GOLDEN["tasks"][case]


def test_the_files_show_every_way_of_asking() -> None:
    kinds = {task_of(case.split()[0]).kind for case in GOLDEN["tasks"]}
    assert kinds == {"choice", "generate", "perplexity", "loglikelihood"}
    asked = [documents[0] for documents in GOLDEN["tasks"].values()]
    assert any(len({context for context, *_ in one}) > 1 for one in asked), "several inputs"


def test_golds_are_those_of_lm_eval() -> None:
    golds = [prompt.golds for prompt in made("several_golds", "plain", 0)]
    assert golds == [(0,), (1, 2), (2,), (0,), (0, 1), (0,)]
    assert [prompt.gold for prompt in made("no_gold", "plain", 0)][:3] == [None, 1, 2]
    assert [prompt.gold for prompt in made("several_inputs", "plain", 0)] == [0, 1, 2, 0, 0, 0]


def test_generation_settings_are_those_of_lm_eval() -> None:
    own = made("named_test", "plain", 0)[0]
    assert (own.stop, own.max_gen_toks) == (("\n", "."), 17)
    default = made("samples", "plain", 0)[0]
    assert (default.stop, default.max_gen_toks) == (("\n\n",), 256)
