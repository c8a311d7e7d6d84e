"""Special tokens that documents bring with them."""

from __future__ import annotations

from typing import Any

from tenbin.analysis.doctor.special_tokens import judge_injection, measure_injection
from tenbin.records import Document
from tests.analysis.doctor.written import prompt

SPECIAL = ["<s>", "</s>", "<unk>"]


def document(id: str, **fields: Any) -> Document:
    return Document(id, fields, None, "rows.jsonl:1")


def test_a_document_that_quotes_a_special_token() -> None:
    asked = {
        "d0": document("d0", text="it ends </s> here"),
        "d1": document("d1", text="plain"),
        # The template leaves this field out.
        "d2": document("d2", text="plain", note="see <unk> below"),
    }
    prompts = [
        prompt("<s>[INST] it ends </s> here [/INST]", "a", document="d0"),
        prompt("<s>[INST] plain [/INST]", "a", document="d1"),
        prompt("<s>[INST] plain [/INST]", "a", document="d2"),
    ]
    found = measure_injection(prompts, asked, {}, SPECIAL)
    assert (found.documents, found.injected, found.words) == (3, 1, ("</s>",))
    (finding,) = judge_injection(found)
    assert finding.severity == "warning" and (finding.count, finding.n) == (1, 3)
    assert finding.examples[0].document == "d0" and "</s>" in finding.examples[0].seen


def test_choices_nested_fields_and_examples_count() -> None:
    asked = {"d0": document("d0", options=["a", "b</s>"]), "d1": document("d1", text="plain")}
    shown = {"t0": document("t0", answers={"text": ["<unk> it is"]})}
    prompts = [
        prompt("choose:", "a", "b</s>", document="d0"),
        prompt("<unk> it is\nplain", "a", document="d1", examples=("t0",)),
    ]
    found = measure_injection(prompts, asked, shown, SPECIAL)
    assert found.injected == 2 and set(found.words) == {"</s>", "<unk>"}


def test_templates_may_write_special_tokens() -> None:
    asked = {"d0": document("d0", text="plain")}
    found = measure_injection([prompt("<s>plain</s><s>", "a")], asked, {}, SPECIAL)
    assert found.injected == 0 and judge_injection(found) == []
    assert measure_injection([prompt("<s>", "a")], asked, {}, []).injected == 0
