"""Cases for tiles of matrices: products whose registers come from memory, and what moves tiles between registers and memory.

A form that differs from another only in what changes nothing has the same rows, so that our machine is asked once. Rows are not
stored, as with other matrices; of the answers those of few warps are kept whole, of the others a digest each.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from ptxspec import contracts
from ptxspec.evidence.kernels.instruction_modules import (
    module_around,
)
from ptxspec.language.forms import Form
from ptxspec.terms.types import TYPES, Type
from ptxspec_workshop.generate.cases import CELLS, STRIDE, Launch, entry, unlike
from ptxspec_workshop.generate.former_modules import module_for_ptxas
from ptxspec_workshop.generate.matrix_cases import (
    FLOATS,
    LANES,
    LAUNCHES,
    SEED,
    WARPS,
    abridged,
    asks,
    drawn_registers,
    moves,
    on_tiles,
    registers_of,
)

#: warps whose products are kept whole
WHOLE = 2
#: warps of the launch of what moves a tile, bytes that each has, and where in them the tile without a stride begins
MOVING, BYTES, BEHIND = 4, LANES * STRIDE, 3 * LANES * STRIDE // 4
SPACES = ("generic", "global", "shared")
#: by so many bytes, once or twice, rows or columns are apart that need not follow one another
GAP = 32


def _words(form: Form, without: Sequence[str]) -> str:
    """A form's name without some of its modifiers."""
    left_out = {str(form.modifiers[name]) for name in without if form.modifiers.get(name) is not None}
    return ".".join(w for w in form.mnemonic.split(".") if w not in left_out and w != "aligned")


def _rng(what: str) -> np.random.Generator:
    return np.random.default_rng([ord(c) for c in f"{SEED}:{what}"])


def _rows(rows: np.ndarray) -> np.ndarray:
    """Rows of words of 32 bits as those of `in`."""
    padded = np.zeros((len(rows), 2 * CELLS), np.uint32)
    padded[:, : rows.shape[1]] = rows
    return padded.view(np.uint64)


def _halves(values: np.ndarray, width: int) -> np.ndarray:
    """Values of 32 or of 64 bits as words of 32 bits, the low one first."""
    return values.astype(np.uint64).view(np.uint32) if width == 64 else values.astype(np.uint32)


def _operands(form: Form) -> dict[str, tuple[Type, ...]]:
    """The types of the registers of each operand in braces."""
    types = {"d": form.definition.elements("d", form.modifiers)} if form.destinations else {}
    return types | {i.name: i.types for i in form.meaning().inputs if i.types}


def _braces(name: str, types: Sequence[Type]) -> str:
    return "{" + ", ".join(f"%{name}{i}" for i in range(len(types))) + "}"


def _declared(operands: dict[str, tuple[Type, ...]]) -> str:
    return " ".join(f".reg .b{types[0].width} %{name}<{len(types)}>;" for name, types in operands.items())


def _entry(name: str, lines: Iterable[str]) -> str:
    """A kernel in which %in and %out are the thread's rows."""
    head = (
        ".reg .u64 %in, %out, %at;",
        ".reg .u32 %t;",
        "ld.param.u64 %in, [in];",
        "ld.param.u64 %out, [out];",
        "mov.u32 %t, %tid.x;",
        f"mul.wide.u32 %at, %t, {STRIDE};",
        "add.u64 %in, %in, %at;",
        "add.u64 %out, %out, %at;",
    )
    return entry(name, (*head, *lines, "ret;"))


# Products ----------------------------------------------------------------------------------------------------------------


def element_types(form: Form) -> dict[str, Type]:
    """The types of the elements of D, A, B and C; where two are named, they are those of D and C, and the others are .f16."""
    named = [TYPES[word] for word in form.mnemonic.split(".") if word in TYPES]
    d, *factors, c = named
    a, b = factors or [TYPES["f16"]] * 2
    return {"d": d, "a": a, "b": b, "c": c}


