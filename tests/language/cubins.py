"""Cubins as ptxas writes them: sections, symbols and relocations of a 64-bit ELF file."""

from __future__ import annotations

import struct
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ptxspec.evidence.assembler import ptxas

_WITHOUT_BITS = (8, 0x70000007)  # what is zero has no bytes in the file


class Section(NamedTuple):
    name: str
    data: bytes


class Symbol(NamedTuple):
    """A symbol: the section it lies in (empty: it is not defined here), its place there and its size."""

    name: str
    section: str
    at: int
    size: int


class Relocation(NamedTuple):
    """Where the loader has to fill in what: of a section, an offset, a kind, a symbol and what is added to its address."""

    section: str
    offset: int
    kind: int
    symbol: str
    addend: int


class Cubin:
    """What an ELF file says."""

    def __init__(self, file: bytes):
        (headers,) = struct.unpack_from("<Q", file, 0x28)
        size, count, names = struct.unpack_from("<HHH", file, 0x3A)
        rows = [struct.unpack_from("<IIQQQQIIQQ", file, headers + size * i) for i in range(count)]

        def text(table: int, at: int) -> str:
            start = rows[table][4] + at
            return file[start : file.index(b"\0", start)].decode()

        self.sections: list[Section] = []
        for name, kind, _, _, offset, length, *_ in rows:
            data = bytes(length) if kind in _WITHOUT_BITS else file[offset : offset + length]
            self.sections.append(Section(text(names, name), data))
        self.symbols: dict[str, Symbol] = {}
        self.relocations: list[Relocation] = []
        listed: list[str] = []
        for (_, kind, _, _, offset, length, link, _, _, _), _section in zip(rows, self.sections, strict=True):
            if kind == 2:
                for at in range(offset, offset + length, 24):
                    name, info, _, where, value, extent = struct.unpack_from("<IBBHQQ", file, at)
                    listed.append(text(link, name))
                    place = self.sections[where].name if 0 < where < count else ""
                    if info & 15 != 3:  # the symbol of a section
                        self.symbols[listed[-1]] = Symbol(listed[-1], place, value, extent)
        for (_, kind, _, _, offset, length, _, target, _, _), _section in zip(rows, self.sections, strict=True):
            for at in range(offset, offset + length, 24) if kind == 4 else ():
                place, info, addend = struct.unpack_from("<QQq", file, at)
                one = Relocation(self.sections[target].name, place, info & 0xFFFFFFFF, listed[info >> 32], addend)
                self.relocations.append(one)

    def section(self, name: str) -> bytes:
        return next(s.data for s in self.sections if s.name == name)

    def image(self, symbol: str) -> bytes:
        """The bytes with which a variable begins, before the loader fills in addresses."""
        found = self.symbols[symbol]
        return self.section(found.section)[found.at : found.at + found.size]

    def addresses_in(self, symbol: str) -> list[Relocation]:
        """The relocations of a variable, their offsets counted from its beginning."""
        found = self.symbols[symbol]
        inside = [r for r in self.relocations if r.section == found.section and 0 <= r.offset - found.at < found.size]
        return sorted(r._replace(offset=r.offset - found.at) for r in inside)


def assembled(text: str, *flags: str) -> Cubin:
    """What ptxas makes of a module for sm_90."""
    with tempfile.TemporaryDirectory() as folder:
        source, cubin = Path(folder, "m.ptx"), Path(folder, "m.cubin")
        source.write_text(text)
        command: Sequence[str] = [ptxas(), "-arch=sm_90", *flags, str(source), "-o", str(cubin)]
        run = subprocess.run(command, capture_output=True, text=True)
        assert run.returncode == 0, run.stdout + run.stderr
        return Cubin(cubin.read_bytes())
