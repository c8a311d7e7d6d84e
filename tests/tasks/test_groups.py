"""Groups and suites of the catalogue: members exist, and averages are what people quote."""

from __future__ import annotations

import pytest

from tenbin.config.profiles import PROFILES
from tenbin.errors import TaskError
from tenbin.metrics.registry import metric_names
from tenbin.records import Group, GroupMean
from tenbin.tasks.groups import all_members, group_definitions, suite_definitions
from tenbin.tasks.registry import Registry, load_registry
from tenbin.tasks.selection import Selected


@pytest.fixture(scope="module", params=[None, "zero-shot-chat", "few-shot-likelihood"])
def registry(request: pytest.FixtureRequest) -> Registry:
    return load_registry(profile=request.param)


def usable() -> list[str]:
    return [name for name, block in group_definitions().items() if not block.missing]


@pytest.mark.parametrize("name", usable())
def test_every_member_of_a_group_exists_and_has_its_metric(registry: Registry, name: str) -> None:
    selected = registry.select([name])
    group = selected[0].group
    assert group is not None and group.tasks() == tuple(
        dict.fromkeys(one.task.name for one in selected)
    )
    metrics = group.member_metrics()
    for one in selected:
        known = [metric for metric, _ in metric_names(one.task)]
        assert metrics[one.task.name] in known, f"{one.task.name} has {known}"


@pytest.mark.parametrize("name", suite_definitions())
def test_every_member_of_a_suite_exists(registry: Registry, name: str) -> None:
    selected = registry.expansion(None).suite(name)
    assert len({one.full_id for one in selected}) >= 4
    assert not [one for one in selected if one.task.kind == "perplexity"]


@pytest.mark.parametrize("name", suite_definitions())
def test_chat_regime_reads_generated_answers(name: str) -> None:
    selected = load_registry(profile="zero-shot-chat").expansion(None).suite(name)
    if name != "jp_stable":
        assert {one.task.kind for one in selected} == {"generate"}
    assert {one.shots for one in selected} == {0}


def test_every_group_of_a_suite_is_defined() -> None:
    for suite in suite_definitions().values():
        assert set(suite.groups) <= set(usable())


def test_missing_members_are_missing(registry: Registry) -> None:
    for name, block in group_definitions().items():
        for task in block.missing:
            assert task in {member.task for member in all_members(name)}
            assert task not in registry.tasks, f"{name}: {task} exists now: take it from missing"


def test_profiles_that_members_name_exist() -> None:
    for name in group_definitions():
        for member in all_members(name):
            assert {*member.only, *member.without} <= set(PROFILES)


def test_a_group_with_missing_members_is_refused_with_the_reason() -> None:
    with pytest.raises(TaskError, match="jaqket_v2: tenbin has no such task"):
        load_registry().select(["jp_stable_8"])


def test_an_unknown_suite_is_refused_with_a_guess() -> None:
    with pytest.raises(TaskError, match="no such suite") as caught:
        load_registry().expansion(None).suite("jp_stble")
    assert "jp_stable" in caught.value.hint


def test_jp_stable_8_is_the_plain_mean_of_eight_percentages() -> None:
    """stablelm-instruct-alpha-7b is listed with 54.71."""
    block = group_definitions()["jp_stable_8"]
    listed = {
        "jcommonsenseqa-1.1": 82.22,
        "jnli-1.1": 52.05,
        "marc_ja-1.1": 82.88,
        "jsquad-1.1": 63.26,
        "jaqket_v2": 74.83,
        "xlsum_ja": 7.79,
        "xwinograd_ja": 72.68,
        "mgsm_native_cot_ja": 2.0,
    }
    names = [str(member.task) for member in block.members]
    metrics = tuple((str(m.task), m.metric or str(block.metric)) for m in block.members)
    group = Group("jp_stable_8", "", tuple(names), mean=GroupMean(metrics, block.mean))
    weights = group.weights(dict.fromkeys(names, 100))
    assert round(sum(weights[name] * listed[name] for name in listed), 2) == 54.71
    assert [member.shots for member in block.members] == [3, 3, 3, 2, 1, 1, 0, 5]
    assert block.percent


def test_jp_stable_4_has_the_examples_of_the_documented_command() -> None:
    selected = load_registry().select(["jp_stable_4"])
    assert [(one.full_id, one.shots) for one in selected] == [
        ("jsquad-1.1-0.2", 2),
        ("jcommonsenseqa-1.1-0.2", 3),
        ("jnli-1.1-0.2", 3),
        ("marc_ja-1.1-0.2", 3),
    ]


def test_the_users_template_wins_over_a_definition() -> None:
    selected: list[Selected] = load_registry().select(["jp_stable_4"], template="0.3")
    assert {one.template for one in selected} == {"0.3"}


def test_weights_of_nested_groups() -> None:
    inner = Group("languages", "", ("a", "b"), mean=GroupMean((), hidden=True))
    plain = Group("top", "", (inner, "c"), mean=GroupMean(()))
    sizes = {"a": 10, "b": 30, "c": 60}
    assert plain.weights(sizes) == {"a": 0.25, "b": 0.25, "c": 0.5}
    inner = Group("languages", "", ("a", "b"), mean=GroupMean((), "size", hidden=True))
    by_size = Group("top", "", (inner, "c"), mean=GroupMean((), "size"))
    assert by_size.weights(sizes) == pytest.approx({"a": 0.1, "b": 0.3, "c": 0.6})
