"""The hardware and model tables against figures published or computed elsewhere."""

import re
import subprocess
import sys

import pytest

from minillm.hardware import UnknownHardware, UnknownModel, gpu, gpus, model_config, published_models


@pytest.mark.parametrize(
    ("id", "kib"),
    [
        ("llama-2-7b", 512),
        ("llama-2-13b", 800),
        ("llama-3-8b", 128),
        ("llama-2-70b", 320),
        ("llama-3-70b", 320),
        ("qwen2.5-0.5b", 12),
        ("smollm2-135m", 22.5),
    ],
)
def test_kv_bytes_per_token_in_16_bits(id: str, kib: float) -> None:
    assert model_config(id).kv_bytes_per_token(2) == kib * 1024


@pytest.mark.parametrize(
    ("id", "weights"),  # as the models' cards and safetensors indices count them
    [
        ("llama-2-7b", 6_738_415_616),
        ("llama-2-13b", 13_015_864_320),
        ("llama-2-70b", 68_976_648_192),
        ("llama-3-8b", 8_030_261_248),
        ("llama-3-70b", 70_553_706_496),
        ("mistral-7b", 7_241_732_096),
        ("qwen2.5-0.5b", 494_032_768),
        ("qwen3-0.6b", 596_049_920),
        ("smollm2-135m", 134_515_008),
    ],
)
def test_parameters_are_the_published_counts(id: str, weights: int) -> None:
    assert model_config(id).parameters() == weights


def test_every_model_has_a_count_above() -> None:
    assert len(published_models()) == 9


@pytest.mark.parametrize(("id", "ridge"), [("a100-80gb", 153), ("h200", 206), ("h100-sxm", 295)])
def test_ridges_in_bfloat16(id: str, ridge: int) -> None:
    assert round(gpu(id).ridge("bfloat16")) == ridge


@pytest.mark.parametrize(
    ("id", "terabytes_a_second"),
    [("a100-80gb", 2.039), ("h100-sxm", 3.35), ("h200", 4.8), ("rtx-4090", 1.008), ("m2-ultra", 0.8)],
)
def test_bandwidths(id: str, terabytes_a_second: float) -> None:
    assert gpu(id).read_bandwidth == pytest.approx(terabytes_a_second * 1e12)


def test_decode_ceilings_of_70b_on_two_cards() -> None:
    # Tensor parallel over two: each card streams half of the 140 GB.
    ceilings = {id: round(gpu(id).decode_ceiling(140e9 / 2), 1) for id in ("a100-80gb", "h100-sxm", "h200")}
    assert ceilings == {"a100-80gb": 29.1, "h100-sxm": 47.9, "h200": 68.6}


def test_the_roof_has_two_sides_that_meet_at_the_ridge() -> None:
    h100 = gpu("h100-sxm")
    ridge = h100.ridge("bfloat16")
    assert h100.roofline(ridge / 2, "bfloat16") == pytest.approx(h100.peak("bfloat16") / 2)
    assert h100.roofline(ridge * 2, "bfloat16") == h100.peak("bfloat16")


def test_every_row_has_a_source_and_a_month() -> None:
    for row in [*gpus().values(), *published_models().values()]:
        assert len(row.source) > 10
        assert re.fullmatch(r"20\d\d-(0[1-9]|1[0-2])", row.date), row.id


def test_dense_rates_grow_as_bits_shrink() -> None:
    # A rate "with sparsity" slipped into one column would break the factor of two between 16 and 8 bits.
    for card in gpus().values():
        if "float8" in card.matmul:
            assert card.matmul["float8"] / card.matmul["bfloat16"] == pytest.approx(2, rel=0.02), card.id


def test_unknown_names_list_what_there_is() -> None:
    with pytest.raises(UnknownHardware, match=r"h300.*h100-sxm"):
        gpu("h300")
    with pytest.raises(UnknownHardware, match=r"M2 Ultra.*bfloat16.*none"):
        gpu("m2-ultra").ridge("bfloat16")
    with pytest.raises(UnknownModel, match=r"gpt-2.*llama-3-8b"):
        model_config("gpt-2")
    with pytest.raises(ValueError, match="got 0"):
        gpu("t4").decode_ceiling(0)


def test_the_tables_load_without_torch() -> None:
    code = (
        "import sys, minillm.hardware as h; h.gpus(); h.published_models(); sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
