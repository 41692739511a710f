"""The words that the lanes of a warp load from the host's memory, or store there, when their access has been checked."""

from __future__ import annotations

from collections.abc import Sequence

from ptxspec.machine.driver.places import LANES
from ptxspec.machine.native.warp_registers import NUMBERS, vector_of
from ptxspec.terms.effects import Load, Store
from ptxspec.terms.native import has_masked_stores
from ptxspec.terms.vectors import VectorEmitter

#: bytes that a lane loads at once as several words; a processor gathers word by word
TOGETHER = 16


def words_of(effect: Load | Store) -> int:
    """How many words each lane loads or stores."""
    return effect.count if isinstance(effect, Load) else len(effect.values)


def stores_some(effect: Store) -> bool:
    """Whether the processor stores such words of some lanes at once: else LLVM makes a branch for each lane."""
    return len(effect.values) == 1 and effect.type.width in (32, 64) and has_masked_stores()


def result_type(effect: Load | Store) -> str:
    """What functions of accesses give: whether the access was made, and the vectors that were loaded."""
    if isinstance(effect, Store):
        return "i1"
    return f"{{i1, {', '.join([vector_of(f'i{effect.type.width}')] * effect.count)}}}"


class LaneWords:
    """Writes loads and stores of words: of each lane some, side by side. What is loaded are vectors that have an element for each
    lane, as many as a lane has words."""

    def __init__(self, emitter: VectorEmitter, lines: list[str], effect: Load | Store):
        self.emitter, self.lines, self._effect = emitter, lines, effect
        self.element, self.bytes, self.count = f"i{effect.type.width}", effect.type.bytes, words_of(effect)
        self._align = min(self.bytes, 8)

    def _emit(self, text: str) -> str:
        """Append `%n = text`, always anew."""
        name = self.emitter.fresh()
        self.lines.append(f"  {name} = {text}")
        return name

    def give(self, vectors: Sequence[str]) -> None:
        """Return what was loaded."""
        type, whole = result_type(self._effect), "poison"
        element = vector_of(self.element)
        for i, part in enumerate(["i1 true", *(f"{element} {v}" for v in vectors)]):
            whole = self._emit(f"insertvalue {type} {whole}, {part}, {i}")
        self.lines.append(f"  ret {type} {whole}")

    # loads ----------------------------------------------------------------------------------------------------------

    def row(self, pointer: str) -> list[str]:
        """Load what lies side by side."""
        return self.gathered([pointer], LANES, range(LANES))

    def alike(self, places: Sequence[str]) -> list[str]:
        """Load what is the same for all lanes; of several places, the lanes are divided among them, in their order."""
        vectors, of_place = [], LANES // len(places)
        for i in range(self.count):
            whole = ""
            for number, place in enumerate(places):
                at = self._emit(f"getelementptr i8, ptr {place}, i64 {i * self.bytes}")
                word = self._emit(f"load {self.element}, ptr {at}, align {self._align}")
                part = self.emitter.spread(word, self.element)
                whole = self._behind_lanes(whole, part, number * of_place) if number else part
            vectors.append(whole)
        return vectors

    def _behind_lanes(self, vector: str, other: str, lanes: int) -> str:
        """A vector whose first lanes are those of one, and the rest those of another."""
        numbers = ", ".join(f"i32 {k if k < lanes else LANES + k}" for k in range(LANES))
        type = vector_of(self.element)
        return self._emit(f"shufflevector {type} {vector}, {type} {other}, <{LANES} x i32> <{numbers}>")

    def anywhere(self, pointer: str, offsets: str) -> list[str]:
        """Load what lies at an offset from the pointer in each lane."""
        if self.count > 1 and self.count * self.bytes == TOGETHER:
            self.lines.insert(0, f"  %offsets = alloca {NUMBERS}")
            self.lines.append(f"  store {NUMBERS} {offsets}, ptr %offsets")
            return self.gathered([self._behind(pointer, k) for k in range(LANES)], 1, range(LANES))
        vectors = []
        for i in range(self.count):
            there = self.emitter.binary("add", offsets, str(i * self.bytes), 32)
            places = self._emit(f"getelementptr i8, ptr {pointer}, {NUMBERS} {there}")
            vectors.append(self.emitter.gather(places, self.element, self._align))
        return vectors

    def _behind(self, pointer: str, lane: int) -> str:
        """Where the words of a lane lie, whose offset has been stored."""
        cell = self._emit(f"getelementptr i32, ptr %offsets, i64 {lane}")
        return self._emit(f"getelementptr i8, ptr {pointer}, i32 {self._emit(f'load i32, ptr {cell}')}")

    def gathered(self, places: Sequence[str], each: int, of_lane: Sequence[int]) -> list[str]:
        """Load at each place, at once, what so many lanes have side by side; `of_lane` says for each lane which of all those it
        gets."""
        length = each * self.count
        parts = [self._emit(f"load <{length} x {self.element}>, ptr {p}, align {self._align}") for p in places]
        whole, length = self._joined(parts, length)
        if self.count == 1 and [*of_lane] == [*range(length)]:
            return [whole]
        return [self._picked(whole, length, [k * self.count + i for k in of_lane]) for i in range(self.count)]

    def _picked(self, vector: str, length: int, places: Sequence[int]) -> str:
        """These elements of a vector that has so many."""
        type, numbers = f"<{length} x {self.element}>", ", ".join(f"i32 {k}" for k in places)
        return self._emit(f"shufflevector {type} {vector}, {type} poison, <{len(places)} x i32> <{numbers}>")

    def _joined(self, parts: list[str], length: int) -> tuple[str, int]:
        """One vector of some that are equally long, one behind the other, and its length."""
        while len(parts) > 1:
            type, numbers = f"<{length} x {self.element}>", ", ".join(f"i32 {k}" for k in range(2 * length))
            parts = [
                self._emit(f"shufflevector {type} {a}, {type} {b}, <{2 * length} x i32> <{numbers}>")
                for a, b in zip(parts[::2], parts[1::2], strict=True)
            ]
            length *= 2
        return parts[0], length

    # stores ---------------------------------------------------------------------------------------------------------

    def store_row(self, words: Sequence[str], pointer: str, first: int = 0, lanes: int = LANES) -> None:
        """Store vectors of words side by side, a lane's together: those of so many lanes, from one on."""
        vectors = [self.emitter.spread(word, self.element) for word in words]
        if lanes < LANES:
            vectors = [self._picked(v, LANES, range(first, first + lanes)) for v in vectors]
        value, length = self._joined(vectors, lanes)
        if len(words) > 1:
            value = self._picked(value, length, [i * lanes + k for k in range(lanes) for i in range(len(words))])
        self.lines.append(f"  store <{length} x {self.element}> {value}, ptr {pointer}, align {self._align}")

    def store_some(self, words: Sequence[str], pointer: str, first: int, lanes: int) -> None:
        """The same of those that act, if `stores_some`."""
        (word,), mask = words, f"<{lanes} x i1>"
        name, value = f"@llvm.masked.store.v{lanes}{self.element}.p0", self.emitter.spread(word, self.element)
        some = f"<{lanes} x {self.element}> {self._picked(value, LANES, range(first, first + lanes))}"
        bits = self._emit(f"lshr i{LANES} %acting, {first}")
        acting = self._emit(f"bitcast i{lanes} {self._emit(f'trunc i{LANES} {bits} to i{lanes}')} to {mask}")
        self.emitter.needs.add(f"declare void {name}(<{lanes} x {self.element}>, ptr, {mask})")
        self.lines.append(f"  call void {name}({some}, ptr align {self._align} {pointer}, {mask} {acting})")
