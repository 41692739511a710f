"""Steps of random scripts: instructions that came with Hopper, with operands that a kernel has in registers.

A step is a number of 64 bits: from its lowest bit on the instruction (8 bits), an operand (24), a place in shared and in global memory
(12), three coordinates (4 each), and bytes in units of 16 (8). The kernel has, for each step, registers with these: `%x`, `%at` and
`%from` and `%into`, `%c0` to `%c2`, `%size`; and of the next CTA of the cluster `%to` and `%tobar`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import NamedTuple

from ptxspec.language.forms import Form, forms
from ptxspec_workshop.generate import object_cases, product_operands
from ptxspec_workshop.generate import object_scripts as scripts

CLUSTER = "shared::cluster"
#: the greatest rank of a tensor, and the columns of B that a product has at most
RANK, COLUMNS = 3, 24
#: bytes of a box
BOX = 64
#: how many forms of products there are in one kernel, and accumulators of a thread
PRODUCTS, REGISTERS = 3, 12
#: of how many definitions one kernel has forms: the more, the longer it takes to be compiled
DRAWN = 14


class Step(NamedTuple):
    """What a script may have a thread do: the instructions, what stands in %given then, whether all threads of a warpgroup do it
    together, and the definition and the form."""

    text: str
    gives: str = ""
    together: bool = False
    definition: str = ""
    form: str = ""
    amount: int = 0  #: bytes that arrive at an object, if `%size` does not say how many

    @property
    def needs_another(self) -> bool:
        """Whether there must be another CTA."""
        return self.definition in ("st_async", "red_async") or self.definition.endswith("within_cluster")

    @property
    def weight(self) -> float:
        """How often a script has the step, by itself."""
        if not self.definition or self.definition.startswith(("mbarrier", "barrier")):
            return 0.05
        return 0.2 if self.completes else 1

    @property
    def completes(self) -> bool:
        """Whether bytes arrive at an object."""
        return "complete_tx::bytes" in self.text


def _shared(form: Form, cta: str, cluster: str, generic: str) -> str:
    """An address in the state space that a form names."""
    space = form.modifiers.get("ss")
    return f"[{cluster if space == CLUSTER else cta if space else generic}]"


def _place(form: Form) -> str:
    return _shared(form, "%at", "%to", "%atg")


def _bar(form: Form, source: random.Random) -> str:
    return _shared(form, "%mine", source.choice(["%tobar", "%mine", "%mine", "%mine"]), "%wide")


def _map(form: Form, source: random.Random) -> str:
    """A tensor map of the form's rank, or sometimes another."""
    rank = int(str(form.modifiers["dim"])[0])
    pixels = "im2col" in form.mnemonic
    maps = {"%map1": (1, False), "%map2": (2, False), "%live": (2, False), "%map3": (3, False), "%pixels": (3, True)}
    fitting = [name for name, kind in maps.items() if kind == (rank, pixels)]
    return source.choice(fitting if source.random() < 0.99 else list(maps))


def _at(form: Form, source: random.Random) -> str:
    """Coordinates, of which the first is a multiple of 16 bytes, nearly always."""
    rank = int(str(form.modifiers["dim"])[0])
    names = [f"%c{d}" for d in range(rank)]
    if "im2col" in form.mnemonic:
        names[:2] = ["%zero", "%pixel"]
    elif source.random() < 0.02:
        names.reverse()
    return "{" + ", ".join(names) + "}"


def _tensor(form: Form, source: random.Random) -> dict[str, str]:
    several = "mask" in form.definition.sources
    shared = "[%at]" if several else _place(form)
    bar = "[%mine]" if several else _shared(form, "%mine", "%tobar", "%wide")
    return {
        "a": shared, "m": bar, "map": _map(form, source), "c": _at(form, source), "b": "[%at]", "mask": "%mask",
        "offsets": "{%few}", "policy": "0x1000000000000000",
    }  # fmt: skip


def _bulk(form: Form, source: random.Random) -> dict[str, str]:
    """Of copies and reductions of bytes."""
    name = form.definition.name
    several, within = "mask" in form.definition.sources, name.endswith("within_cluster")
    leaves = name in ("cp_async_bulk_to_global", "cp_reduce_async_bulk")
    to = "[%into]" if leaves else "[%at]" if several else "[%to]" if within else _place(form)
    bar = "[%mine]" if several else "[%tobar]" if within else _shared(form, "%mine", "%tobar", "%wide")
    of = "[%at]" if leaves or within else "[%from]"
    return {"a": to, "b": of, "m": bar, "size": "%size", "mask": "%mask", "policy": "0x1000000000000000"}


def _carried(form: Form, source: random.Random) -> dict[str, str]:
    """Of st.async and red.async."""
    wide, vec = form.modifiers["type"].width == 64, form.modifiers.get("vec")
    names = (("%step", "%state") if wide else ("%x", "%op")) * 2
    value = "{" + ", ".join(names[: int(vec[1:])]) + "}" if vec else names[0]
    generic = not form.modifiers.get("ss")
    return {"a": "[%tog]" if generic else "[%to]", "b": value, "m": "[%tobarg]" if generic else "[%tobar]"}


