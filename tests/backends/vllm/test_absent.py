"""The vllm backend where vLLM is not installed; `tests/vllm` tests it where it is."""

from __future__ import annotations

import importlib.util

import pytest

from tenbin.backends.base import BackendSettings
from tenbin.backends.registry import open_backend
from tenbin.errors import BackendError


@pytest.mark.skipif(importlib.util.find_spec("vllm") is not None, reason="vLLM is installed here")
def test_the_message_says_what_to_install() -> None:
    with pytest.raises(BackendError) as caught:
        open_backend(BackendSettings("vllm", {"pretrained": "anything"}))
    assert "needs vllm, which is not installed" in caught.value.message
    assert "pip install 'tenbin[vllm]'" in caught.value.hint
