"""A whole diagnosis: worked out by hand with one token a character, and beside real runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tenbin
from tenbin.errors import ConfigError
from tenbin.pipeline.doctor import examination_config, examine
from tenbin.pipeline.progress import Listener
from tests.analysis.doctor.written import letter_tokenizer
from tests.backends.tiny import make_model, make_tokenizer

pytestmark = pytest.mark.usefixtures("cache")

TASK = """
task: weighing
language: en
dataset_path: json
dataset_kwargs: {data_files: {test: ROWS, train: EXAMPLES}}
test_split: test
fewshot_split: train
output_type: multiple_choice
doc_to_text: "{{ question }}:"
doc_to_choice: ["no", "yes"]
doc_to_target: label
target_delimiter: ""
templates:
  plain: {}
  marked: {doc_to_text: "<NL>{{ question }}<NL>"}
"""


@pytest.fixture
def task(tmp_path: Path) -> str:
    """Ten questions of 1 to 10 letters."""
    rows = tmp_path / "rows.jsonl"
    rows.write_text(
        "".join(json.dumps({"question": "x" * n, "label": n % 2}) + "\n" for n in range(1, 11))
    )
    examples = tmp_path / "examples.jsonl"
    examples.write_text('{"question": "q", "label": 1}\n')
    path = tmp_path / "weighing.yaml"
    path.write_text(TASK.replace("ROWS", str(rows)).replace("EXAMPLES", str(examples)))
    return str(path)


def diagnose(**options: Any) -> dict[str, Any]:
    found = tenbin.doctor(**{"model": "scripted", **options})
    assert json.loads(json.dumps(found)) is not None
    return found


def test_a_cell_worked_out_by_hand(task: str) -> None:
    found = diagnose(tasks=[task], limit="all")
    assert list(found["cells"]) == ["weighing-1.0-plain", "weighing-1.0-marked"]
    cell = found["cells"]["weighing-1.0-plain"]
    measures = cell["measures"]
    assert (cell["documents"], cell["of"], cell["kind"]) == (10, 10, "choice")
    # BOS, n letters and a colon; then two of the three letters of "yes".
    assert measures["overflow"]["longest"] == 1 + 10 + 1 + 2
    assert measures["overflow"]["median"] == round(1 + 5.5 + 1 + 2)
    assert measures["beginning"]["leading"] == {"1": 10}
    assert measures["labels"]["fixed"] == {"no": 2, "yes": 3}
    assert measures["spelling"]["characters"] == 55 + 10
    # Two rows a document, without the last letter of each answer.
    assert measures["cost"]["tokens"] == sum(2 * (1 + n + 1) + 1 + 2 for n in range(1, 11))
    assert cell["severity"] == "ok" and cell["fit"]["verdict"] == "likely"


def test_distinct_tokens_are_shared_over_templates(task: str) -> None:
    found = diagnose(tasks=[task], limit="all")
    plain, marked = (cell["measures"]["cost"] for cell in found["cells"].values())
    # BOS once, ten letters in a row, ten colons, and n·y·e behind each of them.
    assert plain["distinct"] == 1 + 10 + 10 * (1 + 1 + 2)
    # BOS, <NL>, ten letters in a row, and ten times <NL> and n·y·e.
    assert marked["distinct"] == 1 + 4 + 10 + 10 * (4 + 1 + 2)
    assert found["cost"]["distinct"] == plain["distinct"] + marked["distinct"]
    # All that the two have in common is BOS.
    assert found["cost"]["together"] == found["cost"]["distinct"] - 1


def test_markers_of_a_template_are_found(task: str) -> None:
    cell = diagnose(tasks=[task])["cells"]["weighing-1.0-marked"]
    (finding,) = cell["findings"]
    assert (finding["code"], finding["severity"]) == ("unknown_markers", "warning")
    assert cell["severity"] == "warning" and cell["fit"]["verdict"] == "unlikely"


def test_the_sample_is_spread_and_recorded(task: str) -> None:
    found = diagnose(tasks=[task], limit=4, templates="plain")
    cell = found["cells"]["weighing-1.0-plain"]
    assert (cell["documents"], cell["of"]) == (4, 10)
    # Rows 0, 2, 5 and 7: 1 + 3 + 6 + 8 letters and four colons.
    assert cell["measures"]["spelling"]["characters"] == 18 + 4
    assert found["settings"]["limit"] == [4.0]
    assert found["settings"]["sample"] == "spread evenly"
    # Costs are for all documents.
    assert found["cost"]["tokens"] == round(cell["measures"]["cost"]["tokens"] * 10 / 4)


def test_a_hundred_documents_unless_told() -> None:
    assert examination_config({"tasks": "jnli"}).limit == (100.0,)
    assert examination_config({"tasks": "jnli", "limit": "7"}).limit == (7.0,)
    assert examination_config({"tasks": "jnli", "limit": "all"}).limit == ()


def test_running_draws_take_the_first_documents() -> None:
    found = diagnose(
        tasks="jnli", templates="0.2", sample_data=True, profile="jp-stable", limit=3, num_fewshot=2
    )
    assert found["settings"]["sample"] == "first"
    run = tenbin.evaluate(
        model="scripted", tasks="jnli-1.3-0.2", sample_data=True, profile="jp-stable", limit=3,
        num_fewshot=2, no_cache=True,
    )  # fmt: skip
    characters = sum(len(sample["prompt"]) for sample in run.samples)
    assert found["cells"]["jnli-1.3-0.2"]["measures"]["spelling"]["characters"] == characters


@pytest.mark.parametrize(
    ("tasks", "templates", "expected"),
    [
        ("jnli", None, ["0.2", "0.3", "0.4", "0.5", "0.6"]),
        ("jnli", "all", ["0.2", "0.3", "0.4", "0.5", "0.6"]),
        ("jnli", "0.3,0.6", ["0.3", "0.6"]),
        ("jnli-1.3-0.4", None, ["0.4"]),
        ("jnli-1.3-*", None, ["0.2", "0.3", "0.4", "0.5", "0.6"]),
        ("jnli-1.3-0.4,jnli-1.1", None, ["0.4", "0.2", "0.3", "0.4", "0.5", "0.6"]),
        ("jnli-1.1", "0.2", ["0.2"]),
        ("mlogiqa_mcq_ja", "native*", ["native", "native+letter", "native+text"]),
    ],
)
def test_which_templates(tasks: str, templates: str | None, expected: list[str]) -> None:
    found = diagnose(tasks=tasks, templates=templates, sample_data=True, limit=1)
    assert [cell["template"] for cell in found["cells"].values()] == expected


def test_templates_that_are_not_there() -> None:
    with pytest.raises(ConfigError, match=r"jnli 1\.3 has no template '0\.9'") as raised:
        diagnose(tasks="jnli", templates="0.9", sample_data=True)
    assert "0.2, 0.3" in raised.value.hint
    with pytest.raises(ConfigError, match="give one of them"):
        diagnose(tasks="jnli", template="0.2", templates="0.3", sample_data=True)


def test_one_template_of_a_run_file() -> None:
    found = diagnose(tasks="jnli", template="0.3", sample_data=True, limit=1)
    assert list(found["cells"]) == ["jnli-1.3-0.3"]
    # A template that a run would choose by itself: all that it chooses among.
    found = diagnose(tasks="jnli", template="auto", select_on="crossfit", sample_data=True, limit=1)
    assert len(found["cells"]) == 5


def test_cells_of_a_sweep_over_shots() -> None:
    found = diagnose(tasks="jnli-1.3-0.2", num_fewshot_sweep="0,2", sample_data=True, limit=2)
    assert list(found["cells"]) == ["jnli-1.3-0.2@0shot", "jnli-1.3-0.2@2shot"]


def test_a_cell_that_can_not_be_asked_does_not_stop_the_others() -> None:
    found = diagnose(tasks="jnli", sample_data=True, limit=2, apply_chat_template=True)
    refused = found["cells"]["jnli-1.3-0.6"]
    assert refused["severity"] == "problem" and refused["measures"] is None
    assert "writes a chat format itself" in refused["findings"][0]["message"]
    assert found["cells"]["jnli-1.3-0.2"]["measures"] is not None
    assert found["severity"] == "problem"


def test_drawn_answers_are_counted() -> None:
    options: dict[str, Any] = {"tasks": "mlogiqa_gen_ja-1.0-default", "sample_data": True}
    once = diagnose(**options)["cost"]["written"]
    assert once > 0
    drawn = diagnose(**options, repeats=3, gen_kwargs="do_sample=true,temperature=0.8")
    assert drawn["cost"]["written"] == 3 * once


def test_whole_texts() -> None:
    found = diagnose(tasks="plain_text_ja", sample_data=True, model_args={"max_length": 20})
    (cell,) = found["cells"].values()
    assert cell["kind"] == "roll" and cell["findings"] == []
    assert cell["fit"]["verdict"] == "no sign" and cell["measures"]["labels"] is None
    # One token a character, BOS in front, and the last one is predicted only.
    assert cell["measures"]["cost"]["tokens"] == cell["measures"]["spelling"]["characters"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model with a window of 64 tokens, whose tokenizer knows <NL>."""
    place = tmp_path_factory.mktemp("model")
    tokenizer = make_tokenizer(add_bos=True)
    make_model("llama", len(tokenizer)).save_pretrained(place)
    tokenizer.save_pretrained(place)
    return place


