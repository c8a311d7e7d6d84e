"""What a worker takes, what it refuses, and what many of them say together; no cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from tenbin.backends.base import BackendSettings, BaseBackend, Capabilities, Workers
from tenbin.backends.ray.backend import RayBackend
from tenbin.backends.ray.capacity import device_for, memory_share, worker_count, worker_resources
from tenbin.backends.ray.worker import Answered, Expected, Opened, Refused, Worker, python_version
from tenbin.backends.ray.worker_pool import _reason
from tenbin.backends.registry import open_backend
from tenbin.errors import BackendError, ConfigError, ModelLost
from tenbin.records import Request, Response, Rolling
from tenbin.records.model_info import merged
from tenbin.version import __version__

_GPUS = {"CPU": 64.0, "GPU": 8.0}
_NONE = {"CPU": 4.0}


@pytest.mark.parametrize(
    ("model", "arguments", "device", "there", "gpus"),
    [
        ("hf", {}, None, _GPUS, 1.0),
        ("hf", {}, None, _NONE, 0.0),
        ("hf", {}, "cuda", _NONE, 1.0),
        ("hf", {}, "cpu", _GPUS, 0.0),
        ("hf", {"device": "cpu"}, None, _GPUS, 0.0),
        ("vllm", {"tensor_parallel_size": "4"}, None, _GPUS, 4.0),
        ("vllm", {"tensor_parallel_size": 2, "pipeline_parallel_size": 2}, None, _GPUS, 4.0),
        ("openai", {}, None, _GPUS, 0.0),
        ("scripted", {}, None, _GPUS, 0.0),
    ],
)
def test_gpus_of_a_worker(
    model: str, arguments: dict[str, Any], device: str | None, there: Any, gpus: float
) -> None:
    settings = BackendSettings(model, arguments, device=device)
    assert worker_resources(settings, Workers(2), there)["GPU"] == gpus


def test_the_device_is_settled_before_workers_look() -> None:
    settings = BackendSettings("hf")
    assert device_for(settings, {"CPU": 1, "GPU": 0.5}) == "cuda"
    assert device_for(settings, {"CPU": 1, "GPU": 0}) == "cpu"
    assert device_for(replace(settings, device="cuda:0"), {"CPU": 1, "GPU": 1}) == "cuda:0"
    assert device_for(BackendSettings("scripted"), {"CPU": 1, "GPU": 0}) is None
    assert memory_share({"CPU": 1, "GPU": 0.25}) == 0.25
    assert memory_share({"CPU": 1, "GPU": 4}) == 1.0


def test_contradictions_are_refused() -> None:
    with pytest.raises(ConfigError, match="sees no GPU"):
        worker_resources(BackendSettings("hf", device="cuda"), Workers(2, num_gpus=0.0), _GPUS)
    with pytest.raises(ConfigError, match="this machine has 8"):
        worker_count(Workers(9), {"CPU": 1, "GPU": 1}, _GPUS)
    spread = {"tensor_parallel_size": 2, "distributed_executor_backend": "ray"}
    with pytest.raises(ConfigError, match="beside those that its worker has"):
        worker_resources(BackendSettings("vllm", spread), Workers(2), _GPUS)


def test_as_many_workers_as_there_is_room_for() -> None:
    each = {"CPU": 4.0, "GPU": 0.5}
    assert worker_count(Workers(address="auto"), each, _GPUS) == 16
    assert worker_count(Workers(40, "auto"), each, _GPUS) == 40  # more may come
    assert worker_count(Workers(address="auto"), each, {"CPU": 1.0}) == 1


def _worker(**changed: Any) -> Worker:
    settings = BackendSettings("scripted")
    expected = Expected(__version__, python_version(), open_backend(settings).fingerprint, 1)
    return Worker(settings, replace(expected, **changed))


def test_a_worker_opens_and_answers() -> None:
    worker = _worker()
    assert isinstance(worker.open(), Opened)
    first, second = worker.answer([Rolling("a", "x")]), worker.answer([Rolling("b", "y")])
    assert isinstance(first, Answered) and isinstance(second, Answered)
    assert [key for key, _ in [*first.pairs, *second.pairs]] == ["a", "b"]
    assert first.description is not None and second.description is None  # no news


@pytest.mark.parametrize("resumable", [True, False])
def test_an_interrupted_run_is_cut_into_the_same_shards(resumable: bool) -> None:
    class Wrapped(BaseBackend):
        fingerprint = "wrapped"
        capabilities = Capabilities(resumable=resumable)

    each = {"CPU": 1.0, "GPU": 0.0}
    backend = RayBackend(Wrapped(), BackendSettings("any"), Workers(2, shard_size=8), 2, each)
    requests = [Rolling(f"k{at:03}", f"text {at:03}") for at in range(200)]
    whole = [[r.key for r in shard.requests] for shard in backend._shards(requests, frozenset())]
    assert len(whole) > 20 and sum(map(len, whole)) == 200
    # Two shards are known, and a part of a third.
    known = frozenset((*whole[0], *whole[3], whole[7][0]))
    rest = list(backend._shards(requests, known))
    expected = [shard for at, shard in enumerate(whole) if at not in (0, 3)]
    if not resumable:
        expected[5] = whole[7][1:]
    assert [[request.key for request in shard.requests] for shard in rest] == expected
    assert {key for shard in rest for key in shard.known} == ({whole[7][0]} if resumable else set())


def test_a_worker_passes_known_requests_on(monkeypatch: pytest.MonkeyPatch) -> None:
    worker, passed = _worker(), []
    worker.open()
    monkeypatch.setattr(worker._backend, "run", lambda *given: passed.append(given) or [])
    worker.answer([Rolling("a", "x")])
    worker.answer([Rolling("a", "x"), Rolling("b", "y")], frozenset({"a"}))
    assert [len(given) for given in passed] == [1, 2] and passed[1][1] == {"a"}


def test_a_worker_whose_model_is_gone_is_a_death_and_no_refusal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    worker = _worker()
    worker.open()

    def run(requests: Sequence[Request]) -> Iterator[tuple[str, Response]]:
        raise lost

    lost: Exception = ModelLost("the engine was killed")
    monkeypatch.setattr(worker._backend, "run", run)
    with pytest.raises(ModelLost):
        worker.answer([Rolling("a", "x")])
    wrapped = RuntimeError("a long traceback")
    wrapped.cause = lost  # type: ignore[attr-defined]
    assert _reason(wrapped) == "the engine was killed"
    lost = BackendError("a file is missing")
    assert isinstance(worker.answer([Rolling("a", "x")]), Refused)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"version": "0.0.0"}, "the driver tenbin 0.0.0"),
        ({"python": "2.7"}, "on Python 2.7"),
        ({"fingerprint": "other"}, "another model under the same name"),
    ],
)
def test_a_worker_that_is_not_what_the_driver_means(changed: dict[str, str], said: str) -> None:
    refused = _worker(**changed).open()
    assert isinstance(refused, Refused)
    assert said in refused.message and refused.hint


def test_why_a_worker_died_is_said_in_a_line() -> None:
    ray_says = (
        "The actor died unexpectedly before finishing this task.\n\tclass_name: Worker\n\tpid: 12\n"
        "The actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR "
        "Some common causes include: (1) the process was killed"
    )
    expected = (
        "The actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR"
    )
    assert _reason(RuntimeError(ray_says)) == expected
    assert _reason(RuntimeError("")) == "RuntimeError"
    wrapped = RuntimeError("a long traceback")
    wrapped.cause = ValueError("bad\nvalue")  # type: ignore[attr-defined]
    assert _reason(wrapped) == "ValueError: bad"


def test_a_description_is_put_together_from_those_who_know() -> None:
    scored = {"engine": {"mode": "tree", "generation": "not run", "probe": "made at this start"}}
    wrote = {"engine": {"mode": "not run", "generation": "own", "probe": "remembered from 2026"}}
    whole, differing = merged([scored, {**wrote, "parameters": 7}])
    engine = {"mode": "tree", "generation": "own", "probe": "made at this start"}
    assert whole == {"engine": engine, "parameters": 7}
    assert differing == []
    counted, differing = merged([{"engine": {"cached_tokens": n}} for n in (3, 4)])
    assert counted == {"engine": {"cached_tokens": 7}} and differing == []
    traffic = [{"calls": n, "reasons": {"HTTP 429": n} if n > 3 else {}} for n in (3, 4, 5)]
    probes = [{"probe_usage": {"calls": 1}}, {}, {"probe_usage": {"calls": 2}}]
    joined = [{"traffic": one, **probe} for one, probe in zip(traffic, probes, strict=True)]
    assert merged(joined) == (
        {"traffic": {"calls": 12, "reasons": {"HTTP 429": 9}}, "probe_usage": {"calls": 3}},
        [],
    )
    _, differing = merged([scored, {"engine": {"mode": "plain"}}])
    assert differing == ["engine.mode: 'tree', elsewhere 'plain'"]
