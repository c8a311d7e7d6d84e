"""A small training, watched while it runs: what `tenbin watch` says of it.

A llama of two layers learns invented creatures from sentences that this script makes: where they
live, what they eat. Half of them are mentioned often, half seldom, and a coin decides a last
question, so that one task is learned early, one late and one never. `tenbin watch` evaluates the
checkpoints while they are written, one file after the other. Nothing is read or fetched; it takes
some minutes on two cores. A larger model on a GPU, which trains and is evaluated there:

    python benchmarks/learning_curve.py [--folder DIR] [--checkpoints 16] [--steps 1500]
    python benchmarks/learning_curve.py --device cuda --hidden 1024 --layers 16 --checkpoints 20
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from common import RESULTS, say, setup_facts, write_result

SYLLABLES = ("ba", "do", "ki", "lu", "me", "no", "pa", "ri", "su", "te", "va", "zo")
"""Of creatures' names; every name is one token."""
HOMES = ("forest", "desert", "lake", "cave", "meadow", "tower", "swamp", "harbour")
FOODS = ("berries", "moss", "fish", "honey", "roots", "beetles", "bread", "snow")
LUCK = ("heads", "tails")
FREQUENT, SELDOM, CREATURES = 300, 300, 600
OFFERED = 4
BATCH, WIDTH = 24, 64
WORDINGS = {
    "sentence": ("the {name} lives in the {home} .", "the {name} eats {food} ."),
    "list": ("{name} : home {home} .", "{name} : food {food} ."),
}


def creatures(draw: random.Random) -> list[dict[str, str]]:
    """Names with a home and a food each, the frequent ones first."""
    names: dict[str, None] = {}
    while len(names) < CREATURES:
        names["".join(draw.choice(SYLLABLES) for _ in range(4))] = None
    return [
        {"name": name, "home": draw.choice(HOMES), "food": draw.choice(FOODS)} for name in names
    ]


def sentences(known: Sequence[dict[str, str]], draw: random.Random) -> Iterator[str]:
    """Sentences without end; seldom creatures are in one of eight."""
    wordings = [one for pair in WORDINGS.values() for one in pair]
    while True:
        seldom = draw.random() < 1 / 8
        place = draw.randrange(SELDOM) + FREQUENT if seldom else draw.randrange(FREQUENT)
        yield draw.choice(wordings).format(**known[place])


def write_tasks(folder: Path, known: Sequence[dict[str, str]], draw: random.Random) -> None:
    """Task files and rows: three with choices, and the perplexity of sentences."""
    folder.mkdir(parents=True)
    parts = {
        "creature_homes": (known[:FREQUENT], "home", HOMES),
        "seldom_homes": (known[FREQUENT:], "home", HOMES),
        "creature_luck": (known[:FREQUENT], None, LUCK),
    }
    for task, (rows, key, every) in parts.items():
        lines = []
        for row in rows:
            gold = row[key] if key else draw.choice(every)
            others = [one for one in every if one != gold]
            choices = [gold, *draw.sample(others, min(OFFERED - 1, len(others)))]
            draw.shuffle(choices)
            told = {"id": row["name"], "name": row["name"], "choices": choices}
            lines.append(json.dumps({**told, "label": choices.index(gold)}))
        rows_file = folder / f"{task}.jsonl"
        rows_file.write_text("\n".join(lines) + "\n")
        (folder / f"{task}.yaml").write_text(_choice_task(task, rows_file, bool(key)))
    stream = sentences(known, draw)
    texts = [" ".join(next(stream) for _ in range(6)) for _ in range(120)]
    rows_file = folder / "creature_text.jsonl"
    rows_file.write_text(
        "".join(json.dumps({"id": f"t{at}", "text": text}) + "\n" for at, text in enumerate(texts))
    )
    (folder / "creature_text.yaml").write_text(
        "task: creature_text\ntitle: Sentences\nlanguage: en\ndataset_path: json\n"
        f"dataset_kwargs:\n  data_files: {{test: {rows_file}}}\n"
        "output_type: loglikelihood_rolling\ntest_split: test\ndoc_to_target: text\n"
        "metric_list:\n  - metric: bits_per_byte\nversions:\n  '1.0': {}\n"
    )


def _choice_task(task: str, rows: Path, has_wordings: bool) -> str:
    written = "the {{ name }} lives in the" if has_wordings else "the {{ name }} eats"
    templates = f'  sentence:\n    doc_to_text: "{written}"\n'
    if has_wordings:
        templates += '  list:\n    doc_to_text: "{{ name }} : home"\n'
    return (
        f"task: {task}\ntitle: {task}\nlanguage: en\ndataset_path: json\n"
        f"dataset_kwargs:\n  data_files: {{test: {rows}}}\n"
        "output_type: multiple_choice\ntest_split: test\ndoc_to_choice: choices\n"
        "doc_to_target: label\nmetric_list:\n  - metric: acc\n"
        f"default_template: sentence\nversions:\n  '1.0': {{}}\ntemplates:\n{templates}"
    )


