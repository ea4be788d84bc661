"""Training text: a story, then questions about its end, with the places of their answers."""

from __future__ import annotations

import random
from typing import NamedTuple

from minillm.world.stories import Size, StoryWorld


class Document(NamedTuple):
    """A text, and where its answers stand: character spans that include the full stop."""

    text: str
    answers: list[tuple[int, int]]


def ask(document: Document, question: str, answer: str) -> Document:
    """The document with a question and its answer at the end."""
    text = f"{document.text} {question} {answer}."
    return Document(text, [*document.answers, (len(text) - len(answer) - 1, len(text))])


def story_document(seed: int, size: Size, asked: int = 10) -> Document:
    """A story without the held-out pairs, then up to `asked` of its questions in random order."""
    story = StoryWorld(seed, training=True).story(size)
    questions = story.questions()
    random.Random(seed).shuffle(questions)
    document = Document(story.text, [])
    for question in questions[:asked]:
        document = ask(document, question.text, question.answer)
    return document
