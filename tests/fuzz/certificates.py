"""Certificates that somebody has changed: what does not say the same any more must not hold.

A case is a certificate of one of the kinds below, with one place or a few changed. If it holds, then it is what is written for its
own question, or it was changed where nothing depends on it: then that is noted."""

from __future__ import annotations

import contextlib
import copy
import functools
import json
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "model")]

from fuzzing import Finding, Unfit  # noqa: E402

from ptxspec.base import strict  # noqa: E402
from ptxspec.language.diagnostics import PtxError  # noqa: E402
from ptxspec.query import records  # noqa: E402
from ptxspec.query.outcomes import Unsupported  # noqa: E402
from ptxspec.query.solvers import portfolio  # noqa: E402
from ptxspec.query.solvers.answers import SolverReply  # noqa: E402

SECONDS, GIBIBYTES = 60, 6
LOOP = ".reg .u32 i; mov.u32 i, 0; mov.u32 s, 0; L: setp.ge.u32 p, i, n; @p bra D; add.u32 s, s, 3; add.u32 i, i, 1; bra L; D: mov.u32 d, s;"
#: the kinds: both sides, and what else is asked
KINDS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "proved": ("mul.lo.u32 d, a, 9;", "shl.b32 x, a, 3; add.u32 d, x, a;", {}),
    "assumed": ("clz.b32 d, a;", "bfind.shiftamt.u32 d, a;", {"assume": "a != 0"}),
    "refuted": ("shr.s32 d, a, 1;", "div.s32 d, a, 2;", {"profile": "hopper"}),
    "refuted by choices": ("div.u32 d, a, 0;", "mov.u32 d, 5;", {}),
    "the same term": ("mov.u32 d, a;", "mov.u32 d, a;", {}),
    "vacuous": ("add.u32 d, a, 1;", "sub.u32 d, a, -1;", {"assume": "a < 5 and a > 7"}),
    "refined": ("div.u32 d, a, 0;", "mov.u32 d, -1;", {"relation": "refines"}),
    "not refined": ("div.u32 d, a, b;", "mov.u32 d, -1;", {"relation": "refines"}),
    "paths": ("@p bra L; mov.u32 d, 1; ret; L: mov.u32 d, 2;", "selp.b32 d, 2, 1, p;", {}),
    "memory": ("ld.u32 d, [p];", "ld.u16 d, [p];", {"buffers": {"p": 4}, "assume": "p[2] == 0 and p[3] == 0"}),
    "memory, refuted": ("ld.u32 d, [p];", "ld.u16 d, [p];", {"buffers": {"p": 4}}),
    "loop": (LOOP, "mul.lo.u32 d, n, 3;", {"assume": "n < 4"}),
    "invariant": (LOOP, "mul.lo.u32 d, n, 3;", {"invariant": "s == 3*i and i <= n", "assume": "n < 1000"}),
    "contracted": ("mul.f32 x, a, b; add.f32 d, x, c;", "fma.rn.f32 d, a, b, c;", {"contract": "all", "profile": "hopper"}),
    "warp": ("mov.u32 d, %laneid; add.u32 d, d, a;", "mov.u32 e, %laneid; add.u32 d, a, e;", {"warp": True}),
    "exhausted": ("cvt.u32.u16 x, a; shl.b32 d, x, 1;", "cvt.u32.u16 x, a; add.u32 d, x, x;", {}),
}  # fmt: skip
#: what takes the place of a value
VALUES = [None, True, False, 0, 1, -1, 2, 17, 10**30, 1.5, "", "x", "a", "0", "sat", "unsat", "unanswered", "proved", "refuted", "exhausted",
          "vacuous", "equal", "refines", "none", "all", "any", "portable", "hopper", "z3", "portfolio", "a + 1 = a", "a == 1", "(", [], {}, ["x"],
          {"x": 1}, [[]], "\x1b[2J", "é", "s == 3*i"]  # fmt: skip
#: places of which nothing that is claimed depends
FREE = ("timeout", "solver", "ptxspec", "pages")


@functools.cache
def original(kind: str) -> str:
    left, right, options = KINDS[kind]
    with answering(kind):
        return json.dumps(records.certificate(_recorded_once(left, right, **options)), indent=1)


@contextlib.contextmanager
def answering(kind: str) -> Iterator[None]:
    """Within, no solver answers in time, if a kind is of what is run then."""
    if kind != "exhausted":
        yield
        return
    with patch.object(portfolio, "ask", lambda *_, **__: SolverReply("timeout", {}, "nobody")):
        yield


_cache: dict[str, Any] = {}
_recorded = records.recorded


def _recorded_once(*texts: str, **options: Any) -> Any:
    """What is asked often is asked once: all of a case but its change was asked before."""
    key = repr((texts, sorted(options.items(), key=lambda pair: pair[0]), portfolio.ask))
    if key not in _cache:
        try:
            _cache[key] = _recorded(*texts, **options)
        except (ValueError, Unsupported, PtxError) as error:
            _cache[key] = error
    if isinstance(_cache[key], Exception):
        raise _cache[key]
    return _cache[key]


