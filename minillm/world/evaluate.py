"""Exact match on the story world: the share of questions a model answers with exactly the right word."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from minillm.decoding import generate
from minillm.models.tokenizer import Tokenizer
from minillm.models.transformer import Transformer
from minillm.world.stories import DIFFICULTIES, SIZES, Difficulty, Question, StoryWorld

EVALUATION_SEED = 10_000_000  # training draws its seeds below this


@dataclass(frozen=True)
class Asked:
    """A story, one question about its end, and what the model said."""

    prompt: str
    question: Question
    said: str

    @property
    def correct(self) -> bool:
        return self.said == self.question.answer


@dataclass(frozen=True)
class Score:
    """Every answer given, and their shares."""

    answers: tuple[Asked, ...] = field(repr=False)

    def share(self, difficulty: Difficulty | None = None, unseen: bool | None = None) -> float:
        """Correct answers over questions, in [0, 1]; `unseen=True`: only pairs held out of training."""
        chosen = self._chosen(difficulty, unseen)
        return sum(answer.correct for answer in chosen) / len(chosen)

    def interval(self, difficulty: Difficulty, z: float = 1.96) -> tuple[float, float]:
        """Wilson's 95% interval of the share (Wilson 1927), which behaves near 0 and 1 too."""
        n, p = len(self._chosen(difficulty, None)), self.share(difficulty)
        middle = (p + z * z / (2 * n)) / (1 + z * z / n)
        half = z / (1 + z * z / n) * (p * (1 - p) / n + z * z / (4 * n * n)) ** 0.5
        return middle - half, middle + half

    def by_difficulty(self) -> dict[str, float]:
        return {difficulty: self.share(difficulty) for difficulty in DIFFICULTIES}

    def _chosen(self, difficulty: Difficulty | None, unseen: bool | None) -> list[Asked]:
        chosen = [
            answer
            for answer in self.answers
            if difficulty in (None, answer.question.difficulty) and unseen in (None, answer.question.unseen)
        ]
        if not chosen:
            raise ValueError(
                f"no question of difficulty {difficulty!r} with unseen={unseen} was asked; ask more."
            )
        return chosen


def questions(per_difficulty: int, seed: int = EVALUATION_SEED) -> list[tuple[str, Question]]:
    """Stories on seeds never trained on, each with one question: (story, question), all difficulties."""
    chosen = []
    for difficulty in DIFFICULTIES:
        for index in range(per_difficulty):
            rng = random.Random(seed + index)
            story = StoryWorld(seed + index).story(rng.choice(SIZES))
            asked = [question for question in story.questions() if question.difficulty == difficulty]
            chosen.append((story.text, rng.choice(asked)))
    return chosen


def exact_match(
    model: Transformer,
    tokenizer: Tokenizer,
    per_difficulty: int = 100,
    seed: int = EVALUATION_SEED,
    batch: int = 32,
) -> Score:
    """Ask `per_difficulty` questions of each difficulty, greedily. About 10 ms a question for `tiny` on a
    CPU."""
    asked = questions(per_difficulty, seed)
    asked.sort(key=lambda pair: len(pair[0]))  # rows of about one length: little padding
    answers = []
    for start in range(0, len(asked), batch):
        part = asked[start : start + batch]
        prompts = [f"{story} {question.text}" for story, question in part]
        outputs = generate(model, [tokenizer.encode(prompt) for prompt in prompts], max_new_tokens=3)
        for prompt, (_, question), ids in zip(prompts, part, outputs, strict=True):
            said = tokenizer.decode(ids).partition(".")[0].strip()
            answers.append(Asked(prompt, question, said))
    return Score(tuple(answers))
