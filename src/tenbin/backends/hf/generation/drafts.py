"""Drafts the next tokens of a row by looking up what followed its last tokens before.

Answers repeat their prompt (a passage, the numbers of a problem) and themselves. Where the last few
tokens stand in the prompt or answer already, what followed them there is a good guess. A decode
step then reads the guess together with the newest token, and keeps as much of it as the model
itself chooses: the text is the model's own, only in fewer steps.

On a CPU a step of a few rows mostly waits for the weights to arrive from memory, and another token
costs little beside that: the less, the fewer rows share the waiting. A guess that is right less
often than its cost demands is not drafted. Every token that is added shows whether the guess was
right, drafted or not, so a row finds that out without paying for it.
"""

from __future__ import annotations

from collections.abc import Sequence

_SHARES = {4: 0.6, 3: 0.5, 2: 0.5, 1: 0.2}
"""Tokens that must stand there again, the longest match first, and how often such a guess is taken
to be right at first."""
_FIXED = 38
"""Tokens that cost as much as a step has fixed costs: SmolLM2-135M on two cores."""
_MOST = 6
"""Tokens per draft."""
_WEIGHT = 0.2
"""Of the newest guess in the share of right guesses."""


class Drafter:
    """The tokens of one row, and what followed each few of them."""

    def __init__(self, prompt: Sequence[int]) -> None:
        """Read a prompt.

        Args:
            prompt: Its token ids.
        """
        self._tokens: list[int] = []
        self._next: dict[tuple[int, ...], int] = {}
        """Place of the token that last followed these."""
        self._shares = dict(_SHARES)
        """How often guesses were right, by length of the match."""
        self._found: tuple[int, int] | None = None
        """Length of the match and place of the guess, for the next token."""
        for token in prompt:
            self._append(token)
        self._look_up()

    def add(self, token: int) -> None:
        """Take the next token of the row."""
        if self._found is not None:
            length, place = self._found
            right = float(self._tokens[place] == token)
            self._shares[length] += _WEIGHT * (right - self._shares[length])
        self._append(token)
        self._look_up()

    def draft(self, most: int, rows: int) -> list[int]:
        """Return tokens that may come next, fewer the less likely they are.

        Args:
            most: How many at most.
            rows: Rows that share the step.
        """
        if self._found is None:
            return []
        length, place = self._found
        share = likely = self._shares[length]
        worth = rows / (rows + _FIXED)
        drafted: list[int] = []
        known = len(self._tokens)
        while likely >= worth and len(drafted) < min(most, _MOST):
            # A draft that reaches the end of the row goes on with itself, as a loop does.
            at = place + len(drafted)
            drafted.append(self._tokens[at] if at < known else drafted[at - known])
            likely *= share
        return drafted

    def _append(self, token: int) -> None:
        place = len(self._tokens)
        for length in _SHARES:
            if place >= length:
                self._next[tuple(self._tokens[place - length :])] = place
        self._tokens.append(token)

    def _look_up(self) -> None:
        self._found = None
        for length in _SHARES:
            place = self._next.get(tuple(self._tokens[-length:]))
            if place is not None:
                self._found = (length, place)
                return
