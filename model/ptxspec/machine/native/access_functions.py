"""Functions of the loads and stores of a warp: one check for the bytes of all lanes, where these lie near one another.

The step of spec/machine/access.md is taken once, for the range from the first of the lanes' bytes to the last. If that may not be
accessed as a whole, nothing is said yet: the lanes then make their accesses one after the other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from ptxspec import contracts
from ptxspec.machine.blocks import SHADOW
from ptxspec.machine.driver.places import LANES
from ptxspec.machine.native.accesses import ADDRESS, Accesses, EmitCheck, EmittedStorage
from ptxspec.machine.native.context import OWN
from ptxspec.machine.native.global_blocks import SAVE
from ptxspec.machine.native.head import Head
from ptxspec.machine.native.layout import Layout
from ptxspec.machine.native.text import FunctionText
from ptxspec.machine.native.warp_registers import NUMBERS, WORD, of_warp, vector_of
from ptxspec.terms.core import Bool, Int, integer, truth_variable, variable
from ptxspec.terms.effects import Load, Store
from ptxspec.terms.lowering import Lowering
from ptxspec.terms.vectors import VectorEmitter

#: the longest range that is checked as a whole, in bytes, where each byte has a state that is looked at, or where all pages
#: of the range are saved; and the longest that is checked otherwise
LONGEST, WIDEST = 4_096, 1 << 31
#: states of bytes that are looked at at once
STATES = LANES
#: bytes that a lane loads at once as several words; a processor gathers word by word
TOGETHER = 16
#: the type of the addresses of all lanes
ADDRESSES = vector_of("i64")
#: goes to `save` if the pages of a long range are still to be saved, and else to `write`
_UNSAVED = (
    "  %unsaved.row = load ptr, ptr %unsaved\n  %is_unsaved = icmp ne ptr %unsaved.row, null\n"
    "  br i1 %is_unsaved, label %save, label %write"
)


class WarpStorage(EmittedStorage):
    """The memory of a launch as an access of a whole warp reaches it. Memory of threads it leaves to them."""

    #: memory of the function that gets the row of the block whose pages have still to be saved, one for each lane
    unsaved: str | None = None

    def save(self, address: str, length: int | str) -> None:
        """Save the pages of a short range. Those of a long one the lanes save, each the one that it stores to."""
        if self.unsaved is None:
            super().save(address, length)
            return
        e, text = self.emitter, self.text
        short, long, saved = (text.label(stem) for stem in ("short", "long", "saved"))
        text.lines.append(
            f"  br i1 {e.compare('ule', str(length), str(LONGEST), 64)}, label %{short}, label %{long}\n{long}:\n"
            f"  store ptr {self.row}, ptr {self.unsaved}\n  br label %{saved}"
        )
        text.begin(short)
        super().save(address, length)
        text.lines.append(f"  br label %{saved}")
        text.begin(saved)

    def _length(self, space: str, size: Int | int) -> int | str:
        """The length alone: those who have the access made count what all lanes move."""
        return size if isinstance(size, int) else self.low(size)

    def own(self, shared_by: str, address: Int) -> tuple[Int, Int]:
        if shared_by == contracts.state_spaces.THREAD:
            self.pending.append("false")
        return super().own(shared_by, address)

    def each_state(self, space: str, start: Int, count: Int, holds: Callable[[Int], Bool]) -> Bool:
        """The same for some states at a time, the last of them again; a short range as it is elsewhere."""
        self.checked()
        text, e = self.text, cast(VectorEmitter, self.emitter)
        array, first, most = self._states_of(space, start, count)
        many, look, on, join = (text.label(s) for s in ("many", "look", "on", "states"))
        # a warp's range is seldom shorter
        self.accesses.check(e.compare("uge", most, str(STATES), 64), "0", self.index)
        text.lines.append(f"  br label %{many}")
        text.begin(many)
        known = e.known()
        last = e.binary("sub", most, str(STATES), 64)
        text.lines.append(f"  br label %{look}")
        text.begin(look)
        name = f"%k{len(text.lines)}"
        text.lines.append(f"  {name} = phi i64 [0, %{many}], [{name}n, %{on}]")
        inner = e.known()
        past = e.compare("ugt", name, last, 64)
        at = e.select(past, last, name, 64)
        cell = text.at(array, e.binary("add", first, at, 64), 1, STATES)
        states = e.fresh()
        text.lines.append(f"  {states} = load <{STATES} x i8>, ptr {cell}, align 1")
        e.varying.add(states)
        fine = Lowering(e, {"%state": states}).truth(holds(variable("%state", 8)))
        all_fine = e.compare("eq", e.bits(fine), "-1", LANES)
        text.lines.append(f"  br i1 {all_fine}, label %{on}, label %{join}")
        text.begin(on)
        e.go_back(inner)
        text.lines.append(
            f"  {name}n = add i64 {name}, {STATES}\n  {name}more = icmp ult i64 {name}n, {most}\n"
            f"  br i1 {name}more, label %{look}, label %{join}"
        )
        text.begin(join)
        e.go_back(known)
        text.lines.append(f"  {name}all = phi i1 [true, %{on}], [false, %{look}]")
        self.words[f"{name}all"] = f"{name}all"
        return truth_variable(f"{name}all")


def result_type(effect: Load | Store) -> str:
    """What the functions give: whether the access was made, and the vectors that were loaded."""
    if isinstance(effect, Store):
        return "i1"
    return f"{{i1, {', '.join([vector_of(f'i{effect.type.width}')] * effect.count)}}}"


class AccessFunctions:
    """Functions of the loads and stores of a warp whose lanes may be anywhere near one another, one for each kind."""

    def __init__(self, layout: Layout, needs: set[str]):
        self.layout, self.needs = layout, needs
        self.texts: list[str] = []
        self._names: dict[tuple[object, ...], str] = {}

    def of(self, effect: Load | Store, space: str) -> str:
        """The name of the function `(context, base, acting, site, addresses, …)`, which gives false where nothing is done yet,
        and the lanes have to make their accesses one after the other. Behind the addresses comes what is stored; what is loaded
        is given (`result_type`)."""
        return self._name("near", effect, space, self._near)

    def in_shape(self, effect: Load | Store, space: str) -> str:
        """The name of the function `(context, base, acting, site, base address, step, jump, holds, …)` that does the same for a
        whole warp whose addresses have a shape (vectors.py): in each half of the lanes bytes lie side by side, or (a load) are
        the same."""
        return self._name("row", effect, space, self._row)

    def _row(self, name: str, effect: Load | Store, space: str, count: int) -> str:
        """The function for what most accesses are: those of a whole warp whose bytes lie side by side, or (a load) are the same,
        within the block of the last ones, and in pages that have been saved. Others it leaves to the function for all shapes. It
        becomes a part of the code that calls it, if that is likely to pay."""
        others = self._name("shaped", effect, space, self._shaped)
        text, e, lines, check = self._begun()
        size, element, write = effect.bytes, f"i{effect.type.width}", isinstance(effect, Store)
        words = [f"%w{i}" for i in range(count)]
        e.varying |= {*words} if write else set()
        whole = e.logic("and", e.compare("eq", "%acting", "-1", LANES), "%holds")
        steps = e.logic(
            "and", e.compare("eq", "%step", str(size), 64), e.compare("eq", "%jump", str(LANES // 2 * size), 64)
        )
        same = "false" if write else e.compare("eq", e.binary("or", "%step", "%jump", 64), "0", 64)
        check(e.logic("and", whole, steps if write else e.logic("or", steps, same)), "0", 0)
        storage = WarpStorage(Accesses(text, check, site="%site"), "%begin", size, 0, shadow=effect.shadow)
        storage.stays = True
        length, alike = str(LANES * size), str(size)
        whole_row = integer(LANES * size) if write else storage.word(e.select(same, alike, length, 64))
        pointer = contracts.access.access(space, ADDRESS, size, write, effect.into, storage, whole_row)
        align, attributes = min(effect.type.bytes, 8), " alwaysinline" if self._inline else ""
        given = _given(e, effect)
        passed = ", ".join(["ptr %context", "i64 %base", f"{WORD} %acting", "i64 %site", *given])
        type = result_type(effect)
        refused = f"  %others = tail call {type} {others}({passed})\n  ret {type} %others"
        if write:
            _stored(e, lines, words, element, pointer, LANES, align)
            lines.append("  ret i1 true")
            return self._whole(name, text, effect, given, refused, attributes)
        lines.append(f"  br i1 {same}, label %same, label %row\nrow:")
        known = e.known()
        _return(e, lines, effect, _loaded(e, lines, element, pointer, LANES, count, align))
        lines.append("same:")
        e.go_back(known)
        _return(e, lines, effect, _alike(e, lines, element, pointer, count, effect.type.bytes, align))
        return self._whole(name, text, effect, given, refused, attributes)

    @property
    def _inline(self) -> bool:
        """Whether most accesses are likely to be to rows, and not so many that to compile them in place takes long. With
        coordinates of two dimensions, lanes often are some of several rows."""
        return self.layout.has_few_accesses and self.layout.has_one_dimension

    def _shaped(self, name: str, effect: Load | Store, space: str, count: int) -> str:
        text, e, lines, check = self._begun()
        size, half, element = effect.bytes, LANES // 2, f"i{effect.type.width}"
        align, write = min(effect.type.bytes, 8), isinstance(effect, Store)
        words = [f"%w{i}" for i in range(count)]
        e.varying |= {*words} if write else set()
        steps, same = e.compare("eq", "%step", str(size), 64), e.compare("eq", "%step", "0", 64)
        whole = e.logic("and", e.compare("eq", "%acting", "-1", LANES), "%holds")
        least, most = e.spans("%step", "%jump")
        length = e.binary("add", e.binary("sub", most, least, 64), str(size), 64)
        fine = e.logic("and", whole, steps if write else e.logic("or", steps, same))
        fine = e.logic("and", fine, e.compare("ule", length, str(self._longest), 64))
        low = e.binary("and", "%jump", str(size - 1), 64)
        check(e.logic("and", fine, e.compare("eq", low, "0", 64)), "0", 0)
        begin = e.binary("add", "%begin", least, 64)
        storage = self._storage(text, check, begin, size, write, effect.shadow)
        pointer = contracts.access.access(space, ADDRESS, size, write, effect.into, storage, storage.word(length))
        goes_on = e.logic("and", steps, e.compare("eq", "%jump", str(half * size), 64))
        lines.append(
            f"  %first = getelementptr i8, ptr {pointer}, i64 {e.binary('sub', '0', least, 64)}\n"
            f"  %second = getelementptr i8, ptr %first, i64 %jump\n  br i1 {goes_on}, label %row, label %halves"
        )
        known = e.known()
        text.begin("row")
        if write:
            _stored(e, lines, words, element, "%first", LANES, align)
            lines.append(f"  ret i1 true\nhalves:\n{_UNSAVED}\nsave:")
            second = e.binary("add", "%begin", "%jump", 64)
            for half_begin in ("%begin", second):
                if effect.shadow:
                    half_begin = e.binary("add", half_begin, str(SHADOW), 64)
                half_bytes = f"ptr %unsaved.row, i64 %saved_mark, i64 {half_begin}, i64 {half * size}"
                lines.append(f"  call void @ptxspec_save_all({half_bytes})")
            lines.append("  br label %write\nwrite:")
            for place, begin_lane in (("%first", 0), ("%second", half)):
                parts = [_part(e, lines, w, element, begin_lane) for w in words]
                _stored(e, lines, parts, element, place, half, align)
        else:
            _return(e, lines, effect, _loaded(e, lines, element, "%first", LANES, count, align))
            lines.append(f"halves:\n  br i1 {steps}, label %steps, label %same\nsteps:")
            both = [_loaded(e, lines, element, p, half, count, align) for p in ("%first", "%second")]
            _return(e, lines, effect, [_joined(e, lines, a, b, element) for a, b in zip(*both, strict=True)])
            lines.append("same:")
            e.go_back(known)
            alike, places = [], ", ".join(f"i32 {k if k < half else LANES + k}" for k in range(LANES))
            both = [_alike(e, lines, element, p, count, effect.type.bytes, align) for p in ("%first", "%second")]
            for two in zip(*both, strict=True):
                alike.append(e.fresh())
                pair = ", ".join(f"{e.type(element)} {v}" for v in two)
                lines.append(f"  {alike[-1]} = shufflevector {pair}, <{LANES} x i32> <{places}>")
            _return(e, lines, effect, alike)
        if write:
            lines.append("  ret i1 true")
        return self._whole(name, text, effect, _given(e, effect))

    @property
    def _longest(self) -> int:
        """How long a range of addresses may be that is checked as a whole."""
        return LONGEST if self.layout.program.has_heap else WIDEST

    def _storage(
        self, text: FunctionText, check: EmitCheck, begin: str, size: int, write: bool, shadow: bool
    ) -> WarpStorage:
        """The memory, or its shadow, for an access to a range of this beginning that may be long."""
        storage = WarpStorage(Accesses(text, check, site="%site"), begin, size, 0, shadow=shadow)
        if write:
            self.needs.update(SAVE)
            storage.unsaved = "%unsaved"
            text.lines.append("  %unsaved = alloca ptr\n  store ptr null, ptr %unsaved")
        return storage

    def _begun(self) -> tuple[FunctionText, VectorEmitter, list[str], EmitCheck]:
        """The text of a function, its emitter and its lines; and how a check is written that fails."""
        text = FunctionText(self.layout, self.needs, of_warp)

        def check(condition: str, address: str, index: int, why: int | str = OWN) -> None:
            good = text.label("good")
            text.lines.append(f"  br i1 {condition}, label %{good}, label %refused, !prof !0")
            text.begin(good)

        return text, cast(VectorEmitter, text.emitter), text.lines, check

    def _whole(
        self,
        name: str,
        text: FunctionText,
        effect: Load | Store,
        given: list[str],
        refused: str = "",
        attributes: str = "",
    ) -> str:
        head, type = Head(text, set()), result_type(effect)
        passed = ", ".join(["ptr noalias %context", "i64 %base", f"{WORD} %acting", "i64 %site", *given])
        return "\n".join(
            [
                f"define internal {type} {name}({passed}){attributes} {{",
                "entry:\n  %thread = add i64 %base, 0",
                *head.fields(),
                *head.places(),
                *text.lines,
                f"refused:\n{refused or f'  ret {type} zeroinitializer'}\n}}",
            ]
        )

    def _name(
        self, kind: str, effect: Load | Store, space: str, made: Callable[[str, Load | Store, str, int], str]
    ) -> str:
        count = effect.count if isinstance(effect, Load) else len(effect.values)
        key = (kind, space, isinstance(effect, Store), effect.type.name, count, tuple(effect.into), effect.shadow)
        if key not in self._names:
            self._names[key] = f"@{kind}_{len(self._names)}"
            self.texts.append(made(self._names[key], effect, space, count))
        return self._names[key]

    def _near(self, name: str, effect: Load | Store, space: str, count: int) -> str:
        text, e, lines, check = self._begun()
        size, write = effect.bytes, isinstance(effect, Store)
        element, bytes = f"i{effect.type.width}", effect.type.bytes
        align = min(bytes, 8)
        words = [f"%w{i}" for i in range(count)]
        e.varying |= {"%address", *words}

        first = e.emit("call i32 @llvm.cttz.i32(i32 %acting, i1 true)")
        start = e.emit(f"extractelement {ADDRESSES} %address, i32 {first}")
        behind = e.binary("sub", "%address", start, 64)
        near = e.compare("ult", e.binary("add", behind, str(1 << 31), 64), str(1 << 32), 64)
        lanes = e.truths("%acting")
        all_near = e.compare("eq", e.binary("and", e.bits(near), "%acting", LANES), "%acting", LANES)
        short = e.select(lanes, e.truncate(behind, 64, 32), "0", 32)
        least, most = e.reduced("smin", short, 32), e.reduced("smax", short, 32)
        if size > 1:
            low = e.binary("and", e.reduced("or", short, 32), str(size - 1), 32)
            all_near = e.logic("and", all_near, e.compare("eq", low, "0", 32))
        wide_least, wide_most = e.extend(least, 32, 64, True), e.extend(most, 32, 64, True)
        length = e.binary("add", e.binary("sub", wide_most, wide_least, 64), str(size), 64)
        check(e.logic("and", all_near, e.compare("ule", length, str(self._longest), 64)), "0", 0)
        begin = e.binary("add", start, wide_least, 64)
        storage = self._storage(text, check, begin, size, write, effect.shadow)
        pointer = contracts.access.access(space, ADDRESS, size, write, effect.into, storage, storage.word(length))
        at = e.binary("sub", short, least, 32)
        of_lane = e.binary("add", begin, str(SHADOW), 64) if effect.shadow else begin
        if write:
            lines.append(f"  %behind = alloca {NUMBERS}\n  store {NUMBERS} {at}, ptr %behind")
            for i in range(count):
                lines.append(f"  %p{i} = alloca {e.type(element)}\n  store {e.type(element)} %w{i}, ptr %p{i}")
            lines.append(
                f"  br label %before\nbefore:\n  br label %look\nlook:\n"
                f"  %left = phi {WORD} [%acting, %before], [%fewer, %write]\n"
                f"  %some = icmp ne {WORD} %left, 0\n  br i1 %some, label %do, label %done\ndo:\n"
                f"  %lane = call {WORD} @llvm.cttz.i32({WORD} %left, i1 true)\n"
                f"  %at = getelementptr i32, ptr %behind, {WORD} %lane\n  %by = load i32, ptr %at\n"
                f"  %to = getelementptr i8, ptr {pointer}, i32 %by\n{_UNSAVED}\nsave:\n"
                f"  %by.wide = zext i32 %by to i64\n  %lane.at = add i64 {of_lane}, %by.wide\n"
                "  call void @ptxspec_save(ptr %unsaved.row, i64 %saved_mark, i64 %lane.at)\n  br label %write\nwrite:"
            )
            for i in range(count):
                lines.append(
                    f"  %f{i} = getelementptr {element}, ptr %p{i}, {WORD} %lane\n  %v{i}.one = load {element}, ptr %f{i}\n"
                    f"  %t{i} = getelementptr i8, ptr %to, i64 {i * bytes}\n"
                    f"  store {element} %v{i}.one, ptr %t{i}, align {align}"
                )
            lines.append(
                f"  %less = sub {WORD} %left, 1\n  %fewer = and {WORD} %left, %less\n  br label %look\ndone:\n  ret i1 true"
            )
        vectors = []
        if not write and count > 1 and size == TOGETHER:
            _return(e, lines, effect, _each_together(e, lines, element, pointer, at, count, align))
            return self._whole(name, text, effect, [f"{ADDRESSES} %address"])
        for i in range(0 if write else count):  # a lane that does not act loads what the first does
            places = e.fresh()
            there = e.binary("add", at, str(i * bytes), 32) if i else at
            lines.append(f"  {places} = getelementptr i8, ptr {pointer}, {NUMBERS} {there}")
            vectors.append(e.gather(places, element, align))
        if not write:
            _return(e, lines, effect, vectors)
        return self._whole(name, text, effect, [f"{ADDRESSES} %address", *_given(e, effect)[4:]])


def _given(e: VectorEmitter, effect: Load | Store) -> list[str]:
    """The parameters of a function for addresses of a shape that have to do with the access."""
    given = [f"i64 %{n}" for n in ("begin", "step", "jump")] + ["i1 %holds"]
    if isinstance(effect, Store):
        given += [f"{e.type(f'i{effect.type.width}')} %w{i}" for i in range(len(effect.values))]
    return given


def _return(e: VectorEmitter, lines: list[str], effect: Load | Store, vectors: list[str]) -> None:
    """Return what was loaded."""
    type, element = result_type(effect), e.type(f"i{effect.type.width}")
    whole = "poison"
    for i, part in enumerate(["i1 true", *(f"{element} {v}" for v in vectors)]):
        before, whole = whole, e.fresh()
        lines.append(f"  {whole} = insertvalue {type} {before}, {part}, {i}")
    lines.append(f"  ret {type} {whole}")


def _loaded(
    e: VectorEmitter, lines: list[str], element: str, pointer: str, lanes: int, count: int, align: int
) -> list[str]:
    """Vectors of so many lanes, whose words lie side by side, a lane's together."""
    whole, everything = f"<{lanes * count} x {element}>", e.fresh()
    lines.append(f"  {everything} = load {whole}, ptr {pointer}, align {align}")
    return [everything] if count == 1 else _picked(e, lines, element, everything, lanes, count)


