"""Muon for the matrices of the layers, AdamW for embeddings and norms, and their learning rate over time."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Muon(torch.optim.Optimizer):
    """Momentum, orthogonalized (Jordan et al. 2024), with AdamW's update size (Moonlight, 2502.16982).

    torch.optim.Muon does the same in bfloat16, which a CPU without bf16 instructions multiplies 70 times
    slower.
    """

    def __init__(self, parameters: list[nn.Parameter], lr: float, momentum: float = 0.95) -> None:
        super().__init__(parameters, {"lr": lr, "momentum": momentum})

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for parameter in group["params"]:
                average = self.state[parameter].setdefault("average", torch.zeros_like(parameter))
                average.lerp_(parameter.grad, 1 - group["momentum"])
                direction = orthogonalize(parameter.grad.lerp(average, group["momentum"]))
                parameter.add_(direction, alpha=-group["lr"] * 0.2 * max(parameter.shape) ** 0.5)


def orthogonalize(matrix: Tensor) -> Tensor:
    """Nearly U V^T of `matrix` = U S V^T, by five Newton-Schulz steps."""
    tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.T if tall else matrix
    x = x / (x.norm() + 1e-7)
    for _ in range(5):
        gram = x @ x.T
        x = 3.4445 * x + (-4.7750 * gram + 2.0315 * gram @ gram) @ x
    return x.T if tall else x


def make_optimizers(model: nn.Module, lr: float) -> list[torch.optim.Optimizer]:
    """One for the matrices inside the layers, one for everything else."""
    named = list(model.named_parameters())
    matrices = [p for name, p in named if p.ndim == 2 and name.startswith("layers.")]
    others = [p for name, p in named if not (p.ndim == 2 and name.startswith("layers."))]
    return [Muon(matrices, lr), torch.optim.AdamW(others, lr, betas=(0.9, 0.98), weight_decay=0.0)]


def warmed(step: int, warmup: int = 50) -> float:
    """Factor of the learning rate: linear from nothing, then 1."""
    return min(1.0, (step + 1) / warmup)


def decayed(step: int, steps: int) -> float:
    """Factor of the learning rate over the last stage: 1, then linear to nothing over its last 60%."""
    return min(1.0, (steps - step) / (0.6 * steps))
