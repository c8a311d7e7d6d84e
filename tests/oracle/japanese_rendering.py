"""Published wordings of the Japanese benchmarks, straight from the strings in suites.yaml.

Shares no code with tenbin: plain jinja2 over the rows as they are in their files.
"""

from __future__ import annotations

from typing import Any

import jinja2

Row = dict[str, Any]
_ENVIRONMENT = jinja2.Environment(
    undefined=jinja2.StrictUndefined, keep_trailing_newline=True, autoescape=False
)


def fill(text: str, /, **values: Any) -> str:
    return _ENVIRONMENT.from_string(text).render(**values)


def wording(facts: Row, suite: str, who: str) -> Row:
    """The wording of a suite whose `who` begins so."""
    return next(one for one in facts[suite]["wordings"] if one["who"].startswith(who))


def llm_jp_eval(
    facts: Row, suite: str, row: Row, examples: list[tuple[Row, str]], who: str = "llm-jp-eval"
) -> str:
    """The frame around a suite's instruction and input; examples are rows with their outputs."""
    found = wording(facts, suite, who)
    return fill(
        facts["about"]["llm_jp_eval_frame"]["text"],
        instruction=found["instruction"],
        input=fill(found["input"], **row),
        examples=[
            {"input": fill(found["input"], **shown), "output": output} for shown, output in examples
        ],
    )


def jcola(facts: Row, template: str, row: Row, examples: list[Row]) -> Row:
    """One of jp-stable's forms; 0.5 is 0.4 with line breaks."""
    names = {"0.0": "jp-stable jcola-0.2-0.0", "0.3": "jp-stable jcola-0.2-0.3"}
    names |= {"0.4": "jp-stable jcola-0.2-0.4", "0.5": "jp-stable jcola-0.2-0.4"}
    found = wording(facts, "jcola", names.get(template, "jp-stable jcola-0.2-0.6"))
    choices = wording(facts, "jcola", names["0.0"])["doc_to_choice"]
    between = {"0.4": "<NL>", "0.5": "\n"}.get(template, found.get("fewshot_delimiter", "\n\n"))
    description, text = found.get("description", ""), found["doc_to_text"]
    if template == "0.5":
        description, text = description.replace("<NL>", "\n"), text.replace("<NL>", "\n")
    shown = [fill(text, **example) + choices[example["label"]] + between for example in examples]
    return {
        "prompt": description + "".join(shown) + fill(text, **row),
        "continuations": choices,
        "target": choices[row["label"]],
    }
