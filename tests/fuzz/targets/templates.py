"""Templates, chains of filters and whole task files, as they are checked and used."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

from tenbin.data import DataChoice
from tenbin.errors import TenbinError
from tenbin.metrics import filters
from tenbin.metrics.patterns import UnjudgedError
from tenbin.metrics.registry import metric_names
from tenbin.pipeline.validate import validate_task
from tenbin.prompts.environment import language_names_used, names_used, render
from tenbin.tasks.loader import load_file
from tests.fuzz import grammar
from tests.fuzz.mutation import TEXTS, damage_bytes, damage_text, damage_tree, leaf, write_json
from tests.fuzz.target import Target
from tests.fuzz.verdict import LONGEST_MESSAGE

_FIELDS: dict[str, Any] = {
    "question": "どれ? aaaaaaaaaaaaaaaaaaaaaaaaaaaa!",
    "choices": ["A. あ", "B. い", "C"],
    "label": 1,
    "answers": {"text": ["a", "b"], "answer_start": [1, 2]},
    "nested": {"a": [{"b": 1}, {"b": 2}]},
    "empty": "",
    "number": 1.5,
}
_TEMPLATES = (
    "質問:{{ question }}\n{% for c in choices %}{{ loop.index0 }}.{{ c }},{% endfor %}\n回答:",
    "{{ choices|join('\\n') }}{{ answers.text[0] }}{{ question|regex_replace('a+$', 'b', 1) }}",
    "{%- set x = namespace(n=0) -%}{% for i in range(3) %}{% set x.n = i %}{% endfor %}{{ x.n }}",
    "{% macro m(a) %}<{{ a|upper }}>{% endmacro %}{{ m(question) }}{{ 'ABCD'[label] }}",
)


def _make_template(rng: Random) -> bytes:
    source = grammar.template(rng) if rng.randrange(3) else rng.choice(_TEMPLATES)
    if rng.randrange(3) == 0:
        source = damage_text(rng, source, ("{{", "}}", "{%", "%}", "|", "range(99999)", "question"))
    return source.encode("utf-8", "surrogatepass")


def _check_template(data: bytes, folder: Path) -> None:
    source = data.decode("utf-8", "surrogatepass")
    render(source, _FIELDS).encode()
    names_used(source)
    language_names_used(source)


_ANSWERS = (
    "The answer is (B).", "", "a" * 400 + "!", "A. A. A. " * 40, '{"answer": "C"}', "答えはB",
    "\x00\ud83d",
    " ".join(TEXTS[:20]),
)  # fmt: skip
_CHAINS: tuple[list[dict[str, Any]], ...] = (
    [{"function": "regex", "regex_pattern": r"answer is \(?([A-D])", "group_select": -1}],
    [{"function": "regex", "regex_pattern": "([0-9]+)", "fallback": "no"},
    {"function": "take_first"}],
    [{"function": "lowercase"}, {"function": "remove_whitespace"}, {"function": "strip"}],
    [{"function": "choice_letter_flexible"}],
    [{"function": "regex_strip", "regex_pattern": "a", "replacement": "b"}],
    [{"function": "take_first_k", "k": 1}, {"function": "majority_vote"}],
)  # fmt: skip
_STEPS = (
    "regex",
    "regex_strip",
    "uppercase",
    "choice_letter_strict",
    "take_first",
    "map",
    "multi_choice_regex",
)


def _make_filters(rng: Random) -> bytes:
    chain = json.loads(json.dumps(rng.choice(_CHAINS)))
    for step in chain:
        if "regex_pattern" in step and rng.randrange(2):
            step["regex_pattern"] = grammar.regex(rng)
        if rng.randrange(6) == 0:
            step[rng.choice(("group_select", "fallback", "replacement", "k", "characters"))] = leaf(
                rng
            )
        if rng.randrange(10) == 0:
            step["function"] = rng.choice(_STEPS)
    tree = damage_tree(rng, chain, _STEPS) if rng.randrange(3) == 0 else chain
    return write_json(rng, tree)


def _check_filters(data: bytes, folder: Path) -> None:
    try:
        chain = json.loads(data)
        steps = tuple(
            (str(step["function"]), {str(k): v for k, v in step.items() if k != "function"})
            for step in chain
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return  # The task file's own checks come before.
    filters.check(steps, repeats=1)
    for text in _ANSWERS:
        try:
            for answer in filters.apply(steps, [text], "ja", 4):
                assert answer is None or isinstance(answer, str)
            filters.explain(steps, text, "ja", 4)
        except UnjudgedError:
            continue  # The document fails, and the run goes on.


_TASKS: tuple[dict[str, Any], ...] = (
    {
        "task": "quiz", "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": "rows.jsonl"}},
        "test_split": "test", "output_type": "multiple_choice",
        "doc_to_text": "{{ question }}\n答え:",
        "doc_to_choice": "choices", "doc_to_target": "label", "num_fewshot": 1,
        "metric_list": [{"metric": "acc"}, {"metric": "mcc", "higher_is_better": True}],
        "templates": {"a": {"doc_to_text": "Q {{ question }}"}, "b": {"description": "d"}},
        "fewshot_config": {"sampler": "default"}, "language": "ja", "metadata": {"version": 2},
    },
    {
        "task": "gen", "dataset_path": "json", "dataset_kwargs": {"data_files": "rows.jsonl"},
        "test_split": "test", "output_type": "generate_until", "doc_to_text": "{{ question }}",
        "doc_to_target": "{{ answers.text[0] }}", "references": "answers.text", "repeats": 2,
        "generation_kwargs": {"until": ["\n"], "max_gen_toks": 9, "do_sample": True, "top_p": 0.5},
        "filter_list": [
            {"name": "f", "filter": [{"function": "regex", "regex_pattern": "(a)"},
            {"function": "take_first"}]}
        ],
        "metric_list": [{"metric": "exact_match", "ignore_case": True, "regexes_to_ignore": [","]}],
        "versions": {"1.0": {}, "1.1": {"doc_to_text": "v {{ question }}"}},
        "version_aliases": {"x": "1.0"},
        "languages": {"en": {"labels": ["a", "b"]}, "ja": {}}, "parallel": {"key": "id"},
        "group": "g",
    },
    {
        "task": "whole", "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": ["rows.jsonl"]}},
        "test_split": "test", "output_type": "loglikelihood_rolling",
        "doc_to_target": "{{ question }}",
    },
)  # fmt: skip
_YAML = (
    b"task: quiz\ninclude: base.yaml\noutput_type: multiple_choice\n"
    b"doc_to_text: &q '{{ question }}'\ndoc_to_choice: [x, '{{ choices[0] }}']\n"
    b"doc_to_target: 0\ntemplates:\n  a: {description: d, doc_to_text: *q}\n",
)
_BASE = b"dataset_path: json\ndataset_kwargs: {data_files: rows.jsonl}\ntest_split: test\n"
_WORDS = (
    "json", "csv", "rows.jsonl", "test", "train", "multiple_choice", "generate_until", "acc", "f1",
    "regex",
    "include", "templates", "variants", "doc_to_text", "default_template", "process_docs",
    "labels", "id",
    "label", "choices", "{{ question }}", "{{ 1/0 }}", "{{ range(99999)|list }}", "stratified",
    "dataset",
    "jglue/jnli", "task.yaml", "base.yaml", "*.jsonl", "sep", "delimiter", "field", "data_dir",
    "!function x",
)  # fmt: skip
_PIECES = (
    b"&a ", b"*a", b"<<: *q\n", b"!function utils.f", b"include: task.yaml\n", b"? ", b"- ", b": ",
    b"\n  ",
    b"\t", b"---\n", b"{{", b"[[[[", b"|\n", b"\x00", b"\xff", b"!!binary aGk=", b"!!set {x}",
)  # fmt: skip
_ROW = json.dumps({"id": 1, **_FIELDS}, ensure_ascii=False).encode()


def _make_task(rng: Random) -> bytes:
    if rng.randrange(5) == 0:
        return damage_bytes(rng, rng.choice(_YAML), _PIECES)
    tree = json.loads(json.dumps(rng.choice(_TASKS)))
    if rng.randrange(4) == 0:
        tree["doc_to_text"] = grammar.template(rng)
    elif rng.randrange(8) == 0:
        tree["filter_list"] = [{"name": "f", "filter": json.loads(_make_chain(rng))}]
    else:
        tree = damage_tree(rng, tree, _WORDS)
    return write_json(rng, tree)


def _make_chain(rng: Random) -> bytes:
    while True:
        data = _make_filters(rng)
        try:
            json.loads(data)
        except (ValueError, RecursionError):
            continue
        return data


def _check_task(data: bytes, folder: Path) -> None:
    path = folder / "task.yaml"
    path.write_bytes(data)
    (folder / "base.yaml").write_bytes(_BASE)
    (folder / "rows.jsonl").write_bytes(_ROW + b"\n" + _ROW.replace(b'"id": 1', b'"id": 2'))
    choice = DataChoice(data_dir=folder, cache_dir=folder / "cache", offline=True)
    for loaded in load_file(path):
        metric_names(loaded.task)
        checked = validate_task(loaded.task, choice)
        for finding in checked.findings:
            # A finding is shown as an error is, and is as long at most.
            if finding.severity == "error":
                raise TenbinError(finding.message)
            assert len(finding.message) < LONGEST_MESSAGE


TARGETS = (
    Target(
        "template",
        _make_template,
        _check_template,
        lambda: [source.encode() for source in _TEMPLATES],
        seconds=15.0,
    ),
    Target(
        "filters",
        _make_filters,
        _check_filters,
        lambda: [json.dumps(chain).encode() for chain in _CHAINS],
        seconds=15.0,
    ),
    Target(
        "task_file",
        _make_task,
        _check_task,
        lambda: [*(json.dumps(tree).encode() for tree in _TASKS), *_YAML],
        seconds=15.0,
    ),
)
