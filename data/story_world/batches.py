"""Documents as tokens and loss weights, and the curriculum that says which documents come when."""

from __future__ import annotations

import random
from typing import NamedTuple

import torch
from documents import Document, story_document
from drills import KINDS, drill, word_list
from tokenizers import Tokenizer
from torch import Tensor

from minillm.world import SIZES, Size
from minillm.world.evaluate import EVALUATION_SEED


class Stage(NamedTuple):
    """A stage ends when `enough` of its answers are right, or after `most` steps."""

    name: str
    rows: int
    drills: float  # share of the steps that are drills; the others are stories
    sizes: tuple[Size, ...]
    text_weight: float  # of the story's own words; an answer's is 1
    enough: float
    most: int


# The story's words are random names and places: their loss is noise, and it kept models of this size from
# ever tying a question to its fact. So they count for nothing until the questions are mastered.
STAGES = (
    Stage("lists", 48, 0.0, (), 0.0, 0.8, 600),
    Stage("drills", 32, 1.0, (), 0.0, 0.93, 300),
    Stage("facts", 24, 0.5, (Size(3, 4, 2, 0),), 0.0, 0.93, 150),
    Stage("events", 24, 0.25, (Size(3, 3, 1, 2), Size(3, 3, 1, 4), Size(3, 2, 1, 6)), 0.0, 0.93, 200),
)
LAST = Stage("stories", 24, 0.1, SIZES, 0.1, 2.0, 0)  # as many steps as are asked for


class Batch(NamedTuple):
    """Tokens [rows, S], right padded with the end token, and loss weights [rows, S], 0 on padding."""

    tokens: Tensor
    weights: Tensor


def make_batch(tokenizer: Tokenizer, step: int, stage: Stage, seed: int) -> Batch:
    """The documents of one step, all of one kind and size, so that there is little padding."""
    first = (seed * 100_000 + step) * 64 % EVALUATION_SEED  # evaluation draws from there on
    rng = random.Random(first)
    if not stage.sizes and not stage.drills:
        documents = [word_list(rng) for _ in range(stage.rows)]
    elif rng.random() < stage.drills:
        kind = KINDS[step % len(KINDS)]
        documents = [drill(kind, rng) for _ in range(stage.rows)]
    else:
        size = stage.sizes[step % len(stage.sizes)]
        documents = [story_document(first + row, size) for row in range(stage.rows)]
    return collate(tokenizer, documents, stage.text_weight)


def collate(tokenizer: Tokenizer, documents: list[Document], text_weight: float) -> Batch:
    encoded = tokenizer.encode_batch([document.text for document in documents])
    longest = max(len(item.ids) for item in encoded) + 1
    tokens = torch.zeros(len(documents), longest, dtype=torch.long)
    weights = torch.zeros(len(documents), longest)
    for row, (item, document) in enumerate(zip(encoded, documents, strict=True)):
        tokens[row, : len(item.ids)] = torch.tensor(item.ids)
        weights[row, 1 : len(item.ids) + 1] = text_weight
        for start, stop in document.answers:
            weights[row, item.char_to_token(start) : item.char_to_token(stop - 1) + 1] = 1.0
    return Batch(tokens, weights)
