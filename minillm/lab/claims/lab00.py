"""Figures behind the claims of lab 00: each returns one number, in the unit its row states."""

from __future__ import annotations

from minillm.calibrate import current_calibration
from minillm.hardware import gpu, model_config


def decode_share_of_h100() -> float:
    """% of an H100's bf16 rate that decoding one request can use: 1 FLOP per byte, against the ridge."""
    h100 = gpu("h100-sxm")
    return 100 * h100.roofline(1.0, "bfloat16") / h100.peak("bfloat16")


def h200_over_h100() -> float:
    """H200 over H100, tokens/s for one request at most: their matrix units are equal, their memories not."""
    weight_bytes = 2 * model_config("llama-3-8b").parameters()
    return gpu("h200").decode_ceiling(weight_bytes) / gpu("h100-sxm").decode_ceiling(weight_bytes)


def m2_ultra_70b_4bit() -> float:
    """Tokens/s at most on an M2 Ultra for a 70B model of 4.5 bits a weight (4-bit blocks with scales)."""
    return gpu("m2-ultra").decode_ceiling(model_config("llama-2-70b").parameters() * 4.5 / 8)


def decode_share_here() -> float:
    """% of this machine's float32 rate that decoding one request can use: 2 FLOPs for 4 bytes."""
    machine = current_calibration()
    return 100 * machine.roofline(0.5, "float32") / machine.peak("float32")
