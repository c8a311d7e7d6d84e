"""Completions while they are generated, token by token: text, stop strings and thinking.

A completion takes one token at a time and says when it is complete. One that thinks has two
sections: thinking between two marks, then the answer. The sections are separated as
`backends.text.thinking` does it for a whole text. In addition there is a budget: once it is spent,
the tokens that close the thinking section are forced on the row and its answer begins.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Protocol

from tenbin.backends.text.detokenizer import Detokenizer
from tenbin.backends.text.thinking import Split, split_thinking
from tenbin.records import Finish, Text, Thinking, ThinkingEnd

_MOST_SPACE = 16
"""Tokens of white space after which no thinking section is expected any more."""


class Completion(Protocol):
    """A text that grows by one token at a time."""

    finish: Finish | None
    """What completed it; None while it grows."""
    forced: tuple[int, ...]
    """Tokens that come next, whatever the model would choose."""

    def add(self, token: int) -> bool:
        """Take the next token; return True when the text is complete."""
        ...

    def result(self, truncated: int) -> Text:
        """Return the text as a response."""
        ...


class TextCompletion:
    """An answer without a thinking section."""

    def __init__(
        self, detokenizer: Detokenizer, ends: Collection[int], limit: int, lead: str | None = None
    ) -> None:
        """Start an answer.

        Args:
            detokenizer: Knows the stop strings.
            ends: Ids that end the answer.
            limit: Most tokens.
            lead: After a thinking section, the part of the answer that the closing token brought
                along; white space there belongs to the mark. None without a thinking section.
        """
        self.finish: Finish | None = None
        self.forced: tuple[int, ...] = ()
        self._lead = lead
        self._detokenizer = detokenizer
        self._ends = ends
        self._limit = limit
        self._tokens: list[int] = []

    def add(self, token: int) -> bool:
        """Take the next token; return True when the answer is complete."""
        if self.finish is not None:
            return True
        self._tokens.append(token)
        # Stop strings first: an end token may be one, and then the answer finished by "stop".
        if self._has_stop():
            self.finish = "stop"
        elif token in self._ends:
            self._tokens.pop()
            self.finish = "end"
        elif len(self._tokens) >= self._limit:
            self.finish = "length"
        return self.finish is not None

    def result(self, truncated: int) -> Text:
        """Return the answer, cut before its first stop string and never inside a character."""
        if self.finish == "stop":
            text = self._with_lead(self._detokenizer.text(self._tokens))
            text = text[: self._detokenizer.first_stop(text)]
        else:
            text = self._with_lead(self._detokenizer.whole_characters(self._tokens))
        return Text(
            self._detokenizer.cleaned(text), self.finish or "length", len(self._tokens), truncated
        )

    def _has_stop(self) -> bool:
        """Search the newest tokens; only a hit there makes decoding the whole text necessary.

        Decoding everything at every token would make long answers quadratic.
        """
        detokenizer = self._detokenizer
        if not detokenizer.stop:
            return False
        if detokenizer.first_stop(self._recent_text()) is None:
            return False
        return detokenizer.first_stop(self._with_lead(detokenizer.text(self._tokens))) is not None

    def _recent_text(self) -> str:
        recent = self._detokenizer.recent(self._tokens)
        text = self._detokenizer.text(recent)
        return self._lead + text if self._lead and len(recent) == len(self._tokens) else text

    def _with_lead(self, text: str) -> str:
        return text if self._lead is None else (self._lead + text).lstrip()


class ThinkingCompletion:
    """A thinking section and the answer after it."""

    def __init__(
        self,
        marks: Detokenizer,
        answers: Detokenizer,
        ends: Collection[int],
        limit: int,
        thinking: Thinking,
        closing: Sequence[int],
        opened: bool,
    ) -> None:
        """Start a completion.

        Args:
            marks: Decodes with both marks left in.
            answers: Knows the answer's stop strings.
            ends: Ids that end the text.
            limit: Most tokens of the answer.
            thinking: The marks and the budget.
            closing: Tokens that close a thinking section whose budget is spent.
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
        self._sections: list[str] = []
        self._thinking_tokens = 0
        self._end: ThinkingEnd = "none"
        self._lead: str | None = None
        """Text after the last closing mark that came with the token that completed the mark."""
        self._block: list[int] = []
        """Tokens of the thinking section, or tokens that may still turn out to begin one."""
        self._inside = self._opened = opened
        self._answer: TextCompletion | None = None
        if opened:
            self._end = "open"
            self._force_when_spent()

    def add(self, token: int) -> bool:
        """Take the next token; return True when the text is complete."""
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
            self._decide(token)
        return self.finish is not None

    def result(self, truncated: int) -> Text:
        """Return the answer with the thinking section beside it."""
        answer = Text("", self.finish or "length", 0, truncated)
        sections = list(self._sections)
        if self._answer is not None:
            answer = self._answer.result(truncated)
        elif self._inside:
            sections.append(self._split(self._marks.whole_characters(self._block)).thinking)
        return replace(
            answer,
            thinking="\n\n".join(section for section in sections if section),
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
        """Search the newest tokens; only a hit there makes decoding the whole block necessary."""
        if self._thinking.closing in self._marks.text(self._marks.recent(self._block)):
            found = self._split(self._marks.text(self._block))
            if found.end == "closed":
                self._leave(found.thinking, "closed", found.answer)
                return
        self._force_when_spent()

    def _force_when_spent(self) -> None:
        if self._thinking_tokens >= self._thinking.budget:
            self.forced = self._closing

    def _take_forced(self) -> None:
        self.forced = self.forced[1:]
        if not self.forced:
            thinking = self._split(self._marks.whole_characters(self._block)).thinking
            self._leave(thinking, "budget", "")

    def _leave(self, thinking: str, end: ThinkingEnd, lead: str) -> None:
        """End the thinking section; while there is budget left, another one may follow."""
        self._sections.append(thinking)
        self._end = end
        self._lead = lead
        self._block = []
        self._inside = self._opened = False
        if self._thinking_tokens >= self._thinking.budget:
            self._begin_answer()

    def _decide(self, token: int) -> None:
        """Find out whether thinking or the answer begins; stop strings wait for that too."""
        self._block.append(token)
        text = ((self._lead or "") + self._marks.whole_characters(self._block)).lstrip()
        opening = self._thinking.opening
        if text.startswith(opening):
            self._inside = True
            self._end = "open"
            self._thinking_tokens += len(self._block)
            self._close_or_force()
            return
        most = min(_MOST_SPACE, self._thinking.budget - self._thinking_tokens)
        most += len(opening.encode()) if text else 0
        if token in self._ends or not opening.startswith(text) or len(self._block) > most:
            self._begin_answer()

    def _begin_answer(self) -> None:
        waiting, self._block = self._block, []
        self._answer = TextCompletion(self._answers, self._ends, self._limit, self._lead)
        for token in waiting:
            if self._answer.add(token):
                break
        self.finish = self._answer.finish

    def _split(self, block: str) -> Split:
        """Separate thinking and answer in a block; the prompt may have opened the first one."""
        before = self._thinking.opening if self._opened else ""
        return split_thinking((self._lead or "") + block, self._thinking, before)