def _picked(e: VectorEmitter, lines: list[str], element: str, everything: str, lanes: int, count: int) -> list[str]:
    """Vectors of words, of which a vector of all has those of a lane side by side."""
    whole, vectors = f"<{lanes * count} x {element}>", []
    for i in range(count):
        picked, value = ", ".join(f"i32 {k * count + i}" for k in range(lanes)), e.fresh()
        lines.append(f"  {value} = shufflevector {whole} {everything}, {whole} poison, <{lanes} x i32> <{picked}>")
        vectors.append(value)
    return vectors


def _each_together(
    e: VectorEmitter, lines: list[str], element: str, pointer: str, offsets: str, count: int, align: int
) -> list[str]:
    """Vectors of words of which those of a lane lie side by side, at an offset of its own: the words of a lane are loaded
    together, which takes a fourth of the time of gathering each."""
    lines.insert(0, f"  %offsets = alloca {NUMBERS}")
    lines.append(f"  store {NUMBERS} {offsets}, ptr %offsets")
    parts, length = [], count
    for k in range(LANES):
        cell, offset, at, words = e.fresh(), e.fresh(), e.fresh(), e.fresh()
        lines.append(
            f"  {cell} = getelementptr i32, ptr %offsets, i64 {k}\n  {offset} = load i32, ptr {cell}\n"
            f"  {at} = getelementptr i8, ptr {pointer}, i32 {offset}\n"
            f"  {words} = load <{count} x {element}>, ptr {at}, align {align}"
        )
        parts.append(words)
    while len(parts) > 1:
        type, joined = f"<{length} x {element}>", []
        places = ", ".join(f"i32 {k}" for k in range(2 * length))
        for a, b in zip(parts[::2], parts[1::2], strict=True):
            joined.append(e.fresh())
            lines.append(f"  {joined[-1]} = shufflevector {type} {a}, {type} {b}, <{2 * length} x i32> <{places}>")
        parts, length = joined, 2 * length
    return _picked(e, lines, element, parts[0], LANES, count)


