"""ptxspec: an executable, literate specification of NVIDIA's PTX ISA.

module = ptxspec.load(text)            a checked module; PtxError says what is wrong with it
module = ptxspec.link([text, …])       several that use one another's names
module.launch("kernel", grid, block, args)
module.prepared("kernel", grid, block).launch(args)       many times
memory = ptxspec.Memory()              memory that launches share, with pointers into it
module.bind("tex", ptxspec.Texture(texels, filter="linear"))
tensor = ptxspec.TensorMap(array, box=(64, 32), swizzle="128B")      an argument that describes a tensor
ptxspec.evaluate("add.u32 d, a, b;", a=1, b=2)
ptxspec.allowed("rcp.approx.f32 d, a;", {"d": 0.25}, a=4.0)
ptxspec.prove("shl.b32 d, a, 1;", "add.u32 d, a, a;")
ptxspec.find("popc.b32 d, a;", "d == 32")
ptxspec.explain("bfe.u32 d, a, 8, 12;", a=0x12345678)
ptxspec.synthesize("div.u16 d, a, 3;", ["mul.hi.u16", "shr.u16"])
ptxspec.litmus(text, model="9.1")
ptxspec.forms("cvt")
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ptxspec.literate.finder import install as _install_finder

__version__ = "0.2.0"

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ptxspec.base.options import (
        AddressMode,
        Context,
        Contraction,
        Engine,
        FilterMode,
        Freedom,
        Geometry,
        Layout,
        LitmusMethod,
        LitmusStatus,
        LivenessStatus,
        Nan,
        ReadMode,
        Relation,
        Solver,
        Status,
        SurfaceGeometry,
        TensorFill,
        TensorMode,
        TensorPromotion,
        TensorSwizzle,
    )
    from ptxspec.language.diagnostics import Diagnostic, PtxError
    from ptxspec.language.forms import Form, forms
    from ptxspec.language.gaps import GapError
    from ptxspec.machine.counting import Count, Counts
    from ptxspec.machine.errors import LaunchError, Where
    from ptxspec.machine.events import EventKind
    from ptxspec.machine.findings import LaunchFinding
    from ptxspec.machine.images import Sampler, Surface, Texture
    from ptxspec.machine.launch_plan import Outcome
    from ptxspec.machine.module import Module, PreparedLaunch
    from ptxspec.machine.observing import Event, ObservedInstruction, ObservedLaunch, Observer, Trace
    from ptxspec.machine.owned import Memory, MemoryLeak, Multicast
    from ptxspec.machine.pointers import Pointer
    from ptxspec.machine.tensor_maps import TensorMap
    from ptxspec.query.allowed import allowed
    from ptxspec.query.assumptions import AssumptionError
    from ptxspec.query.equivalence import prove
    from ptxspec.query.evaluate import Chosen, Executed, Results, evaluate
    from ptxspec.query.explaining import Explained, ExplainedLine, ExplainedValue, Explanation, explain
    from ptxspec.query.finding import Finding, Findings, find
    from ptxspec.query.litmus.launch_outcomes import FinalMemory, LaunchOutcomes, outcomes
    from ptxspec.query.litmus.path_questions import LitmusOperation, LitmusWitness
    from ptxspec.query.litmus.reading import LitmusError
    from ptxspec.query.litmus.verdicts import (
        BrokenAxiom,
        LitmusVerdict,
        LivenessVerdict,
        litmus,
    )
    from ptxspec.query.outcomes import Unsupported
    from ptxspec.query.statement import Statement
    from ptxspec.query.synthesis.search import Synthesis, synthesize
    from ptxspec.query.verdicts import Cause, ContextWitness, Counterexample, OpenChoice, TraceStep, Verdict, Why
    from ptxspec.terms.exact import NoChoice
    from ptxspec.terms.types import Type

#: where each public name lives that is imported when it is asked for
_PLACES = {
    "Diagnostic": "ptxspec.language.diagnostics",
    "PtxError": "ptxspec.language.diagnostics",
    "Form": "ptxspec.language.forms",
    "GapError": "ptxspec.language.gaps",
    "forms": "ptxspec.language.forms",
    "LaunchError": "ptxspec.machine.errors",
    "LaunchFinding": "ptxspec.machine.findings",
    "Where": "ptxspec.machine.errors",
    "Sampler": "ptxspec.machine.images",
    "Surface": "ptxspec.machine.images",
    "Texture": "ptxspec.machine.images",
    "Memory": "ptxspec.machine.owned",
    "MemoryLeak": "ptxspec.machine.owned",
    "Multicast": "ptxspec.machine.owned",
    "Module": "ptxspec.machine.module",
    "PreparedLaunch": "ptxspec.machine.module",
    "Count": "ptxspec.machine.counting",
    "Counts": "ptxspec.machine.counting",
    "Outcome": "ptxspec.machine.launch_plan",
    "EventKind": "ptxspec.machine.events",
    "Event": "ptxspec.machine.observing",
    "ObservedInstruction": "ptxspec.machine.observing",
    "ObservedLaunch": "ptxspec.machine.observing",
    "Observer": "ptxspec.machine.observing",
    "Trace": "ptxspec.machine.observing",
    "Pointer": "ptxspec.machine.pointers",
    "AddressMode": "ptxspec.base.options",
    "Context": "ptxspec.base.options",
    "ContextWitness": "ptxspec.query.verdicts",
    "Contraction": "ptxspec.base.options",
    "Nan": "ptxspec.base.options",
    "Engine": "ptxspec.base.options",
    "FilterMode": "ptxspec.base.options",
    "Freedom": "ptxspec.base.options",
    "Geometry": "ptxspec.base.options",
    "Layout": "ptxspec.base.options",
    "LitmusMethod": "ptxspec.base.options",
    "LitmusStatus": "ptxspec.base.options",
    "LivenessStatus": "ptxspec.base.options",
    "ReadMode": "ptxspec.base.options",
    "Relation": "ptxspec.base.options",
    "Solver": "ptxspec.base.options",
    "Status": "ptxspec.base.options",
    "SurfaceGeometry": "ptxspec.base.options",
    "TensorFill": "ptxspec.base.options",
    "TensorMap": "ptxspec.machine.tensor_maps",
    "TensorMode": "ptxspec.base.options",
    "TensorPromotion": "ptxspec.base.options",
    "TensorSwizzle": "ptxspec.base.options",
    "allowed": "ptxspec.query.allowed",
    "AssumptionError": "ptxspec.query.assumptions",
    "Chosen": "ptxspec.query.evaluate",
    "Executed": "ptxspec.query.evaluate",
    "Results": "ptxspec.query.evaluate",
    "evaluate": "ptxspec.query.evaluate",
    "Explained": "ptxspec.query.explaining",
    "Explanation": "ptxspec.query.explaining",
    "ExplainedLine": "ptxspec.query.explaining",
    "ExplainedValue": "ptxspec.query.explaining",
    "explain": "ptxspec.query.explaining",
    "Finding": "ptxspec.query.finding",
    "Findings": "ptxspec.query.finding",
    "find": "ptxspec.query.finding",
    "FinalMemory": "ptxspec.query.litmus.launch_outcomes",
    "LaunchOutcomes": "ptxspec.query.litmus.launch_outcomes",
    "outcomes": "ptxspec.query.litmus.launch_outcomes",
    "LitmusError": "ptxspec.query.litmus.reading",
    "BrokenAxiom": "ptxspec.query.litmus.verdicts",
    "LitmusOperation": "ptxspec.query.litmus.path_questions",
    "LitmusVerdict": "ptxspec.query.litmus.verdicts",
    "LivenessVerdict": "ptxspec.query.litmus.verdicts",
    "LitmusWitness": "ptxspec.query.litmus.path_questions",
    "litmus": "ptxspec.query.litmus.verdicts",
    "Synthesis": "ptxspec.query.synthesis.search",
    "synthesize": "ptxspec.query.synthesis.search",
    "Unsupported": "ptxspec.query.outcomes",
    "Statement": "ptxspec.query.statement",
    "Cause": "ptxspec.query.verdicts",
    "Counterexample": "ptxspec.query.verdicts",
    "OpenChoice": "ptxspec.query.verdicts",
    "TraceStep": "ptxspec.query.verdicts",
    "Verdict": "ptxspec.query.verdicts",
    "Why": "ptxspec.query.verdicts",
    "prove": "ptxspec.query.equivalence",
    "NoChoice": "ptxspec.terms.exact",
    "Type": "ptxspec.terms.types",
}

__all__ = [
    "AddressMode",
    "AssumptionError",
    "BrokenAxiom",
    "Cause",
    "Chosen",
    "Context",
    "ContextWitness",
    "Contraction",
    "Count",
    "Counterexample",
    "Counts",
    "Diagnostic",
    "Engine",
    "Event",
    "EventKind",
    "Executed",
    "Explained",
    "ExplainedLine",
    "ExplainedValue",
    "Explanation",
    "FilterMode",
    "FinalMemory",
    "Finding",
    "Findings",
    "Form",
    "Freedom",
    "GapError",
    "Geometry",
    "LaunchError",
    "LaunchFinding",
    "LaunchOutcomes",
    "Layout",
    "LitmusError",
    "LitmusMethod",
    "LitmusOperation",
    "LitmusStatus",
    "LitmusVerdict",
    "LitmusWitness",
    "LivenessStatus",
    "LivenessVerdict",
    "Memory",
    "MemoryLeak",
    "Module",
    "Multicast",
    "Nan",
    "NoChoice",
    "ObservedInstruction",
    "ObservedLaunch",
    "Observer",
    "OpenChoice",
    "Outcome",
    "Pointer",
    "PreparedLaunch",
    "PtxError",
    "ReadMode",
    "Relation",
    "Results",
    "Sampler",
    "Solver",
    "Statement",
    "Status",
    "Surface",
    "SurfaceGeometry",
    "Synthesis",
    "TensorFill",
    "TensorMap",
    "TensorMode",
    "TensorPromotion",
    "TensorSwizzle",
    "Texture",
    "Trace",
    "TraceStep",
    "Type",
    "Unsupported",
    "Verdict",
    "Where",
    "Why",
    "allowed",
    "evaluate",
    "explain",
    "find",
    "forms",
    "link",
    "litmus",
    "load",
    "outcomes",
    "prove",
    "synthesize",
]


_install_finder()


def load(text: str, path: str = "<ptx>") -> Module:
    """Parse and check the text of a module. `text` is PTX as a str, not bytes and not a path; `path` is the file name that
    diagnostics show. Raises PtxError if the text has errors, and TypeError if `text` is not a str.

    >>> module = ptxspec.load(".version 8.0 .target sm_80 .address_size 64 .visible .entry nothing() { ret; }")
    >>> module.kernels
    ['nothing']
    """
    from ptxspec.language.check import check
    from ptxspec.machine.module import Module

    return Module(check(text, path))


def link(texts: Sequence[str], paths: Sequence[str] | None = None) -> Module:
    """Check the texts of several modules and link them into one, by the rules of spec/functions/linking.md. `paths` are the file
    names that diagnostics show. Raises PtxError if a text has errors, or if a name is defined twice or is used and never
    defined; TypeError for a single text instead of a list; and ValueError if the numbers of paths and texts differ.

    >>> header = ".version 8.0 .target sm_80 .address_size 64 "
    >>> user = header + ".extern .global .u32 x; .visible .entry set() { st.global.u32 [x], 7; ret; }"
    >>> module = ptxspec.link([user, header + ".visible .global .u32 x;"])
    >>> module.launch("set").steps
    2
    >>> module.read("x")
    array([7, 0, 0, 0], dtype=uint8)
    """
    from ptxspec.language.linking import link as linked
    from ptxspec.machine.module import Module

    if isinstance(texts, str | bytes):
        raise TypeError("link takes a list of texts; for one module there is load")
    if paths is not None and len(paths) != len(texts):
        raise ValueError(f"{len(paths)} paths for {len(texts)} texts")
    return Module(linked(texts, paths))


if not TYPE_CHECKING:  # to type checkers, a name that is not there is wrong

    def __getattr__(name: str) -> Any:
        """What is needed is imported when it is asked for: a command that proves nothing never loads the solver."""
        import importlib

        if name in _PLACES:
            return getattr(importlib.import_module(_PLACES[name]), name)
        raise AttributeError(f"module 'ptxspec' has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names, those included that were not asked for yet."""
    return sorted({*__all__, "__version__", *(name for name in globals() if name.startswith("__"))})
