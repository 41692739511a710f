"""The kinds of statements of random modules: how often each is drawn, where it may stand, and its text.

A text is a template. «a¦b» is one of what the bars separate. `$r`, `$d`, `$h` and `$p` are registers of 32, 64 and 16 bits and
predicates, `$b` is the number of a barrier: with a number behind, the same one wherever the number stands in the statement, and
none that another number has. `$L1` is a label and `$n1` a number that nothing else has. `$g` is a guard or nothing, `$c` a guard,
`$plain` an instruction, `$block` a block of statements, `$wrong` one of WRONG, and `$hazard` the number of the hazard. Another name
is the method of the writer that writes the whole statement.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple


class Kind(NamedTuple):
    """A kind of statement: a weight, words for what has to be there (see module_statements.ModuleWriter.here), and its text."""

    weight: int
    needs: str
    text: str


def _any(texts: Iterable[object]) -> str:
    return f"«{'¦'.join(map(str, texts))}»"


def _each(text: str, **values: Iterable[object]) -> str:
    """The text with any value in the place of a name, the same one everywhere."""
    for name, among in values.items():
        text = _any(text.replace(name, str(value)) for value in among)
    return text


def _aligned(text: str, most: int) -> str:
    """The text with any width in the place of TYPE and REG, and an offset that fits in the place of OFFSET."""
    return _any(
        text.replace("TYPE", type).replace("REG", register).replace("OFFSET", _any(range(0, most, size)))
        for type, register, size in (("b16", "$h", 2), ("b32", "$r", 4), ("b64", "$d", 8))
    )


_SPECIAL = ("%tid.x %tid.y %ctaid.x %ctaid.z %ntid.x %nctaid.x %laneid %warpid %nwarpid %smid %nsmid %clock").split()
_SPECIAL_NOW = (
    "%clock_hi %lanemask_eq %lanemask_lt %lanemask_ge %dynamic_smem_size %total_smem_size %envreg3 %clusterid.x %nclusterid.x "
    "%cluster_ctaid.x %cluster_nctaid.x %cluster_ctarank %cluster_nctarank"
).split()
#: an instruction of those lanes of a warp that a mask names
WARP = (
    "«shfl.sync.«up¦down¦bfly¦idx».b32 $r|$p, $r, «$r¦1¦5», «31¦0¦0x1c1f¦$r», MASK;¦vote.sync.ballot.b32 $r, $p, MASK;"
    "¦vote.sync.«all¦any¦uni».pred $p, «¦!»$p, MASK;¦match.any.sync.b32 $r, $r, MASK;¦match.all.sync.b64 $r|$p, $d, MASK;"
    "¦redux.sync.«add.u32¦min.s32¦max.u32¦and.b32¦xor.b32» $r, $r, MASK;¦elect.sync $r|$p, MASK;¦bar.warp.sync MASK;»"
)
#: masks with which threads part into two groups of lanes, by the bit of their number that parts them
_GROUPS = {1: ("0xaaaaaaaa", "0x55555555"), 16: ("0xffff0000", "0x0000ffff")}
_NARROW = (
    "mov.u32 %i$n1, 0; and.b32 %i$n2, $r, «3¦3¦63»; $L1: «¦$plain ¦$plain $plain ¦$plain $plain $plain »"
    "add.u32 %i$n1, %i$n1, 1; «setp.le.u32 %q$n1, %i$n1, %i$n2; @¦setp.gt.u32 %q$n1, %i$n1, %i$n2; @!»%q$n1 bra $L1;"
)
#: a step of what leads to an index, of 32 bits: `%x1` goes from thread to thread, and `%x2` is the same in all of them
_INDEX = (
    "«««add¦sub¦mul.lo¦min».u32¦«shl¦and¦or¦xor».b32¦shr.u32» %x0, %x0, «%x1¦%x2¦%x2¦1¦3¦4¦7¦32¦63¦-1»;"
    "¦mad.lo.u32 %x0, %x0, «%x2¦4¦8¦-3», %x1;¦selp.b32 %x0, %x0, «%x1¦%x2», $p;¦$g add.u32 %x0, %x0, «%x1¦%x2¦1»;»"
)
#: formats, and the register of each argument of 8 bytes, or of two of 4
FORMATS = ("%d %x\n", "%c|%u|", "%-8x%%%o", "%*d", "%5.2f|%s", "%lld %p ")
_MEET = "barrier.cluster.arrive; barrier.cluster.wait;"

KINDS: Mapping[str, Kind] = {
    # a thread by itself
    "plain": Kind(30, "", "$plain"),
    "chain": Kind(5, "", ""),
    "packing": Kind(4, "", "$g «mov.b64 {$r1, $r2}, $d;¦mov.b64 $d, {$r1, $r2};¦mov.b32 {$h1, $h2}, $r;¦mov.b32 $r, {$h, $h};"
                           "¦mov.b64 {$h1, _, $h2, _}, $d;¦mov.b64 $d, {$h, $h, $h, $h};¦mov.b64 {$r, _}, $d;»"),
    "vectors": Kind(3, "", "{ .reg .v4 .b32 %v, %w; mov.v4.b32 %v, {$r, $r, $r, 7}; $g add.u32 %v.«x¦y¦z¦w», %v.w, $r1;"
                           " mov.v4.b32 %w, %v; xor.b32 $r1, %w.«x¦y¦z¦w», %w.r; }"),
    "wide_values": Kind(2, "today", "{ .reg .b128 %w, %v; mov.b128 %w, {$d, $d}; $g mov.b128 %v, %w; mov.b128 {$d1, $d2}, %v; }"),
    "special_registers": Kind(3, "", f"$g mov.b32 $r, {_any(_SPECIAL)};"),
    "special_registers_of_today": Kind(3, "today", f"$g mov.«b32 $r, {_any(_SPECIAL_NOW)}"
                                                   "¦b64 $d, «%clock64¦%gridid¦%globaltimer»»;"),
    "scopes": Kind(2, "", "{ .reg .b32 $r1; add.u32 $r1, $r2, 1; $plain xor.b32 $r3, $r3, $r1; }"),
    "access": Kind(10, "", ""),
    "fresh": Kind(3, "entry", ""),
    "atomic": Kind(6, "", ""),
    "offsets": Kind(4, "", _any(
        _aligned(f"$g «ld«¦.volatile»{space}.TYPE REG, [{cell}+OFFSET]¦st«¦.volatile»{space}.TYPE [{cell}+OFFSET], REG»;", 8)
        for space, cell in ((".global", "%cg"), (".shared", "%cs"), ("", "%cgs")))),
    "indices": Kind(4, "entry", "{ .reg .b32 %x<3>; .reg .b64 %y<2>; mov.u32 %x0, «%tid.x¦%tid.y¦%own¦%laneid¦%ctaid.x»;"
                    " mov.u32 %x1, «%tid.x¦%tid.y¦%own¦%ntid.x»; ld.param.b32 %x2, [block+«0¦4¦8¦12»]; and.b32 %x2, %x2, «1¦6¦7¦-1»;"
                    f" {_INDEX} {_INDEX} «¦{_INDEX}» cvt.u64.u32 %y1, %x2;"
                    " «cvt.u64.u32 %y0, %x0;¦cvt.s64.s32 %y0, %x0;¦mul.wide.«u32¦s32» %y0, %x0, «1¦4»;»"
                    " «¦«and.b64¦add.u64¦sub.u64» %y0, %y0, «%y1¦%y1¦7¦31¦-4»;» «and.b64 %y0, %y0, 15; shl.b64 %y0, %y0, 2;"
                    "¦and.b64 %y0, %y0, 60;» add.u64 %y0, %y0, %gs; ld.global.b32 $r, [%y0]; }"),
    "offsets_of_today": Kind(1, "today", _aligned("$g ld.shared::cta.TYPE REG, [%cs+OFFSET];", 8)),
    "names_of_variables": Kind(4, "", _any(_aligned(f"$g {how};", 32) for how in (
        "ld.const.TYPE REG, [constants+OFFSET]", "ld.global.TYPE REG, [common_of_all+OFFSET]"))),
    "names_of_local_variables": Kind(2, "frames", _any(_aligned(f"$g {how};", 32) for how in (
        "ld.local.TYPE REG, [own+OFFSET]", "st.local.TYPE [own+OFFSET], REG"))),
    "parameters": Kind(2, "entry", _aligned("$g ld.param.TYPE REG, [block+OFFSET];", 32)),
    "constants": Kind(2, "", "{ .reg .b64 %a; and.b32 %t, $r, 7; mad.wide.u32 %a, %t, 8, %ka; $g ld.const.b64 $d, [%a]; }"),
    "constants_by_generic_addresses": Kind(1, "today", "{ .reg .b64 %a; and.b32 %t, $r, 7; mad.wide.u32 %a, %t, 8, %kg;"
                                                       " $g ld.b64 $d, [%a]; }"),
    "asks_for_the_space": Kind(2, "", "isspacep.«global¦local¦shared» $p, «%cg¦%cgs»;"),
    "asks_for_the_space_of_local_memory": Kind(1, "frames", "isspacep.«global¦local¦shared» $p, %lg;"),
    "asks_for_the_space_of_today": Kind(1, "today frames", "isspacep.«const¦param¦shared::cluster» $p, «%lg¦%cg¦%cgs»;"),
    "dynamic_shared": Kind(3, "dynamic", "{ .reg .b32 %a; and.b32 %a, $r, 15; mad.lo.u32 %a, %a, 4, %ds; «ld.shared.b32 $r, [%a];"
                                         "¦st.shared.b32 [%a], $r;¦red.shared.add.u32 [%a], $r;» }"),
    "memory_on_the_stack": Kind(2, "stack", _each(
        "{ .reg .b64 %sv, %al; .reg .b32 %as; stacksave.u64 %sv; and.b32 %as, $r, 63; add.u32 %as, %as, SIZE;"
        " «alloca.u64 %al, SIZE, «4¦8¦16¦64»;¦cvt.u64.u32 %al, %as; alloca.u64 %al, %al;» $g st.local.b32 [%al+SIZE-4], $r;"
        " ld.local.b32 $r, [%al]; «stackrestore.u64 %sv;¦stackrestore.u64 %sv;¦» }", SIZE=(4, 8, 24))),
    # control
    "branch": Kind(5, "shallow", ""),
    "loop": Kind(3, "outer", ""),
    "table": Kind(3, "shallow today", ""),
    "leave": Kind(6, "looping", ""),
    "narrow_loops": Kind(4, "shallow", f"«{_NARROW}¦{_NARROW}¦{_NARROW} {_NARROW.replace('1', '3').replace('n2', 'n4')}»"),
    "loop_with_two_beginnings": Kind(1, "outer straight", "mov.u32 %i$n1, 0; $c bra $L2; $L1: $block $L2: $block"
                                     " add.u32 %i$n1, %i$n1, 1; setp.lt.u32 %q$n1, %i$n1, 3; @%q$n1 bra $L1;"),
    "early_end": Kind(1, "inside straight", "$c «exit¦ret»;"),
    "going_to_the_end": Kind(1, "inside straight entry", "$c bra FINISH;"),
    "call": Kind(7, "functions", ""),
    "indirect_call": Kind(5, "alike", ""),
    "recursive_call": Kind(3, "recursion", ""),
    "a_call_that_does_not_return": Kind(1, "inside straight the_end", "$c call «the_end¦another_end»;"),
    # barriers
    "meeting": Kind(3, "together today", ""),
    "exchange": Kind(3, "together", ""),
    "barriers": Kind(5, "together", "«bar.sync $b;¦mov.u32 %t, $b; bar.sync %t, %nw;¦bar.red.popc.u32 $r, $b, $p;"
                                    "¦bar.red.«and¦or».pred $p, $b, !$p;»"),
    "barriers_of_today": Kind(2, "together today", "«barrier.cta.sync.aligned $b;¦barrier.red.popc.u32 $r, $b, %nw, $p;»"),
    "some_arrive_and_some_wait": Kind(2, "together", "setp.gt.u32 %qb, %nt, 32; @!%qb bra $L3; setp.lt.u32 %qb, %own, 32;"
                                      " @%qb bra $L1; $plain bar.arrive $b1, %nw; bra $L2; $L1: bar.sync $b1, %nw; $L2: bar.sync 0; $L3:"),
    "a_barrier_of_some_warps": Kind(3, "together", "setp.«lt¦ge».u32 %qb, %own, 32; @!%qb bra $L1; $plain «bar.sync $b, 32;"
                                                   "¦bar.red.popc.u32 $r, $b, 32, $p;» $plain $L1:"),
    "a_barrier_in_a_branch_of_all": Kind(2, "together", "mov.u32 %t, %ctaid.x; and.b32 %t, %t, 1; setp.eq.u32 %qb, %t, «0¦1»;"
                                         " @%qb bra $L1; $plain bar.sync 0; $plain $L1:"),
    # all spin until the last thread of the CTA, which stands further on, has said that they may go on
    "waiting_in_a_loop": Kind(1, "together impatient", "mov.u32 %t, flag; { .reg .b32 %f, %l; bar.sync 0; st.volatile.shared.u32 [%t], 0;"
                              " bar.sync 0; sub.u32 %l, %nt, 1; setp.eq.u32 %qb, %own, %l; @%qb bra $L1;"
                              " $L2: ld.volatile.shared.u32 %f, [%t]; setp.eq.u32 %qb, %f, 0; @%qb bra $L2; bra $L3;"
                              " $L1: st.volatile.shared.u32 [%t], 1; $L3: bar.sync 0; }"),
    # warps
    "warp_together": Kind(5, "together today", WARP.replace("MASK", "«-1¦0xffffffff»")),
    "warp_in_groups": Kind(3, "together today", _any(
        f"and.b32 %t, %own, {bit}; setp.eq.u32 %qb, %t, 0; @%qb bra $L1; {WARP.replace('MASK', first)} bra $L2;"
        f" $L1: {WARP.replace('MASK', second)} $L2:" for bit, (first, second) in _GROUPS.items())),
    "warp_of_whoever_is_here": Kind(3, "apart today", f"activemask.b32 %t; {WARP.replace('MASK', '%t')}"),
    "meetings_of_ballots": Kind(2, "together today", ""),
    "votes_without_a_mask": Kind(4, "early", "$g vote.««all¦any¦uni».pred $p, «¦!»$p¦ballot.b32 $r, $p»;"),
    "shuffles_without_a_mask": Kind(4, "kepler", "$g shfl.«up¦bfly¦idx».b32 $r|$p, $r, «1¦3¦$r», 31;"),
    "banks_of_constants": Kind(6, "banks", _any(
        f"«ld.const[{bank}].u32 $r, [{name}+{_any(range(0, 64, 4))}];¦and.b32 %t, $r, 15; {{ .reg .u64 %a; mov.u64 %a, {name};"
        f" mad.wide.u32 %a, %t, 4, %a; ld.const[{bank}].u32 $r, [%a]; }}»"
        for bank, name in {0: "constants", 1: "one", 2: "two", 10: "ten"}.items())),
    # the shared memory of the CTA of the next rank, between two meetings of all
    "cluster": Kind(4, "together clusters", "{ .reg .b32 %ca, %rk; mov.u32 %rk, %cluster_ctarank; mov.u32 %t, %cluster_nctarank;"
                    f" add.u32 %rk, %rk, 1; rem.u32 %rk, %rk, %t; mapa.shared::cluster.u32 %ca, %cs, %rk; {_MEET}"
                    " «ld.shared::cluster.b32 $r, [%ca];¦st.shared::cluster.b32 [%ca+4], $r;¦atom.shared::cluster.add.u32 $r, [%ca], 3;"
                    "¦{ .reg .b64 %cw; cvt.u64.u32 %cw, %ca; cvta.shared::cluster.u64 %cw, %cw; ld.b64 $d, [%cw]; }"
                    f"¦getctarank.shared::cluster.u32 $r, %ca;» {_MEET} }}"),
    # what the host answers
    "printing": Kind(2, "prints", _any(
        "{ .reg .b64 %fm, %lp; .local .align 8 .b8 list[16];"
        + (" and.b32 %t, $r, 127; st.local.b32 [list], «$r¦%t»; st.local.b32 [list+4], %t;" if i < 3 else
           " and.b32 %t, $r, 15; st.local.b32 [list], %t; st.local.b32 [list+4], %t;" if i == 3 else
           " st.local.b64 [list], $d; mov.u64 %fm, format0; cvta.global.u64 %fm, %fm; st.local.b64 [list+8], %fm;")
        + f" mov.u64 %fm, format{i}; cvta.global.u64 %fm, %fm; cvta.local.u64 %lp, list; «$c ¦»call ($r), vprintf, (%fm, %lp); }}"
        for i in range(len(FORMATS)))),
    "memory_from_the_heap": Kind(2, "heap", "{ .reg .b64 %hp; and.b32 %t, $r, 63; add.u32 %t, %t, 8; cvt.u64.u32 %hp, %t;"
                                 " call (%hp), malloc, (%hp); setp.eq.u64 %qb, %hp, 0; @%qb bra $L1; st.b32 [%hp+4], $r;"
                                 " atom.global.add.u32 $r, [%hp+4], 5; «call free, (%hp);¦call free, (%hp);¦» $L1: }"),
    "textures": Kind(4, "textures", ""),
    "surfaces": Kind(4, "surfaces", ""),
    # what breaks a rule, or may, in those launches whose mode is the hazard's number
    "hazard": Kind(0, "", "{ .reg .pred %qh; setp.ne.u32 %qh, %mode, $hazard; @%qh bra $L1;"
                          " «¦setp.ne.u32 %qh, %own, «0¦1¦5»; @%qh bra $L1;» $wrong $L1: }"),
}  # fmt: skip

#: numbers that no pointer has, or that a pointer is too far from
_FAR = _any(("-1", "0x7fffffffffffffff", "0xfffffffffffffffc", "0x8000000", "0xefffffc", "0x30000000", "-8", "0x8000000000000000",
             "0xffffffff00000000"))  # fmt: skip
_BESIDE = _any((32, -4, 1, 2, 0x100000, 1 << 30, 12, 28, 60, 64, 1020, 1024))
_BAD = f"{{ .reg .b64 %bad; mov.b64 %bad, {_FAR};"
_WRITABLE = {"%cg": ".global", "%cs": ".shared", "%cgs": ""}
_LOCAL = {"%la": ".local", "%lg": ""}


def _loads_outside(places: Mapping[str, str]) -> str:
    """Loads of any width beside what addresses point to, by their state spaces."""
    return _any(f"ld{space}.«b32 $r¦v2.b32 {{$r, _}}¦b64 $d», [{base}+{_BESIDE}];" for base, space in places.items())


def _stores_outside(places: Mapping[str, str]) -> str:
    """Stores there."""
    return _any(
        f"st{space}.«b32 [{base}+{_BESIDE}], $r¦v4.b32 [{base}+{_BESIDE}], {{$r, $r, 1, 2}}»;"
        for base, space in places.items()
    )


#: what breaks a rule, or may
WRONG: Mapping[str, Kind] = {
    "load outside": Kind(8, "today", _loads_outside(_WRITABLE | {"%ka": ".const", "%kg": ""})),
    "load outside of local memory": Kind(4, "today frames", _loads_outside(_LOCAL)),
    "store outside": Kind(4, "today", _stores_outside(_WRITABLE)),
    "store outside of local memory": Kind(2, "today frames", _stores_outside(_LOCAL)),
    "access far outside": Kind(9, "today", f"{_BAD} «ld«¦.local¦.global¦.shared¦.const».b32 $r, [%bad];¦st.global.b16 [%bad], $h;» }}"),
    "access of any address": Kind(6, "today", "«ld.b32 $r, [$d];¦{ .reg .b64 %bad; cvta.to.global.u64 %bad, $d;"
                                              " atom.global.add.u32 $r, [%bad], 1; }»"),
    "store of a constant": Kind(2, "today", "st.b32 [%kg], $r;"),
    "store of what is read only": Kind(4, "today entry", "«st.global.b32 [%in], $r¦red.global.add.u32 [%in+4], $r»;"),
    "access of early modules": Kind(1, "early frames", "ld.local.b32 $r, [%la+«2¦32¦1048576»];"),
    "meeting": Kind(13, "today", "«bar.sync 0;¦mov.u32 %t, 16; bar.sync %t;¦bar.sync 1, 64;¦mov.u32 %t, 33; bar.sync 2, %t;"
                    "¦bar.arrive 3, 32;¦bar.red.popc.u32 $r, 0, $p;¦shfl.sync.idx.b32 $r, $r, 0, 31, 1;"
                    "¦vote.sync.ballot.b32 $r, $p, -1;¦redux.sync.add.u32 $r, $r, $r;¦bar.warp.sync 0xf0f0f0f0;"
                    "¦barrier.cluster.arrive;¦barrier.cluster.wait;¦activemask.b32 $r;¦barrier.sync $r;»"),
    "way": Kind(7, "today", "«trap;¦brkpt;¦$L1: bra $L1;¦exit;¦ret;¦T$n1: .branchtargets $L1; brx.idx $r, T$n1; $L1:"
                            "¦T$n1: .branchtargets $L1, $L1; mov.u32 %t, -1; brx.idx %t, T$n1; $L1:»"),
    "way of early modules": Kind(1, "early", "trap;"),
    "call": Kind(2, "today alike", ""),
    "endless recursion": Kind(1, "today abi frames", "{ call endless; }"),
    "stack": Kind(4, "stack", "{ .reg .b64 %bad, %sv; «alloca.u64 %bad, 70000;¦stackrestore.u64 $d;¦alloca.u64 %bad, 8; ld.local.b32 %t, [%bad+8];"
                  "¦stacksave.u64 %sv; alloca.u64 %bad, 8; stackrestore.u64 %sv; st.local.b32 [%bad], %t;» }"),
    "heap": Kind(3, "heap", "{ .reg .b64 %bad; «call free, ($d);¦call (%bad), malloc, (8); call free, (%bad);"
                            " «call free, (%bad);¦ld.b32 %t, [%bad];»» }"),
    "printing": Kind(6, "prints", "«call (_), vprintf, ($d, 0);¦{ .reg .b64 %bad; mov.u64 %bad, format5; call (_), vprintf, (%bad, 8); }"
                                  "¦call __assertfail, (0, 0, 7, 0, 1);»"),
    "surfaces": Kind(4, "surfaces", ""),
}  # fmt: skip

#: how a function or an entry ends: with an instruction that leaves it, or not
ENDS: Mapping[str, Kind] = {
    "ret": Kind(40, "", "ret;"),
    "nothing": Kind(15, "", ""),
    "label": Kind(8, "", "$c bra $L1; $L1:"),
    "guarded ret": Kind(8, "", "$c ret;"),
    "guarded exit": Kind(5, "", "$c exit;"),
    "barrier": Kind(3, "entry", "bar.sync 0;"),
    "barrier of a warp": Kind(1, "apart today", "bar.warp.sync 1;"),
    "exit": Kind(5, "entry", "exit;"),
    "exit of a function": Kind(2, "apart", "exit;"),
    "call": Kind(5, "the_end", "call the_end;"),
}

#: the module's variables, by the names that text has to contain for them to be there
VARIABLES = {
    "mode": ".global .u32 mode;",
    "cells_of_all": ".global .align 16 .b64 cells_of_all[128];",
    "common_of_all": f".global .align 16 .b32 common_of_all[16] = {{{', '.join(map(str, range(1, 17)))}}};",
    "constants": ".const .align 16 .b32 constants[16] = {5, 0x80000000, -1, 0x7fffffff, 9, 0, 0x3f800000, 0x7fc00000};",
    **{name: f".extern .const[{bank}] .b32 {name}[];" for name, bank in (("one", 1), ("two", 2), ("ten", 10))},
    "cells": ".shared .align 16 .b64 cells[128];",
    "common": ".shared .align 16 .b32 common[8];",
    "flag": ".shared .b32 flag;",
    "dynamic": ".extern .shared .align 16 .b8 dynamic[];",
    "vprintf": ".extern .func (.param .b32 r) vprintf(.param .b64 format, .param .b64 arguments);",
    "malloc": ".extern .func (.param .b64 r) malloc(.param .b64 size);",
    "free": ".extern .func free(.param .b64 p);",
    "__assertfail": ".extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 g, .param .b64 s);",
    "endless": ".func endless() { call endless; ret; }",
    "the_end": ".func the_end() .noreturn { .reg .b32 a; mov.u32 a, 1; exit; }",
    "another_end": ".func another_end() .noreturn { exit; ret; }",
    **{
        f"format{i}": f".global .align 1 .b8 format{i}[{len(f) + 1}] = {{{', '.join(map(str, f.encode() + bytes(1)))}}};"
        for i, f in enumerate(FORMATS)
    },
}
#: places in the variable `seen`, of which a statement sets its own when it is executed
PLACES = [*KINDS, *(f"{what} ends with {way}" for what in ("function", "entry") for way in ENDS)]

#: registers with addresses and numbers (see random_program.Addresses)
ADDRESSES = (
    (("%nt",), "mov.u32 %nt, %ntid.x; mov.u32 %t, %ntid.y; mul.lo.u32 %nt, %nt, %t;"),
    (("%own",), "mov.u32 %own, %tid.y; mov.u32 %t, %ntid.x; mul.lo.u32 %own, %own, %t; mov.u32 %t, %tid.x; add.u32 %own, %own, %t;"),
    (("%gid",), "mov.u32 %gid, %ctaid.y; mov.u32 %t, %nctaid.x; mul.lo.u32 %gid, %gid, %t; mov.u32 %t, %ctaid.x; add.u32 %gid, %gid, %t;"
               " mad.lo.u32 %gid, %gid, %nt, %own;"),
    (("%in",), "and.b32 %t, %gid, 63; mad.wide.u32 %in, %t, 256, %in;"),
    (("%out",), "mad.wide.u32 %out, %gid, 256, %out;"),
    (("%nw",), "add.u32 %nw, %nt, 31; and.b32 %nw, %nw, -32;"),
    (("%mode",), "ld.global.u32 %mode, [mode];"),
    (("%la",), "mov.u64 %la, own;"),
    (("%lg",), "cvta.local.u64 %lg, own;"),
    (("%cs",), "and.b32 %cs, %own, 127; shl.b32 %cs, %cs, 3; mov.u32 %t, cells; add.u32 %cs, %cs, %t;"),
    (("%xs",), "mov.u32 %xs, %cs;"),
    (("%xn",), "add.u32 %xn, %own, 1; rem.u32 %xn, %xn, %nt; and.b32 %xn, %xn, 127; shl.b32 %xn, %xn, 3; mov.u32 %t, cells; add.u32 %xn, %xn, %t;"),
    (("%ss",), "mov.u32 %ss, common;"),
    (("%cgs",), "cvt.u64.u32 %cgs, %cs; cvta.shared.u64 %cgs, %cgs;"),
    (("%cg",), "and.b32 %t, %gid, 127; mov.u64 %cg, cells_of_all; mad.wide.u32 %cg, %t, 8, %cg;"),
    (("%gs",), "mov.u64 %gs, common_of_all;"),
    (("%ka",), "mov.u64 %ka, constants;"),
    (("%kg",), "cvta.const.u64 %kg, constants;"),
    (("%ds",), "mov.u32 %ds, dynamic;"),
)  # fmt: skip
