"""What an option is: everything that flags, run files, Python keywords and docs/options.md need.

`RunConfig` declares each option once, with `option()`; all else is made from those declarations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal, NamedTuple, TypeVar

from tenbin.config.values import Kind

F = TypeVar("F", bound=Callable[..., Any])
R = TypeVar("R", bound="OptionsRecord")


class Group(NamedTuple):
    """Options that stand under one heading of a command's help."""

    title: str
    commands: tuple[str, ...]
    """Commands that have the group's flags."""


_RUN = ("run", "sweep", "watch")
_TOKENIZER = (*_RUN, "doctor")
_PROMPTS = (*_TOKENIZER, "preview")
SELECTION = Group("what to evaluate", _PROMPTS)
MODEL = Group("model", _TOKENIZER)
WORKERS = Group("workers (needs tenbin[ray]; their number changes no score, docs/scale.md)", _RUN)
PROMPTS = Group("prompts", _PROMPTS)
GENERATION = Group(
    "generation tasks (greedy unless the task or a temperature says otherwise)", _TOKENIZER
)
DATA = Group("data", (*_PROMPTS, "validate"))
OUTPUT = Group("output", _RUN)
SWEEP = Group("what to sweep over", ("sweep",))
GROUPS = (SELECTION, MODEL, WORKERS, PROMPTS, GENERATION, DATA, OUTPUT, SWEEP)
"""In the order of a command's help."""


class Option(NamedTuple):
    """One option of a run: a flag, a key of run files and a keyword in Python."""

    name: str
    kind: Kind
    default: Any
    help: str
    group: Group
    metavar: str
    commands: tuple[str, ...]
    """Commands that have the flag."""
    in_files: bool
    """Whether a run file may set it."""
    recorded: bool | Literal["when set"]
    """Whether it is part of what a run is, and so of result.json; `when set`: left out of results
    that do without it, which stay what they were before it existed."""
    repeatable: bool
    """Whether the flag may be given several times, each adding to the value."""

    @property
    def python_type(self) -> str:
        """The type of the keyword in Python; None stands for the default."""
        return f"{self.kind.python} | None"

    @property
    def is_flag(self) -> bool:
        """Whether any command has it as a flag."""
        return bool(self.commands)


def option(
    kind: Kind,
    default: Any,
    group: Group,
    metavar: str,
    help: str,
    *,
    also: tuple[str, ...] = (),
    commands: tuple[str, ...] | None = None,
    in_files: bool = True,
    recorded: bool | Literal["when set"] = True,
    repeatable: bool = False,
) -> Any:
    """Declare an option as a field of RunConfig.

    Args:
        kind: How a value is read.
        default: The value when none is given.
        group: Its heading in help and documentation.
        metavar: What stands for the value in help; a switch shows `true|false`.
        help: What it does, in a sentence fragment; `{default}` is replaced.
        also: Commands that have the flag besides those of the group.
        commands: All commands that have it, instead of the group's.
        in_files: Whether a run file may set it.
        recorded: Whether it is part of what a run is, always or only `when set`.
        repeatable: Whether the flag may be given several times.
    """
    return Option(
        "", kind, default, help.replace("{default}", str(default)), group, metavar,
        (*(group.commands if commands is None else commands), *also),
        in_files, recorded, repeatable,
    )  # fmt: skip


class OptionsRecord:
    """A frozen record whose fields are options, each declared with `option()`.

    Not a dataclass: importing `dataclasses` takes longer than all else that `--help` needs.
    """

    options: ClassVar[dict[str, Option]]
    """The declared options by name, in their order."""

    def __init_subclass__(cls) -> None:
        cls.options = {
            name: one._replace(name=name) for name, one in vars(cls).items() if type(one) is Option
        }
        for name in cls.options:
            delattr(cls, name)

    def __init__(self, **values: Any) -> None:
        """A record of these values, and of the defaults of all other options."""
        unknown = [name for name in values if name not in self.options]
        if unknown:
            raise TypeError(f"{type(self).__name__} has no option {', '.join(unknown)}")
        for name, one in self.options.items():
            default = dict(one.default) if isinstance(one.default, dict) else one.default
            vars(self)[name] = values.get(name, default)

    def replaced(self: R, **values: Any) -> R:
        """The record with other values of these options."""
        return type(self)(**{**vars(self), **values})

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{name}: a {type(self).__name__} is frozen; see `replaced`")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({values})"


def show_in_signature(options: Mapping[str, Option]) -> Callable[[F], F]:
    """Make `inspect.signature` and notebooks show the options in place of `**options`."""

    def decorate(function: F) -> F:
        import inspect

        signature = inspect.signature(function)
        own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        left_out = {parameter.name for parameter in own}
        shown = [
            inspect.Parameter(
                one.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=one.default,
                annotation=one.python_type,
            )
            for one in options.values()
            if one.name not in left_out
        ]
        function.__signature__ = signature.replace(parameters=[*own, *shown])  # type: ignore[attr-defined]
        return function

    return decorate
