"""Training text: stories with questions on the way and at the end, as tokens and loss weights."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

import torch
from tokenizers import Tokenizer
from torch import Tensor

from minillm.world.stories import Question, Size, StoryWorld

ANSWER_WEIGHT, TEXT_WEIGHT = 1.0, 0.1
SHARES = {"place": 0.4, "holder": 0.25, "person": 0.2, "stated": 0.15}
QUESTIONS = 7  # a document's


class Document(NamedTuple):
    """A text, and where its answers stand: character spans that include the full stop."""

    text: str
    answers: list[tuple[int, int]]


def document(world: StoryWorld, size: Size, rng: random.Random) -> Document:
    """One story; a quarter of its events are followed by a question, the rest of the questions end it."""
    story = world.begin(size)
    parts, answers, told, asked = list(story.sentences), [], len(story.sentences), 0
    for event in range(size.events + QUESTIONS):
        if event < size.events:
            world.advance(story)
            parts += story.sentences[told:]
            told = len(story.sentences)
        interrupts = event >= 1 and asked < 3 and rng.random() < 0.25
        if asked < QUESTIONS and (interrupts or event >= size.events):
            question = choose(story.questions(), rng)
            start = len(" ".join(parts)) + len(question.text) + 2
            answers.append((start, start + len(question.answer) + 1))
            parts.append(f"{question.text} {question.answer}.")
            asked += 1
    return Document(" ".join(parts), answers)


def choose(questions: Sequence[Question], rng: random.Random) -> Question:
    """One question, its difficulty drawn first."""
    kinds = sorted({question.difficulty for question in questions})
    kind = rng.choices(kinds, [SHARES[kind] for kind in kinds])[0]
    return rng.choice([question for question in questions if question.difficulty == kind])


def batch(tokenizer: Tokenizer, seed: int, size: Size, rows: int) -> tuple[Tensor, Tensor]:
    """Tokens [rows, S], right padded with the end token, and loss weights [rows, S], 0 on padding.

    All rows are stories of one size, so that there is little padding.
    """
    rng = random.Random(seed)
    documents = [document(StoryWorld(seed * rows + row, training=True), size, rng) for row in range(rows)]
    encoded = tokenizer.encode_batch([item.text for item in documents])
    longest = max(len(item.ids) for item in encoded) + 1
    tokens = torch.zeros(rows, longest, dtype=torch.long)
    weights = torch.zeros(rows, longest)
    for row, (item, source) in enumerate(zip(encoded, documents, strict=True)):
        count = len(item.ids)
        tokens[row, :count] = torch.tensor(item.ids)
        weights[row, 1 : count + 1] = TEXT_WEIGHT
        for start, stop in source.answers:
            weights[row, item.char_to_token(start) : item.char_to_token(stop - 1) + 1] = ANSWER_WEIGHT
    return tokens, weights
