"""Write down what lm-eval says of SmolLM2-135M, for tests/golden.

Runs in an environment with lm-eval 0.4.13, which tenbin itself never imports:

    python benchmarks/oracle_lm_eval.py FOLDER tests/golden/lm_eval_loglikelihoods.json

FOLDER is the converted embedded model, a folder of the form ~/.cache/tenbin/models/<hash>-v1.
"""

from __future__ import annotations

import argparse
import json
from importlib.metadata import version
from pathlib import Path

import torch
from lm_eval.api.instance import Instance
from lm_eval.models.huggingface import HFLM

STATION = "質問：電車に乗る場所はどこですか？\n選択肢：駅、海、山、森、空\n回答："
NLI = "前提：二人の男性が公園で話している。\n仮説：公園に人がいる。\n関係："
REVIEW = "製品レビュー：とても使いやすくて、毎日の料理が楽しくなりました。\nセンチメント："
ENGLISH = "Question: What do people use to absorb extra ink from a fountain pen?\nAnswer:"
CHAT = "<|im_start|>user\n日本の首都はどこですか？<|im_end|>\n<|im_start|>assistant\n"

SCORED: list[tuple[str, list[str]]] = [
    (STATION, ["駅", "海", "山", "森", "空"]),
    (STATION + "\n", ["駅", "海"]),
    (STATION + " ", ["駅", "station"]),
    (NLI, ["含意", "矛盾", "中立"]),
    (REVIEW, [" ポジティブ", " ネガティブ", "positive", "negative"]),
    (ENGLISH, [" blotter", " blotter paper", " shirt pocket", " a", " a calligrapher's hand"]),
    (ENGLISH + "  ", ["blotter", "shirt pocket"]),
    ("The capital of France is", [" Paris", " Paris.", " London", "\n"]),
    ("The capital of France is \n\t", ["Paris"]),
    ("", ["The capital of France is Paris.", "東京", " a"]),
    (CHAT, ["東京です。", "Tokyo", "The capital of Japan is Tokyo."]),
    ("全角の空白\u3000", ["です", "\u3000です"]),
    ("a", [" b", "\n\nb", "🙂"]),
    ((STATION + "駅\n\n") * 6 + STATION, ["駅", "海"]),
]

WRITTEN: list[tuple[str, list[str], int]] = [
    ("The capital of France is", ["\n"], 24),
    ("1, 2, 3, 4,", ["9", "\n"], 32),
    (ENGLISH, ["\n\n", "Question:"], 24),
    (STATION, ["\n"], 16),
    (CHAT, [], 24),
    ("def add(a, b):\n    return", ["\n\n", "def "], 24),
]

ROLLED = ["The quick brown fox jumps over the lazy dog.", "日本の首都は東京です。"]


def ask(model: HFLM, kind: str, arguments: list[tuple]) -> list:
    requests = [
        Instance(request_type=kind, doc={}, arguments=one, idx=at)
        for at, one in enumerate(arguments)
    ]
    return getattr(model, kind)(requests)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("output", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(2)
    model = HFLM(pretrained=options.folder, dtype="float32", device="cpu", batch_size=1)
    pairs = [(prompt, text) for prompt, texts in SCORED for text in texts]
    scores = ask(model, "loglikelihood", pairs)
    settings = [
        (prompt, {"until": stop, "max_gen_toks": limit, "do_sample": False})
        for prompt, stop, limit in WRITTEN
    ]
    texts = ask(model, "generate_until", settings)
    rolled = ask(model, "loglikelihood_rolling", [(text,) for text in ROLLED])
    golden = {
        "model": "SmolLM2-135M-Instruct.Q4_1.gguf, dequantised, float32, cpu",
        "versions": {name: version(name) for name in ("lm_eval", "transformers", "torch")},
        "loglikelihood": [
            {"prompt": prompt, "continuation": text, "logprob": score, "greedy": greedy}
            for (prompt, text), (score, greedy) in zip(pairs, scores, strict=True)
        ],
        "generate_until": [
            {"prompt": prompt, "until": stop, "max_gen_toks": limit, "text": text}
            for (prompt, stop, limit), text in zip(WRITTEN, texts, strict=True)
        ],
        "loglikelihood_rolling": [
            {"text": text, "logprob": score} for text, score in zip(ROLLED, rolled, strict=True)
        ],
    }
    options.output.parent.mkdir(parents=True, exist_ok=True)
    body = json.dumps(golden, ensure_ascii=False, indent=1)
    options.output.write_text(body + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
