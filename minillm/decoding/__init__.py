"""How logits become text."""

from minillm.decoding.generate import generate
from minillm.decoding.sampling import Sampling
from minillm.decoding.streaming import TokenEvent, generate_text, stream

__all__ = ["Sampling", "TokenEvent", "generate", "generate_text", "stream"]
