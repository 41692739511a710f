"""How compiled code finds the piece of the caller's memory that an address lies in, and saves what it stores to."""

from __future__ import annotations

from functools import cache

from ptxspec.machine import hosts
from ptxspec.machine.owned import BLOCK, BUSY, COLUMNS, KEPT

__all__ = ["COLUMNS", "KEEP", "search"]

#: LLVM text of `ptxspec_keep(row, address)`, which is called before a store to a piece: see BLOCK; and of `ptxspec_keep_all(row,
#: address, count)`, which is called before so many bytes are written. Of several threads of the host
#: one saves a block, and the others wait for it
KEEP = frozenset(
    {
        "declare i64 @llvm.umin.i64(i64, i64)",
        "declare i64 @llvm.umax.i64(i64, i64)",
        f"""define internal void @ptxspec_keep(ptr %row, i64 %address) {{
  %base = load i64, ptr %row
  %marks_at = getelementptr i64, ptr %row, i64 4
  %marks = load ptr, ptr %marks_at
  %block = lshr i64 %address, {BLOCK}
  %first = lshr i64 %base, {BLOCK}
  %number = sub i64 %block, %first
  %mark = getelementptr i8, ptr %marks, i64 %number
  %state = load atomic i8, ptr %mark acquire, align 1
  %kept = icmp eq i8 %state, {KEPT}
  br i1 %kept, label %done, label %save
save:
  call void @ptxspec_save(ptr %row, ptr %mark, i64 %block)
  br label %done
done:
  ret void
}}""",
        f"""define internal void @ptxspec_keep_all(ptr %row, i64 %address, i64 %count) noinline {{
entry:
  %end = add i64 %address, %count
  %aligned = and i64 %address, {-(1 << BLOCK)}
  br label %look
look:
  %at = phi i64 [%address, %entry], [%following, %look]
  %block = phi i64 [%aligned, %entry], [%following, %look]
  call void @ptxspec_keep(ptr %row, i64 %at)
  %following = add i64 %block, {1 << BLOCK}
  %more = icmp ult i64 %following, %end
  br i1 %more, label %look, label %done
done:
  ret void
}}""",
        f"""define internal void @ptxspec_save(ptr %row, ptr %mark, i64 %block) noinline cold {{
entry:
  %tried = cmpxchg ptr %mark, i8 0, i8 {BUSY} acquire acquire
  %own = extractvalue {{i8, i1}} %tried, 1
  br i1 %own, label %copy, label %wait
copy:
  %base = load i64, ptr %row
  %size_at = getelementptr i64, ptr %row, i64 2
  %size = load i64, ptr %size_at
  %host_at = getelementptr i64, ptr %row, i64 3
  %host = load ptr, ptr %host_at
  %saved_at = getelementptr i64, ptr %row, i64 5
  %saved = load ptr, ptr %saved_at
  %begins = shl i64 %block, {BLOCK}
  %begin = call i64 @llvm.umax.i64(i64 %begins, i64 %base)
  %ends = add i64 %begins, {1 << BLOCK}
  %whole = add i64 %base, %size
  %end = call i64 @llvm.umin.i64(i64 %ends, i64 %whole)
  %offset = sub i64 %begin, %base
  %length = sub i64 %end, %begin
  %from = getelementptr i8, ptr %host, i64 %offset
  %to = getelementptr i8, ptr %saved, i64 %offset
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %length, i1 false)
  store atomic i8 {KEPT}, ptr %mark release, align 1
  ret void
wait:
  %state = load atomic i8, ptr %mark acquire, align 1
  %kept = icmp eq i8 %state, {KEPT}
  br i1 %kept, label %done, label %wait
done:
  ret void
}}""",
    }
)


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
