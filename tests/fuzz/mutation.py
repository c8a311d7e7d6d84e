"""Damage: to bytes, to texts, and to trees of JSON or YAML.

All functions take their choices from the generator that they are given.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from random import Random
from typing import Any

TEXTS = (
    "", " ", "\n", "\x00", "\x1b[31mred\x1b[0m", "\ud800", "\udfff", "\u2028", "\ufeff", "\u202e",
    "x", "A", "０", "²", "٣", "1", "-1", "0", "007", "1e400", "-0.0", "nan", "inf", "-inf", "true",
    "None", "null", "on", "*", "[", "a,b", "a=b", "=", ",", "../../../etc/passwd", "/etc/passwd",
    "/dev/zero", "/", ".", "~", "%s%n", "{}", "{{ x }}", "{% for", "${HOME}", "<script>", "'\"`",
    "e\u0301", "\U0001f468\u200d\U0001f469", "天秤", "a" * 300, "長" * 9_000, "(a+)+$", "\\9",
    "9" * 5_000,
)  # fmt: skip
NUMBERS = (
    0, 1, -1, 2, 3, 7, 255, 2**31, 2**53 + 1, 2**63, -(2**63) - 1, 10**20, 10**30, 0.5, -0.5, 1.5,
    1e-320, 1e308, -1e308, float("nan"), float("inf"), float("-inf"), 0.1, 99_999, 1_000_000_000,
)  # fmt: skip
_RAW = {
    **{f"@list {depth}@": "[" * depth + "]" * depth for depth in (60, 300, 900, 9_000)},
    **{f"@map {depth}@": '{"a":' * depth + "1" + "}" * depth for depth in (60, 300, 900, 9_000)},
    "@long number@": "9" * 5_000,
    "@tiny@": "1e-99999",
    "@huge@": "-1e99999",
    "@twice@": '1,"task":2,"id":3',
    "@nothing@": "",
    "@half@": '"half',
}
"""What a writer of JSON does not write."""


def leaf(rng: Random, words: Sequence[Any] = ()) -> Any:
    """A value that may stand where another one is expected."""
    kind = rng.randrange(12)
    if kind < 3 and words:
        return rng.choice(words)
    if kind < 6:
        return rng.choice(TEXTS)
    if kind < 8:
        return rng.choice(NUMBERS)
    if kind == 8:
        return rng.choice((None, True, False))
    if kind == 9:
        return rng.choice(([], {}, [[]], [None], {"": None}, {"a": {}}, [0] * 50, [{}], ["", ""]))
    if kind == 10:
        return [leaf(rng, words) for _ in range(rng.randrange(4))]
    return rng.choice(tuple(_RAW)) if rng.randrange(4) == 0 else {rng.choice(TEXTS): 1}


def damage_tree(rng: Random, tree: Any, words: Sequence[Any] = ()) -> Any:
    """A tree with some changes; the given one is changed too."""
    changes = 1 if rng.randrange(3) else rng.randrange(2, 6)
    for _ in range(changes):
        tree = _change(rng, tree, words)
    return tree


def _change(rng: Random, tree: Any, words: Sequence[Any]) -> Any:
    holder, key = _somewhere(rng, tree)
    if holder is None:
        return leaf(rng, words) if rng.randrange(4) == 0 else tree
    choice = rng.randrange(10)
    if choice < 4:
        holder[key] = leaf(rng, words)
    elif choice == 4:
        del holder[key]
    elif choice == 5:
        other, place = _somewhere(rng, tree)
        holder[key] = json.loads(json.dumps(other[place])) if other else None
    elif choice == 6:
        holder[key] = _nudge(rng, holder[key])
    elif choice == 7:
        holder[key] = rng.choice(([holder[key]], {"x": holder[key]}))
    elif isinstance(holder, dict):
        name = rng.choice((*words, *TEXTS)) if choice == 8 else f"{key}{rng.choice('sx_ 1')}"
        holder[str(name)] = holder.pop(key) if rng.randrange(2) else leaf(rng, words)
    else:
        holder[key:key] = [holder[key]] * rng.choice((1, 1, 2, 30))
    return tree


def _nudge(rng: Random, value: Any) -> Any:
    """Nearly the same value."""
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, int | float):
        return rng.choice((-value, value + 1, value - 1, value * 1_000_003, value / 3, str(value)))
    if isinstance(value, str):
        return damage_text(rng, value)
    return value


def _somewhere(rng: Random, tree: Any) -> tuple[Any, Any]:
    """A random place: what holds it, and its key; (None, None) for a tree without any."""
    holder: Any = None
    key: Any = None
    while isinstance(tree, dict | list) and tree:
        if holder is not None and rng.randrange(5) == 0:
            break
        holder = tree
        key = rng.choice(list(tree)) if isinstance(tree, dict) else rng.randrange(len(tree))
        tree = tree[key]
    return holder, key


def write_json(rng: Random, tree: Any) -> bytes:
    """A tree as JSON, with what no writer of JSON would write."""
    text = json.dumps(
        tree, ensure_ascii=bool(rng.randrange(2)), indent=None if rng.randrange(12) else 1
    )
    if "@" in text:
        for mark, raw in _RAW.items():
            text = text.replace(f'"{mark}"', raw)
    return text.encode("utf-8", "surrogatepass")


def damage_text(rng: Random, text: str, words: Sequence[str] = ()) -> str:
    """A text with a piece put in, taken out, or put elsewhere."""
    start = rng.randrange(len(text) + 1)
    end = min(len(text), start + rng.choice((0, 1, 1, 2, 5, 20)))
    choice = rng.randrange(6)
    if choice < 3:
        piece = rng.choice(words) if words and rng.randrange(2) else rng.choice(TEXTS)
    elif choice == 3:
        piece = ""
    elif choice == 4:
        piece = text[start:end] * rng.choice((2, 3, 40))
    else:
        other = rng.randrange(len(text) + 1)
        piece = text[other : other + 10]
    return text[:start] + piece + text[end:]


def damage_bytes(rng: Random, data: bytes, words: Sequence[bytes] = ()) -> bytes:
    """Bytes with bits flipped, pieces cut out, put in, doubled or overwritten."""
    for _ in range(rng.choice((1, 1, 1, 2, 4, 16))):
        data = _one_damage(rng, data, words)
    return data


def _one_damage(rng: Random, data: bytes, words: Sequence[bytes]) -> bytes:
    if not data:
        return rng.randbytes(rng.randrange(8))
    at = rng.randrange(len(data))
    choice = rng.randrange(9)
    if choice < 3:
        return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]
    if choice == 3:
        return data[:at] + rng.choice((b"\x00", b"\xff", b"\x7f", b"\x80")) + data[at + 1 :]
    if choice == 4:
        return data[:at] + data[at + rng.choice((1, 2, 4, 16, 200)) :]
    if choice == 5:
        return data[:at]
    if choice == 6:
        piece = rng.choice(words) if words else rng.randbytes(rng.choice((1, 4, 8)))
        return data[:at] + piece + data[at + rng.choice((0, len(piece))) :]
    if choice == 7:
        number = rng.choice((0, 1, 2**31 - 1, 2**32 - 1, 2**63 - 1, 2**64 - 1))
        width = rng.choice((4, 8))
        return (
            data[:at] + (number % 2 ** (8 * width)).to_bytes(width, "little") + data[at + width :]
        )
    return data[:at] + data[at : at + rng.choice((1, 8, 64))] * 2 + data[at:]
