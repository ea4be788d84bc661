"""This machine's roofline and step cost, measured in seconds and kept for every lab: `minillm calibrate`."""

from __future__ import annotations

import argparse
import json
import os
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import date
from pathlib import Path
from typing import Any

from minillm.hardware import Roofline, model_config
from minillm.paths import home


@dataclass(frozen=True)
class Calibration(Roofline):
    """What one device of one machine can do. Bounds (ridge, roofline, decode_ceiling) come from Roofline.

    read_bandwidth: bytes/s. matmul: FLOP/s by dtype name. step_overhead, layer_overhead: seconds a decode
    step costs whatever its model's size, and seconds each layer adds to that. spread: by figure, the
    median try's rate over the best one's; 1 means a quiet machine.
    """

    machine: str
    cores: int
    threads: int
    device: str
    read_bandwidth: float
    matmul: Mapping[str, float]
    step_overhead: float
    layer_overhead: float
    versions: Mapping[str, str]
    date: str
    spread: Mapping[str, float] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The machine as a figure's legend names it."""
        if self.device != "cpu":
            return self.machine
        return f"{self.machine}, {self.threads} thread{'' if self.threads == 1 else 's'}"

    def overhead(self, layers: int) -> float:
        """Seconds of a decode step that neither bytes nor FLOPs explain, for a model of so many layers."""
        return self.step_overhead + layers * self.layer_overhead


def calibrate(device: str = "cpu", keep: bool = True) -> Calibration:
    """Measure the device, in under ten seconds, and keep the result in `home()/calibration.json`.

    Raises UnsupportedDtype where torch has no such device on this machine.
    """
    from minillm import machine
    from minillm.models.loading import checked_device

    target = checked_device(device)
    bandwidth = machine.read_bandwidth(target)
    rates = machine.matmul_rates(target)
    step, layer = machine.step_overhead(target)
    spread = {"read_bandwidth": bandwidth.median / bandwidth.best}
    spread |= {dtype: rate.median / rate.best for dtype, rate in rates.items()}
    spread["layer_overhead"] = min(1.0, layer.best / layer.median) if layer.median else 1.0
    result = Calibration(
        **_identity(device),
        read_bandwidth=bandwidth.best,
        matmul={dtype: rate.best for dtype, rate in rates.items()},
        step_overhead=step.best,
        layer_overhead=layer.best,
        date=date.today().isoformat(),
        spread={name: round(value, 3) for name, value in spread.items()},
    )
    if keep:
        _keep(result)
    return result


def load_calibration(device: str = "cpu") -> Calibration | None:
    """What was last measured for this device, on whatever machine; None where nothing readable is kept."""
    kept = _kept().get(device)
    names = {part.name for part in fields(Calibration)}
    if not isinstance(kept, dict) or set(kept) != names:
        return None
    return Calibration(**kept)


def current_calibration(device: str = "cpu") -> Calibration:
    """The kept calibration if it is of this machine, thread count and torch, else a new one, kept.

    Raises UnsupportedDtype where torch has no such device on this machine.
    """
    kept = load_calibration(device)
    if kept is not None and all(getattr(kept, key) == value for key, value in _identity(device).items()):
        return kept
    return calibrate(device)


def table(calibration: Calibration) -> str:
    """The calibration as text, a figure a line, with what follows from it."""
    versions = ", ".join(f"{name} {version}" for name, version in calibration.versions.items())
    lines = [
        f"{calibration.name} ({calibration.cores} cores, device {calibration.device}), {versions}",
        f"measured {calibration.date}",
        "",
        f"{'read bandwidth':24}{calibration.read_bandwidth / 1e9:9.1f} GB/s",
    ]
    for dtype, rate in calibration.matmul.items():
        ridge = f"ridge {calibration.ridge(dtype):.2g} FLOP/byte"
        lines.append(f"{f'product, {dtype}':24}{rate / 1e9:9.1f} GFLOP/s   {ridge}")
    lines += [
        f"{'a decode step':24}{calibration.step_overhead * 1e3:9.3f} ms, whatever it computes",
        f"{'and for each layer':24}{calibration.layer_overhead * 1e3:9.3f} ms",
        "",
    ]
    noisy = [name for name, ratio in calibration.spread.items() if ratio < 0.8]
    if noisy:
        lines.append(f"Noisy: the median try of {', '.join(noisy)} is more than 20% slower than the best.")
    config = model_config("smollm2-135m")
    for dtype, width in (("float32", 4), ("bfloat16", 2)):
        ceiling = calibration.decode_ceiling(config.parameters() * width)
        lines.append(f"Decoding {config.name} in {dtype}: at most {ceiling:.0f} tokens/s for one request.")
    return "\n".join(lines)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `minillm calibrate`."""
    parser.add_argument("--device", default="cpu", help="cpu (default), cuda or mps")


def run(arguments: argparse.Namespace) -> int:
    """Measure, print, keep."""
    print(table(calibrate(arguments.device)))
    print(f"Kept in {_file()}")
    return 0


def _identity(device: str) -> dict[str, Any]:
    """What makes a calibration this machine's: a change in any of these asks for a new one."""
    import torch

    from minillm.machine import machine_name
    from minillm.models.loading import checked_device

    return {
        "machine": machine_name(checked_device(device)),
        "cores": os.cpu_count() or 1,
        "threads": torch.get_num_threads(),
        "device": device,
        "versions": {"torch": torch.__version__, "python": platform.python_version()},
    }


def _file() -> Path:
    return home() / "calibration.json"


def _kept() -> dict[str, Any]:
    """The file's content by device; empty where it is missing or was damaged: measuring again is cheap."""
    try:
        content = json.loads(_file().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _keep(calibration: Calibration) -> None:
    """Write beside the file, then put it in place: a crash leaves the old one or the new one."""
    content = _kept() | {calibration.device: asdict(calibration)}
    temporary = _file().with_name(f"calibration.{os.getpid()}.tmp")
    temporary.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    temporary.replace(_file())
