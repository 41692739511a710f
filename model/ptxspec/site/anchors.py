"""Where things are on the site: the anchor of each form on its page, and the address of a page. Whoever links to a form takes it
from here."""

from __future__ import annotations

import functools
import re

from ptxspec.language.forms import Form, page_name, registry
from ptxspec.terms.types import Type

#: what stands in an anchor for a sign of an operand, so that forms that differ in one have different anchors
_SIGNS = {"[": "at-", "{": "of-", "(": "list-", "|": "and-", "-": "minus-", "+": "plus-"}
_SIGN = re.compile(r"[\[{(|+-]")


def form_anchor(form: Form) -> str:
    """The anchor of a form on its page: its mnemonic, as in `bfe.s32`. Where a page has several forms of one mnemonic, the first
    has that one, and each other one's goes on with its operands.

    >>> form_anchor(ptxspec.forms("bfe")[2])
    'bfe.s32'
    """
    return _anchors(form.syntax.opcode)[_key(form)]


def mnemonic_anchor(form: Form) -> str:
    """The anchor of the first form of a form's mnemonic, for who has not the time to look at all others.

    >>> mnemonic_anchor(ptxspec.forms("bfe")[2])
    'bfe.s32'
    """
    return _key(form)[0]


def page_address(page: str) -> str:
    """The address, below the site's, of a page that messages name; a line that follows it is left out.

    >>> page_address("spec/instructions/integer/bfe.md:46")
    'spec/instructions/integer/bfe.html'
    """
    return page.partition(":")[0].removesuffix(".md") + ".html"


def form_address(form: Form) -> str:
    """The address of a form below the site's.

    >>> form_address(ptxspec.forms("bfe")[2])
    'spec/instructions/integer/bfe.html#bfe.s32'
    """
    return f"{page_address(form.page)}#{form_anchor(form)}"


def _key(form: Form) -> tuple[str, int, str]:
    """What tells a form of an opcode apart, however it was made: its mnemonic without hints, and where its syntax line stands."""
    words = {s.name: form.modifiers.get(s.name) for s in form.syntax.slots if not s.hint}
    spelled = form.syntax.spelled({k: v.name if isinstance(v, Type) else v for k, v in words.items() if v is not None})
    return spelled, form.syntax.line, form.definition.path


@functools.cache
def _anchors(opcode: str) -> dict[tuple[str, int, str], str]:
    """The anchors of an opcode's forms."""
    found: dict[tuple[str, int, str], str] = {}
    taken: set[tuple[str, str]] = set()
    for form in registry().opcodes[opcode].forms:
        page, anchor = page_name(form.definition.path), form.mnemonic
        if (page, anchor) in taken:
            anchor = f"{form.mnemonic}-{_operands(form)}"
        if (page, anchor) in taken:
            raise ValueError(f"{page}: two forms have the anchor {anchor}")
        taken.add((page, anchor))
        found[_key(form)] = anchor
    return found


def _operands(form: Form) -> str:
    """A form's operands as words: `d-at-a` for `d, [a]`."""
    offset = {o.name: f"{o.name}+imm" for o in form.syntax.operands if o.offset}
    text = str(form).removeprefix(form.mnemonic)
    for name, spelled in offset.items():
        text = re.sub(rf"\b{name}\b", spelled, text)
    return "-".join(re.findall(r"\w+", _SIGN.sub(lambda sign: f" {_SIGNS[sign[0]]}", text)))
