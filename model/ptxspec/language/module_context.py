"""What all checks of a module share: its source, version and target, and the complaints so far."""

from __future__ import annotations

import re
from bisect import bisect

from ptxspec import contracts
from ptxspec.language import tree
from ptxspec.language.checked import Signature
from ptxspec.language.diagnostics import Complaints, Later, Source
from ptxspec.language.digits import integer_of
from ptxspec.language.forms import registry
from ptxspec.language.named import Places
from ptxspec.language.parser import operand_offset
from ptxspec.language.scopes import Names
from ptxspec.language.specials import special_registers
from ptxspec.language.suggestions import did_you_mean
from ptxspec.terms.editions import Epoch
from ptxspec.terms.static_rules import Facts, StaticRule
from ptxspec.terms.types import TYPES, Type


class Context:
    """One module under check: what its passes share. What one pass alone keeps is in the pass."""

    def __init__(self, source: Source, module: tree.ModuleTree, part: int | None = None):
        """`part` is the module's number among those that are to be linked, None if it runs alone."""
        self.source, self.module, self.part = source, module, part
        self.suffix = "" if part is None else f"#{part}"  # ends what other modules do not see
        self.complaints = Complaints(source)
        self.table = registry().opcodes
        self.specials = special_registers()
        self.signatures: dict[str, Signature] = {}
        self.outer = Names(None, self.suffix)
        #: where each variable, function and entry of the module is declared for the first time
        self.positions: dict[str, int] = {}
        self.functions: dict[str, tree.Function] = {}
        for function in module.functions:
            self.functions.setdefault(function.name, function)
        exported = {f.name for f in module.functions if f.linkage is not None}
        #: the names by which functions and entries are known when modules are linked
        self.symbols = {name: name if name in exported else name + self.suffix for name in self.functions}
        #: other names of functions
        self.aliases: dict[str, str] = {}
        #: functions and entries that are called or whose address is taken, and where first
        self.used: dict[str, int] = {}
        #: by the name of a function or an entry, what it calls or names: a function (None: what an address leads to), where, and
        #: what is passed
        self.mentions: dict[str, list[tuple[str | None, int, Signature]]] = {}
        #: where an initializer takes a function's address
        self.pointed: list[int] = []
        #: variables in .global and .const that functions declare, by names that nothing else has
        self.statics = Places()
        #: bytes of the module's variables in each state space
        self.sizes = dict.fromkeys(contracts.state_spaces.addressable(), 0)
        sections = [d for d in module.directives if isinstance(d, tree.Section)]
        #: the names of sections and of the labels in them
        self.sections = {s.name for s in sections} | {c[0] for s in sections for width, c in s.lines if width is None}
        self.version = module.version
        #: what the last target at the head allows
        self.epoch = self.epoch_of(module.targets[-1])
        self.target = self.epoch.target
        #: what is allowed from later positions on
        self.changes = [(target.position, self.epoch_of(target)) for target in module.further_targets]
        #: of the targets at the head
        self.options = tuple(option for target in module.targets for option in target.names[1:])
        directives = contracts.directives
        #: what it says of the bits of its addresses
        self.address_size_said = None if module.address_size_position is None else module.address_size
        self.may_be_narrow = directives.may_be_narrow(self.address_size_said, self.target)
        #: whether something in it needs addresses of 32 bits
        self.needs_narrow = False
        #: whether entries name their parameters in a list, not among their variables
        self.lists_parameters = module.version >= directives.SINCE["a list of an entry's parameters"]

        #: types that variables may have anywhere in the module
        self._types: dict[str, Type] = {}

    def complain(self, position: int, message: str | Later, page: str | None = None) -> None:
        self.complaints.add(position, message, page)

    def require(self, rule: StaticRule[*Facts], position: int, *facts: *Facts, **fields: object) -> bool:
        """Whether facts keep a rule of a page; complains if not. See Complaints.require."""
        return self.complaints.require(rule, position, *facts, **fields)

    def epoch_of(self, target: tree.ArchitectureTarget) -> Epoch:
        """What a target allows in this module."""
        name = target.names[0]
        return Epoch(self.version, target_number(name), features(name))

    def epoch_at(self, position: int) -> Epoch:
        """What is allowed at a place behind the module's head."""
        if not self.changes:
            return self.epoch
        number = bisect(self.changes, position, key=lambda change: change[0])
        return self.changes[number - 1][1] if number else self.epoch

    def target_at(self, position: int) -> int:
        """The number of the target that counts at a place."""
        return self.epoch_at(position).target

    @property
    def address_size(self) -> int:
        """The bits of an address, once all bodies are checked."""
        return contracts.directives.address_size(self.address_size_said, self.needs_narrow)

    def position_of(self, name: str) -> int:
        """Where a variable, a function or an entry of the module is declared for the first time."""
        position = self.positions.get(name)
        if position is None:
            in_range = self.outer.places.in_a_range(name)
            assert in_range is not None
            position = in_range[0].position
        return position

    def since(self, directive: str, position: int) -> None:
        """Complain of a directive that is newer than the module's version or target."""
        page = contracts.directives
        self.require(page.version_has, position, directive, self.version)
        self.require(page.target_has, position, directive, self.target_at(position))

    def before(self, what: str, position: int) -> bool:
        """Whether the module is old enough for what later versions refuse; if not, complain."""
        return self.require(contracts.directives.version_still_has, position, what, self.version)

    def may_be_passed(self, type: str, is_array: bool, position: int) -> None:
        """Complain of a variable in .param that is no array and of a type that asks for one."""
        self.require(contracts.types.may_be_in_param, position, type, is_array)

    def bank(self, written: str, position: int) -> str:
        """The state space that `const[N]` means in this module."""
        page = contracts.banks
        number = page.bank_of(written)
        if (
            self.require(page.is_a_bank, position, number)
            and self.before("the number of a bank of constants", position)
            and number != page.FIRST
        ):
            self.since("a bank of constants", position)
        return str(page.space_of(number))

    def type(self, name: str, position: int) -> Type:
        if name in self._types:
            return self._types[name]
        type = TYPES.get(name)
        if type is None or not type.is_fundamental:
            known = [t.name for t in TYPES.values() if t.is_fundamental]
            what = f".{name} is no type that a variable can have"
            page = "spec/operands/type-checking.md"
            self.complain(position, Later(lambda: (what + did_you_mean(f".{name}", (f".{k}" for k in known)), page)))
            return TYPES["b32"]
        types = contracts.types
        allowed = self.require(types.version_has_type, position, name, self.version) and self.require(
            types.target_has_type, position, name, self.target_at(position)
        )
        if allowed and not self.changes:
            self._types[name] = type
        return type

    def fits_vector(self, type: Type, length: int, position: int) -> bool:
        """Whether there may be a vector of a type; complains if not."""
        return length == 1 or self.require(contracts.variables.is_a_vector_of, position, type, length)

    def operand_position(self, item: tree.Instruction, index: int) -> int:
        """The offset of an operand, found by reading the instruction once more."""
        return operand_offset(self.source.text, item.position, index)


def features(target: str) -> tuple[str, ...]:
    """The features of some chips alone that a target has, one that there is not having none."""
    name = re.sub("^compute_", "sm_", target)
    page = contracts.directives
    return page.features(name) if name in page.TARGETS else ()


def target_number(target: str) -> int:
    match = re.match(r"(?:sm|compute)_(\d{1,9})(?!\d)", target)
    return integer_of(match[1]) if match else 0