@pytest.mark.parametrize(("profile", "window"), [(None, 420), (None, 200), ("jp-stable", 420)])
def test_what_it_foresees_is_what_a_run_meets(
    folder: Path, window: int, profile: str | None
) -> None:
    options: dict[str, Any] = {
        "model": "hf",
        "model_args": {"pretrained": str(folder), "max_length": window},
        "tasks": ["jnli-1.3-0.2", "mlogiqa_mcq_en-1.0-default", "jsquad-1.1-0.2"],
        "num_fewshot": 2,
        "sample_data": True,
        "profile": profile,
        "device": "cpu",
    }
    found = examine(examination_config({**options, "limit": "all"}), Listener())
    run = tenbin.evaluate(**options, no_cache=True)
    for cell in found.cells:
        assert cell.measures is not None
        samples = [sample for sample in run.samples if sample["task"] == cell.setup.cell.task]
        overflow = cell.measures.overflow
        assert overflow.documents == len(samples)
        assert overflow.cut == sum(sample["truncated_tokens"] > 0 for sample in samples)
        assert overflow.dropped == sum(sample["dropped_examples"] for sample in samples)
        assert overflow.refused == sum(sample["failure_kind"] is not None for sample in samples)
    assert any(cell.measures and cell.measures.overflow.cut for cell in found.cells)
    dropped = sum(cell.measures.overflow.dropped for cell in found.cells if cell.measures)
    assert (dropped > 0) == (profile is None)


