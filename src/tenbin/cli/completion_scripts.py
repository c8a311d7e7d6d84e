"""Completion scripts for bash, zsh and fish, made of the words that commands have."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence

from tenbin.cli.completion_words import LISTED, CommandWords

_BASH = r"""# Completion of tenbin for bash: eval "$(tenbin completion bash)"
_tenbin_names() {  # names of a kind, asked for once
  local kept="_TENBIN_$1"
  [[ -n ${!kept} ]] || printf -v "$kept" %s "$(tenbin completion --names "$1" 2>/dev/null)"
  names=${!kept}
}
_tenbin() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} names=
  # bash takes `--tasks=jnli` for three words.
  if [[ $cur == "=" ]]; then cur=
  elif [[ $prev == "=" ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}
  fi
  local command=${COMP_WORDS[1]} flags= actions= listed= own=
  COMPREPLY=()
  if (( COMP_CWORD == 1 )); then
    COMPREPLY=($(compgen -W "@COMMANDS@ --help --version" -- "$cur")); return
  fi
  case "$command ${COMP_WORDS[2]}" in
@ACTIONS@
    *) case "$command" in
@FLAGS@
    esac ;;
  esac
  if [[ -n $actions && COMP_CWORD -eq 2 && $cur != -* ]]; then
    COMPREPLY=($(compgen -W "$actions" -- "$cur")); return
  fi
  case "$prev" in
