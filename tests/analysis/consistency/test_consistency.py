"""From stored runs to the document: alignment, estimates and modes, on sample and real rows."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tenbin
from tenbin.backends.scripted import ScriptedBackend
from tenbin.errors import ConfigError, ResultError

pytestmark = pytest.mark.usefixtures("cache")

Rows = list[dict[str, Any]]


def hashed(prompt: str) -> str:
    """A written answer out of the prompt alone; one in eight cannot be read."""
    number = hashlib.sha256(prompt.encode()).digest()[0]
    return f"{{'answer': '{'ABCD'[number % 4]}'}}" if number % 8 else "I do not know"


def evaluate(tasks: str | list[str], **options: Any) -> tenbin.Run:
    backend = options.pop("backend", None) or ScriptedBackend(texts=hashed)
    return tenbin.evaluate(backend, tasks, no_cache=True, **options)


def scripted(answers: Callable[[str, str], int]) -> ScriptedBackend:
    """A model that chooses by language and item: (language, item) → position."""
    asked = evaluate("mlogiqa_mcq", sample_data=True).samples
    chosen = {s["prompt"]: s["continuations"][answers(s["language"], s["item"])] for s in asked}
    return ScriptedBackend(score=lambda prompt, text: -1.0 * (text != chosen[prompt]))


def test_hand_worked_answers_in_ten_languages() -> None:
    """Right everywhere but: Japanese always says A, Thai errs on item s00, where gold is C."""
    gold = {s["item"]: s["gold"] for s in evaluate("mlogiqa_mcq_en", sample_data=True).samples}

    def answers(language: str, item: str) -> int:
        if language == "ja":
            return 0
        return 1 if (language, item) == ("th", "s00") else gold[item]

    run = evaluate("mlogiqa_mcq", backend=scripted(answers), sample_data=True)
    document = tenbin.consistency(run)
    found = document["sets"]["mlogiqa_mcq"]
    assert document["reference"] == "en" and document["families"]["mlogiqa"]["alignment"] == "id"
    assert found["items"] == 12 and found["items_not_asked_everywhere"] == 0
    # Gold has 3 of each letter, so always saying A is right 3 times.
    assert found["same_everywhere"]["value"] == pytest.approx(3 / 12)
    assert found["right_everywhere"]["value"] == pytest.approx(3 / 12)
    assert found["right_everywhere"]["by_chance"] == pytest.approx(3 / 12 * 11 / 12)
    assert found["right_nowhere"]["value"] == 0
    gap = found["gaps"]["ja"]
    assert (gap["difference"], gap["wins"], gap["losses"]) == (-0.75, 0, 9)
    assert gap["p_value"] == pytest.approx(2 * 0.5**9)
    assert gap["p_holm"] == pytest.approx(9 * 2 * 0.5**9)
    assert found["gaps"]["th"]["losses"] == 1 and "en" not in found["gaps"]
    pairs = {tuple(p["languages"]): p for p in found["pairs"]}
    assert len(pairs) == 45
    assert pairs["en", "es"]["agreement"]["value"] == 1
    assert pairs["en", "es"]["kappa"]["value"] == 1
    assert pairs["en", "ja"]["agreement"]["value"] == 0.25
    assert pairs["en", "ja"]["kappa"]["value"] == 0, "a habit agrees by chance"
    assert pairs["en", "th"]["kappa"]["value"] == pytest.approx((11 / 12 - 0.25) / 0.75)
    japanese = found["positions"]["ja"]
    assert japanese["chosen"] == [12, 0, 0, 0] and japanese["distance"] == pytest.approx(0.75)
    assert japanese["p_holm"] < 0.05 < found["positions"]["en"]["p_holm"]
    first = found["flips"][0]
    assert (first["item"], first["gold"], first["distinct"], first["right"]) == ("s00", "C", 3, 8)
    assert first["answers"]["th"] == "B" and first["answers"]["ja"] == "A"
    assert len(found["flips"]) == 9
    json.dumps(document, allow_nan=False)


def test_failures_and_unreadable_answers_are_counted_apart() -> None:
    plain = ScriptedBackend(texts=hashed)
    asked = evaluate("mlogiqa_gen", sample_data=True, backend=plain)
    lost = next(s for s in asked.samples if s["language"] == "ko" and s["item"] == "s03")
    key = next(r.key for r in plain.asked if getattr(r, "prompt", "") == lost["prompt"])
    run = evaluate(
        "mlogiqa_gen", sample_data=True, backend=ScriptedBackend(texts=hashed, failures={key: "x"})
    )
    found = tenbin.consistency(run)["sets"]["mlogiqa_gen"]
    unreadable = {
        language: sum(
            hashed(s["prompt"]) == "I do not know" and s["failure_kind"] is None
            for s in run.samples
            if s["language"] == language
        )
        for language in found["languages"]
    }
    assert sum(unreadable.values()) > 5, "the drill has such answers"
    for language, row in found["answers"].items():
        assert row["unreadable"] == unreadable[language]
        assert row["failed"] == (language == "ko")
        assert row["accuracy"]["n"] == 12 - row["failed"], "unreadable is wrong, failed is nothing"
        assert row["read"] + row["unreadable"] + row["failed"] == 12
    for pair in found["pairs"]:
        assert pair["agreement"]["n"] < 12 or not any(unreadable[x] for x in pair["languages"])
    assert found["right_everywhere"]["n"] == 11
    assert sum(found["positions"]["ko"]["chosen"]) == found["answers"]["ko"]["read"]
    flip = next(f for f in found["flips"] if f["item"] == "s03")
    assert flip["failed"] == ["ko"] and flip["answers"]["ko"] is None


def test_modes_on_the_same_item() -> None:
    run = evaluate("mlogiqa_mcq,mlogiqa_gen", sample_data=True)
    (modes,) = tenbin.consistency(run)["modes"]
    assert (modes["choice"], modes["generation"]) == ("mlogiqa_mcq", "mlogiqa_gen")
    for language, row in modes["languages"].items():
        scored, written = (
            {s["item"]: s for s in run.samples if s["id"] == f"mlogiqa_{kind}_{language}"}
            for kind in ("mcq", "gen")
        )
        same = both = read = 0
        for item in scored:
            chosen = "ABCD"[scored[item]["outcomes"][0]["predicted"]]
            answer = written[item]["outcomes"][1]["answer"]
            read += answer is not None
            same += answer == chosen
            both += answer == chosen == "ABCD"[scored[item]["gold"]]
        assert row["agreement"]["n"] == read == 12 - row["unreadable"]
        assert row["agreement"]["value"] == pytest.approx(same / read)
        assert row["right_both"] == both
        total = sum(
            row[f"right_{k}"] for k in ("both", "choice_only", "generation_only", "neither")
        )
        assert total == 12
        gap = row["right_generation_only"] - row["right_choice_only"]
        assert row["difference"]["difference"] == pytest.approx(gap / 12)
    pooled = modes["agreement"]
    assert pooled["n"] == sum(row["agreement"]["n"] for row in modes["languages"].values())
    assert pooled["clusters"] == 12, "an item is one draw in however many languages"


def test_two_items_are_enough_for_every_estimate_or_none() -> None:
    for limit in (1, 2):
        run = evaluate("mlogiqa_mcq,mlogiqa_gen", sample_data=True, limit=limit)
        document = tenbin.consistency(run)
        found = document["sets"]["mlogiqa_gen"]
        assert found["items"] == limit and found["reach"]["accuracy_half_width"] is None
        json.dumps(document, allow_nan=False)


def test_modes_of_one_language_alone() -> None:
    run = evaluate("mlogiqa_mcq_ja,mlogiqa_gen_ja", sample_data=True, limit=4)
    document = tenbin.consistency(run)
    assert document["sets"] == {} and list(document["modes"][0]["languages"]) == ["ja"]
    with pytest.raises(ResultError, match="nothing to compare: mlogiqa_mcq: ja"):
        tenbin.consistency(run, tasks=["mlogiqa_mcq"])


def test_languages_may_come_from_several_runs_of_one_model() -> None:
    both = evaluate("mlogiqa_mcq_en,mlogiqa_mcq_ja", sample_data=True)
    parts = [evaluate(f"mlogiqa_mcq_{language}", sample_data=True) for language in ("en", "ja")]
    assert tenbin.consistency(*parts)["sets"] == tenbin.consistency(both)["sets"]


def test_the_reference_must_be_there() -> None:
    run = evaluate("mlogiqa_mcq_ja,mlogiqa_mcq_ko", sample_data=True, limit=3)
    document = tenbin.consistency(run)
    assert document["reference"] is None
    assert document["sets"]["mlogiqa_mcq"]["gaps"] is None, "no English: no gap to English"
    assert list(tenbin.consistency(run, reference="ko")["sets"]["mlogiqa_mcq"]["gaps"]) == ["ja"]
    with pytest.raises(ConfigError, match="--reference en: no such language"):
        tenbin.consistency(run, reference="en")


def test_a_language_read_from_two_files_is_refused(tmp_path: Path) -> None:
    rows = [
        {"context": "c", "question": "q", "options": list("wxyz"), "answer": at} for at in range(4)
    ]
    for folder, more in (("one", []), ("two", rows[:1])):
        write(tmp_path / folder / "mlogiqa/en/test.jsonl", [*rows, *more])
    scored = evaluate("mlogiqa_mcq_en", data_dir=str(tmp_path / "one"))
    written = evaluate("mlogiqa_gen_en", data_dir=str(tmp_path / "two"))
    with pytest.raises(ResultError, match="en was read from different files"):
        tenbin.consistency(scored, written)


def test_two_languages_of_one_file_are_refused(tmp_path: Path) -> None:
    rows = [
        {"context": "c", "question": "q", "options": list("wxyz"), "answer": at} for at in range(4)
    ]
    for language in ("en", "ja"):
        write(tmp_path / "mlogiqa" / language / "test.jsonl", rows)
    run = evaluate("mlogiqa_mcq_en,mlogiqa_mcq_ja", data_dir=str(tmp_path))
    with pytest.raises(ResultError, match="mlogiqa_mcq_ja were read from the same file"):
        tenbin.consistency(run)


def write(path: Path, rows: Rows) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def read(path: Path) -> Rows:
    if not path.is_file():
        pytest.skip(f"no rows at {path}")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


LANGUAGES = ("en", "ko", "zh")
TASKS = [f"mlogiqa_{kind}_{language}" for kind in ("mcq", "gen") for language in LANGUAGES]


def copy_rows(folder: Path, rows: dict[str, Rows]) -> tenbin.Run:
    """A run on rows of one's own."""
    for language, mine in rows.items():
        write(folder / "mlogiqa" / language / "test.jsonl", mine)
    return evaluate(TASKS, data_dir=str(folder))


