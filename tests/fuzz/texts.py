"""Texts that went wrong into load, check and format: they succeed or raise PtxError, soon, and say where."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import accidents
from fuzzing import Finding

import ptxspec
from ptxspec.language.formatting import formatted
from ptxspec_workshop.generate.fuzzing import random_module

SECONDS, GIBIBYTES = 60, 3
#: processor time that any of the steps may take for a text of this fuzzer, which has at most some hundred thousand characters
LONGEST = 10.0
#: complaints about one text that are kept
COMPLAINTS = 100


def make(seed: int) -> list[str]:
    source = random.Random(f"text {seed}")
    kind = source.choices(["corpus", "spoken", "random"], (6, 3, 2))[0]
    if kind == "spoken":
        text = accidents.spoken(source)
        return [accidents.mutant(text, source) if source.random() < 0.3 else text]
    text = accidents.module(source) if kind == "corpus" else random_module.varied(source.randrange(10_000)).text()
    return [accidents.mutant(text, source)]


def timed(what: str, call: Callable[[], Any]) -> Any:
    """What a call gives, or the PtxError that it raises. Raises Finding if it takes too long."""
    began = time.process_time()
    try:
        found = call()
    except ptxspec.PtxError as error:
        found = error
    took = time.process_time() - began
    if took > LONGEST:
        raise Finding(f"{what} is slow", f"{what} took {took:.1f} s")
    return found


def complaints(error: ptxspec.PtxError, texts: Sequence[str]) -> None:
    """Look at an error: where it points to, and how much it says."""
    if not 1 <= len(error.diagnostics) <= COMPLAINTS * len(texts):
        raise Finding("complaints", f"{len(error.diagnostics)} complaints")
    lines = max(text.count("\n") + 1 for text in texts)
    for one in error.diagnostics:
        if not one.message or not 1 <= one.line <= lines or one.column < 1:
            raise Finding("place", f"{one!r}")
    if len(str(error)) > 1_000_000:
        raise Finding("length", f"the message has {len(str(error))} characters")


def judge(seed: int, texts: Sequence[str]) -> Counter[str]:
    (text,) = texts
    loaded = timed("load", lambda: ptxspec.load(text))
    again = timed("format", lambda: formatted(text))
    if isinstance(again, ptxspec.PtxError):
        complaints(again, texts)
        if not isinstance(loaded, ptxspec.PtxError):
            raise Finding("format refuses", f"what load takes: {again}")
        complaints(loaded, texts)
        return Counter({"refused": 1})
    twice = timed("format", lambda: formatted(again))
    if twice != again:
        raise Finding("format differs", f"of what it has formatted: {twice}\ninstead of\n{again}")
    if isinstance(loaded, ptxspec.PtxError):
        complaints(loaded, texts)
        return Counter({"readable, refused": 1})
    reloaded = timed("load", lambda: ptxspec.load(again))
    if isinstance(reloaded, ptxspec.PtxError):
        raise Finding("format breaks", f"what load takes: {reloaded}\n{again}")
    return Counter({"loaded": 1})