class ProductCase(NamedTuple):
    """A product, and the launches, each with so many warps."""

    form: Form
    counts: tuple[int, ...] = (WARPS,) * LAUNCHES

    @property
    def name(self) -> str:
        return str(self.form)

    @property
    def apart(self) -> Any:
        return module_for_ptxas(self.form)

    @property
    def alike(self) -> Any:
        return _words(self.form, ("alayout", "blayout")), self.counts

    @property
    def launches(self) -> list[Launch]:
        """Each warp has elements of one kind in A and B, and of another in C."""
        rng = _rng(self.alike[0])
        return [self._launch(rng, sum(self.counts[:i]), count) for i, count in enumerate(self.counts)]

    def _launch(self, rng: np.random.Generator, first: int, count: int) -> Launch:
        warps = []
        for kind in range(first, first + count):
            parts = []
            for operand, type in element_types(self.form).items():
                if operand != "d":
                    kind_of_operand = kind + kind // len(FLOATS) if operand == "c" else kind
                    drawn = drawn_registers(type, kind_of_operand, rng, registers_of(self.form, operand))
                    parts.append(_halves(drawn, type.width))
            warps.append(np.concatenate(parts, axis=1))
        return Launch(_rows(np.concatenate(warps)))

    def text(self, name: str) -> str:
        operands, lines, at = _operands(self.form), [], 0
        for operand in "abc":
            for i, type in enumerate(operands[operand]):
                lines.append(f"ld.global.b{type.width} %{operand}{i}, [%in+{at}];")
                at += type.width // 8
        lines.append(self.form.written({o: _braces(o, types) for o, types in operands.items()}))
        lines += [f"st.global.b{type.width} [%out+{8 * i}], %d{i};" for i, type in enumerate(operands["d"])]
        return _entry(name, (_declared(operands), *lines))

    def module(self, texts: Sequence[str]) -> str:
        return module_around(texts, *module_for_ptxas(self.form))

    def operands(self, row: int) -> tuple[int, ...]:
        """What a thread was given, two words in a number; for the row of a digest, the first thread of its warp."""
        cells = np.concatenate([launch.cells for launch in self.launches])
        thread = row if row < WHOLE * LANES else (WHOLE + row - WHOLE * LANES) * LANES
        return tuple(map(int, cells[thread]))

    def kept(self, outs: Sequence[np.ndarray]) -> np.ndarray:
        return abridged(_operands(self.form)["d"], outs, WHOLE)

    def differs(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return unlike(left, right)


# What moves tiles --------------------------------------------------------------------------------------------------------


class TileMoveCase(NamedTuple):
    """A form that loads or stores a tile. The kernel does it twice: with a stride, from the beginning of the warp's memory on,
    and without one behind that."""

    form: Form
    warps: int = MOVING

    @property
    def name(self) -> str:
        return str(self.form)

    @property
    def apart(self) -> Any:
        return module_for_ptxas(self.form)

    @property
    def stores(self) -> bool:
        return not self.form.destinations

    @property
    def alike(self) -> Any:
        return self.space if self.warps > 1 else None, _words(self.form, ("ss",)), self.warps

    @property
    def space(self) -> str:
        """The state space of the memory: a generic address falls into that of the CTA."""
        return str(self.form.modifiers.get("ss") or "generic").split("::")[0]

    @property
    def launches(self) -> list[Launch]:
        return [Launch(_rows(_rng(self.alike[1]).integers(0, 1 << 32, (self.warps * LANES, 2 * CELLS), np.uint32)))]

    def text(self, name: str) -> str:
        (types,) = _operands(self.form).values()
        size, last = types[0].width // 8, 8 * len(types)
        memory, lines = self._memory()
        if self.stores:
            lines += [f"ld.global.b{8 * size} %r{i}, [%in+{size * i}];" for i in range(len(types))]
        for which, stride in enumerate(("%stride", None)):
            written = self._written(f"[{memory}+{which * BEHIND}]", _braces("r", types), stride)
            lines.append(written)
            if not self.stores:
                lines += [f"st.global.b{8 * size} [%out+{8 * i + which * last}], %r{i};" for i in range(len(types))]
        return _entry(name, (_declared({"r": types}), *lines, *self._after()))

    def _written(self, address: str, registers: str, stride: str | None) -> str:
        texts = {"p": address, "d": registers, "r": registers} | ({"stride": stride} if stride else {})
        return self.form.written({o.name: texts[o.name] for o in self.form.syntax.operands if o.name in texts})

    def _memory(self) -> tuple[str, list[str]]:
        """The register with the address of the warp's memory, and what fills it."""
        page, modifiers = contracts.tiles, self.form.modifiers
        matrix, type = str(modifiers.get("matrix", "c")), modifiers["type"]
        usual = page.usual_stride(matrix, page.shape_of(str(modifiers["shape"])), str(modifiers["layout"]))
        gap = GAP * 8 // type.width
        lines = [
            ".reg .u64 %far, %cell; .reg .u32 %near, %own, %stride;",
            f".shared .align 128 .b8 memory[{MOVING * BYTES}];",
            "shr.u32 %own, %t, 5;",
            "and.b32 %stride, %own, 1;",
            f"mad.lo.u32 %stride, %stride, {gap}, {usual + gap};",
            f"mul.wide.u32 %far, %own, {BYTES};",
        ]
        if self.space == "global":
            base = "out" if self.stores else "in"
            return "%far", [*lines, f"ld.param.u64 %at, [{base}];", "add.u64 %far, %far, %at;"]
        value = "ld.global.b64 %cell, [%{}+{}];".format("out" if self.stores else "in", "{}")
        lines += [
            "mov.u32 %near, memory;",
            f"mad.lo.u32 %own, %own, {BYTES}, %near;",
            f"mad.lo.u32 %near, %t, {STRIDE}, %near;",
        ]
        for at in range(0, STRIDE, 8):
            lines += [value.format(at), f"st.shared.b64 [%near+{at}], %cell;"]
        lines += ["bar.sync 0;", "cvt.u64.u32 %far, %own;", "cvta.shared.u64 %far, %far;"]
        return ("%own" if self.space == "shared" else "%far"), lines

    def _after(self) -> list[str]:
        """What brings the CTA's memory to the rows of `out`."""
        if not self.stores or self.space == "global":
            return []
        lines = ["bar.sync 0;"]
        for at in range(0, STRIDE, 8):
            lines += [f"ld.shared.b64 %cell, [%near+{at}];", f"st.global.b64 [%out+{at}], %cell;"]
        return lines

    def module(self, texts: Sequence[str]) -> str:
        return module_around(texts, *module_for_ptxas(self.form))

    def operands(self, row: int) -> tuple[int, ...]:
        (launch,) = self.launches
        return tuple(map(int, launch.cells[row]))

    def kept(self, outs: Sequence[np.ndarray]) -> np.ndarray:
        """The registers after either load, or the warps' memory; of one warp whole where the form names no space."""
        (types,) = _operands(self.form).values()
        left = [TYPES["b64"]] * CELLS if self.stores else [*types, *types]
        return abridged(left, outs, 0 if self.form.modifiers.get("ss") else 1)

    def differs(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return unlike(left, right)


def cases(forms: Iterable[Form]) -> list[ProductCase | TileMoveCase]:
    """The cases of some forms."""
    result: list[ProductCase | TileMoveCase] = []
    for form in forms:
        if asks(form) and on_tiles(form):
            result.append(TileMoveCase(form) if moves(form) else ProductCase(form))
    return result


def small(forms: Iterable[Form]) -> list[ProductCase | TileMoveCase]:
    """A case of one warp for each form. Tiles in several state spaces are alike here, and each is tried in one of these, in
    turn: accesses to all of them are compared as those of other instructions."""
    result: list[ProductCase | TileMoveCase] = []
    for case in cases(forms):
        if isinstance(case, ProductCase):
            result.append(case._replace(counts=(1,)))
        else:
            own_turn = case.space == SPACES[crc32(str(case.alike[1]).encode()) % len(SPACES)]
            result.insert(0 if own_turn else len(result), case._replace(warps=1))
    return result
