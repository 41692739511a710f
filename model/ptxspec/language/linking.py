"""Several checked modules become one: spec/functions/linking.md says which definition of a name counts, and what must agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from ptxspec import contracts
from ptxspec.base.records import NamedTuple
from ptxspec.language import tree
from ptxspec.language.check import check
from ptxspec.language.checked import Checked, Kernel, Place, Signature
from ptxspec.language.diagnostics import Complaints, PtxError, Sources, together
from ptxspec.language.named import Places
from ptxspec.terms.registries import SYSTEM_FUNCTIONS

_PAGE = "spec/functions/linking.md"
#: variables that a module may declare as name<N> for others to see
MOST_SEEN = 1 << 18


class _Declared(NamedTuple):
    """A declaration of a name that other modules see: its module, and where it stands; whether it is .extern, .weak, .common or
    .visible; what it declares; and whether it says what the name begins as, or does."""

    part: int
    position: int
    linkage: str
    of: Place | Signature | tree.Function
    has_value: bool


def link(texts: Sequence[str], paths: Sequence[str] | None = None) -> Checked:
    """Check and link the texts of modules. Raises PtxError with what one of them, or all together, do wrong."""
    if not texts:
        raise ValueError("nothing to link")
    names = paths or [f"<ptx {i}>" for i in range(1, len(texts) + 1)]
    parts: list[Checked] = []
    errors: list[PtxError] = []
    for i, (text, path) in enumerate(zip(texts, names, strict=True), 1):
        try:
            parts.append(check(text, path, i))
        except PtxError as error:
            errors.append(error)
    if errors:
        raise together(errors)
    return _Linker(parts).linked()


class _Linker:
    """Links modules that were checked as parts of one."""

    def __init__(self, parts: list[Checked]):
        self.parts = parts
        self.page = contracts.linking
        self.complaints = [Complaints(part.source) for part in parts]
        for number in range(len(parts)):
            self._spread(number)

    def _spread(self, number: int) -> None:
        """Let the variables of each `name<N>` that other modules see stand alone."""
        places = self.parts[number].places
        assert isinstance(places, Places)
        seen = [r for r in places.ranges.values() if r.first.linkage is not None]
        count = 0
        for series in seen:
            count += series.count
            if count > MOST_SEEN:
                what = f"more than {MOST_SEEN} variables that other modules see are declared by name<N>"
                self.complaints[number].add(series.position, what, _PAGE)
                return
            for i in range(series.count):
                places.get(f"{series.first.name}{i}")
        for series in seen:
            del places.ranges[series.first.name, series.ending]

    def addresses_agree(self) -> None:
        first = self.parts[0].address_size
        for number, part in enumerate(self.parts):
            self.complaints[number].require(self.page.addresses_agree, 0, part.address_size, first)

    def linked(self) -> Checked:
        self.addresses_agree()
        self.stop()
        chosen = {name: self.choose(name, declared) for name, declared in self.declarations().items()}
        self.banks_agree(chosen)
        self.unsized_agree(chosen)
        self.stop()
        for number, part in enumerate(self.parts):
            for name, position in part.used.items():
                if name in chosen and name not in SYSTEM_FUNCTIONS:
                    rule, linkage = self.page.a_module_defines, chosen[name].linkage
                    self.complaints[number].require(rule, position, linkage, name=name)
        short = self.short_names(chosen)
        places, moved, sizes = self.laid_out(chosen, short)
        self.stop()
        kernels: dict[str, Kernel] = {}
        functions: dict[str, Kernel] = {}
        signatures: dict[str, Signature] = {}
        source = Sources([part.source for part in self.parts])
        for number, part in enumerate(self.parts):
            for name, signature in part.signatures.items():
                if name not in chosen or chosen[name].part == number:
                    signatures[name] = signature
            for into, bodies in ((functions, part.functions), (kernels, part.kernels)):
                for name, kernel in bodies.items():
                    if name not in chosen or chosen[name].part == number:
                        into[name] = kernel
                        shift = source.starts[number]
                        kernel.code = [op._replace(position=op.position + shift) for op in kernel.code]
                        kernel.gaps = [gap._replace(position=gap.position + shift) for gap in kernel.gaps]
        self.by_first_names(chosen, (*functions.values(), *kernels.values()), {name: short[name] for name in kernels})
        self.share(functions, kernels, moved, sizes)
        for name, kernel in kernels.items():
            kernel.name = short[name]
        return Checked(
            source,
            self.parts[0].tree,
            {short[name]: kernel for name, kernel in kernels.items()},
            places,
            sizes,
            functions,
            signatures,
            address_size=self.parts[0].address_size,
        )

    def stop(self) -> None:
        if any(self.complaints):
            raise together(c.error() for c in self.complaints if c)

    # which definition counts -------------------------------------------------------------------------------------------

    def declarations(self) -> dict[str, list[_Declared]]:
        """What the modules say of each name that is not one module's alone."""
        declarations: dict[str, list[_Declared]] = {}
        for number, part in enumerate(self.parts):
            written = {v.name: v for v in part.tree.variables if v.linkage != "extern"}
            first = {v.name: v for v in reversed(part.tree.variables)}
            for name, place in part.places.items():
                if place.linkage is not None and not _sized_later(place):
                    of = written.get(name, first[name]) if name in first else None
                    position, value = (of.position, of.values is not None) if of is not None else (0, False)
                    declarations.setdefault(name, []).append(_Declared(number, position, place.linkage, place, value))
            functions: dict[str, tree.Function] = {}
            for function in part.tree.functions:
                if function.linkage is not None or function.name in functions:
                    known = functions.setdefault(function.name, function)
                    if function.body is not None:
                        functions[function.name] = function._replace(linkage=function.linkage or known.linkage)
            for name, function in functions.items():
                of_function = function if function.is_entry else part.signatures[name]
                linkage = "extern" if function.body is None else str(function.linkage)
                declared = _Declared(number, function.position, linkage, of_function, function.body is not None)
                declarations.setdefault(name, []).append(declared)
            for directive in part.tree.directives:
                if isinstance(directive, tree.Alias):
                    symbol = part.second_names[directive.name]
                    if symbol in functions and functions[symbol].linkage == "visible":
                        second = _Declared(number, directive.position, "visible", part.signatures[symbol], True)
                        declarations.setdefault(directive.name, []).append(second)
        return declarations

    def short_names(self, chosen: dict[str, _Declared]) -> dict[str, str]:
        """How variables and entries are called from outside. What two modules call so, be it a variable, a function or an entry,
        keeps the number of its module: no name stands for two things."""
        names: dict[str, None] = {}
        for number, part in enumerate(self.parts):
            for name in (*part.places, *part.signatures, *part.kernels):
                if name not in chosen or chosen[name].part == number:
                    names[name] = None
        return _short_names([*names])

    def by_first_names(self, chosen: dict[str, _Declared], kernels: Iterable[Kernel], entries: dict[str, str]) -> None:
        """Let what entries and functions call or name of other modules be known by its first name, and entries by the names that
        they have from outside."""
        names = {name: short for name, short in entries.items() if name != short}
        names |= {
            n: self.parts[c.part].second_names[n] for n, c in chosen.items() if n in self.parts[c.part].second_names
        }
        for kernel in kernels if names else ():
            _rename(kernel, names)

    def choose(self, name: str, declared: list[_Declared]) -> _Declared:
        """The declaration that defines a name, or the first of those that are all .extern."""
        for linkage in ("visible", "weak", "common"):
            if linkage == "common":
                chosen = self.common(declared)
            else:
                chosen = next((d for d in declared if d.linkage == linkage), None)
            if chosen is not None:
                break
        else:
            chosen = declared[0]
            if isinstance(chosen.of, Place):
                rule = self.page.a_module_defines
                self.complaints[chosen.part].require(rule, chosen.position, chosen.linkage, name=name)
        for other in declared:
            if other is not chosen:
                self.agree(name, chosen, other)
        return chosen

    def common(self, declared: list[_Declared]) -> _Declared | None:
        """Of the declarations that are .common the one with a value, or the largest."""

        def weight(declaration: _Declared) -> tuple[bool, int]:
            assert isinstance(declaration.of, Place)  # no function is .common
            return declaration.has_value, declaration.of.size

        return max((d for d in declared if d.linkage == "common"), key=weight, default=None)

    def agree(self, name: str, chosen: _Declared, other: _Declared) -> None:
        """Complain of a declaration that cannot be one of what another defines."""
        a, b, page, at = chosen.of, other.of, self.page, other.position
        require = self.complaints[other.part].require
        both_visible = chosen.linkage == other.linkage == "visible"
        with_values = chosen.linkage == other.linkage == "common" and chosen.has_value and other.has_value
        if not require(page.names_are_of_one_kind, at, type(a), type(b), name=name):
            return
        if isinstance(a, Place) and isinstance(b, Place) and not both_visible:
            if not require(page.spaces_agree, at, b.space, a.space, name=name):
                return
        if not require(page.one_module_defines, at, both_visible, with_values, name=name):
            return
        if isinstance(a, Place) and isinstance(b, Place):
            is_common, may_grow = other.linkage == "common", chosen.linkage == "common" and not chosen.has_value
            require(page.bytes_agree, at, b.size, a.size, is_common, may_grow, name=name)
        if isinstance(a, Signature) and isinstance(b, Signature):
            require(page.modules_pass_alike, at, _passes(b), _passes(a), name=name)

    def banks_agree(self, chosen: dict[str, _Declared]) -> None:
        """Complain of a name that stands for the beginning of a bank here, and for something else there."""
        known = {name: d.of.space if isinstance(d.of, Place) else "func" for name, d in chosen.items()}
        for number, part in enumerate(self.parts):
            for name, place in part.places.items():
                if place.in_a_bank:
                    position = next((v.position for v in part.tree.variables if v.name == name), 0)
                    rule, other = self.page.spaces_agree, known.setdefault(name, place.space)
                    self.complaints[number].require(rule, position, place.space, other, name=name)

    # where variables lie -----------------------------------------------------------------------------------------------

    def unsized_agree(self, chosen: dict[str, _Declared]) -> None:
        """Complain of an array without a size whose name is that of a function or an entry in another module."""
        for number, part in enumerate(self.parts):
            for name, place in part.places.items():
                if place.in_a_bank or not _sized_later(place) or name not in chosen:
                    continue  # of banks, banks_agree complains
                position = next((v.position for v in part.tree.variables if v.name == name), 0)
                rule, kind = self.page.names_are_of_one_kind, type(chosen[name].of)
                self.complaints[number].require(rule, position, type(place), kind, name=name)

    def laid_out(
        self, chosen: dict[str, _Declared], short: dict[str, str]
    ) -> tuple[Places, dict[tuple[int, str], Place], dict[str, int]]:
        """All variables of the modules by their names, those by (module's number, name there), and the bytes of each space."""
        fits, what = contracts.state_spaces.space_holds, "too many variables of all modules"
        sizes = dict.fromkeys(contracts.state_spaces.addressable(), 0)
        placed: dict[str, Place] = {}
        aligned: dict[str, int] = {}
        for part in self.parts:
            for name, place in part.places.items():
                aligned[name] = max(aligned.get(name, 1), place.align)
        ranges = [self._ranges_laid_out(part, sizes) for part in self.parts]
        for space, size in sizes.items():
            if not self.complaints[0].require(fits, 0, space, size, what=what):
                return Places(), {}, sizes
        for number, part in enumerate(self.parts):
            for name, place in part.places.items():
                if name in chosen and chosen[name].part != number:
                    continue
                if name in ranges[number]:
                    placed[name] = ranges[number][name]
                    continue
                if place.opaque or _sized_later(place):  # the handles of modules differ already
                    placed.setdefault(name, place)
                    continue
                at = -(-sizes[place.space] // aligned[name]) * aligned[name]
                sizes[place.space] = at + place.size
                placed[name] = place._replace(offset=at, align=aligned[name])
                if not fits(place.space, sizes[place.space]):
                    position = next((v.position for v in part.tree.variables if v.name == name.split("#")[0]), 0)
                    self.complaints[number].require(fits, position, place.space, sizes[place.space], what=what)
                    return Places(), {}, sizes
        named = {name: short[name] for part in self.parts for name in (*part.places, *part.kernels) if name in short}
        for name, declared in chosen.items():  # an initializer may name a function by its second name
            if name in self.parts[declared.part].second_names:
                named[name] = self.parts[declared.part].second_names[name]
        final = {
            name: place._replace(
                name=short[name],
                pointers=tuple(p._replace(name=named.get(p.name, p.name)) for p in place.pointers),
            )
            for name, place in placed.items()
        }
        moved = {(number, name): final[name] for number, part in enumerate(self.parts) for name in part.places}
        places = Places()
        places.update((place.name, place) for place in final.values())
        self._ranges_by_name(ranges, places)
        return places, moved, sizes

    def _ranges_laid_out(self, part: Checked, sizes: dict[str, int]) -> Places:
        """The variables of each `name<N>` of a module, one after the other where they lie among all modules' variables."""
        laid_out = Places()
        assert isinstance(part.places, Places)
        for series in part.places.ranges.values():
            first = series.first
            if not first.opaque:
                at = -(-sizes[first.space] // first.align) * first.align
                first = first._replace(offset=at)
                sizes[first.space] = at + series.size
            laid_out.add(series.like(first, series.ending), series.ending)
        return laid_out

    def _ranges_by_name(self, ranges: list[Places], places: Places) -> None:
        """Let the host find the variables of each `name<N>` by their short names, if those are one module's alone."""
        counts = Counter(key[0] for part in ranges for key in part.ranges if "@" not in key[1])
        for part in ranges:
            for (prefix, ending), series in part.ranges.items():
                short = "" if counts[prefix] == 1 else ending.partition("@")[0]
                if "@" not in ending:
                    places.add(series.like(series.first, short), short)

    def share(
        self,
        functions: dict[str, Kernel],
        kernels: dict[str, Kernel],
        moved: dict[tuple[int, str], Place],
        sizes: dict[str, int],
    ) -> None:
        """Tell functions and entries where variables lie. Those in .shared that a function declares there is one of in a CTA, so
        that they follow the modules'; an entry's own come last."""
        numbers = {
            id(k): n for n, part in enumerate(self.parts) for k in (*part.functions.values(), *part.kernels.values())
        }
        frames, end = contracts.state_spaces.OF_FRAMES, {space: sizes[space] for space in contracts.state_spaces.once()}
        for kernel in (*functions.values(), *kernels.values()):
            number = numbers[id(kernel)]
            part = self.parts[number]
            at = dict(end)
            below = max(0, sizes[frames] - part.sizes[frames]) if kernel.signature is None else 0
            framed = [place for place in kernel.places.values() if place.framed]
            step = max((place.align for place in framed), default=1)
            below = -(-below // step) * step  # other modules' variables lie below an entry's frame, too
            kernel.sizes[frames] += below
            for unique, place in kernel.places.items():
                if part.places.get(place.name) is place:
                    kernel.places[unique] = moved[number, place.name]
                elif place.framed:
                    kernel.places[unique] = place._replace(offset=place.offset + below)
                elif place.space in at:
                    offset = -(-at[place.space] // place.align) * place.align
                    kernel.places[unique] = place._replace(offset=offset)
                    at[place.space] = offset + place.size
            kernel.sizes |= at
            if kernel.signature is not None:
                end = at
        for function in functions.values():
            function.sizes |= end
        sizes |= end


def _rename(kernel: Kernel, names: dict[str, str]) -> None:
    """Let the functions that a kernel's code names have other names."""
    lists: dict[int, tuple[str, ...]] = {}  # many calls may share one

    def other(operand: Any) -> Any:
        if isinstance(operand, tree.Name) and operand.text not in kernel.registers:
            return tree.Name(names.get(operand.text, operand.text))
        return operand

    for i, op in enumerate(kernel.code):
        call = op.call
        if call is not None:
            renamed = known = call.known
            if known is not None:
                if id(known) not in lists:
                    lists[id(known)] = tuple(names.get(n, n) for n in known)
                renamed = lists[id(known)]
            call = call._replace(function=call.function and names.get(call.function, call.function), known=renamed)
        kernel.code[i] = op._replace(call=call, operands=tuple(map(other, op.operands)))


def _sized_later(place: Place) -> bool:
    """Whether a variable is as large as the launch says, or the host."""
    return place.offset < 0 or place.in_a_bank


def _passes(signature: Signature) -> Any:
    """What must be the same for a call and a function of another module: not alignment, and not whether registers are used."""
    return [
        [(f.type.is_float, f.is_array, f.size, f.vector) for f in fs]
        for fs in (signature.returns, signature.parameters)
    ]


def _short_names(names: list[str]) -> dict[str, str]:
    """For each name, the same without the number of its module if no other is called so."""
    plain: dict[str, list[str]] = {}
    for name in names:
        plain.setdefault(name.partition("#")[0], []).append(name)
    return {
        name: base if len(sharers) == 1 or name == base else name for base, sharers in plain.items() for name in sharers
    }
