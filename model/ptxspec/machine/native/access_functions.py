"""Functions of the loads and stores of a warp: one check for the bytes of all lanes, where these lie near one another.

The step of spec/machine/access.md is taken once, for the range from the first of the lanes' bytes to the last. If that may not be
accessed as a whole, nothing is said yet: the lanes then make their accesses one after the other.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import cast

from ptxspec import contracts
from ptxspec.machine.blocks import SHADOW
from ptxspec.machine.driver.places import LANES
from ptxspec.machine.native.accesses import ADDRESS, Accesses, EmitCheck, EmittedStorage
from ptxspec.machine.native.context import OWN
from ptxspec.machine.native.global_blocks import SAVE
from ptxspec.machine.native.head import Head
from ptxspec.machine.native.lane_words import LaneWords, result_type, stores_some, words_of
from ptxspec.machine.native.layout import Layout
from ptxspec.machine.native.patterns import (
    LANE_BITS,
    ROW,
    ROW_BITS,
    Pattern,
    are_multiples,
    behind,
    is_alike,
    is_row,
    pattern_of,
    taken,
)
from ptxspec.machine.native.text import FunctionText
from ptxspec.machine.native.warp_registers import NUMBERS, WORD, of_warp, vector_of
from ptxspec.terms.core import Bool, Int, integer, truth_variable, variable
from ptxspec.terms.effects import Load, Store
from ptxspec.terms.lowering import Lowering
from ptxspec.terms.vectors import VectorEmitter, of_steps

#: the longest range that is checked as a whole, in bytes, where each byte has a state that is looked at, or where all pages
#: of the range are saved; and the longest that is checked otherwise
LONGEST, WIDEST = 4_096, 1 << 31
#: how many accesses a kernel has, at most, whose accesses to rows of eight lanes become a part of its code
MOST_EIGHTS = 8
#: states of bytes that are looked at at once
STATES = LANES
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
        """The name of the function `(context, base, acting, site, base address, steps, holds, …)` that does the same where the
        addresses have a shape (vectors.py): of a load any, of a store one in which the bytes of eight lanes each lie side by
        side."""
        if self.layout.has_one_dimension:
            return self._name("row", effect, space, self._row)
        return self._name("eights", effect, space, self._eights)

    def _row(self, name: str, effect: Load | Store, space: str) -> str:
        """The function for what most accesses are: those of a whole warp whose bytes lie side by side, or (a load) are the same,
        within the block of the last ones, and in pages that have been saved. Others it leaves to the function for all shapes. It
        becomes a part of the code that calls it, if that is likely to pay."""
        others = self._name("shaped", effect, space, self._shaped)
        text, e, lines, check = self._begun()
        size, write = effect.bytes, isinstance(effect, Store)
        whole = e.logic("and", e.compare("eq", "%acting", "-1", LANES), "%holds")
        steps, same = is_row(e, "%steps", size), "false" if write else is_alike(e, "%steps")
        check(e.logic("and", whole, steps if write else e.logic("or", steps, same)), "0", 0)
        storage = WarpStorage(Accesses(text, check, site="%site"), "%begin", size, 0, shadow=effect.shadow)
        storage.stays = True
        length, alike = str(LANES * size), str(size)
        whole_row = integer(LANES * size) if write else storage.word(e.select(same, alike, length, 64))
        pointer = contracts.access.access(space, ADDRESS, size, write, effect.into, storage, whole_row)
        words = LaneWords(e, lines, effect)
        if write:
            words.store_row(_stored(e, effect), pointer)
            lines.append("  ret i1 true")
        else:
            lines.append(f"  br i1 {same}, label %same, label %row\nrow:")
            known = e.known()
            words.give(words.row(pointer))
            lines.append("same:")
            e.go_back(known)
            words.give(words.alike([pointer]))
        inlined = " alwaysinline" if self.layout.has_few_accesses else ""
        return self._whole(name, text, effect, _given(effect), _left_to(others, effect), inlined)

    def _eights(self, name: str, effect: Load | Store, space: str) -> str:
        """The same where a thread has several coordinates, so that lanes often are some of several rows: the bytes of eight lanes
        each lie side by side, or (a load) are the same, and never further down than those before. Some lanes may not act, but
        what they would access has to be there, too."""
        others = self._name("shaped", effect, space, self._shaped)
        text, e, lines, check = self._begun()
        size, write = effect.bytes, isinstance(effect, Store)
        everyone, rows = e.compare("eq", "%acting", "-1", LANES), is_row(e, "%steps", size, ROW_BITS)
        same = "false" if write else is_alike(e, "%steps", ROW_BITS)
        fine = e.logic("and", "%holds", rows if write else e.logic("or", rows, same))
        if isinstance(effect, Store) and not stores_some(effect):
            fine = e.logic("and", fine, everyone)
        check(fine, "0", 0)
        jumps = [behind(e, "%steps", 1 << bit) for bit in range(ROW_BITS, LANE_BITS)]
        any_of, distance = (reduce(lambda a, b: e.binary(op, a, b, 64), jumps) for op in ("or", "add"))
        check(e.compare("ule", any_of, str(WIDEST), 64), "0", 0)
        check(e.compare("eq", e.binary("and", any_of, str(size - 1), 64), "0", 64), "0", 0)
        length = e.binary("add", distance, e.select(same, str(size), str(ROW * size), 64), 64)
        if write or self._longest < WIDEST:
            check(e.compare("ule", length, str(LONGEST), 64), "0", 0)
        storage = WarpStorage(Accesses(text, check, site="%site"), "%begin", size, 0, shadow=effect.shadow)
        storage.stays = True
        pointer = contracts.access.access(space, ADDRESS, size, write, effect.into, storage, storage.word(length))
        words = LaneWords(e, lines, effect)
        places = [_place(e, "%steps", lane, pointer) for lane in range(0, LANES, ROW)]
        if isinstance(effect, Store):
            whole = e.logic("and", everyone, is_row(e, "%steps", size))
            lines.append(f"  br i1 {whole}, label %row, label %rows\nrow:")
            known = e.known()
            words.store_row(_stored(e, effect), pointer)
            lines.append("  ret i1 true\nrows:")
            e.go_back(known)
            self._store_eights(words, effect, places, everyone)
        else:
            lines.append(f"  br i1 {same}, label %same, label %rows\nrows:")
            known = e.known()
            words.give(words.gathered(places, ROW, range(LANES)))
            lines.append("same:")
            e.go_back(known)
            words.give(words.alike(places))
        inlined = " alwaysinline" if self.layout.accesses <= MOST_EIGHTS else ""
        return self._whole(name, text, effect, _given(effect), _left_to(others, effect), inlined)

    def _store_eights(self, words: LaneWords, effect: Store, places: list[str], everyone: str) -> None:
        """Store the words of eight lanes at each place: of those that act."""
        e, lines, stored = words.emitter, words.lines, _stored(words.emitter, effect)
        known = e.known()
        if stores_some(effect):
            lines.append(f"  br i1 {everyone}, label %everyone, label %some\nsome:")
            for lane, place in zip(range(0, LANES, ROW), places, strict=True):
                words.store_some(stored, place, lane, ROW)
            lines.append("  ret i1 true\neveryone:")
            e.go_back(known)
        for lane, place in zip(range(0, LANES, ROW), places, strict=True):
            words.store_row(stored, place, lane, ROW)
        lines.append("  ret i1 true")

    def _shaped(self, name: str, effect: Load | Store, space: str) -> str:
        text, e, lines, check = self._begun()
        size, write, steps = effect.bytes, isinstance(effect, Store), "%steps"
        fine = "%holds"
        if isinstance(effect, Store):
            if not stores_some(effect):
                fine = e.logic("and", fine, e.compare("eq", "%acting", "-1", LANES))
        else:
            steps = taken(e, steps, "%acting")
        least, most = e.spans(steps)
        length = e.binary("add", e.binary("sub", most, least, 64), str(size), 64)
        fine = e.logic("and", fine, e.compare("ule", length, str(self._longest), 64))
        short = e.are_short(steps, self._longest)  # else the length is not the sum's low bits
        check(e.logic("and", fine, e.logic("and", short, are_multiples(e, steps, size))), "0", 0)
        pattern = pattern_of(e, steps, size)
        if write:
            rows = e.binary("sub", pattern, str(int(Pattern.ROW)), 32)
            check(e.compare("ule", rows, str(Pattern.FOUR_ROWS - Pattern.ROW), 32), "0", 0)
        begin = e.binary("add", "%begin", least, 64)
        storage = self._storage(text, check, begin, size, write, effect.shadow)
        pointer = contracts.access.access(space, ADDRESS, size, write, effect.into, storage, storage.word(length))
        lines.append(f"  %first = getelementptr i8, ptr {pointer}, i64 {e.binary('sub', '0', least, 64)}")
        if isinstance(effect, Store):
            self._store_rows(text, effect, pattern)
        else:
            self._load_in_pattern(text, effect, steps, pattern, pointer, least)
        return self._whole(name, text, effect, _given(effect))

    def _store_rows(self, text: FunctionText, effect: Store, pattern: str) -> None:
        """Store at `%first` and on: the bytes of all lanes side by side, or of eight at a time. Some may not act: what they would
        store to is there, too."""
        e, lines = cast(VectorEmitter, text.emitter), text.lines
        words, stored, steps = LaneWords(e, lines, effect), _stored(e, effect), "%steps"
        everyone = e.compare("eq", "%acting", "-1", LANES)
        whole = e.logic("and", everyone, e.compare("eq", pattern, str(int(Pattern.ROW)), 32))
        lines.append(f"  br i1 {whole}, label %row, label %rows\nrow:")
        known = e.known()
        words.store_row(stored, "%first")
        lines.append(f"  ret i1 true\nrows:\n{_UNSAVED}\nsave:")
        e.go_back(known)
        start = e.binary("add", "%begin", str(SHADOW), 64) if effect.shadow else "%begin"
        for lane in range(0, LANES, ROW):
            begin = e.binary("add", start, behind(e, steps, lane), 64)
            row_bytes = f"ptr %unsaved.row, i64 %saved_mark, i64 {begin}, i64 {ROW * effect.bytes}"
            lines.append(f"  call void @ptxspec_save_all({row_bytes})")
        lines.append("  br label %write\nwrite:")
        e.go_back(known)
        places = [_place(e, steps, lane) for lane in range(0, LANES, ROW)]
        self._store_eights(words, effect, places, everyone)

    def _load_in_pattern(
        self, text: FunctionText, effect: Load, steps: str, pattern: str, pointer: str, least: str
    ) -> None:
        """Load at `%first` and on, by as few loads as the pattern allows. `pointer` is where the first of the bytes lie, and
        `least` how far they are from the first lane's."""
        e, lines = cast(VectorEmitter, text.emitter), text.lines
        words, known, every = LaneWords(e, lines, effect), e.known(), range(LANES)
        cases = " ".join(f"i32 {int(p)}, label %p{int(p)}" for p in Pattern if p is not Pattern.ANYWHERE)
        lines.append(f"  switch i32 {pattern}, label %p{int(Pattern.ANYWHERE)} [{cases}]")

        def case(pattern: Pattern, distance: int = 1, count: int = LANES) -> list[str]:
            """Begin the case of a pattern; and where the words lie of so many lanes that are so far apart."""
            lines.append(f"p{int(pattern)}:")
            e.go_back(known)
            return [_place(e, steps, lane) for lane in range(0, count * distance, distance)]

        words.give(words.alike(case(Pattern.ALIKE, LANES, 1)))
        words.give(words.alike(case(Pattern.TWO_ALIKE, 2 * ROW, 2)))
        words.give(words.alike(case(Pattern.FOUR_ALIKE, ROW, 4)))
        words.give(words.gathered(case(Pattern.ROW, LANES, 1), LANES, every))
        words.give(words.gathered(case(Pattern.TWO_ROWS, 2 * ROW, 2), 2 * ROW, every))
        words.give(words.gathered(case(Pattern.FOUR_ROWS, ROW, 4), ROW, every))
        words.give(words.gathered(case(Pattern.LOW_BITS, 1, ROW), 1, [k % ROW for k in every]))
        shift = LANE_BITS - ROW_BITS
        words.give(words.gathered(case(Pattern.HIGH_BITS, 1 << shift, ROW), 1, [k >> shift for k in every]))
        case(Pattern.ANYWHERE, 1, 0)
        short = e.stepped(e.emit(f"trunc {of_steps(64)} {steps} to {of_steps(32)}"), 32)
        words.give(words.anywhere(pointer, e.binary("sub", short, e.truncate(least, 64, 32), 32)))

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

    def _name(self, kind: str, effect: Load | Store, space: str, made: Callable[[str, Load | Store, str], str]) -> str:
        count, into = words_of(effect), tuple(effect.into)
        key = (kind, space, isinstance(effect, Store), effect.type.name, count, into, effect.shadow)
        if key not in self._names:
            self._names[key] = f"@{kind}_{len(self._names)}"
            self.texts.append(made(self._names[key], effect, space))
        return self._names[key]

    def _near(self, name: str, effect: Load | Store, space: str) -> str:
        text, e, lines, check = self._begun()
        size, write = effect.bytes, isinstance(effect, Store)
        e.varying.add("%address")
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
            self._scatter(lines, effect, pointer, at, of_lane)
        else:  # a lane that does not act loads what the first does
            words = LaneWords(e, lines, effect)
            words.give(words.anywhere(pointer, at))
        return self._whole(name, text, effect, [f"{ADDRESSES} %address", *_stored_words(effect)])

    def _scatter(self, lines: list[str], effect: Load | Store, pointer: str, offsets: str, begin: str) -> None:
        """Store at the offsets from the pointer, whose address is `begin`, a lane after the other."""
        count, element, bytes = words_of(effect), f"i{effect.type.width}", effect.type.bytes
        lines.append(f"  %behind = alloca {NUMBERS}\n  store {NUMBERS} {offsets}, ptr %behind")
        for i in range(count):
            lines.append(f"  %p{i} = alloca {vector_of(element)}\n  store {vector_of(element)} %w{i}, ptr %p{i}")
        lines.append(
            f"  br label %before\nbefore:\n  br label %look\nlook:\n"
            f"  %left = phi {WORD} [%acting, %before], [%fewer, %write]\n"
            f"  %some = icmp ne {WORD} %left, 0\n  br i1 %some, label %do, label %done\ndo:\n"
            f"  %lane = call {WORD} @llvm.cttz.i32({WORD} %left, i1 true)\n"
            f"  %at = getelementptr i32, ptr %behind, {WORD} %lane\n  %by = load i32, ptr %at\n"
            f"  %to = getelementptr i8, ptr {pointer}, i32 %by\n{_UNSAVED}\nsave:\n"
            f"  %by.wide = zext i32 %by to i64\n  %lane.at = add i64 {begin}, %by.wide\n"
            "  call void @ptxspec_save(ptr %unsaved.row, i64 %saved_mark, i64 %lane.at)\n  br label %write\nwrite:"
        )
        for i in range(count):
            lines.append(
                f"  %f{i} = getelementptr {element}, ptr %p{i}, {WORD} %lane\n  %v{i}.one = load {element}, ptr %f{i}\n"
                f"  %t{i} = getelementptr i8, ptr %to, i64 {i * bytes}\n"
                f"  store {element} %v{i}.one, ptr %t{i}, align {min(bytes, 8)}"
            )
        lines.append(
            f"  %less = sub {WORD} %left, 1\n  %fewer = and {WORD} %left, %less\n  br label %look\ndone:\n  ret i1 true"
        )