def make(seed: int) -> list[str]:
    """A certificate with a few changes, as text; the kind is in the first line."""
    source = random.Random(f"certificate {seed}")
    kind = source.choice(list(KINDS))
    made = json.loads(original(kind))
    for _ in range(source.choice([1, 1, 1, 1, 2, 3])):
        change(source, made)
    text = json.dumps(made, indent=1)
    if source.random() < 0.05:
        at = source.randrange(len(text))
        text = (
            text[:at]
            + source.choice(["", "x", "}", '"', "[" * 5000, "NaN", '"timeout": 1,'])
            + text[at + source.randrange(3) :]
        )
    return [f"{kind}\n{text}"]


def change(source: random.Random, made: Any) -> None:
    """One place of the certificate is another."""
    places = list(paths(made))
    # every part as often as every other, however long it is
    part = source.choice(list(made)) if isinstance(made, dict) and made else None
    own = [p for p in places if p[0] == part] or places
    if not own:
        return
    path = source.choice(own)
    holder = functools.reduce(lambda value, step: value[step], path[:-1], made)
    at, old = path[-1], holder[path[-1]]
    how = source.choice([0, 1, 2, 3, 3, 4, 5, 5, 5, 5, 5, 5])
    if how == 0:
        holder[at] = copy.deepcopy(source.choice(VALUES))
    elif how == 1:
        del holder[at]
    elif how == 2 and isinstance(holder, list):
        holder.insert(at, copy.deepcopy(old))
    elif how == 2:
        holder[f"{at}x"] = holder.pop(at)
    elif how == 3 and isinstance(holder, list):
        source.shuffle(holder)
    elif how == 3:
        other = json.loads(original(source.choice(list(KINDS))))
        made[path[0]] = other[path[0]] if path[0] in other else None
    elif how == 4 and isinstance(old, dict):
        old[source.choice(["x", "agreed", "by", "why"])] = copy.deepcopy(source.choice(VALUES))
    elif isinstance(old, str) and old:
        where = source.randrange(len(old))
        new = source.choice(
            ["", " ", "0", "1", "a", "b", "d", ";", "u", "s", old[where : where + 5], old[source.randrange(len(old))]]
        )
        holder[at] = old[:where] + new + old[where + source.randrange(2) :]
    elif type(old) in (int, float):
        holder[at] = source.choice([old + 1, -old, old * 2, float(old), str(old), bool(old)])
    elif isinstance(old, bool):
        holder[at] = not old
    else:
        holder[at] = copy.deepcopy(source.choice(VALUES))


def paths(value: Any, before: tuple[Any, ...] = ()) -> Any:
    """The steps to every place in a value."""
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in steps:
        yield (*before, step)
        yield from paths(inner, (*before, step))


def judge(seed: int, texts: Sequence[str]) -> Counter[str]:
    kind, _, text = texts[0].partition("\n")
    if kind not in KINDS:
        raise Unfit("no kind")
    with answering(kind), patch.object(records, "recorded", _recorded_once):
        return _judged(kind, text)


def _judged(kind: str, text: str) -> Counter[str]:
    try:
        made = strict.loaded(text)
        # an hour for what a case takes that asks for much would be no test of certificates
        if isinstance(made, dict) and type(made.get("timeout")) in (int, float) and 60 < made["timeout"] < 1e6:
            made["timeout"] = 60.0
        checked = records.check(made)
    except ValueError as refused:
        if not str(refused):
            raise Finding("says nothing", "no message") from None
        return Counter({"refused": 1, f"kind {kind}": 1})
    if not checked.holds:
        if not checked.said:
            raise Finding("says nothing", "no message")
        return Counter({"does not hold": 1, f"kind {kind}": 1})
    try:
        anew = records.certificate(_recorded_once(**_arguments(made)))
    except Exception as error:
        raise Finding("holds", f"nothing can be certified of its question: {error}") from error
    for name in anew:
        if name in ("timeout", "solver", "ptxspec", "pages") and (
            made[name] == anew[name] or name in ("timeout", "solver")
        ):
            continue
        if name in ("ptxspec", "pages") and checked.notes:
            continue
        if name == "queries" and any("no solver answered" in note for note in checked.notes):
            continue
        if json.dumps(made[name]) != json.dumps(anew[name]):
            raise Finding(
                "holds",
                f"{name} is not what is written for its question: {strict.difference(made[name], anew[name], name)}",
            )
    if made["verdict"]["statement"]["words"] != list(checked.statement):
        raise Finding("holds", "the statement that was checked is another")
    return Counter({"holds": 1, f"kind {kind}": 1})


def _arguments(made: dict[str, Any]) -> dict[str, Any]:
    question = dict(made["question"])
    if isinstance(question["profile"], list):
        question["profile"] = tuple(question["profile"])
    if question["buffers"] is not None:
        question["buffers"] = {n: tuple(v) if isinstance(v, list) else v for n, v in question["buffers"].items()}
    return {**question, "timeout": 60.0, "solver": made["solver"]}
