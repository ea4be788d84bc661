"""Batch-1 decode of smollm2-135m against transformers' generate, same weights, same tokens, one run.

    python benchmarks/decode.py [--new-tokens 64] [--rounds 5]

Rounds alternate between the two, so that a slow minute of the machine hits both. The roofline is this
machine's measured read bandwidth over the bytes one token must read: every weight once, and the cache.
Last line: `result: ratio=R roofline=F` (R: our tokens per second over transformers', the smaller of
float32's and bfloat16's; F: the share of the roofline we reach in bfloat16).
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
import warnings
from collections.abc import Callable

import torch
import transformers
from transformers import AutoModelForCausalLM

import minillm
from minillm.decoding import generate
from minillm.machine import machine_name, read_bandwidth
from minillm.models import Transformer, load
from minillm.models.locate import SMOLLM2, converted_folder, smollm2_gguf

PROMPT = "Explain why a language model keeps a cache of keys and values while it writes an answer."


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--new-tokens", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    bandwidth = read_bandwidth(torch.device("cpu")).best
    print(
        f"machine: {machine_name(torch.device('cpu'))}, {os.cpu_count()} cores, "
        f"{torch.get_num_threads()} threads, {torch.backends.cpu.get_cpu_capability()}"
    )
    print(
        f"versions: minillm {minillm.__version__}, torch {torch.__version__}, "
        f"transformers {transformers.__version__}"
    )
    print(f"read bandwidth: {bandwidth / 1e9:.1f} GB/s")
    results = {
        dtype: compare(dtype, options.new_tokens, options.rounds, bandwidth)
        for dtype in (torch.float32, torch.bfloat16)
    }
    ratio = min(ratio for ratio, _ in results.values())
    print(f"result: ratio={ratio:.2f} roofline={results[torch.bfloat16][1]:.2f}")


def compare(dtype: torch.dtype, new_tokens: int, rounds: int, bandwidth: float) -> tuple[float, float]:
    """Print one dtype's figures; (ratio to transformers, share of the roofline)."""
    model, tokenizer = load(SMOLLM2, dtype=dtype)
    prompt = tokenizer.chat(PROMPT)
    theirs = AutoModelForCausalLM.from_pretrained(converted_folder(smollm2_gguf()), dtype=dtype).eval()
    runs: dict[str, Callable[[int], object]] = {
        "minillm": lambda count: generate(model, prompt, count, eos_ids=()),
        "transformers": lambda count: generate_with_transformers(theirs, prompt, count),
    }
    speeds: dict[str, list[float]] = {name: [] for name in runs}
    for run in runs.values():
        run(8)  # the first calls allocate and tune; they are no sample
    for _ in range(rounds):
        for name, run in runs.items():
            speeds[name].append(decode_speed(run, new_tokens))
    ratios = [a / b for a, b in zip(speeds["minillm"], speeds["transformers"], strict=True)]
    share = (
        statistics.median(speeds["minillm"])
        * bytes_per_token(model, len(prompt) + new_tokens // 2)
        / bandwidth
    )
    name = str(dtype).removeprefix("torch.")
    for engine, samples in speeds.items():
        rounded = [round(sample, 1) for sample in samples]
        print(f"{name} {engine}: {statistics.median(samples):.1f} tokens/s, samples {rounded}")
    print(
        f"{name} ratio: {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}); "
        f"share of the roofline: {share:.0%}"
    )
    return statistics.median(ratios), share


def decode_speed(run: Callable[[int], object], new_tokens: int) -> float:
    """Tokens per second of decoding alone: a long run less a run of one token, which is the prefill."""
    times = []
    for count in (1, 1 + new_tokens):
        started = time.perf_counter()
        run(count)
        times.append(time.perf_counter() - started)
    return new_tokens / (times[1] - times[0])


@torch.inference_mode()
def generate_with_transformers(model: torch.nn.Module, prompt: list[int], count: int) -> object:
    return model.generate(
        torch.tensor([prompt]), max_new_tokens=count, min_new_tokens=count, do_sample=False, pad_token_id=0
    )


def bytes_per_token(model: Transformer, context: int) -> float:
    """Every weight once (tied embeddings are read as the unembedding), and the cache at the mean context."""
    size = model.dtype.itemsize
    return model.config.parameters() * size + model.config.kv_bytes_per_token(size) * context


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    main()
