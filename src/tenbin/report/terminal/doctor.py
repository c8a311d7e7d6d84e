"""A diagnosis of tasks and templates for a model: one line per cell, then each finding once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tenbin.analysis.doctor.finding import Finding
from tenbin.pipeline.doctor import CellReport, DiagnosisReport
from tenbin.report.terminal.console import made_visible, make_console

_STYLES = {"problem": "red bold", "warning": "yellow", "note": "cyan", "ok": "green"}
_FITS = {"named": "green bold", "likely": "green", "possible": "", "no sign": "dim"}
_VERDICTS = ("named", "likely", "possible", "no sign", "unlikely")
_GRAVEST_FIRST = ("problem", "warning", "note", "ok")
_MOST_EXAMPLES = 3
_LONGEST_FRACTION = 9999
_WIDEST_WORD = len("possible")
_OTHER_COLUMNS = 46
"""Minimum width of the columns beside the id."""


def print_diagnosis(report: DiagnosisReport, console: Console | None = None) -> None:
    """Print the model, the cells, which templates fit, findings, languages and cost."""
    console = console or make_console()
    report = made_visible(report)
    _print_model(report, console)
    console.print()
    console.print(_summary(report, console.width - _OTHER_COLUMNS))
    console.print()
    _print_fit(report, console)
    _print_findings(report, console)
    _print_languages(report, console)
    _print_cost(report, console)


def _print_model(report: DiagnosisReport, console: Console) -> None:
    model, settings = report.model, report.settings
    console.print(Text(" · ".join(model.names), style="bold"), soft_wrap=True)
    bos = "BOS added" if model.adds_bos else "no BOS added"
    chat = model.chat_template
    facts = [
        f"{model.vocabulary:,} tokens",
        f"window {model.max_length:,}",
        f"{model.encoding} encoding",
        bos,
        f"chat template: {chat or 'none'}" + (" (applied)" if settings.apply_chat_template else ""),
        f"documents: {_sample(report)}",
    ]
    console.print(Text(" · ".join(facts), style="dim"))


def _sample(report: DiagnosisReport) -> str:
    cells = [cell for cell in report.cells.values() if cell.measures]
    if all(cell.documents == cell.of for cell in cells):
        return "all"
    # Fractions and sets smaller than the limit make the numbers differ.
    counts = sorted({cell.documents for cell in cells})
    count = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return f"{count} per task, {report.settings.sample}"


def _summary(report: DiagnosisReport, room: int) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    # Ids are folded only if the other columns would not fit.
    longest = max(len(id) for id in report.cells)
    table.add_column("task and template", overflow="fold", min_width=max(8, min(longest, room)))
    table.add_column("fit", no_wrap=True)
    table.add_column("worst", no_wrap=True)
    table.add_column("tokens", justify="right", no_wrap=True)
    table.add_column("findings in", overflow="fold")
    for id, cell in report.cells.items():
        measures = cell.measures
        findings = sorted(cell.findings, key=lambda one: _GRAVEST_FIRST.index(one.severity))
        verdict = cell.fit.verdict
        table.add_row(
            id,
            Text(verdict, style=_FITS.get(verdict, "dim")),
            Text(cell.severity, style=_STYLES[cell.severity]),
            f"{measures.overflow.median:,}" if measures else "–",
            ", ".join(dict.fromkeys(one.check for one in findings)),
        )
    return table


def _print_fit(report: DiagnosisReport, console: Console) -> None:
    console.print(Text("Which templates suit this model", style="bold"))
    console.print(Text("judged by its name, vocabulary and chat template", style="dim"))
    grouped: dict[tuple[str, str], list[tuple[CellReport, str]]] = {}
    for cell in report.cells.values():
        key = (cell.fit.verdict, cell.fit.reason)
        grouped.setdefault(key, []).append((cell, ""))
    for verdict, reason in sorted(grouped, key=lambda key: _VERDICTS.index(key[0])):
        _print_heading(console, verdict, _FITS.get(verdict, "dim"), reason)
        _print_indented(console, _cells_listed(grouped[verdict, reason]), "dim")
    console.print()


def _print_findings(report: DiagnosisReport, console: Console) -> None:
    grouped: dict[tuple[str, str, str], list[tuple[CellReport, Finding]]] = {}
    for cell in report.cells.values():
        for finding in cell.findings:
            found = grouped.setdefault((finding.severity, finding.check, finding.code), [])
            found.append((cell, finding))
    if not grouped:
        console.print(Text("No findings.", style="green"))
        return
    console.print(Text("Findings", style="bold"))
    for key in sorted(grouped, key=lambda key: _GRAVEST_FIRST.index(key[0])):
        _print_finding(key[0], key[1], grouped[key], console)
    console.print()


def _print_finding(
    severity: str,
    check: str,
    found: Sequence[tuple[CellReport, Finding]],
    console: Console,
) -> None:
    first = found[0][1]
    _print_heading(console, severity, _STYLES[severity], f"{check}: {first.title}")
    listed = _cells_listed([(cell, _share(one)) for cell, one in found])
    if check == "spelling":
        # Nearly the same in every template of a language.
        listed = ", ".join(dict.fromkeys(cell.language for cell, _ in found)) + " (see below)"
    _print_indented(console, listed, "dim")
    # The shares already say how many documents are affected.
    messages = {one.message for _, one in found} - {
        f"{one.count} of {one.n} documents" for _, one in found
    }
    if len(messages) == 1 or check == "prompts":
        for message in sorted(messages)[:_MOST_EXAMPLES]:
            _print_indented(console, message)
    shown: dict[str, str] = {}
    for _, one in found:
        for example in one.examples:
            shown.setdefault(example.seen, example.document)
    for seen, document in list(shown.items())[:_MOST_EXAMPLES]:
        where = "" if document == "template" else f"document {document}: "
        _print_indented(console, f"e.g. {where}{seen}")
    for remedy in dict.fromkeys(one.remedy for _, one in found):
        _print_indented(console, f"→ {remedy}")


def _share(finding: Finding) -> str:
    count, n = finding.count, finding.n
    if count == n:
        return ""
    return f"{count}/{n}" if n <= _LONGEST_FRACTION else f"{count / n:.0%}"


def _cells_listed(cells: Iterable[tuple[CellReport, str]]) -> str:
    """`jnli-1.3, marc_ja-1.1: 0.3, 0.4 (12/100)`: tasks with the same templates together."""
    templates: dict[str, list[str]] = {}
    for cell, share in cells:
        shown = f"{cell.template} ({share})" if share else cell.template
        templates.setdefault(f"{cell.task}-{cell.version}", []).append(shown)
    tasks: dict[str, list[str]] = {}
    for task, names in templates.items():
        tasks.setdefault(", ".join(names), []).append(task)
    return "; ".join(f"{', '.join(names)}: {shown}" for shown, names in tasks.items())


def _print_heading(console: Console, word: str, style: str, text: str) -> None:
    """Print a word and, in a column of its own, the text that explains it."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True, width=_WIDEST_WORD)
    grid.add_column(overflow="fold")
    grid.add_row(Text(word, style=style), Text(text))
    console.print(grid)


