"""A tiny world whose every question has one right answer: who holds what, and where.

People walk between places and hand things to whoever is with them. The text is our own and a seed decides
all of
it, so a score measured on fresh seeds is a score on stories the model has never seen.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from minillm.paths import data_dir

Difficulty = Literal["stated", "holder", "place", "person"]

# What a score is reported for. "person" (where somebody is) is trained too: it is the second hop of "place".
DIFFICULTIES: tuple[Difficulty, ...] = ("stated", "holder", "place")


@dataclass(frozen=True)
class Words:
    """The vocabulary of the world, read from data/story_world/words.json."""

    names: tuple[str, ...]
    things: tuple[str, ...]
    fixtures: tuple[str, ...]
    places: tuple[str, ...]
    colors: tuple[str, ...]

    def is_held_out(self, name: str, thing: str) -> bool:
        """One pair of person and thing in ten never occurs in training."""
        return (7 * self.names.index(name) + self.things.index(thing)) % 10 == 0


@lru_cache(maxsize=1)
def words() -> Words:
    raw = json.loads((data_dir() / "story_world" / "words.json").read_text(encoding="utf-8"))
    return Words(**{key: tuple(values) for key, values in raw.items()})


@dataclass(frozen=True)
class Question:
    """`text` ends with a question mark; `answer` is one word; `unseen` marks a pair held out of training."""

    text: str
    answer: str
    difficulty: Difficulty
    unseen: bool = False


@dataclass(frozen=True)
class Size:
    """How long a story is."""

    people: int = 3
    things: int = 2
    fixtures: int = 1
    events: int = 7


# The stories a score is measured on; training ends on them too.
SIZES = (Size(2, 2, 1, 5), Size(3, 2, 1, 6), Size(3, 2, 1, 8), Size(4, 2, 0, 8))


@dataclass
class Story:
    """The sentences of one story, and the state of its world after the last of them."""

    sentences: list[str] = field(default_factory=list)
    location: dict[str, str] = field(default_factory=dict)  # person -> place
    holder: dict[str, str] = field(default_factory=dict)  # thing -> person
    color: dict[str, str] = field(default_factory=dict)  # thing -> color
    fixture: dict[str, str] = field(default_factory=dict)  # fixture -> place

    @property
    def text(self) -> str:
        return " ".join(self.sentences)

    def questions(self) -> list[Question]:
        """Every question the world can answer now."""
        asked = [Question(f"What color is the {t}?", c, "stated") for t, c in self.color.items()]
        asked += [Question(f"Where is the {f}?", p, "stated") for f, p in self.fixture.items()]
        asked += [Question(f"Where is {n}?", p, "person") for n, p in self.location.items()]
        for thing, name in self.holder.items():
            unseen = words().is_held_out(name, thing)
            asked.append(Question(f"Who has the {thing}?", name, "holder", unseen))
            asked.append(Question(f"Where is the {thing}?", self.location[name], "place", unseen))
        return asked


class StoryWorld:
    """Writes stories. `training=True` keeps the held-out pairs of person and thing out of them."""

    def __init__(self, seed: int, training: bool = False) -> None:
        self.rng = random.Random(seed)
        self.training = training

    def begin(self, size: Size) -> Story:
        """The opening: everybody's place, and each thing's color and holder, in mixed order."""
        story, rng, known = Story(), self.rng, words()
        places = rng.sample(known.places, min(len(known.places), size.people + 2))
        for name in rng.sample(known.names, size.people):
            story.location[name] = rng.choice(places)
            story.sentences.append(f"{name} is in the {story.location[name]}.")
        for fixture in rng.sample(known.fixtures, size.fixtures):
            story.fixture[fixture] = rng.choice(places)
            story.sentences.append(f"The {fixture} is in the {story.fixture[fixture]}.")
        for thing in rng.sample(known.things, size.things):
            takers = [name for name in story.location if self._may_hold(name, thing)]
            if takers:
                story.holder[thing] = rng.choice(takers)
                story.color[thing] = rng.choice(known.colors)
                story.sentences.append(f"The {thing} is {story.color[thing]}.")
                story.sentences.append(f"The {thing} is with {story.holder[thing]}.")
        rng.shuffle(story.sentences)
        return story

    def advance(self, story: Story) -> None:
        """One event: a hand-over where two people meet, else a walk (often to where somebody is)."""
        rng = self.rng
        offers = [
            (giver, thing, taker)
            for thing, giver in story.holder.items()
            for taker in story.location
            if taker != giver
            and story.location[taker] == story.location[giver]
            and self._may_hold(taker, thing)
        ]
        if offers and rng.random() < 0.6:
            giver, thing, taker = rng.choice(offers)
            story.holder[thing] = taker
            story.sentences.append(f"{giver} gives the {thing} to {taker}.")
            return
        walker = rng.choice(list(story.location))
        here = story.location[walker]
        elsewhere = sorted((set(story.location.values()) | set(story.fixture.values())) - {here})
        if not elsewhere or rng.random() < 0.3:
            elsewhere = [place for place in words().places if place != here]
        story.location[walker] = rng.choice(elsewhere)
        story.sentences.append(f"{walker} goes to the {story.location[walker]}.")

    def story(self, size: Size | None = None) -> Story:
        """A whole story."""
        size = size or Size()
        story = self.begin(size)
        for _ in range(size.events):
            self.advance(story)
        return story

    def _may_hold(self, name: str, thing: str) -> bool:
        return not (self.training and words().is_held_out(name, thing))
