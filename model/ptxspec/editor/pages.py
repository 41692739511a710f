"""What the pages say of a word of PTX, as Markdown: of opcodes and their modifiers, types, directives, state spaces and special
registers. It is taken from the pages and the definitions, as the site and the export take it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, NamedTuple

from ptxspec import contracts
from ptxspec.base import places
from ptxspec.language.forms import Form, Opcode, bound_values, page_name, registry
from ptxspec.literate import finder
from ptxspec.literate.notation import Slot, SyntaxLine
from ptxspec.pages import facts, syntax_summary
from ptxspec.pages.anchors import form_anchor, page_address
from ptxspec.pages.operands import operand_types
from ptxspec.pages.prose import cells_about, sentence_about, title_and_summary
from ptxspec.terms.types import TYPES, Type

#: so many lines of syntax, and so many forms of one mnemonic, are shown
MOST_LINES, MOST_FORMS = 12, 4


class Links(NamedTuple):
    """Where pages are: the address of the site, which ends with a slash, or "" for the documents themselves."""

    site: str = ""

    def to(self, page: str, anchor: str = "") -> str:
        """A Markdown link to a page, such as "spec/types/index.md"."""
        name, _, line = page.partition(":")
        if self.site:
            address = self.site + page_address(name) + (f"#{anchor}" if anchor else "")
        else:
            address = (places.DOCUMENTS / name).resolve().as_uri() + (f"#L{line}" if line else "")
        return f"[{name}]({address})"


def opcode_text(mnemonic: str, links: Links) -> str | None:
    """What an instruction is: its page's sentence, the syntax, and since when it exists. None for an opcode that PTX has not."""
    name = mnemonic.split(".")[0]
    opcode = registry().opcodes.get(name)
    if opcode is None:
        return _missing(mnemonic, links)
    forms = opcode.find(mnemonic)
    if forms:
        return _of_forms(forms, links)
    parts = []
    for page, lines in _by_page(opcode, tuple(mnemonic.split(".")[1:])).items():
        title, summary = title_and_summary(page)
        parts.append(
            f"**{title}**: {summary}\n\n{_code(_syntax(lines))}\n\n{_earliest(name, page)}\n\n{links.to(page)}"
        )
    return "\n\n---\n\n".join(parts[:MOST_FORMS])


def _of_forms(forms: list[Form], links: Links) -> str:
    """What a whole mnemonic means: of several forms, the operands decide."""
    parts = []
    for page in dict.fromkeys(form.page for form in forms):
        own = [form for form in forms if form.page == page]
        _, summary = title_and_summary(page.partition(":")[0])
        shown = "\n".join(dict.fromkeys(str(form) for form in own[:MOST_FORMS]))
        parts.append(f"{summary}\n\n{_code(shown)}")
        parts.append(_operands(own[:MOST_FORMS]))
        parts.append("\n".join(dict.fromkeys(availability(form) for form in own)))
        parts.append(links.to(page, form_anchor(own[0])))
    return "\n\n".join(part for part in parts if part)


def _operands(forms: list[Form]) -> str:
    """The operands of some forms with their types; those that are written are marked."""
    shown: dict[str, None] = {}
    for operand in (operand for form in forms for operand in operand_types(form)):
        own = operand.get("type", operand.get("kind", ""))
        types = ", ".join(f".{t}" for t in own) if isinstance(own, list) else str(own).replace("_", " ")
        types = f".{types}" if types in TYPES else types
        count = f" × {operand['count']}" if operand.get("count", 1) != 1 else ""
        shown[f"`{operand['name']}` {types}{count}{' (written)' if operand['written'] else ''}"] = None
    return f"Operands: {'; '.join(shown)}" if shown else ""


