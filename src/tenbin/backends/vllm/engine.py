"""vLLM's engine: started, kept busy, ended.

Knows how vLLM is driven and what its errors mean; knows neither scores nor texts. Prompts go in as
token ids, never as text, so that the model reads what the hf engine would have it read.
"""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from tenbin.backends.vllm.log import Log
from tenbin.backends.vllm.process_guard import Guard
from tenbin.backends.vllm.process_output import cause_of, children_write_to
from tenbin.errors import BackendError, ModelLost
from tenbin.records import Failure

_FLYING = 4
"""Requests that vLLM holds, in batches of what it runs at a time: enough to choose from."""


_LOOK = 0.5
"""Seconds between looks at whether the engine's process is there."""


@dataclass(eq=False, slots=True)
class Asked:
    """One prompt put to vLLM."""

    ids: tuple[int, ...]
    params: Any
    """vLLM's SamplingParams."""
    purpose: Any = None
    """For whoever asks."""
    name: str = ""
    """Given when it is sent."""


class Engine:
    """A running vLLM engine."""

    def __init__(self, inner: Any, log: Log) -> None:
        """Take an engine over; `start_engine` is the usual way in."""
        self._inner = inner
        self._guard = Guard(_processes(inner.engine_core))
        self._log = log
        self._names = map(str, itertools.count())
        self._flying: dict[str, Asked] = {}
        self._most = _FLYING * int(inner.vllm_config.scheduler_config.max_num_seqs)
        self.vocabulary = int(inner.vllm_config.model_config.get_vocab_size())
        self.prompt_tokens = 0
        self.cached_tokens = 0
        """Prompt tokens that were found in the prefix cache."""

    @property
    def config(self) -> Any:
        """vLLM's own configuration, everything decided."""
        return self._inner.vllm_config

    def outputs(self, waiting: deque[Asked]) -> Iterator[tuple[Asked, Any]]:
        """Put everything that waits to vLLM, which may grow meanwhile.

        Yields:
            What was asked and vLLM's output as it stands, or the Failure that refuses it.

        Raises:
            ModelLost: The engine ended.
        """
        try:
            while waiting or self._flying:
                while waiting and len(self._flying) < self._most:
                    asked = waiting.popleft()
                    if refused := self._send(asked):
                        yield asked, refused
                for output in self._step():
                    found = self._flying.get(output.request_id)
                    if found is None:
                        # Dropped, while its next token was on the way.
                        continue
                    if output.finished:
                        del self._flying[output.request_id]
                        self.prompt_tokens += len(output.prompt_token_ids or ())
                        self.cached_tokens += output.num_cached_tokens or 0
                    yield found, _checked(output)
        finally:
            for asked in list(self._flying.values()):
                self.drop(asked)

    def drop(self, asked: Asked) -> None:
        """Ask for no more of something."""
        if self._flying.pop(asked.name, None) is not None:
            with suppress(Exception):
                self._inner.abort_request([asked.name])

    def close(self) -> None:
        """End vLLM's processes."""
        inner, self._inner = self._inner, None
        if inner is None:
            return
        self._flying.clear()
        with suppress(Exception):
            # Any kind: of an engine that has died already there is nothing left to end.
            inner.engine_core.shutdown()
        self._guard.dismiss()
        self._log.close()

    def _send(self, asked: Asked) -> Failure | None:
        asked.name = next(self._names)
        if (largest := max(asked.ids, default=0)) >= self.vocabulary:
            # vLLM would end over it, and take every other request along.
            return Failure(
                "unknown_token",
                f"token {largest} is not in the model's vocabulary of {self.vocabulary}",
            )
        prompt = {"type": "token", "prompt_token_ids": list(asked.ids)}
        try:
            self._inner.add_request(asked.name, prompt, asked.params)
        except ValueError as error:
            return Failure("refused", f"vLLM refuses the request: {str(error).splitlines()[0]}")
        except Exception as error:
            raise self._ended(error) from error
        self._flying[asked.name] = asked
        return None

    def _step(self) -> list[Any]:
        try:
            return list(self._inner.step())
        except Exception as error:
            # Any kind: after one of them the engine answers nothing more.
            raise self._ended(error) from error

    def _ended(self, error: Exception) -> ModelLost:
        cause = cause_of(error, self._log.path)
        return ModelLost(f"vLLM's engine ended: {cause}", _remedy(cause, self._log))


def start_engine(options: Mapping[str, Any], notify: Callable[[str], None] | None) -> Engine:
    """Start vLLM; its processes write into a log that is kept when they fail.

    Raises:
        BackendError: It does not start; the message says why.
    """
    from vllm import EngineArgs, LLMEngine

    log = Log()
    if notify is not None:
        notify(f"starting vLLM, which can take minutes; it writes to {log.path}")
    try:
        with _one_more_token(), children_write_to(log.path):
            inner = LLMEngine.from_engine_args(EngineArgs(**options))
    except Exception as error:
        # Any kind: vLLM, torch and the libraries below each have their own.
        cause = cause_of(error, log.path)
        hint = _remedy(cause, log)
        log.close()
        raise BackendError(f"vLLM does not start: {cause}", hint) from error
    _watch(inner.engine_core)
    return Engine(inner, log)


def _processes(core: Any) -> list[int]:
    """The processes that vLLM started; those below them end with them."""
    manager = getattr(getattr(core, "resources", None), "engine_manager", None)
    return [process.pid for process in getattr(manager, "processes", ())]


def _watch(core: Any) -> None:
    """Wake whoever waits for an engine that was killed.

    vLLM notices that its process is gone and writes that down, but a call that waits for its next
    output would wait for ever.
    """
    queue, resources = getattr(core, "outputs_queue", None), getattr(core, "resources", None)
    if queue is None or resources is None:
        return

    def look() -> None:
        while not resources.engine_dead:
            time.sleep(_LOOK)
        queue.put(RuntimeError("its process was killed; where memory is short, the system does so"))

    threading.Thread(target=look, name="tenbin-vllm-watch", daemon=True).start()


@contextmanager
def _one_more_token() -> Iterator[None]:
    """Allow the one token above the window that vLLM wants room for and the model never reads."""
    name = "VLLM_ALLOW_LONG_MAX_MODEL_LEN"
    before = os.environ.get(name)
    os.environ[name] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def _checked(output: Any) -> Any:
    """An output, or a Failure where vLLM gave the request up."""
    if output.finished and output.outputs[0].finish_reason in ("error", "abort"):
        return Failure("engine", "vLLM gave this request up", retryable=True)
    return output


def _remedy(cause: str, log: Log) -> str:
    words = cause.lower()
    if "trust_remote_code" in words:
        return "the model brings its own code: read it, then add trust_remote_code=True"
    kept = f"log: {log.keep()}"
    if "memory" in words or "kv cache" in words:
        return (
            "lower max_model_len, max_num_seqs or max_num_batched_tokens, change"
            f" gpu_memory_utilization, or give more GPUs with tensor_parallel_size; {kept}"
        )
    return f"answers so far are kept and the same command goes on; {kept}"
