"""Train `tiny` and `tiny-draft` on the story world: `make models`.

    python data/story_world/train.py tokenizer
    python data/story_world/train.py tiny
    python data/story_world/train.py tiny-draft

Every batch is new text, so nothing is seen twice. Two settings decide whether a model this small learns at
all: weights start at width^-0.5, and answers weigh ten times the story's own words. `tiny` takes an hour and
a half on one core.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from batches import ANSWER_WEIGHT, batch
from make_tokenizer import make_tokenizer
from optimizers import learning_rate, make_optimizers
from safetensors.torch import save_file
from tokenizers import Tokenizer
from torch import nn

from minillm.models import load
from minillm.models.config import ModelConfig
from minillm.models.transformer import Transformer
from minillm.models.weights import from_state
from minillm.paths import data_dir
from minillm.world import SIZES, Size, exact_match

SHAPES = {
    "tiny": {"width": 192, "layers": 6, "heads": 6, "kv_heads": 2, "head_width": 32, "mlp_width": 384},
    "tiny-draft": {"width": 96, "layers": 3, "heads": 3, "kv_heads": 1, "head_width": 32, "mlp_width": 256},
}
# Stories grow as training goes on: (until this share of the steps, sizes).
CURRICULUM = (
    (0.10, (Size(2, 1, 1, 2), Size(2, 1, 0, 3))),
    (0.25, (Size(2, 2, 1, 4), Size(3, 1, 1, 5))),
    (1.00, SIZES),
)
EVALUATED = 400  # questions of each difficulty behind a card's figures


def train(name: str, steps: int, rows: int, lr: float, seed: int) -> None:
    """Train from nothing, then write weights, configuration, tokenizer and card to data/models/NAME."""
    tokenizer = Tokenizer.from_file(str(data_dir() / "models" / "tiny" / "tokenizer.json"))
    vocab_size = math.ceil(tokenizer.get_vocab_size() / 64) * 64
    model = Transformer(ModelConfig(name, vocab_size, **SHAPES[name], bos_id=0, eos_ids=(0,)))
    initialize(model, seed)
    optimizers = make_optimizers(model, lr)
    seen, recent, started = 0, 0.0, time.perf_counter()
    for step in range(steps):
        sizes = next(sizes for share, sizes in CURRICULUM if step < share * steps)
        tokens, weights = batch(tokenizer, seed * 1_000_000 + step, sizes[step % len(sizes)], rows)
        weights = weights[:, 1:].flatten()
        losses = F.cross_entropy(
            model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten(), reduction="none"
        )
        ((losses * weights).sum() / weights.sum()).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer in optimizers:
            optimizer.param_groups[0]["lr"] = learning_rate(step, steps, lr)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        seen += int((weights > 0).sum())
        answers = losses[weights == ANSWER_WEIGHT].mean().item()
        recent = answers if step == 0 else 0.95 * recent + 0.05 * answers
        if step % 50 == 0 or step == steps - 1:
            speed = seen / (time.perf_counter() - started)
            print(f"{name} step {step} answer loss {recent:.3f} {speed:.0f} tokens/s", flush=True)
    made = {
        "seed": seed,
        "steps": steps,
        "rows": rows,
        "lr": lr,
        "tokens": seen,
        "answer_loss": round(recent, 4),
    }
    save(model, tokenizer, made)


def initialize(model: Transformer, seed: int) -> None:
    """Normal weights of standard deviation width^-0.5; those that write to the residual stream smaller."""
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in model.named_parameters():
        if parameter.ndim == 2:
            writes = name.endswith(("out.weight", "down.weight"))
            shrink = (2 * model.config.layers) ** -0.5 if writes else 1.0
            nn.init.normal_(parameter, std=model.config.width**-0.5 * shrink, generator=generator)


def save(model: Transformer, tokenizer: Tokenizer, made: dict[str, float]) -> None:
    """A checkpoint folder as any other: float16 safetensors under the usual names, and its card."""
    folder = data_dir() / "models" / model.config.name
    folder.mkdir(parents=True, exist_ok=True)
    tensors = from_state(dict(model.state_dict()), model.config)
    halves = {name: tensor.half().contiguous() for name, tensor in tensors.items()}
    save_file(halves, folder / "model.safetensors", metadata={"format": "pt"})
    write_json(folder / "config.json", model.config.to_hf())
    tokenizer.save(str(folder / "tokenizer.json"))
    write_json(folder / "card.json", card(model.config, made))


def card(config: ModelConfig, made: dict[str, float]) -> dict[str, object]:
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
    parser.add_argument("--steps", type=int, default=4400)
    parser.add_argument("--rows", type=int, default=32)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.name == "tokenizer":
        path = data_dir() / "models" / "tiny" / "tokenizer.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        make_tokenizer().save(str(path))
    else:
        train(options.name, options.steps, options.rows, options.lr, options.seed)


if __name__ == "__main__":
    main()
