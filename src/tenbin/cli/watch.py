"""`tenbin watch`: evaluate the checkpoints of a training as they appear."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tenbin.cli.exit_codes import ERROR, HELP, OK, SOME_FAILED
from tenbin.errors import ConfigError, TenbinError

if TYPE_CHECKING:
    from tenbin.analysis.curve.report import CurveReport
    from tenbin.config import RunConfig
    from tenbin.pipeline.progress import Listener
    from tenbin.pipeline.watch.evaluation import Evaluated
    from tenbin.pipeline.watch.loop import Watch
    from tenbin.pipeline.watch.training import Checkpoint

EXAMPLES = f"""examples:
  tenbin watch out/my-training --tasks jnli,jcommonsenseqa --num_fewshot 3 \\
      --output_path curves --report
  tenbin watch out/my-training --suite japanese --limit 200 --order even \\
      --until_idle 3600
  tenbin watch EleutherAI/pythia-70m --pattern "step*000" --tasks lambada \\
      --include_path lm_eval --once
  tenbin report --curve curves -o curves.html

{HELP}"""
CURVE = "curve.json"
_MOST_LINES = 12
"""Curves whose news are printed after each checkpoint."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tenbin watch`."""
    from tenbin.cli.flags import add_options
    from tenbin.config.options import OUTPUT

    parser.add_argument(
        "training",
        metavar="DIR|HUB_ID",
        help="folder of a training, which has a folder for each checkpoint (checkpoint-500, "
        "step_500, iter_0000500, …), or a repository on the hub with a revision for each",
    )
    _add_own(parser.add_argument_group("which checkpoints, and until when"))
    groups = add_options(parser, "watch", _HELPS)
    _add_output(groups[OUTPUT])


_HELPS = {
    "output_path": "folder for the runs of all checkpoints, watch.json and curve.json (default: "
    "runs/NAME of the training)",
    "model_args": "as for run, without the checkpoint itself: tokenizer, dtype, …; pretrained is "
    "the base model of checkpoints that are adapters",
    "extra_metrics": "further metrics (default: gold_bits_per_byte, if a task has choices); "
    "jnli*:acc_pmi for some tasks only",
}


def _add_own(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--pattern",
        metavar="GLOBS",
        help="names of checkpoints, such as 'model-*' (default: every name with a step in it)",
    )
    group.add_argument(
        "--order",
        choices=("newest", "even", "oldest"),
        default="newest",
        help="which of those that wait is next; even: the one farthest from all that were "
        "evaluated (default: newest)",
    )
    group.add_argument(
        "--backlog",
        type=_count(1),
        default=4,
        metavar="N",
        help="checkpoints that wait at a time, spread evenly; others are put off until there is "
        "time (default: 4)",
    )
    group.add_argument(
        "--once", action="store_true", help="evaluate what is complete now, then end"
    )
    group.add_argument(
        "--until_idle",
        type=_seconds,
        metavar="SECONDS",
        help="end after this time without anything new (default: go on until it is stopped)",
    )
    group.add_argument(
        "--poll", type=_seconds, default=30.0, metavar="SECONDS", help="between looks (default: 30)"
    )
    group.add_argument(
        "--settle",
        type=_seconds,
        default=20.0,
        metavar="SECONDS",
        help="how long the files of a checkpoint must have been left alone (default: 20)",
    )
    group.add_argument(
        "--retries",
        type=_count(0),
        default=2,
        metavar="N",
        help="further attempts at a checkpoint that fails (default: 2)",
    )


def _add_output(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--report",
        nargs="?",
        const=True,
        metavar="FILE",
        help="also write the curves as an HTML page after each checkpoint (default: report.html "
        "in the folder)",
    )
    group.add_argument(
        "--metric",
        metavar="NAMES",
        help="show curves of these metrics, or all (default: the first of each task, and "
        "gold_bits_per_byte)",
    )
    group.add_argument(
        "--config", metavar="FILE", help="run file: YAML whose keys are the options of `tenbin run`"
    )


