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
    into `<register>`, or writes `<value>` there as the last that it does; `<stored>` is what it writes last."""

    about: str
    text: str

    def is_about(self, rewrite: Rewrite) -> bool:
        """Whether it asks about no register that only one of both threads writes, and about nothing stored where nothing is."""
        asks, stores = "<register>" in self.text, "<stored>" in self.text
        has_store = any(step.writes is not None for step in rewrite.before.steps)
        return (_register(rewrite) in rewrite.compared or not asks) and (has_store or not stores)


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
        "an acquire before it, by which it has to read what an atomic operation has written, and a fence behind it",
        """{ <location> = 0; d = 0; f = 0; P0:loaded = 9; }
 P0@cta 0,gpu 0      | P1@cta 1,gpu 0               | P2@cta 2,gpu 0                        ;
 ld.acquire.gpu s, f | st.weak d, 1                 | atom.relaxed.gpu.add q, <location>, 1 ;
 <rewrite>           | st.release.gpu <location>, 1 | st.release.gpu f, 1                   ;
 fence.acquire.gpu   |                              |                                       ;
 ld.weak loaded, d   |                              |                                       ;
exists (P0:s == 1 /\\ P2:q == 1 /\\ P0:loaded == 0)""",
    ),
    StatedProgram(
        "writes that are not morally strong with one another: communication leads round by program order",
        """{ <location> = 0; f = 0; }
 P0@cta 0,cluster 0,gpu 0         | P1@cta 3,cluster 1,gpu 0      | P2@cta 1,cluster 0,gpu 0     | P3@cta 1,cluster 0,gpu 0 ;
 st.weak <location>, 14           | ld.acquire.gpu s, f           | ld.relaxed.gpu q, <location> | st.weak <location>, 12 ;
 st.relaxed.cluster <location>, 15 | bne s, 1, E                  | ld.relaxed.cta r, <location> | st.relaxed.cta <location>, 13 ;
 <rewrite>             | st.relaxed.gpu <location>, 16 |                              | ld.relaxed.cluster r, <location> ;
 st.release.gpu f, 1              | E:                            |                              | ;
exists (P0:<register> == <stored> /\\ P2:q == 16 /\\ P2:r == 12 /\\ P3:r == 14)""",
    ),
    StatedProgram(
        "accesses to halves before it and behind it, which it overlaps: it is executed where it is in no race",
        """{ <location> = 0; }
 P0@cta 0,gpu 0                               | P1@cta 1,gpu 0                               ;
 ld.relaxed.gpu.global.b16 s, [<location>]    | ld.relaxed.gpu.global.b16 s, [<location>+2]  ;
 bne s, 1, E                                  | bne s, 1, E                                  ;
 <rewrite>                                    | ld.weak.global.b32 r, [<location>]           ;
 E:                                           | E:                                           ;
 st.relaxed.gpu.global.b16 [<location>+2], 1  | st.relaxed.gpu.global.b16 [<location>], 1    ;
exists (P0:s == 1 /\\ P1:s == 1)""",
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
        stored = [step for step in before.steps if step.writes is not None]
        words = {"<location>": step.location, "<register>": _register(self.rewrite), "<value>": _value(step)}
        words["<stored>"] = _value(stored[-1]) if stored else "none"
        rows = []
        for row in self.program.text.splitlines():
            first, *others = row.split("|")
            cells = _cells(line) if _HERE in first else [first]
            rows += ["|".join([cell, *(others if k == 0 else ())]) for k, cell in enumerate(cells)] or [row]
        text = "\n".join(_ended(rows)).replace(_HERE, "")
        for word, replacement in words.items():
            text = text.replace(word, replacement)
        return f"PTX {name}\n{text}\n"


def _register(rewrite: Rewrite) -> str:
    """The register into which the original reads by its last access; "none" if it does not."""
    step = [step for step in rewrite.before.steps if step.location][-1]
    registers = rewrite.before.registers.items()
    return next((name for name, term in registers if step.reads in variables_in([term])), "none")


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
    for program in (program for program in PROGRAMS if program.is_about(rewrite)):
        result = StatedWitness(rewrite, program)
        forbidden, allowed = (litmus(result.test("stated", rewritten), edition).status for rewritten in (False, True))
        if (forbidden, allowed) == ("forbidden", "allowed"):
            return result
    return None
