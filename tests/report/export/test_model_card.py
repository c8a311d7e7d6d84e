"""`model-index` as the hub's own library reads it."""

from __future__ import annotations

import pytest
import yaml

from tenbin.errors import ConfigError
from tenbin.report.export import ExportSettings, NamedRun, export_text
from tests.report.export.made_runs import ACC, HOSTILE, OTHER, data_file, detail, run
from tests.results.made_result import cell_config

CARD = """---
model-index:
- name: org/small
  results:
  - task:
      type: text-generation
      name: jnli-1.3-0.2, 3-shot
    dataset:
      type: jglue_jnli
      name: JNLI (https://github.com/yahoojapan/JGLUE/tree/v1.3.0)
      split: validation
    metrics:
    - type: accuracy
      value: 50.0
      name: acc
      args:
        unit: '%'
        interval_95:
        - 40.0
        - 60.0
        interval_method: wilson
        stderr: 5.0
        n: 100
        failed: 2
        higher_is_better: true
        num_fewshot: 3
        remarks: 2 documents failed
---

## Evaluation

| task | metric | shots | n | org/small |
"""


def jnli_run() -> NamedRun:
    config = cell_config(task="jnli", dataset="jglue/jnli", num_fewshot=3)
    id = "jnli-1.3-0.2"
    return run(
        "org/small", {id: ACC}, configs={id: config},
        details={id: {"acc": detail(0.4, 0.6, failed=2)}},
        data={id: {"validation": [data_file(version="1.3", verified=True)]}},
        groups={"japanese": (OTHER, [id])},
    )  # fmt: skip


def card(*runs: NamedRun) -> str:
    return export_text(runs, "model-card", ExportSettings(percent=True))


def test_a_card() -> None:
    assert card(jnli_run()).startswith(CARD)


def test_the_hub_reads_it() -> None:
    hub = pytest.importorskip("huggingface_hub")
    cards = pytest.importorskip("huggingface_hub.repocard_data")
    front = yaml.safe_load(card(jnli_run()).split("---\n")[1])
    name, (result,) = cards.model_index_to_eval_results(front["model-index"])
    assert (name, result.metric_type, result.metric_value) == ("org/small", "accuracy", 50.0)
    assert hub.ModelCard(card(jnli_run())).data.eval_results[0].dataset_split == "validation"


def test_data_of_the_hub_is_named_by_its_repository() -> None:
    config = cell_config(task="arc", dataset="allenai/ai2_arc", dataset_config="ARC-Easy")
    data = {"arc": {"validation": [data_file(source="datasets")]}}
    front = yaml.safe_load(
        card(run("small", {"arc": ACC}, configs={"arc": config}, data=data)).split("---\n")[1]
    )
    assert front["model-index"][0]["results"][0]["dataset"] == {
        "type": "allenai/ai2_arc",
        "name": "allenai/ai2_arc ARC-Easy",
        "config": "ARC-Easy",
        "split": "validation",
    }


def test_data_that_is_not_known_to_be_the_published_one_is_not_named_as_it() -> None:
    config = {"jnli": cell_config(task="jnli", dataset="jglue/jnli")}
    names = []
    for source in ("data_dir", "sample_data"):
        data = {"jnli": {"validation": [data_file(source=source, version="1.3")]}}
        made = run("small", {"jnli": ACC}, configs=config, data=data)
        front = yaml.safe_load(card(made).split("---\n")[1])
        names.append(front["model-index"][0]["results"][0]["dataset"]["name"])
    assert names == [
        "JNLI (a copy of one's own)",
        "jglue/jnli (sample rows that come with tenbin, not the published data)",
    ]


def test_several_runs_of_one_model_are_one_card() -> None:
    first, second = run("small", {"jnli": ACC}), run("small", {"xnli": OTHER})
    named = [NamedRun("small (a)", first.result), NamedRun("small (b)", second.result)]
    (entry,) = yaml.safe_load(card(*named).split("---\n")[1])["model-index"]
    assert entry["name"] == "small"
    assert [one["task"]["name"] for one in entry["results"]] == ["jnli, 0-shot", "xnli, 0-shot"]


def test_several_models_are_refused() -> None:
    with pytest.raises(ConfigError, match="a model card is about one model"):
        card(run("small", {"jnli": ACC}), run("large", {"jnli": ACC}))


def part(task: str, engine: str, fingerprint: str, **config: str) -> NamedRun:
    changes = {"engine": {"name": engine}, "config": config, "fingerprint": fingerprint}
    return NamedRun(f"{task} run", run("small", {task: ACC}, **changes).result)


def test_checkpoints_of_one_name_are_refused() -> None:
    # `hf-causal` is another name for `hf`, and no reason not to compare.
    first = part("jnli", "hf", "1", model="hf", model_args="pretrained=a/small")
    other = part("xnli", "hf", "2", model="hf-causal", model_args="pretrained=b/small")
    with pytest.raises(
        ConfigError,
        match=r"jnli run and xnli run are of.*pretrained=a/small → pretrained=b/small",
    ):
        card(first, other)


def test_one_model_through_two_engines_is_one_card() -> None:
    named = [part("jnli", "hf", "1", model="hf"), part("xnli", "vllm", "2", model="vllm")]
    (entry,) = yaml.safe_load(card(*named).split("---\n")[1])["model-index"]
    assert len(entry["results"]) == 2


def test_hostile_names_read_back() -> None:
    made = run("small", {f"{HOSTILE}\n---\nx: y": ACC})
    (entry,) = yaml.safe_load(card(made).split("\n---\n")[0])["model-index"]
    assert entry["results"][0]["task"]["name"].startswith(HOSTILE)