def _print_indented(console: Console, text: str, style: str = "") -> None:
    console.print(Padding(Text(text, style=style), (0, 0, 0, 2), expand=False))


def _print_languages(report: DiagnosisReport, console: Console) -> None:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("language")
    for name in ("characters per token", "split characters", "unknown"):
        table.add_column(name, justify="right")
    for language, found in report.languages.items():
        table.add_row(
            language,
            f"{found.characters_per_token:.2f}",
            f"{found.broken_share:.1%}",
            f"{found.unknown_share:.1%}",
        )
    if report.languages:
        console.print(Text("Vocabulary coverage of the prompts", style="bold"))
        console.print(table)
        console.print()


def _print_cost(report: DiagnosisReport, console: Console) -> None:
    cost = report.cost
    parts = [f"{_size(cost.tokens)} tokens without prefix sharing"]
    parts.append(f"{_size(cost.distinct)} with shared prefixes computed once per template")
    if _size(cost.together) != _size(cost.distinct):
        parts.append(f"{_size(cost.together)} with all templates of a task in one run")
    console.print(Text("Estimated cost of all documents", style="bold"))
    console.print(f"about {', '.join(parts)}", highlight=False)
    if cost.written:
        console.print(f"generation adds at most {_size(cost.written)} tokens", highlight=False)


def _size(number: int) -> str:
    if number < 10_000:
        return f"{number:,}"
    return f"{number / 1e3:,.0f}k" if number < 1e6 else f"{number / 1e6:,.1f}M"