def _seconds(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 <= found < 1e9:
        raise argparse.ArgumentTypeError(f"a number of seconds, not {text!r}")
    return found


def _count(least: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"a whole number of {least} or more, not {text!r}")
        return int(text)

    return read


def execute(options: argparse.Namespace) -> int:
    """Evaluate checkpoints until it is stopped, and print the curves."""
    from tenbin.cli.run import check_report
    from tenbin.report.terminal.progress import open_progress

    check_report(options)
    listener = open_progress()
    found, growing = _watch(options, listener)
    with _cluster(growing.config):
        book = found.run()
    evaluated, failed = book.of("evaluated", "same"), book.of("failed")
    if not evaluated and not failed:
        raise ConfigError(
            f"{options.training}: no checkpoint that could be evaluated",
            "checkpoints are folders such as checkpoint-500 with config.json and weights; "
            "--pattern names others",
        )
    if evaluated:
        growing.end()
    return OK if not failed else SOME_FAILED if evaluated else ERROR


def _watch(options: argparse.Namespace, listener: Listener) -> tuple[Watch, _Growing]:
    """Everything that can be wrong is found here, before a model loads."""
    from tenbin.cli.flags import config_from
    from tenbin.config import split_list
    from tenbin.pipeline.watch.evaluation import RunEvaluator, check_watchable, with_gold_bits
    from tenbin.pipeline.watch.loop import Watch, WatchSettings
    from tenbin.pipeline.watch.store import RunStore, check_folder
    from tenbin.pipeline.watch.training import open_training

    config = config_from(options)
    check_watchable(config)
    training = open_training(
        options.training,
        split_list(options.pattern or ""),
        options.settle,
        config.model_args.get("pretrained"),
    )
    config = with_gold_bits(config)
    folder = Path(config.output_path or Path("runs") / training.name)
    check_folder(folder)
    evaluator = RunEvaluator(config, RunStore(folder, config), listener)
    growing = _Growing(options, config, folder, listener, training.name)
    settings = WatchSettings(
        options.order,
        options.backlog,
        options.poll,
        options.retries,
        options.once,
        options.until_idle,
    )
    watch = Watch(training, evaluator, settings, listener, folder, growing.grow)
    return watch, growing


def _cluster(config: RunConfig) -> Any:
    """With workers: one cluster for all checkpoints."""
    from contextlib import nullcontext

    from tenbin.pipeline.run import backend_settings

    workers = backend_settings(config).workers
    if workers is None:
        return nullcontext()
    from tenbin.backends.ray.cluster import joined_cluster

    return joined_cluster(workers.address, (workers.count or 1) * workers.num_cpus)


class _Growing:
    """The curves of all checkpoints so far: curve.json, and the page if it is asked for."""

    def __init__(
        self,
        options: argparse.Namespace,
        config: RunConfig,
        folder: Path,
        listener: Listener,
        title: str,
    ) -> None:
        from tenbin.config import split_list

        self.config, self._folder, self._listener = config, folder, listener
        self._title = title
        self._metrics = split_list(options.metric or "")
        self._page = None
        if options.report:
            named = options.report
            self._page = folder / "report.html" if named is True else Path(named)

    def grow(self, checkpoint: Checkpoint, found: Evaluated) -> None:
        """Write the curves anew, and say what is new at this step.

        What goes wrong here is said: the checkpoints that follow can be evaluated all the same.
        """
        from tenbin.report.terminal.curve import news

        try:
            report = self._report()
            self._write(report)
        except TenbinError as error:
            self._listener.message(f"the curves could not be written: {error}")
            return
        lines = list(news(report, checkpoint.step))
        for line in lines[:_MOST_LINES]:
            self._listener.message(f"step {checkpoint.step:,}: {line}")
        if len(lines) > _MOST_LINES:
            self._listener.message(f"and {len(lines) - _MOST_LINES} more curves: {CURVE}")

    def end(self) -> None:
        """Print the curves, and say where they are."""
        from tenbin.report.terminal.console import make_console
        from tenbin.report.terminal.curve import print_curve

        report = self._report()
        self._write(report)
        print_curve(report)
        console = make_console()
        console.print(f"runs     {self._folder}", highlight=False, soft_wrap=True)
        console.print(f"curves   {self._folder / CURVE}", highlight=False, soft_wrap=True)
        if self._page is not None:
            console.print(f"report   {self._page}", highlight=False, soft_wrap=True)

    def _report(self) -> CurveReport:
        from tenbin.analysis.curve.build import build_curve
        from tenbin.report.stored_runs import read_sources

        sources, unread = read_sources([self._folder])
        progress = self._listener.prepare
        return build_curve(
            sources,
            self._metrics,
            unread,
            lambda what, done, total: progress(what, done, total, "curves"),
        )

    def _write(self, report: CurveReport) -> None:
        from tenbin.cli.run import write_document

        document = report.to_json()
        write_document(self._folder / CURVE, document, "name another folder with --output_path")
        if self._page is not None:
            from tenbin.report.html.build import build_page
            from tenbin.report.html.write import write_page
            from tenbin.results.read import read_run

            newest = report.checkpoints[-1].runs[0]
            page = build_page([read_run(newest)], title=self._title, curve=report)
            write_page(page, self._page)
