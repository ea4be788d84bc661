"""What a notebook calls: check your code, predict and reveal, answer and defend, see and keep progress."""

from minillm.lab.checking import ExerciseNotPassed, check, hint
from minillm.lab.claims import claims_table
from minillm.lab.exercise import Case, Exercise, Misconception, UnknownExercise, call, raised, register
from minillm.lab.figures import show
from minillm.lab.interview import defend, say_first
from minillm.lab.overview import progress
from minillm.lab.predictions import predict, reveal
from minillm.lab.result import Result

__all__ = [
    "Case",
    "Exercise",
    "ExerciseNotPassed",
    "Misconception",
    "Result",
    "UnknownExercise",
    "call",
    "check",
    "claims_table",
    "defend",
    "hint",
    "predict",
    "progress",
    "raised",
    "register",
    "reveal",
    "say_first",
    "show",
]