def _replaced(form: Form, source: random.Random) -> dict[str, str]:
    space = str(form.modifiers.get("ss") or "")
    live = source.choice(["[%live]", "[%live+128]", "[%live+128]"])
    address = live if space == "global" else "[%at]" if space else source.choice(["[%atg]", live])
    value = "%step" if form.modifiers["type"].width == 64 else "%x"
    return {"a": address, "value": value, **_constant(form, source, "ord", "number")}


def _copy(form: Form, source: random.Random) -> dict[str, str]:
    """Of cp.async."""
    given = {"a": _place(form), "b": "[%from]", "read": "%left", "ignored": "%p", "policy": "0x1000000000000000"}
    return given | _constant(form, source, "size")


def _constant(form: Form, source: random.Random, *names: str) -> dict[str, str]:
    """Constants that a form takes for operands that it has."""
    asked = {o.name for o in form.syntax.operands}.intersection(names)
    return {
        name: str(source.choice(list(form.definition.constants(name, form.modifiers) or range(3))))
        for name in sorted(asked)
    }


def _other(form: Form, source: random.Random) -> dict[str, str]:
    """What an instruction may have that has no more than a few operands."""
    given = {"a": "[%live]", "n": str(source.randrange(3)), "count": str(source.choice([24, 40, 64, 152, 232]))}
    given |= {"size": "128", "b": "[%at]", "membermask": source.choice(["%alone", "%alone", "-1"])}
    if form.definition.name == "cp_async_mbarrier_arrive":
        given["a"] = _bar(form, source)
    if form.definition.name == "wgmma_wait_group":
        given["count"] = str(source.randrange(3))
    if form.definition.name == "tensormap_cp_fenceproxy":
        given["a"] = "[%live+128]"
    if form.definition.name == "prefetch_description":
        given["a"] = "[map2]" if "param" in form.mnemonic else source.choice(["[%map2]", "[%live]"])
    return given | {"d": "%op|%p"}


Operands = Callable[[Form, random.Random], dict[str, str]]
#: by the names of definitions, how operands are drawn
DEFINITIONS: Mapping[str, Operands] = {
    **dict.fromkeys(("cp_async_bulk", "cp_async_bulk_multicast", "cp_async_bulk_within_cluster", "cp_async_bulk_to_global"), _bulk),
    **dict.fromkeys(("cp_reduce_async_bulk", "cp_reduce_async_bulk_within_cluster", "cp_async_bulk_prefetch"), _bulk),
    **dict.fromkeys((f"cp_async_bulk_tensor{what}" for what in ("", "_im2col", "_multicast", "_im2col_multicast")), _tensor),
    **dict.fromkeys(("cp_async_bulk_prefetch_tensor", "cp_async_bulk_prefetch_tensor_im2col"), _tensor),
    **dict.fromkeys(("cp_async_bulk_tensor_to_global", "cp_async_bulk_tensor_pixels_to_global"), _tensor),
    **dict.fromkeys(("cp_reduce_async_bulk_tensor", "cp_reduce_async_bulk_tensor_pixels"), _tensor),
    **dict.fromkeys(("st_async", "red_async"), _carried),
    **dict.fromkeys((f"tensormap_replace_{field}" for field in ("address", "rank", "extent", "stride", "number")), _replaced),
    **dict.fromkeys(("cp_async", "cp_async_ignoring"), _copy),
    **dict.fromkeys(("cp_async_bulk_commit_group", "cp_async_bulk_wait_group", "cp_async_commit_group", "cp_async_wait_group"), _other),
    **dict.fromkeys(("cp_async_wait_all", "cp_async_mbarrier_arrive", "fence_proxy", "fence_restricted", "fence_of_copies"), _other),
    **dict.fromkeys(("fence_of_description", "prefetch_description", "elect_sync", "griddepcontrol"), _other),
    **dict.fromkeys(("barrier_cluster_arrive", "barrier_cluster_wait"), _other),
}  # fmt: skip
#: what the threads of a warp or of a warpgroup do together
TOGETHER: Mapping[str, Operands] = dict.fromkeys(
    ("wgmma_fence", "wgmma_commit_group", "wgmma_wait_group", "setmaxnreg", "tensormap_cp_fenceproxy"), _other
)
#: copies that complete in groups of a thread or on objects: beside products, they are more kinds of completion than a kernel may have
BY_THREADS = (
    "cp_async",
    "cp_async_ignoring",
    "cp_async_commit_group",
    "cp_async_wait_group",
    "cp_async_wait_all",
    "cp_async_mbarrier_arrive",
)
#: those that a script has more often than others of its kernel
OFTEN = ("cp_async_bulk_commit_group", "cp_async_bulk_wait_group", "fence_proxy")
#: instructions beside those of one form; 'W' stands for the number of the step
PLAIN = (
    Step("ld.shared.u32 %op, [%at];", "cvt.u64.u32 %given, %op;"),
    Step("st.shared.u32 [%at], %x;"),
    Step("ld.global.u32 %op, [%into];", "cvt.u64.u32 %given, %op;"),
    Step("st.shared::cluster.u32 [%to], %x;"),
    Step("bar.warp.sync -1;"),
    Step("LW: mbarrier.try_wait.parity.shared.b64 %p, [%mine], 0; @!%p bra LW;"),
    Step("LW: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p, [%mine], 1; @!%p bra LW;"),
    Step("barrier.cluster.arrive; barrier.cluster.wait;"),
    Step("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"),
)
PLAIN_TOGETHER = (
    Step("bar.sync 0;", together=True),
    Step("mov.b32 %op, %r0;", "cvt.u64.u32 %given, %op;", True),
    Step("mov.b32 %r5, %x;", together=True),
    Step("mov.b32 %a1, %x; mov.b32 %m, %x;", together=True),
    Step("elect.sync %op|%p, -1;", "selp.u64 %given, 1, 0, %p;", True),
    Step("wgmma.wait_group.sync.aligned 0;", together=True),
)