def _alike(
    e: VectorEmitter, lines: list[str], element: str, pointer: str, count: int, bytes: int, align: int
) -> list[str]:
    """Vectors of words that lie side by side, each the same for all lanes."""
    vectors = []
    for i in range(count):
        at, word = e.fresh(), e.fresh()
        lines.append(
            f"  {at} = getelementptr i8, ptr {pointer}, i64 {i * bytes}\n"
            f"  {word} = load {element}, ptr {at}, align {align}"
        )
        vectors.append(e.spread(word, element))
    return vectors


def _stored(
    e: VectorEmitter, lines: list[str], words: list[str], element: str, pointer: str, lanes: int, align: int
) -> None:
    """Store vectors of so many lanes side by side, a lane's words together."""
    values, length = [w if lanes < LANES else e.spread(w, element) for w in words], lanes
    while len(values) > 1:
        places = ", ".join(f"i32 {k}" for k in range(2 * length))
        type = f"<{length} x {element}>"
        joined = []
        for a, b in zip(values[::2], values[1::2], strict=True):
            joined.append(e.fresh())
            lines.append(f"  {joined[-1]} = shufflevector {type} {a}, {type} {b}, <{2 * length} x i32> <{places}>")
        values, length = joined, 2 * length
    value = values[0]
    if len(words) > 1:
        places = ", ".join(f"i32 {i * lanes + k}" for k in range(lanes) for i in range(len(words)))
        type, value = f"<{length} x {element}>", e.fresh()
        lines.append(f"  {value} = shufflevector {type} {values[0]}, {type} poison, <{length} x i32> <{places}>")
    lines.append(f"  store <{length} x {element}> {value}, ptr {pointer}, align {align}")


def _part(e: VectorEmitter, lines: list[str], vector: str, element: str, begin: int) -> str:
    """Half of a vector."""
    places, value = ", ".join(f"i32 {begin + k}" for k in range(LANES // 2)), e.fresh()
    type = e.type(element)
    lines.append(f"  {value} = shufflevector {type} {vector}, {type} poison, <{LANES // 2} x i32> <{places}>")
    return value


def _joined(e: VectorEmitter, lines: list[str], a: str, b: str, element: str) -> str:
    """A vector of two halves."""
    places, value = ", ".join(f"i32 {k}" for k in range(LANES)), e.fresh()
    type = f"<{LANES // 2} x {element}>"
    lines.append(f"  {value} = shufflevector {type} {a}, {type} {b}, <{LANES} x i32> <{places}>")
    return value
