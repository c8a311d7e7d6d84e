"""A thought and then an answer, token by token: where the one ends and the other begins.

Knows marks, budgets and text as it grows; knows no model and no batch. What stands before the
answer is told apart as `backends.thinking` does it in a whole text. Besides there is the budget:
when it is spent, the tokens that close the thought are forced upon the row and its answer begins.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from tenbin.backends.text.stop_criteria import Decoder, Writing
from tenbin.backends.text.thinking import Split, split_thought
from tenbin.records import Finish, Text, Thinking, ThinkingEnd

_PATIENCE = 16
"""Tokens of white space after which no thought is waited for any more."""


class ThoughtfulWriting:
    """One thought and its answer while they grow."""

    def __init__(
        self,
        marks: Decoder,
        answers: Decoder,
        ends: Collection[int],
        limit: int,
        thinking: Thinking,
        closing: Sequence[int],
        opened: bool,
    ) -> None:
        """Begin a text.

        Args:
            marks: Decodes with both marks left in.
            answers: For the answer's stop strings.
            ends: Ids that end the text.
            limit: Most tokens of the answer.
            thinking: The marks and the budget.
            closing: The tokens that close a thought whose budget is spent.
            opened: Whether the prompt ends with the opening mark.
        """
        self.finish: Finish | None = None
        self.forced: tuple[int, ...] = ()
        self._marks = marks
        self._answers = answers
        self._ends = ends
        self._limit = limit
        self._thinking = thinking
        self._closing = tuple(closing)
        self._thoughts: list[str] = []
        self._thinking_tokens = 0
        self._end: ThinkingEnd = "none"
        self._lead: str | None = None
        """Written after the last closing mark by the token that completed it."""
        self._block: list[int] = []
        """The tokens of the thought, or those of which it is not known yet what they begin."""
        self._inside = self._opened = opened
        self._answer: Writing | None = None
        if opened:
            self._end = "open"
            self._force_when_spent()

    def add(self, token: int) -> bool:
        """Take the next token; True when the text is complete."""
        if self.finish is not None:
            return True
        if self.forced:
            self._take_forced()
        elif self._inside:
            self._think(token)
        elif self._answer is not None:
            self._answer.add(token)
            self.finish = self._answer.finish
        else:
            self._wait(token)
        return self.finish is not None

    def result(self, truncated: int) -> Text:
        """The answer, and apart from it what was thought."""
        answer = Text("", self.finish or "length", 0, truncated)
        thoughts = list(self._thoughts)
        if self._answer is not None:
            answer = self._answer.result(truncated)
        elif self._inside:
            thoughts.append(self._split(self._marks.whole_characters(self._block)).thought)
        return replace(
            answer,
            thinking="\n\n".join(thought for thought in thoughts if thought),
            thinking_tokens=self._thinking_tokens,
            thinking_end=self._end,
        )

    def _think(self, token: int) -> None:
        if token in self._ends:
            self.finish = "end"
            return
        self._block.append(token)
        self._thinking_tokens += 1
        self._close_or_force()

    def _close_or_force(self) -> None:
        """Look at the newest tokens only; the whole block is decoded to be sure."""
        if self._thinking.closing in self._marks.text(self._marks.recent(self._block)):
            found = self._split(self._marks.text(self._block))
            if found.end == "closed":
                self._leave(found.thought, "closed", found.answer)
                return
        self._force_when_spent()

    def _force_when_spent(self) -> None:
        if self._thinking_tokens >= self._thinking.budget:
            self.forced = self._closing

    def _take_forced(self) -> None:
        self.forced = self.forced[1:]
        if not self.forced:
            thought = self._split(self._marks.whole_characters(self._block)).thought
            self._leave(thought, "budget", "")

    def _leave(self, thought: str, end: ThinkingEnd, lead: str) -> None:
        """The thought is over; while there is budget left, another may follow."""
        self._thoughts.append(thought)
        self._end = end
        self._lead = lead
        self._block = []
        self._inside = self._opened = False
        if self._thinking_tokens >= self._thinking.budget:
            self._begin_answer()

    def _wait(self, token: int) -> None:
        """Find out whether a thought or the answer begins; stop strings wait for that too."""
        self._block.append(token)
        text = ((self._lead or "") + self._marks.whole_characters(self._block)).lstrip()
        opening = self._thinking.opening
        if text.startswith(opening):
            self._inside = True
            self._end = "open"
            self._thinking_tokens += len(self._block)
            self._close_or_force()
            return
        patience = min(_PATIENCE, self._thinking.budget - self._thinking_tokens)
        patience += len(opening.encode()) if text else 0
        if token in self._ends or not opening.startswith(text) or len(self._block) > patience:
            self._begin_answer()

    def _begin_answer(self) -> None:
        waiting, self._block = self._block, []
        self._answer = Writing(self._answers, self._ends, self._limit, self._lead)
        for token in waiting:
            if self._answer.add(token):
                break
        self.finish = self._answer.finish

    def _split(self, block: str) -> Split:
        """A block told apart; the first may have been opened by the prompt."""
        before = self._thinking.opening if self._opened else ""
        return split_thought((self._lead or "") + block, self._thinking, before)
