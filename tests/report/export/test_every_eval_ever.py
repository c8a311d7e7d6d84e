"""Documents of Every Eval Ever, validated by the published schema where it is at hand."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from tenbin.errors import ConfigError
from tenbin.report.export import ExportSettings, NamedRun, export_text
from tenbin.report.export.every_eval_ever import Evaluator
from tests.report.export.made_runs import ACC, HOSTILE, OTHER, data_file, detail, run
from tests.results.made_result import cell_config

SCHEMA = Path(__file__).parents[4] / "shared" / "schemas" / "eval.schema.json"
CREATED = datetime(2026, 1, 3, tzinfo=timezone.utc)


def document(made: NamedRun, **settings: Any) -> Any:
    evaluator = Evaluator("Our lab", "third_party")
    chosen = ExportSettings(evaluator=evaluator, created=CREATED, **settings)
    return json.loads(export_text([made], "every-eval-ever", chosen))


def full_run(name: str = "org/small") -> NamedRun:
    """A run with choices, sampled answers, a correlation, a perplexity and a group."""
    configs = {
        "jnli": cell_config(task="jnli", dataset="jglue/jnli", doc_to_text="{{premise}}"),
        "mgsm": cell_config(
            task="mgsm", output_type="generate", do_sample=True, temperature=0.7, top_p=0.9,
            top_k=0, max_gen_toks=512, dataset="org/mgsm",
        ),
        "wiki": cell_config(task="wiki", output_type="roll"),
    }  # fmt: skip
    details = {
        "jnli": {
            "acc": detail(0.4, 0.6),
            "mcc": detail(-0.5, 0.0, aggregation="mcc", stderr_method="bootstrap"),
        },
        "wiki": {
            "bits_per_byte": detail(
                0.9, 1.1, aggregation="bits_per_byte", weight=900, higher_is_better=False
            )
        },
        "unscored": {"acc": detail(None, None, n=0, failed=3)},
    }
    return run(
        name,
        {
            "jnli": {"acc": (0.5, 0.4, 0.6), "mcc": (-0.25, -0.5, 0.0)},
            "mgsm": OTHER,
            "wiki": {"bits_per_byte": (1.0, 0.9, 1.1)},
            "unscored": {"acc": (None, None, None)},
        },
        configs=configs,
        details=details,
        data={
            "jnli": {"validation": [data_file(version="1.3", verified=True)]},
            "mgsm": {"validation": [data_file(source="datasets")]},
            "wiki": {"validation": [data_file()]},
            "unscored": {},
        },
        groups={"japanese": (ACC, ["jnli", "mgsm"])},
        libraries={"transformers": "5.0"},
        config={"seed": 1234, "model": "hf"},
    )


@pytest.mark.parametrize("percent", [False, True])
@pytest.mark.parametrize("name", ["org/small", HOSTILE])
def test_it_is_valid(name: str, percent: bool) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    if not SCHEMA.is_file():
        pytest.skip(f"the schema of Every Eval Ever is not at {SCHEMA}")
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    validator = jsonschema.Draft7Validator(schema)
    written = document(full_run(name), percent=percent, all_metrics=True)
    assert [error.message for error in validator.iter_errors(written)] == []
    broken = {**written, "model_info": {"name": name}}
    assert not validator.is_valid(broken), "the schema checks something"


def test_the_head() -> None:
    written = document(full_run())
    del written["evaluation_results"], written["eval_library"]["additional_details"]["exported_by"]
    assert written == {
        "schema_version": "0.3.0",
        "evaluation_id": "tenbin/org/small/1767398400",
        "evaluation_timestamp": "2026-01-02",
        "retrieved_timestamp": "1767398400",
        "source_metadata": {
            "source_name": "tenbin",
            "source_type": "evaluation_run",
            "source_organization_name": "Our lab",
            "evaluator_relationship": "third_party",
            "additional_details": {
                "run_id": "0123456789abcdef",
                "not_scored": "unscored acc: nothing could be scored: all 3 documents failed",
            },
        },
        "eval_library": {"name": "tenbin", "version": "0.1.0", "additional_details": {}},
        "model_info": {
            "name": "org/small",
            "id": "org/small",
            "developer": "org",
            "inference_engine": {"name": "transformers", "version": "5.0"},
            "additional_details": {
                "deployment_type": "self_deployed",
                "model_availability": "unknown",
                "fingerprint": "made",
                "backend": "hf",
            },
        },
    }


def test_a_result() -> None:
    (found,) = [
        one for one in document(full_run(), percent=True)["evaluation_results"]
        if one["evaluation_name"] == "jnli"
    ]  # fmt: skip
    assert found == {
        "evaluation_result_id": "jnli/0-shot/acc",
        "evaluation_name": "jnli",
        "source_data": {
            "dataset_name": "JNLI",
            "additional_details": {
                "split": "validation", "sha256": "a" * 64, "revision": "v1.3.0",
            },
            "source_type": "url",
            "url": ["https://github.com/yahoojapan/JGLUE/tree/v1.3.0"],
        },
        "evaluation_timestamp": "2026-01-02",
        "metric_config": {
            "metric_id": "acc",
            "metric_name": "acc",
            "lower_is_better": False,
            "additional_details": {"aggregation": "mean"},
            "metric_unit": "percent",
            "score_type": "continuous",
            "min_score": 0,
            "max_score": 100,
        },
        "score_details": {
            "score": 50.0,
            "details": {"documents": "100", "clusters": "100", "failed": "0"},
            "uncertainty": {
                "num_samples": 100,
                "standard_error": {"value": 5.0, "method": "analytic"},
                "confidence_interval": {
                    "lower": 40.0, "upper": 60.0, "confidence_level": 0.95, "method": "wilson",
                },
            },
        },
        "generation_config": {
            "generation_args": {"prompt_template": "{{premise}}"},
            "additional_details": {
                "num_fewshot": "0", "template": "0.1", "task_version": "1.1", "language": "ja",
                "output_type": "choice", "seed": "1234",
            },
        },
    }  # fmt: skip


def test_other_kinds_of_results() -> None:
    found = {
        f"{one['evaluation_name']} {one['metric_config']['metric_id']}": one
        for one in document(full_run(), all_metrics=True)["evaluation_results"]
    }
    assert list(found) == [
        "japanese acc", "jnli acc", "jnli mcc", "mgsm acc", "wiki bits_per_byte",
    ]  # fmt: skip
    assert found["japanese acc"]["source_data"] == {
        "dataset_name": "average of 2 tasks: japanese",
        "source_type": "other",
        "additional_details": {"tasks": "jnli, mgsm", "weighting": "weighted by documents"},
    }
    mcc, bits = found["jnli mcc"]["metric_config"], found["wiki bits_per_byte"]["metric_config"]
    assert (mcc["min_score"], mcc["max_score"], "metric_unit" in mcc) == (-1, 1, False)
    assert (bits["min_score"], bits["max_score"], bits["lower_is_better"]) == (0, "Infinity", True)
    assert found["mgsm acc"]["source_data"]["hf_repo"] == "org/mgsm"
    assert found["mgsm acc"]["generation_config"]["generation_args"] == {
        "temperature": 0.7, "reasoning": False, "top_p": 0.9, "top_k": 0, "max_tokens": 512,
    }  # fmt: skip


def test_folders_of_the_machine_stay_there() -> None:
    model = {"model": "/home/me/small", "adapter": "/home/me/lora"}
    made = run("small", {"jnli": ACC}, model=model, skipped={"xnli": "not in /home/me"})
    written = document(made)
    assert "/home/me" not in json.dumps(written)
    assert written["model_info"]["id"] == "small"
    assert written["model_info"]["additional_details"]["adapter"] == "lora"
    assert written["source_metadata"]["additional_details"]["without_data"] == "xnli"


def test_several_runs_are_several_documents() -> None:
    with pytest.raises(ConfigError, match="one document for each run"):
        export_text([full_run(), full_run("b")], "every-eval-ever", ExportSettings())
