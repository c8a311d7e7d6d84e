"""Published wordings of the parallel benchmarks, straight from the strings in suites.yaml.

Shares no code with tenbin: rows from the files themselves, strings joined by hand.
"""

from __future__ import annotations

import re
from typing import Any

import jinja2

Row = dict[str, Any]


def scored(prompt: str, delimiter: str, choices: list[str], label: int) -> Row:
    return {
        "prompt": prompt,
        "continuations": [delimiter + choice for choice in choices],
        "target": choices[label],
    }


def xnli(facts: Row, language: str, row: Row) -> Row:
    wording = facts["xnli"]["wordings"][0]
    word, *labels = wording["words"][language]
    choices = [f"{row['premise']}, {word}? {label}, {row['hypothesis']}" for label in labels]
    return scored(wording["doc_to_text"], wording["target_delimiter"], choices, row["label"])


def xcopa(facts: Row, language: str, row: Row) -> Row:
    wording = facts["xcopa"]["wordings"][0]
    connector = wording["connector"][language][row["question"]]
    choices = [row[name][0].lower() + row[name][1:] for name in ("choice1", "choice2")]
    prompt = f"{row['premise'].strip()[:-1]} {connector}"
    return scored(prompt, wording["target_delimiter"], choices, row["label"])


def pawsx(facts: Row, language: str, row: Row) -> Row:
    wording = facts["pawsx"]["wordings"][0]
    first, second = row["sentence1"], row["sentence2"]
    if language in ("de", "en", "es", "fr"):
        first, second = _detokenised(first), _detokenised(second)
        first = re.sub(r"[.,;]$", "", first)
        second = second[:1].lower() + second[1:]
    choices = [first + link + second for link in wording["no_yes"][language]]
    return scored(wording["doc_to_text"], wording["target_delimiter"], choices, row["label"])


def _detokenised(sentence: str) -> str:
    text = sentence.replace(" n't", "n't").replace(" )", ")").replace("( ", "(")
    text = text.replace('" ', '"').replace(' "', '"')
    for mark in "'.,":
        text = text.replace(f" {mark}", mark)
    return text.strip()


def bmlama53(row: Row, number: int) -> Row:
    """The set's own method for causal models: every candidate in the sentence."""
    candidates = row["Candidate Ans"].split(", ")
    order = [candidates[(number + place) % len(candidates)] for place in range(len(candidates))]
    sentences = [row["Prompt"].replace("<mask>", candidate) for candidate in order]
    return scored("", "", sentences, order.index(row["Ans"]))


def belebele(facts: Row, template: str, row: Row) -> Row:
    """The prompts of lm-eval and of the paper: `lm-eval`, `paper` and `zero-shot`."""
    place = {"lm-eval": 0, "paper": 1, "zero-shot": 2}[template]
    text = facts["belebele"]["wordings"][place]["doc_to_text"]
    values = {name: row[name] for name in ("flores_passage", "question")}
    values |= {f"mc_answer{n}": row[f"mc_answer{n}"] for n in range(1, 5)}
    if template == "paper":
        text = text.replace(" <Correct answer letter>", "")
        names = {"<passage>": "flores_passage", "<question>": "question"}
        names |= {f"<mc answer {n}>": f"mc_answer{n}" for n in range(1, 5)}
        for printed, name in names.items():
            text = text.replace(printed, "{{" + name + "}}")
    prompt = jinja2.Template(text, keep_trailing_newline=True).render(values)
    if template == "zero-shot":
        return {"prompt": prompt, "continuations": None}
    return scored(prompt, " ", list("ABCD"), int(row["correct_answer_num"]) - 1)


def global_mmlu(facts: Row, row: Row) -> Row:
    wording = facts["global_mmlu"]["wordings"][0]
    prompt = jinja2.Template(wording["doc_to_text"]).render(row)
    choices = wording["doc_to_choice"]
    return scored(prompt, wording["target_delimiter"], choices, choices.index(row["answer"]))
