"""Perplexity tasks through the whole pipeline, with scripted answers and with the small model."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Any

import pytest

import tenbin
from tenbin.backends.scripted import ScriptedBackend
from tenbin.cli import main
from tenbin.data.load import SAMPLE_DATA
from tenbin.errors import BackendError, ConfigError, DataError
from tenbin.records import Rolling

GOLDEN = Path(__file__).parents[1] / "golden" / "lm_eval_perplexities.json"
BOTH = ["plain_text_en", "plain_text_ja"]
TASK = """
task: pages
dataset_path: json
dataset_kwargs: {data_files: {test: pages.jsonl}}
output_type: loglikelihood_rolling
test_split: test
doc_to_target: "{{page}}"
metric_list:
  - metric: word_perplexity
  - {metric: bits_per_byte, name: bits}
"""

pytestmark = pytest.mark.usefixtures("cache")


def evaluate(backend: ScriptedBackend | None = None, **options: Any) -> tenbin.Run:
    given = {"tasks": BOTH, "sample_data": True, **options}
    return tenbin.evaluate(backend or ScriptedBackend(), **given)


def write_pages(folder: Path, *pages: str) -> Path:
    rows = [json.dumps({"page": page}, ensure_ascii=False) for page in pages]
    (folder / "pages.jsonl").write_text("\n".join(rows), encoding="utf-8")
    (folder / "pages.yaml").write_text(TASK, encoding="utf-8")
    return folder / "pages.yaml"


def by_hand(folder: Path, monkeypatch: pytest.MonkeyPatch, **options: Any) -> tenbin.Run:
    """Two pages of 2 and 4 words, 3 and 11 bytes; each byte has the likelihood 1/4."""
    monkeypatch.chdir(folder)
    path = write_pages(folder, "a b", "cc dd é ee")
    quarter = ScriptedBackend(
        score=lambda _, text: -math.log(4) * len(text.encode()), fingerprint="quarter"
    )
    return tenbin.evaluate(quarter, tasks=str(path), no_cache=True, **options)


def test_values_worked_by_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = by_hand(tmp_path, monkeypatch, extra_metrics="byte_perplexity,char_perplexity")
    scores = run.scores["pages"]
    assert scores["bits"] == pytest.approx(2)
    assert scores["byte_perplexity"] == pytest.approx(4)
    assert scores["word_perplexity"] == pytest.approx(4 ** (14 / 6))
    assert scores["char_perplexity"] == pytest.approx(4 ** (14 / 13))


def test_what_a_run_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = by_hand(tmp_path, monkeypatch, output_path="result.json")
    stored = tenbin.load_run(tmp_path / "result.json")
    assert stored.scores == run.scores
    assert json.loads(json.dumps(list(stored.samples))) == json.loads(json.dumps(list(run.samples)))
    sample = stored.samples[1]
    assert (sample["prompt"], sample["target"]) == ("cc dd é ee", None)
    assert sample["logprobs"] == pytest.approx([-11 * math.log(4)])
    assert sample["token_counts"] == [10] and sample["max_gen_toks"] is None
    assert [(o["metric"], o["weight"]) for o in sample["outcomes"]] == [
        ("word_perplexity", 4),
        ("bits", 11),
    ]
    detail = stored.document["details"]["pages"]["bits"]
    assert (detail["n"], detail["weight"], detail["stderr_method"]) == (2, 14, "bootstrap")
    assert detail["higher_is_better"] is False
    assert stored.document["configs"]["pages"]["output_type"] == "roll"


def test_rolls_run_beside_other_tasks() -> None:
    backend = ScriptedBackend()
    run = evaluate(backend, tasks=["jnli", *BOTH, "mlogiqa_gen_ja"], num_fewshot="2,0,0,0")
    assert [len(run.scores[id]) for id in BOTH] == [4, 3]
    assert sum(isinstance(request, Rolling) for request in backend.asked) == 12
    assert run.scores["plain_text_ja"] == evaluate(no_cache=True).scores["plain_text_ja"]


def test_a_crashed_run_goes_on_and_a_repeated_one_asks_nothing() -> None:
    with pytest.raises(BackendError, match="the script ends"):
        evaluate(ScriptedBackend(raise_after=5))
    second = ScriptedBackend()
    run = evaluate(second)
    assert (len(second.asked), run.document["answers_from_journal"]) == (7, 5)
    again = ScriptedBackend(raise_after=0)
    assert evaluate(again).samples == run.samples and again.asked == []


def test_failures_are_counted_and_left_out() -> None:
    asked = ScriptedBackend()
    whole = evaluate(asked, tasks="plain_text_ja", no_cache=True)
    failures = {request.key: "no room" for request in asked.asked[:2]}
    run = evaluate(ScriptedBackend(failures=failures), tasks="plain_text_ja")
    assert {(row["n"], row["failed"]) for row in run.table()} == {(4, 2)}
    assert run.document["failures"] == {"plain_text_ja": {"scripted: no room": 2}}
    kept = whole.samples[2:]
    total = sum(sample["logprobs"][0] for sample in kept)
    size = sum(len(sample["prompt"].encode()) for sample in kept)
    assert run.scores["plain_text_ja"]["byte_perplexity"] == pytest.approx(math.exp(-total / size))


def test_comparisons_know_that_lower_is_better() -> None:
    def per_character(nats: float) -> tenbin.Run:
        backend = ScriptedBackend(
            score=lambda _, text: -nats * len(text), fingerprint=f"nats-{nats}"
        )
        return evaluate(backend, tasks="plain_text_ja")

    worse, better = per_character(2.0), per_character(1.5)
    (row,) = better.compare(worse, metrics=["char_perplexity"])
    assert (row["wins"], row["losses"], row["n"]) == (6, 0, 6)
    assert row["difference"] == pytest.approx(math.exp(1.5) - math.exp(2.0))
    # Of 64 ways to swap the sides of six texts, this one and its mirror are the most extreme.
    assert row["p_value"] == pytest.approx(2 / 64)


def test_shots_and_chats_are_refused() -> None:
    with pytest.raises(ConfigError, match="takes no examples, but 2 were asked") as caught:
        evaluate(tasks=["jnli", "plain_text_*"], num_fewshot=2)
    assert caught.value.hint == "give a number for each entry of --tasks, 0 for plain_text_*"
    with pytest.raises(ConfigError, match="takes no examples"):
        evaluate(tasks="plain_text_ja", num_fewshot=1)
    with pytest.raises(ConfigError, match="--apply_chat_template would change nothing"):
        evaluate(apply_chat_template=True)
    with pytest.raises(ConfigError, match="--system_instruction would change nothing"):
        evaluate(system_instruction="Read.")


def test_an_empty_page_stops_the_run_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    backend = ScriptedBackend()
    with pytest.raises(DataError, match=r"pages\.jsonl, line 2: there is no text"):
        tenbin.evaluate(backend, tasks=str(write_pages(tmp_path, "a", "", "b")))
    assert backend.asked == []


def test_words_where_there_are_none(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    heavy = ScriptedBackend(score=lambda _, text: -9.0 * len(text), fingerprint="heavy")
    run = evaluate(heavy, extra_metrics="plain_text_ja:word_perplexity")
    assert run.scores["plain_text_ja"]["word_perplexity"] is None
    assert run.scores["plain_text_ja"]["char_perplexity"] == pytest.approx(math.exp(9))
    assert json.dumps(run.document, allow_nan=False)
    (warning,) = run.document["warnings"]
    assert "plain_text_ja: word_perplexity is beyond the range of numbers" in warning


def test_validate_finds_texts_without_spaces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    path = str(write_pages(tmp_path, "空白のない文では、語の数がいくつなのか分からない。", "二"))
    assert main(["validate", path]) == 0
    assert "a word has 13 characters" not in capsys.readouterr().out
    write_pages(
        tmp_path,
        "空白のない文では、語の数がいくつなのかは、だれにも分からない。",
        "同じ長さの文" * 5,
    )
    assert main(["validate", path]) == 0
    assert "char_perplexity and bits_per_byte say more" in capsys.readouterr().out
    write_pages(tmp_path, "a b", "a b")
    assert main(["validate", path]) == 0
    assert "1 documents repeat the text" in capsys.readouterr().out
    write_pages(tmp_path, "a b", " ")
    assert main(["validate", path]) == 1
    assert "line 2: there is no text to measure" in capsys.readouterr().out.replace("\n", " ")


def test_preview_shows_the_text_and_its_lengths(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["preview", "--tasks", "plain_text_ja", "--sample_data", "--limit", "1"]
    assert main(options) == 0
    out = capsys.readouterr().out
    assert "港は町よりも早く目を覚ます。" in out
    assert "scored as a whole: 2 words, 917 bytes, 307 characters" in out
    assert main([*options, "--format", "jsonl"]) == 0
    row = json.loads(capsys.readouterr().out)
    assert row["lengths"] == {"words": 2, "bytes": 917, "characters": 307}
    assert (row["doc_id"], row["continuations"], row["target"]) == ("minato", None, None)


def test_the_table_points_down_and_huge_numbers_stay_short(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    options = ["run", "--model", "scripted", "--tasks", "plain_text_ja", "--sample_data"]
    more = ["--extra_metrics", "word_perplexity", "--all_metrics"]
    more += ["--output_path", str(tmp_path / "r.json")]
    assert main([*options, *more]) == 0
    out = capsys.readouterr().out
    assert "bits_per_byte ↓" in out and "char_perplexity ↓" in out
    assert max(len(line) for line in out.splitlines()) <= 120


@pytest.fixture(scope="module")
def golden() -> Any:
    return json.loads(GOLDEN.read_text(encoding="utf-8"))


def test_the_golden_texts_are_the_sample_texts(golden: Any) -> None:
    assert {run["max_length"] for run in golden["runs"]} == {37, 100, 8192}
    for run in golden["runs"]:
        path = SAMPLE_DATA / "plain_text" / run["language"] / "test.jsonl"
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        assert digest == run["sha256"], "run benchmarks/oracle_perplexity.py on the new texts"


@pytest.mark.model
# How a text is cut into windows depends on its tokens alone, and what is computed of a sum on the
# language: each is there once.
@pytest.mark.parametrize(("window", "language"), [(8192, "en"), (100, "ja"), (37, "en")])
def test_perplexities_equal_lm_evals(
    golden: Any, window: int, language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TENBIN_CACHE")
    run = tenbin.evaluate(
        "hf",
        f"plain_text_{language}",
        model_args={"pretrained": "smollm2-135m", "max_length": window},
        device="cpu",
        sample_data=True,
        no_cache=True,
    )
    logprobs = {(s["id"], s["document"]): s["logprobs"][0] for s in run.samples}
    theirs = [
        one for one in golden["runs"] if one["max_length"] == window and one["language"] == language
    ]
    assert len(theirs) == 2
    for one in theirs:
        id = f"plain_text_{one['language']}"
        # lm-eval's own float32 sums lie 2e-6 of the value off, always to one side, and a word's
        # perplexity multiplies that; in double precision there is nothing to forgive.
        exact = one["dtype"] == "float64"
        for metric, value in one["scores"].items():
            assert run.scores[id][metric] == pytest.approx(
                value, abs=1e-4, rel=0 if exact else 2e-5
            )
        for document, logprob in one["logprobs"].items():
            close = pytest.approx(logprob, rel=1e-6 if exact else 1e-5)
            assert logprobs[id, document] == close
