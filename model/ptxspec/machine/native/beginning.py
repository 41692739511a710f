"""The function that makes a batch ready: registers and memory as they begin, and what special registers say."""

from __future__ import annotations

from functools import cache

from ptxspec.machine import hosts
from ptxspec.machine.call_graph import BEGINS, ENDS
from ptxspec.machine.driver.codes import FILLS
from ptxspec.machine.driver.places import LANES
from ptxspec.machine.memory import is_of_threads
from ptxspec.machine.native.context import FIELD, bits_of, field_text
from ptxspec.machine.native.layout import STEPS_HOLD, STEPS_NOTED, Layout
from ptxspec.machine.native.registers import IN_ROWS
from ptxspec.machine.native.warp_registers import steps_of
from ptxspec.machine.special import FACTS, INDEX, PLACE, meaning, variables_of
from ptxspec.terms.lowering import Lowering
from ptxspec.terms.native import Emitter
from ptxspec.terms.vectors import NO_STEPS, of_steps, written_steps

_WIDE = ("%launch",)


def beginning(layout: Layout, needs: set[str]) -> str:
    """LLVM text of `begin(context)`. What depends on the thread alone is written once a launch, for all threads there may be."""
    text = _Beginning(layout, needs)
    every = list(layout.special_offsets)
    reads = {n: variables_of(meaning(n, layout.program.clustered)) for n in every}
    by_cta = [n for n in every if PLACE in reads[n]]
    # a warp that has its turn together reads what all its threads are told where its first one does
    warps = layout.program.flow.by_warps and not any(INDEX in reads[n] for n in by_cta)
    return f"""
define i64 @begin(ptr noalias %context) {{
entry:
{text.fields()}
{text.zeros()}
{field_text("known", changes=True)}
  %first_time = icmp eq i64 %known, 0
  br i1 %first_time, label %all, label %some
all:
  store i64 1, ptr %known_at
{text.filling("all", every, "%slots")}
{text.noting()}
some:
{text.filling("some", by_cta, "%resident_ctas", LANES if warps else 1)}
  ret i64 0
}}"""


