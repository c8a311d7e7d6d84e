"""vLLM's engine: started, supplied with requests, ended.

Prompts are sent as token ids, never as text, so that the model gets the same input as in the hf
engine.
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

from tenbin.backends.vllm.processes import Guard, Log, cause_of, children_write_to
from tenbin.errors import BackendError, ModelLost
from tenbin.records import Failure

_IN_FLIGHT = 4
"""Requests that vLLM holds, in multiples of its batch size: enough for its scheduler to choose."""
_POLL = 0.5
"""Seconds between checks that the engine's process is alive."""


@dataclass(eq=False, slots=True)
class EngineRequest:
    """One prompt for vLLM."""

    ids: tuple[int, ...]
    params: Any
    """vLLM's SamplingParams."""
    context: Any = None
    """For the caller."""
    name: str = ""
    """vLLM's request id, set when it is sent."""


class Engine:
    """A running vLLM engine."""

    def __init__(self, inner: Any, log: Log) -> None:
        """Wrap a running engine; see `start_engine`."""
        self._inner = inner
        self._guard = Guard(_processes(inner.engine_core))
        self._log = log
        self._names = map(str, itertools.count())
        self._in_flight: dict[str, EngineRequest] = {}
        self._most = _IN_FLIGHT * int(inner.vllm_config.scheduler_config.max_num_seqs)
        self.vocabulary = int(inner.vllm_config.model_config.get_vocab_size())
        self.prompt_tokens = 0
        self.cached_tokens = 0
        """Prompt tokens that were found in the prefix cache."""

    @property
    def config(self) -> Any:
        """vLLM's own configuration, complete."""
        return self._inner.vllm_config

    def outputs(self, waiting: deque[EngineRequest]) -> Iterator[tuple[EngineRequest, Any]]:
        """Send all waiting requests to vLLM; the caller may add more meanwhile.

        Yields:
            A request and vLLM's output so far, or the Failure that refuses it.

        Raises:
            ModelLost: The engine ended.
        """
        try:
            while waiting or self._in_flight:
                while waiting and len(self._in_flight) < self._most:
                    request = waiting.popleft()
                    if refused := self._send(request):
                        yield request, refused
                for output in self._step():
                    found = self._in_flight.get(output.request_id)
                    if found is None:
                        # Dropped while its next token was computed.
                        continue
                    if output.finished:
                        del self._in_flight[output.request_id]
                        self.prompt_tokens += len(output.prompt_token_ids or ())
                        self.cached_tokens += output.num_cached_tokens or 0
                    yield found, _checked(output)
        finally:
            for request in list(self._in_flight.values()):
                self.drop(request)

    def drop(self, request: EngineRequest) -> None:
        """Abort a request."""
        if self._in_flight.pop(request.name, None) is not None:
            with suppress(Exception):
                self._inner.abort_request([request.name])

    def close(self) -> None:
        """End vLLM's processes."""
        inner, self._inner = self._inner, None
        if inner is None:
            return
        self._in_flight.clear()
        with suppress(Exception):
            # Any kind: an engine that has died needs no shutdown.
            inner.engine_core.shutdown()
        self._guard.dismiss()
        self._log.close()

    def _send(self, request: EngineRequest) -> Failure | None:
        request.name = next(self._names)
        if (largest := max(request.ids, default=0)) >= self.vocabulary:
            # vLLM would crash, and every other request with it.
            return Failure(
                "unknown_token",
                f"token {largest} is not in the model's vocabulary of {self.vocabulary}",
            )
        prompt = {"type": "token", "prompt_token_ids": list(request.ids)}
        try:
            self._inner.add_request(request.name, prompt, request.params)
        except ValueError as error:
            return Failure("refused", f"vLLM refuses the request: {str(error).splitlines()[0]}")
        except Exception as error:
            raise self._ended(error) from error
        self._in_flight[request.name] = request
        return None

    def _step(self) -> list[Any]:
        try:
            return list(self._inner.step())
        except Exception as error:
            # Any kind: after an error the engine answers nothing more.
            raise self._ended(error) from error

    def _ended(self, error: Exception) -> ModelLost:
        cause = cause_of(error, self._log.path)
        return ModelLost(f"vLLM's engine ended: {cause}", _remedy(cause, self._log))


def start_engine(options: Mapping[str, Any], notify: Callable[[str], None] | None) -> Engine:
    """Start vLLM; its processes write to a log that is kept when they fail.

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
        # Any kind: vLLM, torch and the libraries below have their own.
        cause = cause_of(error, log.path)
        hint = _remedy(cause, log)
        log.close()
        raise BackendError(f"vLLM does not start: {cause}", hint) from error
    _watch(inner.engine_core)
    return Engine(inner, log)


def _processes(core: Any) -> list[int]:
    """Ids of the processes that vLLM started; their children end with them."""
    manager = getattr(getattr(core, "resources", None), "engine_manager", None)
    return [process.pid for process in getattr(manager, "processes", ())]


def _watch(core: Any) -> None:
    """Wake up a caller that waits for an engine that was killed.

    vLLM notices that its process is gone, but a call that waits for its next output would wait for
    ever.
    """
    queue, resources = getattr(core, "outputs_queue", None), getattr(core, "resources", None)
    if queue is None or resources is None:
        return

    def poll() -> None:
        while not resources.engine_dead:
            time.sleep(_POLL)
        queue.put(RuntimeError("its process was killed; where memory is short, the system does so"))

    threading.Thread(target=poll, name="tenbin-vllm-watch", daemon=True).start()


@contextmanager
def _one_more_token() -> Iterator[None]:
    """Allow one token above the window: vLLM reserves room for it, and the model never reads it."""
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
    """An output, or a Failure if vLLM aborted the request."""
    if output.finished and output.outputs[0].finish_reason in ("error", "abort"):
        return Failure("engine", "vLLM aborted this request", retryable=True)
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
    return f"answers so far are kept and the same command continues from there; {kept}"
