"""The unit that holds textures and surfaces: it answers what threads ask, all those that wait at an instruction at once.

What is to be done is the rule of the instruction, evaluated for the image (see terms/image_access.py). Under the exact engine its
terms are evaluated thread by thread, under the native one they become a loop in machine code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ptxspec import contracts
from ptxspec.language.checked import Op
from ptxspec.machine import hosts
from ptxspec.machine.errors import Violation
from ptxspec.machine.image_notes import ImageNotes, noted_words
from ptxspec.machine.images import OPAQUE_TYPES, ImageStorage, Sampler, Surface, Texture
from ptxspec.machine.program import ANSWER
from ptxspec.terms.effects import ImageAccess
from ptxspec.terms.exact import evaluate
from ptxspec.terms.image_access import ImageRule, access_of
from ptxspec.terms.profiles import Profile

if TYPE_CHECKING:
    from ptxspec.machine.native.image_loops import CompiledImageLoop

#: words of a request that are handles
HANDLES = 2
#: bytes after an image, so that a whole texel may be read at its end
PADDING = 16


class ImageFault(Exception):
    """A request that breaks a rule: the thread, and what was broken."""

    def __init__(self, thread: int, error: Exception):
        super().__init__(str(error))
        self.thread, self.error = thread, error


class ImageBuffer(NamedTuple):
    """The bytes of an image during a launch, and for each whether the launch has written it."""

    storage: ImageStorage | None
    data: np.ndarray
    written: np.ndarray
    is_written: bool
    """whether a surface of the launch may write it"""


class ImageUnit:
    """The images of one launch. `bound` maps handles to what they stand for, `names` to what that is called in messages (also for
    variables that nothing is bound to)."""

    def __init__(
        self,
        bound: dict[int, Any],
        names: dict[int, str],
        profile: Profile,
        native: bool,
        watch: Callable[[], None] = lambda: None,
    ):
        """`watch` is called now and then, and raises an exception when the launch is to end."""
        self.watch = watch
        self.bound, self.names, self.profile, self.native = bound, names, profile, native
        surfaces = {id(b.storage) for b in bound.values() if isinstance(b, Surface)}
        self.held: dict[int, ImageBuffer] = {}
        for thing in bound.values():
            if isinstance(thing, Sampler) or id(thing.storage) in self.held:
                continue
            data = np.concatenate([thing.storage.data, np.zeros(PADDING, np.uint8)])
            is_written = id(thing.storage) in surfaces
            written = np.zeros(len(data) if is_written else 1, np.uint8)
            self.held[id(thing.storage)] = ImageBuffer(thing.storage, data, written, is_written)

    def names_of_images(self) -> tuple[tuple[str, ...], ...]:
        """For each image that is held what it is called."""
        return tuple(
            tuple(self.names[h] for h, thing in self.bound.items() if getattr(thing, "storage", None) is held.storage)
            for held in self.held.values()
        )

    def serve(
        self, op: Op, threads: np.ndarray, requests: np.ndarray, answers: np.ndarray, notes: ImageNotes | None = None
    ) -> None:
        """Answer what `threads` ask: both arrays have a row a word, and a column a thread. The accesses are noted in `notes`.
        Raises ImageFault."""
        images, samplers = requests[0, threads], requests[1, threads]
        alike = (images == images[0]).all() and (samplers == samplers[0]).all()
        pairs = (
            [(images[0], samplers[0])] if alike else sorted(set(zip(images.tolist(), samplers.tolist(), strict=True)))
        )
        for image, sampler in pairs:
            waiters = threads if alike else threads[(images == image) & (samplers == sampler)]
            try:
                held, access, key = self._access(op, int(image) & (1 << 64) - 1, int(sampler) & (1 << 64) - 1)
            except Violation as violation:
                raise ImageFault(int(waiters[0]), violation) from None
            if notes is None:
                self._run(access, key, held, waiters, requests, answers, None)
                continue
            for part in notes.parts(access, waiters):
                noted = notes.room(access, part)
                try:
                    self._run(access, key, held, part, requests, answers, noted)
                finally:
                    notes.take(access, held, part, noted)

    def handle_of(self, thing: Any) -> np.uint64:
        """The handle under which an image is passed by value; 0 for one that fills a parameter of an opaque type."""
        base = contracts.opaque_types.HOST_HANDLES
        return np.uint64(next((h for h, known in self.bound.items() if known is thing and h >= base), 0))

    def _broken(self, access: ImageRule, number: int) -> Violation:
        if number < len(access.faults):
            return Violation(access.faults[number].rule, access.faults[number].note)
        return Violation("written image", "a texel that this launch has written")

    def _what(self, handle: int, kind: str) -> Any:
        """What a handle stands for, as an operand of a kind, such as "texture". Raises Violation."""
        thing = self.bound.get(handle)
        if OPAQUE_TYPES.get(type(thing)) in contracts.opaque_types.STANDS_FOR[kind]:
            return thing
        name = kind.split("_")[0]
        known = self.names.get(handle)
        if thing is None and known is not None:
            raise Violation("unbound", f"nothing is bound to {known}")
        if thing is None:
            raise Violation("no such image", f"{handle:#x} is no handle of a {name}")
        raise Violation(
            "wrong image", f"{known or 'the handle'} stands for a {type(thing).__name__.lower()}, no {name}"
        )

    def _access(self, op: Op, image: int, sampler: int) -> tuple[ImageBuffer, ImageRule, Any]:
        effect = op.plan.meaning.effect
        assert isinstance(effect, ImageAccess)
        thing = self._what(image, handle_kind(op))
        state = getattr(thing, "state", None)
        if effect.sampler is not None:
            assert isinstance(thing, Texture)
            state = thing.with_sampler(self._what(sampler, "sampler").state)
        storage = None if isinstance(thing, Sampler) else thing.storage
        description = storage.image if storage is not None else None
        key = (op.plan.form.mnemonic, id(op.plan.meaning), description, state, self.profile.key)
        access = _accesses.get(key)
        if access is None:
            _forget(_accesses)
            access = access_of(effect.rule, description, state, effect.operands)
            _accesses[key] = access
            _meanings[id(op.plan.meaning)] = op.plan.meaning  # so that its number stays its own
        held = self.held[id(storage)] if storage is not None else _NOTHING
        return held, access, key

    def _run(
        self,
        access: ImageRule,
        key: Any,
        held: ImageBuffer,
        threads: np.ndarray,
        requests: np.ndarray,
        answers: np.ndarray,
        noted: np.ndarray | None,
    ) -> None:
        """Do what the rule says for each thread. `noted` gets what is to be noted of the accesses. Raises ImageFault."""
        run = self._run_native if self.native else self._run_exact
        broken = run(access, key, held, threads, requests, answers, noted)
        if broken is not None:
            which, number = broken
            raise ImageFault(int(threads[which]), self._broken(access, number))

    # exact ---------------------------------------------------------------------------------------------------------------

    def _run_exact(
        self,
        access: ImageRule,
        key: Any,
        held: ImageBuffer,
        threads: np.ndarray,
        requests: np.ndarray,
        answers: np.ndarray,
        noted: np.ndarray | None,
    ) -> tuple[int, int] | None:
        may_be_read = contracts.opaque_types.may_be_read
        for k, thread in enumerate(threads.tolist()):
            self.watch()
            words = requests[HANDLES:, thread].tolist()
            env = {name: word & (1 << width) - 1 for word, (name, width) in zip(words, access.operands, strict=False)}
            memo: dict[int, Any] = {}

            def value(term: Any, env: Any = env, memo: Any = memo) -> Any:
                return evaluate(term, env, self.profile.value, memo)

            for number, fault in enumerate(access.faults):
                if value(fault.when):
                    return k, number
            for i, read in enumerate(access.reads):
                env[f"%read{i}"] = 0
                if not value(read.when):
                    continue
                at, size = value(read.offset), read.bits // 8
                marks = held.written[at : at + size].tobytes() if held.is_written else b""
                if not may_be_read(int.from_bytes(marks, "little"), bool(access.writes)):
                    return k, len(access.faults)
                env[f"%read{i}"] = word = int.from_bytes(held.data[at : at + size].tobytes(), "little")
                if noted is not None:
                    noted[i, :, k] = noted_words(at, word)[: noted.shape[1]]
            for i, write in enumerate(access.writes, len(access.reads)):
                if value(write.when):
                    at, size, word = value(write.offset), write.bits // 8, value(write.value)
                    held.data[at : at + size] = list(word.to_bytes(size, "little"))
                    held.written[at : at + size] = 1
                    if noted is not None:
                        noted[i, :, k] = noted_words(at, word)[: noted.shape[1]]
            for i, answer in enumerate(access.answers):
                bits_of_answer = value(answer) & (1 << 64) - 1
                answers[i, thread] = bits_of_answer - (bits_of_answer >> 63 << 64)
        return None

    # native --------------------------------------------------------------------------------------------------------------

    def _run_native(
        self,
        access: ImageRule,
        key: Any,
        held: ImageBuffer,
        threads: np.ndarray,
        requests: np.ndarray,
        answers: np.ndarray,
        noted: np.ndarray | None,
    ) -> tuple[int, int] | None:
        from ptxspec.machine.native.image_loops import CompiledImageLoop  # LLVM, which the exact engine does without

        words = 0 if noted is None else noted.shape[1]
        code_key = (*key, held.is_written, hosts.is_checked(), words)
        run = _compiled.get(code_key)
        if run is None:
            _forget(_compiled)
            run = _compiled[code_key] = CompiledImageLoop(
                access, self.profile, held.is_written, hosts.is_checked(), words
            )
        first = int(threads[0])
        if int(threads[-1]) - first == len(threads) - 1:  # they are in order: these lie side by side
            code = run(held, len(threads), requests[:, first:], answers[:, first:], noted)
        else:
            columns = np.zeros((ANSWER, len(threads)), np.int64)
            code = run(held, len(threads), np.ascontiguousarray(requests[:, threads]), columns, noted)
            answers[:, threads] = columns
        return None if code < 0 else (code & 0xFFFFFFFF, code >> 32)

    def finish(self) -> None:
        """Let the surfaces have what was written."""
        for held in self.held.values():
            if held.is_written and held.storage is not None:
                held.storage.data[:] = held.data[: len(held.storage.data)]


_NOTHING = ImageBuffer(None, np.zeros(PADDING, np.uint8), np.zeros(PADDING, np.uint8), False)
_accesses: dict[Any, ImageRule] = {}
_compiled: dict[Any, CompiledImageLoop] = {}
_meanings: dict[int, Any] = {}
#: how many rules are kept that have been worked out for an image, or compiled
KEPT = 1000


def _forget(kept: dict[Any, Any]) -> None:
    """Make room in a store, oldest first."""
    while len(kept) >= KEPT:
        del kept[next(iter(kept))]


def handle_kind(op: Op) -> str:
    """What an instruction for images is given first: "texture", "sampler", "sampler_state" or "surface"."""
    effect = op.plan.meaning.effect
    assert isinstance(effect, ImageAccess)
    name = effect.image.attrs[0]
    return str(op.plan.form.definition.sources[name].annotation.name)
