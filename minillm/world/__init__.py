"""The story world: text whose questions have one right answer, and the score of a model on them."""

from importlib import import_module

_HOME_OF = {
    "DIFFICULTIES": "minillm.world.stories",
    "SIZES": "minillm.world.stories",
    "Question": "minillm.world.stories",
    "Size": "minillm.world.stories",
    "Story": "minillm.world.stories",
    "StoryWorld": "minillm.world.stories",
    "Score": "minillm.world.evaluate",
    "exact_match": "minillm.world.evaluate",
}

__all__ = list(_HOME_OF)


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(
            f"module 'minillm.world' has no attribute {name!r}; it offers {', '.join(__all__)}"
        )
    return getattr(import_module(_HOME_OF[name]), name)
