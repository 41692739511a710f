"""What a thread does to memory, as a rewrite sees it: operations that are not yet part of an execution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ptxspec import contracts
from ptxspec.machine.whole_kernels import linked
from ptxspec.query.litmus.reading import read
from ptxspec.query.litmus.threads import ThreadOperation, ThreadWalk
from ptxspec.query.litmus.writing import module_of
from ptxspec.query.outcomes import Unsupported
from ptxspec.terms.core import Int, constant
from ptxspec.terms.operations import ByteRange, Operation, OperationKind, ThreadPlace
from ptxspec.terms.orders import Order, Proxy, Scope


class RewriteStep(NamedTuple):
    """An operation: its kind, order and scope, and the location that it accesses, "" for a fence, with its size in bytes. `reads`
    names what it reads, `writes` is the term that it writes."""

    kind: OperationKind
    order: Order | None = None
    scope: Scope | None = None
    location: str = ""
    size: int = 4
    reads: str = ""
    writes: Int | None = None

    @property
    def shape(self) -> RewriteStep:
        """The same, whatever is read and written."""
        return self._replace(reads="", writes=None)

    def operation(self, thread: int, place: ThreadPlace, position: int) -> Operation:
        """The step as the operation of a thread."""
        here = ByteRange(self.location, 0, self.size) if self.location else None
        return Operation(self.kind, thread, place, position, "", self.order, self.scope, address=here, location=here)

    @property
    def does_write(self) -> bool:
        return bool(contracts.operations.writes(self.operation(0, ThreadPlace(0, 0, 0), 0)))

    @property
    def words(self) -> str:
        """The step in words: `release write of x`."""
        order = "" if self.order is None else f"{self.order.value}"
        scope = "" if self.scope is None else f".{self.scope.value}"
        return f"{order}{scope} {self.kind.value}{f' of {self.location}' if self.location else ''}"


class Line(NamedTuple):
    """What a thread does from its beginning to its end: the cells of a litmus test, the steps that they are, and what registers
    hold in the end: terms over what is read."""

    cells: tuple[str, ...]
    steps: tuple[RewriteStep, ...]
    registers: Mapping[str, Any]


def heading(sizes: Mapping[str, int], registers: Mapping[str, int]) -> str:
    """What memory and the registers of the first thread hold at first, in a litmus test."""
    memory = [f".b{8 * size} {name} = 0;" for name, size in sorted(sizes.items())]
    return " ".join([*memory, *(f"P0:{name} = {value};" for name, value in registers.items())])


def line_of(cells: Sequence[str], sizes: Mapping[str, int] = {}, registers: Mapping[str, int] = {}) -> Line:
    """The steps of a thread that is written as the cells of a litmus test, with the sizes of locations in bytes and what
    registers hold at first. Raises Unsupported for one that has more than one path, accesses vectors or by other proxies, or
    does something beside accesses and fences; and LitmusError."""
    rows = "\n".join(f" {cell} ;" for cell in cells)
    test = read(f"PTX steps\n{{ {heading(sizes, registers)} }}\n P0@cta 0,gpu 0 ;\n{rows}\nexists (0 == 0)")
    addresses = {name: _FIRST + i * _APART for i, name in enumerate(test.variables)}
    first = {name: constant(value) for (_, name), value in test.registers.items()}
    module = module_of(test)
    walk = ThreadWalk(module, linked(module, "P0"), (0, test.places[0]), test.variables, addresses, 0)
    paths = walk.paths(first)
    if len(paths) != 1:
        raise Unsupported("a rewrite of a thread that has more than one path")
    operations = paths[0].operations
    if len({noted.operation.position for noted in operations}) < len(operations):
        raise Unsupported("a rewrite of an access to a vector")
    return Line(tuple(cells), tuple(map(_step, operations)), paths[0].registers)


#: where the variables of a thread lie
_FIRST, _APART = 1 << 32, 1 << 20
KINDS = (
    OperationKind.READ, OperationKind.WRITE, OperationKind.ATOMIC, OperationKind.REDUCTION, OperationKind.FENCE,
)  # fmt: skip


def _step(noted: ThreadOperation) -> RewriteStep:
    operation, here = noted.operation, noted.operation.location
    if operation.kind not in KINDS or operation.proxy is not Proxy.GENERIC:
        raise Unsupported(f"{operation.text} is neither an access by the generic proxy nor a fence of memory")
    location, size = ("", 4) if here is None else (here.object if here.offset == 0 else "", here.size)
    if here is not None and (not location or operation.address != here):
        raise Unsupported(f"{operation.text} accesses a part of a location, or an alias")
    return RewriteStep(operation.kind, operation.order, operation.scope, location, size, noted.reads, noted.writes)
