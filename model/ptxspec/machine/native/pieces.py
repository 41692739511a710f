"""How compiled code finds the piece of the caller's memory that an address lies in."""

from __future__ import annotations

from functools import cache

from ptxspec.machine import hosts
from ptxspec.machine.owned import COLUMNS

__all__ = ["COLUMNS", "search"]


@cache
def search(checked: bool) -> str:
    """LLVM text of `ptxspec_piece(record, owned, owned_bytes, address)`: the number of the last row that does not begin behind
    the address. Rows are in the order of their beginnings, and the first begins at zero."""
    cell = hosts.pointer(checked, "owned", "%owned", "%middle", 8 * COLUMNS, 8, "%owned_bytes")
    return f"""define internal i64 @ptxspec_piece(ptr %record, ptr %owned, i64 %owned_bytes, i64 %address) {{
entry:
  %count = udiv i64 %owned_bytes, {8 * COLUMNS}
  br label %look
look:
  %low = phi i64 [0, %entry], [%found, %look]
  %left = phi i64 [%count, %entry], [%rest, %look]
  %half = lshr i64 %left, 1
  %middle = add i64 %low, %half
  %cell = {cell}
  %begins = load i64, ptr %cell
  %behind = icmp ule i64 %begins, %address
  %found = select i1 %behind, i64 %middle, i64 %low
  %rest = sub i64 %left, %half
  %more = icmp ugt i64 %rest, 1
  br i1 %more, label %look, label %out
out:
  ret i64 %found
}}"""
