"""Text that grows with its tokens, without half a character and without taking anything back."""

from __future__ import annotations

from minillm.models.tokenizer import Tokenizer

REPLACEMENT = "\ufffd"  # what decoding half a UTF-8 character gives


class Detokenizer:
    """Feed tokens, get the new text of each. A token's text may depend on the one before, so a window is
    decoded."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.ids: list[int] = []
        self.window = 0  # decoding starts here: one shown stretch back
        self.shown = 0  # the text of ids[:shown] has been given out

    def push(self, token: int) -> str:
        """The text that `token` completes; empty while a character is incomplete."""
        self.ids.append(token)
        return self._flush(final=False)

    def finish(self) -> str:
        """What was held back, incomplete characters included."""
        return self._flush(final=True)

    def _flush(self, final: bool) -> str:
        before = self.tokenizer.decode(self.ids[self.window : self.shown])
        after = self.tokenizer.decode(self.ids[self.window :])
        if len(after) <= len(before) or (after.endswith(REPLACEMENT) and not final):
            return ""
        self.window, self.shown = self.shown, len(self.ids)
        return after[len(before) :]
