"""The documented queries, run on a stored run: each gives what result.json says."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

import tenbin
from tenbin.backends.scripted import ScriptedBackend
from tenbin.metrics.registry import METRICS
from tenbin.records import Failure, Picked, Request, Response, Score

ROOT = Path(__file__).parents[1]
TEXTS = """
task: texts
dataset_path: json
dataset_kwargs:
  data_files: {test: texts.jsonl}
output_type: loglikelihood_rolling
test_split: test
doc_to_target: "{{text}}"
metric_list:
  - {metric: word_perplexity}
  - {metric: byte_perplexity}
  - {metric: bits_per_byte}
"""


class Naming(ScriptedBackend):
    """Names choices and sometimes none; some requests fail."""

    def __init__(self) -> None:
        super().__init__()
        self.capabilities = replace(self.capabilities, likelihoods=False)

    def answer(self, request: Request) -> Response:
        number = int(request.key[:6], 16)
        if number % 11 == 0:
            return Failure("made", "to fail")
        if isinstance(request, Score):
            labels = tuple("ABCDEFGH"[: len(request.continuations)])
            text = "nothing" if number % 5 == 0 else labels[number % len(labels)]
            return Picked(None, "generated", text, labels=labels)
        return super().answer(request)


class Failing(ScriptedBackend):
    """Weighs and writes; some requests fail."""

    def answer(self, request: Request) -> Response:
        if int(request.key[:6], 16) % 9 == 0:
            return Failure("made", "to fail")
        return super().answer(request)


def queries(page: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    found = re.findall(r"```sql\n(.*?)```", text, flags=re.DOTALL)
    for block in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL):
        found += re.findall(r'"""(.*?)"""', block, flags=re.DOTALL) if "duckdb" in block else []
    return [one for one in found if "samples.parquet" in one]


def answers(page: str, path: Path) -> dict[tuple[str, str], float]:
    """What the documented queries give: task id and metric → value."""
    found: dict[tuple[str, str], float] = {}
    for query in queries(page):
        result = duckdb.sql(query.replace("result.run/samples.parquet", str(path)))
        names = result.columns
        if "document" in names:
            continue  # lists documents
        for row in result.fetchall():
            metric = row[1] if names[1] == "metric" else names[1]
            assert (row[0], metric) not in found, "no metric is averaged in two ways"
            found[row[0], metric] = row[-1]
    return found


def runs(folder: Path) -> list[tenbin.Run]:
    (folder / "texts.yaml").write_text(TEXTS, encoding="utf-8")
    lines = ['{"text": "a few words"}', '{"text": "and some more of them"}']
    (folder / "texts.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    tasks = ["jnli-1.3-0.2", "jcommonsenseqa-1.1-0.2", "marc_ja-1.1-0.2", "jsquad-1.1-0.2"]
    given = {"sample_data": True, "no_cache": True}
    return [
        tenbin.evaluate(
            Failing(),
            [*tasks, "mlogiqa_gen_ja", "m_ifeval_fr", "jnli_gen", "xnli_gen_en-1.0-native"],
            output_path=str(folder / "w.json"),
            **given,
        ),
        tenbin.evaluate(Naming(), tasks[:3], output_path=str(folder / "n.json"), **given),
        tenbin.evaluate(
            ScriptedBackend(),
            str(folder / "texts.yaml"),
            output_path=str(folder / "t.json"),
            data_dir=str(folder),
        ),
    ]


def test_every_kind_of_metric_comes_out_of_the_samples(tmp_path: Path, cache: Path) -> None:
    seen = set()
    for run in runs(tmp_path):
        assert run.path is not None
        found = answers("docs/results.md", run.path / "samples.parquet")
        scores = {(row["id"], row["metric"]): row["value"] for row in run.table()}
        assert found == {key: pytest.approx(value) for key, value in scores.items()}
        details = run.document["details"]
        seen |= {details[id][metric]["aggregation"] for id, metric in scores}
        assert any(sample["failure_kind"] for sample in run.samples) or "texts" in str(run.scores)
    assert seen == {metric.aggregation for metric in METRICS.values()}
