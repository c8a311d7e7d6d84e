"""YAML files: those of strangers are read within bounds, or refused in one sentence.

The fast parser recurses in C and ends the process where a file is nested deeply enough, and a
file of a few lines can stand for billions of values by its aliases. So a file is looked at as a
stream of events first where it could be, and no value is made of it before its size is known.
"""

from __future__ import annotations

import errno
import io
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from tenbin.files.regular import read_bytes

_Fastest: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_LONGEST = 4_000_000
"""Bytes of a file; the longest task file of the catalogue has ten thousand."""
DEEPEST = 50
"""Lists and mappings within each other."""
MOST_VALUES = 100_000
"""Values that a file may stand for, each alias counted with all that it repeats."""
_LONGEST_NUMBER = 250
"""Characters of a whole number: in base 16 as many as a float can hold. Longer ones fail where they
are shown or computed with, and those in base 60 (`1:59:59`) could take hours to read."""

_INDICATORS = "[{-?:"
"""Every list and every mapping has one of these."""
_SURELY_SHALLOW = 5000
"""Levels that the fast parser survives; it fails somewhere above 20,000."""
_TEXT = "tag:yaml.org,2002:str"
_LINE_ENDS = frozenset("\r\x85\u2028\u2029\ufeff")


class YamlError(Exception):
    """A file is no YAML that is taken; the message says why and does not name the file."""


class Loader(_Fastest):  # type: ignore[misc]
    """Makes plain values only; what reads files of strangers is one of its subclasses."""


def _whole_number(loader: Any, node: yaml.ScalarNode) -> int:
    if len(str(node.value)) > _LONGEST_NUMBER:
        raise YamlError(f"holds a whole number of more than {_LONGEST_NUMBER} digits")
    return int(loader.construct_yaml_int(node))


Loader.add_constructor("tag:yaml.org,2002:int", _whole_number)


def why_unread(error: OSError | YamlError) -> str:
    """Why a YAML file was not read, without its name."""
    return f"cannot be read: {error.strerror}" if isinstance(error, OSError) else str(error)


def read_yaml(path: Path) -> Any:
    """The value of a YAML file.

    Raises:
        OSError: The file cannot be read.
        YamlError: It is no YAML, or stands for more than is taken.
    """
    return parse_yaml(read_yaml_bytes(path), Loader, str(path))


def read_yaml_bytes(path: str | Path) -> bytes:
    """The bytes of a YAML file.

    Raises:
        OSError: The file cannot be read.
        YamlError: It is no regular file, or longer than is taken.
    """
    try:
        return read_bytes(path, _LONGEST)
    except OSError as error:
        if error.errno == errno.EFBIG:
            raise YamlError(f"has more than {_LONGEST:,} bytes") from error
        if error.errno == errno.EINVAL:
            raise YamlError("is no regular file") from error
        raise


Needed = Callable[[str, yaml.Node], bool]
"""Whether a value is made for a key of a mapping, given the key and the node of its value."""


def parse_yaml(content: bytes, loader: Any, name: str, needed: Needed | None = None) -> Any:
    """The value of a YAML text.

    Args:
        content: The text in UTF-8.
        loader: `Loader`, or a subclass that knows more tags.
        name: What messages call the text.
        needed: Which keys of a mapping values are made of; None: all. The whole text has to be
            YAML.

    Raises:
        YamlError: It is no YAML, or stands for more than is taken.
    """
    try:
        return _load(content.decode("utf-8-sig"), loader, name, needed)
    except UnicodeDecodeError as error:
        raise YamlError(f"is not UTF-8 text: {error}") from error
    except yaml.YAMLError as error:
        raise YamlError(f"is not valid YAML: {error}") from error
    except (ValueError, OverflowError, TypeError, AttributeError, LookupError) as error:
        # A number of thousands of digits, a key that is a list, a value that is not what its tag
        # says: the library raises there what Python raises.
        raise YamlError(f"holds a value that cannot be read: {error}") from error


def write_yaml(value: Any, blocks: bool = False) -> str:
    """A value as YAML that is read back as the same value.

    The library writes some characters as they are that it takes for the ends of lines when it
    reads them; a text with one of these is written in escapes.

    Args:
        value: Mappings, lists, texts and numbers.
        blocks: Whether texts of several lines are written line by line, for people to edit.
    """
    if blocks:
        text = str(yaml.dump(value, Dumper=_Blocks, allow_unicode=True, sort_keys=False, width=120))
        if _LINE_ENDS.isdisjoint(text) and yaml.safe_load(text) == value:
            return text
    text = str(yaml.safe_dump(value, allow_unicode=True, sort_keys=False))
    if _LINE_ENDS.isdisjoint(text):
        return text
    return str(yaml.safe_dump(value, allow_unicode=False, sort_keys=False))


class _Blocks(yaml.SafeDumper):
    """Writes texts of several lines as blocks, and no anchors."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    style = "|" if "\n" in text.rstrip("\n") else '"' if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Blocks.add_representer(str, _represent_text)


def _load(text: str, loader: Any, name: str, needed: Needed | None) -> Any:
    _check_depth(text)
    stream = io.StringIO(text)
    stream.name = name
    opened = loader(stream)
    try:
        node = opened.get_single_node()
        if node is None:
            return None
        if "*" in text:
            _count(node, {})
        else:
            _check_size(node)
        if needed is not None and isinstance(node, yaml.MappingNode):
            node.value = [
                (key, value)
                for key, value in node.value
                if key.tag != _TEXT or needed(key.value, value)
            ]
        return opened.construct_document(node)
    finally:
        opened.dispose()


def _check_depth(text: str) -> None:
    if sum(map(text.count, _INDICATORS)) <= _SURELY_SHALLOW:
        return
    depth = 0
    for event in yaml.parse(text, Loader=_Fastest):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > DEEPEST:
                raise YamlError(f"nests lists and mappings over {DEEPEST} levels")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _check_size(node: yaml.Node) -> None:
    """Refuse a text without aliases that stands for too much, level by level: the quick way."""
    level, depth, total = [node], 0, 1
    while level:
        if depth > DEEPEST:
            raise YamlError(f"nests lists and mappings over {DEEPEST} levels")
        below: list[yaml.Node] = []
        for one in level:
            inner = one.value
            if type(inner) is not list:
                continue
            if type(one) is yaml.MappingNode:
                for pair in inner:
                    below += pair
            else:
                below += inner
        total += len(below)
        if total > MOST_VALUES:
            raise YamlError(f"stands for over {MOST_VALUES:,} values, its aliases written out")
        level, depth = below, depth + 1


def _count(node: yaml.Node, known: dict[int, float], depth: int = 0) -> float:
    """Values that a node stands for.

    Args:
        node: The node.
        known: Counts of nodes by identity; infinite for one that is being counted.
        depth: Lists and mappings around it.
    """
    if id(node) in known:
        found = known[id(node)]
        if math.isinf(found):
            raise YamlError("has a value that contains itself")
        return found
    if depth > DEEPEST:
        raise YamlError(f"nests lists and mappings over {DEEPEST} levels")
    known[id(node)] = math.inf
    inner = node.value if isinstance(node, yaml.CollectionNode) else ()
    pairs = isinstance(node, yaml.MappingNode)
    children = [one for pair in inner for one in pair] if pairs else inner
    total = 1.0 + sum(_count(one, known, depth + 1) for one in children)
    if total > MOST_VALUES:
        raise YamlError(f"stands for over {MOST_VALUES:,} values, its aliases written out")
    known[id(node)] = total
    return total