class _Beginning:
    def __init__(self, layout: Layout, needs: set[str]):
        self.layout, self.needs = layout, needs
        self.checked = layout.checked

    def fields(self) -> str:
        """Text that loads what the function needs of the context."""
        parts = self.layout.parts.values()
        pointers = ("registers", "special", *parts, "record")
        numbers = (
            "slots", "resident_ctas", "resident_threads", "threads", "first", "host_empties",
            *(f"{array}_stride" for array in parts),
            *(f"{p}_bytes" for p in pointers if p != "record"),
        )  # fmt: skip
        return "\n".join(field_text(n, changes=True) for n in (*pointers, *numbers))

    def zeros(self) -> str:
        """Zero the registers that may be read before they are written, and the memory of the CTAs and threads."""
        layout, lines = self.layout, [f"  %filled = icmp eq i64 %host_empties, {FILLS}"]
        lines.append("  br i1 %filled, label %registers_done, label %registers_zero\nregisters_zero:")
        registers = layout.program.kernel.registers
        read = (layout.live[0] | (registers.keys() & IN_ROWS)) - {BEGINS, ENDS}  # the host writes these two
        for i, name in enumerate(sorted(read)):
            unit = bits_of(registers[name]) // 8
            base = f"%zero{i}"
            length = str(unit * layout.capacity)
            row = hosts.pointer(self.checked, "registers", f"{base}base", "0", 1, f"{base}size", length)
            lines.append(
                f"  {base}base = {hosts.within('%registers', layout.register_bytes, layout.offsets[name], 1)}\n"
                f"  {base}size = mul i64 %resident_threads, {unit}\n"
                f"  {base} = {row}\n"
                f"{self.emptying(base, f'{base}size')}"
            )
        lines.append("  br label %registers_done\nregisters_done:")
        empties = "  %kept = icmp ne i64 %host_empties, 0\n  br i1 %kept, label %emptied, label %empty\nempty:"
        lines.append(empties)
        for space, array in layout.parts.items():
            count = "resident_threads" if is_of_threads(space) else "resident_ctas"
            pointer = hosts.pointer(self.checked, array, f"%{array}", "0", 1, f"%{array}_all", f"%{array}_bytes")
            lines.append(
                f"  %{array}_all = mul i64 %{count}, %{array}_stride\n  %{array}_start = {pointer}\n"
                f"{self.emptying(f'%{array}_start', f'%{array}_all')}"
            )
        lines.append("  br label %emptied\nemptied:")
        return "\n".join(lines)

    def emptying(self, pointer: str, size: str) -> str:
        """Text that zeroes so many bytes, for which the pointer was formed."""
        if not self.checked:
            return f"  call void @llvm.memset.p0.i64(ptr {pointer}, i8 0, i64 {size}, i1 false)"
        return (
            f"  {pointer}span = {hosts.span(size)}\n"
            f"  call void @llvm.memset.p0.i64(ptr {pointer}, i8 0, i64 {pointer}span, i1 false)"
        )

    def noting(self) -> str:
        """Text that notes the steps of special registers (vectors.py): those of the first warp of a CTA. Where they are taken for
        granted, as far as there are threads that tell, it notes whether they are right."""
        lines = []
        for name, at in self.layout.steps_noted.items():
            bits, offset = bits_of(self.layout.special_types[name]), f"%all.{self.layout.special_offsets[name]}"
            steps = steps_of(name, self.layout)
            self.needs |= {"declare i64 @llvm.cttz.i64(i64, i1)", _note_steps(bits, self.checked)}
            given = f"ptr %record, ptr {offset}.base, i64 {bits // 8 * self.layout.capacity}, ptr {offset}.noted, i64 %threads"
            begins = NO_STEPS if steps is None else written_steps(steps, bits)
            lines.append(
                f"  {offset}.noted = {hosts.within('%special', self.layout.special_bytes, at, 1)}\n"
                f"  store {of_steps(bits)} {begins}, ptr {offset}.noted, align 8\n"
                f"  call void @ptxspec_note_steps{bits}({given}, i1 {str(steps is None).lower()})"
            )
        return "\n".join([*lines, "  br label %some"])

    def filling(self, stem: str, names: list[str], slots: str, step: int = 1) -> str:
        """Text that writes what special registers say, for each thread of so many CTAs, or the first of every `step`; it goes on
        behind itself."""
        if not names:
            return f"  br label %{stem}_done\n{stem}_done:"
        layout = self.layout
        lines: list[str] = []
        emitter = Emitter(lines, self.needs, stem=f"{stem}.v")
        for fact in FACTS:  # named as the terms have them
            name = f"%{stem}.{fact[1:]}"
            width = 64 if fact in _WIDE else 1 if fact == "%explicit_cluster" else 32
            lines.append(
                f"  {name}.at = getelementptr i64, ptr %context, i64 {FIELD[fact]}\n  {name}.word = load i64, ptr {name}.at\n"
                f"  {name} = " + (f"trunc i64 {name}.word to i{width}" if width < 64 else f"add i64 {name}.word, 0")
            )
        env = {fact: f"%{stem}.{fact[1:]}" for fact in FACTS} | {INDEX: f"%{stem}.index32", PLACE: f"%{stem}.place"}
        lowering = Lowering(emitter, env)
        depends = {n: variables_of(meaning(n, layout.program.clustered)) for n in names}
        heads = lines[:]
        lines.clear()
        outer: list[str] = []
        inner: list[str] = []
        values: dict[str, str] = {}
        for name in sorted(names, key=lambda n: INDEX in depends[n]):
            start = len(lines)
            term, type = meaning(name, layout.program.clustered), layout.special_types[name]
            if type.kind == "pred":
                values[name] = emitter.emit(f"zext i1 {lowering.truth(term)} to i8")
            else:
                values[name] = lowering.low(term, type.width)
            (inner if INDEX in depends[name] else outer).extend(lines[start:])
        stores = []
        for name in names:
            bits, offset = bits_of(layout.special_types[name]), layout.special_offsets[name]
            base = f"%{stem}.{offset}"
            length = str(bits // 8 * layout.capacity)
            cell = hosts.pointer(
                self.checked, "special", f"{base}.base", f"%{stem}.thread", bits // 8, bits // 8, length
            )
            heads.append(f"  {base}.base = {hosts.within('%special', layout.special_bytes, offset, 1)}")
            stores.append(f"  {base}.cell = {cell}\n  store i{bits} {values[name]}, ptr {base}.cell")
        joined = "\n".join
        return f"""{joined(heads)}
  br label %{stem}_slot
{stem}_slot:
  %{stem}.slot = phi i64 [0, %{stem}], [%{stem}.slot1, %{stem}_next]
  %{stem}.place = add i64 %first, %{stem}.slot
  %{stem}.begin = mul i64 %{stem}.slot, %threads
{joined(outer)}
  br label %{stem}_thread
{stem}_thread:
  %{stem}.index = phi i64 [0, %{stem}_slot], [%{stem}.index1, %{stem}_thread]
  %{stem}.thread = add i64 %{stem}.begin, %{stem}.index
  %{stem}.index32 = trunc i64 %{stem}.index to i32
{joined(inner)}
{joined(stores)}
  %{stem}.index1 = add i64 %{stem}.index, {step}
  %{stem}.more = icmp ult i64 %{stem}.index1, %threads
  br i1 %{stem}.more, label %{stem}_thread, label %{stem}_next
{stem}_next:
  %{stem}.slot1 = add i64 %{stem}.slot, 1
  %{stem}.others = icmp ult i64 %{stem}.slot1, {slots}
  br i1 %{stem}.others, label %{stem}_slot, label %{stem}_done
{stem}_done:"""


@cache
def _note_steps(bits: int, checked: bool) -> str:
    """LLVM text of `ptxspec_note_steps(record, row, row's bytes, steps, threads, learns)`, for a row of words of so many bits. A
    thread goes on by one step from the thread whose lane lacks the lowest bit; a step is learnt where it is taken first."""
    length = bits // 8
    cells = [hosts.pointer(checked, "special", "%row", at, length, length, "%row_bytes") for at in ("%index", "%from")]
    return f"""define internal void @ptxspec_note_steps{bits}(ptr %record, ptr %row, i64 %row_bytes, ptr %steps, i64 %threads,
    i1 %learns) noinline {{
entry:
  br label %thread
thread:
  %index = phi i64 [0, %entry], [%index1, %thread]
  %held = phi i1 [true, %entry], [%holds, %thread]
  %lane = and i64 %index, {LANES - 1}
  %less = sub i64 0, %lane
  %low = and i64 %lane, %less
  %from = sub i64 %index, %low
  %lane_or_all = or i64 %lane, {LANES}
  %bit = call i64 @llvm.cttz.i64(i64 %lane_or_all, i1 true)
  %cell = {cells[0]}
  %from_cell = {cells[1]}
  %value = load i{bits}, ptr %cell
  %from_value = load i{bits}, ptr %from_cell
  %taken = sub i{bits} %value, %from_value
  %step_at = getelementptr i{bits}, ptr %steps, i64 %bit
  %known = load i{bits}, ptr %step_at
  %is_first = icmp eq i64 %from, 0
  %learnt = and i1 %is_first, %learns
  %step = select i1 %learnt, i{bits} %taken, i{bits} %known
  store i{bits} %step, ptr %step_at
  %same = icmp eq i{bits} %step, %taken
  %holds = and i1 %held, %same
  %index1 = add i64 %index, 1
  %more = icmp ult i64 %index1, %threads
  br i1 %more, label %thread, label %done
done:
  %noted = zext i1 %holds to i64
  %noted_at = getelementptr i8, ptr %steps, i64 {STEPS_NOTED - STEPS_HOLD}
  store i64 %noted, ptr %noted_at
  ret void
}}"""