def make_tokenizer(known: Sequence[dict[str, str]]) -> Any:
    """Byte-level BPE of the sentences, in which every word becomes one token."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    wordings = [one for pair in WORDINGS.values() for one in pair]
    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=4000,
        special_tokens=["<s>", "</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    texts = [f" {one.format(**row)} {' '.join(LUCK)}" for row in known for one in wordings]
    inner.train_from_iterator(texts, trainer)
    made: Any = PreTrainedTokenizerFast
    return made(tokenizer_object=inner, bos_token="<s>", eos_token="</s>")


def train(folder: Path, given: argparse.Namespace, pause: float) -> None:
    """Train, and write a checkpoint at evenly spaced steps, as a trainer does.

    Args:
        folder: Where checkpoints go.
        given: Steps, checkpoints (the first before any step), device and size of the model.
        pause: Seconds in which each file of a checkpoint is half written.
    """
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(1)
    torch.set_num_threads(1)
    draw = random.Random(1)
    known = creatures(draw)
    tokenizer = make_tokenizer(known)
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=given.hidden, intermediate_size=2 * given.hidden,
        num_hidden_layers=given.layers, num_attention_heads=max(4, given.hidden // 64),
        num_key_value_heads=4, max_position_embeddings=512,
        bos_token_id=0, eos_token_id=1, tie_word_embeddings=True,
    )  # fmt: skip
    model = LlamaForCausalLM(config).to(given.device)
    rate = 3e-3 * min(1.0, 96 / given.hidden)
    optimiser = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.01)
    warm = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda at: min(1.0, (at + 1) / 50))
    stream = sentences(known, random.Random(2))
    every = given.steps // (given.checkpoints - 1)
    for step in range(every * (given.checkpoints - 1) + 1):
        if step % every == 0:
            save(model, tokenizer, folder / f"checkpoint-{step}", step, pause)
        texts = [" ".join(next(stream) for _ in range(WIDTH // 7)) for _ in range(BATCH)]
        rows = [tokenizer(text)["input_ids"][:WIDTH] for text in texts]
        width = min(map(len, rows))
        batch = torch.tensor([row[:width] for row in rows], device=given.device)
        loss = model(input_ids=batch, labels=batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        warm.step()
        optimiser.zero_grad()
        if step % 100 == 0:
            say(f"step {step}: loss {float(loss):.3f}")


def save(model: Any, tokenizer: Any, folder: Path, step: int, pause: float) -> None:
    """Write a checkpoint file by file, in the folder that it stays in."""
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as written:
        model.save_pretrained(written)
        tokenizer.save_pretrained(written)
        (Path(written) / "trainer_state.json").write_text(json.dumps({"global_step": step}))
        for file in sorted(Path(written).iterdir()):
            content = file.read_bytes()
            half = len(content) // 2
            with (folder / file.name).open("wb") as target:
                target.write(content[:half])
                target.flush()
                time.sleep(pause)
                target.write(content[half:])


def main() -> None:
    """Train and watch at once, and write down what came of it."""
    made = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("--folder", type=Path, help="kept afterwards (default: a temporary one)")
    made.add_argument("--checkpoints", type=int, default=16)
    made.add_argument("--steps", type=int, default=1500)
    made.add_argument("--device", default="cpu")
    made.add_argument("--hidden", type=int, default=96, help="width of the model")
    made.add_argument("--layers", type=int, default=2)
    made.add_argument("--output_dir", type=Path, default=RESULTS)
    made.add_argument("--train_only", type=Path, help=argparse.SUPPRESS)
    given = made.parse_args()
    if given.train_only:
        train(given.train_only, given, 0.2)
        return
    with tempfile.TemporaryDirectory() as temporary:
        measure(given, given.folder or Path(temporary))


def measure(given: argparse.Namespace, folder: Path) -> None:
    """Start the training, watch it, and compare what was said with what is known."""
    training, tasks, curves = folder / "training", folder / "tasks", folder / "curves"
    training.mkdir(parents=True)
    draw = random.Random(1)
    write_tasks(tasks, creatures(draw), random.Random(3))
    began = time.monotonic()
    trainer = subprocess.Popen(
        [sys.executable, __file__, "--train_only", str(training),
         "--steps", str(given.steps), "--checkpoints", str(given.checkpoints),
         "--device", given.device, "--hidden", str(given.hidden), "--layers", str(given.layers)]
    )  # fmt: skip
    try:
        subprocess.run(
            [sys.executable, "-m", "tenbin", "watch", str(training), "--include_path", str(tasks),
             "--tasks", "creature_homes-1.0-*,seldom_homes-1.0-*,creature_luck,creature_text",
             "--num_fewshot", "0", "--device", given.device, "--order", "even", "--poll", "2",
             "--settle", "3", "--until_idle", "60", "--output_path", str(curves), "--report"],
            check=True,
        )  # fmt: skip
        trainer.wait()
    finally:
        trainer.kill()
    record(given, curves, time.monotonic() - began)


def record(given: argparse.Namespace, curves: Path, seconds: float) -> None:
    """Write the result file."""
    found = json.loads((curves / "curve.json").read_text())
    rows = [
        {
            "id": one["id"],
            "metric": one["metric"],
            "first": round(one["points"][0]["value"], 4),
            "newest": round(one["points"][-1]["value"], 4),
            "last_change": one["last_change"],
            "same_since": one["same_since"],
            **{name: one["signal"][name] for name in ("verdict", "reasons", "above_chance")},
            "monotonicity": one["signal"]["monotonicity"],
        }
        for one in found["curves"]
    ]
    shape = {"device": given.device, "hidden": given.hidden, "layers": given.layers}
    measured = {"checkpoints": len(found["checkpoints"]), "steps": given.steps, "curves": rows}
    facts = {"setup": setup_facts(), "seconds": round(seconds)}
    name = "learning_curve" if given.device == "cpu" else f"learning_curve_{given.device}"
    write_result(given.output_dir, name, {**shape, **measured, **facts})
    assert len(found["checkpoints"]) == given.checkpoints, "a checkpoint was not evaluated"


if __name__ == "__main__":
    main()
