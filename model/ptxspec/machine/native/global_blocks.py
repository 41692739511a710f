"""How compiled code finds the block of global memory that an address lies in, and saves what it stores to."""

from __future__ import annotations

from functools import cache

from ptxspec.machine import hosts
from ptxspec.machine.blocks import COLUMNS, PAGE


def sites(ops: int) -> int:
    """How many sites of accesses there are in a kernel of so many instructions. Each remembers to which block its last access
    went. First come those of the instructions, then those of functions that make accesses of one kind for a thread."""
    return 2 * ops


#: LLVM text of `ptxspec_save(row, mark, address)`, which is called before a store to a block: see PAGE; and of
#: `ptxspec_save_all(row, mark, address, count)`, which is called before so many bytes are written. Of several threads of the host
#: one saves a page, and the others wait for it
SAVE = frozenset(
    {
        "declare i64 @llvm.umin.i64(i64, i64)",
        "declare i64 @llvm.umax.i64(i64, i64)",
        f"""define internal void @ptxspec_save(ptr %row, i64 %saved_mark, i64 %address) {{
  %base = load i64, ptr %row
  %marks_at = getelementptr i64, ptr %row, i64 4
  %marks = load ptr, ptr %marks_at
  %page = lshr i64 %address, {PAGE}
  %first = lshr i64 %base, {PAGE}
  %number = sub i64 %page, %first
  %mark = getelementptr i8, ptr %marks, i64 %number
  %state = load atomic i8, ptr %mark acquire, align 1
  %saved = trunc i64 %saved_mark to i8
  %is_saved = icmp eq i8 %state, %saved
  br i1 %is_saved, label %done, label %save
save:
  call void @ptxspec_save_page(ptr %row, ptr %mark, i8 %saved, i64 %page)
  br label %done
done:
  ret void
}}""",
        f"""define internal void @ptxspec_save_all(ptr %row, i64 %saved_mark, i64 %address, i64 %count) noinline {{
entry:
  %end = add i64 %address, %count
  %aligned = and i64 %address, {-(1 << PAGE)}
  br label %look
look:
  %at = phi i64 [%address, %entry], [%following, %look]
  %page = phi i64 [%aligned, %entry], [%following, %look]
  call void @ptxspec_save(ptr %row, i64 %saved_mark, i64 %at)
  %following = add i64 %page, {1 << PAGE}
  %more = icmp ult i64 %following, %end
  br i1 %more, label %look, label %done
done:
  ret void
}}""",
        f"""define internal void @ptxspec_save_page(ptr %row, ptr %mark, i8 %saved_mark, i64 %page) noinline cold {{
entry:
  %busy = add i8 %saved_mark, 1
  br label %look
look:
  %known = load atomic i8, ptr %mark acquire, align 1
  %done_before = icmp eq i8 %known, %saved_mark
  br i1 %done_before, label %done, label %missing
missing:
  %others = icmp eq i8 %known, %busy
  br i1 %others, label %look, label %trial
trial:
  %tried = cmpxchg ptr %mark, i8 %known, i8 %busy acquire acquire
  %own = extractvalue {{i8, i1}} %tried, 1
  br i1 %own, label %copy, label %look
copy:
  %base = load i64, ptr %row
  %size_at = getelementptr i64, ptr %row, i64 2
  %size = load i64, ptr %size_at
  %host_at = getelementptr i64, ptr %row, i64 3
  %host = load ptr, ptr %host_at
  %saved_at = getelementptr i64, ptr %row, i64 5
  %saved = load ptr, ptr %saved_at
  %begins = shl i64 %page, {PAGE}
  %begin = call i64 @llvm.umax.i64(i64 %begins, i64 %base)
  %ends = add i64 %begins, {1 << PAGE}
  %whole = add i64 %base, %size
  %end = call i64 @llvm.umin.i64(i64 %ends, i64 %whole)
  %offset = sub i64 %begin, %base
  %length = sub i64 %end, %begin
  %from = getelementptr i8, ptr %host, i64 %offset
  %to = getelementptr i8, ptr %saved, i64 %offset
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %length, i1 false)
  store atomic i8 %saved_mark, ptr %mark release, align 1
  br label %done
done:
  ret void
}}""",
    }
)


@cache
def search(checked: bool) -> str:
    """LLVM text of `ptxspec_block(record, rows, rows_bytes, address)`: the number of the last row that does not begin behind
    the address. Rows are in the order of their beginnings, and the first begins at zero."""
    cell = hosts.pointer(checked, "global_blocks", "%rows", "%middle", 8 * COLUMNS, 8, "%rows_bytes")
    return f"""define internal i64 @ptxspec_block(ptr %record, ptr %rows, i64 %rows_bytes, i64 %address) noinline cold {{
entry:
  %count = udiv i64 %rows_bytes, {8 * COLUMNS}
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
