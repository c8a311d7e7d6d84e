"""Turns what a model's own code raises into one error that names the model and the stage.

`raise … from` keeps the original exception for callers from Python and for TENBIN_DEBUG.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tenbin.backends.hf.model.memory import is_out_of_memory
from tenbin.backends.text.tokenizer import first_words
from tenbin.errors import BackendError, ModelLost, TenbinError


@contextmanager
def explain_failures(model: str, stage: str) -> Iterator[None]:
    """Turn exceptions inside into errors that say which model failed, at what and how.

    Args:
        model: Its name, as results have it.
        stage: `scoring` or `generation`.

    Raises:
        BackendError: Memory ran out during preparation; where a smaller batch could help, it was
            tried before.
        ModelLost: The model raised something else. Where there are several workers, one with a
            broken device is replaced.
        OSError: A file could not be read or written; its message says enough.
    """
    try:
        yield
    except TenbinError:
        raise
    except Exception as error:
        if is_out_of_memory(error):
            raise BackendError(
                f"memory ran out ({first_words(error)}); answers so far are kept",
                "give dtype=bfloat16, load_in_4bit=True, device_map=auto, a smaller --batch_size or"
                " a machine with more memory; the same command goes on",
            ) from error
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise ModelLost(
            f"{model}: the model failed during {stage}: {first_words(error)}; answers so far are"
            " kept",
            "set TENBIN_DEBUG=1 to see where; once it is mended the same command goes on",
        ) from error
