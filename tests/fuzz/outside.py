"""Statements that ask the system and images, and those that may break a rule."""

from __future__ import annotations

from typing import NamedTuple

from meetings import Meeting
from writing import Lines, statement

#: formats, what each takes, and which of the arguments are 8 bytes
FORMATS = (
    ("%d %x\n", "44"),
    ("%c|%u|", "44"),
    ("%5.2f|%s", "88"),
    ("%lld %p ", "88"),
    ("%-8x%%%o", "44"),
    ("%*d", "44"),
)


class Shape(NamedTuple):
    """An image of a module: its name, what it is declared as, its geometry, the type of its channels, how many of these, and how
    it is read."""

    name: str
    opaque: str
    geometry: str
    dtype: str
    channels: int
    filter: str
    normalized: bool
    fractions: bool

    @property
    def result(self) -> str:
        """The type that lookups have."""
        if self.fractions or self.dtype.startswith("float"):
            return "f32"
        return "u32" if self.dtype.startswith("u") else "s32"


class Outside(Meeting):
    """What is answered by the host."""

    # the system --------------------------------------------------------------------------------------------------------

    @statement(2, lambda w: w.plan.prints)
    def printing(self) -> Lines:
        number = self.source.randrange(len(FORMATS))
        lines = ["{ .reg .b64 %fm, %lp; .local .align 8 .b8 list[16];"]
        if FORMATS[number][1] == "44":
            lines.append(
                f"st.local.b32 [list], {self.register(32)}; {self.small('%at', 128)} st.local.b32 [list+4], %at;"
            )
            if "*" in FORMATS[number][0]:
                lines.append("and.b32 %at, %at, 15; st.local.b32 [list], %at;")
        else:
            lines.append(
                f"st.local.b64 [list], {self.register(64)}; mov.u64 %fm, format0; cvta.global.u64 %fm, %fm; st.local.b64 [list+8], %fm;"
            )
        lines += [f"mov.u64 %fm, format{number}; cvta.global.u64 %fm, %fm; cvta.local.u64 %lp, list;"]
        return [*lines, f"{self.guard(0.5)}call ({self.register(32)}), vprintf, (%fm, %lp); }}"]

    @statement(2, lambda w: w.plan.allocates)
    def memory_from_the_heap(self) -> Lines:
        a, d, over = self.register(32), self.register(32), self.label()
        free = "call free, (%hp);" if self.chance(0.7) else ""
        return [
            f"{{ .reg .b64 %hp; {self.small('%at', 64)} add.u32 %at, %at, 8; cvt.u64.u32 %hp, %at;",
            f"call (%hp), malloc, (%hp); setp.eq.u64 %qb, %hp, 0; @%qb bra {over};",
            f"st.b32 [%hp+4], {a}; atom.global.add.u32 {d}, [%hp+4], 5; {free}",
            f"{over}: }}",
        ]

    # images ------------------------------------------------------------------------------------------------------------

    def coordinates(self, geometry: str, floating: bool, normalized: bool) -> tuple[Lines, str]:
        """Lines that make coordinates from registers, and the coordinates in braces."""
        count = {"1d": 1, "2d": 2, "3d": 3, "a1d": 1, "a2d": 2, "cube": 3}[geometry]
        lines, names = [], []
        if geometry.startswith("a"):
            lines.append(self.small("%y3", 4))
            names.append("%y3")
        for i in range(count):
            lines.append(f"{self.small(f'%y{i}', 16)} sub.s32 %y{i}, %y{i}, 3;")
            if floating:
                scale = "0f3E4CCCCD" if normalized else "0f3F400000"
                lines.append(f"cvt.rn.f32.s32 %z{i}, %y{i}; mul.rn.f32 %z{i}, %z{i}, {scale};")
            names.append(f"%z{i}" if floating else f"%y{i}")
        names += [names[-1]] * (len(names) == 3)
        return lines, "{" + ", ".join(names) + "}"

    @statement(4, lambda w: bool(w.plan.textures))
    def textures(self) -> Lines:
        shape = self.source.choice(self.plan.textures)
        floating = shape.normalized or shape.filter == "linear" or shape.geometry == "cube" or self.chance(0.5)
        lines, at = self.coordinates(shape.geometry, floating, shape.normalized)
        values = ", ".join(self.several(32, 4))
        level = ".level" if self.chance(0.2) and floating else ""
        form = f"tex{level}.{shape.geometry}.v4.{shape.result}.{'f32' if floating else 's32'}"
        lod = ", 0f3F000000" if level else ""
        how = f"{form} {{{values}}}, [{shape.name}, {at}]{lod};"
        if self.chance(0.2):
            what = self.source.choice(["width", "height", "channel_data_type", "normalized_coords"])
            how = f"txq.{what}.b32 {self.register(32)}, [{shape.name}];"
        return ["{ .reg .b32 %y<4>; .reg .f32 %z<4>;", *lines, f"{self.guard(0.2)}{how} }}"]

    @statement(4, lambda w: bool(w.plan.surfaces))
    def surfaces(self) -> Lines:
        shape = self.source.choice(self.plan.surfaces)
        lines, at = self.coordinates(shape.geometry, False, False)
        clamp = self.source.choice(["clamp", "zero"])
        wide = self.register(32)
        how = self.source.choice(
            [
                f"suld.b.{shape.geometry}.b32.{clamp} {wide}, [{shape.name}, {at}];",
                f"sust.b.{shape.geometry}.b32.{clamp} [{shape.name}, {at}], {wide};",
                f"suq.width.b32 {wide}, [{shape.name}];",
                f"sust.b.{shape.geometry}.b16.{clamp} [{shape.name}, {at}], {self.register(16)};",
            ]
        )
        return ["{ .reg .b32 %y<4>;", *lines, f"shl.b32 %y0, %y0, 2; {self.guard(0.2)}{how} }}"]

    # what may go wrong -------------------------------------------------------------------------------------------------

    @statement(0)
    def hazard(self) -> Lines:
        """Something that breaks a rule, or may, in those launches whose mode is this one's number."""
        self.plan.hazards += 1
        over = self.label()
        number = self.plan.hazards
        who = self.source.choice(["", f"setp.ne.u32 %qh, %own, {self.source.choice([0, 1, 5])}; @%qh bra {over};"])
        return [
            f"{{ .reg .pred %qh; setp.ne.u32 %qh, %mode, {number}; @%qh bra {over};",
            who,
            *self.wrong(),
            f"{over}: }}",
        ]

    def wrong(self) -> Lines:
        if not self.plan.is_of_today:
            return [f"ld.local.b32 {self.register(32)}, [%la+{self.source.choice([2, 32, 1 << 20])}];"]
        kinds = [self.wrong_access, self.wrong_access, self.wrong_access, self.wrong_meeting, self.wrong_way]
        return self.source.choice(kinds)()

    def wrong_access(self) -> Lines:
        d, w = self.register(32), self.register(64)
        offset = self.source.choice([32, -4, 1, 2, 0x100000, 1 << 30, 12, 28, 60, 64, 1020, 1024])
        base, space = self.source.choice(
            [
                ("%la", ".local"),
                ("%lg", ""),
                ("%cg", ".global"),
                ("%cs", ".shared"),
                ("%cgs", ""),
                ("%ka", ".const"),
                ("%kg", ""),
            ]
        )
        big = self.source.choice(
            [
                "-1",
                "0x7fffffffffffffff",
                "0xfffffffffffffffc",
                "0x8000000",
                "0xefffffc",
                "0x30000000",
                "-8",
                "0x8000000000000000",
                "0xffffffff00000000",
            ]
        )
        ways = [
            [f"ld{space}.b32 {d}, [{base}+{offset}];"],
            [f"ld{space}.v2.b32 {{{d}, _}}, [{base}+{offset}];"]
            if self.chance(0.5)
            else [f"ld{space}.b64 {w}, [{base}+{offset}];"],
            [f"{{ .reg .b64 %bad; mov.b64 %bad, {big}; ld.b32 {d}, [%bad]; }}"],
            [f"{{ .reg .b64 %bad; mov.b64 %bad, {big}; st.global.b16 [%bad], {self.register(16)}; }}"],
            [f"{{ .reg .b64 %bad; mov.b64 %bad, {big}; ld{space or '.shared'}.b32 {d}, [%bad]; }}"],
            [f"ld.b32 {d}, [{w}];"],
            [f"st.b32 [%kg], {d};"],
            [f"{{ .reg .b64 %bad; cvta.to.global.u64 %bad, {w}; atom.global.add.u32 {d}, [%bad], 1; }}"],
        ]
        if space != ".const":
            ways += [
                [f"st{space}.b32 [{base}+{offset}], {d};"],
                [f"st{space}.v4.b32 [{base}+{offset}], {{{d}, {d}, 1, 2}};"],
            ]
        if self.is_entry:
            ways += [[f"st.global.b32 [%rd_in], {d};"], [f"red.global.add.u32 [%rd_in+4], {d};"]]
        return self.source.choice(ways)

    def wrong_meeting(self) -> Lines:
        d, p = self.register(32), self.register(1)
        return [
            self.source.choice(
                [
                    "bar.sync 0;", "mov.u32 %at, 16; bar.sync %at;", "bar.sync 1, 64;", "mov.u32 %at, 33; bar.sync 2, %at;",
                    "bar.arrive 3, 32;", f"bar.red.popc.u32 {d}, 0, {p};", f"shfl.sync.idx.b32 {d}, {d}, 0, 31, 1;",
                    f"vote.sync.ballot.b32 {d}, {p}, -1;", f"redux.sync.add.u32 {d}, {d}, {d};", "bar.warp.sync 0xf0f0f0f0;",
                    "barrier.cluster.arrive;", "barrier.cluster.wait;", f"activemask.b32 {d};", f"barrier.sync {d};",
                ]
            )
        ]  # fmt: skip

    def wrong_way(self) -> Lines:
        n, again = self.number(), self.label()
        ways = [
            ["trap;"], ["brkpt;"], [f"{again}: bra {again};"], ["exit;"], ["ret;"],
            [f"T{n}: .branchtargets {again}; brx.idx {self.register(32)}, T{n};", f"{again}:"],
            [f"T{n}: .branchtargets {again}, {again}; mov.u32 %at, -1; brx.idx %at, T{n};", f"{again}:"],
        ]  # fmt: skip
        if self.plan.abi and self.plan.alike:
            one = self.plan.alike[0]
            arguments = ", ".join(self.register(w) for w in one.takes)
            bad = self.source.choice(["0", "8", "-1", "16", "0x7fffffffffffffff", self.register(64)])
            names = self.source.choice([f"T{n}: {one.prototype};", f"T{n}: .calltargets {one.name};"])
            ways.append(
                [
                    f"{{ .reg .b64 %bad; {names} mov.b64 %bad, {bad};",
                    f"call ({self.register(32)}), %bad, ({arguments}), T{n}; }}",
                ]
            )
            ways.append(["{ call endless; }"])
        if self.plan.stack:
            ways += [["{ .reg .b64 %bad; alloca.u64 %bad, 70000; }"], [f"stackrestore.u64 {self.register(64)};"],
                     ["{ .reg .b64 %bad; alloca.u64 %bad, 8; ld.local.b32 %at, [%bad+8]; }"],
                     ["{ .reg .b64 %bad, %sv; stacksave.u64 %sv; alloca.u64 %bad, 8; stackrestore.u64 %sv; st.local.b32 [%bad], %at; }"]]  # fmt: skip
        if self.plan.allocates:
            ways += [[f"call free, ({self.register(64)});"], ["{ .reg .b64 %bad; call (%bad), malloc, (8); call free, (%bad); call free, (%bad); }"],
                     ["{ .reg .b64 %bad; call (%bad), malloc, (8); call free, (%bad); ld.b32 %at, [%bad]; }"]]  # fmt: skip
        if self.plan.prints:
            ways += [[f"call (_), vprintf, ({self.register(64)}, 0);"], ["{ .reg .b64 %bad; mov.u64 %bad, format2; call (_), vprintf, (%bad, 8); }"],
                     ["call __assertfail, (0, 0, 7, 0, 1);"]]  # fmt: skip
        if self.plan.surfaces:
            shape = self.plan.surfaces[0]
            at = {
                "1d": "{%at}",
                "2d": "{%at, %at}",
                "3d": "{%at, %at, %at, %at}",
                "a2d": "{%at, %at, %at, %at}",
                "a1d": "{%at, %at}",
            }[shape.geometry]
            ways.append(
                [
                    f"mov.u32 %at, {self.source.choice(['-4', '1', '4000'])}; suld.b.{shape.geometry}.b32.trap {self.register(32)}, [{shape.name}, {at}];"
                ]
            )
            ways.append(
                [
                    f"{{ .reg .b64 %bad; mov.b64 %bad, {self.source.choice(['0', '-1', self.register(64)])}; suld.b.{shape.geometry}.b32.zero {self.register(32)}, [%bad, {at}]; }}"
                ]
            )
        return self.source.choice(ways)
