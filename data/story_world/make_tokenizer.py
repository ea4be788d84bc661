"""The tokenizer of `tiny` and `tiny-draft`: byte-level BPE in which every word of the world is one token."""

from __future__ import annotations

from documents import story_document
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

from minillm.world.stories import Size, words

END = "<|end|>"  # begins and ends a document; id 0


def make_tokenizer(stories: int = 4000) -> Tokenizer:
    """Trained on stories; any other text still round-trips, byte by byte."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=1024,
        special_tokens=[END],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    # The words themselves besides: rare pairs must not leave a word in two tokens.
    listed = " ".join(["", *(word for group in vars(words()).values() for word in group)])
    corpus = (story_document(seed, Size()).text for seed in range(stories))
    tokenizer.train_from_iterator([*corpus, *[listed] * 50], trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{END} $A", special_tokens=[(END, tokenizer.token_to_id(END))]
    )
    return tokenizer
