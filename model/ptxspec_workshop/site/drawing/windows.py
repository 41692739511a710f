"""The drawing of generic addresses: which of them fall into which state space's window."""

from __future__ import annotations

from typing import NamedTuple

from ptxspec import contracts
from ptxspec.terms.core import constant
from ptxspec.terms.exact import evaluate
from ptxspec_workshop.site.drawing.asked import Asked
from ptxspec_workshop.site.drawing.canvas import CODE_LETTER, LINE, MARGIN, ROW, Canvas, hue
from ptxspec_workshop.site.drawing.panel import Panel

#: how closely addresses are looked at, in bytes
STEP = 1 << 19


class Stretch(NamedTuple):
    """Neighbouring addresses that fall into the window of one space: the first, and the one behind the last."""

    space: str
    first: int
    end: int


def space_of(address: int) -> str:
    """The space whose window a generic address falls into. Raises ValueError unless there is just one."""
    page = contracts.generic_addressing
    where = constant(address)
    found = [s for s in (*page.WINDOWS, "global") if evaluate(page.within(page.reached_in(s), where), {})]
    if len(found) != 1:
        raise ValueError(f"the generic address {address:#x} falls into {len(found)} windows")
    return found[0]


def stretches(last: int) -> list[Stretch]:
    """The addresses from 0 up to `last`, exclusive, by the space whose window they fall into, as the page says.

    Raises ValueError if a window begins or ends at no multiple of STEP.
    """
    found: list[Stretch] = []
    for address in range(0, last, STEP):
        space = space_of(address)
        if space_of(address + STEP - 1) != space:
            raise ValueError(f"a window ends between {address:#x} and {address + STEP:#x}")
        if found and found[-1].space == space:
            found[-1] = found[-1]._replace(end=address + STEP)
        else:
            found.append(Stretch(space, address, address + STEP))
    return found


def drawn(wanted: Asked) -> list[Panel]:
    """The windows from the least address up to the first word of global memory: addresses at the left, spaces at the right, and
    what an address of each space becomes by adding the window's base. The page gives an `address` in a space."""
    page, address = contracts.generic_addressing, int(wanted.one("address"))
    canvas = Canvas()
    left, width = MARGIN + 11 * CODE_LETTER, 74.0
    own = stretches(page.GLOBAL_BASE + STEP)
    said = []
    for number, one in enumerate(own):
        inside = one.space != "global"
        height = ROW * 1.5
        canvas.box(left, canvas.y, width, height, f"cell {hue(number)}" if inside else "fixed")
        canvas.box(left, canvas.y, width, height)
        canvas.words(left - 5, canvas.y + 11, f"{one.first:#010x}", "code", "end")
        canvas.words(left + width / 2, canvas.y + height / 2 + 4, one.space, "name")
        if inside:
            generic = page.base(one.space) + address
            canvas.words(left + width + 8, canvas.y + 12, f"[{address:#x}] in .{one.space}", "", "start")
            canvas.words(left + width + 8, canvas.y + 25, f"is {generic:#x}", "code", "start")
            if space_of(generic) != one.space:
                raise ValueError(f"{address:#x} does not lie in the window of {one.space}")
        said.append(f"from {one.first:#x} on {one.space}")
        canvas.y += height
    canvas.words(left + width / 2, canvas.y + 12, "⋮")
    canvas.y += LINE
    return [Panel("", canvas.svg("Windows among the generic addresses", f"Addresses: {', '.join(said)}."))]