def test_answers_that_it_says_will_fail_do_fail(tmp_path: Path) -> None:
    tokenizer = letter_tokenizer(merges=["bc"])
    make_model("llama", len(tokenizer)).save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    rows = tmp_path / "rows.jsonl"
    rows.write_text("".join(f'{{"text": "{text}", "label": 0}}\n' for text in ("ab", "ax", "xb")))
    task = tmp_path / "merging.yaml"
    task.write_text(
        "task: merging\nlanguage: en\ndataset_path: json\n"
        f"dataset_kwargs: {{data_files: {{test: {rows}}}}}\ntest_split: test\n"
        'output_type: multiple_choice\ndoc_to_text: text\ndoc_to_choice: ["c", "d"]\n'
        'doc_to_target: label\ntarget_delimiter: ""\n'
    )
    options: dict[str, Any] = {
        "model": "hf",
        "model_args": {"pretrained": str(tmp_path / "model")},
        "tasks": [str(task)],
        "device": "cpu",
    }
    (cell,) = tenbin.doctor(**options)["cells"].values()
    (lost,) = [finding for finding in cell["findings"] if finding["code"] == "lost_answer"]
    failed = [
        sample["document"]
        for sample in tenbin.evaluate(**options, no_cache=True).samples
        if sample["failure_kind"] == "empty_continuation"
    ]
    assert len(failed) == lost["count"] == 2
    assert [example["document"] for example in lost["examples"]] == failed
    options["encoding"] = "separate"
    (cell,) = tenbin.doctor(**options)["cells"].values()
    assert "lost_answer" not in {finding["code"] for finding in cell["findings"]}


@pytest.fixture(scope="module")
def embedded() -> dict[str, Any]:
    """SmolLM2-135M-Instruct's tokenizer: byte-level, ChatML, no BOS of its own."""
    return tenbin.doctor(
        model="hf-causal",
        model_args={"pretrained": "smollm2-135m"},
        tasks="jsquad,jcommonsenseqa,jnli,marc_ja,mlogiqa_mcq_en",
        num_fewshot=2,
        sample_data=True,
    )


@pytest.mark.model
def test_the_model(embedded: dict[str, Any]) -> None:
    model = embedded["model"]
    assert (model["vocabulary"], model["max_length"]) == (49152, 8192)
    assert model["chat_template"] == "ChatML" and not model["adds_bos"]


