"""The names of CUDA C++ that pages give: what nvcc compiles to an instruction or to a read of a special register.

A page states them in a fence `cuda`, one declaration a line, as the programming guide writes them, with what it is compiled to:

    int __popc(unsigned int x)                              // popc.b32
    unsigned int threadIdx.x                                // %tid.x
    int operator+(int a, int b)                             // add.s32
    unsigned int __vadd4(unsigned int a, unsigned int b)    // without vadd4

A line `#include <…>` says which header declares what follows it. `without` an opcode: the function computes what the instruction
does, but nvcc does not use it on the targets of today.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ptxspec.base import places
from ptxspec.literate import finder
from ptxspec.literate.documents import DocumentError, parse

_INCLUDE = re.compile(r"#include <([\w./]+)>$")
_LINE = re.compile(r"(?P<declaration>\S.*?)\s+// (?P<without>without )?(?P<compiled>[%\w][\w.:]*)$")
_DECLARATION = re.compile(
    r"(?P<result>.*?[\s*])(?P<name>operator[^\w\s(]+|[A-Za-z_][\w:]*(?:<[\w ]+>)?(?:\.\w+)?)(?:\((?P<parameters>.*)\))?$"
)


class CudaName(NamedTuple):
    """A name of CUDA C++: its declaration, with the type of what it gives, and what nvcc compiles it to: a mnemonic, perhaps
    without modifiers that follow from an operand, or a special register. Where `direct` is false, `compiled` is an opcode that
    nvcc does without. `page` and `line` say where it is stated, such as "spec/instructions/integer/popc.md"."""

    name: str
    result: str
    parameters: tuple[str, ...] | None
    compiled: str
    direct: bool
    header: str
    page: str
    line: int

    @property
    def declaration(self) -> str:
        """As it is written: `int __popc(unsigned int x)`."""
        space = "" if self.result.endswith("*") else " "
        given = "" if self.parameters is None else f"({', '.join(self.parameters)})"
        return f"{self.result}{space}{self.name}{given}"

    @property
    def plain(self) -> str:
        """The name without what stands between angle brackets: `tex2D`."""
        return self.name if self.name.startswith("operator") else re.sub(r"<.*>", "", self.name)


def read(text: str, line: int, page: str) -> list[CudaName]:
    """The names of a fence whose first line is the page's line `line`. Raises DocumentError for a line that is none."""
    header, declarations = "", []
    for number, source_line in enumerate(text.splitlines(), line):
        included = _INCLUDE.match(source_line)
        if included or not source_line.strip():
            header = included[1] if included else header
            continue
        stated = _LINE.match(source_line)
        declared = _DECLARATION.match(stated["declaration"]) if stated else None
        if stated is None or declared is None:
            raise DocumentError(page, number, f"no declaration with what it is compiled to: {source_line!r}")
        given = declared["parameters"]
        parameters = None if given is None else tuple(_split(given))
        direct = stated["without"] is None
        result = declared["result"].strip()
        declarations.append(
            CudaName(declared["name"], result, parameters, stated["compiled"], direct, header, page, number)
        )
    return declarations


def _split(parameters: str) -> list[str]:
    """Parameters, between commas that are in no brackets."""
    parts, depth = [""], 0
    for sign in parameters:
        depth += (sign in "(<") - (sign in ")>")
        if sign == "," and not depth:
            parts.append("")
        else:
            parts[-1] += sign
    return [p.strip() for p in parts if p.strip()]


@cache
def names() -> tuple[CudaName, ...]:
    """Every name that some page of the specification states, in the order of the pages."""
    result: list[CudaName] = []
    for _, path in finder.pages("ptxspec.spec"):
        text = path.read_text("utf-8")
        if "```cuda" in text:
            page = Path(path).resolve().relative_to(places.DOCUMENTS.resolve()).as_posix()
            for fence in parse(text, path).of("cuda"):
                result += read(fence.text, fence.line, page)
    return tuple(result)
