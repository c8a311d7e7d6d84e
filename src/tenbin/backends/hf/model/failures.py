"""What a model's own code raises while it computes, in one sentence.

Knows exceptions and the name of a stage; knows no architecture. `raise … from` keeps the first
exception for whoever calls tenbin from Python, and for TENBIN_DEBUG.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tenbin.backends.hf.model.memory import is_out_of_memory
from tenbin.backends.text.tokenizer import first_words
from tenbin.errors import BackendError, ModelLost, TenbinError


@contextmanager
def explaining(model: str, stage: str) -> Iterator[None]:
    """Say which model failed, at what and how.

    Args:
        model: Its name, as results have it.
        stage: What it was asked for: `scoring` or `generation`.

    Raises:
        BackendError: Memory ran out while something was prepared; where a smaller batch could do,
            it was tried before.
        ModelLost: The model raised something else. Where there are several workers, one with a
            broken device is replaced.
        OSError: A file could not be read or written: that has words of its own.
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