def availability(form: Form) -> str:
    """Since when a form exists, on which targets, and until when."""
    (major, minor), number = form.availability
    target = f"`{'`, `'.join(form.only)}`" if form.only else f"`sm_{number}` or later"
    said = f"PTX ISA {major}.{minor} or later, target {target}"
    if form.removal is not None:
        (major, minor), first = form.removal
        version = f"PTX ISA {major}.{minor}" if (major, minor) != (1, 0) else ""
        later = f"`sm_{first}`" if first != 10 else ""
        said += f"; gone from {' and '.join(filter(None, (version, later)))} on"
    return said + ("; in modules with 32-bit addresses only" if form.is_dropped else "")


def _missing(mnemonic: str, links: Links) -> str | None:
    """What there is to say of an instruction of PTX that no page describes."""
    gaps = contracts.gaps
    name = gaps.family_of(mnemonic)
    if name is None:
        return None
    family = gaps.FAMILIES[name]
    return f"`{name}`: {family.what}. No page describes it.\n\n{links.to('spec/gaps.md')}"


def _by_page(opcode: Opcode, modifiers: tuple[str, ...]) -> dict[str, list[SyntaxLine]]:
    """The syntax lines of an opcode that begin with these modifiers, all if none does, by their pages."""
    lines = [bound for bound in opcode.lines if any(bound[0].following(modifiers))] or opcode.lines
    found: dict[str, list[SyntaxLine]] = {}
    for line, definition in lines:
        found.setdefault(page_name(definition.path), []).append(line)
    return found


@cache
def _earliest(name: str, page: str) -> str:
    """Since when the first form of an opcode on a page exists, and on which targets."""
    found = [
        definition.availability(bound_values(bound, line, definition))
        for line, definition in registry().opcodes[name].lines
        if page_name(definition.path) == page
        for _, bound in line.mnemonics()
    ]
    (major, minor), number = min(found)
    return f"The first forms: PTX ISA {major}.{minor} or later, target `sm_{number}` or later"


def _syntax(lines: list[SyntaxLine]) -> str:
    """Syntax lines with their sets, a summary of many."""
    if syntax_summary.helps(lines):
        text = syntax_summary.text(lines)
    else:
        sets = [f"{name} = {{ {', '.join(members)} }};" for name, members in syntax_summary.sets(lines).items()]
        text = "\n".join([*dict.fromkeys(f"{line.text};" for line in lines), *sets])
    shown = text.split("\n")
    return "\n".join(shown[:MOST_LINES] + (["…"] if len(shown) > MOST_LINES else []))


def _code(text: str) -> str:
    return f"```\n{text}\n```"


# modifiers -----------------------------------------------------------------------------------------------------------------


def modifier_text(mnemonic: str, index: int, links: Links) -> str | None:
    """What a modifier of an instruction is: the set that it is of, what is so without it, and what the page says of it. None for
    one that the opcode has not there."""
    name, *words = mnemonic.split(".")
    opcode = registry().opcodes.get(name)
    word = words[index]
    if opcode is None:
        return None
    for line, definition in opcode.lines:
        before = tuple(words[:index])
        slot = next((slot for option, slot in line.following(before)[0] if option == word), None)
        whole = line.bindings(tuple(words)) is not None
        if slot is None or (opcode.find(mnemonic) and not whole):
            continue
        page = page_name(definition.path)
        parameter = definition.modifiers.get(slot.name)
        parts = [_slot(name, word, slot, None if parameter is None else parameter.default)]
        said = sentence_about(page, f".{word}")
        parts += [said] if f"`.{word}`" in said else []
        parts += [type_line(TYPES[word])] if word in TYPES else []
        return "\n\n".join([*parts, links.to(page)])
    return None


def _slot(name: str, word: str, slot: Slot, default: Any) -> str:
    """A modifier's place in the syntax."""
    said = f"`.{word}`: a modifier of `{name}`" + (", a hint that changes no result" if slot.hint else "")
    if slot.is_set:
        options = ", ".join(f"`.{o}`" for o in slot.options[:24]) + (", …" if len(slot.options) > 24 else "")
        said += f"; `.{slot.name}` is one of {options}" if "_or_" not in slot.name else f"; one of {options}"
    if slot.optional:
        said += "; it may be left out"
        if isinstance(default, str):
            said += f" and is then `.{default}`" if default in slot.options else f": {default}"
    return said


