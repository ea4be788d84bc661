"""The figures behind lab 02's claims."""

from __future__ import annotations

from minillm.calibrate import current_calibration
from minillm.hardware import gpu, model_config
from minillm.lab.exercises.lab02 import decode_ceiling
from minillm.lab.exercises.lab02_step import step_work

H100 = gpu("h100-sxm")
LLAMA3_8B = model_config("llama-3-8b")
BF16, FP8 = 2, 1


def _intensity(batch: int, new: int, cached: int) -> float:
    """FLOP per byte of a step of Llama-3-8B in bf16."""
    flops, moved = step_work(LLAMA3_8B, batch, new, cached, BF16)
    return flops / moved


def _ceiling(batch: int, context: int, weight_bytes: float) -> float:
    """Tokens/s of Llama-3-8B on one H100 by memory alone, keys and values in bf16."""
    kv = LLAMA3_8B.kv_bytes_per_token(BF16)
    return decode_ceiling(LLAMA3_8B.parameters() * weight_bytes, kv, context, batch, H100.read_bandwidth)


def prefill_ridge_tokens() -> float:
    """The shortest prompt of Llama-3-8B whose prefill is compute-bound on an H100."""
    return next(n for n in range(1, 4096) if _intensity(1, n, 0) >= H100.ridge("bfloat16"))


def short_prefill_mfu_ceiling() -> float:
    """Percent of an H100's peak that a prefill of 32 tokens can reach at most."""
    return 100 * H100.roofline(_intensity(1, 32, 0), "bfloat16") / H100.peak("bfloat16")


def decode_intensity_limit() -> float:
    """FLOP/byte of a decode step of Llama-3-8B at 1,024 tokens of context, however large the batch."""
    return _intensity(1_000_000, 1, 1024)


def aggregate_batch_64() -> float:
    """Tokens/s of the whole batch, Llama-3-8B bf16 on an H100, 64 sequences of 1,024 tokens."""
    return _ceiling(64, 1024, BF16)


def fp8_gain_batch_32() -> float:
    """Aggregate tokens/s of batch 32 over batch 1, Llama-3-8B with FP8 weights, 1,024 tokens of context."""
    return _ceiling(32, 1024, FP8) / _ceiling(1, 1024, FP8)


def m2_ultra_70b_q4() -> float:
    """Tokens/s on an M2 Ultra by memory alone: 39 GB of 4-bit weights, read once a token."""
    return decode_ceiling(39e9, 0, 0, 1, gpu("m2-ultra").read_bandwidth)


def ttft_over_prefill() -> float:
    """TTFT over prefill in a queue served one at a time, random arrivals, constant service, 80% busy.

    Pollaczek-Khinchine: the mean wait is load / (2 (1 - load)) service times (M/D/1).
    """
    load = 0.8
    return 1 + load / (2 * (1 - load))


def decode_batch_gain() -> float:
    """Decode tokens/s at batch 16 over batch 1, on this machine."""
    from minillm.decoding.timing import decode_seconds, random_model

    model = random_model()
    return 16 * decode_seconds(model, 1, 64) / decode_seconds(model, 16, 64)


def prefill_batch_gain() -> float:
    """Prefill tokens/s with four prompts of 128 tokens over one, on this machine."""
    from minillm.decoding.timing import prefill_seconds, random_model

    model = random_model()
    return 4 * prefill_seconds(model, 1, 128, repeats=3) / prefill_seconds(model, 4, 128, repeats=2)


def mfu_16_tokens() -> float:
    """Percent of this machine's measured peak that a prefill of 16 tokens reaches."""
    from minillm.decoding.timing import prefill_seconds, random_model

    model = random_model()
    flops, _ = step_work(model.config, 1, 16, 0, 4)
    return 100 * flops / prefill_seconds(model, 1, 16) / current_calibration().peak("float32")
