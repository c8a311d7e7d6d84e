"""Options of filters and metrics: typed, checked before anything is asked, bounded in time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

import tenbin
from tenbin.backends.scripted import ScriptedBackend
from tenbin.cli import main
from tenbin.errors import TaskError

pytestmark = pytest.mark.usefixtures("cache")

BAD_STEPS: list[tuple[dict[str, Any], str]] = [
    ({"function": "regex", "group_select": "x"}, "group_select must be a whole number, not 'x'"),
    ({"function": "regex", "group_select": True}, "group_select must be a whole number"),
    ({"function": "regex", "group_select": 1.5}, "group_select must be a whole number"),
    ({"function": "regex", "fallback": 5}, "fallback must be text or null, not 5"),
    ({"function": "regex", "regex_pattern": 5}, "regex_pattern must be a regular expression"),
    ({"function": "regex", "regex_pattern": "("}, "regex_pattern: not a valid regular expression"),
    ({"function": "regex", "regex_pattern": "a" * 20_000}, "regex_pattern: the pattern has 20,000"),
    ({"function": "regex", "regex_pattern": "(a{500}){500}"}, "regex_pattern: .* repeats too much"),
    ({"function": "regex", "regex_patern": "a"}, "no option 'regex_patern'"),
    ({"function": "regex_strip", "replacement": "\\9"}, "replacement '..9' does not fit"),
    ({"function": "regex_strip", "replacement": "\\q"}, "replacement '..q' does not fit"),
    ({"function": "regex_strip", "replacement": 7}, "replacement must be text, not 7"),
    ({"function": "strip", "characters": ["a"]}, "characters must be text or null"),
    ({"function": "take_first_k", "k": "2"}, "k must be a whole number above 0"),
    ({"function": "take_first_k", "k": 0}, "k must be a whole number above 0"),
    ({"function": "take_first_k"}, "needs k"),
    ({"function": "lowercase", "locale": "tr"}, "no option 'locale'"),
    ({"function": "lowercse"}, "unknown filter 'lowercse'"),
]
BAD_METRICS: list[tuple[dict[str, Any], str]] = [
    ({"metric": "exact_match", "ignore_case": "yes"}, "ignore_case must be true or false"),
    ({"metric": "exact_match", "ignore_numbers": 1}, "ignore_numbers must be true or false"),
    ({"metric": "exact_match", "regexes_to_ignore": 5}, "regexes_to_ignore must be a list"),
    ({"metric": "exact_match", "regexes_to_ignore": ","}, "regexes_to_ignore must be a list"),
    ({"metric": "exact_match", "regexes_to_ignore": [5]}, "regexes_to_ignore must be a list"),
    ({"metric": "exact_match", "regexes_to_ignore": ["("]}, "regexes_to_ignore: not a valid"),
    ({"metric": "exact_match", "ignore_kase": True}, "no option 'ignore_kase'"),
    ({"metric": "japanese_f1", "ignore_case": True}, "no option 'ignore_case'"),
]


@pytest.fixture(autouse=True)
def _beside_the_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def written(questions: list[str], steps: list[Any], metric: dict[str, Any]) -> str:
    rows = (json.dumps({"question": question, "gold": "a"}) for question in questions)
    Path("rows.jsonl").write_text("\n".join(rows), encoding="utf-8")
    content = {
        "task": "options",
        "title": "Options",
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": "rows.jsonl"}},
        "test_split": "test",
        "doc_to_text": "{{ question }}",
        "doc_to_target": "{{ gold }}",
        "metric_list": [metric],
        "generation_kwargs": {"until": ["\n"], "max_gen_toks": 5_000},
    }
    if steps:
        content["filter_list"] = [{"name": "reading", "filter": steps}]
    Path("options.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    return "options.yaml"


CASES = [
    *(([step], {"metric": "exact_match"}, message) for step, message in BAD_STEPS),
    *(([], metric, message) for metric, message in BAD_METRICS),
]


@pytest.mark.parametrize(("steps", "metric", "message"), CASES)
def test_a_wrong_option_is_one_error_before_anything_is_asked(
    steps: list[Any],
    metric: dict[str, Any],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    task = written(["q"], steps, metric)
    backend = ScriptedBackend()
    with pytest.raises(TaskError, match=message) as caught:
        tenbin.evaluate(backend, tasks=[task], no_cache=True)
    assert caught.value.message.startswith("options.yaml: options: ")
    named = steps[0]["function"] if steps else metric["metric"]
    assert named in caught.value.message
    assert not backend.asked
    assert main(["validate", task]) == 1
    shown = " ".join(capsys.readouterr().out.split())
    assert "options.yaml: options: " in shown and named in shown


def answers(prompt: str) -> str:
    return "a" * 4_000 + "!" if "slow" in prompt else "a"


@pytest.mark.parametrize(
    ("steps", "metric", "kind", "where"),
    [
        (
            [{"function": "regex", "regex_pattern": "(a+)+$"}],
            {"metric": "exact_match"},
            "pattern_timeout",
            "filter reading: the pattern '(a+)+$'",
        ),
        (
            [{"function": "regex_strip", "regex_pattern": "(a+)+$"}],
            {"metric": "exact_match", "ignore_case": True},
            "pattern_timeout",
            "filter reading: the pattern '(a+)+$'",
        ),
        (
            [],
            {"metric": "exact_match", "regexes_to_ignore": ["(a+)+$"]},
            "pattern_timeout",
            "metric exact_match: the pattern '(a+)+$'",
        ),
        (
            [{"function": "regex_strip", "regex_pattern": "", "replacement": "b" * 4_000}],
            {"metric": "exact_match"},
            "answer_too_long",
            "filter reading: the replacement for ''",
        ),
    ],
)
def test_an_answer_that_cannot_be_judged_fails_alone(
    steps: list[Any],
    metric: dict[str, Any],
    kind: str,
    where: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("tenbin.sandbox.patterns.SECONDS", 0.05)
    task = written(["quick 1", "slow", "quick 2"], steps, metric)
    path = Path("run.json").resolve()
    backend = ScriptedBackend(texts=answers, max_length=20_000)
    run = tenbin.evaluate(backend, tasks=[task], no_cache=True, output_path=str(path))
    name = "exact_match,reading" if steps else "exact_match"
    detail = run.document["details"]["options"][name]
    assert (detail["n"], detail["failed"]) == (2, 1), "failed, not wrong"
    ((reason, count),) = run.document["failures"]["options"].items()
    assert reason.startswith(f"{kind}: {where}") and count == 1
    stored = list(tenbin.load_run(path).samples)
    assert [sample["failure_kind"] for sample in stored] == [None, kind, None]
    assert stored[1]["outcomes"][0]["value"] is None
    assert stored[1]["generated"] == answers("slow"), "the answer itself is kept"


def test_a_pattern_that_is_always_slow_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten answers are tried; longer ones after them fail at once, shorter ones are tried still."""
    from tenbin.metrics import patterns

    monkeypatch.setattr("tenbin.sandbox.patterns.SECONDS", 0.02)
    monkeypatch.setattr(patterns, "_timeouts", type(patterns._timeouts)())
    monkeypatch.setattr(patterns, "_shortest", {})
    tried = []
    original = patterns.Pattern.findall

    def counted(self: Any, text: str) -> Any:
        tried.append(text)
        return original(self, text)

    monkeypatch.setattr(patterns.Pattern, "findall", counted)
    for _ in range(25):
        with pytest.raises(patterns.UnjudgedError):
            patterns.find_all("(b+)+$", "b" * 4_000 + "!")
    assert len(tried) == 10
    assert patterns.find_all("(b+)+$", "b") == ["b"]


def test_a_run_ends_well_whatever_the_answers_hold(capfdbinary: Any) -> None:
    """Half a surrogate pair ended a run in a traceback, after all answers had come."""
    hostile = ["\ud800 a", "a\0b", "\x1b[31ma", "a" * 4_000, "\ud83d\ude00"]
    task = written([str(number) for number in range(5)], [], {"metric": "exact_match"})
    backend = ScriptedBackend(texts=lambda prompt: hostile[int(prompt[-1])], max_length=20_000)
    path = Path("run.json").resolve()
    run = tenbin.evaluate(backend, tasks=[task], no_cache=True, output_path=str(path))
    assert run.document["details"]["options"]["exact_match"]["n"] == 5
    stored = [sample["generated"] for sample in tenbin.load_run(path).samples]
    assert stored == ["\ufffd a", "a\0b", "\x1b[31ma", "a" * 4_000, "\U0001f600"]
    from tenbin.report.terminal.scores import print_results
    from tenbin.results.schema import RunResult

    print_results(RunResult.model_validate(run.document))
    assert b"\x1b" not in capfdbinary.readouterr().out
