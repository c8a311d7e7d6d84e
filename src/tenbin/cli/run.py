"""`tenbin run`: evaluate a model, or all models of a run file, and show the scores."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from tenbin.cli.exit_codes import ERROR, HELP, SOME_FAILED, code_of_run

if TYPE_CHECKING:
    from pathlib import Path

    from tenbin.analysis.option_order.report import OptionOrderReport
    from tenbin.config import ModelsFile, RunConfig
    from tenbin.pipeline.finish import CompletedRun
    from tenbin.pipeline.many_models.entries import Entry
    from tenbin.pipeline.many_models.run import ModelRun
    from tenbin.pipeline.progress import Listener
    from tenbin.report.terminal.log import LogSettings
    from tenbin.results.schema import RunResult, Sample

EXAMPLES = f"""examples:
  tenbin run --model hf --model_args pretrained=smollm2-135m --tasks jnli \\
      --sample_data
  tenbin run --model hf-causal --model_args pretrained=PATH \\
    --tasks jsquad-1.1-0.3,jcommonsenseqa-1.1-0.3,jnli-1.1-0.3,marc_ja-1.1-0.3 \\
    --num_fewshot "2,3,3,3" --device cuda --output_path result.json
  tenbin run --model hf --model_args pretrained=PATH --tasks mlogiqa_mcq \\
      --template native
  tenbin run --model hf --model_args pretrained=PATH --tasks mlogiqa_gen_ja \\
      --gen_kwargs temperature=0.8,top_p=0.95 --repeats 4
  tenbin run --model hf --model_args pretrained=PATH --tasks jnli --workers 8
  tenbin run --model openai-chat \\
      --model_args base_url=http://127.0.0.1:8080/v1 \\
      --tasks mlogiqa_gen_ja --apply_chat_template --thinking on
  tenbin run --config run.yaml --limit 100

{HELP}"""
_SELECT_ON = (
    "with --template auto: SPLIT:N, the documents that the template is chosen on "
    "(default: train:200); they are not scored"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `tenbin run`."""
    from tenbin.cli.flags import add_options
    from tenbin.config.options import OUTPUT, SWEEP

    groups = add_options(parser, "run", {"select_on": _SELECT_ON}, {SWEEP: "choosing a template"})
    add_report_and_config(groups[OUTPUT])
    groups[OUTPUT].add_argument(
        "--all_metrics",
        action="store_true",
        help="print every metric of each task, and not the first alone",
    )


def add_report_and_config(output: argparse._ArgumentGroup) -> None:
    """Add `--report` and `--config`, which `tenbin sweep` has too."""
    output.add_argument(
        "--report",
        nargs="?",
        const=True,
        metavar="FILE",
        help="also write an HTML report (default: report.html in the run's folder)",
    )
    output.add_argument(
        "--timing",
        action="store_true",
        help="also print where the time of the command went; result.json keeps it in any case",
    )
    output.add_argument(
        "--dry_run",
        action="store_true",
        help="ask nothing: print documents, requests, tokens, what the journal knows, and an "
        "estimate of time and cost",
    )
    output.add_argument("--json", action="store_true", help="with --dry_run: print JSON")
    output.add_argument(
        "--config",
        metavar="FILE",
        help="run file: YAML whose keys are these options; flags override it. For `tenbin run` it "
        "may hold a list `models:`, each with options of its own, which are all run",
    )


def execute(options: argparse.Namespace) -> int:
    """Run, print the scores, and say where the results are."""
    from tenbin.cli.flags import config_from
    from tenbin.config import AUTO, read_models_file

    check_json(options)
    if options.config and (models := read_models_file(options.config)) is not None:
        return _run_models(options, models)
    config = config_from(options)
    if options.dry_run:
        return show_dry_run(options, {"": config})
    check_report(options)

    from tenbin.report.terminal.progress import open_progress

    if config.template == AUTO:
        from tenbin.pipeline.sweep import execute_auto as run
    else:
        from tenbin.pipeline.run import execute as run
    finished = run(config, tracked(config, open_progress()))

    from tenbin.report.terminal.console import make_console
    from tenbin.report.terminal.log import log_output
    from tenbin.report.terminal.scores import print_results

    print_results(finished.result, all_metrics=options.all_metrics)
    log_output(lambda console: print_results(finished.result, console, options.all_metrics))
    order = order_report(finished.result, finished.samples)
    if order is not None:
        from tenbin.report.terminal.option_order import print_option_order

        print_option_order(order)
    if finished.folder is not None:
        if order is not None:
            place = finished.folder.path / "option_order.json"
            write_document(place, order.to_json(), "name another place with --output_path")
        console = make_console()
        console.print(f"results  {finished.folder.result_file}", highlight=False, soft_wrap=True)
        console.print(
            f"samples  {finished.folder.path / 'samples.parquet'}", highlight=False, soft_wrap=True
        )
        write_run_report(options, finished.folder.path)
    show_timing(options, finished)
    return code_of_run(finished.result)


def check_json(options: argparse.Namespace) -> None:
    """Refuse `--json` where it has nothing to say."""
    if options.json and not options.dry_run:
        from tenbin.errors import ConfigError

        raise ConfigError(
            "--json is about --dry_run", "the result of a run is in result.json (--output_path)"
        )


