"""PTX for the columns of a litmus test: each cell as an instruction, each thread as an entry of a module that is checked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ptxspec import contracts
from ptxspec.base.escaping import printable
from ptxspec.language.check import check
from ptxspec.language.checked import Checked
from ptxspec.language.diagnostics import PtxError, Source
from ptxspec.language.parser import ended, parse_fragment
from ptxspec.query.litmus.programs import WARP
from ptxspec.query.litmus.reading import Cell, LitmusError, LitmusTest, values_in
from ptxspec.query.litmus.threads import FACTOR_MARK, ORDER_MARK, PROXY_MARK
from ptxspec.query.register_types import register_types
from ptxspec.terms.orders import Proxy
from ptxspec.terms.types import TYPES, Type

#: the target of the module, which has all that a cell may say
TARGET = "sm_90a"
_LABEL = re.compile(r"([A-Za-z_$%][\w$]*)\s*:\s*")
_IN_BRACES = re.compile(r"[{,]\s*([A-Za-z_$%][\w$]*)(?=\s*[,}])")
_END = re.compile(r"(@!?[A-Za-z_$%][\w$]*\s+)?(?:exit|ret)\b")
_GUARD = re.compile(r"@!?[A-Za-z_$%][\w$]*\s+")
_JUMPS = {"beq": "eq", "bne": "ne", "bge": "ge", "ble": "le", "bgt": "gt", "blt": "lt"}
#: what may stand for st and ld in accesses by the proxy of a variable
_STORES, _LOADS = ("st", "sust"), ("ld", "suld", "tld", "cold")
_OF_PROXY = {"sust": Proxy.SURFACE, "suld": Proxy.SURFACE, "tld": Proxy.TEXTURE, "cold": Proxy.CONSTANT}
_TYPE_OF = {"add": "u", "min": "u", "max": "u", "inc": "u", "dec": "u"}
_PLAIN = {"add": "add.u", "sub": "sub.u", "mul": "mul.lo.u", "div": "div.u", "rem": "rem.u", "and": "and.b", "or": "or.b",
          "xor": "xor.b", "min": "min.u", "max": "max.u", "mov": "mov.b"}  # fmt: skip
#: the register that a conditional branch of a test uses, and that of a product; further registers of a product, and what is read
#: of its registers in the end
_CONDITION, _SUM, _LEFT = "%litmus_condition", "%litmus_sum", "%litmus_left"
#: fences that only a litmus test has: for the proxies for which PTX has none
_PROXY_FENCES = {
    "fence.proxy.constant": Proxy.CONSTANT,
    "fence.proxy.texture": Proxy.TEXTURE,
    "fence.proxy.surface": Proxy.SURFACE,
}


def module_of(test: LitmusTest) -> Checked:
    """The module, checked. Raises LitmusError."""
    version = ".".join(map(str, max(contracts.directives.VERSIONS.items())))
    texts, lines = [f".version {version}", f".target {TARGET}", ".address_size 64"], [1, 1, 1]
    for name, (space, type) in test.types.items():
        is_map, size = bool(test.variables[name].map_of), test.variables[name].size
        texts.append(f".{space} .align 64 .b8 {name}[{size}];" if is_map else f".{space} .align 16 .{type} {name};")
        lines.append(1)
    for thread, (registers, written) in enumerate(bodies_of(test)):
        texts.append(f".visible .entry P{thread}() {{")
        lines.append(1)
        for name, register in registers.items():
            texts.append(f".reg .{register.name.removeprefix('.')} {name};")
            lines.append(1)
        for line, cell in written:
            texts.append(line)
            lines.append(cell.line)
        texts.append("}")
        lines.append(written[-1][1].line if written else 1)
    text = "\n".join(texts) + "\n"
    try:
        return check(text, test.path)
    except PtxError as error:
        raise _located(test, error, lines) from None


class ThreadBody(NamedTuple):
    """What a thread of a test executes, as PTX: the types of its registers, and its lines with the cells that they are from.
    Variables stand for their addresses."""

    registers: dict[str, Type]
    lines: list[tuple[str, Cell]]


def bodies_of(test: LitmusTest) -> list[ThreadBody]:
    """What each thread executes. Raises LitmusError."""
    bodies: list[ThreadBody] = []
    for column in test.columns:
        written = [(line, cell) for cell in column for line in _Writer(test, cell).lines()]
        written = list(_with_ends(written, _left_by(test, len(bodies), written)))
        bodies.append(ThreadBody(_types(test, written), written))
    return bodies


def _left_by(test: LitmusTest, thread: int, written: list[tuple[str, Cell]]) -> list[str]:
    """The registers of a thread that products write and the condition asks about: they are read where the thread ends."""
    asked = [value[2] for value in values_in(test.condition) if value[:2] == ("register", thread)]  # type: ignore[index]
    products = [line for line, _ in written if FACTOR_MARK in line]
    return [name for name in asked if any(f"{{{name}, " in line for line in products)]


def _with_ends(written: list[tuple[str, Cell]], left: list[str]) -> Iterator[tuple[str, Cell]]:
    """The lines of a thread, with reads of these registers wherever it ends."""
    for line, cell in written:
        if (ends := _END.match(line)) is not None:
            yield from ((f"{ends[1] or ''}mov.b32 {_LEFT}, {name};", cell) for name in left)
        yield line, cell
    yield from ((f"mov.b32 {_LEFT}, {name};", written[-1][1]) for name in left)


def _located(test: LitmusTest, error: PtxError, lines: list[int]) -> LitmusError:
    """An error of the module, as one of the test."""
    first = error.diagnostics[0]
    line = lines[min(max(first.line, 1), len(lines)) - 1]
    return LitmusError(test.path, line, first.message)


def _types(test: LitmusTest, written: list[tuple[str, Cell]]) -> dict[str, Type]:
    """The types of a thread's registers."""
    if not written:
        return {}
    source = Source(ended("\n".join(line for line, _ in written)), test.path)
    try:
        _, items = parse_fragment(source)
        of_products = [name for line, _ in written if FACTOR_MARK in line for name in _IN_BRACES.findall(line)]
        given = dict.fromkeys(of_products, TYPES["b32"]) | {_CONDITION: TYPES["pred"]}
        types = register_types(items, source, given, {})
    except PtxError as error:
        raise _located(test, error, [cell.line for _, cell in written]) from None
    return {name: type for name, type in types.items() if name not in test.variables}


