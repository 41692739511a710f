"""Texts as kernels: a whole module, a function, or a fragment whose registers are declared as its instructions ask for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ptxspec import contracts
from ptxspec.language import tree
from ptxspec.language.building.modules import FragmentHeading
from ptxspec.language.check import check, check_tree
from ptxspec.language.checked import Checked, Kernel
from ptxspec.language.diagnostics import Source
from ptxspec.language.gaps import GapError
from ptxspec.language.parser import ended, parse_fragment
from ptxspec.language.specials import special_registers
from ptxspec.language.syntax import syntax
from ptxspec.machine.call_graph import gaps_reached
from ptxspec.machine.whole_kernels import linked
from ptxspec.query.fragments import MOST_INSTRUCTIONS, as_contracted
from ptxspec.query.outcomes import Unsupported
from ptxspec.query.paths.options import Options
from ptxspec.query.register_types import register_types
from ptxspec.query.results import consumed
from ptxspec.terms.types import TYPES, Type

#: the name of the entry that a fragment becomes
FRAGMENT = "fragment"


class Side(NamedTuple):
    """One side of a question: its source, the module, the entry or the function that is executed with all that it calls, and
    what it is: "fragment", "entry" or "function"; and the registers whose last value a later instruction reads."""

    source: Source
    checked: Checked
    kernel: Kernel
    main: Kernel
    what: str
    scratch: frozenset[str]

    @property
    def suffix(self) -> str:
        """What ends the names of registers and variables that are the main function's."""
        return f"@{self.main.name}" if self.what == "function" else ""


def side(text: str, path: str, types: Mapping[str, Type], options: Options) -> Side:
    """Read one side. `types` fixes the types of a fragment's registers. Raises PtxError, or Unsupported for a text that has not
    one thing to execute."""
    words, _ = syntax().lexicon.upto(text, 0, "")
    if any(word in (".entry", ".func") for word in words):
        checked = check(text, path)
        if len(checked.kernels) > 1:
            raise Unsupported(f"{path} has several entries ({', '.join(checked.kernels)}): leave the one that is meant")
        if not checked.kernels and not checked.functions:
            raise Unsupported(f"{path} has neither an entry nor a function with a body")
        source, what = checked.source, "entry" if checked.kernels else "function"
        name = list(checked.kernels or checked.functions)[-1]
        if what == "function":
            checked = checked._replace(kernels={name: checked.functions[name]})
    else:
        source, name, what = Source(ended(text), path), FRAGMENT, "fragment"
        heading, items = parse_fragment(source)
        if len(items) > MOST_INSTRUCTIONS:
            raise Unsupported(f"a fragment of {len(items):,} statements: {MOST_INSTRUCTIONS:,} are the most")
        # the least types of registers that hold pointers
        spaces, is_narrow = {b.name: b.space for b in options.buffers}, contracts.access.is_narrow
        least = {b.name: is_narrow(spaces.get(b.of or b.name, b.space)) for b in options.buffers}
        pointers = {name: TYPES["b32" if narrow else "b64"] for name, narrow in least.items()}
        registers = register_types(items, source, dict(types), pointers)
        checked = check_tree(source, _module_of(items, registers, heading))
    gaps = gaps_reached(checked, name)
    if gaps:
        raise GapError(gaps, 0)
    kernel = linked(checked, name)
    scratch = consumed(kernel) if what == "fragment" else frozenset[str]()
    return Side(source, checked, as_contracted(kernel, options.contract), checked.kernels[name], what, scratch)


def _module_of(items: list[Any], registers: dict[str, Type], heading: FragmentHeading | None) -> tree.ModuleTree:
    """A module with one entry, whose body is the fragment; of the version and the target that it names, or the newest."""
    declared = [
        tree.Variable("reg", type.name, 1, name, None, None, (), None, None, 0)
        for name, type in registers.items()
        if name not in special_registers()
    ]
    page = contracts.directives
    version, target = max(page.VERSIONS.items()), list(page.TARGETS)[-1]
    if heading is not None:
        version = heading.version or version
        known = [name for name, since in page.TARGETS.items() if since <= version]
        target = heading.target or known[-1]
    entry = tree.Function(FRAGMENT, (), (*declared, *items), {}, "visible", 0)
    head = tree.ArchitectureTarget((target,), (0,), 0)
    further = tuple(item for item in items if isinstance(item, tree.ArchitectureTarget))
    return tree.ModuleTree(version, (head,), 64, (), (entry,), 0, 0, further_targets=further)
