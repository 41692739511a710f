"""A step of training a small network of convolutions, and a block of a transformer, on the specification and on tinygrad's CPU device
(one thread of it, compiled by clang), as seconds of the processor.

    python tests/benchmarks/training.py [--only NAME …] [--seconds 60] [--json PATH]

Both are rendered by tinygrad, each device in a process of its own. The best of all runs counts that the given seconds leave time for: by
then kernels that take long have been compiled for speed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

DEVICES = ("CUDA", "CPU")
#: seconds of tinygrad's device for each of ours, which takes longer
SHARE = 0.1
#: runs in which tinygrad still records what it does
CAPTURED = 3


def convolutions() -> Callable[[], Any]:
    """A step of Adam on 32 images of 28 by 28: the loss."""
    from tinygrad import Tensor, TinyJit, nn
    from tinygrad.helpers import Context

    first, second = [nn.Conv2d(1, 32, 5), nn.Conv2d(32, 32, 5)], [nn.Conv2d(32, 64, 3), nn.Conv2d(64, 64, 3)]
    norms, last = [nn.BatchNorm(32), nn.BatchNorm(64)], nn.Linear(576, 10)
    source = np.random.default_rng(1)
    images = Tensor(source.random((32, 1, 28, 28), np.float32)).realize()
    digits = Tensor(source.integers(0, 10, 32, dtype=np.int32)).realize()
    optimizer = nn.optim.Adam([p for part in (*first, *second, *norms, last) for p in nn.state.get_parameters(part)])

    @TinyJit
    def step() -> Any:
        optimizer.zero_grad()
        x = images
        for pair, norm in zip((first, second), norms, strict=True):
            for layer in pair:
                x = layer(x).relu()
            x = norm(x).max_pool2d()
        loss = last(x.flatten(1)).sparse_categorical_crossentropy(digits).backward()
        return loss.realize(*optimizer.schedule_step())

    def run() -> Any:
        with Context(TRAINING=1):
            return step().numpy()

    return run


def transformer() -> Callable[[], Any]:
    """A block of four heads on two sequences of 64 vectors of 256: what it makes of them."""
    from tinygrad import Tensor, TinyJit, nn

    width, heads, length, batch = 256, 4, 64, 2
    norms = [nn.LayerNorm(width), nn.LayerNorm(width)]
    into, out = nn.Linear(width, 3 * width), nn.Linear(width, width)
    wide, narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
    vectors = Tensor(np.random.default_rng(2).normal(size=(batch, length, width)).astype(np.float32)).realize()

    @TinyJit
    def block(x: Any) -> Any:
        parts = into(norms[0](x)).reshape(batch, length, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
        queries, keys, values = (parts[i] for i in range(3))
        seen = queries.scaled_dot_product_attention(keys, values, is_causal=True)
        x = x + out(seen.transpose(1, 2).reshape(batch, length, width))
        return (x + narrow(wide(norms[1](x)).gelu())).realize()

    return lambda: block(vectors).numpy()


PROGRAMS = {"step of training": convolutions, "block of a transformer": transformer}


def measure(name: str, seconds: float) -> dict[str, float]:
    """What a program takes on the device of this process, and what its first run makes."""
    from tinygrad import Tensor

    Tensor.manual_seed(1)
    run, best = PROGRAMS[name](), float("inf")
    made = float(np.abs(run()).sum())
    for _ in range(CAPTURED):
        run()
    ends = time.perf_counter() + seconds
    while time.perf_counter() < ends or best == float("inf"):
        began = time.process_time()
        run()
        best = min(best, time.process_time() - began)
    return {"ms": 1000 * best, "made": made}


def on_device(device: str, name: str, seconds: float) -> dict[str, float]:
    """The same in a process of its own."""
    given = {"DEV": device, "CPU_COUNT": "1", "THREADS": "0", "CACHELEVEL": "0"}
    command = [sys.executable, __file__, "--device", device, "--only", name, "--seconds", str(seconds)]
    run = subprocess.run(command, env=os.environ | given, capture_output=True, text=True, check=True)
    measured: dict[str, float] = json.loads(run.stdout.splitlines()[-1])
    return measured


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description="tinygrad's programs on the specification and on its CPU device")
    parser.add_argument("--only", nargs="+", choices=list(PROGRAMS), default=list(PROGRAMS))
    parser.add_argument("--seconds", type=float, default=60, help="how long each program runs on the specification")
    parser.add_argument("--json", type=Path, help="write the figures there")
    parser.add_argument("--device", choices=DEVICES, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.device:
        if given.device == "CUDA":
            from ptxspec.adapters import tinygrad

            tinygrad.install()
        print(json.dumps(measure(given.only[0], given.seconds)))
        return
    table = Table("program", "specification, ms", "tinygrad's CPU device, ms", "ratio", "results")
    figures = {}
    for name in given.only:
        ours, theirs = (
            on_device(device, name, given.seconds * (1 if device == "CUDA" else SHARE)) for device in DEVICES
        )
        close = "close" if np.isclose(ours["made"], theirs["made"], rtol=1e-4) else "DIFFERENT"
        figures[name] = {"specification": ours["ms"], "cpu": theirs["ms"]}
        ratio = f"{ours['ms'] / theirs['ms']:.1f}"
        table.add_row(name, f"{ours['ms']:.1f}", f"{theirs['ms']:.1f}", ratio, close)
    Console().print(table)
    if given.json:
        given.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
