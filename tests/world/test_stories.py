"""The story world keeps its own rules: an independent reader of the text finds the same answers."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minillm.world import SIZES, Size, StoryWorld
from minillm.world.stories import words


def read(sentences):
    """Follow the text alone, sentence by sentence; refuse what could not happen."""
    place, holder, color, fixture = {}, {}, {}, {}
    for sentence in sentences:
        if match := re.fullmatch(r"The (\w+) is in the (\w+)\.", sentence):
            fixture[match[1]] = match[2]
        elif match := re.fullmatch(r"(\w+) is in the (\w+)\.", sentence):
            place[match[1]] = match[2]
        elif match := re.fullmatch(r"The (\w+) is with (\w+)\.", sentence):
            holder[match[1]] = match[2]
        elif match := re.fullmatch(r"The (\w+) is (\w+)\.", sentence):
            color[match[1]] = match[2]
        elif match := re.fullmatch(r"(\w+) goes to the (\w+)\.", sentence):
            assert place[match[1]] != match[2], "a walk must lead somewhere else"
            place[match[1]] = match[2]
        else:
            match = re.fullmatch(r"(\w+) gives the (\w+) to (\w+)\.", sentence)
            assert match, sentence
            assert holder[match[2]] == match[1], "only the holder can give"
            assert place[match[1]] == place[match[3]], "the two must be together"
            holder[match[2]] = match[3]
    answers = {f"What color is the {thing}?": value for thing, value in color.items()}
    answers |= {f"Where is the {thing}?": value for thing, value in fixture.items()}
    answers |= {f"Where is {name}?": value for name, value in place.items()}
    answers |= {f"Who has the {thing}?": name for thing, name in holder.items()}
    answers |= {f"Where is the {thing}?": place[name] for thing, name in holder.items()}
    return answers


@given(seed=st.integers(0, 10**8), size=st.sampled_from([*SIZES, Size(2, 1, 0, 2), Size(6, 6, 3, 30)]))
@settings(deadline=None, max_examples=200)
def test_every_answer_follows_from_the_text(seed, size):
    story = StoryWorld(seed).story(size)
    assert {question.text: question.answer for question in story.questions()} == read(story.sentences)


@given(seed=st.integers(0, 10**8))
@settings(deadline=None, max_examples=100)
def test_training_never_shows_a_held_out_pair(seed):
    world = StoryWorld(seed, training=True)
    story = world.begin(SIZES[2])
    for _ in range(12):
        assert not any(words().is_held_out(name, thing) for thing, name in story.holder.items())
        world.advance(story)


def test_evaluation_does_show_held_out_pairs():
    unseen = [
        q.unseen
        for seed in range(200)
        for q in StoryWorld(seed).story().questions()
        if q.difficulty == "holder"
    ]
    assert 0.05 < sum(unseen) / len(unseen) < 0.2


def test_a_seed_decides_the_story():
    assert StoryWorld(5).story().text == StoryWorld(5).story().text != StoryWorld(6).story().text


def test_things_change_hands_and_places():
    """A model that answers with the opening's state must not score well."""
    changed = 0
    for seed in range(200):
        world = StoryWorld(seed)
        story = world.begin(SIZES[2])
        before = {thing: story.location[name] for thing, name in story.holder.items()}
        for _ in range(SIZES[2].events):
            world.advance(story)
        changed += any(story.location[name] != before[thing] for thing, name in story.holder.items())
    assert changed > 150


@pytest.mark.parametrize("kind", ["names", "things", "fixtures", "places", "colors"])
def test_words_are_distinct(kind):
    listed = getattr(words(), kind)
    assert len(set(listed)) == len(listed) >= 8
