"""The lists of threads that stand at a block, have ended, or wait."""

from __future__ import annotations

from ptxspec.machine.native.text import FunctionText


class Lists:
    """Puts the thread into one of them."""

    def __init__(self, text: FunctionText):
        self.text = text

    def append(self, which: str) -> None:
        """Put the thread at the end of a list of those that stand at a block, have ended, or wait."""
        text, e = self.text, self.text.emitter
        cell = text.at("counts", which, 8)
        standing = f"%{text.label('standing')}"
        text.lines.append(
            f"  {standing} = load i64, ptr {cell}\n  {standing}x = add i64 {standing}, 1\n"
            f"  store i64 {standing}x, ptr {cell}"
        )
        start = e.binary("mul", which, str(text.layout.capacity), 64)
        slot = text.at("lists", e.binary("add", start, standing, 64), 4)
        number = f"%{text.label('own')}"
        text.lines.append(f"  {number} = trunc i64 %thread to i32\n  store i32 {number}, ptr {slot}")
        if text.program.clustered:
            self._count_ended(which)

    def _count_ended(self, which: str) -> None:
        """Count the thread among those of its CTA that have ended, if that is where it goes."""
        text = self.text
        ended = str(len(text.flow.blocks))
        if which.isdigit() and which != ended:
            return
        cell = text.at("gone", "%slot", 8)
        name = f"%ended{len(text.lines)}"
        text.lines.append(
            f"  {name} = load i64, ptr {cell}\n"
            f"  {name}is = icmp eq i64 {which}, {ended}\n  {name}one = zext i1 {name}is to i64\n"
            f"  {name}more = add i64 {name}, {name}one\n  store i64 {name}more, ptr {cell}"
        )