def _given(effect: Load | Store) -> list[str]:
    """The parameters of a function for addresses of a shape that have to do with the access."""
    return ["i64 %begin", f"{of_steps(64)} %steps", "i1 %holds", *_stored_words(effect)]


def _stored_words(effect: Load | Store) -> list[str]:
    """The parameters that are what is stored."""
    count = words_of(effect) if isinstance(effect, Store) else 0
    return [f"{vector_of(f'i{effect.type.width}')} %w{i}" for i in range(count)]


def _stored(e: VectorEmitter, effect: Load | Store) -> list[str]:
    """The vectors that are stored."""
    words = [f"%w{i}" for i in range(words_of(effect))]
    e.varying.update(words)
    return words


def _left_to(others: str, effect: Load | Store) -> str:
    """What a function does with an access that it refuses: another one makes it."""
    passed = ", ".join(["ptr %context", "i64 %base", f"{WORD} %acting", "i64 %site", *_given(effect)])
    return f"  %others = tail call {result_type(effect)} {others}({passed})\n  ret {result_type(effect)} %others"


def _place(e: VectorEmitter, steps: str, lane: int, first: str = "%first") -> str:
    """Where a lane's words lie, if the first one's lie there."""
    return e.emit(f"getelementptr i8, ptr {first}, i64 {behind(e, steps, lane)}")
