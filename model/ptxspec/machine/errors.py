"""What ends a launch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ptxspec.base.escaping import printable, shortened
from ptxspec.language.diagnostics import MOST_SAID, see
from ptxspec.language.forms import page_name, registry
from ptxspec.terms.registries import RULES, Rule

if TYPE_CHECKING:
    from ptxspec.machine.findings import LaunchFinding


class RacingAccess(NamedTuple):
    """The instruction that an access races with: the resident thread that executed it, and its index."""

    thread: int
    op: int


class Violation(Exception):
    """A rule was broken by an access; raised by the memory, completed by the launch. `other` is what the access races with, if
    it does. `nowhere` says that it has no address: it is one to a register, which the note names."""

    def __init__(self, rule: str, note: str, other: RacingAccess | None = None, nowhere: bool = False):
        super().__init__(note)
        self.rule, self.note, self.other, self.nowhere = rule, note, other, nowhere

    def __reduce__(self) -> tuple[Any, ...]:
        return self.__class__, (self.rule, self.note, self.other, self.nowhere)


def in_bytes(count: int) -> str:
    """A number of bytes in words."""
    return f"{count} byte{'' if count == 1 else 's'}"


def beside(before: int, behind: int) -> str:
    """Where an access lies that begins so many bytes before the first byte of something, or so many behind its last byte."""
    if behind >= 0:
        return f"{in_bytes(behind)} past the end" if behind else "directly past the end"
    return f"{in_bytes(before)} before the beginning" if before > 0 else "across the end"


class Where(NamedTuple):
    """The thread and the instruction that broke a rule. `thread` is its %tid and `cta` its %ctaid, both (x, y, z); `path`, `line`
    and `column` locate the instruction, and lines and columns count from 1. `origin` is the file and the line that it was
    compiled from, if `.loc` states them (manual: 11.5.4). `registers` has the bits of the registers that the instruction reads,
    if it is an access to memory.

    >>> where = ptxspec.Where((31, 0, 0), (2, 0, 0), "k.ptx", 12, "st.global.u32 [a], 1;")
    >>> f"{where.path}:{where.line}, thread {where.thread[0]}"
    'k.ptx:12, thread 31'
    """

    thread: tuple[int, int, int]
    cta: tuple[int, int, int]
    path: str
    line: int
    instruction: str
    column: int = 1
    origin: tuple[str, int] | None = None
    registers: dict[str, int] = {}


class LaunchError(Exception):
    """A launch that broke a rule or exceeded a limit. The caller's arrays are as they were before the launch.

    `rule` names the rule: "misaligned", "out of bounds", "read only", "use after end", "stuck barrier", "step limit", "no choice"
    (a result is needed that PTX leaves open and the profile does not choose) and others. `note` says what happened. `where` is
    the thread and its instruction, or None if no single thread is at fault. `address` is the address accessed, or None. `page` is
    the document and the line that state the rule. If two instructions race, `other` is the earlier one. `schedule` has the
    choices up to there of a launch that chose whose turn it was. `findings` has what the checks of the launch found, and
    `findings_omitted` says how many more there were.

    >>> module = ptxspec.load('''.version 8.0 .target sm_80 .address_size 64
    ... .visible .entry k(.param .u64 p) { .reg .b64 a; ld.param.u64 a, [p];
    ...     st.global.u32 [a+2], 1; ret; }''', "k.ptx")
    >>> try:
    ...     module.launch("k", args=[np.zeros(4, np.uint32)])
    ... except ptxspec.LaunchError as error:
    ...     print(error.rule, error.where.line, error.where.instruction, error.address % 4)
    misaligned 3 st.global.u32 [a+2], 1; 2
    """

    def __init__(
        self,
        rule: str,
        note: str,
        where: Where | None = None,
        address: int | None = None,
        page: str | None = None,
        other: Where | None = None,
    ):
        stated = _stated(rule)
        if stated is not None:
            page = _page(stated)
        lines = [f"{printable(rule)}: {printable(note, chr(10))}"]
        if where is not None:
            lines += told(where)
        if address is not None:
            lines.append(f"  address {address:#x}")
        if other is not None:
            lines += ["  after", *told(other)]
        if stated is not None:
            lines.append(f"  the rule: {stated.sentence}")
        if page:
            lines.append(f"  {see(page)}")
        super().__init__("\n".join(lines))
        self.rule, self.note, self.where, self.address, self.page = rule, note, where, address, page
        self.other = other
        self.schedule: tuple[int, ...] | None = None
        self.findings: tuple[LaunchFinding, ...] = ()
        self.findings_omitted = 0

    def __reduce__(self) -> tuple[Any, ...]:
        given = self.rule, self.note, self.where, self.address, self.page, self.other
        return self.__class__, given, {
            "schedule": self.schedule, "findings": self.findings, "findings_omitted": self.findings_omitted,
        }  # fmt: skip


class EngineFault(Exception):
    """The native engine found that its own data are wrong, and stopped: a mistake of ptxspec's, not of the program's, and worth
    a report. The caller's arrays are as they were before the launch."""

    def __init__(self, note: str):
        super().__init__(f"internal error of the native engine: {note}")


def told(where: Where) -> list[str]:
    """Lines that tell a thread and an instruction."""
    instruction = printable(shortened(where.instruction, MOST_SAID))
    place = f"{printable(where.path)}:{where.line}"
    if where.origin is not None:
        path, line = where.origin
        place = f"{printable(path)}:{line} ({place})"
    lines = [f"  thread {_shown(where.thread)} of CTA {_shown(where.cta)}", f"  at {place}: {instruction}"]
    if where.registers:
        lines.append("  with " + ", ".join(f"{printable(name)} = {bits:#x}" for name, bits in where.registers.items()))
    return lines


def _shown(coordinates: tuple[int, int, int]) -> str:
    return "({}, {}, {})".format(*coordinates)


def page_of(rule: str) -> str:
    """The document and the line that state a rule."""
    stated = _stated(rule)
    assert stated is not None, f"no page states the rule {rule!r}"
    return _page(stated)


def _page(rule: Rule) -> str:
    return f"{page_name(rule.path)}:{rule.line}"


def _stated(rule: str) -> Rule | None:
    """The rule as a page states it, which may not be loaded yet; None for what no page calls a rule."""
    if rule not in RULES:
        _ = registry().pages
    return RULES.get(rule)
