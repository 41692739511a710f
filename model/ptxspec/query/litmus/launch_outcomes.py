"""All that a small launch may leave in memory by the memory model: its threads as those of a litmus test."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ptxspec import contracts
from ptxspec.language.checked import Checked, Op, unbanked
from ptxspec.machine.errors import Violation
from ptxspec.machine.host_arrays import host_array
from ptxspec.machine.images import Sampler, Surface, Texture
from ptxspec.machine.launch_plan import LaidOutLaunch
from ptxspec.machine.memory import is_of_threads
from ptxspec.machine.module import Module, laid_out
from ptxspec.machine.pointers import Pointer
from ptxspec.machine.special import SpecialValues, unchanging
from ptxspec.query.litmus.executions import Candidate, OutOfTime
from ptxspec.query.litmus.path_questions import LitmusWitness, PathQuestion, model_of
from ptxspec.query.litmus.threads import ThreadPath, ThreadWalk, Variable
from ptxspec.query.outcomes import Unsupported
from ptxspec.terms import effects
from ptxspec.terms.core import Bool, Int, constant
from ptxspec.terms.exact import NoChoice
from ptxspec.terms.operations import ByteRange, OperationKind, ThreadPlace
from ptxspec.terms.vocabulary import FALSE, substitute

#: threads of a launch at most
MOST_THREADS = 64
#: bytes of memory among which an address that is read is looked for, at most
MOST_PLACES = 1024


class FinalMemory(NamedTuple):
    """What a launch may leave: the `arrays` that were passed, in the order of the arguments (None for another argument), and an
    execution that leaves this. Its threads are called by their numbers in the grid.

    >>> text = '''.version 8.0 .target sm_80 .address_size 64
    ... .visible .entry k(.param .u64 box) { .reg .b64 a; .reg .b32 t;
    ...   ld.param.u64 a, [box]; mov.u32 t, %tid.x; st.global.u32 [a], t; ret; }'''
    >>> first, second = ptxspec.outcomes(ptxspec.load(text), "k", block=2, args=[np.zeros(1, np.uint32)]).memories
    >>> first.arrays[0], first.witness.operations[0].name
    (array([0], dtype=uint32), 'P0.1')
    """

    arrays: tuple[np.ndarray | None, ...]
    witness: LitmusWitness


class LaunchOutcomes(NamedTuple):
    """All that a launch may leave in the arrays that are passed. If it is `complete`, there is nothing else; else the `notes` say
    what was not looked at.

    >>> text = '''.version 8.0 .target sm_80 .address_size 64
    ... .visible .entry k(.param .u64 box) { .reg .b64 a; ld.param.u64 a, [box]; red.global.add.u32 [a], 1; ret; }'''
    >>> outcomes = ptxspec.outcomes(ptxspec.load(text), "k", block=3, args=[np.zeros(1, np.uint32)])
    >>> outcomes.complete, [memory.arrays for memory in outcomes.memories]
    (True, [(array([3], dtype=uint32),)])
    """

    memories: tuple[FinalMemory, ...]
    complete: bool
    notes: tuple[str, ...]
    seconds: float


def outcomes(
    module: Module,
    name: str,
    grid: int | Sequence[int] = 1,
    block: int | Sequence[int] = 1,
    args: Sequence[Any] = (),
    *,
    dynamic_shared: int = 0,
    model: str = "9.1",
    loops: int = 2,
    limit: int = 1000,
    timeout: float = 60.0,
) -> LaunchOutcomes:
    """All that a launch of an entry may leave in the arrays that are passed to it, by the memory model of an edition of NVIDIA's
    manual, with an execution for each. `module`, `grid`, `block`, `args` and `dynamic_shared` are as for `Module.launch`; the
    arrays are not changed. All executions are looked at, so that a launch of more than a few threads and accesses takes long.

    A loop is taken `loops` times at most. `limit` is the most final memories to return, and after `timeout` seconds no others are
    looked for. Either is said in the `notes`.

    Raises Unsupported for an instruction that is not followed, for a launch that breaks a rule, and for a kernel with a data race
    of mixed size, of which the model says nothing; and what `Module.launch` raises for wrong arguments.

    >>> text = '''.version 8.0 .target sm_80 .address_size 64
    ... .visible .entry pass(.param .u64 box) { .reg .b64 a; .reg .b32 t, r; .reg .pred p;
    ...   ld.param.u64 a, [box]; mov.u32 t, %ctaid.x; setp.ne.u32 p, t, 0; @p bra READ;
    ...   st.global.u32 [a], 42; FENCE; st.relaxed.gpu.global.u32 [a+4], 1; ret;
    ...   READ: ld.relaxed.gpu.global.u32 r, [a+4]; setp.ne.u32 p, r, 1; @p ret;
    ...   FENCE; ld.global.u32 r, [a]; st.global.u32 [a+8], r; ret; }'''
    >>> for fence in ("fence.acq_rel.cta", "fence.acq_rel.gpu"):
    ...     module, box = ptxspec.load(text.replace("FENCE", fence)), np.array([0, 0, 7], np.uint32)
    ...     left = ptxspec.outcomes(module, "pass", grid=2, args=[box])
    ...     print(sorted(int(memory.arrays[0][2]) for memory in left.memories))
    [0, 7, 42]
    [7, 42]
    """
    if not isinstance(loops, int) or not 0 <= loops <= 100:
        raise ValueError(f"loops are taken 0 to 100 times, not {loops!r}")
    if not isinstance(limit, int) or limit < 1:
        raise ValueError(f"limit is an integer above 0, not {limit!r}")
    for i, value in enumerate(args):
        if isinstance(value, Pointer | Texture | Sampler | Surface):
            raise Unsupported(f"argument {i} is a {type(value).__name__}: arrays and numbers are followed")
    began = time.monotonic()
    with laid_out(module, name, grid, block, dynamic_shared, args) as launch:
        question = LaunchQuestion(module.checked, launch, model, loops)
        question.enumeration.deadline = began + timeout
        memories, complete = question.memories(args, limit)
    return LaunchOutcomes(tuple(memories), complete, tuple(question.notes), time.monotonic() - began)


class LaunchObjects:
    """The memory of a launch, as objects that threads access: each an array of the caller, the module's variables, or the part of
    a state space that a CTA or a thread has. Those are `variables` that some thread accesses."""

    def __init__(self, launch: LaidOutLaunch):
        self.launch, self.variables = launch, dict[str, Variable]()
        arrays = {id(passed.block.data): passed.what for passed in launch.arrays}
        self._blocks = {id(b.data): (arrays.get(id(b.data), b.name), b.data) for b in launch.memory.blocks.blocks}
        self._spaces = {*contracts.state_spaces.of_several(), contracts.state_spaces.OF_FRAMES}

    def is_written(self, array: np.ndarray) -> bool:
        """Whether threads may write an array that an access has given."""
        return unbanked(self.launch.memory.space_of(array)) in self._spaces

    def place(self, array: np.ndarray, at: int, size: int, cta: int, thread: int) -> ByteRange:
        """The bytes of an object that a thread accesses, by the array and the index there."""
        memory = self.launch.memory
        space = memory.space_of(array)
        if memory.strides.get(space):
            whose = f"thread {thread}" if is_of_threads(space) else f"CTA {cta}"
            name, length, initial = f".{space} of {whose}", memory.strides[space], 0
            at %= length
        else:
            name, data = self._blocks[id(array)]
            length, initial = len(data), int.from_bytes(data.tobytes(), "little")
        self.variables.setdefault(name, Variable(name, length, initial, space=unbanked(space)))
        return ByteRange(name, at, size)


class LaunchWalk(ThreadWalk):
    """A thread of a launch, followed on all of its paths."""

    def __init__(self, checked: Checked, launch: LaidOutLaunch, objects: LaunchObjects, number: int, loops: int):
        """`number` is that of the thread in the grid."""
        self.cta, self.index = divmod(number, launch.extents.threads)
        place = ThreadPlace(self.cta, self.cta, 0)
        super().__init__(checked, launch.program.kernel, (number, place), objects.variables, {}, loops)
        self.launch, self.objects = launch, objects
        self.special_values = SpecialValues(unchanging(launch.program.flow.special), False, launch.extents)

    def address_of(self, name: str, way: Any, lane: int) -> Int:
        address: Int = constant(self.launch.program.address_of(name))
        return address

    def special(self, name: str, lane: int) -> Any:
        if name not in unchanging([name]):
            raise Unsupported(f"{name} changes while a program runs, so that it has no value here")
        return constant(self.special_values.read(name, self.index, self.cta))

    def taking_part(self, threads: int) -> int | None:
        if threads != self.launch.extents.threads:
            raise Unsupported(f"a barrier of {threads} threads: those of whole CTAs are followed")
        return None

    # memory --------------------------------------------------------------------------------------------------------------

    def _places(self, op: Op, effect: effects.Access, path: Any) -> Iterator[tuple[Any, Any]]:
        """The bytes that an access may reach, each with the path where it does; of memory that nobody writes, what it holds."""
        address = substitute(effect.address, self.sources(op, self._way(path), 0))
        if isinstance(effect, effects.Update) and effect.rules:
            raise self._unsupported(op)
        if address.lo == address.hi:
            yield self._reached(address.lo, effect, op), path
            return
        for start in self._addresses(op, effect):
            condition: Bool = address == start
            if condition is not FALSE:
                yield self._reached(start, effect, op), self._where(path, condition)

    def _addresses(self, op: Op, effect: effects.Access) -> list[int]:
        """Where an access may lie whose address depends on what is read: in an array, or in the memory of the CTA."""
        space, memory = op.space or effect.space, self.launch.memory
        if space in ("generic", contracts.state_spaces.OF_BUFFERS):
            ranges = [(b.base, b.size) for b in memory.blocks.blocks]
        else:
            ranges = [(0, memory.sizes.get(space, 0))]
        starts = [begin + k for begin, size in ranges for k in range(0, size - effect.bytes + 1, effect.bytes)]
        if len(starts) > MOST_PLACES:
            raise Unsupported(
                f"{self.text(op)}: its address depends on what is read, and may be one of {len(starts):,}: {MOST_PLACES:,} are "
                "the most"
            )
        return starts

    def _reached(self, address: int, effect: effects.Access, op: Op) -> Any:
        space, is_write = op.space or effect.space, not isinstance(effect, effects.Load)
        memory = self.launch.memory
        try:
            array, at = memory.access(space, address, effect.bytes, is_write, 0, self.index, effect.into)
        except Violation as broken:
            raise Unsupported(f"{self.text(op)} breaks a rule: {broken}") from None
        if self.objects.is_written(array):
            return self.objects.place(array, at, effect.bytes, self.cta, self.thread)
        return array[at : at + effect.bytes].tobytes()

    def act(self, effect: effects.Effect, op: Op, env: dict[str, Any], done: Bool, lane: int) -> None:
        if isinstance(effect, effects.Initiate | effects.Advance):
            raise self._unsupported(op)
        if not isinstance(effect, effects.Load) or not isinstance(self._place, bytes):
            super().act(effect, op, env, done, lane)
            return
        size = effect.type.bytes
        for i in range(effect.count):
            env[f"%loaded{i}"] = constant(int.from_bytes(self._place[i * size : (i + 1) * size], "little"))

    # barriers ------------------------------------------------------------------------------------------------------------

    def _ended(self, op: Op, path: Any, holds: bool) -> Iterator[Any]:
        """Where the last instruction of a block leads; bar.warp.sync is a barrier of the lanes of its mask."""
        effect = op.plan.meaning.effect
        if not (
            holds and isinstance(effect, effects.Collective) and effect.order is not None and effect.mask is not None
        ):
            yield from super()._ended(op, path, holds)
            return
        mask = substitute(effect.mask, self.sources(op, self._way(path), 0))
        if mask.lo != mask.hi:
            raise Unsupported(f"{self.text(op)}: its mask depends on what is read")
        warp, lane = divmod(self.index, contracts.warps.LANES)
        if not mask.lo >> lane & 1:
            raise Unsupported(f"{self.text(op)}: the mask does not name the lane that executes it")
        self._path = path
        self.perform(OperationKind.BARRIER, op, barrier=f"warp {warp}, lanes {mask.lo:#x}")
        block = self.flow.blocks[path.block]
        behind = replace(path, operations=self._path.operations, position=path.position + 1)
        yield self._at(behind, block.taken if block.next is None else block.next)


class LaunchQuestion(PathQuestion):
    """What a launch may leave."""

    def __init__(self, checked: Checked, launch: LaidOutLaunch, model: str, loops: int):
        super().__init__(model_of(model), model)
        extents = launch.extents
        threads = extents.threads * extents.ctas
        if threads > MOST_THREADS:
            raise Unsupported(f"a launch of {threads:,} threads: {MOST_THREADS} are the most")
        if launch.program.clustered:
            raise Unsupported("a launch in clusters: the memory of other CTAs is not followed")
        self.launch, self.objects = launch, LaunchObjects(launch)
        self.paths: list[list[ThreadPath]] = [
            LaunchWalk(checked, launch, self.objects, number, loops).paths({}) for number in range(threads)
        ]
        self.variables = self.objects.variables
        if not all(path.ended for paths in self.paths for path in paths):
            self.notes[f"loops are taken at most {loops} times"] = None

    def memories(self, args: Sequence[Any], limit: int) -> tuple[list[FinalMemory], bool]:
        """What may be left, and whether that is all."""
        left: dict[tuple[bytes, ...], FinalMemory] = {}
        try:
            if self.has_mixed_race():
                raise Unsupported(next(iter(self.notes)))
            for combination in self.combinations():
                for candidate in self.enumeration.candidates(combination, lambda values: True):
                    for held in self._final(candidate):
                        if held in left:
                            continue
                        if len(left) == limit:
                            self.notes[f"there are more than {limit:,}"] = None
                            return [*left.values()], False
                        left[held] = FinalMemory(
                            self._arrays(args, held), self.shown(candidate, self._named(candidate, held))
                        )
                if not combination.phases:
                    self.notes["threads may wait at a barrier that never completes"] = None
        except NoChoice as error:
            raise Unsupported(f"a branch depends on a result that PTX leaves open: {error}") from None
        except OutOfTime:
            self.notes["not all executions were looked at in time"] = None
            return [*left.values()], False
        return [*left.values()], not self.notes

    def _final(self, candidate: Candidate) -> Iterator[tuple[bytes, ...]]:
        """The bytes of the arrays, in each state in which memory may be left."""
        pieces = candidate.combination.pieces
        for values in self.enumeration.final_bytes(candidate):
            arrays = []
            for passed in self.launch.arrays:
                data = bytearray(passed.block.data.tobytes())
                for k, piece in enumerate(pieces):
                    begin, size = piece.bytes.offset, piece.bytes.size
                    if piece.bytes.object == passed.what:
                        data[begin : begin + size] = values[k].to_bytes(size, "little")
                arrays.append(bytes(data))
            yield tuple(arrays)

    def _named(self, candidate: Candidate, held: tuple[bytes, ...]) -> dict[str, int]:
        """What the parts of arrays hold that a thread has written."""
        named, operations = {}, candidate.combination.operations
        for passed, data in zip(self.launch.arrays, held, strict=True):
            for operation in operations:
                here = operation.location
                if operation.thread is None or here is None or here.object != passed.what:
                    continue
                if contracts.operations.writes(operation):
                    name = f"{passed.what} at {here.offset}"
                    named[name] = int.from_bytes(data[here.offset : here.offset + here.size], "little")
        return named

    def _arrays(self, args: Sequence[Any], held: tuple[bytes, ...]) -> tuple[np.ndarray | None, ...]:
        """The arrays among the arguments with these bytes."""
        of_blocks = {
            id(passed.array): np.frombuffer(data, np.uint8).copy().view(passed.array.dtype).reshape(passed.array.shape)
            for passed, data in zip(self.launch.arrays, held, strict=True)
        }
        return tuple(of_blocks.get(id(host_array("an argument", value))) for value in args)
