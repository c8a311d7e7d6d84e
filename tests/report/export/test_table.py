"""Which scores share a column, what is missing, and what is remarked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tenbin.errors import ConfigError
from tenbin.report.export import name_runs
from tenbin.report.export.names import model_label
from tenbin.report.export.table import ScoreTable, build_table
from tenbin.results.schema import DocumentCounts, PromptEntry
from tests.report.export.made_runs import ACC, OTHER, data_file, detail, run
from tests.results.made_result import cell_config


def heads(table: ScoreTable) -> list[tuple[str, str, str, str]]:
    return [(one.id, one.metric, one.shots, one.variant) for one in table.columns]


def missing(table: ScoreTable) -> list[list[str]]:
    return [[cell.missing for cell in row] for row in table.cells]


def test_the_same_task_shares_a_column() -> None:
    table = build_table([run("a", {"jnli": ACC}), run("b", {"jnli": OTHER})])
    assert heads(table) == [("jnli", "acc", "0", "")]
    values = [cell.score.value for (cell,) in table.cells if cell.score is not None]
    assert values == [0.5, 0.75]
    assert table.notes == ()


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"configs": {"jnli": cell_config(num_fewshot=3)}}, ("3", "")),
        (
            {"data": {"jnli": {"validation": [data_file("c" * 64, version="1.3")]}}},
            ("0", "data 1.3 cccccccc"),
        ),
        (
            {"prompts": {"jnli": PromptEntry(template_hash="c" * 32)}},
            ("0", "template words cccccccc"),
        ),
        (
            {"configs": {"jnli": cell_config(choices_by="generated letters")}},
            ("0", "choices by generated letters"),
        ),
    ],
    ids=["shots", "data", "template", "choices"],
)
def test_what_was_asked_otherwise_has_its_own_column(
    changes: dict[str, Any], told: tuple[str, str]
) -> None:
    table = build_table([run("a", {"jnli": ACC}), run("b", {"jnli": OTHER}, **changes)])
    assert len(table.columns) == 2
    assert (table.columns[1].shots, table.columns[1].variant) == told
    assert [[cell.score is not None for cell in row] for row in table.cells] == [
        [True, False],
        [False, True],
    ]
    assert "asked otherwise: " in table.cells[1][0].missing
    assert table.notes[0].startswith("jnli: asked in 2 ways, not comparable: ")


def test_other_seeds_matter_only_with_examples() -> None:
    first = run("a", {"jnli": ACC}, configs={"jnli": cell_config(seed=1)})
    second = run("b", {"jnli": ACC}, configs={"jnli": cell_config(seed=2)})
    assert len(build_table([first, second]).columns) == 1


def test_other_examples_have_their_own_column() -> None:
    first, second = (
        run(name, {"jnli": ACC}, configs={"jnli": cell_config(num_fewshot=3, seed=seed)})
        for name, seed in (("a", 1), ("b", 2))
    )
    table = build_table([first, second])
    assert [one.variant for one in table.columns] == ["seed 1", "seed 2"]
    assert table.cells[1][0].missing == "asked otherwise: seed 2"


def test_missing_scores_say_why() -> None:
    unscored = {"jcola": {"acc": detail(None, None, n=0, failed=12)}}
    configs = {
        "jnli-1.3-0.3": cell_config(template="0.3"),
        "swept@part": cell_config(task="swept", role="part"),
    }
    table = build_table(
        [
            run("a", {"jnli-1.3-0.2": ACC, "swept": ACC, "xnli": ACC, "jcola": ACC, "pawsx": ACC},
                configs={"jnli-1.3-0.2": cell_config(template="0.2")}),
            run("b", {"jnli-1.3-0.3": ACC, "swept@part": {"acc": (None, None, None)},
                      "jcola": {"acc": (None, None, None)}},
                configs=configs, details=unscored, skipped={"xnli": "not in /home/me"}),
        ]
    )  # fmt: skip
    assert [one.id for one in table.columns] == [
        "jnli-1.3-0.2", "swept", "xnli", "jcola", "pawsx", "jnli-1.3-0.3",
    ]  # fmt: skip
    assert missing(table)[1] == [
        "asked as jnli-1.3-0.3 instead",
        "asked of a part of the documents for each prompt, in a sweep on a budget",
        "skipped: its data could not be had",
        "nothing could be scored: all 12 documents failed",
        "not run",
        "",
    ]
    assert missing(table)[0][-1] == "asked as jnli-1.3-0.2 instead"


def test_only_the_first_metric_unless_all_are_wanted() -> None:
    both = {"acc": (0.5, 0.4, 0.6), "mcc": (-0.1, -0.2, 0.1)}
    assert heads(build_table([run("a", {"jnli": both})])) == [("jnli", "acc", "0", "")]
    table = build_table([run("a", {"jnli": both}), run("b", {"jnli": ACC})], all_metrics=True)
    assert [one.metric for one in table.columns] == ["acc", "mcc"]
    assert missing(table)[1] == ["", "the run does not have this metric"]


def test_groups_come_first_and_only_equal_members_share_a_column() -> None:
    tasks = {"x": ACC, "y": ACC}
    table = build_table(
        [
            run("a", tasks, groups={"japanese": (ACC, ["x", "y"])}),
            run("b", tasks, groups={"japanese": (OTHER, ["y", "x"])}),
            run("c", {"x": ACC}, groups={"japanese": (OTHER, ["x"])}),
        ]
    )
    assert [(one.kind, one.id) for one in table.columns[:3]] == [
        ("group", "japanese"),
        ("group", "japanese"),
        ("task", "x"),
    ]
    assert table.columns[0].variant.startswith("2 tasks, members ")
    assert table.columns[1].variant.startswith("1 task, members ")
    assert [row[0].score is not None for row in table.cells] == [True, True, False]


def test_a_group_whose_task_was_asked_otherwise_has_its_own_column() -> None:
    tasks, group = {"x": ACC}, {"japanese": (ACC, ["x"])}
    shots = {"x": cell_config(task="x", num_fewshot=3)}
    table = build_table(
        [run("a", tasks, groups=group), run("b", tasks, configs=shots, groups=group)]
    )
    assert [one.shots for one in table.columns] == ["0", "3", "0", "3"]
    assert "3-shot" in table.cells[1][0].missing


def test_what_should_be_known_of_a_score_is_remarked() -> None:
    stopped = {"jnli": DocumentCounts(original=100, effective=40, asked=100)}
    limited = {"jnli": DocumentCounts(original=100, effective=40)}
    sample = {"jnli": {"validation": [data_file(source="sample_data")]}}
    chat = {"seed": 1234, "apply_chat_template": True}
    prompts = {"jnli": PromptEntry(template_hash="b" * 32, truncated_documents=1)}
    table = build_table(
        [
            run("a", {"jnli": ACC}, partial=True, n_samples=stopped),
            run("b", {"jnli": ACC}, n_samples=limited, prompts=prompts),
            run("c", {"jnli": ACC}, data=sample, config=chat, details={
                "jnli": {"acc": detail(0.4, 0.6, failed=2)}}),
        ]
    )  # fmt: skip
    assert len(table.columns) == 1
    assert [row[0].remarks for row in table.cells] == [
        (
            "the run was stopped after 40 of 100 documents, which are not a random sample",
            "without a chat template",
        ),
        (
            "40 of 100 documents were asked",
            "1 document truncated to fit the window",
            "without a chat template",
        ),
        (
            "sample rows that come with tenbin, not the published data",
            "with the chat template",
            "examples in one message",
            "2 documents failed",
        ),
    ]


def test_runs_are_called_by_their_model_and_by_their_folder_if_need_be() -> None:
    one, two, three = (
        run(model, {"jnli": ACC}).result for model in ("org/small", "/models/small", "org/small")
    )
    assert model_label(two) == "small"
    model = {"model": "models/small", "revision": None}
    assert model_label(run("small", {"jnli": ACC}, model=model).result) == "small"
    paths = [Path("/runs/before.run"), Path("/runs/x.run"), Path("/runs/after.run")]
    assert name_runs(list(zip(paths, [one, two, three], strict=True))) == [
        "org/small (before)",
        "small",
        "org/small (after)",
    ]
    same = [(Path("/a/result.run"), one), (Path("/b/result.run"), three)]
    assert name_runs(same) == ["org/small (a/result)", "org/small (b/result)"]
    assert name_runs(same, ["old", "new"]) == ["old", "new"]
    for names, told in ((["old"], "1 names for 2 runs"), (["old", "old"], "stands for two runs")):
        with pytest.raises(ConfigError, match=told):
            name_runs(same, names)
    with pytest.raises(ConfigError, match="two runs are called"):
        name_runs([same[0], same[0]])