def findings(document: dict[str, Any]) -> dict[str, Any]:
    """All but which runs it was and how rows were aligned; families keep all other facts."""
    families = {
        name: {key: value for key, value in facts.items() if key != "alignment"}
        for name, facts in document["families"].items()
    }
    return {**document, "runs": None, "families": families}


@pytest.mark.real_data
def test_korean_rows_in_another_order_need_the_file_and_then_give_the_same(
    real_data: Path, tmp_path: Path
) -> None:
    published = evaluate(TASKS, data_dir=str(real_data))
    with pytest.raises(ResultError) as caught:
        tenbin.consistency(published)
    text = str(caught.value)
    assert "gold answers differ in 45 of 80 rows" in text and "row-19   B    A    B" in text
    file = real_data / "mlogiqa" / "alignment.json"
    aligned = tenbin.consistency(published, alignment=file)
    assert aligned["families"]["mlogiqa"]["alignment"] == "file"

    rows = {name: read(real_data / "mlogiqa" / name / "test.jsonl.gz") for name in LANGUAGES}
    order = json.loads(file.read_text(encoding="utf-8"))["ko"]
    rows["ko"] = [row for _, row in sorted(zip(order, rows["ko"], strict=True), key=lambda p: p[0])]
    ordered = tenbin.consistency(copy_rows(tmp_path, rows))
    assert ordered["families"]["mlogiqa"]["alignment"] == "row"
    assert ordered["sets"]["mlogiqa_mcq"]["items"] == 80
    assert findings(aligned) == findings(ordered)
    assert len(aligned["modes"][0]["languages"]) == 3


