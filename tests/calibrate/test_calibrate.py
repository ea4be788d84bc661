"""The calibration measures what it says, and keeps it. Figures are checked for sense, never for speed."""

import json
import math
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from minillm import calibrate as module
from minillm import machine
from minillm.calibrate import Calibration, calibrate, current_calibration, load_calibration, table
from minillm.cli import main
from minillm.errors import UnsupportedDtype

CPU = torch.device("cpu")


@pytest.fixture
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MINILLM_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture(scope="module")
def measured() -> Calibration:
    return calibrate(keep=False)


@pytest.fixture
def sample(own_home: Path) -> Calibration:
    """A calibration of this machine with round figures, not kept."""
    return Calibration(
        **module._identity("cpu"),
        read_bandwidth=20e9,
        matmul={"float32": 80e9},
        step_overhead=1e-3,
        layer_overhead=2e-4,
        date="2026-01-01",
        spread={"read_bandwidth": 0.9, "float32": 0.95},
    )


def test_a_calibration_takes_under_ten_seconds_of_its_own(own_home: Path) -> None:
    start = time.process_time()
    calibrate()
    # CPU seconds of one thread, so that a busy neighbor does not count.
    assert (time.process_time() - start) / torch.get_num_threads() < 10


def test_figures_are_positive_and_within_physics(measured: Calibration) -> None:
    assert 1e8 < measured.read_bandwidth < 1e13
    assert 1e8 < measured.matmul["float32"] < 1e16
    assert 0 <= measured.step_overhead < 1
    assert 0 < measured.layer_overhead < 1
    assert {"read_bandwidth", "float32", "layer_overhead"} <= set(measured.spread)
    assert all(0 <= ratio <= 1 for ratio in measured.spread.values())


def test_bounds_follow_from_the_figures(sample: Calibration) -> None:
    assert sample.ridge("float32") == 4
    assert sample.roofline(1, "float32") == 20e9
    assert sample.roofline(100, "float32") == 80e9
    assert sample.decode_ceiling(2e9) == 10
    assert sample.overhead(30) == pytest.approx(7e-3)


def fake_clock(monkeypatch: pytest.MonkeyPatch, seconds: Callable[[torch.Tensor], float]) -> None:
    """Replace the stopwatch: each piece of work still runs, and is said to take seconds(its result)."""
    monkeypatch.setattr(machine, "_time", lambda work, device: seconds(work()))


def test_bandwidth_is_bytes_over_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    # The sum (a scalar) takes 1 ms, the matrix-vector product (a vector) 2 ms: the faster way counts.
    fake_clock(monkeypatch, lambda result: 1e-3 if result.dim() == 0 else 2e-3)
    assert machine.read_bandwidth(CPU, size=2**20).best == pytest.approx(2**20 / 1e-3)


def test_a_product_counts_two_flops_per_multiply_and_stays_small_where_slow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sides = []

    def seconds(product: torch.Tensor) -> float:
        sides.append(product.shape[0])
        return 2 * product.shape[0] ** 3 / 1e9  # a machine of 1 GFLOP/s in every dtype

    fake_clock(monkeypatch, seconds)
    rates = machine.matmul_rates(CPU)
    assert rates["float32"].best == pytest.approx(1e9)
    assert max(sides) == 256  # 34 ms each: it did not go on to products of seconds


def test_a_dtype_without_a_kernel_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def seconds(product: torch.Tensor) -> float:
        if product.dtype == torch.float16:
            raise RuntimeError('"addmm" not implemented for Half')
        return 1.0

    fake_clock(monkeypatch, seconds)
    assert set(machine.matmul_rates(CPU)) == {"float32", "bfloat16"}


def test_overhead_is_the_line_through_few_and_many_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    depth = {}
    tiny_step = machine._tiny_step

    def counted(device: torch.device, layers: int) -> Callable[[], torch.Tensor]:
        step = tiny_step(device, layers)
        depth[id(step)] = layers
        return step

    monkeypatch.setattr(machine, "_tiny_step", counted)
    monkeypatch.setattr(machine, "_time", lambda work, device: 5e-3 + 1e-3 * depth[id(work)])
    fixed, layer = machine.step_overhead(CPU)
    assert (fixed.best, fixed.median) == pytest.approx((5e-3, 5e-3))
    assert (layer.best, layer.median) == pytest.approx((1e-3, 1e-3))


def test_what_is_kept_comes_back_equal(sample: Calibration) -> None:
    assert load_calibration() is None
    module._keep(sample)
    assert load_calibration() == sample


def test_devices_are_kept_side_by_side(sample: Calibration) -> None:
    gpu = replace(sample, device="cuda", machine="A GPU", read_bandwidth=1e12)
    module._keep(sample)
    module._keep(gpu)
    assert load_calibration("cpu") == sample
    assert load_calibration("cuda") == gpu


def never(device: str = "cpu", keep: bool = True) -> Any:
    raise AssertionError("measured again")


def test_a_kept_calibration_of_this_machine_is_used(
    sample: Calibration, monkeypatch: pytest.MonkeyPatch
) -> None:
    module._keep(sample)
    monkeypatch.setattr(module, "calibrate", never)
    assert current_calibration() == sample


@pytest.mark.parametrize(
    "change", [{"machine": "another"}, {"threads": 999}, {"cores": 999}, {"versions": {"torch": "0"}}]
)
def test_another_machine_is_measured_anew(
    sample: Calibration, change: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    module._keep(replace(sample, **change))
    monkeypatch.setattr(module, "calibrate", lambda device: sample)
    assert current_calibration() is sample


def test_the_identity_names_this_process(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: 7)
    identity = module._identity("cpu")
    assert (identity["threads"], identity["device"]) == (7, "cpu")
    assert identity["versions"]["torch"] == torch.__version__


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"cpu": 3}', '{"cpu": {"machine": "x"}}', "\x00"])
def test_a_damaged_file_counts_as_none(own_home: Path, damage: str) -> None:
    (own_home / "calibration.json").write_text(damage, encoding="utf-8")
    assert load_calibration() is None


def test_a_reader_never_sees_half_a_file(sample: Calibration) -> None:
    module._keep(sample)
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            module._keep(sample)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(300):
            assert load_calibration() == sample
    finally:
        stop.set()
        writer.join()


def test_the_table_states_units_and_what_follows(sample: Calibration) -> None:
    text = table(sample)
    assert "20.0 GB/s" in text
    assert "80.0 GFLOP/s   ridge 4 FLOP/byte" in text
    assert "1.000 ms" in text
    assert "0.200 ms" in text
    assert "float32: at most 37 tokens/s" in text  # 20e9 / (134,515,008 weights of 4 bytes)
    assert "Noisy" not in text
    assert "float32 is more than 20%" in table(replace(sample, spread={"float32": 0.5}))


def test_the_command_prints_and_keeps(
    own_home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, sample: Calibration
) -> None:
    monkeypatch.setattr(module, "calibrate", lambda device: sample)
    assert main(["calibrate"]) == 0
    printed = capsys.readouterr().out
    assert "20.0 GB/s" in printed
    assert str(own_home / "calibration.json") in printed


def test_a_device_the_machine_lacks_is_one_line(
    own_home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(UnsupportedDtype, match="cuda"):
        calibrate("cuda")
    assert main(["calibrate", "--device", "cuda"]) == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_the_file_is_plain_json(own_home: Path, sample: Calibration) -> None:
    module._keep(sample)
    kept = json.loads((own_home / "calibration.json").read_text(encoding="utf-8"))
    assert math.isclose(kept["cpu"]["read_bandwidth"], 20e9)
    assert not list(own_home.glob("*.tmp"))
