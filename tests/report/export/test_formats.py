"""The text of every format, written by hand; names that are hostile to it."""

from __future__ import annotations

import csv
import io
import json
from html.parser import HTMLParser

import pytest
from markdown_it import MarkdownIt

from tenbin.errors import ConfigError
from tenbin.report.export import FORMATS, ExportSettings, NamedRun, export_text
from tenbin.report.export.latex import escape_latex
from tenbin.report.export.markdown import escape_markdown
from tests.report.export.made_runs import ACC, HOSTILE, OTHER, detail, run
from tests.results.made_result import cell_config

PERPLEXITY = {"word_perplexity": (12.5, 11.0, 14.25)}


def two_runs() -> list[NamedRun]:
    """Two runs that share a task; the second has a perplexity besides, which the first lacks."""
    rolled = {
        "wiki": {
            "word_perplexity": detail(
                11.0, 14.25, aggregation="weighted_perplexity", weight=900, higher_is_better=False
            )
        }
    }
    return [
        run("small", {"jnli-1.3-0.2": ACC}),
        run("large", {"jnli-1.3-0.2": OTHER, "wiki": PERPLEXITY}, details=rolled),
    ]


def text(to: str, runs: list[NamedRun] | None = None, **settings: object) -> str:
    return export_text(runs or two_runs(), to, ExportSettings(**settings))  # type: ignore[arg-type]


def test_markdown() -> None:
    assert (
        text("markdown", percent=True)
        == r"""| model | jnli-1.3-0.2<br>0-shot<br>acc ↑ %<br>n = 100 | wiki<br>0-shot<br>word\_perplexity ↓<br>n = 100 |
| :-- | --: | --: |
| small | 50.00 [40.00, 60.00] | –<sup>a</sup> |
| large | 75.00 [65.00, 85.00] | 12.5000 [11.0000, 14.2500] |

Scores in per cent; metrics without a unit as they are, with 95 % intervals in brackets. n: documents; ↑: higher is better, ↓: lower is better.

<sup>a</sup> not run

small: run 0123456789ab of 2026-01-02, tenbin 0.1.0.

large: run 0123456789ab of 2026-01-02, tenbin 0.1.0.
"""  # noqa: E501
    )


def test_markdown_with_tasks_in_rows() -> None:
    lines = text("markdown", rows="tasks").splitlines()
    assert lines[:4] == [
        "| task | metric | shots | n | small | large |",
        "| :-- | :-- | :-- | :-- | --: | --: |",
        "| jnli-1.3-0.2 | acc ↑ share | 0 | 100 | 0.5000 [0.4000, 0.6000] | "
        "0.7500 [0.6500, 0.8500] |",
        r"| wiki | word\_perplexity ↓ | 0 | 100 | –<sup>a</sup> | 12.5000 [11.0000, 14.2500] |",
    ]


def test_scores_on_different_numbers_of_documents_show_them() -> None:
    few = {"jnli": {"acc": detail(0.4, 0.6, n=40)}}
    lines = text("markdown", [run("a", {"jnli": ACC}), run("b", {"jnli": ACC}, details=few)])
    assert lines.splitlines()[0] == "| model | jnli<br>0-shot<br>acc ↑ share |"
    assert "| a | 0.5000 [0.4000, 0.6000], n = 100 |" in lines
    assert "| b | 0.5000 [0.4000, 0.6000], n = 40 |" in lines


def test_latex() -> None:
    assert (
        text("latex", percent=True)
        == r"""% Needs \usepackage{booktabs}.
\begin{table}
\centering
\begin{tabular}{lrr}
\toprule
 & jnli-1.3-0.2 & wiki \\
 & 0-shot & 0-shot \\
 & acc $\uparrow$ \% & word\_perplexity $\downarrow$ \\
model & n = 100 & n = 100 \\
\midrule
small & 50.00 {[}40.00, 60.00{]} & --\textsuperscript{a} \\
large & 75.00 {[}65.00, 85.00{]} & 12.5000 {[}11.0000, 14.2500{]} \\
\bottomrule
\end{tabular}
\caption{Scores in per cent; metrics without a unit as they are, with 95 \% intervals in brackets. n: documents; $\uparrow$: higher is better, $\downarrow$: lower is better. \textsuperscript{a}not run. small: run 0123456789ab of 2026-01-02, tenbin 0.1.0. large: run 0123456789ab of 2026-01-02, tenbin 0.1.0.}
\end{table}
"""  # noqa: E501
    )


