"""What a machine can do, measured in a few seconds: bytes read, matrix products, a decode step's fixed cost.

A figure is the best of several tries, since noise only ever slows; the median beside it tells how noisy.
"""

from __future__ import annotations

import platform
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import NamedTuple

import torch
from torch import Tensor

from minillm.cache import ContiguousCache
from minillm.models.config import ModelConfig
from minillm.models.transformer import Transformer

DTYPES = (torch.float32, torch.bfloat16, torch.float16)


class Measured(NamedTuple):
    """The best of several tries and their median, in one unit; a figure is as good as the two are close."""

    best: float
    median: float


def read_bandwidth(device: torch.device, size: int = 2**28) -> Measured:
    """Bytes/s of reading `size` bytes, more than any cache holds: by a sum and by a matrix-vector product.

    The faster of the two counts: which one a library streams better differs from machine to machine.
    """
    data = torch.rand(size // 4, device=device)
    matrix = data.view(-1, 4096)
    vector = torch.rand(matrix.shape[1], device=device)
    ways: tuple[Callable[[], Tensor], ...] = (lambda: data.sum(), lambda: torch.mv(matrix, vector))
    return max(_rate(size, _times(way, device, budget=0.5)) for way in ways)


def matmul_rates(device: torch.device) -> dict[str, Measured]:
    """FLOP/s of square products by dtype name; a dtype the device cannot multiply is left out.

    The side grows until one product takes 30 ms, so that a dtype run in software ends as soon as a fast one.
    """
    rates = {}
    for dtype in DTYPES:
        try:
            rates[str(dtype).removeprefix("torch.")] = _matmul_rate(device, dtype)
        except (RuntimeError, TypeError):  # no such dtype, or no such kernel, on this device
            continue
    return rates


def step_overhead(device: torch.device) -> tuple[Measured, Measured]:
    """Seconds a decode step costs whatever it computes: the fixed part, and what each layer adds.

    Steps of a model too small to stream anything, with few and with many layers, in turns so that noise hits
    both alike: the line through the two. A noisy machine can give a slope that explains all; neither part is
    ever negative.
    """
    few, many = 1, 9
    steps = {layers: _tiny_step(device, layers) for layers in (few, many)}
    times: dict[int, list[float]] = {few: [], many: []}
    stop = time.perf_counter() + 0.8
    with torch.inference_mode():
        while len(times[few]) < 20 or time.perf_counter() < stop:
            for layers, step in steps.items():
                times[layers].append(_time(step, device))
    parts = []
    for pick in (min, median):
        per_layer = max(0.0, (pick(times[many]) - pick(times[few])) / (many - few))
        parts.append((max(0.0, pick(times[few]) - few * per_layer), per_layer))
    (fixed, layer), (fixed_median, layer_median) = parts
    return Measured(fixed, fixed_median), Measured(layer, layer_median)


def machine_name(device: torch.device) -> str:
    """The processor or accelerator by the name its maker gave it, as far as the system tells."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    system = platform.system()
    name = ""
    if system == "Linux" and Path("/proc/cpuinfo").is_file():
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        name = next((line.partition(":")[2] for line in lines if line.startswith("model name")), "")
    elif system == "Darwin":
        name = _output_of("sysctl", "-n", "machdep.cpu.brand_string")
    return name.strip() or platform.processor() or platform.machine()


def _output_of(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=5, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return ""


def _matmul_rate(device: torch.device, dtype: torch.dtype) -> Measured:
    largest = 2048 if device.type == "cpu" else 8192
    side = 128
    while True:
        a = torch.rand(side, side, device=device).to(dtype)
        b = torch.rand(side, side, device=device).to(dtype)
        once = _time(lambda a=a, b=b: a @ b, device)
        if side >= largest or once > 0.03:
            times = _times(lambda a=a, b=b: a @ b, device, budget=0.3)
            return _rate(2 * side**3, times)
        side *= 2


def _tiny_step(device: torch.device, layers: int) -> Callable[[], Tensor]:
    """A decode step of a tiny random model: one request, an empty cache."""
    config = ModelConfig(
        "overhead", vocab_size=64, width=64, layers=layers, heads=4, kv_heads=2, head_width=16, mlp_width=128
    )
    model = Transformer(config).to(device).requires_grad_(False).eval()
    cache = ContiguousCache(config, batch=1, capacity=8, device=device)
    token = torch.zeros(1, 1, dtype=torch.long, device=device)

    def step() -> Tensor:
        cache.truncate(0)
        return model(token, cache)

    return step


def _times(work: Callable[[], Tensor], device: torch.device, budget: float) -> list[float]:
    """Seconds of each run of `work` after a warm-up: as many as fit in `budget` seconds, three at least."""
    _time(work, device)
    times: list[float] = []
    stop = time.perf_counter() + budget
    while len(times) < 3 or time.perf_counter() < stop:
        times.append(_time(work, device))
    return times


def _time(work: Callable[[], Tensor], device: torch.device) -> float:
    _synchronize(device)
    start = time.perf_counter()
    work()
    _synchronize(device)
    return time.perf_counter() - start


def _synchronize(device: torch.device) -> None:
    """Wait for an accelerator to finish: its calls return before the work is done."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    elif device.type == "mps":
        torch.mps.synchronize()


def _rate(amount: float, times: list[float]) -> Measured:
    return Measured(amount / min(times), amount / median(times))