@cache
def by_definition() -> Mapping[str, list[Form]]:
    """The forms of each definition that sm_90a has."""
    result: dict[str, list[Form]] = {}
    for form in forms():
        if (form.only and "sm_90a" not in form.only) or form.availability[0] > (9, 0) or form.availability[1] > 90:
            continue
        rank = str(form.modifiers.get("dim", "1"))[0]
        if not form.is_dropped and (not rank.isdigit() or int(rank) <= RANK):
            result.setdefault(form.definition.name, []).append(form)
    return result


@cache
def products() -> Mapping[str, list[Form]]:
    """The products of few columns, by their definitions."""
    result: dict[str, list[Form]] = {}
    for name, some in by_definition().items():
        few = [f for f in some if product_operands.is_product(f) and product_operands.operands_of(f).columns <= COLUMNS]
        if few:
            result[name] = few
    return result


def _written(form: Form, operands: Mapping[str, str]) -> str:
    return form.written({o.name: operands[o.name] for o in form.syntax.operands})


def on_objects(source: random.Random) -> Iterator[Step]:
    """The steps of scripts on objects, by their numbers, each in a spelling of its own."""
    for number, usual in enumerate(scripts.STEPS):
        names = [name for name, step in object_cases.OPERATIONS.items() if step == number]
        gives = scripts.GIVES.get(number, "")
        if not names:
            yield Step(usual, gives)
            continue
        name = source.choice(names)
        form = source.choice(by_definition()[name])
        d = "%x" if number == scripts.COUNT else "%state"
        given = {"a": _bar(form, source), "hint": "%hint", "state": "%state", "d": d, "p": "%p", "_": "_"}
        text = _written(form, {o.name: given.get(o.name, "%x") for o in form.syntax.operands})
        yield Step(text, gives, False, name, str(form))


def _amount(form: Form) -> int:
    """The bytes that a form moves, where they do not depend on its operands."""
    if form.definition.name in ("st_async", "red_async"):
        return int(form.modifiers["type"].bytes * int(str(form.modifiers.get("vec") or "v1")[1:]))
    return BOX if "dim" in form.modifiers else 0


def steps(source: random.Random, in_warpgroup: bool) -> list[Step]:
    """What the scripts of one kernel may do: first what is about objects, as in object_scripts.py."""
    result = [*on_objects(source), *PLAIN]
    drawn = {*source.sample(sorted(DEFINITIONS), DRAWN), *OFTEN}
    wanted = {n: o for n, o in DEFINITIONS.items() if n in drawn and (not in_warpgroup or n not in BY_THREADS)} | (
        TOGETHER if in_warpgroup else {}
    )
    for name, operands in wanted.items():
        candidates = [f for f in by_definition()[name] if in_warpgroup or "aligned" not in f.modifiers]
        candidates = [f for f in candidates if ".const" not in f.mnemonic]
        for _ in range(1 + (name in OFTEN)):
            form = source.choice(candidates)
            together = name in TOGETHER or "aligned" in form.modifiers
            text = _written(form, operands(form, source))
            result.append(Step(text, "", together, name, str(form), _amount(form)))
    if in_warpgroup:
        result += [*PLAIN_TOGETHER, *(product(source) for _ in range(PRODUCTS))]
    return result


def product(source: random.Random) -> Step:
    """A product of few columns, of a matrix at %at and another one, or of registers."""
    name = source.choice(sorted(products()))
    form = source.choice(products()[name])
    about = product_operands.operands_of(form)
    operands = {
        "d": "{" + ", ".join(f"%r{i}" for i in range(about.registers)) + "}", "a": "{%a0, %a1, %a2, %a3}",
        "a_desc": "%da", "b_desc": "%db", "metadata": "%m", "scale_d": source.choice(["1", "0", "%p"]),
        "scale_a": source.choice(["1", "-1"]), "scale_b": source.choice(["1", "-1"]),
    }  # fmt: skip
    operands |= {name: source.choice("01") for name in ("trans_a", "trans_b")}
    return Step(_written(form, operands | _constant(form, source, "selector")), "", True, name, str(form))