class _Writer:
    """Writes one cell as PTX."""

    def __init__(self, test: LitmusTest, cell: Cell):
        self.test, self.cell = test, cell

    def error(self, message: str) -> LitmusError:
        return LitmusError(self.test.path, self.cell.line, message)

    def lines(self) -> list[str]:
        text, lines = self.cell.text, []
        while (label := _LABEL.match(text)) is not None:
            lines.append(f"{label[1]}:")
            text = text[label.end() :]
        if text:
            lines += self._instruction(text)
        return lines

    def _instruction(self, text: str) -> list[str]:
        guard = _GUARD.match(text)
        if guard is not None:
            *before, guarded = self._instruction(text[guard.end() :])
            if before:
                raise self.error("a conditional branch of a test has no guard")
            return [f"{guard[0]}{guarded}"]
        opcode, _, rest = text.partition(" ")
        base, _, modifiers = opcode.partition(".")
        operands = [part.strip() for part in rest.split(",")] if rest.strip() else []
        if base in _JUMPS and not modifiers:
            return self._jump(_JUMPS[base], operands)
        if base == "goto":
            return [f"bra {rest.strip()};"]
        if opcode in _PROXY_FENCES:
            return [f"fence.proxy.alias; {PROXY_MARK}{_PROXY_FENCES[opcode].value}"]
        if base == "wgmma":
            return self._of_products(opcode, rest, operands)
        if "[" in rest:
            return [f"{text};"]
        if base in _PLAIN and not modifiers:
            if len(operands) != (2 if base == "mov" else 3):
                raise self.error(f"{base} has {2 if base == 'mov' else 3} operands, not {len(operands)}")
            return [f"{_PLAIN[base]}32 {', '.join(operands)};"]
        if base == "ld" and not modifiers and len(operands) == 2 and operands[1] not in self.test.variables:
            return [f"mov.b32 {operands[0]}, {operands[1]};"]
        if base in _LOADS or base in _STORES:
            return [self._access(base, modifiers, operands)]
        if base in ("atom", "red"):
            return [self._atomic(base, modifiers, operands)]
        if base == "bar" and len(operands) == 2 and operands[1].isdigit():
            return [f"{opcode} {operands[0]}, {int(operands[1]) * WARP};"]
        return [f"{text};"]

    def _of_products(self, opcode: str, rest: str, operands: list[str]) -> list[str]:
        """An instruction about products of warpgroups, of which a product has a form that names the variable it reads."""
        if not opcode.startswith("wgmma.mma_async"):
            return [f"{opcode.removesuffix('.sync.aligned')}.sync.aligned {rest.strip()};"]
        if opcode != "wgmma.mma_async" or len(operands) != 2 or operands[1] not in self.test.types:
            raise self.error("a product of a test has a register and the variable that it reads: wgmma.mma_async r0, x")
        product, matrices = "wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16", f"0, 0, {_CONDITION}, 1, 1, 0, 0"
        return [f"{product} {{{operands[0]}, {_SUM}}}, {matrices}; {FACTOR_MARK}{operands[1]}"]

    def _jump(self, comparison: str, operands: list[str]) -> list[str]:
        if len(operands) != 3:
            raise self.error("a conditional branch has two values and a label: bne r0, 1, L")
        return [
            f"setp.{comparison}.s32 {_CONDITION}, {operands[0]}, {operands[1]};",
            f"@{_CONDITION} bra {operands[2]};",
        ]

    def _variable(self, name: str) -> tuple[str, str]:
        """The state space and the type of a variable."""
        if name not in self.test.types:
            raise self.error(f"{printable(name)} is no variable of the test")
        return self.test.types[name]

    def _access(self, base: str, modifiers: str, operands: list[str]) -> str:
        if len(operands) != 2:
            raise self.error(f"{base} has two operands")
        name, other = operands if base in _STORES else reversed(operands)
        space, type = self._variable(name)
        proxy = _OF_PROXY.get(base, Proxy.GENERIC)
        if self.test.variables[name].proxy is not proxy:
            has = self.test.variables[name].proxy.value
            raise self.error(f"{base} does not access {name}, whose proxy is {has}")
        opcode = "st" if base in _STORES else "ld"
        modifiers = (
            modifiers.replace("mmio", "mmio.relaxed")
            if "mmio" in modifiers and "relaxed" not in modifiers
            else modifiers
        )
        dotted = f".{modifiers}" if modifiers else ""
        suffix = f"{dotted}.{space}.{type}"
        return f"st{suffix} [{name}], {other};" if opcode == "st" else f"ld{suffix} {other}, [{name}];"

    def _atomic(self, base: str, modifiers: str, operands: list[str]) -> str:
        *words, operation = modifiers.split(".")
        given = 1 if base == "atom" else 0
        if len(operands) < given + 2:
            raise self.error(f"{base}.{modifiers} has too few operands")
        destination, name, values = operands[:given], operands[given], operands[given + 1 :]
        space, type = self._variable(name)
        if operation == "sub":
            operation, values = "add", [self._negated(values[0])]
        kind = _TYPE_OF.get(operation, "b") + type[1:]
        opcode = ".".join([base, *words, space, operation, kind])
        text = f"{opcode} {', '.join([*destination, f'[{name}]', *values])};"
        return (
            text.replace("acq_rel", "release") + f" {ORDER_MARK}acq_rel"
            if base == "red" and "acq_rel" in words
            else text
        )

    def _negated(self, value: str) -> str:
        if not re.fullmatch(r"\d+", value):
            raise self.error("PTX subtracts from memory by adding: what sub takes has to be a number here")
        return f"-{value}"
