"""Statements that bring threads together: barriers, warps, clusters; and calls of functions."""

from __future__ import annotations

from typing import cast

from statements import Single
from writing import Function, Lines, statement

#: masks with which threads part into two groups of lanes, by the test that parts them
GROUPS = {"and.b32 %at, %own, 1;": (0xAAAAAAAA, 0x55555555), "and.b32 %at, %own, 16;": (0xFFFF0000, 0x0000FFFF)}


class Meeting(Single):
    """What several threads do, and what functions do."""

    # barriers ----------------------------------------------------------------------------------------------------------

    @statement(5, lambda w: w.together)
    def barriers(self) -> Lines:
        a, number = self.register(32), self.source.randrange(16)
        p, q = self.register(1), self.register(1)
        new = [f"barrier.cta.sync.aligned {number};", f"barrier.red.popc.u32 {a}, {number}, %nw, {q};"]
        return [
            self.source.choice(
                [
                    f"bar.sync {number};",
                    f"mov.u32 %at, {number}; bar.sync %at, %nw;",
                    f"bar.red.popc.u32 {a}, {number}, {q};",
                    f"bar.red.{self.source.choice(['and', 'or'])}.pred {p}, {number}, !{q};",
                    *(new if self.plan.is_of_today else []),
                ]
            )
        ]

    @statement(3, lambda w: w.together)
    def exchange(self) -> Lines:
        width = self.source.choice((16, 32, 64))
        a, d = self.register(width), self.register(width)
        return [f"st.shared.b{width} [%cs], {a};", "bar.sync 0;", f"ld.shared.b{width} {d}, [%xs];", "bar.sync 0;"]

    @statement(2, lambda w: w.together)
    def some_arrive_and_some_wait(self) -> Lines:
        """The first warp waits until the others, if there are any, have left their marks."""
        number, wait, join, over = self.source.randrange(1, 16), self.label(), self.label(), self.label()
        return [
            f"setp.gt.u32 %qb, %nt, 32; @!%qb bra {over};", f"setp.lt.u32 %qb, %own, 32; @%qb bra {wait};",
            *self.plain(), f"bar.arrive {number}, %nw;", f"bra {join};", f"{wait}:", f"bar.sync {number}, %nw;",
            f"{join}:", "bar.sync 0;", f"{over}:",
        ]  # fmt: skip

    @statement(3, lambda w: w.together)
    def a_barrier_of_some_warps(self) -> Lines:
        """The first warp alone, or the second if it is there, come to a barrier that counts so many threads."""
        over, number, a = self.label(), self.source.randrange(1, 16), self.register(32)
        way = self.source.choice(
            [f"bar.sync {number}, 32;", f"bar.red.popc.u32 {a}, {number}, 32, {self.register(1)};"]
        )
        test = self.source.choice(["setp.lt.u32 %qb, %own, 32;", "setp.ge.u32 %qb, %own, 32;"])
        return [f"{test} @!%qb bra {over};", *self.plain(), way, *self.plain(), f"{over}:"]

    @statement(2, lambda w: w.together)
    def a_barrier_in_a_branch_of_all(self) -> Lines:
        other = self.label()
        return [
            f"mov.u32 %at, %ctaid.x; and.b32 %at, %at, 1; setp.eq.u32 %qb, %at, {self.source.randint(0, 1)};",
            f"@%qb bra {other};", *self.plain(), "bar.sync 0;", *self.plain(), f"{other}:",
        ]  # fmt: skip

    @statement(1, lambda w: w.plan.impatient and w.together)
    def waiting_in_a_loop(self) -> Lines:
        """All spin until the last thread of the CTA, which stands further on, has said that they may go on."""
        again, last, join = self.label(), self.label(), self.label()
        return [
            "mov.u32 %at, flag; { .reg .b32 %f, %l; bar.sync 0; st.volatile.shared.u32 [%at], 0; bar.sync 0;",
            f"sub.u32 %l, %nt, 1; setp.eq.u32 %qb, %own, %l; @%qb bra {last};",
            f"{again}: ld.volatile.shared.u32 %f, [%at]; setp.eq.u32 %qb, %f, 0;", f"@%qb bra {again};", f"bra {join};",
            f"{last}: st.volatile.shared.u32 [%at], 1;", f"{join}: bar.sync 0; }}",
        ]  # fmt: skip

    # warps -------------------------------------------------------------------------------------------------------------

    def of_warp(self, mask: str) -> str:
        """An instruction of a warp."""
        a, d, p, q = self.register(32), self.register(32), self.register(1), self.register(1)
        wide = self.register(64)
        return self.source.choice(
            [
                f"shfl.sync.{self.source.choice(['up', 'down', 'bfly', 'idx'])}.b32 {d}|{p}, {a}, {self.source.choice([self.register(32), '1', '5'])}, {self.source.choice(['31', '0', '0x1c1f', self.register(32)])}, {mask};",
                f"vote.sync.{self.source.choice(['all', 'any', 'uni'])}.pred {p}, {self.source.choice(['', '!'])}{q}, {mask};",
                f"vote.sync.ballot.b32 {d}, {q}, {mask};",
                f"match.any.sync.b32 {d}, {a}, {mask};",
                f"match.all.sync.b64 {d}|{p}, {wide}, {mask};",
                f"redux.sync.{self.source.choice(['add.u32', 'min.s32', 'max.u32', 'and.b32', 'xor.b32'])} {d}, {a}, {mask};",
                f"elect.sync {d}|{p}, {mask};",
                f"bar.warp.sync {mask};",
            ]
        )

    @statement(5, lambda w: w.together and w.plan.is_of_today)
    def warp_together(self) -> Lines:
        return [self.of_warp(self.source.choice(["-1", "0xffffffff"]))]

    @statement(3, lambda w: w.plan.is_of_today)
    def warp_in_groups(self) -> Lines:
        """Threads that part into two groups, each of which names itself."""
        test, masks = self.source.choice(list(GROUPS.items()))
        other, join = self.label(), self.label()
        if not self.together:  # whoever is here
            return ["activemask.b32 %at;", self.of_warp("%at")]
        first, second = (self.of_warp(f"{mask:#x}") for mask in masks)
        return [
            f"{test} setp.eq.u32 %qb, %at, 0; @%qb bra {other};", first, f"bra {join};", f"{other}:", second, f"{join}:",
        ]  # fmt: skip

    @statement(6, lambda w: not w.plan.is_of_today)
    def warp_without_a_mask(self) -> Lines:
        """Whoever comes together, also where threads have parted."""
        a, d, p, q = self.register(32), self.register(32), self.register(1), self.register(1)
        ways = [
            f"vote.{self.source.choice(['all', 'any', 'uni'])}.pred {p}, {self.source.choice(['', '!'])}{q};",
            f"vote.ballot.b32 {d}, {q};",
        ]
        if self.plan.era[1] >= 30:
            ways += [
                f"shfl.{mode}.b32 {d}|{p}, {a}, {self.source.choice(['1', '3', self.register(32)])}, 31;"
                for mode in ("up", "bfly", "idx")
            ]
        return [self.guard(0.2) + self.source.choice(ways)]

    @statement(6, lambda w: w.plan.era[0] < (2, 2))
    def banks_of_constants(self) -> Lines:
        """By a name, and by a number."""
        d, bank = self.register(32), self.source.choice([0, 1, 2, 10])
        name = {0: "constants", 1: "one", 2: "two", 10: "ten"}[bank]
        return [
            self.source.choice(
                [
                    f"ld.const[{bank}].u32 {d}, [{name}+{4 * self.source.randrange(16)}];",
                    f"{self.small('%at', 16)} {{ .reg .u64 %a; mov.u64 %a, {name}; mad.wide.u32 %a, %at, 4, %a; ld.const[{bank}].u32 {d}, [%a]; }}",
                ]
            )
        ]

    # clusters ----------------------------------------------------------------------------------------------------------

    @statement(4, lambda w: w.together and w.plan.clusters)
    def cluster(self) -> Lines:
        """The shared memory of the CTA of the next rank, between two meetings of all."""
        d, wide = self.register(32), self.register(64)
        meet = "barrier.cluster.arrive; barrier.cluster.wait;"
        use = self.source.choice(
            [
                f"ld.shared::cluster.b32 {d}, [%ca];",
                f"st.shared::cluster.b32 [%ca+4], {d};",
                f"atom.shared::cluster.add.u32 {d}, [%ca], 3;",
                f"{{ .reg .b64 %cw; cvt.u64.u32 %cw, %ca; cvta.shared::cluster.u64 %cw, %cw; ld.b64 {wide}, [%cw]; }}",
                f"getctarank.shared::cluster.u32 {d}, %ca;",
            ]
        )
        return [
            "{ .reg .b32 %ca, %rk; mov.u32 %rk, %cluster_ctarank; mov.u32 %at, %cluster_nctarank; add.u32 %rk, %rk, 1; rem.u32 %rk, %rk, %at;",
            f"mapa.shared::cluster.u32 %ca, %cs, %rk; {meet}",
            use,
            f"{meet} }}",
        ]

    # calls -------------------------------------------------------------------------------------------------------------

    @statement(7, lambda w: bool(w.plan.known) and w.loops < 2)
    def call(self) -> Lines:
        return self.calling(self.source.choice(self.plan.known))

    def calling(self, function: Function, depth: str | None = None) -> Lines:
        """A call with arguments from the pool. `depth` is the register that says how deep a recursion goes."""
        uni = ".uni" if self.chance(0.1) and self.together else ""
        lines: Lines = ["{"]
        given = [self.source.choice([self.register(w), self.register(w), "7"]) for w in function.takes]
        if function.recursive:
            lines.append(f".reg .b32 %dn; {f'mov.u32 %dn, {depth};' if depth else self.small('%dn', 4)}")
            given[0] = "%dn"
        taken = self._taken(function)
        passed, after = list(given), []
        if function.style == "param" and self.chance(0.5):
            lines += [f".param .b{w} g{i};" for i, w in enumerate(function.takes)]
            lines += [f"st.param.b{w} [g{i}], {v};" for i, (w, v) in enumerate(zip(function.takes, given, strict=True))]
            passed = [f"g{i}" for i in range(len(given))]
            if function.gives and taken[0] != "_":
                lines.append(f".param .b{function.gives[0]} back;")
                after.append(f"ld.param.b{function.gives[0]} {taken[0]}, [back];")
                taken = ["back"]
        if function.lists:
            count = self.source.randint(1, 4)
            lines.append(f".param .align 8 .b8 rest[{4 * count}];")
            lines += [f"st.param.b32 [rest+{4 * i}], {self.register(32)};" for i in range(count)]
            passed = [str(count), *passed[1:], "rest"]
        result = f"({', '.join(taken)}), " if function.gives else ""
        arguments = f", ({', '.join(passed)})" if passed else ""
        guard = "" if uni else self.guard(0.3)
        return [*lines, f"{guard}call{uni} {result}{function.name}{arguments};", *after, "}"]

    def _taken(self, function: Function) -> list[str]:
        """Registers for the results, no two the same."""
        left = {w: list(names) for w, names in self.pool.items()}
        found = []
        for width in function.gives:
            names = left[width]
            found.append(names.pop(self.source.randrange(len(names))))
        return ["_"] if len(found) == 1 and self.chance(0.1) else found

    @statement(5, lambda w: len(w.plan.alike) > 1 and w.plan.abi and w.loops < 2)
    def indirect_call(self) -> Lines:
        """Through a table in memory, or a register; with a prototype, or a list."""
        n, d = self.number(), self.register(32)
        functions = cast(list[Function], self.plan.alike)
        a, b = self.source.sample(functions, 2)
        arguments = ", ".join(self.register(w) for w in a.takes)
        if self.chance(0.5) and self.plan.tabled:
            names = f"P{n}: {a.prototype};"
            way = [
                f"{self.small('%at', self.plan.tabled)} mov.u64 %fn, table; mad.wide.u32 %fn, %at, 8, %fn; ld.global.u64 %fn, [%fn];"
            ]
            last = f"P{n}"
        else:
            names = self.source.choice([f"P{n}: .calltargets {a.name}, {b.name};", f"P{n}: {a.prototype};"])
            way = [f"mov.u64 %fn, {a.name};", f"{self.condition()} mov.u64 %fn, {b.name};"]
            last = f"P{n}"
        return ["{ .reg .b64 %fn;", names, *way, f"{self.guard(0.2)}call ({d}), %fn, ({arguments}), {last}; }}"]

    @statement(3, lambda w: w.plan.recursing is not None and not w.is_entry)
    def recursion(self) -> Lines:
        """A call of the function itself, or of one that calls this one again."""
        over = self.label()
        return [f"{{ .reg .b32 %dm; setp.eq.u32 %qb, %dp, 0; @%qb bra {over};", "sub.u32 %dm, %dp, 1;",
                *self.calling(self.plan.recursing, "%dm"), f"{over}: }}"]  # fmt: skip

    @statement(1, lambda w: w.plan.ending is not None and w.depth > 0 and not w.loops)
    def a_call_that_does_not_return(self) -> Lines:
        self.together = False
        return [f"{self.condition()} call {self.plan.ending};"]
