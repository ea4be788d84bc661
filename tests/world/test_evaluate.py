"""The score counts what it says: against a model that is told the answers, and one that is told none."""

from __future__ import annotations

import pytest

from minillm.world import evaluate
from minillm.world.evaluate import Asked, Score, exact_match, questions
from minillm.world.stories import Question


class Words:
    """A tokenizer whose ids stand for whole texts."""

    def __init__(self):
        self.texts = []

    def encode(self, text):
        self.texts.append(text)
        return [len(self.texts) - 1]

    def decode(self, ids):
        return self.texts[ids[0]]


def answering(monkeypatch, answer):
    """Let `generate` say `answer(prompt)`."""
    words = Words()

    def generate(model, prompts, max_new_tokens):
        return [words.encode(answer(words.decode(prompt))) for prompt in prompts]

    monkeypatch.setattr(evaluate, "generate", generate)
    return words


def test_a_model_that_knows_scores_one_and_a_silent_one_zero(monkeypatch):
    known = {f"{story} {question.text}": question.answer for story, question in questions(20)}
    words = answering(monkeypatch, lambda prompt: f" {known[prompt]}. More")
    assert set(exact_match(None, words, 20).by_difficulty().values()) == {1.0}
    words = answering(monkeypatch, lambda prompt: "")
    assert set(exact_match(None, words, 20).by_difficulty().values()) == {0.0}


def test_almost_right_is_wrong(monkeypatch):
    known = {f"{story} {question.text}": question.answer for story, question in questions(20)}
    words = answering(monkeypatch, lambda prompt: f" {known[prompt]} or not.")
    assert exact_match(None, words, 20).share() == 0.0


def test_the_interval_is_wilsons():
    """45 of 50: 0.7864 to 0.9565, by the formula worked by hand."""
    answers = [Asked("", Question("?", "a", "holder"), "a" if i < 45 else "b") for i in range(50)]
    assert Score(tuple(answers)).interval("holder") == pytest.approx((0.7864, 0.9565), abs=1e-4)


def test_a_share_of_nothing_is_refused():
    with pytest.raises(ValueError, match="no question of difficulty 'place'"):
        Score(()).share("place")


def test_questions_are_spread_over_difficulties_and_repeat_by_seed():
    asked = questions(30)
    assert [q.difficulty for _, q in asked].count("place") == 30
    assert asked == questions(30) != questions(30, seed=5)
