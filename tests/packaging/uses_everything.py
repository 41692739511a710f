"""A user's program that names all of the public interface: test_typing.py checks it as strictly as mypy can, and runs it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

import ptxspec

TEXT = """.version 8.0 .target sm_80 .address_size 64
.global .u32 launches;
.global .texref image;
.visible .entry count(.param .u64 out) { .reg .b32 n; .reg .b64 a;
  atom.global.add.u32 n, [launches], 1; ld.param.u64 a, [out]; st.global.u32 [a], n; ret; }"""


class Stores:
    """An observer of one's own."""

    kinds = frozenset({ptxspec.EventKind.WRITE})

    def begin(self, launch: ptxspec.ObservedLaunch) -> None:
        self.instructions: tuple[ptxspec.ObservedInstruction, ...] = launch.instructions
        self.lines: list[int] = []

    def observe(self, events: npt.NDArray[np.void]) -> None:
        self.lines += [self.instructions[number].line for number in events["instruction"]]


def launched(module: ptxspec.Module, engine: ptxspec.Engine) -> int:
    out: npt.NDArray[np.uint32] = np.zeros(1, np.uint32)
    outcome: ptxspec.Outcome = module.launch(
        "count", grid=(1, 1), block=1, args=[out], profile="hopper", engine=engine, printed=print, dynamic_shared=0
    )
    module.write("launches", np.uint32(7))
    left: npt.NDArray[np.uint8] = module.read("launches")
    names: list[str] = module.kernels
    counted: ptxspec.Outcome = module.launch("count", args=[out], counts=True, schedule="random:3")
    counts: ptxspec.Counts | None = counted.counts
    each: tuple[ptxspec.Count, ...] = counts.instructions if counts is not None else ()
    choices: tuple[int, ...] | None = counted.schedule
    prepared: ptxspec.PreparedLaunch = module.prepared("count", (1, 1), 1, engine=engine, time_limit=60)
    again: ptxspec.Outcome = prepared.launch([out])
    checked: ptxspec.Outcome = module.launch("count", args=[out], check="uninitialized", findings="collect")
    faults: tuple[ptxspec.LaunchFinding, ...] = checked.findings
    assert not faults and checked.findings_omitted == 0
    assert again.steps == counted.steps
    stores: Stores = Stores()
    trace: ptxspec.Trace = ptxspec.Trace(kinds=[ptxspec.EventKind.EXIT], threads=[0], limit=5)
    observers: list[ptxspec.Observer] = [stores, trace]
    module.launch("count", args=[out], observers=observers)
    last: ptxspec.Event = trace.events[-1]
    assert stores.lines == sorted(stores.lines) and len(stores.lines) == 2 and (last.kind, trace.dropped) == ("EXIT", 0)
    assert sum(count.reached for count in each) == counted.steps and choices is not None
    return outcome.steps + len(left) + len(names)


def owned(module: ptxspec.Module) -> int:
    memory: ptxspec.Memory = ptxspec.Memory(base=1 << 40)
    first: ptxspec.Pointer = memory.allocate(16, align=16, name="first")
    other: ptxspec.Pointer = memory.register(np.zeros(4, np.uint32)) + 4
    module.launch("count", args=[first + 4])
    module.launch("count", args=[int(other)], memory=[memory])
    memory.write(first, memory.read(first + 4, 4))
    values: npt.NDArray[np.uint32] = memory.view(memory.put(b"abcd"), np.uint32, (1, 1))
    memory.free(first)
    left: tuple[ptxspec.MemoryLeak, ...] = memory.leaks()
    assert all(leak.size and leak.line for leak in left) and module.leaks() == ()
    several: ptxspec.Multicast = memory.multicast(16, devices=2, align=16, name="several")
    memory.write(several.copies[1], memory.read(several.copies[0], 4))
    distance: int = other - first + int(several.address)
    return values.size + (distance != 0)


def faults(module: ptxspec.Module) -> tuple[str, int]:
    try:
        module.launch("count", args=[np.zeros(0, np.uint32)])
    except ptxspec.LaunchError as error:
        where: ptxspec.Where | None = error.where
        address: int | None = error.address
        assert where is not None and address is not None
        return error.rule, where.line
    raise AssertionError("the store was out of bounds")


