"""Hand-made rows for data sets of which no real rows are at hand.

Small and odd on purpose: white space at ends, brackets, empty parts, digits as texts, letters
outside of ASCII, answers of unequal length. `ROWS` maps a data set's folder (`path/name`, as
`--data_dir` wants it) to its splits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]
Splits = Mapping[str, Sequence[Row]]

THINGS = ("lamp", "kettle", "bicycle", "violin", "garden hose", "paper boat", "étagère", "凧")
PLACES = ("kitchen", "harbour", "old library", "train", "market", "attic", "Zürich", "庭")
PEOPLE = ("Maria", "Kenji", "Omar", "Ines", "Tom", "Aiko", "Søren", "Lê")
COLOURS = ("red", "blue", "green", "yellow", "white", "black", "silver", "brown")


def _made(make: Callable[[int], Row], **counts: int) -> dict[str, list[Row]]:
    """Splits of these sizes, each row from its own number."""
    splits: dict[str, list[Row]] = {}
    start = 0
    for split, count in counts.items():
        splits[split] = [make(at) for at in range(start, start + count)]
        start += count
    return splits


def _pick(words: Sequence[str], at: int) -> str:
    return words[at % len(words)]


def _sentence(at: int) -> str:
    return (
        f"{_pick(PEOPLE, at)} carries the {_pick(COLOURS, at * 3 + 1)} {_pick(THINGS, at * 5 + 2)} "
        f"to the {_pick(PLACES, at * 7 + 3)}"
    )


def hellaswag(at: int) -> Row:
    return {
        "activity_label": ("Cleaning sink", "Kite flying [sport]", "Making tea")[at % 3],
        "ctx_a": f"{_sentence(at)}. [header] How it goes on [title]",
        "ctx_b": ("", "the wind  rises and", "a dog")[at % 3],
        "endings": [
            f"puts the {_pick(THINGS, at + k)} down{'.' * (k % 2)} [step] {'Very ' * k}slowly."
            for k in range(4)
        ],
        "label": str(at % 4),
        "ind": at,
    }


def arc(at: int) -> Row:
    labels = ["A", "B", "C", "D"] if at % 3 else ["1", "2", "3", "4"]
    count = 3 if at % 5 == 4 else 4
    return {
        "id": f"Q{at}",
        "question": f"{_sentence(at)}. Which of these is {_pick(COLOURS, at)}?",
        "choices": {
            "text": [f"the {_pick(THINGS, at + k)}" + " of old" * k for k in range(count)],
            "label": labels[:count],
        },
        "answerKey": labels[at % count],
    }


def winogrande(at: int) -> Row:
    first, second = _pick(PEOPLE, at), _pick(PEOPLE, at + 3)
    return {
        "sentence": f"{first} helped {second} in the {_pick(PLACES, at)} because _ was "
        f"{('tired', 'very strong', 'late for the train')[at % 3]}.",
        "option1": first,
        "option2": second,
        "answer": str(at % 2 + 1),
    }


def gsm8k(at: int) -> Row:
    a, b = at + 3, 2 * at + 1
    total = f"{a * b:,}" if at % 2 else str(1000 * a * b)
    return {
        "question": f"{_pick(PEOPLE, at)} has {a} boxes, each with {b} {_pick(THINGS, at)}s. All?",
        "answer": f"There are {a} * {b} = <<{a}*{b}={a * b}>>{a * b} of them.\n#### {total}",
    }


def mmlu(at: int) -> Row:
    return {
        "question": f" {_sentence(at)}.\nWhat colour is it? ",
        "subject": "made",
        "choices": [_pick(COLOURS, at + k) for k in range(4)],
        "answer": (at * 3 + 1) % 4,
    }


def belebele(at: int) -> Row:
    return {
        "link": f"made:{at}",
        "flores_passage": f"{_sentence(at)}。{_sentence(at + 1)}。",
        "question": f"Who carries the {_pick(THINGS, at)}？ ",
        **{f"mc_answer{k + 1}": _pick(PEOPLE, at + k) for k in range(4)},
        "correct_answer_num": str(at % 4 + 1),
        "dialect": "made",
    }


def boolq(at: int) -> Row:
    return {
        "question": f"is the {_pick(THINGS, at)} {_pick(COLOURS, at)}",
        "passage": f"The {_pick(THINGS, at)} is {_pick(COLOURS, at + at % 2)}. {_sentence(at)}.",
        "idx": at,
        "label": 1 - at % 2,
    }


def lambada(at: int) -> Row:
    return {
        "text": f"{_sentence(at)}. “Is it yours?” they asked and pointed at the {_pick(THINGS, at)}"
    }


def wikitext(at: int) -> Row:
    lines = [f" = {_pick(THINGS, at).title()} = \n"]
    lines += [
        f' {_sentence(k)} , about 1 @,@ {k}00 m ( or " far " ) away . \n' for k in range(at + 2)
    ]
    return {"page": "".join(lines)}


def boolean_expression(at: int) -> Row:
    left, right = at % 2 == 0, at % 3 == 0
    same = " and True" * (at // 2)
    return {"input": f"not {left} or ( {right}{same} ) is", "target": str((not left) or right)}


def truthfulqa(at: int) -> Row:
    def targets(right: int, wrong: int) -> Row:
        texts = [f"It is the {_pick(THINGS, at + k)}{' indeed' * k}." for k in range(right + wrong)]
        return {"choices": texts, "labels": [1] * right + [0] * wrong}

    return {
        "question": f"What does {_pick(PEOPLE, at)} really carry?",
        "mc1_targets": targets(1, 2 + at % 3),
        "mc2_targets": targets(1 + at % 3, 2 + at % 2),
    }


def coqa(at: int) -> Row:
    turns = at % 3 + 1
    asked = [f"Who carries the {_pick(THINGS, at + k)}?" for k in range(turns)]
    answers = [f"{_pick(PEOPLE, at + k)} of the {_pick(PLACES, k)}" for k in range(turns)]
    others = [f"the {_pick(PEOPLE, at + k)}" for k in range(turns)]
    return {
        "id": f"made{at}",
        "story": f"{_sentence(at)}. {_sentence(at + 1)}.",
        "questions": {"input_text": asked, "turn_id": list(range(1, turns + 1))},
        "answers": {"input_text": answers, "turn_id": list(range(1, turns + 1))},
        "additional_answers": {"0": {"input_text": others}, "1": {"input_text": answers}},
    }


def drop(at: int) -> Row:
    nothing = {"day": "", "month": "", "year": ""}
    number = {"number": str(at + 2), "date": nothing, "spans": []}
    spans = {
        "number": "",
        "date": nothing,
        "spans": [_pick(PEOPLE, at), _pick(PLACES, at)][: 1 + at % 2],
    }
    dated = {"number": "", "date": {"day": "", "month": "May", "year": "1999"}, "spans": []}
    answer = (number, spans, dated)[at % 3]
    return {
        "section_id": f"made_{at}",
        "query_id": f"query_{at}",
        "passage": f"{_sentence(at)}. It has {at + 2} wheels.",
        "question": "What is told?",
        "answer": answer,
        "validated_answers": {
            "number": [answer["number"], ""],
            "date": [answer["date"], nothing],
            "spans": [answer["spans"], ["a wheel"]],
        },
    }


def translation(at: int) -> Row:
    english = f"{_sentence(at)}, and {_pick(PEOPLE, at + 2)} sees it."
    return {"translation": {"ro": f"{_sentence(at + 1)} ({at})", "en": english}}


def blimp(at: int) -> Row:
    return {
        "sentence_good": f"{_sentence(at)}.",
        "sentence_bad": f"{_sentence(at)} the{' the' * (at % 3)}.",
        "field": "syntax",
        "UID": "adjunct_island",
        "pairID": str(at),
    }


def sentence_pair(at: int) -> Row:
    return {
        "sentence1": _sentence(at),
        "sentence2": _sentence(at + at % 2),
        "label": 1 - at % 2,
        "idx": at,
    }


def acceptable(at: int) -> Row:
    return {"sentence": _sentence(at) + "?" * (at % 2), "label": (at // 2) % 2, "idx": at}


def commitment(at: int) -> Row:
    return {
        "premise": f"B: {_sentence(at)}. A: Hm, yes, {_pick(PEOPLE, at)} thinks so.",
        "hypothesis": _sentence(at),
        "idx": at,
        "label": at % 3,
    }


def trivia(at: int) -> Row:
    name = _pick(PEOPLE, at)
    return {
        "question": f"Who carries the {_pick(THINGS, at)}",
        "question_id": f"made_{at}",
        "answer": {"aliases": [name, f"the {name}", f"{name}-san"][: at % 3 + 1], "value": name},
    }


def open_question(at: int) -> Row:
    return {
        "question": f"who carries the {_pick(THINGS, at)}",
        "answer": [_pick(PEOPLE, at), "nobody"],
    }


def xwinograd(at: int) -> Row:
    name = ("太郎", "花子", "次郎")[at % 3]
    return {
        "sentence1": f"{name}は{_pick(THINGS, at)}を運んだ、{name}が強かったから。 ",
        "sentence2": f"{name}は{_pick(THINGS, at)}を運んだ、それが強かったから。",
        "answer": at % 2 + 1,
    }


def piqa(at: int) -> Row:
    return {
        "prompt": f"How to move the {_pick(THINGS, at)}: ",
        "solution0": f"carry it to the {_pick(PLACES, at)}",
        "solution1": "運ぶ、" + "そっと" * (at % 3 + 1),
        "label": at % 2,
    }


def made(at: int) -> Row:
    """Rows of the task files in the folder `tasks`."""
    return {
        "question": f"{_sentence(at)}. What is {_pick(COLOURS, at * 3 + 1)}?",
        "options": [f"the {_pick(THINGS, at * 5 + 2 + k)}" for k in range(4)],
        "right": [at % 4, (at + 2) % 4] if at % 2 else [at % 4],
        "choices": [f"the {_pick(THINGS, at * 5 + 2 + k)}" for k in range(4)],
        "label": at % 4,
        "colour": _pick(COLOURS, at),
        "hint": ("It is the", "Perhaps ", "答えは")[at % 3],
        "answers": [_pick(COLOURS, at), _pick(THINGS, at)],
    }


_SUBJECTS = """
abstract_algebra anatomy astronomy business_ethics clinical_knowledge college_biology
college_chemistry college_computer_science college_mathematics college_medicine
college_physics computer_security conceptual_physics econometrics electrical_engineering
elementary_mathematics formal_logic global_facts high_school_biology
high_school_chemistry high_school_computer_science high_school_european_history
high_school_geography high_school_government_and_politics high_school_macroeconomics
high_school_mathematics high_school_microeconomics high_school_physics
high_school_psychology high_school_statistics high_school_us_history
high_school_world_history human_aging human_sexuality international_law jurisprudence
logical_fallacies machine_learning management marketing medical_genetics miscellaneous
moral_disputes moral_scenarios nutrition philosophy prehistory professional_accounting
professional_law professional_medicine professional_psychology public_relations
security_studies sociology us_foreign_policy virology world_religions
"""
SUBJECTS = _SUBJECTS.split()

ROWS: Mapping[str, Splits] = {
    "Rowan/hellaswag": _made(hellaswag, train=9, validation=10),
    "allenai/ai2_arc/ARC-Easy": _made(arc, train=9, validation=6, test=10),
    "allenai/ai2_arc/ARC-Challenge": _made(arc, train=7, validation=6, test=9),
    "allenai/winogrande/winogrande_xl": _made(winogrande, train=8, validation=10),
    "openai/gsm8k/main": _made(gsm8k, train=8, test=12),
    **{
        f"cais/mmlu/{subject}": _made(mmlu, dev=5, test=2 + at % 4)
        for at, subject in enumerate(SUBJECTS)
    },
    "facebook/belebele/jpn_Jpan": _made(belebele, test=10),
    "aps/super_glue/boolq": _made(boolq, train=8, validation=10),
    "aps/super_glue/cb": _made(commitment, train=8, validation=12),
    "EleutherAI/lambada_openai/default": _made(lambada, test=10),
    "EleutherAI/wikitext_document_level/wikitext-2-raw-v1": _made(
        wikitext, train=2, validation=2, test=6
    ),
    "SaylorTwift/bbh/boolean_expressions": _made(boolean_expression, test=10),
    "truthfulqa/truthful_qa/multiple_choice": _made(truthfulqa, validation=10),
    "EleutherAI/coqa": _made(coqa, train=8, validation=10),
    "EleutherAI/drop": _made(drop, train=9, validation=12),
    "wmt/wmt16/ro-en": _made(translation, train=6, validation=8, test=12),
    "nyu-mll/blimp/adjunct_island": _made(blimp, train=10),
    "nyu-mll/glue/mrpc": _made(sentence_pair, train=8, validation=14),
    "nyu-mll/glue/cola": _made(acceptable, train=8, validation=14),
    "mandarjoshi/trivia_qa/rc.nocontext": _made(trivia, train=8, validation=12),
    "google-research-datasets/nq_open": _made(open_question, train=8, validation=10),
    "polm-stability/xwinograd-ja": _made(xwinograd, test=10),
    "mrlbenchmarks/global-piqa-nonparallel/jpn_jpan": _made(piqa, test=10),
    "tenbin/made": _made(made, train=8, test=12),
}
"""Folder below `--data_dir` → splits → rows."""