def test_latex_has_minus_signs_and_says_what_pdflatex_lacks() -> None:
    mcc = {"mcc": (-0.25, -0.5, 0.0)}
    details = {"jnli": {"mcc": detail(-0.5, 0.0, aggregation="mcc")}}
    written = text("latex", [run("天秤", {"jnli": mcc}, details=details)], percent=True)
    assert r"$-$0.2500 {[}$-$0.5000, 0.0000{]}" in written
    assert "% Has characters that pdflatex does not know" in written
    accents = text("latex", [run("scales «é»", {"jnli": ACC})])
    assert accents.splitlines()[1] == r"% Needs \usepackage[T1]{fontenc} with pdflatex."


def test_latex_escapes_everything() -> None:
    assert escape_latex(HOSTILE) == (
        r"a\_b\textbar{}50\% \& \$x\$ \#1 \{\textasciitilde{}\textasciicircum{}\} "
        r"\textbackslash{}end\{tabular\} {[}{*}{]} \textless{}i\textgreater{}-{}-"
        r"\textless{}/i\textgreater{} \textasciigrave{}\textasciigrave{}q'{}' 天秤, "
        r"\char34{}x\char34{}"
    )
    assert escape_latex("---,,") == "-{}-{}-,{},"


def test_markdown_escapes_everything() -> None:
    assert escape_markdown(HOSTILE) == (
        r"a\_b\|50% \& \$x\$ \#1 \{\~^\} \\end\{tabular\} \[\*\] \<i\>--\</i\> "
        r"\`\`q'' 天秤, " + '"x"'
    )
    assert [escape_markdown(one) for one in ("1. x", "- x", "+ x", "1.5 x", "-x")] == [
        r"1\. x",
        r"\- x",
        r"\+ x",
        "1.5 x",
        "-x",
    ]


def hostile_run() -> NamedRun:
    return run(HOSTILE, {HOSTILE: ACC}, skipped={"x": "a\nb\x1b[31m"})


@pytest.mark.parametrize("name", [HOSTILE, "a\\", "\\|", "`|`", "&amp;", "1. x", "~~x~~", "<!-- x"])
def test_a_hostile_name_is_text_in_its_cell_of_a_markdown_table(name: str) -> None:
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    tokens = parser.parse(text("markdown", [run(name, {name: ACC})]))
    texts = [
        "".join(part.content for part in token.children or ())
        for token in tokens
        if token.type == "inline"
    ]
    assert texts[:10] == [
        *("task", "metric", "shots", "n", name),
        *(name, "acc ↑ share", "0", "100", "0.5000 [0.4000, 0.6000]"),
    ]


def test_html_table() -> None:
    assert (
        text("html-table", [run("<b>", {"jnli": ACC})])
        == """<table>
<caption>Scores as shares from 0 to 1, with 95 % intervals in brackets. n: documents; ↑: higher is better, ↓: lower is better.</caption>
<thead>
<tr><th scope="col">task</th><th scope="col">metric</th><th scope="col">shots</th><th scope="col">n</th><th scope="col">&lt;b&gt;</th></tr>
</thead>
<tbody>
<tr><th scope="row">jnli</th><td>acc ↑ share</td><td>0</td><td>100</td><td>0.5000 [0.4000, 0.6000]</td></tr>
</tbody>
<tfoot>
<tr><td colspan="5">&lt;b&gt;: run 0123456789ab of 2026-01-02, tenbin 0.1.0.</td></tr>
</tfoot>
</table>
"""  # noqa: E501
    )


def test_a_hostile_name_is_text_in_html() -> None:
    class Cells(HTMLParser):
        def __init__(self) -> None:
            super().__init__()
            self.tags: set[str] = set()
            self.texts: list[str] = []

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            self.tags.add(tag)

        def handle_data(self, data: str) -> None:
            self.texts.append(data)

    parser = Cells()
    parser.feed(text("html-table", [hostile_run()]))
    assert parser.tags <= {"table", "caption", "thead", "tbody", "tfoot", "tr", "th", "td", "sup"}
    assert HOSTILE in parser.texts


def test_csv() -> None:
    assert text("csv", percent=True) == (
        "model,kind,id,task,version,template,language,shots,variant,metric,value,low,high,stderr,"
        "unit,higher_is_better,n,clusters,failed,interval_method,data_version,data_sha256,missing,"
        "remarks,run_id,date,tenbin_version\n"
        "small,task,jnli-1.3-0.2,jnli-1.3-0.2,1.1,0.1,ja,0,,acc,50.0,40.0,60.0,5.0,%,true,100,100,"
        f"0,wilson,,{'a' * 64},,,0123456789abcdef,2026-01-02,0.1.0\n"
        "small,task,wiki,wiki,,,,0,,word_perplexity,,,,,,false,,,,,,,not run,,0123456789abcdef,"
        "2026-01-02,0.1.0\n"
        "large,task,jnli-1.3-0.2,jnli-1.3-0.2,1.1,0.1,ja,0,,acc,75.0,65.0,85.0,5.0,%,true,100,100,"
        f"0,wilson,,{'a' * 64},,,0123456789abcdef,2026-01-02,0.1.0\n"
        "large,task,wiki,wiki,1.1,0.1,ja,0,,word_perplexity,12.5,11.0,14.25,0.05,,false,100,100,0,"
        f"wilson,,{'a' * 64},,,0123456789abcdef,2026-01-02,0.1.0\n"
    )


