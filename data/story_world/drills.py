"""Drills for what stories need: to go on as before, and to tie a question to its fact."""

from __future__ import annotations

import random

from documents import Document, ask

from minillm.world.stories import words

FACTS, ASKED = 8, 12
KINDS = ("pair", "person", "color", "holder")


def word_list(rng: random.Random) -> Document:
    """Forty words, a list of 6 to 20 over and over: all but the first round can be known (induction)."""
    pool = [word for group in vars(words()).values() for word in group]
    once = rng.sample(pool, rng.randint(6, 20))
    first = "".join(f" {word}" for word in once)
    text = "".join(f" {once[index % len(once)]}" for index in range(40))
    return Document(text, [(len(first), len(text))])


def drill(kind: str, rng: random.Random) -> Document:
    """`FACTS` facts, each about somebody or something else, and `ASKED` questions drawn with repetition.

    With repetition: where each is asked once, ruling out the answers already given is a way around binding.
    """
    known = words()
    subjects = {"pair": known.things + known.names, "person": known.names}.get(kind, known.things)
    values = {"pair": known.colors + known.places, "person": known.places, "color": known.colors}
    while True:
        facts = list(
            zip(rng.sample(subjects, FACTS), rng.sample(values.get(kind, known.names), FACTS), strict=True)
        )
        if kind != "holder" or not any(known.is_held_out(name, thing) for thing, name in facts):
            break
    document = Document(" ".join(SENTENCE[kind].format(*fact) for fact in facts), [])
    for _ in range(ASKED):
        subject, value = rng.choice(facts)
        document = ask(document, QUESTION[kind].format(subject), value)
    return document


SENTENCE = {
    "pair": "{} {}.",
    "person": "{} is in the {}.",
    "color": "The {} is {}.",
    "holder": "The {} is with {}.",
}
QUESTION = {
    "pair": "{}?",
    "person": "Where is {}?",
    "color": "What color is the {}?",
    "holder": "Who has the {}?",
}
