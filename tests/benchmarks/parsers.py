"""The parser beside one that Lark makes: 4,000 lines of straight code, to a tree.

    pip install lark; python tests/benchmarks/parsers.py

Lark's grammar has only the statements of this text, and its tree has words where that of the parser has operands and numbers.
"""

from __future__ import annotations

from lark import Lark
from loading import seconds, straight

from ptxspec.language import parser

GRAMMAR = r"""
start: heading* entry*
heading: ".version" NUMBER | ".target" NAME ("," NAME)* | ".address_size" NUMBER
entry: ".visible"? ".entry" NAME "(" ")" "{" statement* "}"
statement: ".reg" TYPE NAME ("<" NUMBER ">")? ";" | guard? OPCODE (operand ("," operand)*)? ";"
guard: "@" NOT? NAME
operand: NAME | NUMBER | "[" NAME ("+" NUMBER)? "]" | "{" operand ("," operand)* "}"
NOT: "!"
TYPE: /\.[a-z0-9]+/
OPCODE.2: /[a-z][a-z0-9_]*(\.[a-z0-9_:]+)+|ret/
NAME.1: /[%$_a-zA-Z][\w$]*/
NUMBER: /0[fF][0-9a-fA-F]{8}|\d+(\.\d+)?/
%ignore /\s+/
"""


def main() -> None:
    text = straight(4_000)
    figures = {
        "Lark, with positions": seconds(Lark(GRAMMAR, parser="lalr", propagate_positions=True).parse, text),
        "Lark, without": seconds(Lark(GRAMMAR, parser="lalr").parse, text),
        "the parser": seconds(parser.parse, text),
    }
    parser.LONG = len(text) + 1
    figures["the parser, word by word"] = seconds(parser.parse, text)
    for what, least in figures.items():
        print(f"{what}: {least * 1e3:.0f} ms")


if __name__ == "__main__":
    main()