# types, directives, special registers --------------------------------------------------------------------------------------


@cache
def _known(what: str) -> dict[str, dict[str, Any]]:
    """Facts of the pages by the names that they are about."""
    found, key = {
        "types": (facts.types, "type"),
        "directives": (lambda: [*facts.directives(), *facts.uses()], "name"),
        "special_registers": (facts.special_registers, "name"),
        "spaces": (facts.spaces, "space"),
        "functions": (facts.system_functions, "name"),
    }[what]
    return {own[key]: own for own in found()}


def type_line(type: Type) -> str:
    """A type in a few words."""
    own = _known("types").get(type.name)
    if own is None:
        return ""
    kind = {"bits": "untyped bits", "float": "floating point", "packed": "several numbers in one"}.get(
        own["kind"], own["kind"]
    )
    said = f"`.{type.name}`: {kind}" + (f", {own['width']} bits" if type.kind != "pred" else "")
    return said + (f": {own['summary']}" if own["summary"] else "")


def directive_text(word: str, links: Links) -> str | None:
    """What a word with a point is that is no modifier of an instruction."""
    name = word.removeprefix(".").partition("[")[0]
    if name in TYPES:
        own = _known("types").get(name)
        since = f"\n\n{_since(own)}" if own else ""
        return f"{type_line(TYPES[name])}{since}\n\n{links.to(facts.TYPES_PAGE)}"
    if name in _known("spaces"):
        own = _known("spaces")[name]
        cells = cells_about(facts.SPACES, f".{name}")
        what = f": {cells[1]}" if len(cells) > 2 else ""
        return f"`.{name}`{what}; a state space, shared by {own['shared_by']}\n\n{links.to(facts.SPACES)}"
    own = _known("directives").get(word)
    if own is None:
        return None
    cells = cells_about(own["page"], word)
    if cells:  # of a row about several words, what it does may be about another of them
        others = [other for other in cells[0].split() if f"`{word}`" != other]
        page, said = (
            own["page"],
            ": ".join([cells[1], *(cells[-1:] if not any(o in cells[-1] for o in others) else [])]),
        )
    else:
        page, said = _sentence_about(word)
    return f"`{word}`: {said or 'a directive'}\n\n{_since(own)}\n\n{links.to(page)}"


@cache
def _sentence_about(word: str) -> tuple[str, str]:
    """A page that says something of a directive, and its first sentence about it."""
    for folder in ("directives", "functions", "variables", "syntax", "machine"):
        for _, path in finder.pages("ptxspec.spec", folder):
            page = page_name(str(path))
            said = sentence_about(page, word)
            if f"`{word}`" in said:
                return page, said
    return facts.DIRECTIVES, ""


def _since(own: dict[str, Any]) -> str:
    said = f"PTX ISA {own['since']} or later"
    said += f", target `{own['target']}` or later" if own["target"] not in ("sm_10", None) else ""
    return said + (f"; gone since PTX ISA {own['removed']}" if own.get("removed") else "")


def special_register_text(name: str, links: Links) -> str | None:
    """What a special register says, given perhaps with its component."""
    own = _known("special_registers").get(name.partition(".")[0])
    if own is None:
        return None
    components = f", components {', '.join(f'`.{c}`' for c in own['components'])}" if own["components"] else ""
    head = f"`{own['name']}`: a special register of type `.{own['type']}`{components}. {own['summary']}"
    return f"{head}\n\n{_since(own)}\n\n{links.to(own['page'], own['anchor'])}"


def special_register_names() -> Iterable[tuple[str, str]]:
    """The names of special registers with their components, and what each is."""
    from ptxspec.language.specials import special_registers

    return ((name, f".{type.name}") for name, type in special_registers().items())


def system_function_text(name: str, links: Links) -> str | None:
    """What a function of the system is."""
    own = _known("functions").get(name)
    return None if own is None else f"`{name}`: a function of the system.\n\n{links.to(own['page'])}"