@pytest.mark.model
def test_special_tokens(embedded: dict[str, Any]) -> None:
    def codes(template: str, check: str) -> dict[str, set[str]]:
        return {
            cell["task"]: {f["code"] for f in cell["findings"] if f["check"] == check}
            for cell in embedded["cells"].values()
            if cell["template"] == template
        }

    unknown = {"unknown_markers"}
    assert codes("0.4", "specials") == {
        "jsquad": {*unknown, "unreachable_stop"},
        "jcommonsenseqa": unknown,
        "jnli": unknown,
        "marc_ja": unknown,
    }
    assert set(map(frozenset, codes("0.6", "specials").values())) == {frozenset(unknown)}
    for template in ("0.2", "0.3", "0.5", "default"):
        assert not any(codes(template, "specials").values())


@pytest.mark.model
def test_fit(embedded: dict[str, Any]) -> None:
    verdicts = {
        cell["template"]: cell["fit"]["verdict"]
        for cell in embedded["cells"].values()
        if cell["task"] == "jcommonsenseqa"
    }
    assert verdicts == {
        "0.1": "no sign",
        "0.2": "possible",
        "0.2.1": "no sign",
        "0.3": "unlikely",
        "0.4": "unlikely",
        "0.5": "unlikely",
        "0.6": "unlikely",
    }


@pytest.mark.model
def test_borders_bos_and_windows_are_sound(embedded: dict[str, Any]) -> None:
    for cell in embedded["cells"].values():
        measures = cell["measures"]
        assert measures["boundary"]["other_text"] == measures["boundary"]["lost"] == 0
        assert measures["beginning"]["leading"] == {"0": cell["documents"]}
        assert measures["overflow"]["cut"] == measures["overflow"]["refused"] == 0
    ends = {c["template"] for c in embedded["cells"].values() for f in c["findings"]
            if f["code"] == "moved_space"}  # fmt: skip
    assert ends == {"0.3", "0.4", "0.5", "0.6"}


@pytest.mark.model
def test_languages(embedded: dict[str, Any]) -> None:
    english, japanese = embedded["languages"]["en"], embedded["languages"]["ja"]
    assert english["characters_per_token"] > 3 and english["broken_share"] < 0.01
    assert japanese["characters_per_token"] < 1 and japanese["broken_share"] > 0.5
    assert english["unknown"] == japanese["unknown"] == 0


@pytest.mark.model
def test_labels_that_begin_one_another(embedded: dict[str, Any]) -> None:
    cell = embedded["cells"]["jcommonsenseqa-1.1-0.1"]
    (finding,) = [f for f in cell["findings"] if f["code"] == "begun_answer"]
    assert finding["count"] == 1 and finding["examples"][0]["seen"] == "'南' begins '南東'"
    assert embedded["cells"]["jcommonsenseqa-1.1-0.2"]["measures"]["labels"]["begun"] == 0


@pytest.mark.model
@pytest.mark.real_data
def test_real_rows(real_data: Path) -> None:
    found = tenbin.doctor(
        model="hf",
        model_args={"pretrained": "smollm2-135m", "max_length": 2048},
        tasks="jsquad-1.1-0.2,jcommonsenseqa-1.1-0.2,mlogiqa_mcq_ko-1.0-default",
        data_dir=str(real_data),
        limit=20,
    )
    assert [cell["of"] for cell in found["cells"].values()] == [4442, 1119, 80]
    assert all(cell["documents"] == 20 for cell in found["cells"].values())
    assert found["cells"]["jcommonsenseqa-1.1-0.2"]["measures"]["labels"]["fixed"] == {
        str(number): 1 for number in range(5)
    }
    assert found["languages"]["ko"]["broken_share"] > 0.8


def test_every_input_of_a_document_is_looked_at(tmp_path: Path) -> None:
    rows = [{"who": "x" * n, "answer": 0, "rest": "came."} for n in (1, 2, 3)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    file = tmp_path / "inputs.yaml"
    file.write_text(
        "task: inputs\ndataset_path: json\ndataset_kwargs: {data_files: {test: rows.jsonl}}\n"
        'test_split: test\noutput_type: multiple_choice\ndoc_to_text: "{{answer}}"\n'
        'doc_to_choice: "{{[who, who + \' and more\']}}"\ndoc_to_target: "{{rest}}"\n'
    )
    (cell,) = diagnose(tasks=[str(file)], limit="all")["cells"].values()
    measures = cell["measures"]
    # BOS, the second input, and " came." without its last letter.
    assert measures["overflow"]["longest"] == 1 + 3 + 9 + 5
    assert (measures["overflow"]["documents"], measures["cost"]["rows"]) == (6, 6)
    assert (cell["documents"], cell["of"]) == (3, 3)
    assert measures["cost"]["tokens"] == sum(2 * (1 + n + 5) + 9 for n in (1, 2, 3))