@pytest.mark.real_data
def test_permuted_rows_are_refused_without_ids_and_found_with_them(
    real_data: Path, tmp_path: Path
) -> None:
    rows = {name: read(real_data / "mlogiqa" / name / "test.jsonl.gz") for name in ("en", "zh")}
    # Any third column that is known to be in English order.
    rows["ko"] = [{**row, "question": f"{row['question']} "} for row in rows["zh"]]
    plain = tenbin.consistency(copy_rows(tmp_path / "plain", rows))
    moved = {**rows, "zh": rows["zh"][3:] + rows["zh"][:3]}
    with pytest.raises(ResultError, match="row numbers do not name the same items"):
        tenbin.consistency(copy_rows(tmp_path / "moved", moved))
    for mine in rows.values():
        mine[:] = [{"id": f"q{at:02}", **row} for at, row in enumerate(mine)]
    named = {**rows, "zh": rows["zh"][3:] + rows["zh"][:3]}
    found = tenbin.consistency(copy_rows(tmp_path / "named", named))
    assert found["families"]["mlogiqa"]["alignment"] == "id"
    for key in ("pairs", "alpha", "same_everywhere", "gaps", "positions", "answers"):
        assert found["sets"]["mlogiqa_mcq"][key] == plain["sets"]["mlogiqa_mcq"][key], key


