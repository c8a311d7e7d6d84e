"""Which packages a function would import, read from its file's source: nothing is run.

What counts are the imports at the top of the file, and those inside the function and whatever it
uses of the same file. An import that the file itself makes optional (`try` with a handler that goes
on), or that is for type checkers alone, does not count.
"""

from __future__ import annotations

import ast
import sys
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from tenbin.records import TaskFunction

_LONGEST_SOURCE = 4_000_000
_ON_THE_INDEX = {
    "Levenshtein": "python-Levenshtein",
    "PIL": "pillow",
    "antlr4": "antlr4-python3-runtime",
    "bs4": "beautifulsoup4",
    "rouge_score": "rouge-score",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}
"""Packages that are installed under another name than they are imported."""
_IMPORT_ERRORS = {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"}


@dataclass(frozen=True, slots=True)
class _Import:
    """One imported module, and the names taken from it."""

    module: str
    level: int
    """Dots in front of it."""
    names: tuple[str, ...]


@dataclass(slots=True)
class _Block:
    """What the top of a file, or one function or class of it, imports and uses."""

    imports: list[_Import] = field(default_factory=list)
    uses: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class _Source:
    """The blocks of one file."""

    top: _Block
    blocks: dict[str, _Block]
    filters: dict[str, str] = field(default_factory=dict)
    """Names under which classes of it are registered as filters → the classes."""


def packages_of(function: TaskFunction) -> frozenset[str]:
    """The top-level packages that loading and calling a function imports, the standard ones aside.

    A file that cannot be read or parsed gives none: loading it says why.
    """
    return _read(function.file, function.name).packages


def files_of(function: TaskFunction) -> tuple[str, ...]:
    """The function's file, then those that it imports from beside it or from lm-eval's tasks."""
    return _read(function.file, function.name).files


def file_of(function: TaskFunction) -> str | None:
    """The function's file, also of an installed module; None if there is none."""
    return function.file if function.file.endswith(".py") else _module_file(function.file)


def registered_filter(function: TaskFunction, name: str) -> TaskFunction | None:
    """The class that a function's file registers as a filter (`@register_filter(NAME)`), if any.

    lm-eval knows such a filter once it has imported the file for one of the task's functions.
    """
    path = file_of(function)
    source = _parsed(path) if path else None
    found = source.filters.get(name) if source else None
    return None if found is None else TaskFunction(function.file, found)


def is_installed(package: str) -> bool:
    """Whether a top-level package can be imported here; finds it without importing it."""
    try:
        return find_spec(package) is not None
    except (ImportError, ValueError):
        return False


def pip_name(package: str) -> str:
    """What to give to `pip install` for a package that files import."""
    return _ON_THE_INDEX.get(package, package)


@lru_cache(maxsize=50_000)
def _read(file: str, name: str) -> _Read:
    following = _Following()
    if not file.endswith(".py"):
        following.packages.add(file.partition(".")[0])
    following.follow(file, (name,))
    files = tuple(dict.fromkeys(path for path, _ in following.seen))
    return _Read(frozenset(following.packages - sys.stdlib_module_names), files)


@dataclass(frozen=True, slots=True)
class _Read:
    """What the source says about one function."""

    packages: frozenset[str]
    files: tuple[str, ...]


@dataclass(slots=True)
class _Following:
    """Goes from one block of code to those that it uses, also in other files."""

    packages: set[str] = field(default_factory=set)
    seen: dict[tuple[str, str], None] = field(default_factory=dict)
    """File and name of each block, in the order in which they were met."""

    def follow(self, file: str, names: Iterable[str]) -> None:
        """Add the packages that a file and these names of it import."""
        path = file if file.endswith(".py") else _module_file(file)
        source = _parsed(path) if path else None
        if path is None or source is None:
            return
        for block in self._used_blocks(path, source, names):
            for one in block.imports:
                if one.level:
                    self._follow_relative(one, Path(path))
                    continue
                self.packages.add(one.module.partition(".")[0])
                if one.module.startswith("lm_eval.tasks."):
                    self.follow(one.module, one.names)
                    for taken in one.names:
                        self.follow(f"{one.module}.{taken}", ())

    def _follow_relative(self, one: _Import, path: Path) -> None:
        """Follow a relative import: a module with names of it, or modules of a folder."""
        if one.level > len(path.parents):
            return
        place = path.parents[one.level - 1].joinpath(*filter(None, one.module.split(".")))
        self.follow(f"{place}.py", one.names)
        for name in one.names:
            self.follow(str(place / f"{name}.py"), ())

    def _used_blocks(self, path: str, source: _Source, names: Iterable[str]) -> Iterator[_Block]:
        """The top of a file and all that the names lead to, each block once.

        What the top uses runs when the file is loaded, so that it counts too.
        """
        waiting = ["", *names]
        while waiting:
            name = waiting.pop()
            block = source.blocks.get(name) if name else source.top
            if block is None or (path, name) in self.seen:
                continue
            self.seen[path, name] = None
            waiting += sorted(block.uses)
            yield block


def _module_file(module: str) -> str | None:
    """The file of a dotted module; its parents are not imported."""
    top, *inner = module.split(".")
    try:
        spec = find_spec(top)
    except (ImportError, ValueError):
        return None
    for place in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(place, *inner)
        for file in (Path(f"{path}.py"), path / "__init__.py"):
            if inner and file.is_file():
                return str(file)
    return None


@lru_cache(maxsize=5_000)
def _parsed(path: str) -> _Source | None:
    try:
        if Path(path).stat().st_size > _LONGEST_SOURCE:
            return None
        text = Path(path).read_bytes()
        with warnings.catch_warnings():
            # Of strings like "\d", which are the file's own affair.
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    top = _Block()
    source = _Source(top, {})
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            block = source.blocks.setdefault(node.name, _Block())
            _collect([node], block)
            _collect(node.decorator_list, top)
            for name in _registered_names(node):
                source.filters[name] = node.name
        else:
            _collect([node], top, runs=True)
            # `name = partial(function, …)`: the name leads to what its value uses.
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        _collect([node.value], source.blocks.setdefault(target.id, _Block()))
    return source


def _registered_names(
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef,
) -> Iterator[str]:
    for one in node.decorator_list:
        if isinstance(one, ast.Call) and len(one.args) == 1:
            called, (given,) = one.func, one.args
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            if name == "register_filter" and isinstance(given, ast.Constant):
                yield str(given.value)


def _collect(nodes: Iterable[ast.AST], block: _Block, runs: bool = False) -> None:
    """Add what nodes import and which names they use.

    Args:
        nodes: Parts of a file.
        block: What they belong to.
        runs: Whether they run while the file is loaded: then a name counts where it is called,
            and not where it is only put into a table.
    """
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and _is_type_checking(node.test):
            waiting += node.orelse
            continue
        if isinstance(node, ast.Try) and _goes_on(node):
            waiting += [*node.handlers, *node.orelse, *node.finalbody]
            waiting += [one for one in node.body if not _is_import(one)]
            continue
        if isinstance(node, ast.Import):
            block.imports += [_Import(alias.name, 0, ()) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = tuple(alias.name for alias in node.names)
            block.imports.append(_Import(node.module or "", node.level, names))
        elif isinstance(node, ast.Name) and not runs:
            block.uses.add(node.id)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            block.uses.add(node.func.id)
        elif isinstance(node, ast.Lambda) and runs:
            continue
        waiting += ast.iter_child_nodes(node)


def _is_import(node: ast.AST) -> bool:
    return isinstance(node, ast.Import | ast.ImportFrom)


def _is_type_checking(test: ast.expr) -> bool:
    name = test.attr if isinstance(test, ast.Attribute) else getattr(test, "id", "")
    return name == "TYPE_CHECKING"


def _goes_on(node: ast.Try) -> bool:
    """Whether a failing import is caught, and the handler does not raise in its turn."""
    for handler in node.handlers:
        caught = handler.type
        parts = caught.elts if isinstance(caught, ast.Tuple) else [caught]
        names = {getattr(part, "id", None) for part in parts}
        if caught is None or names & _IMPORT_ERRORS:
            return not any(isinstance(one, ast.Raise) for one in ast.walk(handler))
    return False
