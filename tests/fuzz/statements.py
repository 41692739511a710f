"""Statements of one thread: arithmetic, memory, and control."""

from __future__ import annotations

import letters
from writing import Base, Lines, statement

from ptxspec_workshop.generate.fuzzing import random_instruction

SPECIAL = {
    32: ["%tid.x", "%tid.y", "%ctaid.x", "%ctaid.z", "%ntid.x", "%nctaid.x", "%laneid", "%warpid", "%nwarpid", "%smid", "%nsmid", "%clock",
         "%clock_hi", "%lanemask_eq", "%lanemask_lt", "%lanemask_ge", "%dynamic_smem_size", "%total_smem_size", "%envreg3",
         "%clusterid.x", "%nclusterid.x", "%cluster_ctaid.x", "%cluster_nctaid.x", "%cluster_ctarank", "%cluster_nctarank"],
    64: ["%clock64", "%gridid", "%globaltimer"],
}  # fmt: skip


class Single(Base):
    """What a thread does by itself."""

    def plain(self) -> Lines:
        form = letters.choose(self.source, "plain", self.plan.era)
        return [self.guard(0.2) + random_instruction.instruction(self.source, form, self.pool)]

    @statement(30)
    def arithmetic(self) -> Lines:
        return self.plain()

    @statement(5)
    def carries(self) -> Lines:
        """Sums or differences of several words. None but the first sets the condition code for certain."""
        kind = self.source.choice(["carries", "borrows"])
        parts = ["start", *["middle"] * self.source.randint(0, 2), "end"]
        forms = [letters.choose(self.source, f"{part} of {kind}", self.plan.era) for part in parts]
        written = [random_instruction.instruction(self.source, form, self.pool) for form in forms]
        return [written[0], *[self.guard(0.15) + line for line in written[1:]]]

    @statement(4)
    def packing(self) -> Lines:
        a, b = self.several(32, 2)
        h, g = self.several(16, 2)
        d = self.register(64)
        narrow = self.pool[16] * 2
        return [
            self.guard(0.2)
            + self.source.choice(
                [
                    f"mov.b64 {{{a}, {b}}}, {d};",
                    f"mov.b64 {d}, {{{a}, {b}}};",
                    f"mov.b32 {{{h}, {g}}}, {a};",
                    f"mov.b32 {a}, {{{h}, {g}}};",
                    f"mov.b64 {{{h}, _, {g}, _}}, {d};",
                    f"mov.b64 {d}, {{{', '.join(narrow[:4])}}};",
                    f"mov.b64 {{{a}, _}}, {d};",
                ]
            )
        ]

    @statement(3)
    def vectors(self) -> Lines:
        """Registers that are vectors, by their elements and as a whole."""
        a, b, c, d = (self.register(32) for _ in range(4))
        at = self.source.choice("xyzw")
        return [
            "{ .reg .v4 .b32 %v, %w;",
            f"mov.v4.b32 %v, {{{a}, {b}, {c}, 7}};",
            f"{self.guard(0.3)}add.u32 %v.{at}, %v.w, {d};",
            "mov.v4.b32 %w, %v;",
            f"xor.b32 {d}, %w.{at}, %w.r; }}",
        ]

    @statement(2, lambda w: w.plan.is_of_today)
    def wide_values(self) -> Lines:
        a, b = self.several(64, 2)
        return [
            "{ .reg .b128 %w, %v;",
            f"mov.b128 %w, {{{self.register(64)}, {self.register(64)}}};",
            f"{self.guard(0.3)}mov.b128 %v, %w;",
            f"mov.b128 {{{a}, {b}}}, %v; }}",
        ]

    @statement(3)
    def special_registers(self) -> Lines:
        width = self.source.choice([32, 32, 32, 64]) if self.plan.is_of_today else 32
        names = SPECIAL[width] if self.plan.is_of_today else SPECIAL[32][:12]
        return [f"{self.guard(0.1)}mov.b{width} {self.register(width)}, {self.source.choice(names)};"]

    # memory ------------------------------------------------------------------------------------------------------------

    @statement(10)
    def access(self) -> Lines:
        """An access of any type and length to memory of the thread's own."""
        width, count = self.source.choice(
            [(8, 1), (8, 2), (8, 4), (16, 1), (16, 2), (16, 4), (32, 1), (32, 2), (32, 4), (64, 1), (64, 2)]
        )
        size = width // 8 * count
        places = [("%la", ".local", 32), ("%lg", "", 32)]
        if size <= 8:
            places += [("%cg", ".global", 8), ("%cg", "", 8), ("%cs", ".shared", 8), ("%cgs", "", 8)]
            places += [("%cs", ".shared::cta", 8)] if self.plan.is_of_today else []
        base, space, room = self.source.choice(places)
        lines, offset = [], self.source.randrange(0, room, size)
        at = f"[{base}+{offset}]"
        if self.chance(0.3) and base[1] != "c":
            lines = [self.small("%at", room // size), "{ .reg .b64 %a;", f"mad.wide.u32 %a, %at, {size}, {base};"]
            at = "[%a]"
        kind = self.source.choice("bus")
        own = self.source.choice([w for w in (16, 32, 64) if w >= width and len(self.pool[w]) >= count] or [32])
        if len(self.pool[own]) < count or own < width:
            return self.plain()
        registers = self.several(own, count)
        shown = "{" + ", ".join(registers) + "}" if count > 1 else registers[0]
        vector = f".v{count}" if count > 1 else ""
        order = self.source.choice(["", "", ".volatile"]) if space != ".local" else ""
        operands = f"{shown}, {at}" if self.chance(0.5) else f"{at}, {shown}"
        opcode = "st" if operands.startswith("[") else "ld"
        lines.append(f"{self.guard(0.3)}{opcode}{order}{space}{vector}.{kind}{width} {operands};")
        return [*lines, "}"] if len(lines) > 1 else lines

    @statement(4)
    def names_of_variables(self) -> Lines:
        """Accesses by name: local, shared and global variables, parameters of the entry, constants."""
        width = self.source.choice([16, 32, 64])
        d, offset = self.register(width), self.source.randrange(0, 32, width // 8)
        places = [("ld.local", "own"), ("st.local", "own"), ("ld.const", "constants"), ("ld.global", "common_of_all")]
        places += [("ld.param", "block")] if self.is_entry else []
        opcode, name = self.source.choice(places)
        at = f"[{name}+{offset}]"
        return [f"{self.guard(0.3)}{opcode}.b{width} {f'{at}, {d}' if opcode.startswith('st') else f'{d}, {at}'};"]

    @statement(3)
    def constants(self) -> Lines:
        base, space = self.source.choice(
            [("%ka", ".const"), ("%kg", "")] if self.plan.is_of_today else [("%ka", ".const")]
        )
        index = f"{{ .reg .b64 %a; {self.small('%at', 8)} mad.wide.u32 %a, %at, 8, {base};"
        return [index, f"{self.guard(0.3)}ld{space}.b64 {self.register(64)}, [%a]; }}"]

    @statement(6)
    def atomics(self) -> Lines:
        """An update of the thread's own cell, or of one that all threads update."""
        form = letters.choose(self.source, "memory", self.plan.era)
        space = str(form.modifiers.get("ss")).split("::")[0]
        cell = self.source.choice(
            {"shared": ["%cs", "%ss"], "global": ["%cg", "%gs"]}.get(space, ["%cg", "%cgs", "%gs"])
        )
        return [self.guard(0.2) + random_instruction.instruction(self.source, form, self.pool, cell)]

    @statement(3, lambda w: w.plan.dynamic)
    def dynamic_shared(self) -> Lines:
        """Words of what the launch says; it is never less than 64 bytes, but for launches that are meant to fail."""
        return [
            f"{{ .reg .b32 %a; {self.small('%a', 16)} mad.lo.u32 %a, %a, 4, %ds;",
            self.source.choice(
                [
                    f"ld.shared.b32 {self.register(32)}, [%a];",
                    f"st.shared.b32 [%a], {self.register(32)};",
                    f"red.shared.add.u32 [%a], {self.register(32)};",
                ]
            )
            + " }",
        ]

    @statement(2)
    def asks_for_the_space(self) -> Lines:
        space = self.source.choice(
            ["global", "local", "shared", *(["const", "param", "shared::cluster"] if self.plan.is_of_today else [])]
        )
        base = self.source.choice(["%lg", "%cg", "%cgs"])
        return [f"isspacep.{space} {self.register(1)}, {base};"]

    # control -----------------------------------------------------------------------------------------------------------

    @statement(5, lambda w: w.depth < 3)
    def branch(self) -> Lines:
        other, join = self.label(), self.label()
        jump = f"{self.condition()} bra {other};"
        first = self.block()
        if self.chance(0.4):
            return [jump, *first, f"{other}:"]
        return [jump, *first, f"bra {join};", f"{other}:", *self.block(), f"{join}:"]

    @statement(3, lambda w: w.depth < 3 and w.loops < 2)
    def loop(self) -> Lines:
        """At most four rounds, as many as a register says."""
        n, limit, head, out = self.number(), self.number(), self.label(), self.label()
        self.loops += 1
        self.out.append(out)
        body = self.block()
        self.out.pop()
        self.loops -= 1
        start = [f"mov.u32 %i{n}, 0;", self.small(f"%i{limit}", 4), f"{head}:"]
        end = [f"add.u32 %i{n}, %i{n}, 1;", f"setp.le.u32 %q{n}, %i{n}, %i{limit};", f"@%q{n} bra {head};", f"{out}:"]
        return [*start, *body, *end]

    @statement(4, lambda w: w.depth < 3)
    def narrow_loops(self) -> Lines:
        """Blocks that go back to themselves and only compute, sometimes one after the other."""
        lines: Lines = []
        for _ in range(self.source.choice((1, 1, 2))):
            n, limit, head = self.number(), self.number(), self.label()
            body = [line for _ in range(self.source.randint(0, 4)) for line in self.plain()]
            back = self.source.choice(
                [[f"setp.le.u32 %q{n}, %i{n}, %i{limit};", f"@%q{n} bra {head};"],
                 [f"setp.gt.u32 %q{n}, %i{n}, %i{limit};", f"@!%q{n} bra {head};"]]
            )  # fmt: skip
            rounds = self.source.choice((4, 4, 64))
            lines += [
                f"mov.u32 %i{n}, 0;",
                self.small(f"%i{limit}", rounds),
                f"{head}:",
                *body,
                f"add.u32 %i{n}, %i{n}, 1;",
                *back,
            ]
        return lines

    @statement(1, lambda w: w.depth < 2 and w.loops < 1)
    def loop_with_two_beginnings(self) -> Lines:
        n, one, two = self.number(), self.label(), self.label()
        self.loops += 1
        first, second = self.block(2), self.block(2)
        self.loops -= 1
        return [
            f"mov.u32 %i{n}, 0;", f"{self.condition()} bra {two};", f"{one}:", *first, f"{two}:", *second,
            f"add.u32 %i{n}, %i{n}, 1;", f"setp.lt.u32 %q{n}, %i{n}, 3;", f"@%q{n} bra {one};",
        ]  # fmt: skip

    @statement(3, lambda w: bool(w.out))
    def leaving_a_loop(self) -> Lines:
        return [f"{self.condition()} bra {self.source.choice(self.out)};"]

    @statement(3, lambda w: w.depth < 3 and w.plan.is_of_today)
    def branch_by_number(self) -> Lines:
        n, ways, join = self.number(), self.source.choice((2, 4)), self.label()
        targets = [self.label() for _ in range(self.source.randint(1, ways))]
        listed = targets + [self.source.choice(targets) for _ in range(ways - len(targets))]
        lines = [
            self.small(f"%i{n}", ways),
            f"T{n}: .branchtargets {', '.join(listed)};",
            f"{self.guard(0.3)}brx.idx %i{n}, T{n};",
        ]
        for target in targets:
            lines += [f"{target}:", *self.block(2), f"bra {join};"]
        return [*lines, f"{join}:"]

    @statement(1, lambda w: w.depth > 0 and not w.loops)
    def early_end(self) -> Lines:
        """Some threads end, or return, or go to the end."""
        self.together = False
        ways = ["exit;", "ret;", "bra FINISH;"] if self.is_entry else ["exit;", "ret;", "ret;"]
        return [f"{self.condition()} {self.source.choice(ways)}"]

    @statement(2, lambda w: w.plan.stack)
    def memory_on_the_stack(self) -> Lines:
        size, a, d = self.source.choice([4, 8, 24]), self.register(32), self.register(32)
        end = "stackrestore.u64 %sv;" if self.chance(0.8) else ""
        return [
            "{ .reg .b64 %sv, %al; .reg .b32 %as;",
            "stacksave.u64 %sv;",
            f"{self.small('%as', 64)} add.u32 %as, %as, {size};",
            f"alloca.u64 %al, {size}, {self.source.choice([4, 8, 16, 64])};"
            if self.chance(0.5)
            else "cvt.u64.u32 %al, %as; alloca.u64 %al, %al;",
            f"{self.guard(0.2)}st.local.b32 [%al+{size - 4}], {a};",
            f"ld.local.b32 {d}, [%al];",
            f"{end} }}",
        ]

    @statement(2)
    def scopes(self) -> Lines:
        """A register of the same name within braces."""
        a, d = self.register(32), self.register(32)
        other = next(r for r in self.pool[32] if r not in (a, d))
        return [f"{{ .reg .b32 {other};", f"add.u32 {other}, {a}, 1;", *self.plain(), f"xor.b32 {d}, {d}, {other}; }}"]
