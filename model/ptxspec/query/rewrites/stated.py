"""Programs around a rewrite that are stated one by one: with accesses of several sizes, conditions and weak accesses, which are
not among those that `contexts.py` goes through."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ptxspec.query.litmus.reading import read
from ptxspec.query.litmus.verdicts import litmus
from ptxspec.query.litmus.writing import bodies_of
from ptxspec.query.rewrites.contexts import Rewrite
from ptxspec.query.rewrites.steps import Line, RewriteStep, heading
from ptxspec.terms.vocabulary import variables_in

#: where the operations of the rewrite come
_HERE = "<rewrite>"


class StatedProgram(NamedTuple):
    """What a litmus test is about, and the test, with a place for a rewrite that accesses `<location>`, of four bytes, reads it
    into `<register>`, or writes `<value>` there."""

    about: str
    text: str


PROGRAMS = (
    StatedProgram(
        "a release of more bytes than are read: only a fence is morally strong with it",
        """{ z = 0; .b64 <location> = 0; f = 0; g = 0; P0:loaded = 9; }
 P0@cta 0,gpu 0       | P1@cta 1,gpu 0                             | P2@cta 2,gpu 0                             ;
 ld.acquire.gpu s, g  | st.weak z, 1                               | ld.relaxed.gpu.global.b64 r, [<location>]  ;
 bne s, 1, E          | st.release.gpu.global.b64 [<location>], 11 | setp.ne.u64 p, r, 11                       ;
 <rewrite>            | ld.acquire.gpu s, f                        | @p exit                                    ;
 ld.weak loaded, z    | bne s, 1, E                                | st.release.gpu f, 1                        ;
 E:                   | st.relaxed.gpu.global.b32 [<location>], 12 | st.release.gpu g, 1                        ;
                      | E:                                         |                                            ;
exists (P0:<register> == 12 /\\ P0:loaded == 0)""",
    ),
    StatedProgram(
        "an acquire of more bytes than are written: only a fence is morally strong with it",
        """{ z = 0; .b64 <location> = 0; P1:loaded = 9; }
 P0@cta 0,gpu 0 | P1@cta 1,gpu 0                            ;
 st.weak z, 1   | ld.relaxed.gpu.global.b32 s, [<location>] ;
 <rewrite>      | bne s, <value>, E                         ;
                | ld.acquire.gpu.global.b64 r, [<location>] ;
                | ld.weak loaded, z                         ;
                | E:                                        ;
exists (P1:s == <value> /\\ P1:loaded == 0)""",
    ),
    StatedProgram(
        "a weak write before it, with which another one is in no order",
        """{ <location> = 0; }
 P0@cta 0,gpu 0         | P1@cta 1,gpu 0                ;
 st.weak <location>, 11 | st.relaxed.gpu <location>, 12 ;
 <rewrite>              | ld.relaxed.gpu r, <location>  ;
exists (P1:r == 11 /\\ <location> == 12)""",
    ),
)


class StatedWitness(NamedTuple):
    """A rewrite, and a stated program that has an outcome with the rewrite alone."""

    rewrite: Rewrite
    program: StatedProgram

    def test(self, name: str, rewritten: bool) -> str:
        """The program as a litmus test that asks whether it may have the outcome: with the rewrite, or as it was."""
        line = self.rewrite.after if rewritten else self.rewrite.before
        before = self.rewrite.before
        step = [step for step in before.steps if step.location][-1]
        loaded = (name for name, term in before.registers.items() if step.reads in variables_in([term]))
        words = {"<location>": step.location, "<register>": next(loaded, "none"), "<value>": _value(step)}
        rows = []
        for row in self.program.text.splitlines():
            first, *others = row.split("|")
            cells = _cells(line) if _HERE in first else [first]
            rows += ["|".join([cell, *(others if k == 0 else ())]) for k, cell in enumerate(cells)] or [row]
        text = "\n".join(_ended(rows)).replace(_HERE, "")
        for word, replacement in words.items():
            text = text.replace(word, replacement)
        return f"PTX {name}\n{text}\n"


def _value(step: RewriteStep) -> str:
    return "0" if step.writes is None else str(step.writes.lo)


def _ended(rows: list[str]) -> Iterator[str]:
    """Rows of a table that end as such."""
    for row in rows:
        ends = row.rstrip().endswith(";") or row.startswith(("{", "exists"))
        yield row if ends else f"{row.rstrip()} ;"


def _cells(line: Line) -> list[str]:
    """The instructions of a line, as PTX: each has the size of its accesses with it."""
    sizes = {step.location: step.size for step in line.steps if step.location}
    rows = "\n".join(f" {cell} ;" for cell in line.cells)
    test = read(f"PTX line\n{{ {heading(sizes, {})} }}\n P0@cta 0,gpu 0 ;\n{rows}\nexists (0 == 0)")
    return [f" {text.rstrip(';')} " for text, _ in bodies_of(test)[0].lines]


def stated_witness(rewrite: Rewrite, edition: str) -> StatedWitness | None:
    """A stated program in which the rewrite makes another outcome possible, by the model of an edition."""
    accesses = {step.location: step.size for step in rewrite.steps if step.location}
    is_one = len(accesses) == 1 and set(accesses.values()) == {4} and any(s.location for s in rewrite.before.steps)
    if rewrite.whole or rewrite.registers or not is_one:
        return None
    for program in PROGRAMS:
        result = StatedWitness(rewrite, program)
        forbidden, allowed = (litmus(result.test("stated", rewritten), edition).status for rewritten in (False, True))
        if (forbidden, allowed) == ("forbidden", "allowed"):
            return result
    return None
