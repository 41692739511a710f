"""From a tree to PTX text, one statement a line. Numbers stand as they were written, where that is known."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ptxspec.base.records import NamedTuple
from ptxspec.language import tree
from ptxspec.language.formatting import INDENT, WIDTH
from ptxspec.language.tree import Spelled


class PrintedLine(NamedTuple):
    """Some text of the output, which may have several lines; where it comes from, None if that is nowhere; and how deep it
    stands."""

    position: int | None
    depth: int
    text: str


def text_of(module: tree.ModuleTree) -> str:
    """A module as text. Entries and functions are set apart."""
    parts: list[str] = []
    for line in lines_of(module):
        if line.depth == 0 and parts and _sets_apart(line):
            parts.append("")
        parts.append(indented(line))
    return "\n".join(parts) + "\n"


def _sets_apart(line: PrintedLine) -> bool:
    return any(word in line.text.split() for word in (".entry", ".func"))


def indented(line: PrintedLine) -> str:
    """The text of a line with its blanks before it. What is inside of a text that has several lines has its own."""
    return INDENT * line.depth + line.text


def lines_of(module: tree.ModuleTree) -> list[PrintedLine]:
    """The lines of a module, in the order of their positions."""
    lines = [PrintedLine(module.version_position, 0, f".version {module.version[0]}.{module.version[1]}")]
    lines += [PrintedLine(target.position, 0, _target(target)) for target in module.targets]
    if module.address_size_position is not None or module.address_size != 32:
        lines.append(PrintedLine(module.address_size_position, 0, f".address_size {module.address_size}"))
    members = [*module.variables, *module.functions, *module.directives]
    for member in sorted(members, key=lambda m: m.position):
        lines += _member(member)
    return lines


def _member(member: Any) -> Iterable[PrintedLine]:
    match member:
        case tree.Variable():
            return [PrintedLine(member.position, 0, _variable(member))]
        case tree.Function():
            return _function(member)
        case tree.Pragma():
            return [PrintedLine(member.position, 0, _pragma(member))]
        case tree.File():
            facts = "".join(f", {shown(fact)}" for fact in member.facts)
            return [PrintedLine(member.position, 0, f'.file {shown(member.number)} "{member.name}"{facts}')]
        case tree.Alias():
            return [PrintedLine(member.position, 0, f".alias {member.name}, {member.of};")]
        case tree.Section():
            return _section(member)
    raise AssertionError(member)


def _section(section: tree.Section) -> Iterable[PrintedLine]:
    yield PrintedLine(section.position, 0, f".section {section.name}")
    yield PrintedLine(None, 0, "{")
    for width, content in section.lines:
        if width is None:
            yield PrintedLine(None, 0, f"{content[0]}:")
        else:
            numbers = ", ".join(c if isinstance(c, str) else shown(c) for c in content)
            yield PrintedLine(None, 1, f"{width} {numbers}")
    yield PrintedLine(None, 0, "}")


# functions -----------------------------------------------------------------------------------------------------------------


def _function(function: tree.Function) -> Iterable[PrintedLine]:
    start = f".{function.linkage} " if function.linkage else ""
    start += ".entry " if function.is_entry else ".func "
    start += "".join(f".attribute({_attribute(a)}) " for a in function.attributes)
    if function.returns:
        start += f"({', '.join(map(_parameter, function.returns))}) "
    start += function.name
    ends = "" if function.body is not None or function.performance or function.pragmas else ";"
    if not function.parameters:
        yield PrintedLine(function.position, 0, f"{start}(){ends}")
    else:
        yield PrintedLine(function.position, 0, start + "(")
        for i, parameter in enumerate(function.parameters):
            comma = "," if i < len(function.parameters) - 1 else ""
            yield PrintedLine(parameter.position, 1, _parameter(parameter) + comma)
        yield PrintedLine(None, 0, ")" + ends)
    for i, (word, numbers) in enumerate(function.performance.items()):
        last = function.body is None and not function.pragmas and i == len(function.performance) - 1
        yield PrintedLine(None, 0, _directive(word, numbers) + (";" if last else ""))
    for pragma in function.pragmas:
        yield PrintedLine(pragma.position, 0, _pragma(pragma))
    if function.body is not None:
        yield PrintedLine(None, 0, "{")
        yield from _body(function.body)
        yield PrintedLine(function.end, 0, "}")
    elif function.pragmas:
        yield PrintedLine(None, 0, ";")


def _body(body: Iterable[Any]) -> Iterable[PrintedLine]:
    depth = 1
    for item in body:
        match item:
            case tree.Instruction():
                yield PrintedLine(item.position, depth, instruction(item))
            case tree.Label():
                yield PrintedLine(item.position, depth - 1, f"{item.name}:")
            case tree.ScopeBrace():
                depth += 1 if item.opens else -1
                yield PrintedLine(item.position, depth - item.opens, "{" if item.opens else "}")
            case tree.Variable():
                yield PrintedLine(item.position, depth, _variable(item))
            case tree.Targets():
                names = ", ".join(target.text for target in item.targets)
                yield PrintedLine(item.position, depth - 1, f"{item.name}: {item.directive} {names};")
            case tree.Prototype():
                results = f"({', '.join(map(_parameter, item.returns))}) " if item.returns else ""
                taken = f"({', '.join(map(_parameter, item.parameters))})"
                ends = "".join(f" {_directive(*hint)}" for hint in item.performance.items()) + ";"
                yield PrintedLine(item.position, depth - 1, f"{item.name}: .callprototype {results}_ {taken}{ends}")
            case tree.Pragma():
                yield PrintedLine(item.position, depth, _pragma(item))
            case tree.Location():
                yield PrintedLine(item.position, depth, _location(item))
            case tree.ArchitectureTarget():
                yield PrintedLine(item.position, depth, _target(item))
            case _:
                raise AssertionError(item)


def _directive(word: str, numbers: tuple[int, ...]) -> str:
    return word + (f" {', '.join(map(shown, numbers))}" if numbers else "")


def _pragma(pragma: tree.Pragma) -> str:
    texts = ", ".join('"' + text + '"' for text in pragma.texts)
    return f".pragma {texts};"


def _target(target: tree.ArchitectureTarget) -> str:
    return f".target {', '.join(target.names)}"


def _location(location: tree.Location) -> str:
    text = f".loc {' '.join(map(shown, location.place))}"
    if location.inlined is not None:
        name, offset, *place = location.inlined
        more = f"+{shown(offset)}" if offset else ""
        text += f", function_name {name}{more}, inlined_at {' '.join(map(shown, place))}"
    return text


def _attribute(attribute: tree.Attribute) -> str:
    return f".{attribute.name}" + (f"({', '.join(map(shown, attribute.numbers))})" if attribute.numbers else "")


def _parameter(parameter: tree.Parameter) -> str:
    text = f".{parameter.space} "
    if parameter.align is not None:
        text += f".align {shown(parameter.align)} "
    text += f".v{parameter.vector} " if parameter.vector > 1 else ""
    text += f".{parameter.type} "
    if parameter.pointer is not None:
        text += ".ptr "
        text += f".{parameter.pointer.space} " if parameter.pointer.space else ""
        text += f".align {shown(parameter.pointer.align)} " if parameter.pointer.align is not None else ""
    text += parameter.name
    if parameter.size is not None:
        text += f"[{shown(parameter.size) if parameter.size >= 0 else ''}]"
    return text


# variables -----------------------------------------------------------------------------------------------------------------


def _variable(variable: tree.Variable) -> str:
    text = f".{variable.linkage} " if variable.linkage else ""
    text += f".{variable.space} "
    text += "".join(f".attribute({_attribute(a)}) " for a in variable.attributes)
    if variable.align is not None:
        text += f".align {shown(variable.align)} "
    if variable.vector != 1:
        text += f".v{variable.vector} "
    text += f".{variable.type} {variable.name}"
    if variable.repeat is not None:
        text += f"<{shown(variable.repeat)}>"
    text += "".join(f"[{'' if d is None else shown(d)}]" for d in variable.dimensions)
    if variable.values is not None:
        text += " = " + _values(variable.values, len(text) + 3)
    return text + ";"


def _values(values: Any, column: int) -> str:
    """An initial value; a long list is broken after commas."""
    if isinstance(values, tree.Fields):
        return "{ " + ", ".join(f"{name} = {operand(value)}" for name, value in values.fields) + " }"
    if not isinstance(values, list):
        return operand(values)
    inner = [_values(value, len(INDENT)) for value in values]
    text = "{" + ", ".join(inner) + "}"
    if column + len(text) < WIDTH or not inner:
        return text
    lines = [INDENT]
    for i, value in enumerate(inner):
        piece = value + ("," if i < len(inner) - 1 else "")
        if len(lines[-1]) > len(INDENT) and len(lines[-1]) + len(piece) > WIDTH:
            lines.append(INDENT)
        lines[-1] += (" " if len(lines[-1]) > len(INDENT) else "") + piece
    return "{\n" + "\n".join(lines) + "\n}"


# instructions --------------------------------------------------------------------------------------------------------------


def instruction(item: tree.Instruction) -> str:
    guard = "" if item.guard is None else f"@{'!' if item.guard[1] else ''}{item.guard[0]} "
    operands = ", ".join(map(operand, item.operands))
    return f"{guard}{item.mnemonic}{' ' if operands else ''}{operands};"


def shown(value: int) -> str:
    """An integer, as it was written if that is known."""
    return value.text if isinstance(value, Spelled) else str(value)


def _offset(value: int) -> str:
    return f"+{shown(value)}" if value or isinstance(value, Spelled) else ""


def operand(item: Any) -> str:
    """An operand, or an initial value that is no list."""
    match item:
        case tree.Name():
            return item.text
        case tree.Number():
            return shown(item.value)
        case tree.Float():
            if isinstance(item.bits, Spelled):
                return item.bits.text
            return f"0f{item.bits:08X}" if item.width == 32 else f"0d{item.bits:016X}"
        case tree.Sum():
            return f"{item.base.text}+{shown(item.offset)}"
        case tree.Generic():
            return f"generic({item.name.text}){_offset(item.offset)}"
        case tree.Masked():
            return f"{shown(item.mask)}({operand(item.value)})"
        case tree.Address():
            return f"[{_address(item)}]" + (".unified" if item.unified else "")
        case tree.Bracket():
            return f"[{', '.join(map(operand, item.elements))}]"
        case tree.Element():
            if item.register is None:
                return f"{item.base.text}[{shown(item.offset)}]"
            return f"{item.base.text}[{item.register.text}{_offset(item.offset)}]"
        case tree.Braces():
            return "{" + ", ".join(map(operand, item.elements)) + "}"
        case tree.Parens():
            return f"({', '.join(map(operand, item.elements))})"
        case tree.Pair():
            return f"{operand(item.first)}|{item.second.text}"
        case tree.Not():
            return f"!{item.name.text}"
        case tree.Part():
            selector = f".{item.selector}" if item.selector else ""
            return f"{'-' if item.negated else ''}{item.name.text}{selector}"
    raise AssertionError(item)


def _address(address: tree.Address) -> str:
    if address.base is None:
        return shown(address.offset)
    return address.base.text + _offset(address.offset)


def placeless(item: Any) -> Any:
    """A part of a tree with all positions zero: what is the same in two texts that say the same."""
    if isinstance(item, Spelled):
        return int(item)
    if hasattr(item, "_fields"):
        fields: dict[str, Any] = {}
        for name, value in zip(item._fields, item, strict=True):
            if name == "end" or (name.endswith("position") and value is not None):
                fields[name] = 0
            elif name == "name_positions":
                fields[name] = (0,) * len(value)
            elif name == "uses":
                fields[name] = tuple(sorted((what, 0) for what, _ in value))
            else:
                fields[name] = placeless(value)
        return item._replace(**fields)
    if isinstance(item, tuple | list):
        return item.__class__(map(placeless, item))
    return item
