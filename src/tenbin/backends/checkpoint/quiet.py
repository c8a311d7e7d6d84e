"""Silences the messages of transformers and huggingface_hub while tenbin calls them."""

from __future__ import annotations

import importlib
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def quiet_libraries() -> Iterator[None]:
    """Silence messages and warnings of the libraries; bars are shown to a terminal only.

    Yields:
        Nothing; the former verbosity is restored afterwards.
    """
    logging: Any = importlib.import_module("transformers.utils.logging")
    hub: Any = importlib.import_module("huggingface_hub.utils")
    verbosity = logging.get_verbosity()
    bars, hub_bars = logging.is_progress_bar_enabled(), not hub.are_progress_bars_disabled()
    logging.set_verbosity_error()
    # Another thread works beside the main one, which shows its own progress on the terminal.
    is_main = threading.current_thread() is threading.main_thread()
    if not (is_main and sys.stderr.isatty()):
        logging.disable_progress_bar()
        hub.disable_progress_bars()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()
        if hub_bars:
            hub.enable_progress_bars()
