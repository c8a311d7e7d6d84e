"""A real llama.cpp server: texts, letters, what it does not show, and whole runs through it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tenbin
from tenbin.backends.base import BackendSettings
from tenbin.backends.registry import open_backend
from tenbin.errors import BackendError, ConfigError
from tenbin.records import Failure, Generate, Picked, Sampling, Score, Text, Thinking
from tests.backends.openai.llama_server import llama_server, missing

pytestmark = [
    pytest.mark.model,
    pytest.mark.skipif(missing() is not None, reason=missing() or ""),
]
PROMPT = "The capital of France is"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with llama_server() as base_url:
        yield base_url


def backend(address: str, model: str = "openai", **arguments: Any) -> Any:
    return open_backend(BackendSettings(model, {"base_url": address, **arguments}))


def test_it_says_what_it_runs(address: str) -> None:
    described = backend(address).describe()
    assert described["gguf"] == "SmolLM2-135M-Instruct.Q4_1.gguf, run by llama.cpp as Q4_1"
    assert described["engine"]["software"].startswith("llama.cpp")
    assert described["max_length"] == 2048
    # The same server gives the same journal, though it says another time at each asking.
    time.sleep(1.1)
    assert backend(address).fingerprint == backend(address).fingerprint
    assert backend(address).fingerprint != backend(address, "openai-chat").fingerprint


def test_texts_like_those_of_the_engine(address: str, smollm: Any) -> None:
    request = Generate("g", PROMPT, (), 6)
    ours = dict(smollm.run([request]))["g"]
    plain = dict(backend(address).run([request]))["g"]
    tokens = dict(backend(address, tokenizer="smollm2-135m").run([request]))["g"]
    assert isinstance(plain, Text)
    assert plain.text.startswith(" Paris")
    # The engine unpacks the file to float32, llama.cpp computes on 4 bits: the first words agree.
    assert isinstance(tokens, Text)
    assert tokens.text[:6] == ours.text[:6] == plain.text[:6]
    assert tokens.usage is not None
    assert tokens.usage.completion_tokens == 6
    assert tokens.finish == "length"


def test_drawn_texts_rest_on_their_seed(address: str) -> None:
    def drawn(seed: int) -> str:
        request = Generate("g", PROMPT, (), 12, Sampling(1.5), seed)
        found = dict(backend(address).run([request]))["g"]
        assert isinstance(found, Text)
        return found.text

    assert len({drawn(2**61 + 1), drawn(2**61 + 1)}) == 1
    assert len({drawn(seed) for seed in range(4)}) > 1


def test_echo_is_ignored_and_so_refused(address: str) -> None:
    with pytest.raises(BackendError, match="shows no log-probabilities of prompts") as raised:
        list(backend(address).run([Score("s", PROMPT, (" Paris", " London"))]))
    assert "openai-chat" in raised.value.hint
    assert "--model hf" in raised.value.hint


@pytest.mark.parametrize(
    ("model", "arguments"), [("openai-chat", {}), ("openai", {"choices": "letters"})]
)
def test_letters_by_first_tokens(address: str, model: str, arguments: dict[str, str]) -> None:
    prompt = "Which of these is a fruit?\nA. stone\nB. apple\nAnswer with one letter:"
    found = dict(backend(address, model, **arguments).run([Score("s", prompt, (" A", " B"))]))["s"]
    assert isinstance(found, Picked), found
    assert found.way == "letter_logprobs"
    assert all(value is not None and value < 0 for value in found.logprobs)
    assert found.usage is not None
    assert found.usage.prompt_tokens > 10


def test_a_prompt_beyond_the_window(address: str) -> None:
    found = dict(backend(address).run([Generate("g", "hello world " * 2000, (), 4)]))["g"]
    assert isinstance(found, Failure)
    assert found.kind == "context_overflow"
    assert "2048" in found.message


def test_a_budget_of_thought_is_held_in_completions(address: str) -> None:
    thinking = Thinking(budget=5)
    request = Generate("g", f"{PROMPT} <think>", (), 4, thinking=thinking)
    found = dict(backend(address).run([request]))["g"]
    assert isinstance(found, Text)
    assert (found.thinking_end, found.thinking_tokens, found.token_count) == ("budget", 5, 4)
    first = dict(backend(address).run([Generate("f", request.prompt, (), 5)]))["f"]
    assert isinstance(first, Text)
    assert found.thinking == first.text.strip()
    after = request.prompt + first.text + thinking.closing_text
    second = dict(backend(address).run([Generate("s", after, (), 4)]))["s"]
    assert isinstance(second, Text)
    assert found.text == second.text.lstrip()
    assert found.usage is not None and first.usage is not None and second.usage is not None
    assert found.usage.calls == 2
    assert found.usage.prompt_tokens == first.usage.prompt_tokens + second.usage.prompt_tokens


def test_a_budget_of_thought_is_held_in_a_chat(address: str) -> None:
    # What this model begins with by itself serves as the mark: it knows no thoughts.
    question = "Tell me a story about a dog."
    chats = backend(address, "openai-chat")
    whole = dict(chats.run([Generate("w", question, (), 24)]))["w"]
    assert isinstance(whole, Text)
    thinking = Thinking(opening=whole.text.split()[0], closing="So the answer is", budget=3)
    request = Generate("g", question, ("\n",), 8, thinking=thinking)
    found = dict(chats.run([request]))["g"]
    assert isinstance(found, Text), found
    assert (found.thinking_end, found.thinking_tokens) == ("budget", 3)
    assert whole.text.startswith(f"{thinking.opening} {found.thinking}")
    assert thinking.closing not in found.text
    assert found.text and 0 < found.token_count <= 8
    assert found.usage is not None
    assert found.usage.calls == 2


TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n"
    "{% endfor %}<|im_start|>assistant\n{% if brief %}In one word: {% endif %}"
)


def test_variables_reach_the_chat_template() -> None:
    turns = [{"role": "user", "content": "What is the capital of France?"}]
    with llama_server(TEMPLATE) as address:
        chats = backend(address, "openai-chat")
        prompts = {
            name: chats.capabilities.chat_format.chat(turns, {"brief": name == "brief"})
            for name in ("brief", "long")
        }
        requests = [Generate(name, prompt, (), 4) for name, prompt in prompts.items()]
        found = dict(chats.run(requests))
        with pytest.raises(ConfigError, match="has no such variable"):
            chats.capabilities.chat_format.chat(turns, {"brieff": True})
    brief, long = found["brief"], found["long"]
    assert isinstance(brief, Text) and isinstance(long, Text)
    assert brief.usage is not None and long.usage is not None
    # The template's own words: "In one word: ".
    assert brief.usage.prompt_tokens >= long.usage.prompt_tokens + 4
    assert brief.text != long.text


RUN = ["--sample_data", "--limit", "2"]


def command(address: str, folder: Path, *more: str) -> list[str]:
    return [
        sys.executable, "-c", "import sys; from tenbin.cli import main; sys.exit(main())", "run",
        "--model", "openai-chat", "--model_args",
        f"base_url={address},concurrency=2,price_input=1,price_output=4,currency=USD",
        "--cache_dir", str(folder / "cache"), "--output_path", str(folder / "result.json"),
        *RUN, *more,
    ]  # fmt: skip


def test_a_whole_run_is_killed_and_goes_on(address: str, tmp_path: Path) -> None:
    tasks = ("--tasks", "mlogiqa_mcq_en,mlogiqa_gen_en,jcommonsenseqa-1.1-0.3",
             "--gen_kwargs", "max_gen_toks=24", "--apply_chat_template")  # fmt: skip
    first = subprocess.Popen(
        command(address, tmp_path, *tasks), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    journal = tmp_path / "cache" / "journal"
    deadline = time.monotonic() + 120
    while _answers(journal) == 0 and first.poll() is None and time.monotonic() < deadline:
        time.sleep(0.1)
    first.send_signal(signal.SIGKILL)
    first.wait()
    known = _answers(journal)
    done = subprocess.run(
        command(address, tmp_path, *tasks), capture_output=True, text=True, timeout=300,
        env={**os.environ, "COLUMNS": "200"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    document = json.loads((tmp_path / "result.json").read_text())
    assert known >= 1
    assert document["answers_from_journal"] == document["usage"]["from_journal"] == known
    assert document["failures"] == {}
    assert document["model"]["gguf"].endswith("run by llama.cpp as Q4_1")
    _check_choices(document, done.stdout)
    _check_usage(document, 6 - known, done.stdout)
    prompts = [sample["prompt"] for sample in tenbin.load_run(tmp_path / "result.json").samples]
    assert all(prompt.startswith('[{"role":"') for prompt in prompts)


def _answers(journal: Path) -> int:
    import sqlite3

    for file in journal.glob("*.sqlite") if journal.is_dir() else ():
        try:
            with sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=10) as connection:
                return int(connection.execute("SELECT count(*) FROM answers").fetchone()[0])
        except sqlite3.OperationalError:
            return 0
    return 0


def _check_choices(document: dict[str, Any], shown: str) -> None:
    assert "acc_norm" not in document["details"]["mlogiqa_mcq_en"]
    assert "no_choice" in document["details"]["mlogiqa_mcq_en"]
    assert document["configs"]["mlogiqa_mcq_en"]["choices_by"].startswith("letter")
    assert document["configs"]["mlogiqa_gen_en"]["choices_by"] is None
    assert any("acc_norm is left out of mlogiqa_mcq_en" in line for line in document["warnings"])
    assert "letter (" in shown


def _check_usage(document: dict[str, Any], asked: int, shown: str) -> None:
    usage = document["usage"]
    assert (usage["answers"], usage["not_counted"]) == (asked, 0)
    expected = (usage["prompt_tokens"] + 4 * usage["completion_tokens"]) / 1e6
    assert usage["cost"] == pytest.approx(expected)
    assert "usage:" in shown and "USD" in shown


def test_weighing_tasks_are_refused_before_anything_is_asked(address: str) -> None:
    with pytest.raises(ConfigError, match="need likelihoods of texts"):
        tenbin.evaluate(
            model="openai-chat",
            model_args={"base_url": address},
            tasks=["plain_text_en"],
            sample_data=True,
            no_cache=True,
        )
