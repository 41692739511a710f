"""The forms for whose results PTX bounds the error alone. That no other opcode has one is tested in spec/test_approximate.py."""

from __future__ import annotations

from functools import cache

import ptxspec
from ptxspec.evidence.kernels import signatures
from ptxspec.language.forms import Form

OPCODES = ("cos", "div", "ex2", "lg2", "rcp", "rsqrt", "sin", "sqrt", "tanh")


@cache
def approximate_forms() -> tuple[Form, ...]:
    return tuple(f for o in OPCODES for f in ptxspec.forms(o) if signatures.approximate(f))