@pytest.mark.real_data
def test_a_limit_takes_rows_and_the_file_says_which_items_they_are(real_data: Path) -> None:
    run = evaluate(TASKS, data_dir=str(real_data), limit=20)
    with pytest.raises(ResultError, match="gold answers differ in 1 of 20 rows"):
        tenbin.consistency(run)
    found = tenbin.consistency(run, alignment=real_data / "mlogiqa" / "alignment.json")
    # Row 19 of the Korean file is item 20: 19 items are common, two were asked in some only.
    assert found["sets"]["mlogiqa_mcq"]["items"] == 19
    assert found["sets"]["mlogiqa_mcq"]["items_not_asked_everywhere"] == 2


TASK = """
task: {name}_{language}
language: {language}
family: {name}
parallel: {{key: {key}}}
dataset_path: json
dataset_kwargs: {{data_files: {{test: {file}}}}}
test_split: test
output_type: multiple_choice
doc_to_text: "{text}"
doc_to_choice: {choices}
doc_to_target: {target}
metric_list: [{{metric: acc}}]
"""


def write_task(folder: Path, language: str, rows: Rows, **parts: str) -> str:
    """A task file of one's own; gives its path."""
    data = folder / f"{language}.jsonl"
    write(data, rows)
    path = folder / f"{language}.yaml"
    path.write_text(TASK.format(language=language, file=data, **parts), encoding="utf-8")
    return str(path)


@pytest.mark.real_data
def test_bmlama_in_ten_languages_by_row(real_data: Path, tmp_path: Path) -> None:
    """Rows without a key, and two to ten choices an item."""
    files = []
    for language in ("ar", "en", "es", "fr", "ja", "ko", "pt", "th", "vi", "zh"):
        rows = [
            {"prompt": r["Prompt"], "choices": r["Candidate Ans"].split(", "), "answer": r["Ans"]}
            for r in read(real_data / "bmlama53" / language / "test.jsonl.gz")
        ]
        kept = [{**r, "label": r["choices"].index(r["answer"])} for r in rows]
        kept = [row for row in kept if len(row["choices"]) > 1][:300]
        files.append(
            write_task(
                tmp_path, language, kept, name="bmlama", key="id", target="label",
                text="{{ prompt }}", choices="choices",
            )
        )  # fmt: skip
    found = tenbin.consistency(evaluate(files))
    facts = found["families"]["bmlama"]
    assert facts["alignment"] == "row" and facts["items"] == 300
    # The right choice mostly stands last there, so that swapped rows would mostly go unseen.
    assert facts["chance_of_agreement"] < 1e-6 and facts["unseen_swaps"] > 0.9
    bmlama = found["sets"]["bmlama"]
    assert len(bmlama["pairs"]) == 45 and len(bmlama["gaps"]) == 9
    assert len(bmlama["positions"]["ja"]["chosen"]) == 10
    assert sum(bmlama["positions"]["ja"]["expected"]) == pytest.approx(300)
    assert bmlama["agreement"]["value"] < 0.5, "the script answers each wording as it likes"


@pytest.mark.real_data
def test_xcopa_by_its_own_key_whatever_the_order(real_data: Path, tmp_path: Path) -> None:
    """No English: gaps are measured from a language that is named."""
    parts = {
        "name": "copa_copy", "key": "idx", "target": "label", "text": "{{ premise }}",
        "choices": '["{{ choice1 }}", "{{ choice2 }}"]',
    }  # fmt: skip
    documents = []
    for folder, step in (("plain", 1), ("turned", -1)):
        (tmp_path / folder).mkdir()
        files = [
            write_task(tmp_path / folder, name,
                       read(real_data / "xcopa" / name / "validation.jsonl.gz")[::step], **parts)
            for name in ("et", "it", "zh")
        ]  # fmt: skip
        turned = tmp_path / folder / "it.jsonl"
        if step == -1:
            lines = turned.read_text(encoding="utf-8").splitlines()
            turned.write_text("\n".join(sorted(lines)) + "\n", encoding="utf-8")
        documents.append(tenbin.consistency(evaluate(files), reference="zh"))
    plain, turned_document = documents
    assert plain["families"]["copa_copy"]["alignment"] == "id"
    assert plain["sets"]["copa_copy"]["items"] == 100
    assert list(plain["sets"]["copa_copy"]["gaps"]) == ["et", "it"]
    assert findings(plain) == findings(turned_document)