def show_dry_run(options: argparse.Namespace, configs: Mapping[str, RunConfig]) -> int:
    """Print what would be asked of each model; the name is empty where there is one."""
    import json

    from tenbin.pipeline.dry_run import dry_run
    from tenbin.report.terminal.console import make_console
    from tenbin.report.terminal.dry_run import heading, print_dry_run
    from tenbin.report.terminal.progress import open_progress

    listener = open_progress()
    found = {name: dry_run(config, listener) for name, config in configs.items()}
    if options.json or getattr(options, "format", "text") == "json":
        shown = {name: one.to_json() for name, one in found.items()}
        print(json.dumps(shown.get("", shown), ensure_ascii=False, indent=2))
        return 0
    console = make_console()
    for name, one in found.items():
        if name:
            console.print(heading(name, one), style="bold", highlight=False)
        print_dry_run(one, console)
    return 0


def tracked(config: RunConfig, listener: Listener) -> Listener:
    """The listener, and where `--export` names trackers one that informs them too."""
    if not config.export:
        return listener
    from tenbin.report.tracking.listener import tracked

    return tracked(config, listener)


def order_report(
    result: RunResult, samples: Callable[[], Iterable[Sample]]
) -> OptionOrderReport | None:
    """How scores depend on the order of options; None where a run asked one order only.

    Args:
        result: The run.
        samples: Gives its samples.
    """
    if not any(config.rotation for config in result.configs.values()):
        return None

    from tenbin.analysis.option_order.report import option_order_report

    return option_order_report(result, samples())


def write_document(path: Path, document: Mapping[str, Any], remedy: str) -> None:
    """Write a report as JSON."""
    import json

    from tenbin.files.disk_errors import write_output

    write_output(path, json.dumps(document, ensure_ascii=False, indent=2) + "\n", remedy)


def show_timing(options: argparse.Namespace, finished: CompletedRun) -> None:
    """Print where the time went, if `--timing` asks for it."""
    if options.timing and finished.timing is not None:
        from tenbin.report.terminal.timing import print_timing

        print_timing(finished.timing.seconds)


def check_report(options: argparse.Namespace) -> None:
    """Fail before hours of work, not after, where `--report` lacks a library."""
    if options.report:
        from tenbin.report.charts.draw import import_altair

        import_altair()


def write_run_report(options: argparse.Namespace, folder: Path) -> None:
    """Write the report of a finished run, if `--report` asks for it."""
    _write_report(options, [folder], folder)


def _write_report(options: argparse.Namespace, runs: Sequence[Path], folder: Path) -> None:
    if options.report and runs:
        from pathlib import Path

        from tenbin.cli.report import write_report

        write_report(
            runs, folder / "report.html" if options.report is True else Path(options.report)
        )


def _check_tracking(config: RunConfig) -> None:
    """Fail before the first model loads where a tracker lacks something."""
    if config.export:
        from tenbin.report.tracking.listener import check_tracking

        check_tracking(config)


def _listener_beside(settings: LogSettings, entry: Entry) -> Listener:
    """The listener of a run in another process; importable, so that it can be named there."""
    from tenbin.report.terminal.progress import open_named_progress

    return tracked(entry.config, open_named_progress(settings, entry.name))


def _run_models(options: argparse.Namespace, file: ModelsFile) -> int:
    """Run all models of a run file and show their scores in one table."""
    from tenbin.cli.flags import flags_of, without_other_source
    from tenbin.cli.log_flags import log_settings
    from tenbin.pipeline.many_models.entries import check_entries, read_entries
    from tenbin.pipeline.many_models.run import run_entries
    from tenbin.report.terminal.log import log_output
    from tenbin.report.terminal.many_models import print_models
    from tenbin.report.terminal.progress import open_progress

    flags = flags_of(options)
    shared = without_other_source(file.shared, flags)
    entries = read_entries(shared, file.models, flags, str(options.config))
    if options.dry_run:
        return show_dry_run(options, {entry.name: entry.config for entry in entries})
    check_report(options)
    for entry in entries:
        _check_tracking(entry.config)
    progress = open_progress()
    failed = check_entries(entries, progress)
    ended_so_far = 0

    def ended_one(one: ModelRun) -> None:
        nonlocal ended_so_far
        ended_so_far += 1
        said = {"known": "complete already", "finished": "finished"}.get(one.state, one.reason)
        say = progress.warning if one.state == "failed" else progress.message
        say(f"{ended_so_far} of {len(entries)} models: {one.name}: {said}")

    def open_listener(entry: Entry) -> Listener:
        progress.message(f"model {entry.name}")
        return tracked(entry.config, open_progress())

    beside = partial(_listener_beside, log_settings(options))
    ended = run_entries(entries, file.at_once, open_listener, beside, ended_one, failed)
    print_models(ended)
    log_output(lambda console: print_models(ended, console))
    folders = [
        entry.result.with_suffix(".run")
        for entry, one in zip(entries, ended, strict=True)
        if one.state != "failed"
    ]
    _write_report(options, folders, entries[0].result.parent)
    without = [one for one in ended if one.state == "failed"]
    if without:
        return ERROR if len(without) == len(ended) else SOME_FAILED
    return max(code_of_run(one.result) for one in ended if one.result is not None)
