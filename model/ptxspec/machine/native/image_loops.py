"""The loop over threads that ask for an image, in machine code."""

from __future__ import annotations

import ctypes

import numpy as np

from ptxspec import contracts
from ptxspec.machine import hosts
from ptxspec.machine.imaging import HANDLES, ImageBuffer
from ptxspec.terms.core import variable
from ptxspec.terms.image_access import ImageRead, ImageRule, ImageWrite
from ptxspec.terms.lowering import Lowering
from ptxspec.terms.native import CodeSource, Emitter, Library
from ptxspec.terms.profiles import Profile
from ptxspec.terms.vocabulary import TRUE

_ARGUMENTS = (*[ctypes.c_void_p] * 2, *[ctypes.c_int64] * 3, *[ctypes.c_void_p] * 3, *[ctypes.c_int64] * 4)
_OF_NOTES = (ctypes.c_void_p, ctypes.c_int64)


class _Loop:
    """The text of the loop over threads, in machine code's language. So many `words` are noted of each access."""

    def __init__(self, access: ImageRule, profile: Profile, checks: bool, checked: bool, words: int):
        self.access, self.checks, self.checked, self.words = access, checks, checked, words
        self.lines: list[str] = []
        self.needs: set[str] = set(hosts.NEEDS)
        self.emitter = Emitter(self.lines, self.needs, profile.term)
        self.refusals: list[str] = []
        env = {name: self._operand(i, width) for i, (name, width) in enumerate(access.operands)}
        self.lowering = Lowering(self.emitter, env)
        for number, fault in enumerate(access.faults):
            self._refuse(self.lowering.truth(fault.when), number)
        for i, read in enumerate(access.reads):
            env[f"%read{i}"] = self._read(i, read)
        for i, write in enumerate(access.writes):
            self._write(i, write)
        for i, answer in enumerate(access.answers):
            word, place = self.lowering.low(answer, 64), self._row("%answer_columns", i)
            self.lines.append(f"  store i64 {word}, ptr {self._at('its answers', '%answers', place, 8, 8)}")

    def _at(self, what: str, base: str, index: str, unit: int, size: int) -> str:
        """The pointer to so many bytes of an array."""
        return self.emitter.emit(hosts.pointer(self.checked, what, base, index, unit, size, f"{base}_bytes"))

    def _row(self, columns: str, row: int) -> str:
        """The index of the thread's word in a row."""
        return self.emitter.binary("add", self.emitter.binary("mul", columns, str(row), 64), "%k", 64)

    def _operand(self, i: int, width: int) -> str:
        place = self._row("%columns", HANDLES + i)
        word = self.emitter.emit(f"load i64, ptr {self._at('what an image is asked', '%asked', place, 8, 8)}")
        return word if width == 64 else self.emitter.truncate(word, 64, width)

    def _refuse(self, when: str, number: int) -> None:
        """End the loop if a condition holds."""
        label = len(self.refusals) + 1
        self.lines.append(f"  br i1 {when}, label %bad{label}, label %good{label}")
        self.refusals.append(f"bad{label}:\n  %code{label} = or i64 %k, {number << 32}\n  ret i64 %code{label}")
        self.lines.append(f"good{label}:")

    def _read(self, i: int, read: ImageRead) -> str:
        """Bits of the image, if they may be read."""
        emitter, lines, bits = self.emitter, self.lines, read.bits
        when, place = self.lowering.truth(read.when), self.lowering.low(read.offset, 64)
        fresh = contracts.opaque_types.may_be_read(variable("%marks", bits), bool(self.access.writes))
        if self.checks and fresh is not TRUE:
            mark = self._at("what is written of an image", "%written", place, 1, bits // 8)
            lines.append(f"  %mark{i} = load i{bits}, ptr {mark}, align 1")
            stale = Lowering(emitter, {"%marks": f"%mark{i}"}).truth(~fresh)
            self._refuse(emitter.logic("and", stale, when), len(self.access.faults))
        pointer = self._at("an image", "%data", place, 1, bits // 8)
        whole = "0"  # of words of 64 bits: a wider load would keep LLVM from using whole vectors
        for j in range(0, bits, 64):
            part, size = emitter.emit(hosts.within(pointer, bits // 8, j // 8, 1)), min(bits, 64)
            lines.append(f"  %texel{i}_{j} = load i{size}, ptr {part}, align 1")
            word = f"%texel{i}_{j}" if bits == size else emitter.extend(f"%texel{i}_{j}", size, bits, False)
            whole = word if j == 0 else emitter.binary("or", whole, emitter.binary("shl", word, str(j), bits), bits)
        self._note(i, when, place, whole, bits)
        return whole

    def _note(self, number: int, when: str, place: str, value: str, bits: int) -> None:
        """Note an access, of this number among all of the rule, if that is asked for."""
        if not self.words:
            return
        emitter = self.emitter
        low, high = value, "0"
        if bits > 64:
            low, high = emitter.truncate(value, bits, 64), emitter.binary("lshr", value, "64", bits)
            high = emitter.truncate(high, bits, 64)
        elif bits < 64:
            low = emitter.extend(value, bits, 64, False)
        words = (emitter.select(when, "1", "0", 64), place, low, high)[: self.words]
        for j, word in enumerate(words, number * self.words):
            cell = self._at("what is noted of an image", "%noted", self._row("%n", j), 8, 8)
            self.lines.append(f"  store i64 {word}, ptr {cell}")

    def _write(self, i: int, write: ImageWrite) -> None:
        """Store bits in the image, and mark them, if the access does so."""
        lowering, emitter = self.lowering, self.emitter
        when, place = lowering.truth(write.when), lowering.low(write.offset, 64)
        value = lowering.low(write.value, write.bits)
        self._note(len(self.access.reads) + i, when, place, value, write.bits)
        known = emitter.known()
        self.lines.append(f"  br i1 {when}, label %do{i}, label %done{i}\ndo{i}:")
        pointer = self._at("an image", "%data", place, 1, write.bits // 8)
        mark = self._at("what is written of an image", "%written", place, 1, write.bits // 8)
        emitter.go_back(known)
        ones = int.from_bytes(bytes([1] * (write.bits // 8)), "little")
        self.lines.append(
            f"  store i{write.bits} {value}, ptr {pointer}, align 1\n"
            f"  store i{write.bits} {ones}, ptr {mark}, align 1\n  br label %done{i}\ndone{i}:"
        )

    def text(self) -> str:
        """The function `serve`."""
        noted = ", ptr noalias %noted, i64 %noted_bytes" if self.words else ""
        return "\n".join(
            [
                "define i64 @serve(ptr %data, ptr %written, i64 %n, i64 %columns, i64 %answer_columns, "
                "ptr noalias %asked, ptr noalias %answers, ptr noalias %record, i64 %data_bytes, i64 %written_bytes, "
                f'i64 %asked_bytes, i64 %answers_bytes{noted}) "prefer-vector-width"="512" {{',
                "entry:",
                "  br label %each",
                "each:",
                "  %k = phi i64 [0, %entry], [%next, %more]",
                *self.lines,
                "  br label %more",
                "more:",
                "  %next = add i64 %k, 1",
                "  %again = icmp ult i64 %next, %n",
                "  br i1 %again, label %each, label %out",
                "out:",
                "  ret i64 -1",
                *self.refusals,
                "}",
            ]
        )


class CompiledImageLoop:
    """The loop over threads in machine code, which notes so many `words` of each access (see image_notes.py)."""

    def __init__(self, access: ImageRule, profile: Profile, checks: bool, checked: bool, words: int):
        loop = _Loop(access, profile, checks, checked, words)
        self.library = Library(CodeSource(loop.text(), loop.needs))
        arguments = (*_ARGUMENTS, *(_OF_NOTES if words else ()))
        self.function = ctypes.CFUNCTYPE(ctypes.c_int64, *arguments)(self.library.address("serve"))

    def __call__(
        self, held: ImageBuffer, count: int, requests: np.ndarray, answers: np.ndarray, noted: np.ndarray | None
    ) -> int:
        columns = requests.strides[0] // 8, answers.strides[0] // 8
        memory = held.data.ctypes.data, held.written.ctypes.data
        arrays = (held.data, held.written, requests, answers)
        lengths = (sum((n - 1) * step for n, step in zip(a.shape, a.strides, strict=True)) + a.itemsize for a in arrays)
        record = hosts.new_record()
        pointers = (requests.ctypes.data, answers.ctypes.data, record.ctypes.data)
        of_notes = () if noted is None else (noted.ctypes.data, noted.nbytes)
        code: int = self.function(*memory, count, *columns, *pointers, *lengths, *of_notes)
        hosts.complain(record)
        return code