def complaints() -> list[str]:
    try:
        ptxspec.link(["bad"], ["bad.ptx"])
    except ptxspec.PtxError as error:
        found: list[ptxspec.Diagnostic] = error.diagnostics
        return [f"{one.path}:{one.line}:{one.column}: {one.message}" for one in found]
    return []


def images(module: ptxspec.Module) -> tuple[int, ...]:
    geometry: ptxspec.Geometry = "2d"
    plane: ptxspec.SurfaceGeometry = "2d"
    mode: ptxspec.AddressMode = "clamp"
    filter: ptxspec.FilterMode = "linear"
    read: ptxspec.ReadMode = "element"
    layout: ptxspec.Layout = "array"
    surface = ptxspec.Surface(np.zeros((2, 2, 1), np.float32), plane, layout=layout)
    texture = ptxspec.Texture(surface, geometry, address=(mode, mode), filter=filter, read=read)
    ptxspec.Sampler(mode, filter, levels=(0.0, 1.0))
    module.bind("image", texture)
    texels: npt.NDArray[np.float32] = surface.texels
    return texels.shape


def tensors(module: ptxspec.Module, array: npt.NDArray[np.float16]) -> int:
    mode: ptxspec.TensorMode = "tile"
    swizzle: ptxspec.TensorSwizzle = "32B"
    fill: ptxspec.TensorFill = "nan"
    promotion: ptxspec.TensorPromotion = "128B"
    tensor: ptxspec.TensorMap = ptxspec.TensorMap(array, (16, 1), swizzle=swizzle, fill=fill, l2=promotion, mode=mode)
    data: bytes = tensor.encode(4096)
    module.launch("copies", args=[tensor])
    return tensor.box_bytes + ptxspec.TensorMap.decode(data).box_bytes


def questions() -> ptxspec.Status:
    results: ptxspec.Results = ptxspec.evaluate("div.u32 d, a, %r1;", {"%r1": np.uint32(0)}, a=1)
    chosen: ptxspec.Chosen = results.chosen[0]
    executed: ptxspec.Executed = results.steps[0]
    assert executed.executed and executed.guard is None
    kind: ptxspec.Freedom = chosen.kind
    type: ptxspec.Type = results.types["d"]
    assert kind == "unspecified" and chosen.bits == results["d"] and type.width == 32
    many: ptxspec.Results = ptxspec.evaluate("add.u32 d, a, b;", {"a": np.arange(4, dtype=np.uint32)}, b=np.uint32(1))
    assert many["d"].tolist() == [1, 2, 3, 4]
    values: Mapping[str, int | float | bool] = {"d": 3}
    assert ptxspec.allowed("add.u32 d, a, b;", values, a=1, b=2)
    verdict: ptxspec.Verdict = ptxspec.prove("neg.s32 d, a;", "not.b32 d, a;", assume="a == 5", timeout=60.0)
    found: ptxspec.Counterexample | None = verdict.counterexample
    assert found is not None
    choices: tuple[ptxspec.OpenChoice, ...] = found.choices
    assert not choices
    step: ptxspec.TraceStep = found.left[0]
    assert step.instruction and step.writes
    why: ptxspec.Why = found.why()
    causes: tuple[ptxspec.Cause, ...] = why.causes
    assert not causes
    return verdict.status


