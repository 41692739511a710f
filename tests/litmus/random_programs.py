"""Random litmus tests: two or three threads, a few accesses to two variables, fences and barriers, and a condition."""

from __future__ import annotations

import random

SCOPES = ["cta", "gpu", "sys"]
VARIABLES = ["x", "y"]


def litmus_text(seed: int) -> str:
    """A test, of which the two ways of deciding have to say the same."""
    source = random.Random(f"litmus {seed}")
    threads = source.choice([2, 2, 3])
    has_alias = source.random() < 0.15
    names = [*VARIABLES, "z"] if has_alias else VARIABLES
    columns, registers = [], []
    left = source.randrange(4, 10)
    for thread in range(threads):
        count = max(1, min(source.randrange(1, 5), left))
        left -= count
        cells = []
        for k in range(count):
            cell = _cell(source, names, k)
            cells.append(cell)
            if " r" in cell and not cell.startswith(("st", "red", "bne")):
                registers.append(f"P{thread}:r{k}")
        columns.append(cells)
    length = max(map(len, columns))
    rows = [" | ".join(c[i] if i < len(c) else "" for c in columns) + " ;" for i in range(length)]
    places = " | ".join(
        f"P{t}@cta {source.choice([0, 0, 1])},gpu {source.choice([0, 0, 0, 1])}" for t in range(threads)
    )
    alias = "z @ generic aliases x; " if has_alias else ""
    return "\n".join(
        [
            f"PTX seed-{seed}",
            f"{{ x = 0; y = 0; {alias}}}",
            f"{places} ;",
            *rows,
            f"{source.choice(['exists', 'exists', '~exists', 'forall'])} ({_condition(source, registers)})",
        ]
    )


def _cell(source: random.Random, names: list[str], k: int) -> str:
    scope, name = source.choice(SCOPES), source.choice(names)
    value = source.choice(["1", "1", "2", f"r{source.randrange(k)}" if k else "1"])
    what = source.random()
    if what < 0.3:
        order = source.choice(["weak", f"relaxed.{scope}", f"acquire.{scope}", "volatile"])
        return f"ld.{order} r{k}, {name}"
    if what < 0.62:
        order = source.choice(["weak", f"relaxed.{scope}", f"release.{scope}", "volatile"])
        return f"st.{order} {name}, {value}"
    if what < 0.76:
        order = source.choice(["relaxed", "acquire", "release", "acq_rel"])
        return source.choice(
            [f"atom.{order}.{scope}.add r{k}, {name}, 1", f"atom.{order}.{scope}.exch r{k}, {name}, 2",
             f"atom.{order}.{scope}.cas r{k}, {name}, 0, 2"]
        )  # fmt: skip
    if what < 0.82:
        return f"red.{source.choice(['relaxed', 'release'])}.{scope}.add {name}, 1"
    if what < 0.97:
        order = source.choice(["sc", "sc", "acq_rel", "acquire", "release"])
        return source.choice([f"fence.{order}.{scope}"] * 5 + ["fence.proxy.alias"])
    return "bar.sync 0"


def _condition(source: random.Random, registers: list[str]) -> str:
    values = [*registers, *VARIABLES]
    parts = []
    for value in source.sample(values, min(len(values), source.randrange(1, 4))):
        parts.append(f"{value} {source.choice(['==', '==', '!='])} {source.choice([0, 0, 1, 2])}")
    return source.choice([" /\\ ", " /\\ ", " \\/ "]).join(parts)
