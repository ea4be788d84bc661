"""One request as a stream of timed token events, with stop strings."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from minillm.decoding.detokenize import Detokenizer
from minillm.decoding.generate import decode_steps
from minillm.decoding.sampling import GREEDY, Sampling
from minillm.models.tokenizer import Tokenizer
from minillm.models.transformer import Transformer


class TokenEvent(NamedTuple):
    """One generated token. `text` may be empty: half a character, or what could become a stop string, waits.

    `seconds` since the call; the first event's is the time to first token. `finish`: None, then 'stop' (end
    token or stop string) or 'length' on the last event.
    """

    token: int
    text: str
    seconds: float
    finish: str | None


def stream(
    model: Transformer,
    tokenizer: Tokenizer,
    prompt: Sequence[int],
    max_new_tokens: int,
    sampling: Sampling = GREEDY,
    stop: str | Sequence[str] = (),
) -> Iterator[TokenEvent]:
    """Generate from `prompt` (ids), an event per token. No stop string is ever part of the text."""
    started = time.perf_counter()
    stops = StopStrings((stop,) if isinstance(stop, str) else tuple(stop))
    detokenizer = Detokenizer(tokenizer)
    for count, (token,) in enumerate(decode_steps(model, [prompt], max_new_tokens, [sampling]), start=1):
        ended = token in model.config.eos_ids
        last = ended or count == max_new_tokens
        text = "" if ended else detokenizer.push(token)
        text = stops.push(text + (detokenizer.finish() if last else ""), final=last)
        finish = "stop" if ended or stops.hit else "length" if last else None
        yield TokenEvent(token, text, time.perf_counter() - started, finish)
        if finish:
            return


def generate_text(
    model: Transformer,
    tokenizer: Tokenizer,
    prompt: str,
    max_new_tokens: int = 64,
    sampling: Sampling = GREEDY,
    stop: str | Sequence[str] = (),
) -> str:
    """The continuation of `prompt` as text."""
    events = stream(model, tokenizer, tokenizer.encode(prompt), max_new_tokens, sampling, stop)
    return "".join(event.text for event in events)


class StopStrings:
    """Passes text on until a stop string is complete; holds back an ending that could still become one."""

    def __init__(self, stops: Sequence[str]) -> None:
        if any(not stop for stop in stops):
            raise ValueError("a stop string is empty, which would stop at once; leave it out.")
        self.stops = tuple(stops)
        self.held = ""
        self.hit = False

    def push(self, text: str, final: bool = False) -> str:
        """The part of the text so far that can be shown now; all of it if `final`."""
        self.held += text
        found = [self.held.find(stop) for stop in self.stops if stop in self.held]
        if found:
            self.hit = True
            shown, self.held = self.held[: min(found)], ""
            return shown
        keep = 0 if final else self._possible_start()
        cut = len(self.held) - keep
        shown, self.held = self.held[:cut], self.held[cut:]
        return shown

    def _possible_start(self) -> int:
        """Length of the longest ending of the held text that begins a stop string."""
        lengths = (n for stop in self.stops for n in range(1, len(stop)) if self.held.endswith(stop[:n]))
        return max(lengths, default=0)