@LISTED@
  esac
  [[ -z $listed && $own && $cur != -* && $prev != -* ]] && listed=tasks
  if [[ -n $listed ]]; then
    [[ $listed == tasks && ${cur##*,} == *-* ]] && listed=ids
    _tenbin_names "$listed"
    local before=
    [[ $cur == *,* ]] && before=${cur%,*},
    COMPREPLY=($(compgen -P "$before" -W "$names" -- "${cur##*,}")); return
  fi
  case "$command $prev" in
@VALUES@
  esac
  [[ $cur == -* ]] && COMPREPLY=($(compgen -W "$flags" -- "$cur"))
}
complete -o default -o bashdefault -F _tenbin tenbin
"""
_ZSH = r"""#compdef tenbin
# Completion of tenbin for zsh: eval "$(tenbin completion zsh)" after compinit
typeset -gA _tenbin_known
_tenbin_names() {  # names of a kind, asked for once
  [[ -n ${_tenbin_known[$1]} ]] || _tenbin_known[$1]="$(tenbin completion --names $1 2>/dev/null)"
  names=(${(f)_tenbin_known[$1]})
}
_tenbin() {
  local prev=${words[CURRENT-1]} command=${words[2]} listed= own=
  local -a flags actions names described
  if (( CURRENT == 2 )); then
    described=(
@COMMANDS@
    )
    _describe command described
    return
  fi
  if [[ $PREFIX == --*=* ]]; then prev=${PREFIX%%=*}; compset -P '*='; fi
  case "$command ${words[3]}" in
@ACTIONS@
    *) case "$command" in
@FLAGS@
    esac ;;
  esac
  if (( $#actions && CURRENT == 3 )) && [[ $PREFIX != -* ]]; then
    compadd -- $actions
    return
  fi
  case "$prev" in
@LISTED@
  esac
  [[ -z $listed && -n $own && $PREFIX != -* && $prev != -* ]] && listed=tasks
  if [[ -n $listed ]]; then
    compset -P '*,'
    [[ $listed == tasks && $PREFIX == *-* ]] && listed=ids
    _tenbin_names $listed
    compadd -- $names
    return
  fi
  case "$command $prev" in
@VALUES@
  esac
  if [[ $PREFIX == -* ]]; then compadd -- $flags; else _files; fi
}
compdef _tenbin tenbin
"""
_FISH = """# Completion of tenbin for fish: ~/.config/fish/completions/tenbin.fish
complete -c tenbin -f -n __fish_use_subcommand -l version -d "print the version"
"""


def bash_script(words: Sequence[CommandWords]) -> str:
    """The script for bash."""
    return _filled(_BASH, words, list_of=lambda texts: f'"{" ".join(texts)}"', reply=_bash_reply)


def zsh_script(words: Sequence[CommandWords]) -> str:
    """The script for zsh."""
    described = "\n".join(
        f"      {shlex.quote(one.name + ':' + one.summary)}" for one in words if " " not in one.name
    )
    text = _ZSH.replace("@COMMANDS@", described)
    return _filled(
        text,
        words,
        list_of=lambda texts: f"({' '.join(texts)})",
        reply=lambda texts: f"compadd -- {' '.join(texts)}; return",
    )


def _bash_reply(texts: Sequence[str]) -> str:
    return f'COMPREPLY=($(compgen -W "{" ".join(texts)}" -- "$cur")); return'


def _filled(
    script: str,
    words: Sequence[CommandWords],
    list_of: Callable[[Sequence[str]], str],
    reply: Callable[[Sequence[str]], str],
) -> str:
    """A script with the branches of its `case` statements."""
    commands = [one for one in words if " " not in one.name]
    actions = [
        f'    "{one.name}") flags={list_of(sorted(one.flags))}{_own(one)} ;;'
        for one in words
        if " " in one.name
    ]
    flags = [
        f"      {one.name}) flags={list_of(sorted(one.flags))}"
        f"{f' actions={list_of(one.actions)}' if one.actions else ''}{_own(one)} ;;"
        for one in commands
    ]
    listed = [f"    --{flag}) listed={_kind(flag)} ;;" for flag in LISTED]
    # Actions have the flags of their command's other actions.
    values = {
        f"{one.name.partition(' ')[0]} {flag}": texts
        for one in words
        for flag, texts in one.values.items()
    }
    branches = [f'    "{key}") {reply(texts)} ;;' for key, texts in values.items()]
    for mark, lines in (
        ("COMMANDS", [" ".join(one.name for one in commands)]),
        ("ACTIONS", actions),
        ("FLAGS", flags),
        ("LISTED", listed),
        ("VALUES", branches),
    ):
        script = script.replace(f"@{mark}@", "\n".join(lines))
    return script


def _own(one: CommandWords) -> str:
    return " own=yes" if one.takes_tasks else ""


def _kind(flag: str) -> str:
    return "suites" if flag == "suite" else flag


def fish_script(words: Sequence[CommandWords]) -> str:
    """The script for fish."""
    lines = [_FISH]
    for one in words:
        command, _, action = one.name.partition(" ")
        place = (
            f"__fish_use_subcommand' -a {command}"
            if not action
            else (
                f"__fish_seen_subcommand_from {command}; and not __fish_seen_subcommand_from "
                f"{action}' -a {action}"
            )
        )
        lines.append(f"complete -c tenbin -f -n '{place} -d {_fish_text(one.summary)}")
        seen = " ; and ".join(f"__fish_seen_subcommand_from {word}" for word in one.name.split())
        if one.takes_tasks:
            lines.append(f"complete -c tenbin -n '{seen}' -a '(tenbin completion --names tasks)'")
        if one.actions:
            continue
        lines += [_fish_flag(seen, flag, help, one) for flag, help in one.flags.items()]
    return "\n".join(lines) + "\n"


def _fish_flag(seen: str, flag: str, help: str, one: CommandWords) -> str:
    name = flag.lstrip("-")
    line = f"complete -c tenbin -n '{seen}' {'-l' if flag.startswith('--') else '-s'} {name}"
    if name in LISTED:
        names = f"tenbin completion --names {_kind(name)}"
        line += f" -x -a '(__fish_complete_list , \"{names}\")'"
    elif flag in one.values:
        line += f" -x -a {shlex.quote(' '.join(one.values[flag]))}"
    return f"{line} -d {_fish_text(help.split(': ')[0])}"


def _fish_text(text: str) -> str:
    """A text in single quotes, as fish reads them."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


WRITERS: dict[str, Callable[[Sequence[CommandWords]], str]] = {
    "bash": bash_script,
    "zsh": zsh_script,
    "fish": fish_script,
}
