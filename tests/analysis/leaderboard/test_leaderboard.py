"""Leaderboards of stored runs: rows, columns, marks, missing cells and ranks."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

import tenbin
from tenbin.analysis.leaderboard.build import LeaderboardBuilder
from tenbin.analysis.leaderboard.build import build_leaderboard as build
from tenbin.analysis.leaderboard.models import Source
from tenbin.analysis.leaderboard.ranking import UnreadableRunsError
from tenbin.analysis.leaderboard.report import LeaderboardCell, LeaderboardReport
from tenbin.backends.scripted import ScriptedBackend
from tenbin.errors import ConfigError, ResultError

pytestmark = pytest.mark.usefixtures("session_cache")


@pytest.fixture(scope="module")
def session_cache(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TENBIN_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def evaluate(name: str, tasks: str, **options: Any) -> tenbin.Run:
    """A model that prefers choices at random, but always the same ones."""

    def score(prompt: str, text: str) -> float:
        return -float(hashlib.sha256(f"{name}{prompt}{text}".encode()).digest()[0])

    given = {"num_fewshot": 0, "sample_data": True, **options}
    return tenbin.evaluate(ScriptedBackend(score=score, fingerprint=name), tasks=tasks, **given)


def source(name: str, run: tenbin.Run, **changed: Any) -> Source:
    return Source(f"runs/{name}.run", run.result.model_copy(update=changed), run.sample_records)


@pytest.fixture(scope="module")
def runs(session_cache: None) -> dict[str, tenbin.Run]:
    return {name: evaluate(name, "jnli,japanese_nli") for name in ("one", "two", "three")}


@pytest.fixture(scope="module")
def sources(runs: dict[str, tenbin.Run]) -> list[Source]:
    return [source(name, run) for name, run in runs.items()]


def cell(report: LeaderboardReport, model: str, column: str) -> LeaderboardCell:
    row = [one.name for one in report.models].index(model)
    return report.cells[row][[one.label for one in report.columns].index(column)]


def labels(report: LeaderboardReport) -> list[str]:
    return [column.label for column in report.columns]


def with_config(run: tenbin.Run, id: str, **changed: Any) -> dict[str, Any]:
    configs = run.result.configs
    return {**configs, id: configs[id].model_copy(update=changed)}


def test_models_by_name_and_groups_first(
    sources: Sequence[Source], runs: dict[str, tenbin.Run]
) -> None:
    report = build(sources)
    assert {one.name for one in report.models} == {"one", "two", "three"}
    assert labels(report) == ["japanese_nli", "jnli", "jnli_neg", "janli"]
    assert [one.section for one in report.columns] == ["groups", *["japanese_nli"] * 3]
    first = [row[0].value for row in report.cells]
    assert first == sorted(first, reverse=True), "rows follow the first column"
    for name, run in runs.items():
        assert cell(report, name, "japanese_nli").value == run.groups["japanese_nli"]["acc"]
        own = cell(report, name, "jnli")
        assert own.value == own.shared_value == run.scores["jnli-1.3-0.2"]["acc"]
        assert own.ranked and own.rank_low >= 1 and own.rank_high <= 3
    column = report.columns[1]
    assert (column.task, column.version, column.template, column.shots) == ("jnli", "1.3", "0.2", 0)
    assert (column.metric, column.language, column.n) == ("acc", "ja", 18)
    assert report.columns[0].members == ("jnli-1.3-0.2", "jnli_neg-1.0-0.2", "janli-1.0-0.2")


def test_best_and_ties_agree_with_the_paired_comparison(
    sources: Sequence[Source], runs: dict[str, tenbin.Run]
) -> None:
    report = build(sources)
    best = max(runs, key=lambda name: runs[name].scores["jnli-1.3-0.2"]["acc"])
    assert cell(report, best, "jnli").best and not cell(report, best, "jnli").tied
    others = [name for name in runs if name != best]
    p_values = [
        tenbin.compare(runs[best], runs[name], cells=["jnli-1.3-0.2"]).table()[0]["p_value"]
        for name in others
    ]
    for name, p in zip(others, tenbin_holm(p_values), strict=True):
        assert cell(report, name, "jnli").p_value == pytest.approx(p)
        assert cell(report, name, "jnli").tied


def tenbin_holm(p_values: Sequence[float]) -> list[float]:
    low, high = sorted(p_values)
    corrected = {low: min(1.0, 2 * low)}
    corrected[high] = max(corrected[low], high) if high != low else corrected[low]
    return [corrected[p] for p in p_values]


def test_other_templates_and_shots_never_share_a_column(sources: Sequence[Source]) -> None:
    other = source("four", evaluate("four", "jnli-1.3-0.3"))
    shots = source("five", evaluate("five", "jnli", num_fewshot=2))
    report = build([*sources, other, shots])
    assert [one for one in labels(report) if one.startswith("jnli ")] == [
        "jnli 0.2 0-shot",
        "jnli 0.3 0-shot",
        "jnli 0.2 2-shot",
    ]
    assert cell(report, "four", "jnli 0.2 0-shot").missing == "run with template 0.3"
    assert cell(report, "five", "jnli 0.2 0-shot").missing == "run with 2-shot"
    assert cell(report, "one", "jnli 0.2 2-shot").missing == "run with 0-shot"
    assert cell(report, "four", "janli").missing == "not run"
    assert cell(report, "five", "japanese_nli").missing == "not run"
    alone = report.columns[labels(report).index("jnli 0.3 0-shot")]
    assert alone.reason == "no other model has a comparable score" and alone.n is None


def test_other_rows_are_another_column(
    sources: Sequence[Source], runs: dict[str, tenbin.Run]
) -> None:
    result = runs["three"].result
    splits = {
        split: [file.model_copy(update={"sha256": "f" * 64, "version": None}) for file in files]
        for split, files in result.data["jnli-1.3-0.2"].items()
    }
    moved = source("three", runs["three"], data={**result.data, "jnli-1.3-0.2": splits})
    report = build([*sources[:2], moved])
    named = [one for one in labels(report) if one.startswith("jnli data")]
    assert len(named) == 2 and "jnli data ffffffff" in named
    assert cell(report, "one", "jnli data ffffffff").missing.startswith("run with other rows (")
    # The group is made of other rows, too.
    assert [one for one in labels(report) if "japanese_nli" in one] == [
        "japanese_nli (1)",
        "japanese_nli (2)",
    ]
    assert cell(report, "three", "japanese_nli (1)").missing is not None


@pytest.mark.parametrize(
    ("changed", "kind", "words"),
    [
        ({"profile": "other"}, "profile", "other here, tenbin there"),
        ({"partial": True}, "partial", "the run here was stopped after"),
    ],
)
def test_what_else_differs_is_marked_and_not_ranked(
    changed: dict[str, Any],
    kind: str,
    words: str,
    sources: Sequence[Source],
    runs: dict[str, tenbin.Run],
) -> None:
    report = build([source("one", runs["one"], **changed), *sources[1:]])
    marked = cell(report, "one", "jnli")
    assert [one.kind for one in marked.differences] == [kind] and words in (
        marked.differences[0].text
    )
    assert marked.value is not None and not marked.ranked and marked.rank_low is None
    assert not cell(report, "two", "jnli").differences
    assert cell(report, "two", "jnli").rank_high <= 2
    allowed = build([source("one", runs["one"], **changed), *sources[1:]], allow=[kind])
    assert cell(allowed, "one", "jnli").ranked and cell(allowed, "one", "jnli").differences


def test_decoding_and_prompts_are_marked(
    sources: Sequence[Source], runs: dict[str, tenbin.Run]
) -> None:
    id, result = "jnli-1.3-0.2", runs["one"].result
    letters = source("one", runs["one"], configs=with_config(runs["one"], id, choices_by="letters"))
    found = cell(build([letters, *sources[1:]]), "one", "jnli").differences
    assert [one.kind for one in found] == ["decoding"]
    hashed = result.prompts[id].model_copy(update={"prompts_hash": "x"})
    config = {**result.config, "system_instruction": "be brief"}
    worded = source("one", runs["one"], prompts={**result.prompts, id: hashed}, config=config)
    found = cell(build([worded, *sources[1:]]), "one", "jnli").differences
    assert [one.kind for one in found] == ["prompts"] and "system_instruction" in found[0].text


def test_a_run_of_fewer_documents_takes_none_from_the_others(sources: Sequence[Source]) -> None:
    short = source("short", evaluate("short", "jnli", limit=5))
    report = build([*sources, short])
    assert report.columns[1].n == 18 and not cell(report, "short", "jnli").ranked
    (mark,) = cell(report, "short", "jnli").differences
    assert (mark.kind, mark.text) == ("partial", "5 documents here, 18 there")
    assert build([short, *sources]).columns[1].n == 18, "whatever comes first"
    allowed = build([*sources, short], allow=["partial"])
    assert allowed.columns[1].n == 5 and cell(allowed, "short", "jnli").ranked


def test_runs_of_one_model_are_one_row(runs: dict[str, tenbin.Run]) -> None:
    result = runs["one"].result
    again = evaluate("one", "jcola")
    later = source("one-again", again, date="2999-01-01T00:00:00+00:00")
    report = build([source("one", runs["one"]), source("two", runs["two"]), later])
    assert len(report.models) == 2
    (row,) = [one for one in report.models if len(one.runs) == 2]
    assert [run.name for run in row.runs] == ["runs/one-again.run", "runs/one.run"]
    assert cell(report, row.name, "jcola").run == 0 and cell(report, row.name, "jnli").run == 1
    chat = source("chat", runs["one"], config={**result.config, "system_instruction": "hi"})
    assert len(build([source("one", runs["one"]), chat]).models) == 2, "other settings"


def test_a_quick_or_interrupted_run_does_not_replace_a_whole_one(sources: Sequence[Source]) -> None:
    newer = {"date": "2999-01-01T00:00:00+00:00"}
    quick = source("quick", evaluate("one", "jnli", limit=5), **newer)
    stopped = replace(sources[0], name="stopped")
    stopped = replace(stopped, result=stopped.result.model_copy(update={"partial": True, **newer}))
    again = replace(sources[0], name="again")
    again = replace(again, result=again.result.model_copy(update=newer))
    for others, shown in (([quick, stopped], "runs/one.run"), ([quick, again], "again")):
        report = build([*sources, *others])
        (row,) = [one for one in report.models if len(one.runs) == 3]
        found = cell(report, row.name, "jnli")
        assert found.n == 18 and row.runs[found.run].name == shown, "the newest of the whole ones"


def test_skipped_and_unscored_cells_say_why(
    sources: Sequence[Source], runs: dict[str, tenbin.Run]
) -> None:
    lone = evaluate("lone", "jnli")
    skipped = source("lone", lone, skipped={"janli-1.0-0.2": "its data cannot be had"})
    report = build([*sources, skipped])
    assert cell(report, "lone", "janli").missing == "its data cannot be had"
    assert cell(report, "lone", "japanese_nli").missing == "only 1 of its 3 tasks"
    result = runs["one"].result
    scores = {**result.results["jnli-1.3-0.2"], "acc": None, "acc_stderr": None}
    empty = source(
        "one",
        runs["one"],
        results={**result.results, "jnli-1.3-0.2": scores},
        failures={"jnli-1.3-0.2": {"timeout": 18}},
    )
    found = cell(build([empty, *sources[1:]]), "one", "jnli")
    assert found.missing == "no document could be scored; 18 × timeout" and found.value is None


def test_languages_with_the_gap_to_english() -> None:
    runs = [evaluate(name, "mlogiqa_mcq_en,mlogiqa_mcq_ja") for name in ("a", "b")]
    report = build([source(f"m{at}", run) for at, run in enumerate(runs)], "language")
    assert [(one.section, one.label) for one in report.columns] == [
        ("mlogiqa_mcq", "en"),
        ("mlogiqa_mcq", "ja"),
    ]
    for row in report.cells:
        assert row[1].gap == pytest.approx(row[1].value - row[0].value) and row[0].gap is None
    assert "gap" not in report.to_json()["cells"][0][0]


def test_templates_of_one_task() -> None:
    runs = [evaluate(name, "jnli-1.3-0.2,jnli-1.3-0.3") for name in ("a", "b")]
    report = build([source(f"m{at}", run) for at, run in enumerate(runs)], "template")
    assert [(one.section, one.label) for one in report.columns] == [
        ("jnli 1.3, 0-shot", "0.2"),
        ("jnli 1.3, 0-shot", "0.3"),
    ]


def test_names_tell_rows_apart(runs: dict[str, tenbin.Run]) -> None:
    def named(*places: tuple[str, str]) -> list[str]:
        sources = []
        for at, (place, model) in enumerate(places):
            told = {"model": {**runs["one"].result.model, "model": model}, "fingerprint": f"f{at}"}
            sources.append(replace(source("x", runs["one"], **told), name=place))
        return [one.name for one in build(sources).models]

    assert named(("a.json", "org/small"), ("b.json", "/models/large")) == ["small", "large"]
    assert named(("base.json", "org/m"), ("runs/chat.run", "org/m")) == ["m base", "m chat"]
    assert named(("m-1.json", "m"), ("r/m-2/result.json", "m")) == ["m-1", "m-2"]
    assert named(("a/x.json", "m"), ("b/x.json", "m")) == ["m x (1)", "m x (2)"]
    assert named(("a.json", "a\nb\tc"), ("b.json", "d"))[0] == "a b c", "one line"


@pytest.mark.parametrize(
    ("aggregation", "reason"),
    [
        ("", "the run does not say how acc is made of documents"),
        ("function mine", "a function of the task aggregates acc"),
    ],
)
def test_scores_that_documents_do_not_give_again_have_no_ranks(
    aggregation: str, reason: str, runs: dict[str, tenbin.Run]
) -> None:
    id, sources = "jnli-1.3-0.2", []
    for name, run in runs.items():
        details = run.result.details
        own = details[id]["acc"].model_copy(update={"aggregation": aggregation})
        changed = {**details, id: {**details[id], "acc": own}}
        sources.append(source(name, run, details=changed, groups={}, group_details={}))
    report = build(sources)
    column = report.columns[labels(report).index("jnli")]
    assert column.reason == reason and column.n is None
    assert cell(report, "one", "jnli").value is not None
    assert cell(report, "one", "janli").ranked, "others have them"


def test_what_cannot_be_built(sources: Sequence[Source], runs: dict[str, tenbin.Run]) -> None:
    with pytest.raises(ConfigError, match="--allow colour"):
        build(sources, allow=["colour"])
    configs = {
        id: one.model_copy(update={"role": "part"})
        for id, one in runs["one"].result.configs.items()
    }
    with pytest.raises(ResultError, match="no score"):
        build([source("one", runs["one"], configs=configs, groups={})])
    lost = replace(sources[0], samples=list)
    with pytest.raises(ResultError, match="no sample has an outcome"):
        build([lost, *sources[1:]])


def test_ranks_follow_scores(sources: Sequence[Source]) -> None:
    builder = LeaderboardBuilder(sources)
    before = builder.report()
    assert [one.value for one in before.cells[0]] and not any(
        one.ranked for row in before.cells for one in row
    )
    steps: list[tuple[str, int, int]] = []
    builder.rank(watch=lambda *step: steps.append(step))
    after = builder.report()
    assert after == build(sources)
    assert [[one.value for one in row] for row in after.cells] == [
        [one.value for one in row] for row in before.cells
    ]
    assert ("reading runs", 0, 3) in steps and steps[-1] == ("ranking columns", 3, 4)


def test_chance_is_the_mean_over_documents(sources: Sequence[Source]) -> None:
    report = build(sources)
    chances = {column.label: column.chance for column in report.columns}
    assert chances["jnli"] == pytest.approx(1 / 3)
    members = [chances[name] for name in ("jnli", "jnli_neg", "janli")]
    assert chances["japanese_nli"] == pytest.approx(sum(map(float, members)) / 3)  # type: ignore[arg-type]


def test_all_unreadable_runs_are_named(sources: Sequence[Source]) -> None:
    def broken() -> Any:
        raise ResultError("cut short")

    damaged = [replace(one, samples=broken) for one in sources[:2]]
    with pytest.raises(UnreadableRunsError, match="cut short") as caught:
        LeaderboardBuilder([*damaged, sources[2]]).rank()
    assert set(caught.value.reasons) == {one.name for one in damaged}


def test_a_history_has_the_runs_of_one_name(runs: dict[str, tenbin.Run]) -> None:
    called = {"model": {"model": "here/mine"}}
    old = source("old", runs["one"], date="2026-01-01", tags=["first"], note="begun", **called)
    new = source("new", runs["two"], date="2026-02-01", **called)
    builder = LeaderboardBuilder([old, new, source("else", runs["three"])])
    (history,) = builder.histories()
    assert history.name == "mine" and [run.name for run in history.runs] == [new.name, old.name]
    assert history.runs[1].tags == ("first",) and history.runs[1].note == "begun"
    assert history.runs[0].fingerprint != history.runs[1].fingerprint
    report = builder.report()
    found = {report.columns[one.column].label: one.value for one in history.runs[1].scores}
    assert found["jnli"] == runs["one"].scores["jnli-1.3-0.2"]["acc"]
    assert found["japanese_nli"] == runs["one"].groups["japanese_nli"]["acc"]
