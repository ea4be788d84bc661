"""Train `tiny` and `tiny-draft` on the story world: `make models`.

    python data/story_world/train.py tokenizer
    python data/story_world/train.py tiny
    python data/story_world/train.py tiny-draft

Every batch is new text, so nothing is seen twice. Drills come first, stories grow after them (`batches.py`).
`tiny` takes half an hour on one core, `tiny-draft` five minutes.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from batches import LAST, STAGES, Batch, make_batch
from initialize import initialize
from make_tokenizer import make_tokenizer
from optimizers import decayed, make_optimizers, warmed
from safetensors.torch import save_file
from tokenizers import Tokenizer
from torch import nn

from minillm.models import load
from minillm.models.config import ModelConfig
from minillm.models.transformer import Transformer
from minillm.models.weights import from_state
from minillm.paths import data_dir
from minillm.world import exact_match

SHAPES = {
    "tiny": {"width": 192, "layers": 6, "heads": 6, "kv_heads": 2, "head_width": 32, "mlp_width": 384},
    "tiny-draft": {"width": 96, "layers": 3, "heads": 3, "kv_heads": 1, "head_width": 32, "mlp_width": 256},
}
STEPS = {"tiny": 350, "tiny-draft": 80}  # of the last stage; the draft is meant to be clearly worse
EVALUATED = 400  # questions of each difficulty behind a card's figures


def train(name: str, steps: int, lr: float, seed: int) -> None:
    """Train from nothing, then write weights, configuration, tokenizer and card to data/models/NAME.

    steps: of the last stage; those before it end by themselves.
    """
    tokenizer = Tokenizer.from_file(str(data_dir() / "models" / "tiny" / "tokenizer.json"))
    vocab_size = math.ceil(tokenizer.get_vocab_size() / 64) * 64
    model = Transformer(ModelConfig(name, vocab_size, **SHAPES[name], bos_id=0, eos_ids=(0,)))
    initialize(model, seed)
    optimizers = make_optimizers(model, lr)
    step, tokens, accuracy, started = 0, 0, 0.0, time.perf_counter()
    stages: dict[str, int] = {}
    for stage in (*STAGES, LAST._replace(most=steps)):
        accuracy, stages[stage.name] = 0.0, 0
        while stages[stage.name] < stage.most and accuracy < stage.enough:
            for optimizer in optimizers:
                optimizer.param_groups[0]["lr"] = lr * warmed(step)
                if stage.name == LAST.name:
                    optimizer.param_groups[0]["lr"] = lr * decayed(stages[stage.name], steps)
            batch = make_batch(tokenizer, step, stage, seed)
            right = train_step(model, optimizers, batch)
            accuracy = 0.95 * accuracy + 0.05 * right
            tokens += batch.tokens.numel()
            step, stages[stage.name] = step + 1, stages[stage.name] + 1
            if step % 25 == 0:
                speed = tokens / (time.perf_counter() - started)
                print(
                    f"{name} {stage.name} step {step} answers right {accuracy:.3f} {speed:.0f} tokens/s",
                    flush=True,
                )
    save(model, tokenizer, {"seed": seed, "steps": step, "stages": stages, "tokens": tokens, "lr": lr})


def train_step(model: Transformer, optimizers: list[torch.optim.Optimizer], batch: Batch) -> float:
    """One update; the share of answer words that were the likeliest token."""
    targets, weights = batch.tokens[:, 1:], batch.weights[:, 1:].flatten()
    logits = model(batch.tokens[:, :-1])
    losses = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none")
    ((losses * weights).sum() / weights.sum()).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    for optimizer in optimizers:
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    right = (logits.argmax(-1) == targets).flatten()[weights == 1]
    return 2 * right.float().mean().item() - 1  # every second one is the full stop, which is always right


def save(model: Transformer, tokenizer: Tokenizer, made: dict[str, object]) -> None:
    """A checkpoint folder as any other: float16 safetensors under the usual names, and its card."""
    folder = data_dir() / "models" / model.config.name
    folder.mkdir(parents=True, exist_ok=True)
    tensors = from_state(dict(model.state_dict()), model.config)
    halves = {name: tensor.half().contiguous() for name, tensor in tensors.items()}
    save_file(halves, folder / "model.safetensors", metadata={"format": "pt"})
    write_json(folder / "config.json", model.config.to_hf())
    tokenizer.save(str(folder / "tokenizer.json"))
    write_json(folder / "card.json", card(model.config, made))


def card(config: ModelConfig, made: dict[str, object]) -> dict[str, object]:
    """What the model is, what it was made of, and how well it answers on seeds it has never seen."""
    score = exact_match(*load(config.name), per_difficulty=EVALUATED)
    return {
        "name": config.name,
        "parameters": config.parameters(),
        "license": "MIT, weights and data",
        "data": "the story world: our own text, written by minillm/world/stories.py from a seed",
        "training": made,
        "exact_match": {kind: round(share, 4) for kind, share in score.by_difficulty().items()},
        "exact_match_pairs_held_out": {
            kind: round(score.share(kind, unseen=True), 4) for kind in ("holder", "place")
        },
        "questions_per_difficulty": EVALUATED,
        "limits": "It knows this world only: 20 people, 20 things, 20 places, stories of up to 8 events.",
    }


def write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", choices=["tokenizer", *SHAPES])
    parser.add_argument("--steps", type=int, help="of the last stage")
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.name == "tokenizer":
        path = data_dir() / "models" / "tiny" / "tokenizer.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        make_tokenizer().save(str(path))
    else:
        train(options.name, options.steps or STEPS[options.name], options.lr, options.seed)


if __name__ == "__main__":
    main()