def queries() -> str:
    relation: ptxspec.Relation = "refines"
    contract: ptxspec.Contraction = "any"
    nan: ptxspec.Nan = "payloads"
    solver: ptxspec.Solver = "z3"
    claim = ("div.u32 d, a, 0;", "mov.u32 d, 5;")
    verdict = ptxspec.prove(*claim, relation=relation, contract=contract, solver=solver, nan=nan)
    statement: ptxspec.Statement | None = verdict.statement
    assert statement is not None and statement.relation == relation
    context: ptxspec.Context = "any"
    pointer: dict[str, int | str | tuple[str, int]] = {"p": 4}
    fenced = ptxspec.prove("fence.sc.gpu;", "mov.u32 d, 0;", relation=relation, buffers=pointer, context=context)
    witness: ptxspec.ContextWitness | None = fenced.witness
    assert witness is None or witness.allowed_by == "right"
    inputs: ptxspec.Findings = ptxspec.find("neg.s32 d, a;", "d == 1")
    first: ptxspec.Finding = inputs[0]
    assert first == {"a": 0xFFFFFFFF} and inputs.status == "found"
    told: ptxspec.Explanation = ptxspec.explain("neg.s32 d, a;", a=1)
    step: ptxspec.Explained = told.steps[0]
    line: ptxspec.ExplainedLine = step.lines[0]
    values: list[ptxspec.ExplainedValue] = line.values
    assert step.executed and line.source and values == line.values
    made: ptxspec.Synthesis = ptxspec.synthesize("add.u32 d, a, a;", ["shl.b32"])
    return made.text


def orders(text: str) -> tuple[str, int]:
    method: ptxspec.LitmusMethod = "enumeration"
    try:
        verdict: ptxspec.LitmusVerdict = ptxspec.litmus(text, "9.1", by=method)
    except ptxspec.LitmusError as error:
        return error.message, error.line
    status: ptxspec.LitmusStatus = verdict.status
    witness: ptxspec.LitmusWitness | None = verdict.witness
    operations: tuple[ptxspec.LitmusOperation, ...] = () if witness is None else witness.operations
    broken: tuple[ptxspec.BrokenAxiom, ...] = verdict.reasons
    liveness: ptxspec.LivenessVerdict | None = verdict.liveness
    if liveness is not None and liveness.witness is not None:
        spins: ptxspec.LivenessStatus = liveness.status
        assert spins
        operations += liveness.witness.operations
    return status, len(operations) + len(broken)


def left_by(module: ptxspec.Module, box: npt.NDArray[np.uint32]) -> tuple[int, bool]:
    outcomes: ptxspec.LaunchOutcomes = ptxspec.outcomes(module, "count", block=2, args=[box], limit=10, timeout=5.0)
    memories: tuple[ptxspec.FinalMemory, ...] = outcomes.memories
    witnesses: list[ptxspec.LitmusWitness] = [memory.witness for memory in memories if memory.arrays[0] is not None]
    return len(witnesses), outcomes.complete and not outcomes.notes and outcomes.seconds >= 0


def refusals() -> list[str]:
    said: list[str] = []
    try:
        ptxspec.prove("neg.s32 d, a;", "not.b32 d, a;", assume="a ==")
    except ptxspec.AssumptionError as error:
        said.append(str(error))
    try:
        ptxspec.evaluate("bar.sync 0;")
    except ptxspec.Unsupported as error:
        said.append(str(error))
    try:
        ptxspec.load(".version 8.6 .target sm_100a .entry k() { tcgen05.fence::before_thread_sync; ret; }").launch("k")
    except ptxspec.GapError as error:
        said.append(error.diagnostics[0].message)
    try:
        ptxspec.evaluate("div.u32 d, a, 0;", profile="portable", a=1)
    except ptxspec.NoChoice as error:
        said.append(str(error))
    return said


def main() -> None:
    module: ptxspec.Module = ptxspec.load(TEXT, "everything.ptx")
    engines: tuple[ptxspec.Engine, ...] = ("native", "exact")
    assert [launched(module, engine) for engine in engines] == [9, 9]
    assert owned(module) == 2
    assert faults(module)[0] == "out of bounds"
    assert len(complaints()) == 1 and len(refusals()) == 4
    assert images(module) == (2, 2, 1)
    assert questions() == "refuted"
    assert queries() == "shl.b32 d, a, 1;"
    assert left_by(module, np.zeros(1, np.uint32)) == (2, True)
    forms: list[ptxspec.Form] = ptxspec.forms("bfe")
    assert forms[0].mnemonic == "bfe.u32" and ptxspec.__version__
    print("everything was used")


if __name__ == "__main__":
    main()
