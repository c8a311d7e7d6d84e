"""The loop, with folders that appear, change and vanish while it goes on."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tenbin.errors import ConfigError
from tenbin.pipeline.watch.book import Book
from tenbin.pipeline.watch.loop import Clock, Watch, WatchSettings
from tenbin.pipeline.watch.training import FolderTraining

from .made import FakeEvaluator, Lines, Time, age, fails, weights, write_checkpoint


class World:
    """A training, an evaluator and what was said."""

    def __init__(self, folder: Path) -> None:
        self.root, self.output = folder / "training", folder / "runs"
        self.root.mkdir()
        self.output.mkdir()
        self.clock, self.lines = Time(), Lines()
        self.evaluator = FakeEvaluator(self.clock)

    def checkpoint(self, name: str, **given: Any) -> Path:
        return write_checkpoint(self.root / name, **given)

    def later(self, seconds: float, happen: Callable[[], Any]) -> None:
        self.clock.events.append((seconds, happen))

    def watch(self, patterns: tuple[str, ...] = (), settle: float = 20.0, **settings: Any) -> Book:
        training = FolderTraining(self.root, patterns, settle, clock=self.clock.now)
        watch = Watch(
            training,
            self.evaluator,
            WatchSettings(**settings),
            self.lines,
            self.output,
            clock=Clock(self.clock.now, self.clock.sleep),
        )
        return watch.run()

    def told(self) -> dict[str, Any]:
        document = json.loads((self.output / "watch.json").read_text())
        return {one["name"]: one for one in document["checkpoints"]}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_once_evaluates_what_is_there(world: World) -> None:
    for at, name in enumerate(["checkpoint-100", "step_200", "iter_0000300", "notes"]):
        world.checkpoint(name, value=at)
    book = world.watch(once=True)
    assert world.evaluator.asked == ["iter_0000300", "step_200", "checkpoint-100"]
    assert [entry.step for entry in book.of("evaluated")] == [100, 200, 300]
    assert world.told()["step_200"] == {
        "name": "step_200",
        "step": 200,
        "state": "evaluated",
        "run": "step_200.json",
    }
    assert "2 of 3 done, about 10 s left" in world.lines.said[-1]


def test_checkpoints_are_evaluated_as_they_appear(world: World) -> None:
    for at, step in enumerate((100, 200, 300)):
        world.later(60.0 * at, lambda s=step: world.checkpoint(f"checkpoint-{s}", value=s))
    world.watch(until_idle=120, poll=5)
    assert world.evaluator.asked == ["checkpoint-100", "checkpoint-200", "checkpoint-300"]
    assert 240 <= world.clock.moment <= 300, "it ends two minutes after the last"
    assert world.lines.said[0] == "no checkpoint yet in training"


def test_a_half_written_folder_waits_until_it_is_whole(world: World) -> None:
    folder = world.root / "checkpoint-100"
    folder.mkdir()
    content = weights(1)

    def write(name: str, text: bytes) -> Callable[[], int]:
        return lambda: (folder / name).write_bytes(text)

    world.later(30, write("config.json", b"{}"))
    world.later(60, write("model.safetensors", content[:20]))
    world.later(90, write("model.safetensors", content))
    world.later(90, lambda: age(folder))
    world.watch(poll=10, until_idle=100, settle=0)
    assert world.evaluator.asked == ["checkpoint-100"]
    assert [
        line.partition(": ")[2].split(":")[0] for line in world.lines.about("not complete")
    ] == [
        "no config.json yet",
        "no weights yet",
        f"{folder}/model.safetensors cannot be loaded",
    ]
    assert world.clock.moment >= 90 + 10


def test_files_that_still_change_are_not_read(world: World) -> None:
    """A trainer writes its state after the weights, and stamps are of its own clock."""
    folder = world.checkpoint("checkpoint-100", old=False)
    for at in range(1, 9):
        world.later(10.0 * at, lambda n=at: (folder / "optimizer.pt").write_bytes(b"x" * n))
    # The fake clock is decades before the stamps of the files: only two equal looks count.
    world.watch(poll=5, settle=20, once=True)
    assert world.evaluator.asked == ["checkpoint-100"]
    assert world.clock.moment >= 80 + 20


def test_once_says_what_it_does_not_wait_for(world: World) -> None:
    world.checkpoint("checkpoint-100")
    (world.checkpoint("checkpoint-200", value=2) / "config.json").unlink()
    book = world.watch(once=True)
    assert world.evaluator.asked == ["checkpoint-100"]
    assert [entry.name for entry in book.of("waiting")] == ["checkpoint-200"]
    assert world.lines.said[-1] == (
        "not complete, and not waited for: checkpoint-200 (no config.json yet)"
    )


def test_a_renamed_folder_is_not_run_twice(world: World) -> None:
    folder = world.checkpoint("checkpoint-100")
    world.later(50, lambda: folder.rename(world.root / "step_100"))
    book = world.watch(poll=10, until_idle=100)
    assert world.evaluator.asked == ["checkpoint-100", "step_100"]
    assert [one.name for one in book.of("evaluated")] == ["checkpoint-100"]
    (same,) = book.of("same")
    assert (same.name, same.reason) == ("step_100", "the same weights as checkpoint-100")
    assert world.lines.about("not run again") == [
        "step_100: the same weights as checkpoint-100: not run again"
    ]


def test_a_folder_removed_while_it_is_read_is_skipped(world: World) -> None:
    first = world.checkpoint("checkpoint-100")
    world.checkpoint("checkpoint-200", value=2)

    def removed() -> None:
        shutil.rmtree(first)
        raise FileNotFoundError(2, "no such file", str(first / "model.safetensors"))

    world.evaluator.faults["checkpoint-100"] = [removed]
    book = world.watch(once=True, order="oldest")
    assert world.evaluator.asked == ["checkpoint-100", "checkpoint-200"]
    assert [one.name for one in book.of("removed")] == ["checkpoint-100"]
    assert world.lines.about("removed") == ["checkpoint-100 was removed while it was read: skipped"]


def test_a_folder_removed_before_its_turn_is_said(world: World) -> None:
    for step in (100, 200):
        world.checkpoint(f"checkpoint-{step}", value=step)
    world.evaluator.faults["checkpoint-200"] = [
        lambda: shutil.rmtree(world.root / "checkpoint-100")
    ]
    book = world.watch(once=True)
    assert world.evaluator.asked == ["checkpoint-200"]
    assert book.entries["checkpoint-100"].reason == "removed before it was evaluated"


def test_a_folder_changed_while_it_is_read_waits(world: World) -> None:
    folder = world.checkpoint("checkpoint-100")

    def changed() -> None:
        (folder / "model.safetensors").write_bytes(weights(9) + b"more")
        fails()

    world.evaluator.faults["checkpoint-100"] = [changed]
    world.later(100, lambda: (folder / "model.safetensors").write_bytes(weights(9)))
    world.later(100, lambda: age(folder))
    book = world.watch(poll=10, until_idle=200)
    assert world.evaluator.asked == ["checkpoint-100"] * 2
    assert [one.name for one in book.of("evaluated")] == ["checkpoint-100"]
    assert world.lines.about("changed while it was read")


def test_attempts_are_limited_and_farther_and_farther_apart(world: World) -> None:
    world.checkpoint("checkpoint-100")
    world.checkpoint("checkpoint-200", value=2)
    world.evaluator.faults["checkpoint-200"] = [fails] * 9
    book = world.watch(once=True, retries=2, poll=30)
    assert world.evaluator.asked == [
        "checkpoint-200",
        "checkpoint-100",
        "checkpoint-200",
        "checkpoint-200",
    ]
    (failed,) = book.of("failed")
    assert failed.attempts == 3 and "it cannot be loaded" in failed.reason
    said = world.lines.about("failed")
    assert said[0].endswith("tried again in 30 s") and said[1].endswith("tried again in 1 min 00 s")
    assert said[2].startswith("checkpoint-200 failed 3 times: it cannot be loaded")


def test_a_fault_that_nobody_foresaw_stops_no_other(world: World) -> None:
    world.checkpoint("checkpoint-100")
    world.checkpoint("checkpoint-200", value=2)

    def broken() -> None:
        raise ZeroDivisionError("by accident")

    world.evaluator.faults["checkpoint-200"] = [broken]
    book = world.watch(once=True, retries=0)
    assert book.entries["checkpoint-200"].reason == "ZeroDivisionError: by accident"
    assert [one.name for one in book.of("evaluated")] == ["checkpoint-100"]
    assert world.lines.about("Traceback")


def test_mended_files_are_tried_again(world: World) -> None:
    folder = world.checkpoint("checkpoint-100")
    world.evaluator.faults["checkpoint-100"] = [fails]
    world.later(60, lambda: (folder / "tokenizer.json").write_text("{}"))
    book = world.watch(retries=0, poll=10, until_idle=100, settle=5)
    assert world.evaluator.asked == ["checkpoint-100"] * 2
    assert book.entries["checkpoint-100"].state == "evaluated"


def test_a_training_that_is_faster_is_covered_evenly_and_the_rest_is_kept(world: World) -> None:
    for step in range(100, 900, 100):
        world.checkpoint(f"checkpoint-{step}", value=step // 100)
    book = world.watch(once=True, order="newest", backlog=3)
    first = world.evaluator.asked[:3]
    assert first[0] == "checkpoint-800" and "checkpoint-100" in {*first, *world.evaluator.asked}
    assert sorted(world.evaluator.asked) == sorted(f"checkpoint-{s}" for s in range(100, 900, 100))
    (said, *_) = world.lines.about("put off")
    assert said.startswith("8 checkpoints wait, more than --backlog 3: put off until there is time")
    assert len(book.of("evaluated")) == 8


def test_a_pattern_takes_the_place_of_names_that_tell_a_step(world: World) -> None:
    world.checkpoint("model-7")
    world.checkpoint("checkpoint-9", value=2)
    (world.checkpoint("model-final", value=3) / "trainer_state.json").write_text(
        '{"global_step": 11}'
    )
    world.checkpoint("model-other", value=4)
    age(world.root / "model-final")
    book = world.watch(("model-*",), once=True)
    assert [(one.name, one.step) for one in book.of("evaluated")] == [
        ("model-7", 7),
        ("model-final", 11),
    ]
    assert len(world.lines.about("model-other: its name tells no step")) == 1


def test_an_adapter_needs_its_base_and_a_whole_model_none(world: World) -> None:
    folder = world.root / "checkpoint-5"
    folder.mkdir()
    (folder / "adapter_config.json").write_text('{"base_model_name_or_path": "owner/base"}')
    (folder / "adapter_model.safetensors").write_bytes(weights(1))
    age(folder)

    def arguments(base: str | None) -> Any:
        (found,) = FolderTraining(world.root, (), 0, base).look().ready
        return found.arguments

    assert arguments(None) == {"peft": str(folder), "pretrained": "owner/base"}
    assert arguments("mine") == {"peft": str(folder)}
    world.checkpoint("checkpoint-6")
    with pytest.raises(ConfigError, match="checkpoint-6 holds a whole model"):
        FolderTraining(world.root, (), 0, "mine").look()
    with pytest.raises(ConfigError, match="no such folder"):
        FolderTraining(world.root / "typo")
