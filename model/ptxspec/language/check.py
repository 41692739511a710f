"""From a tree to a checked module: every name resolved, every instruction given its form.

The passes are put together here: each is handed the module's context, and the passes whose work it needs. The rules come from the
pages: forms from the syntax fences, agreement of types from spec/operands/type-checking.md.
"""

from __future__ import annotations

from ptxspec import contracts
from ptxspec.base import collection
from ptxspec.language import tree
from ptxspec.language.abi import keep_to_the_abi
from ptxspec.language.aliases import Aliases
from ptxspec.language.bodies import Bodies
from ptxspec.language.call_checks import CallChecks
from ptxspec.language.checked import Checked, Kernel
from ptxspec.language.diagnostics import Source
from ptxspec.language.entry_parameters import EntryParameters
from ptxspec.language.initializers import InitializerBuilder
from ptxspec.language.instruction_rules import InstructionRules
from ptxspec.language.instructions import Instructions
from ptxspec.language.module_context import Context
from ptxspec.language.named import Places, Range
from ptxspec.language.opaque import OpaqueVariables
from ptxspec.language.operand_resolution import OperandResolver
from ptxspec.language.parser import read
from ptxspec.language.preamble import preamble
from ptxspec.language.signatures import SignatureLayout
from ptxspec.language.symbols import names_agree, unresolved, variables_declared
from ptxspec.language.variables import VariableLayout


@collection.paused()
def _checked(context: Context) -> Checked:
    """The module of a context, pass by pass. Raises PtxError with all complaints."""
    opaque, aliases = OpaqueVariables(context), Aliases(context)
    layout, initializers = SignatureLayout(context, opaque), InitializerBuilder(context, aliases)
    variables, operands = VariableLayout(context, opaque, initializers), OperandResolver(context, aliases)
    calls = CallChecks(context, aliases, layout, operands)
    instructions = Instructions(context, opaque, operands, InstructionRules(context, opaque), calls)
    entry_parameters = EntryParameters(context, opaque)
    bodies = Bodies(context, opaque, layout, variables, calls, instructions, entry_parameters)

    preamble(context)
    _variables(context, variables)
    names_agree(context)
    _signatures(context, layout)
    for directive in context.module.directives:
        if isinstance(directive, tree.Alias):
            aliases.declare_alias(directive)
    initializers.images()
    kernels, functions = _bodies(context, bodies)
    unresolved(context)
    if context.part is None:
        keep_to_the_abi(context)
    if context.complaints:
        raise context.complaints.error()
    second = {name: aliases.function_symbol(name) for name in context.aliases}
    return Checked(
        context.source,
        context.module,
        kernels,
        _places(context),
        context.sizes,
        functions,
        context.signatures,
        context.used,
        second,
        context.address_size,
    )


def _variables(context: Context, variables: VariableLayout) -> None:
    """Lay out the module's variables."""
    outer = context.outer
    for variable in variables_declared(context, variables):
        made = variables.declare(variable, outer, context.sizes)
        ending = "" if variable.linkage is not None else context.suffix
        if isinstance(made, Range):
            outer.places.add(made.like(made.first, ending))
        elif made is not None:
            outer.add_place(made.name, made._replace(name=made.name + ending))
            context.positions.setdefault(made.name, variable.position)


def _signatures(context: Context, layout: SignatureLayout) -> None:
    """Declare all functions, and compare the declarations of entries."""
    for function in context.module.functions:
        if not function.is_entry:
            layout.declare_function(function)
        elif function is not context.functions[function.name]:
            layout.same_parameters(function)


def _bodies(context: Context, bodies: Bodies) -> tuple[dict[str, Kernel], dict[str, Kernel]]:
    """Entries and functions with a body, by their symbols."""
    kernels: dict[str, Kernel] = {}
    functions: dict[str, Kernel] = {}
    for function in sorted(context.module.functions, key=lambda f: f.is_entry):
        symbol = context.symbols[function.name]
        if function.body is None or symbol in kernels or symbol in functions:
            continue
        if function.is_entry:
            kernels[symbol] = bodies.kernel(function, context.outer)
        else:
            kernel = functions[symbol] = bodies.kernel(function, context.outer)
            context.sizes |= {
                space: kernel.sizes[space] for space in contracts.state_spaces.once()
            }  # the module has one of each
    return kernels, functions


def _places(context: Context) -> Places:
    """The module's variables, and those of its functions that there is one of."""
    places = Places()
    for some in (context.outer.places, context.statics):
        places.update((place.name, place) for place in some.values())
        for series in some.ranges.values():
            places.add(series, series.ending)
            places.update((place.name, place) for place in series.made.values())
    return places


def check_tree(source: Source, module: tree.ModuleTree) -> Checked:
    """Check a tree that somebody has made of a text. Raises PtxError with every complaint found."""
    return _checked(Context(source, module))


@collection.paused()
def check(text: str, path: str = "<ptx>", part: int | None = None) -> Checked:
    """Parse and check a module. `part` is its number among those that it is to be linked with, None if it runs alone. Raises
    PtxError with every complaint found: those about syntax and, unless declarations are among what could not be read, those about
    all the rest."""
    source = Source(text, path)
    reading = read(source)
    if reading.module is None or not reading.whole:
        raise reading.build.complaints.error()
    context = Context(source, reading.module, part)
    context.complaints.extend(reading.build.complaints)
    return _checked(context)