def test_csv_of_hostile_names_reads_back() -> None:
    rows = list(csv.DictReader(io.StringIO(text("csv", [hostile_run()]))))
    assert [(row["model"], row["id"]) for row in rows] == [(HOSTILE, HOSTILE)]
    (row,) = csv.DictReader(io.StringIO(text("csv", [run('=cmd|"x"', {"jnli": ACC})])))
    assert row["model"] == '\'=cmd|"x"', "a spreadsheet computes no name"


def test_jsonl() -> None:
    rows = [json.loads(line) for line in text("jsonl").splitlines()]
    assert [(row["model"], row["id"], row["value"]) for row in rows] == [
        ("small", "jnli-1.3-0.2", 0.5),
        ("small", "wiki", None),
        ("large", "jnli-1.3-0.2", 0.75),
        ("large", "wiki", 12.5),
    ]
    assert {name: rows[0][name] for name in ("low", "high", "unit", "n", "shots", "missing")} == {
        "low": 0.4, "high": 0.6, "unit": "share", "n": 100, "shots": 0, "missing": "",
    }  # fmt: skip


def test_jsonl_has_one_line_for_each_score_whatever_the_name() -> None:
    odd = run("a\u2028b\ud800", {"jnli": ACC})
    (line,) = text("jsonl", [odd]).splitlines()
    assert json.loads(line)["model"] == "a\u2028b\ud800"


def test_one_setting_is_the_unit_of_all_shares() -> None:
    percent = {"jsquad": {"f1": detail(40.0, 60.0, unit="%")}}
    made = run("a", {"jnli": ACC, "jsquad": {"f1": (50.0, 40.0, 60.0)}}, details=percent)
    for setting, unit, value in ((True, "%", 50.0), (False, "share", 0.5)):
        rows = [json.loads(line) for line in text("jsonl", [made], percent=setting).splitlines()]
        assert [(row["unit"], row["value"]) for row in rows] == [(unit, value)] * 2


@pytest.mark.parametrize("value", [1.5, -0.5])
def test_a_mean_beyond_the_bounds_of_a_share_has_no_unit(value: float) -> None:
    made = run("a", {"x": {"reward": (value, value - 0.1, value + 0.1)}})
    row = json.loads(text("jsonl", [made], percent=True))
    assert (row["unit"], row["value"]) == ("", value)


def test_a_score_without_interval_says_so() -> None:
    assert "| 0.5000 [no interval] |" in text(
        "markdown", [run("a", {"x": {"acc": (0.5, None, None)}})]
    )


def test_runs_that_are_not_comparable_are_in_columns_of_their_own() -> None:
    shots = {"jnli": cell_config(task="jnli", num_fewshot=3)}
    written = text("markdown", [run("a", {"jnli": ACC}), run("b", {"jnli": ACC}, configs=shots)])
    assert written.splitlines()[0] == (
        "| model | jnli<br>0-shot<br>acc ↑ share<br>n = 100 | "
        "jnli<br>3-shot<br>acc ↑ share<br>n = 100 |"
    )
    assert "| a | 0.5000 [0.4000, 0.6000] | –<sup>a</sup> |" in written
    assert "<sup>b</sup> asked otherwise: 3-shot" in written
    assert "jnli: asked in 2 ways, not comparable: 0-shot; 3-shot." in written


def test_formats_that_do_not_exist_get_a_guess() -> None:
    with pytest.raises(ConfigError, match="did you mean 'markdown'"):
        text("markdwon")
    assert len(FORMATS) == 7


@pytest.mark.parametrize("to", ["csv", "markdown", "latex", "model-card"])
def test_a_sweep_on_a_budget_has_no_score_to_export(to: str) -> None:
    """An empty table would be taken for a run that did nothing."""
    parts = run(
        "a",
        {"jnli@part": {"acc": (None, None, None)}},
        configs={"jnli@part": cell_config(task="jnli", role="part")},
    )
    with pytest.raises(ConfigError, match="no score to export") as error:
        export_text([parts], to, ExportSettings())
    assert "tenbin report" in error.value.hint
